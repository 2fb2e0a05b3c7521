"""How Kotlin writes what facts are made of. Its tree names few fields: parts are known by their places."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from faultkit.code.facts.grammar import (
    Binding,
    CatchParts,
    Grammar,
    LoopParts,
    ParameterParts,
    assignment,
    known_names,
    tries_with,
    update,
)
from faultkit.code.facts.java import JAVA
from faultkit.code.languages.dialect import child_of, last_of, parts_in, text_of
from faultkit.code.languages.syntax import Node

_KNOWN = {
    "okhttp3": "OkHttpClient Request",
    "io.ktor.client": "HttpClient",
    "kotlinx.coroutines": "GlobalScope Dispatchers runBlocking withContext delay launch async",
    "kotlinx.coroutines.channels": "Channel",
}
"""Names besides those of Java, for wildcards and snippets without their imports."""
_TYPES = ("user_type", "nullable_type")
_NO_VALUES = frozenset(
    {
        "modifiers", "variable_declaration", "multi_variable_declaration", "getter", "setter",
        "type_constraints", "type_parameters", *_TYPES,
    }
)  # fmt: skip
_RANGE = re.compile(r"\.\.|\buntil\b|\bdownTo\b|\.indices\b")


def _import(node: Node) -> Iterator[tuple[str, str]]:
    name = child_of(node, "qualified_identifier", "identifier")
    whole = text_of(name)
    alias = last_of(node)
    yield "", whole
    if text_of(node).rstrip().endswith("*"):
        yield "*", whole
    elif alias is not None and alias != name:
        yield text_of(alias), whole
    else:
        yield whole.rpartition(".")[2], whole


def _property(node: Node, around: Node) -> Iterator[Binding]:
    declared = child_of(node, "variable_declaration")
    several = child_of(node, "multi_variable_declaration")
    value = next((each for each in reversed(node.named_children) if each.type not in _NO_VALUES), None)
    if value is not None and value.type == "property_delegate":
        value = _delegated(value)
    if several is not None:
        targets = tuple(
            name for each in several.named_children if (name := child_of(each, "identifier")) is not None
        )
        yield Binding(targets, value)
    elif declared is not None and (name := child_of(declared, "identifier")) is not None:
        type_ = child_of(declared, *_TYPES)
        is_field = around.type == "class_body"
        constant = child_of(node, "val") is not None
        yield Binding((name,), value, type_, is_constant=constant, is_field=is_field)


def _delegated(node: Node) -> Node | None:
    """Return what `by lazy { … }` makes: the last expression."""
    call = last_of(node)
    given = None if call is None else child_of(call, "annotated_lambda")
    body = None if given is None else child_of(given, "lambda_literal")
    return None if body is None else last_of(body)


def _class_parameter(node: Node, around: Node) -> Iterator[Binding]:
    name = child_of(node, "identifier")
    if name is not None:
        yield Binding((name,), None, child_of(node, *_TYPES), is_field=True)


def _for(node: Node) -> LoopParts | None:
    parts = [each for each in parts_in(node) if each.type != "annotation"]
    if len(parts) < 3:
        return None
    name, over, body = parts[0], parts[1], parts[-1]
    named = [name] if name.type == "variable_declaration" else name.named_children
    targets = tuple(each for held in named if (each := child_of(held, "identifier")) is not None)
    return LoopParts("count" if _RANGE.search(text_of(over)) else "each", body, over, targets)


def _while(node: Node) -> LoopParts | None:
    condition = node.child_by_field_name("condition")
    body = next((each for each in node.named_children if each.type == "block"), None)
    if body is None:
        return None
    return LoopParts("endless" if text_of(condition) == "true" else "while", body, condition)


def _repeat(node: Node) -> LoopParts | None:
    """Return `repeat(n) { … }`, which is a call."""
    callee = _callee(node)
    given = child_of(node, "annotated_lambda")
    body = None if given is None else child_of(given, "lambda_literal")
    if text_of(callee) != "repeat" or body is None:
        return None
    return LoopParts("count", body, next(iter(_arguments(node)), None))


def _handler(node: Node) -> CatchParts | None:
    block, type_ = child_of(node, "block"), child_of(node, *_TYPES)
    if node.type != "catch_block" or block is None:
        return None
    return CatchParts(node, block, () if type_ is None else (type_,), child_of(node, "identifier"))


def _branches(node: Node) -> list[Node]:
    condition = node.child_by_field_name("condition")
    return [each for each in parts_in(node) if each != condition]


def _entries(node: Node) -> list[Node]:
    return [each for each in node.named_children if each.type == "when_entry"]


def _inner(node: Node) -> Node:
    """Return the call `f(x)` of `f(x) { … }`, which is one call with a lambda as its last argument."""
    if node.type != "call_expression" or child_of(node, "annotated_lambda") is None:
        return node
    first = node.named_children[0]
    if first.type == "call_expression" and child_of(first, "annotated_lambda") is None:
        return first
    return node


def _is_call(node: Node, around: Node) -> bool:
    return around.type != "call_expression" or _inner(around) != node


def _callee(node: Node) -> Node | None:
    if node.type == "annotation":
        made = child_of(node, "constructor_invocation") or node
        return child_of(made, "user_type")
    inner = _inner(node)
    return inner.named_children[0] if inner.named_child_count else None


def _arguments(node: Node) -> Iterable[Node]:
    inner = child_of(node, "constructor_invocation") if node.type == "annotation" else _inner(node)
    given = [] if inner is None else parts_in(child_of(inner, "value_arguments"))
    return [*given, *(each for each in node.named_children if each.type == "annotated_lambda")]


def _keyword(node: Node) -> tuple[str, Node] | None:
    if node.type != "value_argument" or node.named_child_count < 2 or child_of(node, "=") is None:
        return None
    return text_of(node.named_children[0]), node.named_children[-1]


def _spread(node: Node) -> str:
    return "*" if node.type == "value_argument" and child_of(node, "*") is not None else ""


def _parameters(node: Node) -> Iterator[ParameterParts]:
    is_lambda = node.type == "lambda_literal"
    for each in parts_in(child_of(node, "lambda_parameters" if is_lambda else "function_value_parameters")):
        name = child_of(each, "identifier")
        if name is not None and (is_lambda or each.type == "parameter"):
            yield ParameterParts(name, child_of(each, *_TYPES))


def _type_name(node: Node) -> str:
    return re.split(r"[<?(]", text_of(node))[0].strip()


def _bases(node: Node) -> Iterator[str]:
    listed = child_of(node, "delegation_specifiers")
    for each in listed.named_children if listed is not None else ():
        yield re.split(r"[<({ ]", text_of(each))[0]


def _is_async(node: Node) -> bool:
    """Return whether a function is suspended. What runs a lambda is not known from it."""
    modifiers = child_of(node, "modifiers")
    return modifiers is not None and "suspend" in text_of(modifiers).split()


_ITERATORS = frozenset(
    (
        "map", "forEach", "flatMap", "mapNotNull", "onEach", "associateWith", "filter", "forEachLine",
        "forEachIndexed", "mapIndexed",
    )
)  # fmt: skip

KOTLIN = Grammar(
    names=frozenset({"identifier"}),
    self_names=frozenset({"this"}),
    members={"navigation_expression": ("#0", "#-1")},
    subscripts={"index_expression": "#0"},
    calls=frozenset({"call_expression", "annotation"}),
    constructors=frozenset(),
    functions=frozenset(
        {"function_declaration", "lambda_literal", "secondary_constructor", "getter", "setter"}
    ),
    types=frozenset({"class_declaration", "object_declaration"}),
    transparent=frozenset(
        {
            "parenthesized_expression", "annotated_lambda", "value_argument", "as_expression",
            "unary_expression", "binary_expression",
        }
    ),
    # The grammar reads `!a.b` as the member `b` of `!a`.
    sees_through=re.compile(r"^!|!!$"),
    awaits=frozenset(),
    shapes={
        "string_literal": "text",
        "multiline_string_literal": "text",
        "number_literal": "number",
        "identifier": "name",
        "navigation_expression": "name",
        "call_expression": "call",
        "lambda_literal": "function",
        "anonymous_function": "function",
        "callable_reference": "name",
        "collection_literal": "list",
    },
    words={"true": "true", "false": "false", "null": "none"},
    step_words={"break": "break", "continue": "continue"},
    statements=frozenset({"block"}),
    tails=frozenset({"lambda_literal"}),
    returns=frozenset({"return_expression", "function_body"}),
    steps={
        "return_expression": "return",
        "throw_expression": "raise",
        "if_expression": "branch",
        "when_expression": "branch",
        "binary_expression": "binary",
        "in_expression": "binary",
    },
    texts=frozenset({"string_literal", "multiline_string_literal"}),
    interpolations=frozenset({"interpolation"}),
    hole=re.compile(r"\$[A-Za-z_{]"),
    implicit_item="it",
    empty=frozenset({"line_comment", "block_comment"}),
    managed=frozenset(),
    bindings={
        "property_declaration": _property,
        "class_parameter": _class_parameter,
        "assignment": assignment,
        "unary_expression": update,
    },
    imports={"import": _import},
    loops={
        "for_statement": _for,
        "while_statement": _while,
        "do_while_statement": _while,
        "call_expression": _repeat,
    },
    forks={"if_expression": _branches, "when_expression": _entries},
    tries={"try_expression": tries_with(_handler)},
    is_call=_is_call,
    callee=_callee,
    arguments=_arguments,
    keyword=_keyword,
    spread=_spread,
    parameters=_parameters,
    decorators=JAVA.decorators,
    type_name=_type_name,
    bases=_bases,
    bare_fields=True,
    given_by=frozenset({"use", "let", "also"}),
    constructs=lambda name: name.rpartition(".")[2][:1].isupper() and not name.isupper(),
    broad=JAVA.broad,
    iterators=_ITERATORS,
    predefined={**JAVA.predefined, **known_names(_KNOWN)},
    is_async=_is_async,
    async_word=b"suspend",
)  # fmt: skip
