"""Where names are read, and where they are only named: by the types of the nodes around them."""

from __future__ import annotations

from faultkit.code.facts.grammar import Grammar
from faultkit.code.languages.syntax import Node

READ_BY_VALUE = frozenset(
    {
        "pair", "keyword_argument", "default_parameter", "typed_default_parameter", "let_declaration",
        "let_condition", "for_expression",
    }
)  # fmt: skip
"""Node types whose names are not read, while their values are."""
NOT_READ = frozenset(
    (
        "function_definition", "parameters", "default_parameter", "typed_parameter",
        "typed_default_parameter", "dotted_name", "aliased_import", "keyword_argument",
        "lambda_parameters", "class_definition", "global_statement", "formal_parameters",
        "required_parameter", "optional_parameter", "formal_parameter", "import_specifier",
        "import_clause", "namespace_import", "class_declaration", "method_definition",
        "method_declaration", "function_declaration", "variable_declarator", "method_invocation",
        "import_spec", "package_clause", "scoped_identifier", "parameter_declaration", "pair",
        "type_annotation", "type", "let_declaration", "let_condition", "for_expression", "function_item",
        "tuple_struct_pattern", "tuple_pattern", "parameter", "closure_parameters", "use_list",
        "use_as_clause", "use_declaration", "field_pattern", "struct_item", "variable_declaration",
    )
)  # fmt: skip
"""Node types whose names are not read."""


def is_read(node: Node, is_name: bool, parent: Node, around: str, grammar: Grammar) -> bool:
    """Return whether a name or path right below a node of this type is read, and is a whole path: no callee,
    target or parameter name."""
    if around in grammar.members:
        return False
    if around in grammar.calls and grammar.callee(parent) == node and not grammar.own_name(parent):
        return False
    if is_name and around in NOT_READ:
        return around in READ_BY_VALUE and parent.child_by_field_name("value") == node
    return not (around in grammar.bindings and parent.child_by_field_name("left") == node)
