"""Finds checked exceptions that leave a transaction of Spring or JTA, which is then committed.

It is shown if the function, or one of the file that it calls, throws a checked exception behind a write.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.facts.facts import Placed
from faultkit.code.rules.rule import JAVA, KOTLIN, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.answered_failures import is_write
from faultkit.code.rules.vocabulary.returned_values import own_function
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_CHECKED = frozenset(
    (
        "Exception", "IOException", "TimeoutException", "GeneralSecurityException", "SQLException",
        "FileNotFoundException", "ParseException", "ExecutionException", "URISyntaxException",
        "InterruptedException",
    )
)  # fmt: skip
_DECLARED = TextPattern(
    r"\bclass\s+(\w+)(?:<[^>{]*>)?\s*(?:\([^{}]*?\)\s*)?(?:extends\s+|:\s*)(?:[a-z]\w*\.)*(\w+)"
)
_STATED = lazy_regex(r"rollback|RollbackFor|readOnly\s*=\s*true|NOT_SUPPORTED|NEVER|SUPPORTS\b")
_THROWN = lazy_regex(r"(?:throw\s+)?(?:new\s+)?(?:\w+\.)*([A-Z]\w*)\s*\(")


def _check(facts: Facts) -> Iterator[Hit]:
    checked = _checked_types(facts)
    for scope in facts.scopes:
        marks = [each for each in scope.decorators if each.method == "Transactional"]
        if not marks or any(_STATED.search(facts.text(each.span)) for each in marks):
            continue
        writes = [call for call in facts.own(facts.calls, scope) if is_write(call, facts)]
        for place, name in _thrown(scope, checked, facts) if writes else ():
            done = next((each for each in writes if _is_before(each, place, facts)), None)
            if done is not None:
                what = f"{name} is a checked exception: it leaves, and {done.written}() is committed"
                yield Hit(place.span, what, LIKELY)
                break


def _checked_types(facts: Facts) -> set[str]:
    """Return the checked exceptions that a text may throw: known ones, and its own classes made of them."""
    parents = {each[1]: each[2] for each in _DECLARED.finditer(facts.whole_text)}
    found = {*_CHECKED}
    for _ in range(3):
        found |= {name for name, parent in parents.items() if parent in found}
    return found


def _thrown(scope: Scope, checked: set[str], facts: Facts) -> Iterator[tuple[Placed, str]]:
    """Yield where a checked exception leaves a function: it throws it, or calls a function that does."""
    yield from _own_throws(scope, checked, facts)
    for call in facts.own(facts.calls, scope):
        helper = own_function(call, facts)
        if helper is None or helper is scope or _is_caught(call, facts):
            continue
        if any(each.method == "Transactional" for each in helper.decorators):
            continue
        for _, name in _own_throws(helper, checked, facts):
            yield call, name
            break


def _own_throws(scope: Scope, checked: set[str], facts: Facts) -> Iterator[tuple[Placed, str]]:
    for step in facts.own(facts.steps_of("raise"), scope):
        found = _THROWN.match(step.text.strip())
        if found is not None and found[1] in checked and not _is_caught(step, facts):
            yield step, found[1]


def _is_caught(place: Placed, facts: Facts) -> bool:
    return any(each.handlers and is_within(place.span, each.body) for each in facts.tries_around(place))


def _is_before(write: Call, place: Placed, facts: Facts) -> bool:
    return write.span.end <= place.span.start and not facts.are_exclusive(write, place)


RULE = Rule(
    id="FK-R176",
    slug="checked-exception-commits",
    title="Transaction committed although an exception leaves it",
    why="Spring and JTA roll back for unchecked exceptions only: the caller learns that the work has failed, "
    "and what was written before it stays.",
    fix="Name the exception in rollbackFor (Spring) or rollbackOn (JTA), or make it a RuntimeException.",
    kind="reliability",
    severity="high",
    languages=(*JAVA, *KOTLIN),
    check=_check,
    words=(b"@Transactional",),
)
