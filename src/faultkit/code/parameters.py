"""The name of one parameter, whatever its type, default or marks. It knows no language, only node types."""

from __future__ import annotations

from faultkit.code.dialects.dialect import text_of
from faultkit.code.syntax import Node

_FIELDS = ("name", "pattern", "left", "declarator")
_INSIDE = {
    "typed_parameter": 0,
    "list_splat_pattern": 0,
    "dictionary_splat_pattern": 0,
    "rest_pattern": 0,
    "parameter": 0,
    "spread_parameter": -1,
    "self_parameter": -1,
}
"""Which of its parts holds the name, where no field says so."""
_NONE = ("keyword_separator", "positional_separator", "attribute_item", "this")


def parameter_name(node: Node) -> str:
    """Empty if it has none."""
    while True:
        if node.is_extra or node.type in _NONE:
            return ""
        inner = next(filter(None, (node.child_by_field_name(each) for each in _FIELDS)), None)
        if inner is None and node.type in _INSIDE and node.named_child_count:
            inner = node.named_children[_INSIDE[node.type]]
        if inner is None:
            return " ".join(text_of(node).split())
        node = inner
