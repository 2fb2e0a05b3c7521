"""Finds listeners that are added for every request, rendering or object, and never removed."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import (
    CERTAIN,
    CSHARP,
    GO,
    JAVA,
    JAVASCRIPT,
    KOTLIN,
    LIKELY,
    PYTHON,
    RUST,
    Hit,
    Rule,
)
from faultkit.code.rules.vocabulary.ended_objects import kept_listeners_of_ended
from faultkit.code.rules.vocabulary.removals import key_of
from faultkit.code.rules.vocabulary.subscriptions import kept_listeners
from faultkit.code.rules.vocabulary.wrong_removals import (
    kept_abort_listeners,
    kept_after_timeout,
    kept_registrations,
    removals_of_new_functions,
    removed_on_success_only,
)


def _check(facts: Facts) -> Iterator[Hit]:
    seen = set[Span]()
    wrong = [*removals_of_new_functions(facts)]
    for span, what in wrong:
        yield Hit(span, what, CERTAIN)
    # A listener that the wrong function is to remove has its finding.
    named = " ".join(facts.text(span) for span, _ in wrong)
    for each in kept_listeners(facts) if facts.language in JAVASCRIPT else ():
        if wrong and f"{key_of(each.call.receiver_written)}." in named:
            continue
        if _is_of_file(each.call, facts):
            continue
        what = f"{each.call.written}() adds a listener for every {each.often}, and none is ever removed"
        seen.add(each.call.callee)
        yield Hit(each.call.callee, what, LIKELY)
    for kept in kept_listeners_of_ended(facts):
        if kept.span not in seen and not _ends_with_flow(kept, facts):
            yield Hit(kept.span, kept.what, LIKELY)
    if facts.language in JAVASCRIPT:
        found = [*removed_on_success_only(facts), *kept_after_timeout(facts), *kept_abort_listeners(facts)]
    else:
        found = [*kept_registrations(facts)] if facts.language == "csharp" else []
    for span, what in found:
        yield Hit(span, what, LIKELY)


def _is_of_file(call: Call, facts: Facts) -> bool:
    """Return whether a listener is added once, when the file is loaded: in `new Promise(…)` at its top."""
    around = [*facts.functions_around(call)]
    return len(around) == 1 and any(
        each.method == "Promise" and each.constructs and facts.function_of(each) is None
        for each in facts.calls_around(call)
    )


_RELEASES = lazy_regex(r"\bawaitClose\s*\{[^}]*?\b(?:release|stop|close|dispose|destroy|shutdown)\w*\(")


def _ends_with_flow(place: Placed, facts: Facts) -> bool:
    """Return whether a flow releases what it listens to when nothing collects it any more (Kotlin)."""
    scope = facts.named_function_of(place) if facts.language == "kotlin" else None
    return scope is not None and _RELEASES.search(facts.text(scope.body)) is not None


RULE = Rule(
    id="FK-R049",
    slug="listener-leak",
    title="Listeners that are added and never removed",
    why="Each stays with everything that it refers to: memory grows, and every event is handled once more "
    "than before.",
    fix="Use once, remove the listener when the work is done, by the function that was added, or add it when "
    "the program starts.",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA, *RUST, *CSHARP, *KOTLIN),
    check=_check,
)
