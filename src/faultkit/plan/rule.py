"""Rule: one fault, and where and when it acts.

A fault does not know its match, trigger and schedule, and they do not know the fault. Only this module checks
that they fit together.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, cast

from faultkit.base.documents.checks import shown
from faultkit.faults.fault import Fault, Level
from faultkit.faults.http_fault import AnswerFault
from faultkit.faults.websocket_fault import WebSocketFault
from faultkit.plan.match import Match, is_http_method
from faultkit.plan.schedule import Schedule
from faultkit.plan.trigger import Trigger

if TYPE_CHECKING:
    from faultkit.faults.call_fault import CallFault


@dataclass(frozen=True, slots=True)
class Rule:
    """A fault with its name in a plan, its match, its trigger and its schedule."""

    name: str
    fault: Fault
    match: Match = Match()  # noqa: RUF009 (frozen values)
    trigger: Trigger = Trigger()  # noqa: RUF009
    schedule: Schedule = Schedule()  # noqa: RUF009

    def __post_init__(self) -> None:
        if not self.name or self.name != self.name.strip() or not self.name.isprintable():
            raise ValueError(
                f"name: expected printable text without blanks around it, got {shown(self.name)}"
            )
        self._check_levels()
        if self.fault.level == "call":
            _check_call(self.match, cast("CallFault", self.fault))
        elif self.fault.level in ("http", "llm"):
            for method in self.match.methods:
                if not is_http_method(method):
                    raise ValueError(
                        f"match.method: expected an HTTP method such as GET, got {shown(method)}"
                    )
            if self.match.status and not isinstance(self.fault, AnswerFault):
                raise ValueError(
                    "match.status: expected only with faults of answers, "
                    f'got "{self.fault.kind}", which acts on requests'
                )
            _check_message(self.match, self.fault)

    @property
    def lasts(self) -> bool:
        """True if the rule, once it has acted, acts to the end of the run."""
        return self.trigger.lasts and self.schedule.lasts

    @property
    def caveat(self) -> str | None:
        """What the settings of the fault do that is hardly meant, with the rule's name, for a warning; None
        if there is nothing."""
        why = self.fault.caveat()
        return None if why is None else f"{self.name}: {why}"

    def _check_levels(self) -> None:
        """Refuse conditions that have no effect on faults of this level."""
        level, usual = self.fault.level, Match()
        given = [key for key in CONDITIONS if getattr(self.match, key) != getattr(usual, key)]
        if self.trigger.burst != 1:
            given.append("burst")
        for key in given:
            fitting = CONDITIONS.get(key, ("call",))
            if level not in fitting:
                part = "trigger" if key == "burst" else "match"
                raise ValueError(
                    f"{part}.{key}: expected only with faults of level {' or '.join(fitting)}, "
                    f'got "{self.fault.kind}", which is of level {level}'
                )


_NETWORK: tuple[Level, ...] = ("stream", "connection", "name", "tls", "http", "llm")
CONDITIONS: dict[str, tuple[Level, ...]] = {
    "proxy": _NETWORK,
    "method": ("http", "call", "llm"),
    "path": ("http", "llm"),
    "headers": ("http", "llm"),
    "status": ("http",),
    "flow": ("http",),
    "message": ("http",),
    "side": ("stream",),
    "direction": ("stream",),
    "server": ("call",),
    "tool": ("call",),
    "resource": ("call",),
    "prompt": ("call",),
    "model": ("llm",),
    "streamed": ("llm",),
    "tool_use": ("llm",),
}
"""Each condition of a match, and the levels of the faults on which it has an effect."""


def _check_message(match: Match, fault: Fault) -> None:
    """Check that conditions on WebSocket messages belong to a fault that acts on them."""
    for key in MESSAGE_CONDITIONS:
        if getattr(match, key) is not None and key not in message_conditions(type(fault)):
            raise ValueError(
                f'match.{key}: expected only with faults of WebSocket messages, got "{fault.kind}"'
            )


MESSAGE_CONDITIONS = ("flow", "message")


def message_conditions(fault: type[Fault]) -> tuple[str, ...]:
    """Return the conditions on WebSocket messages that a fault takes: pings have no text."""
    if not issubclass(fault, WebSocketFault):
        return ()
    return MESSAGE_CONDITIONS[:1] if fault.control_frames else MESSAGE_CONDITIONS


def _check_call(match: Match, fault: CallFault) -> None:
    """Check that the match covers a call which the fault can break."""
    for method in match.methods:
        if method.isupper() or not any(character.isalpha() or character in "*?[" for character in method):
            raise ValueError(f"match.method: expected an MCP method such as tools/call, got {shown(method)}")
    only = fault.fitting_methods()
    wanted = match.call_methods(fault.methods)
    if only and not any(fnmatchcase(method, glob) for method in only for glob in wanted):
        key = "method" if match.method is not None else match.subject or "method"
        advice = f" ({fault.instead})" if fault.instead else ""
        raise ValueError(
            f"match.{key}: expected {fault.kind} on {' or '.join(only)}, got {' or '.join(wanted)}{advice}"
        )


def fresh_name(wanted: str, taken: Container[str]) -> str:
    """Return `wanted`, or the first of `wanted-2`, `wanted-3` … that is not taken."""
    name, count = wanted, 1
    while name in taken:
        count += 1
        name = f"{wanted}-{count}"
    return name
