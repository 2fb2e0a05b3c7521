"""One agent test: its runs, what is expected of each, and the rows that a report has of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import get_args

from faultkit.agents.execute.agent_run import Seed, plan_of, run_really, run_virtually, servers_of, task_of
from faultkit.agents.execute.choosing import agent_of
from faultkit.agents.execute.document import run_document
from faultkit.agents.execute.error_recovery import error_recovery
from faultkit.agents.execute.options import Options
from faultkit.agents.execute.servers import Connected
from faultkit.agents.execute.snapshots import Snapshots
from faultkit.agents.gate import Clock, Verdict, gate_recovery
from faultkit.agents.kinds.choose import STUB_MESSAGE, STUB_VERDICT
from faultkit.agents.kinds.external import run_program
from faultkit.agents.model import AgentTest, CommandAgent, ModelAgent, ScriptAgent, ShippedAgent, Suite
from faultkit.agents.recovery.metrics import metrics_of
from faultkit.agents.recovery.repeats import Share, share_of
from faultkit.agents.recovery.tool_misuse import tool_misuse_of
from faultkit.agents.recovery.trace import Ending, Trace
from faultkit.agents.result import EDGE_RULE, Row, Run

_WORST: tuple[Verdict, ...] = ("error", "failed", "inconclusive", "not_exercised", "passed")


@dataclass(frozen=True, slots=True)
class _Finding:
    """What one run says of one row."""

    verdict: Verdict
    message: str
    limit: str = ""


@dataclass(frozen=True, slots=True)
class _Traced:
    """What one run left."""

    trace: Trace
    clock: Clock
    seed: Seed
    clean: Trace | None = None
    """The same without faults."""
    problem: str = ""
    is_cut: bool = False
    """It was ended from outside, so that nothing can be said of it."""
    stub: bool = False
    replay: bool = False
    """Its model's turns come from a cassette."""
    tokens: int | None = None
    notes: tuple[str, ...] = ()
    """What a user should know of the run."""


@dataclass(frozen=True, slots=True)
class _Judged:
    run: Run
    own: _Finding
    """Of the test itself: what it expects."""
    stub: bool
    replay: bool
    notes: tuple[str, ...]


async def run_agent_test(
    suite: Suite, test: AgentTest, connected: Connected, options: Options, snapshots: Snapshots
) -> tuple[Row, ...]:
    """A row of the test itself, and one of its recovery gate if it has one."""
    began = perf_counter()
    seed = suite.seed if options.seed is None else options.seed
    judged = []
    for number in range(options.repeat or test.runs):
        traced = await _run(suite, test, connected, options, seed if not number else f"{seed}#{number}")
        judged.append(_judge(test, traced, snapshots))
    took_ms = (perf_counter() - began) * 1000
    return tuple(_rows(test, judged, took_ms))


async def _run(suite: Suite, test: AgentTest, connected: Connected, options: Options, seed: Seed) -> _Traced:
    if isinstance(test.agent, CommandAgent):
        return await _run_program(suite, test, test.agent, options, seed)
    servers = connected.fresh(test.servers)
    tools = [tool for server in servers for tool in server.tools]
    chosen = agent_of(suite, test, tools, options)
    if options.clock == "virtual":
        done = await run_virtually(suite, test, chosen.agent, servers, seed)
    else:
        done = await run_really(suite, test, chosen.agent, tools, seed, options.scale)
    clean = None
    is_free = isinstance(test.agent, ShippedAgent | ScriptAgent) and connected.are_mocks(test.servers)
    if test.inject and is_free:
        # The same errand without faults says what the faults cost. A live server would do it all once more.
        calm = replace(test, inject=())
        clean = (await run_virtually(suite, calm, chosen.agent, connected.fresh(test.servers), seed)).trace
    # Nobody has counted for an agent without a model.
    tokens = done.tokens if isinstance(test.agent, ModelAgent) else None
    return _Traced(
        done.trace,
        options.clock,
        seed,
        clean,
        stub=chosen.is_stub,
        replay=chosen.is_replay,
        tokens=tokens,
        notes=chosen.notes,
    )


async def _run_program(
    suite: Suite, test: AgentTest, agent: CommandAgent, options: Options, seed: Seed
) -> _Traced:
    task, servers, plan = task_of(test, seed), servers_of(suite, test), plan_of(suite, test, seed)
    done = await run_program(agent, task, servers, plan, test.budget, limit_s=options.timeout_s)
    return _Traced(done.trace, "real", seed, problem=done.problem, is_cut=done.is_cut, notes=done.notes)


def _judge(test: AgentTest, traced: _Traced, snapshots: Snapshots) -> _Judged:
    trace = traced.trace
    metrics = metrics_of(trace, traced.clean)
    gate = None
    if test.recovery is not None:
        gate = gate_recovery(test.recovery, trace, traced.clock, allow_unhit=test.allow_unhit)
        if traced.stub and gate.verdict != "failed":
            gate = replace(gate, verdict=STUB_VERDICT, message=STUB_MESSAGE)
        if traced.is_cut:
            gate = replace(gate, verdict="error", message=traced.problem, limit="")
    misuse = tool_misuse_of(trace)
    run = Run(trace, metrics, misuse, gate, error_recovery(trace), traced.clock, traced.seed, test.recovery)
    return _Judged(run, _own(test, run, traced, snapshots), traced.stub, traced.replay, traced.notes)


def _own(test: AgentTest, run: Run, traced: _Traced, snapshots: Snapshots) -> _Finding:
    """What the test itself wants, beside its gate."""
    if traced.problem:
        return _Finding("error" if traced.is_cut else "failed", traced.problem)
    document = run_document(run.trace, run.metrics, run.gate, traced.tokens)
    for expectation in test.expect:
        wrong = snapshots.holds(test.name, expectation, document)
        if wrong is not None:
            return _Finding("failed", wrong, expectation.target)
    if test.error_recovery is not None:
        if run.error_recovery is None:
            return _Finding("not_exercised", "orchestration.error_recovery: no call failed")
        if run.error_recovery < test.error_recovery:
            found = f"{run.error_recovery} %, expected at least {test.error_recovery} %"
            return _Finding("failed", f"orchestration.error_recovery is {found}", "error_recovery")
    if run.gate is None and test.inject and not run.metrics.fault_hit and not test.allow_unhit:
        return _Finding("not_exercised", "not exercised: no call met an injected fault")
    if run.trace.ending != "reply":
        return _Finding("failed", f"the budget of {run.trace.ending} was used up", run.trace.ending)
    return _Finding("passed", "")


def _rows(test: AgentTest, judged: Sequence[_Judged], took_ms: float) -> Iterator[Row]:
    runs = tuple(each.run for each in judged)
    stub, replay = any(each.stub for each in judged), all(each.replay for each in judged)
    has_gate = runs[0].gate is not None
    own = [each.own for each in judged]
    if has_gate:
        # A run that never came to its last word has its say in the row of the gate.
        own = [_Finding("passed", "") if _is_of_the_gate(each) else each for each in own]
    notes = tuple(dict.fromkeys(note for each in judged for note in each.notes))
    shown = () if has_gate else runs
    yield _row(test, test.name, own, took_ms, shown, stub=stub, replay=replay, notes=notes)
    gates = [run.gate for run in runs if run.gate is not None]
    if gates:
        found = [_Finding(gate.verdict, gate.message, gate.limit) for gate in gates]
        name = f"{test.name} (recovery)"
        yield _row(test, name, found, took_ms, runs, stub=stub, replay=replay, rule=EDGE_RULE)


def _is_of_the_gate(finding: _Finding) -> bool:
    return finding.verdict == "failed" and finding.limit in get_args(Ending)


def _row(
    test: AgentTest,
    name: str,
    found: Sequence[_Finding],
    took_ms: float,
    runs: tuple[Run, ...],
    *,
    stub: bool,
    replay: bool,
    rule: str = "",
    notes: tuple[str, ...] = (),
) -> Row:
    share, finding = (None, _of_one_recording(test, found)) if replay else _together(test, found)
    message, _, difference = finding.message.partition("\n")
    return Row(
        name,
        finding.verdict,
        message,
        test.place,
        took_ms,
        tags=test.tags,
        rule=rule,
        limit=finding.limit,
        runs=runs,
        passed_share=share,
        diff=difference,
        stub=stub,
        details=(("notes", "; ".join(notes)),) if notes else (),
    )


def _of_one_recording(test: AgentTest, found: Sequence[_Finding]) -> _Finding:
    """However often it is replayed, a cassette is one sample of what its model does."""
    worst = min(found, key=lambda finding: _WORST.index(finding.verdict))
    if test.min_pass_rate is None or len(found) == 1 or worst.verdict in ("error", "not_exercised"):
        return worst
    once = f"{len(found)} runs are of one recording, which says nothing of a rate"
    return _Finding("inconclusive", f"min_pass_rate is {test.min_pass_rate}: {once}", "min_pass_rate")


def _together(test: AgentTest, found: Sequence[_Finding]) -> tuple[Share | None, _Finding]:
    """What several runs come to: all have to pass, or as many as the test asks for. Runs that no fault
    touched say nothing of recovery, as long as there are others."""
    worst = min(found, key=lambda finding: _WORST.index(finding.verdict))
    told = [finding for finding in found if finding.verdict != "not_exercised"]
    if len(found) == 1 or not told:
        return None, worst
    share = share_of([finding.verdict == "passed" for finding in told])
    worst = min(told, key=lambda finding: _WORST.index(finding.verdict))
    passed = f"{share.hits} of {share.total} runs passed"
    if len(told) < len(found):
        passed += f" ({len(found) - len(told)} more met no fault)"
    least = test.min_pass_rate
    if least is None or worst.verdict == "error":
        verdict, limit, why = worst.verdict, worst.limit, f"; {worst.message}" if worst.message else ""
        return share, _Finding(verdict, passed + why, limit)
    low, high = 100 * share.interval.low, 100 * share.interval.high
    between = f"{passed}: between {low:.0f} and {high:.0f} % do (95 %), wanted are {least} %"
    if low >= least:
        return share, _Finding("passed", between)
    if high < least:
        return share, _Finding("failed", f"{between}; {worst.message}", "min_pass_rate")
    return share, _Finding("inconclusive", f"{between}: too few runs to tell", "min_pass_rate")
