"""Finds queries in functions that a framework calls for every object of a list: resolvers, serializers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.field_resolvers import WORDS, queries_of_resolvers

_ASKS = frozenset(
    ("filter", "exclude", "order_by", "first", "last", "latest", "earliest", "aggregate", "values_list",
     "values", "exists", "count")
)  # fmt: skip
_PRELOADS = lazy_regex(r"prefetch_related|select_related|annotate\(")
_SERIALIZER = lazy_regex(r"Serializer$")


def _check(facts: Facts) -> Iterator[Hit]:
    for call, item in queries_of_resolvers(facts):
        yield Hit(call.span, f"{call.written}() asks once for every {item} of a list", LIKELY)
    if facts.language == "python" and facts.imports_any("rest_framework"):
        yield from _in_serializers(facts)


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
    words=(*WORDS, b"SerializerMethodField"),
)
