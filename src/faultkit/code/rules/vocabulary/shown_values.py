"""Whether a value reaches the text of a log as it is: not masked, measured, compared or cut."""

from __future__ import annotations

import re

from faultkit.code.facts import Facts
from faultkit.code.languages.syntax import Node, Span
from faultkit.code.rules.vocabulary.failures import node_at
from faultkit.code.rules.vocabulary.telling_types import is_secret_name

ITEMS = frozenset(
    {
        "subscript",
        "subscript_expression",
        "index_expression",
        "element_access_expression",
        "indexing_expression",
    }
)
_SHOWING = frozenset(
    (
        "argument_list", "arguments", "interpolation", "template_substitution", "string", "template_string",
        "binary_operator", "binary_expression", "tuple", "parenthesized_expression", "keyword_argument",
        "pair", "object", "dictionary", "concatenated_string", "await_expression", "await",
        "non_null_expression", "composite_literal", "literal_value", "keyed_element",
        "literal_element", "array", "list", "expression_list", "token_tree", "argument", "value_argument",
        "value_arguments", "spread_element", "variadic_argument",
        "interpolated_string_expression", "string_literal", "infix_expression",
    )
)  # fmt: skip
_FORMATS = frozenset(
    ("format", "String", "str", "repr", "stringify", "dumps", "inspect", "Sprintf", "Sprint", "valueOf",
     "Any", "Interface", "Str", "With", "Reflect", "pformat", "asString", "toString", "formatted", "dict",
     "mapOf", "mutableMapOf", "hashMapOf", "of", "asdict", "vars", "Serialize", "SerializeObject",
     "writeValueAsString", "toJson", "encodeToString", "to_string", "string",
     "Join", "join", "entries", "fromEntries", "list")
)  # fmt: skip


def _is_covered(spread: Node, facts: Facts) -> bool:
    """Return whether an object has a value of its own for a secret: `{ ...user, password: "" }`."""
    around = spread.parent
    text = "" if around is None else facts.syntax.text(around)
    return any(is_secret_name(key, facts) for key in re.findall(r"(\w+)\s*:", text))


def is_shown(span: Span, within: Span, facts: Facts) -> bool:
    """Return whether a value reaches the text of the log as it is: not masked, measured, compared or cut."""
    node = node_at(span, facts)
    if node is None:
        return False
    child: Node = node
    parent = node.parent
    while parent is not None and child.start_byte >= within.start and child.end_byte <= within.end:
        if (child.start_byte, child.end_byte) == (
            within.start,
            within.end,
        ) or parent.start_byte < within.start:
            return True
        kind = parent.type
        if kind in ITEMS or (kind == "spread_element" and _is_covered(parent, facts)):
            return False
        if kind == "token_tree" and (after := child.next_sibling) is not None and after.type in (".", "="):
            return False  # Rust's macros hold tokens: `info!(secret = %key.id, "{}", password.len())`.
        if kind in ("binary_operator", "binary_expression"):
            sign = parent.child_by_field_name("operator")
            if sign is None or facts.syntax.text(sign) not in ("+", "%", "||", "??"):
                return False
        elif kind in ("call", "call_expression", "method_invocation", "invocation_expression"):
            name = parent.child_by_field_name("function") or parent.child_by_field_name("name")
            if name is None and facts.language == "kotlin" and parent.named_children:
                name = parent.named_children[0]
            text = "" if name is None else facts.syntax.text(name)
            if name == child or text.rpartition(".")[2] not in _FORMATS:
                return False
        elif kind not in _SHOWING:
            return False
        child, parent = parent, parent.parent
    return True
