"""How Go writes what facts are made of. `if err != nil` is a handler of the statement before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from faultkit.code.facts.grammar import (
    Binding,
    CatchParts,
    Grammar,
    LoopParts,
    ParameterParts,
    TryParts,
    branches,
    cases,
    pairs_of,
    spread_as,
    update,
)
from faultkit.code.languages.dialect import child_of, parts_in, text_of
from faultkit.code.languages.syntax import Node

_KNOWN = (
    "net/http", "database/sql", "os/exec", "encoding/json", "io/ioutil", "os", "io", "net", "time", "context",
    "fmt", "log", "sync", "errors", "bufio", "strings", "log/slog", "os/signal",
)  # fmt: skip
"""Packages of the standard library, for snippets without their imports."""


def _import(node: Node) -> Iterator[tuple[str, str]]:
    path = text_of(node.child_by_field_name("path")).strip('"`')
    alias = text_of(node.child_by_field_name("name"))
    yield "", path
    if alias not in ("_", "."):
        yield alias or _package(path), path


def _package(path: str) -> str:
    """Return the package name of a path: `github.com/jackc/pgx/v5` is `pgx`, `gopkg.in/yaml.v3` is
    `yaml`, `go-redis` is `redis`."""
    parts = path.split("/")
    last = parts[-1]
    if last[:1] == "v" and last[1:].isdigit() and len(parts) > 1:
        last = parts[-2]
    return last.partition(".")[0].removeprefix("go-").removesuffix("-go").replace("-", "_")


def _listed(node: Node | None) -> tuple[Node, ...]:
    if node is None:
        return ()
    return tuple(node.named_children) if node.type == "expression_list" else (node,)


def _assignment(node: Node, around: Node) -> Iterator[Binding]:
    left, right = _listed(node.child_by_field_name("left")), _listed(node.child_by_field_name("right"))
    operator = text_of(node.child_by_field_name("operator")) or ":="
    yield from _paired(left, right, None, operator)


def _paired(
    left: tuple[Node, ...], right: tuple[Node, ...], type_: Node | None, operator: str, field: bool = False
) -> Iterator[Binding]:
    if len(left) == len(right) > 1:
        for target, value in zip(left, right, strict=True):
            yield Binding((target,), value, type_, operator, is_field=field)
    else:
        yield Binding(left, right[0] if right else None, type_, operator, is_field=field)


def _var(node: Node, around: Node) -> Iterator[Binding]:
    right = _listed(node.child_by_field_name("value"))
    names = tuple(node.children_by_field_name("name"))
    yield from _paired(names, right, node.child_by_field_name("type"), "=")


def _field(node: Node, around: Node) -> Iterator[Binding]:
    for name in node.children_by_field_name("name"):
        yield Binding((name,), None, node.child_by_field_name("type"), is_field=True)


def _range(node: Node, around: Node) -> Iterator[Binding]:
    if targets := _listed(node.child_by_field_name("left")):  # `for range n` has none.
        yield Binding(targets, None, None, ":=")


def _for(node: Node) -> LoopParts | None:
    body = node.child_by_field_name("body")
    if body is None:
        return None
    clause = next((each for each in node.named_children if each != body and not each.is_extra), None)
    if clause is None:
        return LoopParts("endless", body)
    if clause.type == "range_clause":
        over = clause.child_by_field_name("right")
        return LoopParts("each", body, over, _listed(clause.child_by_field_name("left")))
    if clause.type == "for_clause":
        condition = clause.child_by_field_name("condition")
        return LoopParts("endless" if condition is None else "count", body, condition)
    return LoopParts("endless" if text_of(clause) == "true" else "while", body, clause)


def _checked(node: Node) -> TryParts | None:
    """Return `if err != nil { … }` as a handler of the statement before it."""
    condition, block = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
    if condition is None or block is None or condition.type != "binary_expression":
        return None
    if text_of(condition.child_by_field_name("operator")) != "!=":
        return None
    name, other = condition.child_by_field_name("left"), condition.child_by_field_name("right")
    if name is None or text_of(other) != "nil" or not text_of(name).lower().endswith("err"):
        return None
    # Asked last: to find what stands before a node takes long.
    before = node.child_by_field_name("initializer") or node.prev_named_sibling
    if before is None:
        return None
    listed = child_of(block, "statement_list") or block
    return TryParts(before, (CatchParts(node, listed, (), name),))


def _callee(node: Node) -> Node | None:
    return node.child_by_field_name("function") or node.child_by_field_name("type")


def _arguments(node: Node) -> Iterable[Node]:
    return parts_in(node.child_by_field_name("arguments") or node.child_by_field_name("body"))


def _keyword(node: Node) -> tuple[str, Node] | None:
    if node.type != "keyed_element":
        return None
    key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
    if key is None or value is None:
        return None
    inner = value.named_children[0] if value.type == "literal_element" and value.named_child_count else value
    return text_of(key).strip('"'), inner


def _parameters(node: Node) -> Iterator[ParameterParts]:
    listed = node.child_by_field_name("parameters")
    for each in listed.named_children if listed is not None else ():
        for name in each.children_by_field_name("name"):
            yield ParameterParts(name, each.child_by_field_name("type"))


def _receiver(node: Node) -> tuple[str, str]:
    listed = node.child_by_field_name("receiver")
    each = child_of(listed, "parameter_declaration") if listed is not None else None
    if each is None:
        return "", ""
    type_ = each.child_by_field_name("type")
    return text_of(each.child_by_field_name("name")), "" if type_ is None else _type_name(type_)


def _type_name(node: Node) -> str:
    return text_of(node).lstrip("*&[]").partition("[")[0]


GO = Grammar(
    names=frozenset(
        {"identifier", "field_identifier", "type_identifier", "package_identifier", "blank_identifier"}
    ),
    self_names=frozenset(),
    members={"selector_expression": ("operand", "field"), "qualified_type": ("package", "name")},
    subscripts={"index_expression": "operand"},
    calls=frozenset({"call_expression", "composite_literal"}),
    constructors=frozenset({"composite_literal"}),
    functions=frozenset({"function_declaration", "method_declaration", "func_literal"}),
    types=frozenset({"type_spec"}),
    transparent=frozenset({"parenthesized_expression", "unary_expression", "type_assertion_expression"}),
    awaits=frozenset(),
    shapes={
        "interpreted_string_literal": "text",
        "raw_string_literal": "text",
        "int_literal": "number",
        "float_literal": "number",
        "true": "true",
        "false": "false",
        "nil": "none",
        "identifier": "name",
        "selector_expression": "name",
        "call_expression": "call",
        "func_literal": "function",
        "composite_literal": "object",
    },
    statements=frozenset({"expression_statement"}),
    returns=frozenset({"return_statement"}),
    steps={
        "return_statement": "return",
        "break_statement": "break",
        "continue_statement": "continue",
        "goto_statement": "break",
        "if_statement": "branch",
        "expression_switch_statement": "branch",
        "type_switch_statement": "branch",
        "select_statement": "branch",
        "receive_statement": "await",
        "send_statement": "await",
        "binary_expression": "binary",
    },
    texts=frozenset({"interpreted_string_literal", "raw_string_literal"}),
    interpolations=frozenset(),
    empty=frozenset({"comment", "continue_statement", "empty_statement"}),
    managed=frozenset(),
    deferred=frozenset({"defer_statement"}),
    launched=frozenset({"go_statement"}),
    bindings={
        "short_var_declaration": _assignment,
        "assignment_statement": _assignment,
        "var_spec": _var,
        "const_spec": _var,
        "field_declaration": _field,
        "inc_statement": update,
        "dec_statement": update,
        "range_clause": _range,
    },
    imports={"import_spec": _import},
    loops={"for_statement": _for},
    callee=_callee,
    arguments=_arguments,
    keyword=_keyword,
    pairs=pairs_of("composite_literal"),
    spread=spread_as("variadic_argument"),
    parameters=_parameters,
    receiver=_receiver,
    type_name=_type_name,
    forks={
        "if_statement": branches,
        "expression_switch_statement": cases,
        "type_switch_statement": cases,
        "select_statement": cases,
    },
    tries={"if_statement": _checked},
    forwards_error=frozenset({"panic", "Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Exit"}),
    predefined={_package(path): path for path in _KNOWN},
)
