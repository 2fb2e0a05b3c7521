"""Outputs of a run: JSON lines, one line per event (`--tail`), or a few plain lines. They only write.

The live view is another output of the same shape, in `faultkit.cli.run_view`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TextIO

from faultkit.base.address import Endpoint
from faultkit.base.text import counted, escaped_json, escaped_line
from faultkit.base.units import format_duration
from faultkit.plan import Plan
from faultkit.proxy.data_plane import DataPlane, ProxyCounts, ProxySpec, Snapshot, snapshot_document
from faultkit.proxy.plane_events import (
    Closed,
    DialFailed,
    Directed,
    Executed,
    Injected,
    Opened,
    PlaneEvent,
    Requested,
    RulesChanged,
    Trouble,
    event_document,
)
from faultkit.proxy.upstream_check import advised

_MOST_WARNINGS = 100


_MOST_LEDGER_LINES = 20


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A run that has started."""

    plan: Plan
    proxies: tuple[tuple[ProxySpec, Endpoint], ...]
    """Each proxy with the address that it is bound to."""
    began: float
    """Start on the monotonic clock, in seconds; the `t` of every event counts from it."""
    duration_s: float | None = None
    control: Endpoint | None = None
    has_tls: bool = False
    """Whether the control API speaks TLS."""

    @property
    def control_url(self) -> str | None:
        """The URL of the control API; None if there is none."""
        return None if self.control is None else f"http{'s' * self.has_tls}://{self.control}"


@dataclass(frozen=True, slots=True)
class RunEnding:
    """The end of a run, with its final counters."""

    reason: str
    """`duration`, `interrupt`, `terminate`, `hangup`, or `quit` (the key `q`)."""
    seconds: float
    snapshot: Snapshot


class RunOutput(Protocol):
    """Receives the progress of a run."""

    every_s: float
    """Shortest interval between calls of `happened` and `tick`, in seconds."""
    observes: bool
    """Whether it needs an event for every connection and injection."""

    @property
    def wants_end(self) -> bool:
        """Whether the user asks for the end of the run."""

    def started(self, run: StartedRun) -> None: ...

    def happened(self, events: list[PlaneEvent]) -> None: ...

    def tick(self, plane: DataPlane, now: float) -> None: ...

    def ended(self, ending: RunEnding) -> None: ...

    def close(self) -> None:
        """Restore the terminal, also after an error."""


class JsonLines:
    """One JSON object per line: `started`, then the events, then `ended`."""

    every_s = 0.03
    observes = True
    wants_end = False

    def __init__(self, stream: TextIO | None = None) -> None:
        _load_masks()
        self._stream = stream or sys.stdout
        self._began = 0.0

    def started(self, run: StartedRun) -> None:
        self._began = run.began
        proxies = [
            {
                "name": spec.name,
                "listen": str(bound),
                "upstream": None if spec.upstream is None else str(spec.upstream),
                "tls": spec.tls,
                "client_tls": spec.client_tls is not None and spec.upstream is not None,
                "intercept": [] if spec.intercept is None else list(map(str, spec.intercept.upstreams)),
                "speaks": "http" if spec.upstream is None else spec.speaks,
            }
            for spec, bound in run.proxies
        ]
        self._write(
            {
                "event": "started",
                "t": 0.0,
                "seed": run.plan.seed,
                "plan": run.plan.digest,
                "rules": [rule.name for rule in run.plan.rules],
                "proxies": proxies,
                "duration_s": run.duration_s,
                "control": None if run.control is None else str(run.control),
            }
        )
        self._stream.flush()

    def happened(self, events: list[PlaneEvent]) -> None:
        for event in events:
            self._write(event_document(event, self._began))
        if events:
            self._stream.flush()

    def tick(self, plane: DataPlane, now: float) -> None:
        """Do nothing: the events hold all the data."""

    def ended(self, ending: RunEnding) -> None:
        head = {"event": "ended", "t": round(ending.seconds, 6), "reason": ending.reason}
        self._write({**head, **snapshot_document(ending.snapshot)})
        self._stream.flush()

    def close(self) -> None:
        """Do nothing: there is no terminal state to restore."""

    def _write(self, document: dict[str, Any]) -> None:
        written = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        # Clients and servers choose some of the words, which must not control the terminal.
        self._stream.write(escaped_json(written) + "\n")


class Warnings:
    """What a user must know while a run goes on: each text once, and not too many."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def new(self, events: list[PlaneEvent]) -> list[str]:
        """Return the warnings in these events that were not returned before."""
        found: list[str] = []
        for event in events:
            if isinstance(event, Trouble):
                text = f"{event.proxy}: {event.what}"
            elif isinstance(event, DialFailed) and not event.injected:
                text = f"{event.proxy}: cannot reach {event.upstream}: {advised(event.why)}"
            else:
                continue
            if text not in self._known and len(self._known) < _MOST_WARNINGS:
                self._known.add(text)
                found.append(text)
        return found


class PlainLines:
    """A few lines at the start and at the end, and warnings in between."""

    every_s = 0.25
    observes = False
    wants_end = False

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._warnings = Warnings()

    def started(self, run: StartedRun) -> None:
        self._write(*start_lines(run))

    def happened(self, events: list[PlaneEvent]) -> None:
        self._write(*(f"warning: {text}" for text in self._warnings.new(events)))

    def tick(self, plane: DataPlane, now: float) -> None:
        """Do nothing: this output is a log and has no live view."""

    def ended(self, ending: RunEnding) -> None:
        self._write(*end_lines(ending))

    def close(self) -> None:
        """Do nothing: there is no terminal state to restore."""

    def _write(self, *lines: str) -> None:
        if lines:
            self._stream.write("".join(f"{line}\n" for line in lines))
            self._stream.flush()


class EventLines(PlainLines):
    """Plain lines, with one more for each connection, request and injection."""

    every_s = 0.03
    observes = True

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__(stream)
        _load_masks()
        self._began = 0.0

    def started(self, run: StartedRun) -> None:
        self._began = run.began
        super().started(run)

    def happened(self, events: list[PlaneEvent]) -> None:
        self._write(*(tail_line(event, self._began) for event in events))


def _load_masks() -> None:
    """Import what masks request targets now: at the first request, it would make bytes late."""
    import faultkit.base.secrets  # noqa: F401


def tail_line(event: PlaneEvent, began: float) -> str:
    """Return the line of an event, with its time since the start of the run."""
    connection = getattr(event, "connection", None)
    number = "" if connection is None else f"#{connection}"
    # Clients and servers choose some of the words, which must not control the terminal.
    return f"{event.at - began:12.6f}  {event.proxy:<6} {number:<6} {escaped_line(_event_text(event))}"


def _event_text(event: PlaneEvent) -> str:
    match event:
        case Opened():
            return f"opened    from {event.client}"
        case Closed():
            up, down = human_bytes(event.to_upstream_bytes), human_bytes(event.to_client_bytes)
            return f"closed    {event.how}, {up} up, {down} down, {event.seconds:.3f} s"
        case Requested():
            faults = f"  [{', '.join(event.injected)}]" if event.injected else ""
            return f"request   {event.method} {event.masked_target}{faults}"
        case Executed():
            got = "" if event.delivered else "  [the answer was lost]"
            return f"executed  {event.method} {event.masked_target} {event.status}{got}"
        case Injected():
            flow = f" {event.flow}" if event.flow else ""
            return f"injected  {event.rule}{flow} {event.effect}={event.value:g}"
        case Directed():
            return f"to        {event.upstream}{' (spared)' if event.spared else ''}"
        case DialFailed():
            return f"no dial   {event.upstream}: {event.why}"
        case RulesChanged():
            return f"rules     {', '.join(event.active) or 'none act'}"
        case Trouble():
            return f"trouble   {event.what}"
    return event.event


def start_lines(run: StartedRun) -> list[str]:
    """Return the lines at the start of a run: proxies, faults, seed."""
    lines = [f"{spec.name}: {bound}{_to_clients(spec)} → {target_text(spec)}" for spec, bound in run.proxies]
    for spec, bound in run.proxies:
        if spec.intercept is not None:
            lines.append(f'clients: eval "$(fault ca env --proxy {bound})"')
        elif spec.client_tls is not None and spec.client_tls.cert is None:
            lines.append(f'clients of {bound}: eval "$(fault ca env --no-proxy)"')
    lines.append(f"faults: {', '.join(rule.name for rule in run.plan.rules) or 'none'}")
    lines.append(f"seed: {run.plan.seed} (--seed {run.plan.seed} replays this run)")
    if run.duration_s is not None:
        lines.append(f"ends after {format_duration(run.duration_s)}")
    if run.control_url is not None:
        lines.append(f"control: {run.control_url}")
    return lines


def target_text(spec: ProxySpec) -> str:
    """Return a short description of where a proxy connects to."""
    if spec.upstream is not None:
        return f"{spec.upstream}{' (TLS)' if spec.tls else ''}"
    if spec.broken is None:
        return "any host (HTTP proxy; faults act on all)"
    names = ", ".join(map(str, spec.broken.upstreams))
    hosts = "" if spec.intercept is None else ", ".join(map(str, spec.intercept.upstreams))
    inside = f"; HTTPS of {hosts} is intercepted" if hosts else ""
    return f"any host (HTTP proxy; faults act on {names or 'none'}{inside})"


def _to_clients(spec: ProxySpec) -> str:
    return " (TLS)" if spec.client_tls is not None and spec.upstream is not None else ""


def end_lines(ending: RunEnding) -> list[str]:
    """Return the summary at the end of a run."""
    snapshot = ending.snapshot
    proxies = snapshot.proxies
    up = human_bytes(sum(proxy.to_upstream_bytes for proxy in proxies))
    down = human_bytes(sum(proxy.to_client_bytes for proxy in proxies))
    failed = sum(proxy.dial_failures for proxy in proxies)
    short = sum(proxy.shortages for proxy in proxies)
    lacks = [f"{failed} could not reach the upstream"] if failed else []
    if short:
        lacks.append(f"{short} got no descriptor on this machine, see `ulimit -n`")
    lacking = f" ({'; '.join(lacks)})" if lacks else ""
    late = snapshot.lateness
    injected = ", ".join(f"{rule} {count}" for rule, count in snapshot.injected.items())
    lines = [
        f"ended ({ending.reason}) after {ending.seconds:.1f} s",
        f"connections: {sum(proxy.accepted for proxy in proxies)}{lacking}, {up} up, {down} down",
        f"injected: {injected or 'nothing'}",
    ]
    if untouched := sum(proxy.untouched for proxy in proxies):
        lines.append(
            "not exercised by LLM rules: "
            f"{counted(untouched, 'request or answer', 'requests or answers')} that passed"
        )
    lines += _ledger_lines(proxies)
    if late.count:
        lines.append(
            f"lateness of {late.count} releases: "
            f"p50 {late.p50_us:.0f} µs, p99 {late.p99_us:.0f} µs, max {late.max_us:.0f} µs"
        )
    if snapshot.dropped_happenings:
        lines.append(f"warning: {snapshot.dropped_happenings} events were not shown: too many at once")
    return lines


def _ledger_lines(proxies: Sequence[ProxyCounts]) -> list[str]:
    """Return what the upstreams did though clients did not get the answer, at most so many lines."""
    lost = [line for proxy in proxies for line in proxy.ledger if line.lost]
    lines = [
        f"done {counted(line.done, 'time')}, answer lost {counted(line.lost, 'time')}: "
        f"{line.method} {line.target} ({line.status})"
        for line in lost[:_MOST_LEDGER_LINES]
    ]
    more = len(lost) - len(lines)
    return [*lines, f"… and {more} more requests, see GET /status"] if more else lines


def human_bytes(count: float) -> str:
    """Return a size with a decimal unit: `1.5 MB`."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            break
        count /= 1000
    return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
