"""How Rust writes what facts are made of. `if let Err(e) = …` and the arm `Err(e) => …` are handlers.

Paths are dotted as in other languages: `reqwest::Client::new` is `reqwest.Client.new`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from faultkit.code.facts.grammar import (
    Binding,
    CatchParts,
    Grammar,
    LoopParts,
    ParameterParts,
    TryParts,
    argument_children,
    assignment,
    branches,
    keyed_by,
    known_names,
    pairs_of,
    spread_as,
    while_loop,
)
from faultkit.code.languages.dialect import child_of, parts_in, text_of
from faultkit.code.languages.syntax import Node

_KNOWN = {
    "std.collections": "HashMap HashSet BTreeMap VecDeque",
    "std.sync": "Arc Mutex RwLock",
    "std.time": "Duration Instant SystemTime",
    "std": "fs thread env process",
    "std.fs": "File OpenOptions",
    "std.process": "Command",
    "std.net": "TcpStream TcpListener",
}
"""Names of the standard library, for snippets without their imports."""
_HOLDERS = re.compile(
    r"^(?:&|'\w+|mut\b|dyn\b|\s)*(?:[\w:]*\b(?:Arc|Rc|Box|Option|Lazy|LazyLock|OnceCell|OnceLock|Data|State|Extension"
    r"|Cow|Pin)<)+"
)
_CONSTRUCTOR = re.compile(r"(^|\.|::)[A-Z]\w*(\.|::)(new|default)$")
_PATTERN_NAMES = frozenset({"identifier", "shorthand_field_identifier"})


def _dotted(node: Node | None) -> str:
    return "".join(text_of(node).split()).replace("::", ".").strip(".")


def _import(node: Node) -> Iterator[tuple[str, str]]:
    yield from _used(node.child_by_field_name("argument"), "")


def _used(node: Node | None, before: str) -> Iterator[tuple[str, str]]:
    """Yield the names of a tree of `use`: `a::{b, c::{self, D as E}}`."""
    if node is None:
        return
    if node.type in ("use_list", "scoped_use_list"):
        path = _dotted(node.child_by_field_name("path"))
        inside = f"{before}{path}." if path else before
        listed = node.child_by_field_name("list") or node
        for each in listed.named_children:
            if each.type == "self":
                yield path.rpartition(".")[2], f"{before}{path}"
            else:
                yield from _used(each, inside)
    elif node.type == "use_as_clause":
        yield text_of(node.child_by_field_name("alias")), before + _dotted(node.child_by_field_name("path"))
    elif node.type == "use_wildcard":
        yield "*", before + _dotted(node).removesuffix(".*")
    elif not node.is_extra:
        path = _dotted(node)
        yield path.rpartition(".")[2], before + path


def _bound(pattern: Node | None) -> tuple[Node, ...]:
    """Return the names that a pattern binds: of `Ok((a, b))` a and b."""
    found, todo = list[Node](), [] if pattern is None else [pattern]
    while todo:
        each = todo.pop()
        if each.type in _PATTERN_NAMES:
            found.append(each)
        elif each.type not in ("scoped_identifier", "type_identifier") and "literal" not in each.type:
            owner = each.child_by_field_name("type")
            todo += [child for child in reversed(each.named_children) if child != owner]
    return tuple(found)


def _let(node: Node, around: Node) -> Iterator[Binding]:
    pattern, value = node.child_by_field_name("pattern"), node.child_by_field_name("value")
    if pattern is not None:
        targets = _bound(pattern) or (pattern,)
        # The value of `if let Err(e) = f()` is not what `f` returns.
        value = None if text_of(pattern).startswith("Err(") else value
        yield Binding(targets, value, node.child_by_field_name("type"))


def _constant(node: Node, around: Node) -> Iterator[Binding]:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is not None:
        yield Binding((name,), _made_late(value), node.child_by_field_name("type"), is_constant=True)


def _made_late(value: Node | None) -> Node | None:
    """Return what `LazyLock::new(|| Client::new())` makes; None if only its type says it."""
    if value is None or re.match(r"[\w:]*(Lazy|Once)", text_of(value)) is None:
        return value
    closure = next((each for each in argument_children(value) if each.type == "closure_expression"), None)
    body = None if closure is None else closure.child_by_field_name("body")
    if body is None or body.type != "block":
        return body
    return body.named_children[-1] if body.named_child_count else None


def _field(node: Node, around: Node) -> Iterator[Binding]:
    name = node.child_by_field_name("name")
    if name is not None:
        yield Binding((name,), None, node.child_by_field_name("type"), is_field=True)


def _initialised(node: Node, around: Node) -> Iterator[Binding]:
    """Yield `client: Client::new()` of a literal of the type whose `impl` it stands in."""
    literal = around.parent
    name, value = node.child_by_field_name("field"), node.child_by_field_name("value")
    if literal is None or name is None or value is None:
        return
    made = text_of(literal.child_by_field_name("name"))
    around = literal
    while around.parent is not None and around.type != "impl_item":
        around = around.parent
    if made == "Self" or made == text_of(around.child_by_field_name("type")).partition("<")[0]:
        yield Binding((name,), value, None, is_field=True)


def _for(node: Node) -> LoopParts | None:
    body, over = node.child_by_field_name("body"), node.child_by_field_name("value")
    if body is None:
        return None
    counts = over is not None and ("range" in over.type or "(0.." in text_of(over))
    return LoopParts("count" if counts else "each", body, over, _bound(node.child_by_field_name("pattern")))


def _loop(node: Node) -> LoopParts | None:
    body = node.child_by_field_name("body")
    return None if body is None else LoopParts("endless", body)


def _checked(node: Node) -> TryParts | None:
    """Return `if let Err(e) = … { … }` as a handler of its value."""
    condition, block = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
    if condition is None or block is None or condition.type != "let_condition":
        return None
    pattern, value = condition.child_by_field_name("pattern"), condition.child_by_field_name("value")
    if value is None or not text_of(pattern).startswith("Err("):
        return None
    return TryParts(value, (CatchParts(node, block, (), next(iter(_bound(pattern)), None)),))


def _matched(node: Node) -> TryParts | None:
    """Return the arms `Err(…) => …` of a match as handlers of its value."""
    value, body = node.child_by_field_name("value"), node.child_by_field_name("body")
    if value is None or body is None:
        return None
    handlers = []
    for arm in body.named_children:
        pattern, done = arm.child_by_field_name("pattern"), arm.child_by_field_name("value")
        if pattern is None or done is None or not text_of(pattern).startswith("Err("):
            continue
        whole = done if done.type in ("block", "unit_expression", "continue_expression") else arm
        # `Err(Error::NotFound)` and `Err(e) if e.is_x()` take some errors only.
        inner = text_of(pattern)[4:].rstrip(")").strip()
        types = () if re.fullmatch(r"(ref\s+)?\w+|\.\.", inner) else (pattern,)
        handlers.append(CatchParts(arm, whole, types, next(iter(_bound(pattern)), None)))
    return TryParts(value, tuple(handlers)) if handlers else None


def _arms(node: Node) -> list[Node]:
    body = node.child_by_field_name("body")
    return [] if body is None else [each for each in body.named_children if each.type == "match_arm"]


def _callee(node: Node) -> Node | None:
    if node.type == "attribute":
        return node.named_children[0] if node.named_child_count else None
    return (
        node.child_by_field_name("function")
        or node.child_by_field_name("macro")
        or node.child_by_field_name("name")
    )


def _arguments(node: Node) -> Iterable[Node]:
    if node.type == "struct_expression":
        listed = node.child_by_field_name("body")
    elif node.type in ("macro_invocation", "attribute"):
        listed = child_of(node, "token_tree")
    else:
        return argument_children(node)
    return parts_in(listed)


def _parameters(node: Node) -> Iterator[ParameterParts]:
    listed = node.child_by_field_name("parameters")
    for each in listed.named_children if listed is not None else ():
        pattern, type_ = each.child_by_field_name("pattern"), each.child_by_field_name("type")
        if each.type == "identifier":
            yield ParameterParts(each)
        else:
            for name in _bound(pattern):
                yield ParameterParts(name, type_)


def _decorators(node: Node) -> Iterable[Node]:
    found, before = list[Node](), node.prev_named_sibling
    while before is not None and (before.type == "attribute_item" or before.is_extra):
        inner = child_of(before, "attribute")
        if inner is not None:
            found.append(inner)
        before = before.prev_named_sibling
    return found[::-1]


def _type_name(node: Node) -> str:
    text = _HOLDERS.sub("", text_of(node))
    text = re.sub(r"^(?:&|'\w+\s|mut\s|dyn\s|impl\s|\s)+", "", text)
    return re.split(r"[<>(\[;+,]", text)[0].strip().replace("::", ".")


def _is_async(node: Node) -> bool:
    if node.type == "async_block":
        return True
    return child_of(child_of(node, "function_modifiers") or node, "async") is not None


RUST = Grammar(
    names=frozenset({"identifier", "field_identifier", "type_identifier", "shorthand_field_identifier"}),
    self_names=frozenset({"self"}),
    members={
        "field_expression": ("value", "field"),
        "scoped_identifier": ("path", "name"),
        "scoped_type_identifier": ("path", "name"),
    },
    subscripts={"index_expression": "#0"},
    calls=frozenset({"call_expression", "macro_invocation", "struct_expression", "attribute"}),
    constructors=frozenset({"struct_expression"}),
    functions=frozenset({"function_item", "closure_expression", "async_block"}),
    types=frozenset({"struct_item", "impl_item", "trait_item", "enum_item"}),
    transparent=frozenset(
        {
            "parenthesized_expression", "await_expression", "try_expression", "reference_expression",
            "generic_function", "generic_type", "type_cast_expression", "unsafe_block",
        }
    ),
    awaits=frozenset({"await_expression"}),
    shapes={
        "string_literal": "text",
        "raw_string_literal": "text",
        "integer_literal": "number",
        "float_literal": "number",
        "identifier": "name",
        "field_expression": "name",
        "scoped_identifier": "name",
        "call_expression": "call",
        "macro_invocation": "call",
        "closure_expression": "function",
        "async_block": "function",
        "struct_expression": "object",
        "array_expression": "list",
        "tuple_expression": "list",
    },
    words={"true": "true", "false": "false", "None": "none"},
    statements=frozenset({"expression_statement"}),
    tails=frozenset({"block"}),
    returns=frozenset({"return_expression"}),
    steps={
        "return_expression": "return",
        "break_expression": "break",
        "continue_expression": "continue",
        "if_expression": "branch",
        "match_expression": "branch",
        "binary_expression": "binary",
    },
    texts=frozenset({"string_literal", "raw_string_literal"}),
    interpolations=frozenset(),
    empty=frozenset({"line_comment", "block_comment", "empty_statement", "unit_expression"}),
    managed=frozenset(),
    bindings={
        "let_declaration": _let,
        "let_condition": _let,
        "static_item": _constant,
        "const_item": _constant,
        "field_declaration": _field,
        "field_initializer": _initialised,
        "assignment_expression": assignment,
        "compound_assignment_expr": assignment,
    },
    imports={"use_declaration": _import},
    loops={"for_expression": _for, "while_expression": while_loop("true"), "loop_expression": _loop},
    forks={"if_expression": branches, "match_expression": _arms},
    tries={"if_expression": _checked, "match_expression": _matched},
    callee=_callee,
    arguments=_arguments,
    keyword=keyed_by("field_initializer", "field"),
    pairs=pairs_of("struct_expression"),
    spread=spread_as("base_field_initializer"),
    parameters=_parameters,
    decorator_sign=b"#",
    decorators=_decorators,
    type_name=_type_name,
    constructs=lambda name: _CONSTRUCTOR.search(name) is not None,
    constructed=lambda name: re.sub(r"\.(new|default)$", "", name),
    forwards_error=frozenset(
        {"Err", "panic", "bail", "unreachable", "exit", "abort", "resume_unwind", "todo", "unimplemented"}
    ),
    iterators=frozenset({"for_each"}),
    predefined=known_names(_KNOWN),
    is_async=_is_async,
)  # fmt: skip
