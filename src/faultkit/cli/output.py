"""What a run says: JSON lines, one line an event (`--tail`), or a few plain lines. It only writes.

The live view is another output of the same shape, in `faultkit.cli.view`.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any, Protocol, TextIO

from faultkit.base.address import Endpoint
from faultkit.base.units import format_duration
from faultkit.plan import Plan
from faultkit.proxy.face import DataPlane
from faultkit.proxy.happenings import (
    Closed,
    DialFailed,
    Happening,
    Injected,
    Opened,
    Requested,
    RulesChanged,
    Trouble,
)
from faultkit.proxy.plain import plain_happening, plain_snapshot
from faultkit.proxy.snapshot import Snapshot
from faultkit.proxy.spec import ProxySpec


@dataclass(frozen=True, slots=True)
class Run:
    """A run that has begun."""

    plan: Plan
    proxies: tuple[tuple[ProxySpec, Endpoint], ...]
    """Each with the address on which it really listens."""
    began: float
    """On the monotonic clock; the `t` of every event counts from here."""
    duration_s: float | None = None
    control: Endpoint | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    reason: str
    """`duration`, `interrupt`, `terminate` or `hangup`."""
    seconds: float
    snapshot: Snapshot


class Output(Protocol):
    every_s: float
    """How often `happened` and `tick` are called, at most."""
    observes: bool
    """Whether it wants to hear of every connection and injection."""

    def started(self, run: Run) -> None: ...

    def happened(self, happenings: list[Happening]) -> None: ...

    def tick(self, plane: DataPlane, now: float) -> None: ...

    def ended(self, ending: Ending) -> None: ...

    def close(self) -> None:
        """Give the terminal back, whatever happened."""


class JsonLines:
    """One JSON object a line: `started`, then what happens, then `ended`."""

    every_s = 0.03
    observes = True

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._began = 0.0

    def started(self, run: Run) -> None:
        self._began = run.began
        proxies = [
            {
                "name": spec.name,
                "listen": str(bound),
                "upstream": None if spec.upstream is None else str(spec.upstream),
                "tls": spec.tls,
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

    def happened(self, happenings: list[Happening]) -> None:
        for happening in happenings:
            self._write(plain_happening(happening, self._began))
        if happenings:
            self._stream.flush()

    def tick(self, plane: DataPlane, now: float) -> None:
        """Nothing: what JSON readers need is in the events."""

    def ended(self, ending: Ending) -> None:
        head = {"event": "ended", "t": round(ending.seconds, 6), "reason": ending.reason}
        self._write({**head, **plain_snapshot(ending.snapshot)})
        self._stream.flush()

    def close(self) -> None:
        """Nothing is held."""

    def _write(self, document: dict[str, Any]) -> None:
        self._stream.write(json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n")


class Plain:
    """A few lines at the start and at the end, and troubles in between."""

    every_s = 0.25
    observes = False

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout

    def started(self, run: Run) -> None:
        self._write(*start_lines(run))

    def happened(self, happenings: list[Happening]) -> None:
        troubles = [happening for happening in happenings if isinstance(happening, Trouble)]
        self._write(*(f"warning: {trouble.proxy}: {trouble.what}" for trouble in troubles))

    def tick(self, plane: DataPlane, now: float) -> None:
        """Nothing: it is for people who look at it later."""

    def ended(self, ending: Ending) -> None:
        self._write(*end_lines(ending))

    def close(self) -> None:
        """Nothing is held."""

    def _write(self, *lines: str) -> None:
        if lines:
            self._stream.write("".join(f"{line}\n" for line in lines))
            self._stream.flush()


class Tail(Plain):
    """Plain, with one line for each connection, request and injection."""

    every_s = 0.03
    observes = True

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__(stream)
        self._began = 0.0

    def started(self, run: Run) -> None:
        self._began = run.began
        super().started(run)

    def happened(self, happenings: list[Happening]) -> None:
        self._write(*(tail_line(happening, self._began) for happening in happenings))


def tail_line(happening: Happening, began: float) -> str:
    connection = getattr(happening, "connection", None)
    number = "" if connection is None else f"#{connection}"
    return f"{happening.at - began:12.6f}  {happening.proxy:<6} {number:<6} {_what(happening)}"


def _what(happening: Happening) -> str:
    match happening:
        case Opened():
            return f"opened    from {happening.client}"
        case Closed():
            up, down = human_bytes(happening.to_upstream_bytes), human_bytes(happening.to_client_bytes)
            return f"closed    {happening.how}, {up} up, {down} down, {happening.seconds:.3f} s"
        case Requested():
            faults = f"  [{', '.join(happening.injected)}]" if happening.injected else ""
            return f"request   {happening.method} {happening.target}{faults}"
        case Injected():
            flow = f" {happening.flow}" if happening.flow else ""
            return f"injected  {happening.rule}{flow} {happening.effect}={happening.value:g}"
        case DialFailed():
            return f"no dial   {happening.upstream}: {happening.why}"
        case RulesChanged():
            return f"rules     {', '.join(happening.active) or 'none act'}"
        case Trouble():
            return f"trouble   {happening.what}"
    return happening.event


def start_lines(run: Run) -> list[str]:
    lines = [f"{spec.name}: {bound} → {target_text(spec)}" for spec, bound in run.proxies]
    lines.append(f"faults: {', '.join(rule.name for rule in run.plan.rules) or 'none'}")
    lines.append(f"seed: {run.plan.seed} (--seed {run.plan.seed} replays this run)")
    if run.duration_s is not None:
        lines.append(f"ends after {format_duration(run.duration_s)}")
    if run.control is not None:
        lines.append(f"control: http://{run.control}")
    return lines


def target_text(spec: ProxySpec) -> str:
    """Where a proxy leads, in a few words."""
    if spec.upstream is not None:
        return f"{spec.upstream}{' (TLS)' if spec.tls else ''}"
    if spec.broken is None:
        return "any host (HTTP proxy; faults act on all)"
    names = ", ".join(map(str, spec.broken.upstreams))
    return f"any host (HTTP proxy; faults act on {names or 'none'})"


def end_lines(ending: Ending) -> list[str]:
    snapshot = ending.snapshot
    proxies = snapshot.proxies
    up = human_bytes(sum(proxy.to_upstream_bytes for proxy in proxies))
    down = human_bytes(sum(proxy.to_client_bytes for proxy in proxies))
    failed = sum(proxy.dial_failures for proxy in proxies)
    late = snapshot.lateness
    injected = ", ".join(f"{rule} {count}" for rule, count in snapshot.injected.items())
    lines = [
        f"ended ({ending.reason}) after {ending.seconds:.1f} s",
        f"connections: {sum(proxy.accepted for proxy in proxies)}"
        f"{f' ({failed} could not reach the upstream)' if failed else ''}, {up} up, {down} down",
        f"injected: {injected or 'nothing'}",
    ]
    if late.count:
        lines.append(
            f"lateness of {late.count} releases: "
            f"p50 {late.p50_us:.0f} µs, p99 {late.p99_us:.0f} µs, max {late.max_us:.0f} µs"
        )
    if snapshot.dropped_happenings:
        lines.append(f"warning: {snapshot.dropped_happenings} events were not shown: too many at once")
    return lines


def human_bytes(count: float) -> str:
    """Decimal, as network people count: `1.5 MB`."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            break
        count /= 1000
    return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
