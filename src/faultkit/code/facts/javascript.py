"""How JavaScript, TypeScript and TSX write what facts are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from faultkit.code.facts.grammar import (
    Binding,
    CatchParts,
    Grammar,
    ParameterParts,
    TryParts,
    arguments_or,
    assignment,
    branches,
    cases,
    count_loop,
    each_loop,
    spread_as,
    while_loop,
)
from faultkit.code.languages.dialect import child_of, text_of
from faultkit.code.languages.syntax import Node

_ENDLESS = ("(true)", "(1)", "true")


def _module(node: Node | None) -> str:
    return text_of(node).strip("\"'`").removeprefix("node:")


def _import(node: Node) -> Iterator[tuple[str, str]]:
    module = _module(node.child_by_field_name("source"))
    yield "", module
    clause = child_of(node, "import_clause")
    for each in clause.named_children if clause is not None else ():
        if each.type == "identifier":
            yield text_of(each), module
        elif each.type == "namespace_import" and each.named_child_count:
            yield text_of(each.named_children[-1]), module
        elif each.type == "named_imports":
            for one in each.named_children:
                name = one.child_by_field_name("name")
                alias = one.child_by_field_name("alias") or name
                # The default export of a package has the name of the package.
                whole = module if text_of(name) == "default" else f"{module}.{text_of(name)}"
                yield text_of(alias), whole


def _required(node: Node) -> Iterator[tuple[str, str]]:
    """Bind `const x = require("y")`, `const {a: b} = require("y")` and `const x = require("y").z`.

    Of `const app = require("y")()` and `require("y").z()` only the module is known.
    """
    value, name = node.child_by_field_name("value"), node.child_by_field_name("name")
    called = None if value is None else value.child_by_field_name("function")
    if called is not None and called.type == "member_expression":
        called = called.child_by_field_name("object")
    if called is not None and called.type == "call_expression":
        value, name = called, None
    rest = ""
    if value is not None and value.type == "await_expression" and value.named_child_count:
        value = value.named_children[0]
    if value is not None and value.type == "member_expression":
        rest = "." + text_of(value.child_by_field_name("property"))
        value = value.child_by_field_name("object")
    if value is None or value.type != "call_expression":
        return
    if text_of(value.child_by_field_name("function")) not in ("require", "import"):
        return
    listed = value.child_by_field_name("arguments")
    if listed is None or not listed.named_child_count or listed.named_children[0].type != "string":
        return
    module = _module(listed.named_children[0]) + rest
    yield "", module
    if name is None:
        return
    if name.type == "identifier":
        yield text_of(name), module
    for each in name.named_children if name.type == "object_pattern" else ():
        if each.type == "pair_pattern":
            key, alias = each.child_by_field_name("key"), each.child_by_field_name("value")
            yield text_of(alias), f"{module}.{text_of(key)}"
        else:
            yield text_of(each), f"{module}.{text_of(each)}"


def _declarator(node: Node, around: Node) -> Iterator[Binding]:
    name = node.child_by_field_name("name")
    if name is None:
        return
    constant = text_of(around.child_by_field_name("kind")) == "const"
    value, type_ = node.child_by_field_name("value"), node.child_by_field_name("type")
    yield Binding((name,), value, type_, is_constant=constant)


def _update(node: Node, around: Node) -> Iterator[Binding]:
    target = node.child_by_field_name("argument")
    if target is not None:
        yield Binding((target,), None, None, text_of(node.child_by_field_name("operator")))


def _field(node: Node, around: Node) -> Iterator[Binding]:
    name = node.child_by_field_name("name") or node.child_by_field_name("property")
    if name is not None:
        value, type_ = node.child_by_field_name("value"), node.child_by_field_name("type")
        yield Binding((name,), value, type_, is_field=True)


def _try(node: Node) -> TryParts | None:
    body = node.child_by_field_name("body")
    if body is None:
        return None
    clause, final = node.child_by_field_name("handler"), node.child_by_field_name("finalizer")
    block = None if clause is None else clause.child_by_field_name("body")
    handlers: tuple[CatchParts, ...] = ()
    if clause is not None and block is not None:
        handlers = (CatchParts(clause, block, (), clause.child_by_field_name("parameter")),)
    return TryParts(body, handlers, None if final is None else final.child_by_field_name("body"))


def _keyword(node: Node) -> tuple[str, Node] | None:
    if node.type == "pair":
        key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
        return None if key is None or value is None else (text_of(key).strip("\"'[]`"), value)
    if node.type in ("shorthand_property_identifier", "shorthand_property_identifier_pattern"):
        return text_of(node), node
    return None


def _pairs(node: Node) -> Iterable[Node]:
    return node.named_children if node.type == "object" else ()


def _callee(node: Node) -> Node | None:
    return node.child_by_field_name("function") or node.child_by_field_name("constructor")


def _parameters(node: Node) -> Iterator[ParameterParts]:
    single = node.child_by_field_name("parameter")
    if single is not None:
        yield ParameterParts(single)
    listed = node.child_by_field_name("parameters")
    for each in listed.named_children if listed is not None else ():
        if each.type in ("required_parameter", "optional_parameter"):
            pattern = each.child_by_field_name("pattern")
            if pattern is not None:
                type_, value = each.child_by_field_name("type"), each.child_by_field_name("value")
                yield ParameterParts(pattern, type_, value)
        elif each.type == "assignment_pattern":
            left = each.child_by_field_name("left")
            if left is not None:
                yield ParameterParts(left, None, each.child_by_field_name("right"))
        elif each.type != "comment":
            yield ParameterParts(each)


def _decorators(node: Node) -> Iterator[Node]:
    before = node.prev_named_sibling
    found = [child for child in node.children if child.type == "decorator"]
    while before is not None and before.type == "decorator":
        found.append(before)
        before = before.prev_named_sibling
    for each in found:
        if each.named_child_count:
            yield each.named_children[0]


_LONGEST_TYPE = 400


def _type_name(node: Node) -> str:
    if node.end_byte - node.start_byte > _LONGEST_TYPE:
        return ""  # A union or an object of many parts, which has no name.
    text = text_of(node).lstrip(": ")
    real = [each.strip() for each in text.split("|") if each.strip() not in ("null", "undefined")]
    name = real[0].partition("<")[0] if len(real) == 1 else ""
    return "" if any(sign in name for sign in "{([ ") else name


def _bases(node: Node) -> Iterator[str]:
    heritage = child_of(node, "class_heritage")
    if heritage is not None:
        yield text_of(heritage).removeprefix("extends").strip().partition(" ")[0].partition("<")[0]


_TRANSPARENT = frozenset(
    {
        "parenthesized_expression",
        "await_expression",
        "non_null_expression",
        "as_expression",
        "satisfies_expression",
        "type_assertion",
    }
)

JAVASCRIPT = Grammar(
    names=frozenset(
        {"identifier", "property_identifier", "shorthand_property_identifier", "type_identifier"}
    ),
    self_names=frozenset({"this"}),
    members={"member_expression": ("object", "property")},
    subscripts={"subscript_expression": "object"},
    calls=frozenset({"call_expression", "new_expression"}),
    constructors=frozenset({"new_expression"}),
    functions=frozenset(
        {
            "function_declaration",
            "function_expression",
            "generator_function",
            "generator_function_declaration",
            "arrow_function",
            "method_definition",
        }
    ),
    types=frozenset({"class_declaration", "class", "abstract_class_declaration"}),
    transparent=_TRANSPARENT,
    awaits=frozenset({"await_expression"}),
    shapes={
        "string": "text",
        "template_string": "text",
        "number": "number",
        "true": "true",
        "false": "false",
        "null": "none",
        "undefined": "none",
        "identifier": "name",
        "member_expression": "name",
        "shorthand_property_identifier": "name",
        "call_expression": "call",
        "new_expression": "call",
        "arrow_function": "function",
        "function_expression": "function",
        "object": "object",
        "array": "list",
    },
    statements=frozenset({"expression_statement"}),
    returns=frozenset({"return_statement", "yield_expression"}),
    steps={
        "return_statement": "return",
        "break_statement": "break",
        "continue_statement": "continue",
        "throw_statement": "raise",
        "yield_expression": "yield",
        "if_statement": "branch",
        "switch_statement": "branch",
        "ternary_expression": "branch",
        "await_expression": "await",
        "binary_expression": "binary",
    },
    texts=frozenset({"string", "template_string"}),
    interpolations=frozenset({"template_substitution"}),
    empty=frozenset({"empty_statement", "continue_statement", "comment"}),
    managed=frozenset(),
    bindings={
        "variable_declarator": _declarator,
        "assignment_expression": assignment,
        "augmented_assignment_expression": assignment,
        "update_expression": _update,
        "public_field_definition": _field,
        "field_definition": _field,
    },
    imports={"import_statement": _import, "variable_declarator": _required},
    loops={
        "for_statement": count_loop,
        "for_in_statement": each_loop("left", "right"),
        "while_statement": while_loop(*_ENDLESS),
        "do_statement": while_loop(*_ENDLESS),
    },
    forks={"if_statement": branches, "ternary_expression": branches, "switch_statement": cases},
    tries={"try_statement": _try},
    callee=_callee,
    arguments=arguments_or("template_string"),
    keyword=_keyword,
    spread=spread_as("spread_element"),
    pairs=_pairs,
    parameters=_parameters,
    decorators=_decorators,
    type_name=_type_name,
    bases=_bases,
    forwards_error=frozenset({"reject", "next", "done", "callback", "cb"}),
    iterators=frozenset({"map", "forEach", "flatMap", "filter", "some", "every"}),
)
