"""Finds queries in functions that a framework calls for every object of a list: resolvers, serializers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Facts, Scope, is_within
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.remote_calls import remote_calls

_RESOLVES = re.compile(r"(^|\.)(ResolveField|FieldResolver|SchemaMapping|ResolveProperty)$")
_LOADER = re.compile(r"loader|\bbatch|BatchMapping", re.IGNORECASE)
_GRAPHENE = re.compile(r"resolve_\w+$")
_ROOTS = re.compile(r"^(Query|Mutation|Subscription|query|mutation)$")
_ASKS = frozenset(
    ("filter", "exclude", "order_by", "first", "last", "latest", "earliest", "aggregate", "values_list",
     "values", "exists", "count")
)  # fmt: skip
_PRELOADS = re.compile(r"prefetch_related|select_related|annotate\(")
_SERIALIZER = re.compile(r"Serializer$")


def _check(facts: Facts) -> Iterator[Hit]:
    yield from _in_resolvers(facts)
    if facts.language == "python" and facts.imports_any("rest_framework"):
        yield from _in_serializers(facts)


def _in_resolvers(facts: Facts) -> Iterator[Hit]:
    """Yield queries of a resolver of a field, which runs for each object that has the field."""
    resolvers = [
        (scope, item)
        for scope in facts.scopes
        if (item := _parent(scope, facts)) and not _LOADER.search(facts.text(scope.span))
    ]
    for remote in remote_calls(facts) if resolvers else ():
        if not remote.is_read or remote.through is not None:
            continue
        for scope, item in resolvers:
            if not is_within(remote.call.span, scope.body):
                continue
            if re.search(rf"(?<![\w.]){re.escape(item)}\b", facts.text(remote.call.span)):
                what = f"{remote.call.written}() asks once for every {item} of a list"
                yield Hit(remote.call.span, what, LIKELY)


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
    if facts.language == "python" and _GRAPHENE.match(scope.short_name) and len(names) > 1:
        is_root = _ROOTS.match(scope.owner.rpartition(".")[2]) or names[0] in ("root", "_", "_root")
        return names[0] if names[1] == "info" and not is_root else ""
    if facts.language == "go" and scope.owner.endswith("Resolver") and len(names) > 1:
        of_root = re.search(r"(query|mutation|subscription)Resolver$", scope.owner, re.IGNORECASE)
        return names[1] if names[1] == "obj" and of_root is None else ""
    if facts.language == "csharp":
        found = re.search(r"\[Parent[^\]]*\]\s*\w+\s+(\w+)", facts.text(scope.span))
        return "" if found is None else found[1]
    return ""


def _in_serializers(facts: Facts) -> Iterator[Hit]:
    """Yield `task.comments.filter(…)` of a method field, which runs for every object of the answer."""
    preloads = _PRELOADS.search(facts.whole_text) is not None
    has_view = re.search(r"\bqueryset\s*=", facts.whole_text) is not None
    for scope in facts.scopes:
        if not (_is_serializer(scope.owner, facts) and scope.short_name.startswith("get_")):
            continue
        item = next((each.name for each in scope.parameters if each.name != "self"), "")
        if not item or scope.short_name.removeprefix("get_") not in _method_fields(scope.owner, facts):
            continue
        for call in facts.within(facts.calls, scope.body):
            parts = call.written.split(".")
            if len(parts) < 3 or parts[0] != item or "(" in parts[1]:
                continue
            method = parts[2].removesuffix("()")
            if method in _ASKS or (method == "all" and has_view and not preloads):
                what = f"{item}.{parts[1]} is asked for by a query of its own for every {item}"
                yield Hit(call.span, what, LIKELY if has_view and not preloads else POSSIBLE)
                break


def _is_serializer(owner: str, facts: Facts) -> bool:
    return any(_SERIALIZER.search(base) for base in facts.classes.get(owner, ()))


def _method_fields(owner: str, facts: Facts) -> set[str]:
    return {
        target.removeprefix("self.")
        for each in facts.assignments
        if each.owner == owner and each.call is not None and each.call.method == "SerializerMethodField"
        for target in each.targets
    }


RULE = Rule(
    id="FK-P031",
    slug="query-per-object",
    title="A query in what runs for every object",
    why="The framework calls a resolver or a serializer's method for each object of a list: a page of a "
    "hundred asks the database a hundred times more.",
    fix="Load for all objects at once: a data loader or batch mapping, prefetch_related, an annotation.",
    kind="performance",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=(
        b"ResolveField", b"FieldResolver", b"SchemaMapping", b"ResolveProperty", b"resolve_", b"Resolver",
        b"[Parent", b"SerializerMethodField",
    ),
)  # fmt: skip
