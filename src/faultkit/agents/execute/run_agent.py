"""One agent test: its runs, the expectations on each, and its rows in a report.

A test is run once or several times, in virtual, scaled or real time, or as an external program. Each run
gives a trace, and each trace two verdicts: one for the expectations of the test, one for its recovery gate.
The verdicts of all runs are combined into one row for the test and one for its gate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TypeAlias, get_args

from faultkit.agents.execute.agent_model import InnerModel
from faultkit.agents.execute.agent_program import run_program
from faultkit.agents.execute.connected_servers import ConnectedServers
from faultkit.agents.execute.expectations import Snapshots, meets_goal, run_document
from faultkit.agents.execute.program_model import ProgramModel
from faultkit.agents.execute.real_toolbox import OpenModel, RealToolbox, real_model, real_toolbox
from faultkit.agents.execute.unmet_faults import unmet_message
from faultkit.agents.execute.virtual_toolbox import USUAL_PATIENCE_MS, ConnectedServer, VirtualToolbox
from faultkit.agents.kinds.agent_choice import STUB_MESSAGE, STUB_VERDICT, ChosenAgent, agent_of
from faultkit.agents.recovery.metrics import error_recovery, metrics_of, tool_misuse_of
from faultkit.agents.recovery.score import PassShare, share_of
from faultkit.agents.recovery.trace import FinalReply, RunEnding, Trace, TracedCall
from faultkit.agents.suite.agent_interface import (
    Agent,
    AgentAnswer,
    AgentTask,
    BudgetExceeded,
    Purse,
    ToolInfo,
)
from faultkit.agents.suite.definition import (
    AgentTest,
    CommandAgent,
    ModelAgent,
    ScriptAgent,
    ShippedAgent,
    Suite,
    SuiteServer,
)
from faultkit.agents.suite.gate import (
    ASSERTS_NOTHING,
    NOT_EXERCISED,
    ClockKind,
    RowVerdict,
    gate_recovery,
)
from faultkit.agents.suite.results import EDGE_RULE, RECOVERY_SUFFIX, ResultRow, ScoredRun
from faultkit.agents.suite.run_options import RunOptions
from faultkit.base.errors import RunError
from faultkit.llm.conversation import ModelError
from faultkit.llm.mock.mock_answers import MockAnswers
from faultkit.mcp.injector import Injector

Seed: TypeAlias = int | str

_NO_MONEY = "the money for all runs (--max-cost, per_suite_usd_cents) is used up"
_FROM_WORST: tuple[RowVerdict, ...] = ("error", "failed", "inconclusive", "not_exercised", "passed")


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The verdict of one run, for one of the two rows of its test."""

    verdict: RowVerdict
    message: str
    limit: str = ""


@dataclass(frozen=True, slots=True)
class _TracedRun:
    """One run before it is judged."""

    trace: Trace
    clock: ClockKind
    seed: Seed
    clean: Trace | None = None
    """Trace of the same task without faults."""
    problem: str = ""
    """Why an external program gave no final reply."""
    is_cut: bool = False
    """The run was ended from outside, so it has no verdict."""
    stub: bool = False
    """A stub stood in for the model."""
    replay: bool = False
    """The model's turns come from a cassette."""
    tokens: int | None = None
    notes: tuple[str, ...] = ()
    """Remarks for the user."""


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """One run with its scores and its verdict."""

    run: ScoredRun
    expectations: RunVerdict
    """Verdict on the expectations of the test, for its own row."""
    stub: bool
    replay: bool
    notes: tuple[str, ...]


async def run_agent_test(
    suite: Suite, test: AgentTest, connected: ConnectedServers, options: RunOptions, snapshots: Snapshots
) -> tuple[ResultRow, ...]:
    """Run one agent test. Return its row, and the row of its recovery gate if it has one."""
    began = perf_counter()
    judged = [
        await run_once(suite, test, connected, options, snapshots, number)
        for number in range(options.repeat or test.runs)
    ]
    return rows_of_runs(suite, test, judged, (perf_counter() - began) * 1000)


async def run_once(
    suite: Suite,
    test: AgentTest,
    connected: ConnectedServers,
    options: RunOptions,
    snapshots: Snapshots,
    number: int,
) -> JudgedRun:
    """Run an agent test once, as the run of this number, from 0."""
    seed = suite.seed if options.seed is None else options.seed
    affordable = _within(options.purse, test)
    traced = await _run(suite, affordable, connected, options, seed if not number else f"{seed}#{number}")
    if traced.trace.ending == "money" and affordable.budget.money != test.budget.money:
        raise RunError(f"ended early: {_NO_MONEY}")
    return _judge(test, traced, snapshots)


def rows_of_runs(
    suite: Suite, test: AgentTest, judged: Sequence[JudgedRun], took_ms: float
) -> tuple[ResultRow, ...]:
    """Return the rows of a test with these runs: its own, and that of its recovery gate if it has one."""
    unmet = "" if test.allow_unhit else unmet_message(suite, test, [each.run.trace for each in judged])
    return tuple(_rows(test, judged, took_ms, unmet))


def _within(purse: Purse, test: AgentTest) -> AgentTest:
    """Return the test of a model with what is left in the purse as its limit. Raises RunError."""
    left = purse.left
    if left is None or not isinstance(test.agent, ModelAgent):
        return test
    if not left:
        raise RunError(f"not run: {_NO_MONEY}")
    own = test.budget.money
    return replace(test, budget=replace(test.budget, money=left if own is None else min(own, left)))


async def _run(
    suite: Suite, test: AgentTest, connected: ConnectedServers, options: RunOptions, seed: Seed
) -> _TracedRun:
    if isinstance(test.agent, CommandAgent):
        return await _run_program(suite, test, test.agent, options, seed)
    servers = connected.fresh(test.servers)
    tools = [tool for server in servers for tool in server.tools]
    chosen = agent_of(suite, test, tools, options)
    if options.clock == "virtual":
        done = await run_in_virtual_time(suite, test, chosen, servers, seed)
    else:
        done = await run_in_real_time(suite, test, chosen, tools, seed, options.scale)
    options.purse.spend(done.money)
    clean = None
    is_free = isinstance(test.agent, ShippedAgent | ScriptAgent) and connected.are_mocks(test.servers)
    if test.inject and is_free:
        # The same task without faults shows what the faults cost. Not on live servers, because the task
        # would be done there twice.
        without_faults = replace(test, inject=())
        fresh = connected.fresh(test.servers)
        clean = (await run_in_virtual_time(suite, without_faults, chosen, fresh, seed)).trace
    # Without a model, no tokens are counted.
    tokens = done.tokens if isinstance(test.agent, ModelAgent) else None
    return _TracedRun(
        done.trace,
        options.clock,
        seed,
        clean,
        problem=done.problem,
        stub=chosen.is_stub,
        replay=chosen.is_replay,
        tokens=tokens,
        notes=chosen.notes,
    )


async def _run_program(
    suite: Suite, test: AgentTest, agent: CommandAgent, options: RunOptions, seed: Seed
) -> _TracedRun:
    done = await run_program(
        agent,
        task_of(test, seed),
        servers_of(suite, test),
        suite.plan(test.inject, seed),
        test.budget,
        limit_s=options.timeout_s,
        model=model_of_program(suite, test, seed),
    )
    return _TracedRun(done.trace, "real", seed, problem=done.problem, is_cut=done.is_cut, notes=done.notes)


def _judge(test: AgentTest, traced: _TracedRun, snapshots: Snapshots) -> JudgedRun:
    trace = traced.trace if test.goal is None else meets_goal(test.goal, traced.trace)
    metrics = metrics_of(trace, traced.clean)
    gate = None
    if test.recovery is not None:
        gate = gate_recovery(
            test.recovery, trace, traced.clock, allow_unhit=test.allow_unhit, is_judged=test.judges_agent
        )
        if traced.stub and gate.verdict != "failed":
            gate = replace(gate, verdict=STUB_VERDICT, message=STUB_MESSAGE)
        if traced.is_cut:
            gate = replace(gate, verdict="error", message=traced.problem, limit="")
    misuse = tool_misuse_of(trace)
    run = ScoredRun(
        trace, metrics, misuse, gate, error_recovery(trace), traced.clock, traced.seed, test.recovery
    )
    expectations = _judge_expectations(test, run, traced, snapshots)
    run = replace(run, expectations=expectations.verdict)
    return JudgedRun(run, expectations, traced.stub, traced.replay, traced.notes)


def _judge_expectations(
    test: AgentTest, run: ScoredRun, traced: _TracedRun, snapshots: Snapshots
) -> RunVerdict:
    """Judge a run by the expectations of its test, apart from the recovery gate."""
    if traced.problem:
        return RunVerdict("error" if traced.is_cut else "failed", traced.problem)
    document = run_document(run.trace, run.metrics, run.gate, traced.tokens)
    for expectation in test.expect:
        problem = snapshots.holds(test.name, expectation, document)
        if problem is not None:
            return RunVerdict("failed", problem, expectation.target)
    if test.error_recovery is not None:
        if run.error_recovery is None:
            return RunVerdict("not_exercised", "orchestration.error_recovery: no call failed")
        if run.error_recovery < test.error_recovery:
            found = f"{run.error_recovery} %, expected at least {test.error_recovery} %"
            return RunVerdict("failed", f"orchestration.error_recovery is {found}", "error_recovery")
    if run.gate is None and test.inject and not run.metrics.fault_hit and not test.allow_unhit:
        return RunVerdict("not_exercised", NOT_EXERCISED)
    if run.trace.ending != "reply":
        return RunVerdict("failed", f"the budget of {run.trace.ending} was used up", run.trace.ending)
    return RunVerdict("not_exercised", ASSERTS_NOTHING) if test.asserts_nothing else RunVerdict("passed", "")


def _rows(test: AgentTest, judged: Sequence[JudgedRun], took_ms: float, unmet: str) -> Iterator[ResultRow]:
    runs = tuple(each.run for each in judged)
    stub, replay = any(each.stub for each in judged), all(each.replay for each in judged)
    has_gate = runs[0].gate is not None
    own = [each.expectations for each in judged]
    if has_gate:
        # A run that used up its budget is reported in the gate's row only.
        own = [
            RunVerdict("passed", "")
            if each.verdict == "failed" and each.limit in get_args(RunEnding)
            else each
            for each in own
        ]
    notes = tuple(dict.fromkeys(note for each in judged for note in each.notes))
    shown = () if has_gate else runs
    row = _row(test, test.name, own, took_ms, shown, stub=stub, replay=replay, notes=notes)
    yield _not_exercised(row, unmet)
    gates = [run.gate for run in runs if run.gate is not None]
    if gates:
        verdicts = [RunVerdict(gate.verdict, gate.message, gate.limit) for gate in gates]
        name = f"{test.name}{RECOVERY_SUFFIX}"
        row = _row(test, name, verdicts, took_ms, runs, stub=stub, replay=replay, rule=EDGE_RULE)
        yield _not_exercised(row, unmet)


def _not_exercised(row: ResultRow, unmet: str) -> ResultRow:
    """Return the row; as not exercised if it passed though an injected fault was met in no run."""
    if unmet and row.verdict in ("passed", "not_exercised"):
        return replace(row, verdict="not_exercised", message=unmet)
    return row


def _row(
    test: AgentTest,
    name: str,
    verdicts: Sequence[RunVerdict],
    took_ms: float,
    runs: tuple[ScoredRun, ...],
    *,
    stub: bool,
    replay: bool,
    rule: str = "",
    notes: tuple[str, ...] = (),
) -> ResultRow:
    if replay:
        share, combined = None, _combine_replays(test, verdicts)
    else:
        share, combined = _combine_runs(test, verdicts)
    message, _, difference = combined.message.partition("\n")
    return ResultRow(
        name,
        combined.verdict,
        message,
        test.place,
        took_ms,
        tags=test.tags,
        rule=rule,
        limit=combined.limit,
        runs=runs,
        passed_share=share,
        diff=difference,
        stub=stub,
        details=(("notes", "; ".join(notes)),) if notes else (),
    )


def _worst(verdicts: Sequence[RunVerdict]) -> RunVerdict:
    return min(verdicts, key=lambda each: _FROM_WORST.index(each.verdict))


def _combine_replays(test: AgentTest, verdicts: Sequence[RunVerdict]) -> RunVerdict:
    """Combine the verdicts of one cassette: one sample of the model, however often it is replayed."""
    worst = _worst(verdicts)
    if test.min_pass_rate is None or len(verdicts) == 1 or worst.verdict in ("error", "not_exercised"):
        return worst
    once = f"{len(verdicts)} runs are of one recording, which shows no rate"
    return RunVerdict("inconclusive", f"min_pass_rate is {test.min_pass_rate}: {once}", "min_pass_rate")


def _combine_runs(test: AgentTest, verdicts: Sequence[RunVerdict]) -> tuple[PassShare | None, RunVerdict]:
    """Combine the verdicts of several runs: all must pass, or the share that the test asks for.

    Runs that met no fault are left out, as long as others met one.
    """
    exercised = [each for each in verdicts if each.verdict != "not_exercised"]
    if len(verdicts) == 1 or not exercised:
        return None, _worst(verdicts)
    share = share_of([each.verdict == "passed" for each in exercised])
    worst = _worst(exercised)
    passed = f"{share.hits} of {share.total} runs passed"
    if len(exercised) < len(verdicts):
        passed += f" ({len(verdicts) - len(exercised)} more met no fault)"
    least = test.min_pass_rate
    if least is None or worst.verdict == "error":
        verdict, limit, why = worst.verdict, worst.limit, f"; {worst.message}" if worst.message else ""
        return share, RunVerdict(verdict, passed + why, limit)
    # With 95 % confidence, the pass rate lies within the interval. A rate that it does not exclude is neither
    # met nor missed.
    low, high = 100 * share.interval.low, 100 * share.interval.high
    between = f"{passed}: between {low:.0f} and {high:.0f} % do (95 %), wanted are {least} %"
    if low >= least:
        return share, RunVerdict("passed", between)
    if high < least:
        return share, RunVerdict("failed", f"{between}; {worst.message}", "min_pass_rate")
    return share, RunVerdict("inconclusive", f"{between}: too few runs to tell", "min_pass_rate")


# One run in virtual or real time


@dataclass(frozen=True, slots=True)
class AgentRun:
    """The trace of one run and its tokens."""

    trace: Trace
    tokens: int
    """Tokens that the agent used; 0 without a model."""
    money: float
    """US dollars that they cost; 0 if the price is unknown."""
    problem: str = ""
    """Why there is no final reply: the model failed for good, by a fault."""


async def run_in_virtual_time(
    suite: Suite, test: AgentTest, chosen: ChosenAgent, servers: Sequence[ConnectedServer], seed: Seed
) -> AgentRun:
    """Run an agent in virtual time, in which a hang of minutes takes no real time."""
    plan = suite.plan(test.inject, seed)
    injectors = {server.name: Injector(plan, server.name) for server in servers}
    for server in servers:
        injectors[server.name].learn_tools([{"name": tool.name} for tool in server.tools])
    model = None
    if chosen.model is not None:
        model = InnerModel(chosen.model, suite.model_plan(test.inject, seed))
    box = VirtualToolbox(servers, injectors, test.budget, patience_ms(test), model)
    return await _run_in_box(test, chosen.agent, box, seed)


async def run_in_real_time(
    suite: Suite, test: AgentTest, chosen: ChosenAgent, tools: Sequence[ToolInfo], seed: Seed, scale: float
) -> AgentRun:
    """Run an agent against live servers, `scale` times as fast as real time."""
    plan, servers = suite.plan(test.inject, seed), servers_of(suite, test)
    open_model: OpenModel | None = None
    if chosen.model is not None:
        open_model = partial(real_model, chosen.model, suite.model_plan(test.inject, seed))
    async with real_toolbox(servers, tools, plan, test.budget, patience_ms(test), scale, open_model) as box:
        return await _run_in_box(test, chosen.agent, box, seed)


async def _run_in_box(
    test: AgentTest, agent: Agent, box: VirtualToolbox | RealToolbox, seed: Seed
) -> AgentRun:
    answer: AgentAnswer | None = None
    ending: RunEnding = "reply"
    problem = ""
    try:
        answer = await agent.run(task_of(test, seed), box)
    except BudgetExceeded as exceeded:
        ending = exceeded.ending
    except ModelError as error:
        if not any(call.is_model and call.fault for call in box.calls):
            raise
        ending, problem = "error", str(error)
    reply = None if answer is None else FinalReply(answer.text, box.now_ms(), answer.claims_success)
    calls = tuple(box.calls)
    trace = Trace(
        calls,
        reply,
        ending,
        _succeeded(calls, answer),
        tuple(box.budget_use.overruns),
        tuple(dict.fromkeys(box.met_elsewhere)),
    )
    return AgentRun(trace, box.budget_use.tokens, box.budget_use.money, problem)


def model_of_program(suite: Suite, test: AgentTest, seed: Seed) -> ProgramModel | None:
    """Return the mock that answers in place of the model of a program; None if the test has none."""
    if not test.mock_model:
        return None
    answers = MockAnswers("script", test.mock_model, seed=suite.seed)
    return ProgramModel(answers, suite.model_plan(test.inject, seed))


def task_of(test: AgentTest, seed: Seed) -> AgentTask:
    """Return the task of a test."""
    return AgentTask(test.prompt, test.system_prompt, f"{seed}/{test.name}")


def servers_of(suite: Suite, test: AgentTest) -> list[SuiteServer]:
    """Return the servers that a test uses."""
    return [server for server in suite.servers if server.name in test.servers]


def patience_ms(test: AgentTest) -> float:
    """Return how long a caller waits for a reply."""
    return USUAL_PATIENCE_MS if test.recovery is None else float(test.recovery.max_detection_ms)


def _succeeded(calls: Sequence[TracedCall], answer: AgentAnswer | None) -> bool | None:
    """Return whether the task of a script was done; None if unknown.

    A step that failed for its caller was done all the same if its effect shows at the server: only its reply
    was lost. A step whose reply a fault changed is unknown.
    """
    if answer is None or answer.done is None:
        return None
    effects = [(call.tool, dict(call.arguments)) for call in calls if call.effect and call.failed]
    if not all((planned.tool, dict(planned.arguments)) in effects for planned in answer.undone):
        return False
    # What a misled model asked for is seen in the calls: the script compares them with its steps.
    misled = [call for call in calls if call.misleading and not call.effect and not call.is_model]
    return None if misled else True
