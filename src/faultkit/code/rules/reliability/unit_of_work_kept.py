"""C#: finds contexts of Entity Framework that live as long as a service."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.rule import CSHARP, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_MAKES = frozenset(("CreateDbContext", "CreateDbContextAsync"))
_CONTEXT = lazy_regex(r"^\w*(Context|DbContext)$")
_NO_DATABASE = lazy_regex(
    r"Http|Execution|Sync|Request|Security|Principal|Consume|Hub|Job|Action|Authorization|Trac"
)
_HOSTED = lazy_regex(r"(^|\.)(BackgroundService|IHostedService)$")
_FORGETS = TextPattern(
    r"ChangeTracker\.Clear|AsNoTracking|QueryTrackingBehavior|\.Detach|ExecuteInsert|BulkInsert"
)


def _check(facts: Facts) -> Iterator[Hit]:
    if _FORGETS.search(facts.whole_text):
        return
    for call in facts.calls:
        if call.assigned and (call.method in _MAKES or _is_made(call)):
            saved = _saved_in_endless_loop(call, facts)
            if saved is not None:
                what = f"{call.assigned[0]} keeps every row that {saved.written}() has ever stored"
                yield Hit(call.span, what, LIKELY)
    for scope in facts.scopes:
        owner = scope.owner
        if not owner or scope.short_name != owner.rpartition(".")[2]:
            continue
        if not any(_HOSTED.search(base) for base in facts.classes.get(owner, ())):
            continue
        for each in scope.parameters:
            bare = each.type.rpartition(".")[2]
            if _CONTEXT.match(bare) and not _NO_DATABASE.search(bare):
                what = f"{each.name} lives as long as the service, and keeps every row that it has seen"
                yield Hit(scope.head, what, LIKELY)


def _is_made(call: Call) -> bool:
    name = call.name.rpartition(".")[2]
    return call.constructs and _CONTEXT.match(name) is not None and not _NO_DATABASE.search(name)


def _saved_in_endless_loop(made: Call, facts: Facts) -> Call | None:
    """Return the call in a loop of messages that stores with a context that was made before the loop."""
    name = made.assigned[0].removeprefix("self.")
    is_field = any(
        each.scope is None and each.targets and each.targets[0].removeprefix("self.") == name
        for each in facts.assignments
    )
    scope: Scope | None = facts.function_of(made)
    for saved in facts.calls_of_method("SaveChangesAsync", "SaveChanges"):
        if saved.receiver_written.removeprefix("self.").removeprefix("this.") != name:
            continue
        if not is_field and facts.function_of(saved) is not scope:
            continue
        for loop in facts.loops_around(saved):
            made_inside = loop.span.start <= made.span.start < loop.span.end
            is_long = loop.is_async or loop.kind == "endless" or "IsCancellationRequested" in loop.over
            if is_long and not made_inside:
                return saved
    return None


RULE = Rule(
    id="FK-R168",
    slug="context-kept-for-ever",
    title="Database context that lives as long as the service",
    why="It tracks every row that it has seen: memory grows, and each SaveChanges looks through all of them. "
    "After one failure it stays broken.",
    fix="Make a context for each message or batch: a factory with using, or a scope of its own.",
    kind="reliability",
    severity="medium",
    languages=CSHARP,
    check=_check,
    words=(b"Context",),
)
