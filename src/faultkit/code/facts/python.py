"""How Python writes what facts are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from faultkit.code.facts.fact_values import LoopKind
from faultkit.code.facts.grammar import (
    Binding,
    CatchParts,
    Grammar,
    LoopParts,
    ParameterParts,
    arguments_or,
    body_of_statement,
    branches,
    cases,
    tries_with,
    while_loop,
)
from faultkit.code.languages.dialect import child_of, text_of
from faultkit.code.languages.syntax import Node

_ENDLESS = ("True", "1", "(True)")
_COUNTS = ("range(", "count(", "itertools.count(")


def _import(node: Node) -> Iterator[tuple[str, str]]:
    for name in node.children_by_field_name("name"):
        if name.type == "aliased_import":
            yield text_of(name.child_by_field_name("alias")), text_of(name.child_by_field_name("name"))
        else:
            # `import a.b` binds `a`; the imported module is `a.b`.
            whole = text_of(name)
            yield whole.partition(".")[0], whole.partition(".")[0]
            yield "", whole


def _import_from(node: Node) -> Iterator[tuple[str, str]]:
    module = text_of(node.child_by_field_name("module_name"))
    yield "", module
    for name in node.children_by_field_name("name"):
        inner = name.child_by_field_name("name") if name.type == "aliased_import" else name
        alias = name.child_by_field_name("alias") or inner
        joint = "" if module.endswith(".") else "."
        yield text_of(alias), f"{module}{joint}{text_of(inner)}"
    if child_of(node, "wildcard_import"):
        yield "*", module


def _targets(node: Node | None) -> tuple[Node, ...]:
    if node is None:
        return ()
    if node.type in ("pattern_list", "tuple_pattern", "list_pattern", "expression_list"):
        return tuple(node.named_children)
    return (node,)


def _assignment(node: Node, around: Node) -> Iterator[Binding]:
    yield Binding(
        _targets(node.child_by_field_name("left")),
        node.child_by_field_name("right"),
        node.child_by_field_name("type"),
    )


def _augmented_assignment(node: Node, around: Node) -> Iterator[Binding]:
    yield Binding(
        _targets(node.child_by_field_name("left")),
        node.child_by_field_name("right"),
        None,
        text_of(node.child_by_field_name("operator")) or "=",
    )


def _named_expression(node: Node, around: Node) -> Iterator[Binding]:
    yield Binding(_targets(node.child_by_field_name("name")), node.child_by_field_name("value"))


def _with_item(node: Node, around: Node) -> Iterator[Binding]:
    pattern = node.child_by_field_name("value")
    if pattern is not None and pattern.type == "as_pattern":
        target = pattern.child_by_field_name("alias")
        if target is not None and target.named_child_count:
            yield Binding(_targets(target.named_children[0]), pattern.named_children[0])


def _for(node: Node) -> LoopParts | None:
    over, body = node.child_by_field_name("right"), node.child_by_field_name("body")
    if body is None:
        return None
    counts = text_of(over).startswith(_COUNTS)
    endless = counts and "count(" in text_of(over)[:16]
    kind: LoopKind = "endless" if endless else "count" if counts else "each"
    is_async = any(child.type == "async" for child in node.children)
    return LoopParts(kind, body, over, _targets(node.child_by_field_name("left")), is_async)


def _comprehension(node: Node) -> LoopParts | None:
    clause, body = child_of(node, "for_in_clause"), node.child_by_field_name("body")
    if clause is None or body is None:
        return None
    is_async = any(child.type == "async" for child in clause.children)
    left = _targets(clause.child_by_field_name("left"))
    return LoopParts("comprehension", body, clause.child_by_field_name("right"), left, is_async)


def _handler(node: Node) -> CatchParts | None:
    block = child_of(node, "block") if node.type in ("except_clause", "except_group_clause") else None
    return None if block is None else CatchParts(node, block, *_caught(node))


def _caught(clause: Node) -> tuple[tuple[Node, ...], Node | None]:
    value = clause.child_by_field_name("value")
    name = None
    if value is None:
        heads = [each for each in clause.named_children if each.type not in ("block", "comment")]
        value = heads[0] if heads else None
    if value is not None and value.type == "as_pattern":
        name = value.child_by_field_name("alias")
        value = value.named_children[0]
    alias = clause.child_by_field_name("alias")
    if value is None:
        return (), name or alias
    return tuple(value.named_children) if value.type == "tuple" else (value,), name or alias


def _keyword(node: Node) -> tuple[str, Node] | None:
    if node.type == "keyword_argument":
        value = node.child_by_field_name("value")
        return None if value is None else (text_of(node.child_by_field_name("name")), value)
    if node.type == "pair":
        key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
        if key is not None and value is not None and key.type == "string":
            return text_of(key).strip("rbuRBU").strip("\"'"), value
    return None


def _spread(node: Node) -> str:
    return {"list_splat": "*", "dictionary_splat": "**"}.get(node.type, "")


def _pairs(node: Node) -> Iterable[Node]:
    return node.named_children if node.type == "dictionary" else ()


def _parameters(node: Node) -> Iterator[ParameterParts]:
    listed = node.child_by_field_name("parameters")
    for each in listed.named_children if listed is not None else ():
        name = each.child_by_field_name("name")
        if each.type == "identifier":
            yield ParameterParts(each)
        elif name is not None:
            yield ParameterParts(name, each.child_by_field_name("type"), each.child_by_field_name("value"))
        elif each.named_child_count and each.type != "comment":
            inner = each.named_children[0]
            bare = inner.named_children[0] if inner.named_child_count else inner
            typed = each.child_by_field_name("type") if inner.type == "identifier" else None
            yield ParameterParts(bare, typed)


def _decorators(node: Node) -> Iterator[Node]:
    parent = node.parent
    for child in parent.children if parent is not None and parent.type == "decorated_definition" else ():
        if child.type == "decorator" and child.named_child_count:
            yield child.named_children[0]


def _type_name(node: Node) -> str:
    text = text_of(node).strip("\"' ")
    for wrapper in (
        "Optional[",
        "typing.Optional[",
        "Annotated[",
        "typing.Annotated[",
        "Final[",
        "ClassVar[",
    ):
        if text.startswith(wrapper):
            text = text.removeprefix(wrapper).removesuffix("]").partition(",")[0]
    parts = [each.strip() for each in text.split("|")]
    real = [each for each in parts if each != "None"]
    return real[0].partition("[")[0] if len(real) == 1 else ""


def _bases(node: Node) -> Iterator[str]:
    listed = node.child_by_field_name("superclasses")
    for each in listed.named_children if listed is not None else ():
        if each.type in ("identifier", "attribute"):
            yield text_of(each)


def _constructs(name: str) -> bool:
    last = name.rpartition(".")[2].lstrip("_~")
    return last[:1].isupper() and not (last.isupper() and len(last) > 4)


def _is_async(node: Node) -> bool:
    return bool(node.children) and node.children[0].type == "async"


PYTHON = Grammar(
    fields_in="class_definition",
    names=frozenset({"identifier"}),
    self_names=frozenset({"self", "cls"}),
    members={"attribute": ("object", "attribute")},
    subscripts={"subscript": "value"},
    calls=frozenset({"call"}),
    constructors=frozenset(),
    functions=frozenset({"function_definition", "lambda"}),
    types=frozenset({"class_definition"}),
    transparent=frozenset({"parenthesized_expression", "await"}),
    awaits=frozenset({"await"}),
    shapes={
        "string": "text",
        "concatenated_string": "text",
        "integer": "number",
        "float": "number",
        "true": "true",
        "false": "false",
        "none": "none",
        "identifier": "name",
        "attribute": "name",
        "call": "call",
        "lambda": "function",
        "dictionary": "object",
        "dictionary_comprehension": "object",
        "list": "list",
        "tuple": "list",
        "set": "list",
        "list_comprehension": "list",
        "generator_expression": "list",
    },
    statements=frozenset({"expression_statement"}),
    returns=frozenset({"return_statement", "yield"}),
    steps={
        "return_statement": "return",
        "break_statement": "break",
        "continue_statement": "continue",
        "raise_statement": "raise",
        "yield": "yield",
        "if_statement": "branch",
        "elif_clause": "branch",
        "conditional_expression": "branch",
        "match_statement": "branch",
        "assert_statement": "assert",
        "delete_statement": "delete",
        "global_statement": "global",
        "await": "await",
        "boolean_operator": "binary",
        "binary_operator": "binary",
        "comparison_operator": "binary",
    },
    texts=frozenset({"string"}),
    interpolations=frozenset({"interpolation"}),
    empty=frozenset({"pass_statement", "continue_statement", "comment", "ellipsis"}),
    managed=frozenset({"with_item"}),
    closed=frozenset({"import_statement", "import_from_statement", "future_import_statement"}),
    bindings={
        "assignment": _assignment,
        "augmented_assignment": _augmented_assignment,
        "named_expression": _named_expression,
        "with_item": _with_item,
    },
    imports={
        "import_statement": _import,
        "import_from_statement": _import_from,
        "future_import_statement": lambda node: (),
    },
    loops={
        "for_statement": _for,
        "while_statement": while_loop(*_ENDLESS),
        "list_comprehension": _comprehension,
        "set_comprehension": _comprehension,
        "generator_expression": _comprehension,
        "dictionary_comprehension": _comprehension,
    },
    forks={
        "if_statement": branches,
        "conditional_expression": lambda node: node.named_children[::2],
        "match_statement": cases,
    },
    tries={"try_statement": tries_with(_handler)},
    arguments=arguments_or("generator_expression"),
    keyword=_keyword,
    spread=_spread,
    pairs=_pairs,
    parameters=_parameters,
    decorators=_decorators,
    managed_body=body_of_statement,
    type_name=_type_name,
    bases=_bases,
    constructs=_constructs,
    broad=frozenset({"Exception", "BaseException", "builtins.Exception", "builtins.BaseException"}),
    iterators=frozenset(),
    is_async=_is_async,
)
