"""How Rust writes functions."""

from __future__ import annotations

from faultkit.code.dialects.dialect import Dialect, Parts, plain, text_of
from faultkit.code.syntax import Node

_WRAPPED = {
    "reference_type": "type",
    "pointer_type": "type",
    "generic_type": "type",
    "dynamic_type": "trait",
}


def _scope(node: Node) -> Parts:
    """An `impl` lends the name of its type, whichever trait it is for."""
    name = node.child_by_field_name("type" if node.type == "impl_item" else "name")
    while name is not None and name.type in _WRAPPED:
        name = name.child_by_field_name(_WRAPPED[name.type])
    if name is None or name.type.endswith("identifier"):
        return plain(text_of(name))
    return (" ".join(text_of(name).split()),)


RUST = Dialect(
    functions={"function_item": "function"},
    types=("impl_item", "trait_item"),
    namespaces=("mod_item",),
    decorators=("attribute_item",),
    modifiers=("function_modifiers",),
    comments=("line_comment", "block_comment"),
    scope=_scope,
)
