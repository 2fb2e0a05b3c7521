"""Java: finds date formats that threads share."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CERTAIN, JAVA, LIKELY, Hit, Rule

_FORMATS = lazy_regex(r"(^|\.)(SimpleDateFormat|DateFormat)$")
_SINGLETON = lazy_regex(
    r"@(RestController|Controller|Service|Component|Repository|Singleton|WebServlet|Path)\b"
)


def _check(facts: Facts) -> Iterator[Hit]:
    for each in facts.assignments:
        if each.scope is not None or not each.owner or not _FORMATS.search(each.type) or each.value is None:
            continue
        name = each.targets[0].removeprefix("self.")
        is_static = re.search(r"\bstatic\b", _declared(each, facts)) is not None
        if not is_static and not _SINGLETON.search(facts.text(Span(0, each.span.start))):
            continue
        if not _is_used(name, facts) or _is_guarded(name, facts):
            continue
        what = f"{name} is a {each.type.rpartition('.')[2]}, which threads cannot share"
        yield Hit(each.span, what, CERTAIN if is_static else LIKELY)


def _declared(each: Assignment, facts: Facts) -> str:
    """Return the declaration up to the value."""
    value = each.span.end if each.value is None else each.value.span.start
    return facts.text(Span(each.span.start, value))


def _is_used(name: str, facts: Facts) -> bool:
    return any(
        call.receiver_written.removeprefix("self.") == name and call.method in ("format", "parse")
        for call in facts.calls_of_method("format", "parse")
    )


def _is_guarded(name: str, facts: Facts) -> bool:
    text = facts.whole_text
    return re.search(rf"synchronized|{re.escape(name)}\.clone\(\)|\.lock\(\)", text) is not None


RULE = Rule(
    id="FK-R055",
    slug="shared-date-format",
    title="SimpleDateFormat shared by threads",
    why="It keeps its work in fields: two threads at once get wrong dates or an exception, at random.",
    fix="Use java.time.format.DateTimeFormatter, which is immutable, or make one format for each call.",
    kind="reliability",
    severity="high",
    languages=JAVA,
    check=_check,
)
