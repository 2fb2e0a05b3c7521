"""Finds times without a time zone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts
from faultkit.code.rules.rule import CERTAIN, CSHARP, JAVA, KOTLIN, LIKELY, PYTHON, Hit, Rule

_UTC = ("datetime.datetime.utcnow", "datetime.datetime.utcfromtimestamp", "datetime.utcnow")
_NOW = (
    "datetime.datetime.now",
    "datetime.datetime.fromtimestamp",
    "datetime.now",
    "java.time.LocalDateTime.now",
)


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_named(*_UTC):
        yield Hit(call.span, f"{call.written}() gives a time that does not say that it is UTC", CERTAIN)
    for call in facts.calls_named(*_NOW):
        wanted = 2 if call.method == "fromtimestamp" else 1
        if not call.has("tz") and len(call.positional) < wanted and _matters(call, facts):
            yield Hit(call.span, f"{call.written}() gives a local time without its zone", LIKELY)
    yield from _local(facts)


_KEPT = re.compile(
    r"expir|deadline|valid_?(until|to)|created|updated|issued|timestamp|until|due|lease", re.IGNORECASE
)


def _local(facts: Facts) -> Iterator[Hit]:
    """Yield local times that decide until when something holds, or that are stored (C#, Java, Kotlin)."""
    for access in facts.accesses if facts.language == "csharp" else ():
        if access.name not in ("DateTime.Now", "System.DateTime.Now"):
            continue
        line = facts.syntax.line_text(access.line)
        if _decides(line):
            yield Hit(access.span, f"{access.written} is a local time without its zone", LIKELY)
    for call in facts.calls if facts.language == "csharp" else ():
        if call.written.startswith("DateTime.Now.Add") and _decides(facts.syntax.line_text(call.line)):
            yield Hit(call.span, f"{call.written}() is a local time without its zone", LIKELY)
    if facts.language in ("java", "kotlin"):
        for call in facts.calls_named("java.time.LocalDateTime.now", "LocalDateTime.now"):
            if not call.arguments and _decides(facts.syntax.line_text(call.line)):
                yield Hit(call.span, f"{call.written}() gives a local time without its zone", LIKELY)


def _decides(line: str) -> bool:
    return _KEPT.search(line) is not None and re.search(r"[lL]og|print|Write", line) is None


def _matters(call: Call, facts: Facts) -> bool:
    """Return whether it is compared, calculated with, stored or sent, not only shown."""
    used = {each.method for each in facts.calls_on(call)}
    if used and used <= {"strftime", "year", "date", "format"}:
        return False
    reads = {each.name.rpartition(".")[2] for each in facts.accesses_on(call)}
    if reads and reads <= {"year", "month", "day", "hour", "minute", "second", "microsecond"}:
        return False
    sums = any(
        step.kind == "binary" and step.word in ("+", "-", "<", ">", "<=", ">=")
        and (step.span.start <= call.span.start < step.span.end
             or any(side.text in call.assigned for side in step.sides))
        for step in facts.steps
    )  # fmt: skip
    return sums or "isoformat" in used


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
    words=(b"now", b"Now", b"fromtimestamp"),
)
