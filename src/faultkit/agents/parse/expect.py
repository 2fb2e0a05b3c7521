"""What a test expects: a list of entries, each a target, one matcher, and what the matcher wants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from faultkit.agents.matchers.table import check
from faultkit.agents.matchers.target import check_target
from faultkit.agents.model import Expectation
from faultkit.agents.parse.keys import NOT_SERVED_IN_EXPECT, opened
from faultkit.agents.parse.sheet import Sheet
from faultkit.base.documents.shape import joined, shown
from faultkit.base.documents.values import number
from faultkit.base.errors import InputError

MAX_DURATION = "max_duration_ms"
milliseconds = number("a number of milliseconds above 0", lambda ms: ms > 0)


@dataclass(frozen=True, slots=True)
class Expected:
    entries: tuple[Expectation, ...] = ()
    max_duration_ms: float | None = None


def parse_expect(value: object, path: str, sheet: Sheet, roots: tuple[str, ...]) -> Expected:
    """`roots`: what a target may begin with; the first is the target of an entry that names none."""
    if value is None:
        return Expected()
    if isinstance(value, Mapping):
        listed = [(path, value)]
    elif isinstance(value, list):
        listed = [(f"{path}[{index}]", each) for index, each in enumerate(value)]
    else:
        sheet.note(path, f"expected a list of expectations, got {shown(value)}")
        return Expected()
    entries: list[Expectation] = []
    limit_ms: float | None = None
    for where, each in listed:
        if isinstance(each, Mapping) and MAX_DURATION in each:
            limit_ms = _limit(each, where, sheet)
            continue
        entry = _entry(each, where, sheet, roots)
        if entry is not None:
            entries.append(entry)
    return Expected(tuple(entries), limit_ms)


def _limit(entry: Mapping[str, object], path: str, sheet: Sheet) -> float | None:
    return opened(entry, (MAX_DURATION,), path, sheet).take(MAX_DURATION, milliseconds, None)


def _entry(value: object, path: str, sheet: Sheet, roots: tuple[str, ...]) -> Expectation | None:
    before = len(sheet.problems)
    if not isinstance(value, Mapping):
        sheet.note(path, f"expected a target and a matcher, got {shown(value)}")
        return None
    served = opened(value, tuple(value), path, sheet, NOT_SERVED_IN_EXPECT)
    target = served.take("target", lambda given: check_target(given, roots), roots[0])
    matchers = {key: each for key, each in value.items() if key in served.given or each is None}
    matchers.pop("target", None)
    home = path
    if list(matchers) == ["matcher"]:
        home, inner = joined(path, "matcher"), matchers["matcher"]
        if not isinstance(inner, Mapping):
            sheet.note(
                home, f"expected a matcher and what it wants, such as contains: text, got {shown(inner)}"
            )
            return None
        matchers = dict(inner)
    if len(matchers) != 1:
        if len(sheet.problems) == before:
            sheet.note(home, f"expected one matcher, got {', '.join(matchers) or 'none'}")
        return None
    ((name, wanted),) = matchers.items()
    try:
        check(name, wanted)
    except InputError as error:
        sheet.problems.append(error.within(joined(home, name)))
    return None if len(sheet.problems) > before else Expectation(target, name, wanted, sheet.place(path))
