"""Rule: one fault, and where and when it acts.

The fault knows how it acts; match, trigger and schedule know nothing of the fault. That they fit
together is checked here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from faultkit.faults.fault import Fault
from faultkit.plan.match import Match
from faultkit.plan.schedule import Schedule
from faultkit.plan.shape import shown
from faultkit.plan.trigger import Trigger


@dataclass(frozen=True, slots=True)
class Rule:
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
        kind, level = self.fault.kind, self.fault.level
        for key, given, fitting in (
            ("method", self.match.method is not None, "http"),
            ("path", self.match.path is not None, "http"),
            ("headers", bool(self.match.headers), "http"),
            ("side", self.match.side != Match().side, "stream"),
            ("direction", self.match.direction != Match().direction, "stream"),
        ):
            if given and level != fitting:
                raise ValueError(
                    f"match.{key}: expected only with faults of level {fitting}, "
                    f'got "{kind}", which is of level {level}'
                )


def fresh_name(wanted: str, taken: Container[str]) -> str:
    """`wanted`, or the first of `wanted-2`, `wanted-3` … that is not taken."""
    name, count = wanted, 1
    while name in taken:
        count += 1
        name = f"{wanted}-{count}"
    return name
