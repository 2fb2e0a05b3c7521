"""The impact tools: from arguments to a scenario, its run, and its report as text and as data.

What a run may be is decided by `limits`; how it is run, by `faultkit.scenario.run`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from faultkit.agent_tools.impact_progress import progress_watch
from faultkit.agent_tools.impact_result import advice_of, structured_of, with_advice
from faultkit.agent_tools.tool import ToolCall, ToolResult
from faultkit.base.errors import FaultkitError, InputError, RunError, TargetError
from faultkit.base.reach import why_unreachable
from faultkit.faults.fault import Fault, StreamFault
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.bandwidth import UNITS, Bandwidth
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.jitter import Jitter
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.packet_loss import PacketLoss
from faultkit.plan import Match, Rule, Trigger
from faultkit.scenario.impact import SLOS, Impact, scenario_of
from faultkit.scenario.model import Scenario
from faultkit.scenario.report.document import to_document
from faultkit.scenario.report.markdown import render_markdown
from faultkit.scenario.routes import origin_of, routes_of
from faultkit.scenario.run import Outcome, Settings, run_scenarios

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
"""Settings of faults that have another name among the arguments."""


def impact_of(kind: str, given: Mapping[str, Any]) -> Impact:
    """What was asked, from arguments that have been read."""
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
    with _RUNS.one_of(limits.max_runs):
        _check_reachable(impact.url)
        outcome = _outcome(call, scenario)
    item = outcome.report.items[0]
    advice = advice_of(item, impact)
    markdown = with_advice(render_markdown(outcome.report), advice)
    document = to_document(outcome.report)
    stored = call.services.reports.add(scenario.title, markdown, document)
    return ToolResult(markdown, structured_of(item, advice, markdown, document, stored.id))


latency = partial(_run, "latency")
jitter = partial(_run, "jitter")
bandwidth = partial(_run, "bandwidth")
packet_loss = partial(_run, "packet_loss")
blackhole = partial(_run, "blackhole")
http_error = partial(_run, "http_error")


def _outcome(call: ToolCall, scenario: Scenario) -> Outcome:
    settings = Settings(seed=call.values["seed"], baseline=call.values["baseline"])
    outcome = run_scenarios([scenario], settings, progress_watch(call.progress), call.cancelled)
    if call.cancelled.is_set():
        raise RunError("the run was cancelled: traffic has ended and its ports are free")
    if outcome.trouble is not None:
        raise _told(outcome.trouble, scenario)
    return outcome


def _check_reachable(url: str) -> None:
    """Before any port is opened or process started."""
    origin = origin_of(url)
    if (why := why_unreachable(origin, _REACH_S)) is not None:
        raise TargetError(f"url: expected an app that listens on {origin}, got none: {why}. Start it first")


def _told(trouble: FaultkitError, scenario: Scenario) -> FaultkitError:
    """In the words of the arguments."""
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
    """How many runs are under way in this process."""

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def one_of(self, most: int) -> Iterator[None]:
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


_RUNS = _Runs()
