"""The verdict on an item. Pure.

An expectation applies to every call, also to each request of a load. A transport failure never meets it,
however fast it was. An item with a fault that never acted does not pass; one that missed its expectation has
failed all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from faultkit.base.text import count_of
from faultkit.faults.connection.refuse import Refuse
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.http.http_quota import HttpQuota
from faultkit.load.expectation import Expectation
from faultkit.load.response import Failure
from faultkit.load.samples import Sample
from faultkit.load.slo import SloResult
from faultkit.load.summary import Summary
from faultkit.scenario.report.report_model import ReportedFault, Verdict
from faultkit.scenario.scenario_model import WrittenFault


@dataclass(frozen=True, slots=True)
class VerdictEvidence:
    """The facts for a verdict."""

    expect: Expectation
    calls: int
    unmet: int
    """Calls that missed the expectation."""
    first_miss: str | None
    """What the first of them missed."""
    slos: Sequence[SloResult]
    """The objectives that must hold: all with `all_slo_are_valid`, else only those of command line flags."""
    faults: Sequence[ReportedFault]
    doubts: Sequence[str] = ()
    """Reasons why the figures are inconclusive."""
    cut_short: str | None = None
    """Why the run ended early; None if it did not."""
    out_of_reach: str | None = None
    """Why the faults are not known to have acted as planned, if their proxies were out of reach."""
    baseline_miss: str | None = None
    """What the baseline call of a repeat missed; then the service fails without any fault."""
    no_success: str | None = None
    """What the answers were, if none was a success for reasons other than the faults."""
    connections: int = 0
    """Connections through the proxies since the faults began."""
    lost: int | None = 0
    """Planned requests of lost workers that nothing is known about; None if their number is not known."""


def judge_item(evidence: VerdictEvidence) -> tuple[Verdict, tuple[str, ...]]:
    """Return the verdict and its reasons."""
    missed = _missed_reasons(evidence)
    idle = [
        f"{fault.written} never acted: {_why_idle(fault, evidence.connections)}"
        for fault in evidence.faults
        if not fault.injected
    ]
    undecided = [
        f'SLO "{result.slo.title}" could not be judged' for result in evidence.slos if result.passed is None
    ]
    if evidence.lost != 0 and evidence.expect.of_calls:
        missing = "some planned calls" if evidence.lost is None else count_of(evidence.lost, "planned call")
        undecided.append(f"a worker was lost, so it is not known whether {missing} met the expectation")
    if evidence.cut_short is not None:
        return "unfinished", (evidence.cut_short, *missed)
    if evidence.out_of_reach is not None:
        return "inconclusive", (evidence.out_of_reach, *missed)
    if idle and not missed:
        return "not exercised", tuple(idle)
    if evidence.doubts:
        return "inconclusive", (*evidence.doubts, *missed, *idle)
    if missed:
        return "failed", (*missed, *idle)
    if not evidence.calls:
        return "inconclusive", ("no request was made", *undecided)
    if evidence.no_success is not None:
        return "inconclusive", (evidence.no_success, *undecided)
    return ("inconclusive", tuple(undecided)) if undecided else ("passed", ())


def _why_idle(fault: ReportedFault, connections: int) -> str:
    if not fault.windows:
        return "its schedule has no time within the run"
    if connections:
        came = f"{count_of(connections, 'connection')} came through the proxies"
        return f"{came}, but its match, trigger and schedule chose none, or its settings change nothing"
    if fault.kind == Refuse.kind:
        return (
            "no connection to its port was seen, and a shut port sees none; a baseline (of a load, or "
            "add_baseline_call) shows whether the service uses it"
        )
    return "no request met it"


def why_no_success(
    expect: Expectation,
    run: Summary,
    baseline: Summary | Sample | None,
    faults: Sequence[WrittenFault],
    injected: Mapping[str, int],
    *,
    calls_tool: bool = False,
) -> str | None:
    """Return what the answers were, if none of them shows that the call works without the faults; else None.

    An error page proves nothing about the service behind it. An expected status is one that the user has
    chosen: it decides by itself. `baseline`: of a load, or the baseline call of a repeat. `injected`: how
    often each rule acted, by its name. `calls_tool`: the replies of an MCP server have no status."""
    if calls_tool:
        return _why_no_result(run, baseline)
    if not isinstance(baseline, Sample) and (why := _why_no_stream(run, baseline)) is not None:
        return why
    if expect.status is not None:
        return None
    if isinstance(baseline, Sample):
        if _is_success(baseline.status):
            return None
        got = f"status {baseline.status}" if baseline.status else Failure(baseline.failure).label
        return f"the baseline call, without faults, got no 2xx or 3xx ({got})"
    if baseline is not None:
        if not baseline.requests or any(map(_is_success, baseline.statuses)):
            return None
        return f"no answer of the baseline, without faults, was 2xx or 3xx ({_answers(baseline)})"
    # Without a baseline, errors may be what the faults lead to, or what the service always answers. Only the
    # answers that a fault made itself are known to be the fault's.
    by_service = Counter(run.statuses)
    for fault in faults:
        if isinstance(fault.rule.fault, HttpError | HttpQuota):
            by_service[fault.rule.fault.status] -= injected.get(fault.rule.name, 0)
    statuses = +by_service  # Without those of which none is left.
    if not statuses or any(map(_is_success, statuses)):
        return None
    made = "" if statuses == run.statuses else ", apart from those that faults made,"
    return f"no answer{made} was 2xx or 3xx ({_answers(run)})"


def _why_no_stream(run: Summary, baseline: Summary | None) -> str | None:
    """Return what became of the calls of an event stream, if none was one for reasons other than the
    faults."""
    judged = run if baseline is None else baseline
    if judged.stream is None or judged.stream.streams or not judged.requests:
        return None
    if baseline is None and set(judged.failures) != {Failure.NO_STREAM.label}:
        return None
    which = "the calls" if baseline is None else "the baseline's calls, without faults,"
    return f"none of {which} was answered with an event stream ({_failures(judged)})"


def _failures(summary: Summary) -> str:
    return ", ".join(f"{label}: {count}" for label, count in summary.failures.items())


def _why_no_result(run: Summary, baseline: Summary | Sample | None) -> str | None:
    """Return what became of the calls of a tool, if none had a result for reasons other than the faults."""
    if isinstance(baseline, Sample):
        failure = Failure(baseline.failure)
        return f"the baseline call, without faults, had no result ({failure.label})" if failure else None
    judged = run if baseline is None else baseline
    failures = {failure for failure in Failure if failure.label in judged.failures}
    # Faults on the way lead to errors of the transport only. A tool that is not there has no other errors.
    by_server = baseline is not None or all(failure.level != "transport" for failure in failures)
    if not judged.requests or judged.errors < judged.requests or not by_server:
        return None
    which = "the calls" if baseline is None else "the baseline's calls, without faults,"
    return f"none of {which} had a result ({_failures(judged)})"


def _is_success(status: int) -> bool:
    return 200 <= status < 400


def _answers(summary: Summary) -> str:
    counts = [f"status {status}: {count}" for status, count in sorted(summary.statuses.items())]
    unanswered = summary.requests - sum(summary.statuses.values())
    return ", ".join(counts + [f"no answer: {unanswered}"] * (unanswered > 0))


def _missed_reasons(evidence: VerdictEvidence) -> list[str]:
    missed: list[str] = []
    if evidence.unmet:
        first = f", first: {evidence.first_miss}" if evidence.first_miss else ""
        missed.append(f"{evidence.unmet} of {count_of(evidence.calls, 'call')} missed the expectation{first}")
    if evidence.baseline_miss is not None:
        missed.append(f"the baseline call, without faults, missed it: {evidence.baseline_miss}")
    return missed + [_missed_slo(result) for result in evidence.slos if result.passed is False]


def _missed_slo(result: SloResult) -> str:
    text = f'SLO "{result.slo.title}" was missed'
    if result.slo.is_time and result.measured is None and result.total:
        # The percentile of all times may be below the limit: a failed request counts as no answer.
        bad = f"{result.over} of {result.total} requests failed or were late"
        return f"{text}: {bad}, so there is no answer at it"
    return text
