"""The functions of the impact tools: run a scenario of one fault, and return its report as text and data.

`load_limits` decides whether a run is allowed. Imported when a tool is called first.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import ceil, isfinite
from typing import Any

from faultkit.agent_tools.load_limits import LoadLimits
from faultkit.agent_tools.tool import ToolCall, ToolResult
from faultkit.base.address import ProxyMap
from faultkit.base.errors import FaultkitError, InputError, RunError, TargetError
from faultkit.base.network import why_unreachable
from faultkit.faults.fault import Fault, StreamFault
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.bandwidth import UNITS, Bandwidth
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.jitter import Jitter
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.packet_loss import PacketLoss
from faultkit.load.slo import requests_wanted
from faultkit.load.summary import Summary
from faultkit.plan import Match, Rule, Trigger
from faultkit.scenario.impact import SLOS, Impact, scenario_of
from faultkit.scenario.report.item_evidence import baseline_errors, baseline_warning
from faultkit.scenario.report.report_model import ItemReport, Report
from faultkit.scenario.report.results_document import to_document
from faultkit.scenario.report.scenario_markdown import render_markdown
from faultkit.scenario.routes import origin_of, routes_of
from faultkit.scenario.run_events import ItemBegan, ItemEnded, LoadProgress, PhaseBegan, RunEvent, RunListener
from faultkit.scenario.scenario_model import Scenario
from faultkit.scenario.scenario_run import RunOutcome, RunSettings, run_scenarios

_REACH_S = 5.0
_UNITS: dict[str, Any] = {unit.lower(): unit for unit in UNITS}

_FAULTS: dict[str, Callable[[Mapping[str, Any]], Fault]] = {
    "latency": lambda given: Latency(
        mean_ms=given["latency"],
        stddev_ms=given["deviation"],
        per="operation" if given["per_read_write_op"] else "connection",
    ),
    "jitter": lambda given: Jitter(amplitude_ms=given["amplitude"], frequency_hz=given["frequency"]),
    "bandwidth": lambda given: Bandwidth(rate=given["rate"], unit=_UNITS[given["unit"]]),
    "packet_loss": lambda given: (
        PacketLoss(model="five-state") if given["rate"] is None else PacketLoss(rate=given["rate"])
    ),
    "blackhole": lambda given: Blackhole(),
    "http_error": lambda given: HttpError(status=given["status_code"], body=given["error_body"] or None),
}
_ARGUMENTS = {
    "mean_ms": "latency",
    "stddev_ms": "deviation",
    "amplitude_ms": "amplitude",
    "frequency_hz": "frequency",
    "status": "status_code",
    "body": "error_body",
}
"""Arguments whose names differ from those of the fault's settings."""


def impact_of(kind: str, given: Mapping[str, Any]) -> Impact:
    """Return what the arguments ask for. Raises InputError."""
    return Impact(
        given["url"].strip(),
        (_rule(kind, given),),
        method=given["method"].strip(),
        body=given["body"],
        headers=given["headers"],
        duration_s=given["duration"],
        clients=given["num_clients"],
        rps=given["rps"],
        timeout_s=given["timeout"],
        proxies=given["proxies"],
        slos=SLOS if given["slos"] is None else given["slos"],
    )


def _rule(kind: str, given: Mapping[str, Any]) -> Rule:
    try:
        fault = _FAULTS[kind](given)
    except ValueError as error:
        field, _, problem = str(error).partition(": ")
        raise InputError(_ARGUMENTS.get(field, field), problem) from None
    if isinstance(fault, StreamFault):
        return Rule(kind, fault, Match(side=given["side"], direction=given["direction"]))
    return Rule(kind, fault, trigger=Trigger(given["probability"]))


def _run(kind: str, call: ToolCall) -> ToolResult:
    impact, limits = impact_of(kind, call.values), call.services.limits
    limits.check_load(impact.duration_s, impact.clients, impact.rps, impact.timeout_s)
    scenario = scenario_of(impact)
    limits.check_target(impact.url)
    with RUNS.one_of(limits.max_runs):
        check_reachable(impact.url)
        outcome = _outcome(call, scenario)
    report = judged_report(outcome.report)
    item = report.items[0]
    advice = advice_of(item, impact, limits)
    markdown = with_advice(render_markdown(report), advice)
    document = to_document(report)
    stored = call.services.reports.add(scenario.title, markdown, document)
    return ToolResult(markdown, structured_of(item, advice, markdown, document, stored.id))


latency = partial(_run, "latency")
jitter = partial(_run, "jitter")
bandwidth = partial(_run, "bandwidth")
packet_loss = partial(_run, "packet_loss")
blackhole = partial(_run, "blackhole")
http_error = partial(_run, "http_error")


def _outcome(call: ToolCall, scenario: Scenario) -> RunOutcome:
    values = call.values
    settings = RunSettings(seed=values["seed"], baseline=values["baseline"], measures_only=True)
    outcome = run_scenarios([scenario], settings, progress_watch(call.progress), call.cancelled)
    if call.cancelled.is_set():
        raise RunError("the run was cancelled: traffic has ended and its ports are free")
    if outcome.trouble is not None:
        raise with_argument(outcome.trouble, scenario)
    return outcome


def check_reachable(url: str) -> None:
    """Raise TargetError if nothing listens at the URL, before any port is opened or process started."""
    origin = origin_of(url)
    if (why := why_unreachable(origin, _REACH_S)) is not None:
        raise TargetError(f"url: expected an app that listens on {origin}, got none: {why}. Start it first")


def with_argument(trouble: FaultkitError, scenario: Scenario) -> FaultkitError:
    """Return the error with the name of the argument that caused it."""
    if not isinstance(trouble, TargetError):
        return trouble
    text = str(trouble)
    for index, spec in enumerate(routes_of(scenario.items[0]).proxies):
        prefix = f"{spec.name}: cannot listen on "
        if text.startswith(prefix) and spec.upstream is not None:
            came = text.removeprefix(prefix)
            who = " (another program or run has it)" if came.endswith(os.strerror(errno.EADDRINUSE)) else ""
            return TargetError(f"proxies[{index}]: expected a port that is free, got {came}{who}")
    return TargetError(f"url: {text}")


class _Runs:
    """Number of impact runs in this process."""

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def one_of(self, most: int) -> Iterator[None]:
        """Count a run while it lasts; raise RunError if there are `most` already."""
        with self._lock:
            if self._count >= most:
                raise RunError(
                    f"expected at most {most} impact runs at a time, got one more: try again later"
                )
            self._count += 1
        try:
            yield
        finally:
            with self._lock:
                self._count -= 1


RUNS = _Runs()


# --- progress --------------------------------------------------------------------------------------


_PHASES = {"baseline": "without the fault", "faults": "with the fault"}
_SENDING = 0.9
"""Share of a phase's progress for its traffic. The rest is for pending responses: a client that receives no
progress for long cancels the call."""


def progress_watch(report: Callable[[float, float | None, str], None]) -> RunListener:
    """Return a watch that reports seconds of traffic done, the total, and a short text."""
    total_s = before_s = phase_s = 0.0
    phase = ""

    def watch(event: RunEvent) -> None:
        nonlocal total_s, before_s, phase_s, phase
        match event:
            case ItemBegan():
                total_s = event.seconds
            case PhaseBegan():
                phase, phase_s = _PHASES.get(event.phase, event.phase), event.seconds
                # The phase with faults is the last, with or without a baseline.
                before_s = total_s - phase_s if event.phase == "faults" else 0.0
                report(before_s, total_s, f"{phase}: begins")
            case LoadProgress(progress=now):
                counts = f"{now.done} requests, {now.errors} errors"
                done_s = before_s + phase_s * share_done(now.elapsed_s, phase_s)
                report(round(done_s, 6), total_s, f"{phase}: {counts}, p95 {now.p95_ms:.0f} ms")
            case ItemEnded():
                report(total_s, total_s, f"done: {judged(event.report).verdict}")
            case _:
                pass

    return watch


def share_done(elapsed_s: float, phase_s: float) -> float:
    """Return the share of a phase that is done. It always grows, and stays below 1."""
    if elapsed_s <= phase_s:
        return _SENDING * max(elapsed_s, 0.0) / phase_s
    return 1 - (1 - _SENDING) / (1 + elapsed_s - phase_s)


# --- result ----------------------------------------------------------------------------------------


_FEW = 0.5
"""Share of requests. If the fault acted on fewer, most requests used connections that were already open."""


def judged_report(report: Report) -> Report:
    """Return the report with a verdict on the objectives for each item."""
    scenarios = (replace(each, items=tuple(map(judged, each.items))) for each in report.scenarios)
    return replace(report, scenarios=tuple(scenarios))


def judged(item: ItemReport) -> ItemReport:
    """Return the item with a verdict on its objectives, if the run was sound.

    A scenario passes if its expectation holds, and an impact run has none: its objectives decide."""
    if item.verdict != "passed":
        return item
    broken = baseline_errors(item)
    if broken is not None and item.baseline is not None and item.baseline.errors == item.baseline.requests:
        reason = f"without any fault {broken} already: nothing can be said about the fault"
        return replace(item, verdict="inconclusive", reasons=(reason,))
    missed = [result.slo.title for result in item.slos if result.passed is False]
    if missed:
        named = f"{', '.join(missed)} ({len(missed)} of {len(item.slos)} objectives)"
        return replace(item, verdict="failed", reasons=(f"missed under the fault: {named}",))
    unknown = [result.slo.title for result in item.slos if result.passed is None]
    if unknown:
        return replace(item, verdict="inconclusive", reasons=(f"could not be judged: {', '.join(unknown)}",))
    return item


def structured_of(
    item: ItemReport, advice: Sequence[str], markdown: str, document: dict[str, Any], report_id: str
) -> dict[str, Any]:
    """Return the structured result of a run: verdict, reasons, figures and the report."""
    return {
        "verdict": item.verdict,
        "reasons": list(item.reasons),
        "warnings": warnings_of(item),
        "advice": list(advice),
        "injected": sum(fault.injected for fault in item.faults),
        "figures": _figures(item.run),
        "baseline": None if item.baseline is None else _figures(item.baseline),
        "impact": [
            {
                "name": each.name,
                "unit": each.unit,
                "baseline": _finite(each.baseline),
                "fault": _finite(each.fault),
                "difference": _finite(each.difference),
                "shown": each.shown,
            }
            for each in item.impact
        ],
        "slos": [
            {
                "title": result.slo.title,
                "passed": result.passed,
                "measured": _finite(result.measured),
                "over": result.over,
                "total": result.total,
            }
            for result in item.slos
        ],
        "report_id": report_id,
        "markdown": markdown,
        "report": document,
    }


def advice_of(item: ItemReport, impact: Impact, limits: LoadLimits) -> tuple[str, ...]:
    """Return sentences on how to read the result, and how to ask for a better run."""
    return _advice_on_fault(item, impact) or _advice_on_load(item, impact, limits)


def _advice_on_load(item: ItemReport, impact: Impact, limits: LoadLimits) -> tuple[str, ...]:
    """Return which load is enough for the objectives, if this one was not."""
    weak = [each for each in item.slos if each.total < requests_wanted(each.slo)]
    if not weak:
        return ()
    hardest = max(weak, key=lambda each: requests_wanted(each.slo))
    wanted = requests_wanted(hardest.slo)
    few = f"{hardest.total} requests are too few to judge {hardest.slo.title} well, which wants {wanted}"
    load = _load_for(wanted, hardest.slo.window_s, impact, limits)
    ways = [*([] if load is None else [f"set {load}"]), "ask for an objective with a lower percentage"]
    return (f"{few}: {' or '.join(ways)}.",)


def _load_for(wanted: int, window_s: float | None, impact: Impact, limits: LoadLimits) -> str | None:
    """Return the arguments with which so many requests are sent; None if the limits do not allow it."""
    rps = ceil(wanted / (window_s or impact.duration_s) / impact.clients)
    if rps * impact.clients <= limits.max_rps_total:
        return f"rps={rps}"
    rps = int(limits.max_rps_total // impact.clients)
    if not rps or window_s:
        return None
    duration_s = ceil(wanted / (rps * impact.clients))
    return f"rps={rps} and duration={duration_s}s" if duration_s <= limits.max_duration_s else None


def _advice_on_fault(item: ItemReport, impact: Impact) -> tuple[str, ...]:
    """Return which arguments or settings of the app kept the fault from acting."""
    requests, injected = item.run.requests, sum(fault.injected for fault in item.faults)
    connections = item.injection.connections
    if not injected and requests:
        if impact.proxies and not connections:
            ways = " and ".join(_way(given) for given in impact.proxies)
            return (f"No call of the app came through the proxies: start the app so that it calls {ways}.",)
        met = f"{connections} connections passed and the fault spared them all"
        return (f"{met}: ask for a longer duration, more requests or a stronger fault.",)
    fault = impact.rules[0].fault
    keeps = impact.proxies and isinstance(fault, Latency) and fault.per == "connection"
    if keeps and injected < _FEW * requests:
        acted = f"Latency acted {injected} times in {requests} requests"
        return (
            f"{acted}: the app seems to keep its connections open, and each is delayed once. "
            "With per_read_write_op=true every request is delayed.",
        )
    return ()


def _way(given: ProxyMap) -> str:
    scheme = "http://" if given.speaks == "http" else ""
    return f"{scheme}{given.listen} instead of {given.upstream}"


def with_advice(markdown: str, advice: Sequence[str]) -> str:
    """Return the report with the advice at its end."""
    if not advice:
        return markdown
    return "\n".join([markdown, "**Advice**:", "", *(f"- {line}" for line in advice), ""])


def warnings_of(item: ItemReport) -> list[str]:
    """Return the warnings about the baseline, the run and the objectives."""
    baseline = baseline_warning(item)
    objectives = [f"SLO {result.slo.title}: {result.warning}" for result in item.slos if result.warning]
    return [*([] if baseline is None else [baseline]), *item.warnings, *objectives]


def _figures(run: Summary) -> dict[str, Any]:
    times = run.response
    at = {each.percent: each.ms for each in times.percentiles}
    found = {
        "min_ms": times.min_ms,
        "mean_ms": times.mean_ms,
        **{f"p{percent:g}_ms": at.get(percent) for percent in (50.0, 95.0, 99.0)},
        "max_ms": times.max_ms,
    }
    return {
        "requests": run.requests,
        "errors": run.errors,
        **{name: _finite(ms) if times.count else None for name, ms in found.items()},
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None
