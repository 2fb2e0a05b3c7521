"""How C# writes what facts are made of. Types have plain names: `using` imports whole namespaces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from faultkit.code.facts.grammar import (
    Binding,
    CatchParts,
    Grammar,
    ParameterParts,
    assignment,
    branches,
    count_loop,
    each_loop,
    tries_with,
    update,
    while_loop,
)
from faultkit.code.languages.dialect import child_of, last_of, parts_in, text_of
from faultkit.code.languages.syntax import Node

_TYPES = frozenset({"class_declaration", "struct_declaration", "record_declaration", "interface_declaration"})
_NAMESPACE = re.compile(r"^(?:global::)?(?:System|Microsoft)(?:\.[A-Z]\w*)*\.(?=[A-Z])")
_BROAD = frozenset({"Exception", "System.Exception"})
_CANCELLATION = re.compile(
    r"when\s*\((?:\s*(?:!\s*[\w.]+\.IsCancellationRequested"
    r"|\w+\s+is\s+not\s+(?:\w+\.)*(?:OperationCanceledException|TaskCanceledException))\s*(?:&&|\|\||\)))+"
)
"""A filter that leaves out nothing but the end of the work."""
_CREATIONS = frozenset({"object_creation_expression", "implicit_object_creation_expression"})


def _import(node: Node) -> Iterator[tuple[str, str]]:
    named = node.child_by_field_name("name")
    path = text_of(last_of(node))
    yield "", path
    if named is not None:
        yield text_of(named), _plain(path)


def _plain(name: str) -> str:
    """Return a name without the namespaces of the platform: of `System.IO.File` `File`."""
    return _NAMESPACE.sub("", name)


def _declaration(node: Node, around: Node) -> Iterator[Binding]:
    is_field = around.type in ("field_declaration", "event_field_declaration")
    words = {text_of(each) for each in around.children if each.type == "modifier"}
    constant = "const" in words or "readonly" in words
    type_ = node.child_by_field_name("type")
    for each in node.named_children:
        name = each.child_by_field_name("name") if each.type == "variable_declarator" else None
        if name is not None:
            value = last_of(each)
            value = None if value == name else value
            yield Binding((name,), value, type_, is_constant=constant, is_field=is_field)


def _property(node: Node, around: Node) -> Iterator[Binding]:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is not None:
        value = None if value is None or value.type == "arrow_expression_clause" else value
        yield Binding((name,), value, node.child_by_field_name("type"), is_field=True)


def _primary(node: Node, around: Node) -> Iterator[Binding]:
    """Yield the parameters of `class C(HttpClient http)`, which its methods name as fields."""
    holder, name = around.parent, node.child_by_field_name("name")
    if holder is not None and holder.type in _TYPES and name is not None:
        yield Binding((name,), None, node.child_by_field_name("type"), is_field=True)


def _assignment(node: Node, around: Node) -> Iterator[Binding]:
    """Yield an assignment; `new Client { Timeout = t }` assigns to what it makes."""
    if around.type != "initializer_expression":
        yield from assignment(node, around)


def _is_call(node: Node, around: Node) -> bool:
    return not text_of(node.child_by_field_name("function")).endswith(".ConfigureAwait")


def _handler(node: Node) -> CatchParts | None:
    block, declared = node.child_by_field_name("body"), child_of(node, "catch_declaration")
    if node.type != "catch_clause" or block is None:
        return None
    type_ = declared and declared.child_by_field_name("type")
    # `catch (Exception e) when (e is TimeoutException)` takes some errors only.
    chosen = child_of(node, "catch_filter_clause")
    is_broad = type_ is None or text_of(type_) in _BROAD
    if chosen is not None and is_broad and not _CANCELLATION.fullmatch(text_of(chosen)):
        type_ = chosen
    name = declared and declared.child_by_field_name("name")
    return CatchParts(node, block, () if type_ is None else (type_,), name)


def _sections(node: Node) -> list[Node]:
    listed = node.child_by_field_name("body") or node
    return [
        each for each in listed.named_children if each.type in ("switch_section", "switch_expression_arm")
    ]


def _callee(node: Node) -> Node | None:
    if node.type == "implicit_object_creation_expression":
        return _declared_type(node)
    return (
        node.child_by_field_name("function")
        or node.child_by_field_name("type")
        or node.child_by_field_name("name")
    )


def _declared_type(node: Node) -> Node | None:
    """Return the type that `new()` makes, from the declaration around it."""
    around = node.parent
    for _ in range(2):
        if around is not None and around.child_by_field_name("type") is not None:
            return around.child_by_field_name("type")
        around = None if around is None else around.parent
    return None


def _arguments(node: Node) -> Iterable[Node]:
    listed = node.child_by_field_name("arguments") or child_of(
        node, "argument_list", "attribute_argument_list"
    )
    made = node.child_by_field_name("initializer") or child_of(node, "initializer_expression")
    return [*parts_in(listed), *parts_in(made)]


def _keyword(node: Node) -> tuple[str, Node] | None:
    if node.type in ("argument", "attribute_argument"):
        name, value = node.child_by_field_name("name"), last_of(node)
        return None if name is None or value is None or value == name else (text_of(name), value)
    if node.type == "assignment_expression":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and right is not None and left.type == "identifier":
            return text_of(left), right
    return None


def _parameters(node: Node) -> Iterator[ParameterParts]:
    listed = node.child_by_field_name("parameters")
    if listed is None:
        return
    if listed.type == "implicit_parameter":
        yield ParameterParts(listed)
        return
    for each in listed.named_children:
        name = each.child_by_field_name("name")
        if each.type == "parameter" and name is not None:
            yield ParameterParts(name, each.child_by_field_name("type"))


def _decorators(node: Node) -> Iterable[Node]:
    for listed in node.children:
        if listed.type == "attribute_list":
            yield from (each for each in listed.named_children if each.type == "attribute")


def _manages(node: Node) -> bool:
    """Return whether an item is in the head of a `using` or `lock`."""
    if node.type != "variable_declarator":
        return True
    holder = None if node.parent is None else node.parent.parent
    return holder is not None and child_of(holder, "using") is not None


def _managed_body(node: Node) -> Node | None:
    if not _manages(node):
        return None
    if node.type == "variable_declarator":
        holder = None if node.parent is None else node.parent.parent
        if holder is None or holder.type == "using_statement":
            return None  # The statement itself is an item.
        return holder.parent
    # The last node is the statement of `lock (gate) count++;`, which has no block.
    return node.child_by_field_name("body") or child_of(node, "block") or node.named_children[-1]


def _type_name(node: Node) -> str:
    text = re.split(r"[<\[(?]", text_of(node))[0].strip()
    return "" if text in ("var", "dynamic", "object") else _plain(text)


def _bases(node: Node) -> Iterator[str]:
    listed = child_of(node, "base_list")
    for each in listed.named_children if listed is not None else ():
        yield text_of(each).partition("<")[0]


def _is_async(node: Node) -> bool:
    return any(child.type == "modifier" and text_of(child) == "async" for child in node.children)


CSHARP = Grammar(
    names=frozenset({"identifier", "implicit_parameter"}),
    self_names=frozenset({"this"}),
    members={
        "member_access_expression": ("expression", "name"),
        "qualified_name": ("qualifier", "name"),
        "conditional_access_expression": ("condition", "#-1"),
    },
    subscripts={"element_access_expression": "expression"},
    calls=frozenset({"invocation_expression", "attribute", *_CREATIONS}),
    constructors=_CREATIONS,
    functions=frozenset(
        {
            "method_declaration", "constructor_declaration", "destructor_declaration", "lambda_expression",
            "local_function_statement", "accessor_declaration", "operator_declaration",
        }
    ),
    types=_TYPES,
    transparent=frozenset(
        {
            "parenthesized_expression", "await_expression", "cast_expression", "argument",
            "attribute_argument", "binary_expression",
        }
    ),
    awaits=frozenset({"await_expression"}),
    shapes={
        "string_literal": "text",
        "verbatim_string_literal": "text",
        "raw_string_literal": "text",
        "interpolated_string_expression": "text",
        "integer_literal": "number",
        "real_literal": "number",
        "null_literal": "none",
        "identifier": "name",
        "member_access_expression": "name",
        "invocation_expression": "call",
        "object_creation_expression": "call",
        "implicit_object_creation_expression": "call",
        "lambda_expression": "function",
        "anonymous_method_expression": "function",
        "collection_expression": "list",
        "array_creation_expression": "list",
        "implicit_array_creation_expression": "list",
    },
    words={"true": "true", "false": "false"},
    statements=frozenset({"expression_statement"}),
    returns=frozenset({"return_statement", "yield_statement", "arrow_expression_clause"}),
    steps={
        "return_statement": "return",
        "break_statement": "break",
        "continue_statement": "continue",
        "throw_statement": "raise",
        "throw_expression": "raise",
        "yield_statement": "yield",
        "if_statement": "branch",
        "switch_statement": "branch",
        "switch_expression": "branch",
        "conditional_expression": "branch",
        "binary_expression": "binary",
    },
    texts=frozenset(
        {"string_literal", "verbatim_string_literal", "raw_string_literal", "interpolated_string_expression"}
    ),
    interpolations=frozenset({"interpolation"}),
    empty=frozenset({"comment", "continue_statement", "empty_statement"}),
    managed=frozenset({"variable_declarator", "using_statement", "lock_statement"}),
    manages=_manages,
    managed_body=_managed_body,
    bindings={
        "variable_declaration": _declaration,
        "property_declaration": _property,
        "parameter": _primary,
        "assignment_expression": _assignment,
        "postfix_unary_expression": update,
        "prefix_unary_expression": update,
    },
    imports={"using_directive": _import},
    loops={
        "for_statement": count_loop,
        "foreach_statement": each_loop("left", "right"),
        "while_statement": while_loop("true"),
        "do_statement": while_loop("true"),
    },
    forks={
        "if_statement": branches,
        "conditional_expression": branches,
        "switch_statement": _sections,
        "switch_expression": _sections,
    },
    tries={"try_statement": tries_with(_handler)},
    callee=_callee,
    arguments=_arguments,
    keyword=_keyword,
    parameters=_parameters,
    decorators=_decorators,
    type_name=_type_name,
    bases=_bases,
    bare_fields=True,
    passes=frozenset({"ConfigureAwait"}),
    is_call=_is_call,
    broad=_BROAD,
    iterators=frozenset({"Select", "ForEach", "SelectMany"}),
    is_async=_is_async,
    decorator_sign=b"[",
)  # fmt: skip
