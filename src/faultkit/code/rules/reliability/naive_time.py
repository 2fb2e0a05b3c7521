"""Finds times without a time zone.

Evidence that it matters: a local time is calculated with, by less than days, or `timestamp()` takes a time in
UTC for a local one. Other times may well be used by the same convention everywhere, and are `POSSIBLE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Access, Call, Facts, Step
from faultkit.code.rules.rule import CERTAIN, CSHARP, JAVA, KOTLIN, LIKELY, POSSIBLE, PYTHON, Hit, Rule

_UTC = ("datetime.datetime.utcnow", "datetime.datetime.utcfromtimestamp", "datetime.utcnow")
_NOW = (
    "datetime.datetime.now",
    "datetime.datetime.fromtimestamp",
    "datetime.now",
    "java.time.LocalDateTime.now",
)


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_named(*_UTC):
        # `timestamp()` takes it for a local time.
        is_wrong = any(each.method == "timestamp" for each in facts.calls_on(call))
        what = f"{call.written}() gives a time that does not say that it is UTC"
        yield Hit(call.span, what, CERTAIN if is_wrong else POSSIBLE)
    for call in facts.calls_named(*_NOW):
        wanted = 2 if call.method == "fromtimestamp" else 1
        if not call.has("tz") and len(call.positional) < wanted and _matters(call, facts):
            sure = POSSIBLE if _is_of_days(call, facts) else LIKELY
            yield Hit(call.span, f"{call.written}() gives a local time without its zone", sure)
    yield from _local(facts)


_KEPT = lazy_regex(
    r"expir|deadline|valid_?(until|to)|created|updated|issued|timestamp|until|due|lease", re.IGNORECASE
)


def _local(facts: Facts) -> Iterator[Hit]:
    """Yield local times that decide until when something holds, or that are stored (C#, Java, Kotlin)."""
    if facts.language == "csharp":
        read: list[Access | Call] = [
            each
            for each in facts.accesses.where(partial(facts.syntax.source.endswith, b".Now"))
            if each.name in ("DateTime.Now", "System.DateTime.Now")
        ]
        read += [each for each in facts.calls if _LATER.fullmatch(each.written)]
        for each in read:
            line = facts.syntax.line_text(each.line)
            # What is shown or is a cookie's is converted where it is used: it knows that it is local.
            if _decides(line) and not _CONVERTED.search(line) and not _is_of_cookie(each, facts):
                what = f"{each.written} is the time of the zone that the machine is set to"
                yield Hit(each.span, what, POSSIBLE)
    if facts.language in ("java", "kotlin"):
        for call in facts.calls_named("java.time.LocalDateTime.now", "LocalDateTime.now"):
            if not call.arguments and _decides(facts.syntax.line_text(call.line)):
                sure = LIKELY if _COMPARED.search(facts.syntax.line_text(call.line)) else POSSIBLE
                yield Hit(call.span, f"{call.written}() gives a local time without its zone", sure)


_COMPARED = lazy_regex(
    r"\.is(Before|After)\(|\.plus(Seconds|Minutes|Hours)\(|\.minus(Seconds|Minutes|Hours)\("
)
_DAYS = lazy_regex(r"timedelta\(\s*(?:days|weeks)\s*=|timedelta\(\s*[\w.]+\s*\)|\bdays\b")


def _is_of_days(call: Call, facts: Facts) -> bool:
    """Return whether days are added or compared, beside which an hour is small."""
    return _DAYS.search(facts.syntax.line_text(call.line)) is not None


_LATER = lazy_regex(r"DateTime\.Now\.Add\w+")
_CONVERTED = lazy_regex(r"\bToString\(|\bstatic\b")


def _is_of_cookie(read: Access | Call, facts: Facts) -> bool:
    around = facts.calls_around(read)
    return bool(around) and around[-1].written.endswith(("Cookie", "CookieOptions"))


def _decides(line: str) -> bool:
    return _KEPT.search(line) is not None and re.search(r"[lL]og|print|Write", line) is None


def _matters(call: Call, facts: Facts) -> bool:
    """Return whether it is compared, calculated with, stored or sent, not only shown."""
    used = {each.method for each in facts.calls_on(call)}
    if used and used <= {"strftime", "year", "date", "format", "timestamp", "toString"}:
        return False
    if "isoformat" not in used and not _is_calculated_with(call, facts):
        return False
    reads = {each.name.rpartition(".")[2] for each in facts.accesses_on(call)}
    return not reads or not reads <= {"year", "month", "day", "hour", "minute", "second", "microsecond"}


def _is_calculated_with(call: Call, facts: Facts) -> bool:
    return any(
        step.word in ("+", "-", "<", ">", "<=", ">=")
        and (
            step.span.start <= call.span.start < step.span.end
            or any(side.text in call.assigned for side in step.sides)
        )
        and not _is_duration(step, facts)
        for step in facts.steps_of("binary")
    )


_IN_SECONDS = lazy_regex(rb"\s*\)\.(?:total_)?seconds\b")


def _is_duration(step: Step, facts: Facts) -> bool:
    """Return whether it is the time between two readings, which another rule is about."""
    if step.word != "-" or len(step.sides) != 2:
        return False
    if _IN_SECONDS.match(facts.syntax.source, step.span.end):
        return True
    known = {name for call in facts.calls_named(*_NOW) for name in call.assigned}
    written = {f"{call.written}()" for call in facts.calls_named(*_NOW)}
    return all(side.text in known or side.text in written for side in step.sides)


RULE = Rule(
    id="FK-R033",
    slug="naive-time",
    title="Time without a time zone",
    why="Sums are wrong by an hour twice a year, and comparisons with times that have a zone raise.",
    fix="Use datetime.now(timezone.utc) (Java: Instant or ZonedDateTime) and convert only to show it.",
    kind="reliability",
    severity="low",
    languages=(*PYTHON, *JAVA, *CSHARP, *KOTLIN),
    check=_check,
    by_default=False,
    words=(b"now", b"Now", b"fromtimestamp"),
)
