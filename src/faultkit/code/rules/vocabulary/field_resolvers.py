"""Resolvers of GraphQL fields: functions that run once for every object that has the field.

Frameworks mark them by decorators, by the place in a map of resolvers, or by the type around them. Resolvers
of the root types run once for a request and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.rules.rule import JAVASCRIPT
from faultkit.code.rules.vocabulary.remote_calls import remote_calls
from faultkit.code.rules.vocabulary.service_clients import type_of_receiver

WORDS = (
    b"ResolveField", b"FieldResolver", b"SchemaMapping", b"ResolveProperty", b"resolve_", b"esolver",
    b"[Parent", b"strawberry", b"ComplexObject", b".Parent<", b"DgsData", b"graphql",
)  # fmt: skip
"""Parts of texts of which one stands in each that has such a resolver."""

_RESOLVES = lazy_regex(r"(^|\.)(ResolveField|FieldResolver|SchemaMapping|ResolveProperty)$")
_LOADER = lazy_regex(r"loader|\bbatch|BatchMapping|\.load\(|load_many|loadMany", re.IGNORECASE)
_GRAPHENE = lazy_regex(r"resolve_\w+$")
_ROOTS = lazy_regex(r"^(Query|Mutation|Subscription|query|mutation|subscription)s?$")
_ROOT_RESOLVER = lazy_regex(r"(query|mutation|subscription)Resolver$", re.IGNORECASE)
_MAP = lazy_regex(r"^(\w*[rR]esolvers?)\.([A-Z]\w*)\.(\w+)(\.resolve)?$")
"""`resolvers.Order.shipments`: a function in a map of resolvers, by its qualified name."""
_OF_TYPE = lazy_regex(r"^([A-Za-z]\w*)(?:Type|Field)?Resolvers?\.(\w+)(\.resolve)?$")
"""`tripResolvers.driver`: the resolvers of one type in a map of their own."""
_KEY = r"\w*(?:id|Id|ID|key|Key|ref|Ref|slug|code|email)s?\b"
_MEMORY = lazy_regex(r"loader|cache|map|index|registry|config|logger|log|metrics|format\w*$", re.IGNORECASE)
_ASKED = lazy_regex(
    r"^(self|this|ctx|context|info|dataSources|prisma|models|services|repos)\b"
    r"|^\w*(repo|repository|service|client|store|dao|db|api)\b",
    re.IGNORECASE,
)
_LOCAL = lazy_regex(
    r"^(get|has|set|push|add|map|filter|format|log|info|debug|warn|error|assert|encode|decode|hash)$"
)


@dataclass(frozen=True, slots=True)
class FieldResolver:
    """A function that resolves a field of an object."""

    scope: Scope
    item: str
    """The name of the object in messages."""
    of_item: re.Pattern[str]
    """Matches the object, or a key of it, in code."""


def queries_of_resolvers(facts: Facts) -> Iterator[tuple[Call, str]]:
    """Yield queries of resolvers of fields, each with the name of the object that it asks about."""
    resolvers = [each for each in _resolvers(facts) if not _LOADER.search(facts.text(each.scope.span))]
    if not resolvers:
        return
    reads = [each.call for each in remote_calls(facts) if each.is_read and each.through is None]
    for each in resolvers:
        direct = [
            call
            for call in reads
            if is_within(call.span, each.scope.body) and each.of_item.search(facts.text(call.span))
        ]
        yield from ((call, each.item) for call in direct)
        if not direct:
            yield from ((call, each.item) for call in _asked(each, reads, facts))


def _asked(each: FieldResolver, reads: list[Call], facts: Facts) -> Iterator[Call]:
    """Yield the call of a service that is given the key of the object and whose answer is the field."""
    for call in facts.within(facts.calls, each.scope.body):
        owner = call.receiver_written
        if not owner or not (_is_answer(call, each.scope, facts) or len(call.assigned) == 2):
            continue
        is_local = _LOCAL.match(call.method) is not None and not call.is_awaited
        if is_local or _MEMORY.search(owner) or not _is_member(call, facts):
            continue
        if "(" in owner:
            # `ctx.db("drivers").where("id", trip.driverId).first()`
            if _ASKED.search(owner) and each.of_item.search(facts.text(call.span)) and _QUERY.search(owner):
                yield call
                return
            continue
        if not any(each.of_item.search(argument.value.text) for argument in call.arguments):
            continue
        type_ = type_of_receiver(call, facts).rpartition(".")[2]
        named = facts.functions_named(call.method) if type_ else ()
        own = [scope for scope in named if scope.name == f"{type_}.{call.method}"]
        if own and not any(is_within(read.span, scope.body) for read in reads for scope in own):
            continue  # The service is in this text, and does not ask.
        yield call
        return


_QUERY = lazy_regex(
    r"\b(?:db|knex|database|from|table|select|query|where|find\w*|collection|createQueryBuilder|selectFrom|model)\(",
    re.IGNORECASE,
)
_AWAITED = lazy_regex(rb"\bawait\s*\(*\s*$|=>\s*\(*\s*$|\breturn\s+$|[?:]\s*\(*\s*$")


def _is_answer(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether the result of a call is awaited or returned, also the last of a chain in a choice."""
    if call.is_returned or call.is_awaited:
        return True
    if facts.syntax.language.family != "javascript" or call.is_argument:
        return False
    before = facts.syntax.source[max(scope.body.start - 12, call.span.start - 40, 0) : call.span.start]
    return _AWAITED.search(before) is not None


def _is_member(call: Call, facts: Facts) -> bool:
    if _ASKED.search(call.receiver_written) or call.receiver.startswith("self."):
        return True
    is_typed = facts.language in ("kotlin", "java", "csharp") and "." not in call.receiver_written
    return is_typed and call.receiver.rpartition(".")[2][:1].isupper() and call.receiver_written[:1].islower()


def _resolvers(facts: Facts) -> Iterator[FieldResolver]:
    if facts.language == "csharp":
        yield from _of_parent_calls(facts)
    of_rust = _complex_objects(facts) if facts.language == "rust" else frozenset[str]()
    for scope in facts.scopes:
        if item := _parent(scope, facts):
            yield FieldResolver(scope, item, re.compile(rf"(?<![\w.]){re.escape(item)}\b"))
        elif scope.owner in of_rust or _is_strawberry(scope):
            item = scope.owner.rpartition(".")[2].lower()
            yield FieldResolver(scope, item, re.compile(rf"(?<![\w.])self\.{_KEY}"))


def _is_strawberry(scope: Scope) -> bool:
    owner = scope.owner.rpartition(".")[2]
    return (
        any(each.name == "strawberry.field" for each in scope.decorators)
        and bool(owner)
        and _ROOTS.match(owner) is None
    )


def _complex_objects(facts: Facts) -> frozenset[str]:
    """Return the types whose fields async-graphql resolves by methods: `#[ComplexObject] impl Post`."""
    found = re.findall(r"#\[(?:\w+::)?ComplexObject[^\]]*\]\s*impl\s+(\w+)", facts.whole_text)
    return frozenset(name for name in found if not _ROOTS.match(name))


def _of_parent_calls(facts: Facts) -> Iterator[FieldResolver]:
    """Yield `.Resolve(async ctx => … ctx.Parent<Review>().AuthorId …)` (Hot Chocolate)."""
    for call in facts.calls_of_method("Resolve", "ResolveAsync", "ResolveWith"):
        for scope in facts.scopes:
            if scope.is_anonymous and is_within(scope.span, call.span):
                found = re.search(r"\.Parent<(\w+)>\(\)", facts.text(scope.span))
                if found is not None:
                    yield FieldResolver(
                        scope, found[1].lower(), re.compile(r"\.Parent<|" + _named(scope, facts))
                    )
                break


def _named(scope: Scope, facts: Facts) -> str:
    names = [
        each.targets[0]
        for each in facts.within(facts.assignments, scope.body)
        if each.value is not None and ".Parent<" in each.value.text and each.targets[0].isidentifier()
    ]
    return "|".join(rf"\b{name}\b" for name in names) or r"(?!)"


def _parent(scope: Scope, facts: Facts) -> str:
    """Return the parameter that holds the object whose field a function resolves; empty if it does not."""
    names = [each.name for each in scope.parameters if each.name not in ("self", "cls")]
    if not names:
        return ""
    if any(_RESOLVES.search(each.name) for each in scope.decorators):
        text = facts.text(scope.span)
        found = re.search(r"@(?:Parent|Root)\([^)]*\)\s*(?:readonly\s+)?(\w+)", text)
        if found is not None:
            return found[1]
        return names[0] if facts.language in ("java", "kotlin") else ""
    find = _BY_LANGUAGE.get(facts.language)
    return "" if find is None else find(scope, names, facts)


def _in_python(scope: Scope, names: list[str], facts: Facts) -> str:
    if len(names) > 1 and names[1] == "info" and any(map(_is_of_ariadne, scope.decorators)):
        return "" if names[0].startswith("_") else names[0]
    if not _GRAPHENE.match(scope.short_name) or len(names) < 2:
        return ""
    is_root = _ROOTS.match(scope.owner.rpartition(".")[2]) or names[0] in ("root", "_", "_root")
    return names[0] if names[1] == "info" and not is_root else ""


def _is_of_ariadne(decorator: Call) -> bool:
    return decorator.method == "field" and decorator.receiver.endswith("ariadne.ObjectType")


def _in_go(scope: Scope, names: list[str], facts: Facts) -> str:
    if not scope.owner.endswith("Resolver") or len(names) < 2 or _ROOT_RESOLVER.search(scope.owner):
        return ""
    return names[1] if names[1] == "obj" else ""


def _in_csharp(scope: Scope, names: list[str], facts: Facts) -> str:
    found = re.search(r"\[Parent[^\]]*\]\s*\w+\s+(\w+)", facts.text(scope.span))
    return "" if found is None else found[1]


def _in_javascript(scope: Scope, names: list[str], facts: Facts) -> str:
    # A method of a class resolves a field only if a decorator says so.
    if scope.owner or names[0].startswith("_"):
        return ""
    found = _MAP.match(scope.name)
    if found is None:
        # `tripResolvers.driver` has the parent, the arguments and the context.
        of_type = _OF_TYPE.match(scope.name)
        if of_type is None or len(names) < 2 or _ROOTS.match(of_type[1]):
            return ""
    elif _ROOTS.match(found[2]) or found[3].startswith("__"):
        return ""
    return names[0] if names[0].isidentifier() else ""


def _in_jvm(scope: Scope, names: list[str], facts: Facts) -> str:
    bases = facts.classes.get(scope.owner, ())
    if any(re.search(r"(^|\.)GraphQLResolver$", base) for base in bases):
        return names[0]
    if not any(
        re.search(r"(^|\.)DgsData$", each.name) and "parentType" in facts.text(scope.head)
        for each in scope.decorators
    ):
        return ""
    found = re.search(r"parentType\s*=\s*\"(\w+)\"", facts.text(scope.head))
    source = re.search(r"(\w+)\s*=\s*\w+\.getSource(?:<\w+>)?\(\)", facts.text(scope.body))
    if (found is not None and _ROOTS.match(found[1])) or source is None:
        return ""
    return source[1]


_BY_LANGUAGE = {
    "python": _in_python,
    "go": _in_go,
    "csharp": _in_csharp,
    "java": _in_jvm,
    "kotlin": _in_jvm,
    **dict.fromkeys(JAVASCRIPT, _in_javascript),
}
