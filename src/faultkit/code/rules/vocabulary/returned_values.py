"""What functions of a text return, and the function of this text that a call runs."""

from __future__ import annotations

from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Node, Span
from faultkit.code.rules.vocabulary.failures import node_at

_BLOCKS = frozenset(("block", "statement_block", "function_body", "statements"))


def own_function(call: Call, facts: Facts) -> Scope | None:
    """Return the only function of this text that a call may run; None if there is none, or several."""
    named = facts.functions_named(call.method)
    return named[0] if len(named) == 1 and call in facts.callers_of(named[0]) else None


@lru_cache(maxsize=64)
def returned_values(scope: Scope, facts: Facts) -> tuple[Span, ...]:
    """Return the expressions that a function returns, also those without `return`: `=> a`, `= a`."""
    found = [
        Span(start, start + len(text))
        for step in facts.own(facts.steps, scope)
        if step.kind == "return" and (text := step.text.strip().rstrip(";").rstrip().encode())
        if (start := facts.syntax.source.find(text, step.span.start)) >= 0
    ]
    body = node_at(scope.body, facts)
    last = None if body is None else _last(body)
    if last is not None:
        found.append(Span(last.start_byte, last.end_byte))
    return tuple(found)


def _last(body: Node) -> Node | None:
    """Return the value of a body that is an expression, or that ends with one (Kotlin, Rust)."""
    inside = [each for each in body.named_children if not each.is_extra]
    if body.type in ("function_body", "arrow_expression_clause"):
        # `= a` of Kotlin, `=> a` of C#.
        return inside[0] if len(inside) == 1 and inside[0].type not in _BLOCKS else None
    if body.type not in _BLOCKS:
        return body
    if (
        body.type != "block"
        or not inside
        or inside[-1].type.endswith(("_statement", "_declaration", "_item"))
    ):
        return None
    return inside[-1]


_GIVES_LIST = frozenset(
    (
        "split",
        "slice",
        "filter",
        "map",
        "flatMap",
        "sort",
        "concat",
        "keys",
        "values",
        "entries",
        "from",
        "chunk",
    )
)
_IS_LIST = lazy_regex(r"\)\s*:\s*(?:readonly\s+)?(?:[\w<>]+\[\]|(?:Readonly)?Array<)")


def is_of_list(call: Call, facts: Facts) -> bool:
    """Return whether a call is on the result of one that gives a list: `chunk(rows, 500).forEach(…)`."""
    made = call.origin
    if made is None or made.is_awaited:
        return False
    own = own_function(made, facts)
    if own is None:
        return made.method in _GIVES_LIST
    given = [facts.text(each) for each in returned_values(own, facts)]
    is_list = _IS_LIST.search(facts.text(own.head)) or any(each.startswith(("[", "Array.")) for each in given)
    return bool(is_list) and not own.is_async
