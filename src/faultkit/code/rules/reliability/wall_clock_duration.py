"""Finds durations and deadlines measured with the wall clock, which can jump.

Evidence that it matters: the duration or deadline ends a wait or decides what is done next. What only gates
repeated work (`if now - last > 5: last = now`), or is kept, returned or reported, is `POSSIBLE`. So is the
time that another object keeps, which may be stored, and what is found outside of Python and Rust: there, few
maintainers change it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.base.text import one_line
from faultkit.code.facts import Call, Facts, Step, Value, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import (
    CSHARP,
    JAVA,
    JAVASCRIPT,
    KOTLIN,
    LIKELY,
    POSSIBLE,
    PYTHON,
    RUST,
    Hit,
    Rule,
    Severity,
)

_CLOCKS = {
    "python": (
        "time.time",
        "datetime.datetime.now",
        "datetime.datetime.utcnow",
        "datetime.now",
        "datetime.utcnow",
    ),
    "java": ("System.currentTimeMillis", "java.time.Instant.now"),
    "csharp": (),
    "kotlin": ("System.currentTimeMillis", "java.time.Instant.now"),
    "rust": ("std.time.SystemTime.now", "chrono.Utc.now", "chrono.Local.now"),
}
_NODE = ("Date.now",)
_CALCULATES = lazy_regex(
    r"^(max|min|abs|round|floor|ceil|trunc|int|float|total_seconds|Duration|Number|parseInt)$|sleep|wait|timeout",
    re.IGNORECASE,
)
"""Names of functions that calculate with a duration, or wait for it."""
_BETTER = {
    "python": "time.monotonic()",
    "java": "System.nanoTime()",
    "rust": "Instant::now()",
    "kotlin": "System.nanoTime()",
}


def _check(facts: Facts) -> Iterator[Hit]:
    clocks = facts.calls_named(*_CLOCKS.get(facts.language, _NODE))
    names = {_plain(name) for call in clocks for name in call.assigned}
    if names:
        # `last = now` keeps what the clock said.
        names |= {
            _plain(target)
            for each in facts.assignments
            if each.value is not None and each.value.shape == "name" and _plain(each.value.text) in names
            for target in each.targets
        }
    better = _BETTER.get(facts.language, "performance.now()")
    mild: Severity | None = None if facts.language == "python" else "low"
    if facts.language == "rust":
        yield from _elapsed(facts)
    if facts.language == "csharp":
        yield from _subtracted(facts)
    for step in facts.steps_of("binary") if clocks else ():
        if len(step.sides) != 2:
            continue
        if _is_deadline(step, clocks, facts) and facts.language not in JAVASCRIPT:
            shown = one_line(facts.text(step.span))[:60]
            sure = LIKELY if mild is None and _ends_wait(step, facts) else POSSIBLE
            yield Hit(step.span, f"{shown} is a deadline by the wall clock; use {better}", sure, mild)
        if step.word != "-":
            continue
        left, right = step.sides
        reads = [
            call
            for call in clocks
            if left.span.start <= call.span.start < left.span.end and _alone(call, left.text)
        ]
        if (reads or _is_reading(left.text, step, names, facts)) and _is_reading(
            right.text, step, names, facts
        ):
            if (
                _is_only_shown(step, facts)
                or _is_of_days(step, facts)
                or (facts.language in JAVASCRIPT and _is_age(step, facts))
            ):
                continue
            shown = one_line(facts.text(step.span))[:60]
            is_kept = "." in right.text and not right.text.startswith("self.")
            sure = LIKELY if mild is None and not is_kept and _decides(step, facts) else POSSIBLE
            yield Hit(step.span, f"{shown} is a duration by the wall clock; use {better}", sure, mild)


def _is_reading(text: str, step: Step, names: set[str], facts: Facts) -> bool:
    """Return whether a name holds what the clock said: a field anywhere, a variable in the same function.

    A parameter holds what the caller has, such as the time at which something is due."""
    if _plain(text) not in names:
        return False
    if not text.isidentifier():
        return True
    around = [*facts.functions_around(step)]
    if any(each.name == text for scope in around for each in scope.parameters):
        return False
    given = [
        each.value.text
        for each in facts.assignments_to(text, step)
        if each.scope is not None and each.value is not None
    ]
    clocks = _CLOCKS.get(facts.language, _NODE)
    last = {name.rpartition(".")[2] for name in clocks}
    return not given or any(
        value in names or _plain(value) in names or any(f"{name}(" in value for name in last)
        for value in given
    )


def _ends_wait(place: Placed, facts: Facts) -> bool:
    """Return whether a place is the condition of a loop, or stands in a loop: `while clock() < end`."""
    return bool(facts.loops_around(place)) or any(is_within(place.span, each.head) for each in facts.loops)


def _decides(step: Step, facts: Facts) -> bool:
    """Return whether a duration is compared with a limit, and not only to repeat some work now and then.

    Of a start that the function itself read, it must end a wait in a loop: else the work is done already."""
    scope = facts.function_of(step)
    if scope is None:
        return False
    named = {
        name
        for each in facts.own(facts.assignments, scope)
        if is_within(step.span, each.span) and each.operator != "+="
        for name in each.targets
    }
    compared = [
        each
        for each in facts.own(facts.steps, scope)
        if each.kind == "binary"
        and each.word in _COMPARES
        and (is_within(step.span, each.span) or any(side.text in named for side in each.sides))
    ]
    decides = [each for each in compared if not _is_gate(each, step, facts)]
    if "." not in step.sides[1].text:
        return any(_ends_wait(each, facts) for each in decides)
    return bool(decides)


_COMPARES = ("<", "<=", ">", ">=")


def _is_gate(compared: Step, step: Step, facts: Facts) -> bool:
    """Return whether the comparison only repeats work after a pause: its branch sets the start anew, or it
    guards against a clock that was set back."""
    if any(side.text == "0" for side in compared.sides) or "abs(" in facts.text(compared.span).lower():
        return True
    start = step.sides[1].text
    branch = next((each for each in facts.steps_of("branch") if is_within(compared.span, each.span)), None)
    if branch is None:
        return False
    later = facts.within(facts.assignments, branch.span)
    calls = [each for each in facts.within(facts.calls, branch.span) if not each.is_argument]
    return any(start in each.targets for each in later) or (
        bool(calls) and all(is_logging(each) for each in calls) and not _leaves(branch, facts)
    )


def _leaves(branch: Step, facts: Facts) -> bool:
    return any(
        one.kind in ("return", "raise", "break", "continue") for one in facts.within(facts.steps, branch.span)
    )


def _is_of_days(step: Step, facts: Facts) -> bool:
    """Return whether it is compared with days, beside which a jump of the clock is small."""
    after = facts.syntax.source[step.span.end : step.span.end + 60]
    return re.match(rb"\s*[<>]=?\s*(?:datetime\.)?timedelta\(\s*(?:days|weeks)\s*=", after) is not None


def _is_age(step: Step, facts: Facts) -> bool:
    """Return whether it is compared at once with a limit: a jump of the clock costs one round."""
    return any(
        each.word in _COMPARES and any(side.span == step.span for side in each.sides)
        for each in facts.steps_of("binary")
    )


def _is_only_shown(step: Step, facts: Facts) -> bool:
    """Return whether the duration goes to a log line, a metric or a text alone.

    A jump of the clock spoils one line there. Elsewhere it decides something: it is compared, returned, kept.
    """
    if _is_handed_on(step, facts):
        return True
    scope = facts.function_of(step)
    around = [each for each in facts.assignments if is_within(step.span, each.span) and each.scope is scope]
    if any(each.operator == "+=" for each in around[-1:]):
        return True  # A sum of durations is a figure for a report.
    names = {name for each in around[-1:] for name in each.targets}
    later = Span(step.span.end, len(facts.syntax.source) if scope is None else scope.body.end)
    uses = [
        each
        for each in facts.within(facts.accesses, later)
        if each.written in names and each.span.start > step.span.end and facts.function_of(each) is scope
    ]
    return bool(uses) and all(_is_handed_on(each, facts) or _decides_log(each, facts) for each in uses)


def _decides_log(place: Placed, facts: Facts) -> bool:
    """Return whether it is compared only to write a line of the log: `if (tookMs > LIMIT) log.warn(…)`."""
    for step in facts.steps_of("branch"):
        if not is_within(place.span, step.span):
            continue
        inside = [each for each in facts.within(facts.calls, step.span) if facts.function_of(each)]
        if inside and all(is_logging(each) or each.is_argument for each in inside):
            counts = ("+=", "++")
            return not any(
                is_within(each.span, step.span) and each.operator not in counts for each in facts.assignments
            ) and not _leaves(step, facts)
    return False


def _is_handed_on(place: Placed, facts: Facts) -> bool:
    """Return whether it stands in a text or among the arguments of a call that does not calculate."""
    start, end = place.span
    if any(facts.texts.where(lambda first, last: first <= start and end <= last)):
        return True
    scope = facts.function_of(place)
    around = [call for call in facts.calls_around(place) if facts.function_of(call) is scope]
    return any(not _CALCULATES.search(call.method) for call in around)


_DATES = ("DateTime.Now", "DateTime.UtcNow", "DateTimeOffset.Now", "DateTimeOffset.UtcNow")


def _subtracted(facts: Facts) -> Iterator[Hit]:
    """Yield `DateTime.UtcNow - start` with a start that the same function read (C#)."""
    for step in facts.steps_of("binary"):
        if step.word != "-" or len(step.sides) != 2 or step.sides[0].text not in _DATES:
            continue
        name, scope = step.sides[1].text, facts.function_of(step)
        if "." in name:
            continue  # An age: the time was also stored.
        if any(
            each.value is not None and each.value.text in _DATES and each.scope is scope
            for each in facts.assignments_to(name, step)
            if scope is not None
        ):
            what = f"{facts.text(step.span)} is a duration by the wall clock; use Stopwatch"
            yield Hit(step.span, what, POSSIBLE, "low")


def _elapsed(facts: Facts) -> Iterator[Hit]:
    """Yield `start.elapsed()` and `now.duration_since(start)` of `SystemTime`, where this text reads both."""
    for call in facts.calls_named(
        "std.time.SystemTime.now().elapsed", "std.time.SystemTime.now().duration_since"
    ):
        other = call.argument(place=0)
        starts = {name for each in facts.calls_named("std.time.SystemTime.now") for name in each.assigned}
        if call.method == "elapsed" or (other is not None and other.value.text.lstrip("&") in starts):
            what = f"{call.written}() is a duration by the wall clock; use Instant::now()"
            yield Hit(call.span, what, LIKELY if facts.loops_around(call) else POSSIBLE)


def _is_deadline(step: Step, clocks: tuple[Call, ...], facts: Facts) -> bool:
    """Return whether it is `clock() < end` with `end = clock() + 5` in the same function."""
    if step.word not in _COMPARES:
        return False
    reads = [call for call in clocks if any(side.text == facts.text(call.span) for side in step.sides)]
    ends = {side.text for side in step.sides if side.shape == "name" and "." not in side.text}
    scope = facts.function_of(step)
    if not ends or not any(step.span.start <= call.span.start < step.span.end for call in reads):
        return False
    return scope is not None and any(
        ends & {*each.targets} and each.value is not None and _is_later(each.value, clocks, facts)
        for each in facts.within(facts.assignments, scope.body)
    )


def _is_later(value: Value, clocks: tuple[Call, ...], facts: Facts) -> bool:
    """Return whether it is `clock() + something`."""
    for call in clocks:
        if call.span.start == value.span.start and call.span.end < value.span.end:
            return facts.syntax.source[call.span.end : value.span.end].lstrip().startswith(b"+")
    return False


def _plain(name: str) -> str:
    return name.removeprefix("self.").removeprefix("this.")


def _alone(call: Call, text: str) -> bool:
    return re.sub(r"\(.*\)", "", text, flags=re.DOTALL).strip() == call.written


RULE = Rule(
    id="FK-R032",
    slug="wall-clock-for-durations",
    title="Duration measured with the wall clock",
    why="The wall clock is set and slewed: a timeout fires hours late or at once, and a latency is negative.",
    fix="Take both times from a monotonic clock (time.monotonic(), performance.now(), System.nanoTime()).",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *JAVASCRIPT, *JAVA, *RUST, *CSHARP, *KOTLIN),
    check=_check,
)
