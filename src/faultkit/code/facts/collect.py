"""One walk over a tree that collects everything facts are made of, still as nodes. Resolves no names.

Everything is collected in one pass, because a walk over a large file is what a review spends most time on.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import NamedTuple, TypeAlias, cast

from faultkit.code.facts.collected import (
    CollectedNodes,
    RawAssignment,
    RawBinding,
    RawCall,
    RawScope,
    place_of,
    span,
)
from faultkit.code.facts.expressions import step_details
from faultkit.code.facts.fact_values import Loop, Step, StepDetails, StepKind
from faultkit.code.facts.grammar import Binding, Grammar, member_name, names_in, part_of
from faultkit.code.facts.reads import NOT_READ, READ_BY_VALUE, is_read
from faultkit.code.functions import DIALECTS, FunctionNames
from faultkit.code.languages import Language
from faultkit.code.languages.dialect import text_of
from faultkit.code.languages.syntax import Node, Span, Syntax, named_kinds

_CARRIERS = frozenset(
    [
        "expression_list",
        "tuple",
        "list",
        "array",
        "dictionary",
        "object",
        "pair",
        "conditional_expression",
        "ternary_expression",
        "boolean_operator",
        "as_pattern",
        "literal_value",
        "keyed_element",
        "literal_element",
        "spread_element",
        "parenthesized_expression",
        "list_comprehension",
        "generator_expression",
        "set_comprehension",
        "when_entry",
        "when_expression",
        "if_expression",
        "match_expression",
        "match_block",
        "match_arm",
    ]
)
"""Node types whose parts are returned or assigned with them."""
_ARGUMENTS = frozenset({"argument_list", "arguments", "keyword_argument", "list_splat", "value_arguments"})
_AROUND_ARGUMENT = frozenset({"argument", "value_argument"})
_AROUND_FUNCTION = _ARGUMENTS | _AROUND_ARGUMENT | {"annotated_lambda"}
"""Types right around a function that is given to a call."""
_ANNOTATIONS = frozenset({"annotation", "attribute"})
_DECLARES = frozenset(
    {
        "function_definition", "function_declaration", "generator_function_declaration", "function_item",
        "local_function_statement",
    }
)  # fmt: skip
"""Types that bind the name of a function where they stand."""
_LAMBDAS = frozenset({"arrow_function", "lambda_expression", "lambda"})


def collect(syntax: Syntax, grammar: Grammar) -> CollectedNodes:
    """Walk the tree once."""
    return _Walk(syntax, grammar).run()


class _Walk:
    """One walk over a tree, with the scopes and types that are open at the current node.

    It asks the tree for as little as possible: each question to a node costs more than the work on it.
    """

    def __init__(self, syntax: Syntax, grammar: Grammar) -> None:
        self.grammar = grammar
        self.found = CollectedNodes(syntax, grammar)
        self.text_of = syntax.text_of
        self.function_names = FunctionNames(DIALECTS[syntax.language.name])
        self.names: dict[int, str] = {}
        """The names of functions, by the start of their bodies."""
        self.bodies: dict[int, Span] = {}
        """The bodies of functions that have names, by the id of their node."""
        self.body_of = DIALECTS[syntax.language.name].body
        self.path: list[_Level] = []
        """The nodes around the current one, the outermost first."""
        self.scope: RawScope | None = None
        """The function around the current node."""
        self.owner = ""
        """The type around the current node, or the one that its function belongs to."""
        self.open_types: list[tuple[int, str]] = []
        self.opened: list[tuple[int, RawScope | None, str, int]] = []
        """For each open scope and type its depth, and `scope`, `owner` and `len(open_types)` before it."""

    def run(self) -> CollectedNodes:
        root, words, source = self.found.syntax.root, self.grammar.step_words, self.found.syntax.source
        kinds = _kinds_of(self.found.syntax.language, self.grammar)
        has_holes = bool(self.grammar.interpolations)
        path, opened, accesses = self.path, self.opened, self.found.accesses
        path.append((root, root.type, True, iter(root.named_children)))
        while path:
            parent, around, are_read, nodes = path[-1]
            for node in nodes:
                type_, role, visits, reads_below = kinds.get(node.kind_id, _OTHER)
                if role == _NAME:
                    if words and self._step_word(node):
                        continue
                    if are_read or (are_read is None and is_read(node, True, parent, around, self.grammar)):
                        accesses.append((node, self.scope, self.owner))
                    continue
                for visit in visits:
                    visit(self, node, type_)
                if role == _TEXT:
                    # In most texts there are no holes, and nothing to look at.
                    start, end = node.byte_range
                    if not has_holes or (
                        source.find(b"{", start, end) < 0 and source.find(b"$", start, end) < 0
                    ):
                        continue
                if node.named_child_count:
                    path.append((node, type_, reads_below, iter(node.named_children)))
                    break
                if visits:
                    self._close(len(path))
            else:
                path.pop()
                if opened and opened[-1][0] == len(path):
                    self._close(len(path))
        for scope in self.found.scopes:
            scope.name = self.names.get(scope.body.start, "")
        return self.found

    def _open(self) -> None:
        """Note what is open around a scope or type that begins."""
        self.opened.append((len(self.path), self.scope, self.owner, len(self.open_types)))

    def _type_around(self, levels: int) -> str:
        """Return the type of the node so many levels above the current one; empty if there is none."""
        return self.path[-levels][1] if len(self.path) >= levels else ""

    def _close(self, depth: int) -> None:
        """Close what the node at this depth has opened."""
        while self.opened and self.opened[-1][0] == depth:
            _, self.scope, self.owner, types = self.opened.pop()
            del self.open_types[types:]

    def _named(self, node: Node, kind: str) -> None:
        if (named := self.function_names.enter(node, kind)) is not None:
            parts, body = named
            self.names[body.start] = ".".join(parts)
            self.bodies[node.id] = body

    def _call(self, node: Node, kind: str) -> None:
        if not self.grammar.is_call(node):
            return
        self.found.calls[node.id] = RawCall(node, self.scope, self.owner, self._flags(node, kind))

    def _bindings(self, node: Node, kind: str) -> None:
        imported = self._import(node, kind) if kind in self.grammar.imports else frozenset[str]()
        is_field = bool(self.grammar.fields_in) and self._type_around(3) == self.grammar.fields_in
        for binding in self.grammar.bindings[kind](node):
            binding.is_field = is_field or binding.is_field
            self._binding(node, binding, imported)

    def _try(self, node: Node, kind: str) -> None:
        if (parts := self.grammar.tries[kind](node)) is not None:
            self.found.tries.append((node, parts))
            if kind not in self.grammar.forks:
                self.found.forks.append((node, parts))

    def _fork(self, node: Node, kind: str) -> None:
        self.found.forks.append((node, None))

    def _managed(self, node: Node, kind: str) -> None:
        if (body := self.grammar.managed_body(node)) is not None:
            self.found.managed.append((node, span(body)))

    def _step_word(self, node: Node) -> bool:
        """Note a step whose node is that of a name; return whether it is one."""
        kind = self.grammar.step_words.get(self.text_of(node))
        if kind is not None:
            self.found.steps.append(Step(kind, span(node), partial(StepDetails, self._line(node))))
        return kind is not None

    def _member(self, node: Node, kind: str) -> None:
        parent, around, _, _ = self.path[-1]
        if is_read(node, False, parent, around, self.grammar):
            self.found.accesses.append((node, self.scope, self.owner))

    def _line(self, node: Node) -> int:
        return self.found.syntax.line(node.start_byte)

    def _type(self, node: Node, kind: str) -> None:
        named = node.child_by_field_name("name") or node.child_by_field_name("type")
        name = text_of(named).partition("<")[0]
        outer = self.open_types[-1][1] if self.open_types else ""
        whole = f"{outer}.{name}" if outer and name else name
        self._open()
        self.owner = whole
        self.open_types.append((node.end_byte, whole))
        self.found.classes[whole] = tuple(self.grammar.bases(node))

    def _function(self, node: Node, kind: str) -> None:
        inner = self.bodies.get(node.id) or self.body_of(node)
        if inner is None:
            body_node = node.child_by_field_name("body")
            if body_node is None:
                return
            inner = span(body_node)
        receiver, type_ = self.grammar.receiver(node)
        decorators = tuple(self.grammar.decorators(node))
        start = min(each.start_byte for each in (node, *decorators)) if decorators else node.start_byte
        scope = RawScope(
            node=node,
            span=Span(start, node.end_byte),
            body=inner,
            owner=type_ or self.owner,
            outer=self.scope,
            is_async=self.grammar.is_async(node),
            parameters=tuple(self.grammar.parameters(node)),
            decorators=decorators,
            receiver=receiver,
            given_to=self._given_to(),
        )
        for place, each in enumerate(scope.parameters):
            names = [each.name] if each.name.type in self.grammar.names else names_in(each.name, self.grammar)
            for name in names:
                value = self._promise_value(scope, place)
                bound = RawBinding(inner.start, value, each.type, scope.outer)
                _bind(scope.bound.setdefault(self.text_of(name), []), bound)
        if kind in _DECLARES and not self._is_method(node):
            own = text_of(node.child_by_field_name("name"))
            self.found.defined.setdefault(own, []).append(self.scope)
        if (callee := self._iterating_callee(scope)) is not None:
            over = text_of(part_of(callee, self.grammar.members[callee.type][0]))
            whole = span(cast(RawCall, scope.given_to).node)
            items = tuple(self.text_of(each.name) for each in scope.parameters)
            if not items and self.grammar.implicit_item:
                items = (self.grammar.implicit_item,)
            self.found.loops.append(
                Loop("comprehension", whole, span(node), self._line(node), over, items, is_async=False)
            )
        self.found.scopes.append(scope)
        self._open()
        self.scope = scope
        if not self.open_types:
            self.owner = scope.owner

    def _is_method(self, node: Node) -> bool:
        """Return whether a function stands in the body of a type, not in a function there."""
        inner = self.scope
        return bool(self.open_types) and (inner is None or inner.node.end_byte > self.open_types[-1][0])

    def _given_to(self) -> RawCall | None:
        if self.path[-1][1] not in _AROUND_FUNCTION:
            return None
        around = [(each, type_) for each, type_, _, _ in self.path[-3:] if type_ not in _AROUND_ARGUMENT]
        if len(around) < 2 or (around[-1][1] not in _ARGUMENTS and around[-1][1] != "annotated_lambda"):
            return None
        return self.found.calls.get(around[-2][0].id)

    def _iterating_callee(self, scope: RawScope) -> Node | None:
        """Return the callee `xs.map`, if it calls this function for every item."""
        if scope.given_to is None:
            return None
        node, own = scope.given_to.node, self.grammar.own_name(scope.given_to.node)
        if own:
            return node if own in self.grammar.iterators and node.type in self.grammar.members else None
        callee = self.grammar.callee(node)
        if callee is None or callee.type not in self.grammar.members:
            return None
        name = member_name(callee, self.grammar.members[callee.type][1])
        return callee if name in self.grammar.iterators else None

    def _promise_value(self, scope: RawScope, place: int) -> Node | None:
        """Bind `x` of `f().then(x => …)` to the result of `f()`."""
        if scope.given_to is None or place:
            return None
        callee = self.grammar.callee(scope.given_to.node)
        if callee is None or callee.type not in self.grammar.members:
            return None
        owner, name = self.grammar.members[callee.type]
        if member_name(callee, name) != "then":
            return None
        return part_of(callee, owner)

    def _flags(self, node: Node, own_kind: str) -> dict[str, bool]:
        grammar, flags, inner = self.grammar, {}, node
        if own_kind in _ANNOTATIONS:
            return {"is_decorator": True}
        carried = False
        for parent, kind, _, _ in reversed(self.path):
            if kind in grammar.awaits:
                flags["is_awaited"] = True
            if kind in grammar.transparent or (grammar.passes and self._passes_on(parent)):
                inner = parent
                continue
            if kind in grammar.statements and not carried:
                flags["is_discarded"] = True
            elif kind in grammar.returns or (
                kind in _LAMBDAS and parent.child_by_field_name("body") == inner
            ):
                flags["is_returned"] = True
            elif kind in grammar.tails and not carried:
                is_last = parent.named_children[-1] == inner
                flags["is_returned" if is_last else "is_discarded"] = True
            elif (kind in grammar.managed and grammar.manages(parent)) or (
                kind == "as_pattern" and not carried
            ):
                flags["is_managed"] = True
            elif kind in grammar.deferred:
                flags["is_deferred"] = True
            elif kind in grammar.launched:
                flags["is_launched"] = True
            elif kind in _ARGUMENTS:
                flags["is_argument"] = True
            elif kind == "decorator":
                flags["is_decorator"] = True
            elif kind in _CARRIERS:
                inner, carried = parent, True
                continue
            return flags
        return flags

    def _passes_on(self, node: Node) -> bool:
        """Return whether a node is `x.ConfigureAwait` or the call of it."""
        callee = self.grammar.callee(node) if node.type in self.grammar.calls else node
        if callee is None or callee.type not in self.grammar.members:
            return False
        return member_name(callee, self.grammar.members[callee.type][1]) in self.grammar.passes

    def _import(self, node: Node, kind: str) -> frozenset[str]:
        """Note what a statement imports, and return the names that it binds."""
        names = set()
        for name, whole in self.grammar.imports[kind](node):
            self.found.modules.add(whole)
            if name and name != "*":
                self.found.imports[name] = whole
                names.add(name)
        return frozenset(names)

    def _binding(self, node: Node, binding: Binding, imported: frozenset[str]) -> None:
        raw = RawAssignment(binding, node, self.scope, self.owner)
        self.found.assignments.append(raw)
        grammar = self.grammar
        # In Go the first target gets the value and the last the error; elsewhere several targets unpack it.
        has_known_value = len(binding.targets) == 1 or self.found.syntax.language.name == "go"
        for place, target in enumerate(binding.targets):
            bound = RawBinding(
                node.end_byte,
                binding.value,
                binding.type,
                self.scope,
                is_first=place == 0 and has_known_value,
            )
            kind, name = target.type, self.text_of(target)
            if name in imported:
                continue
            if kind in grammar.names:
                if binding.is_field:
                    _bind(self.found.fields.setdefault((self.owner, name), []), bound)
                else:
                    _bind(self._names().setdefault(name, []), bound)
            elif (member := self._self_member(target)) is not None:
                _bind(self.found.fields.setdefault((self.owner, member), []), bound)
            elif kind not in grammar.members and kind not in grammar.subscripts:
                for leaf in names_in(target, grammar):
                    if self.text_of(leaf) in imported:
                        continue
                    unknown = RawBinding(node.end_byte, None, None, self.scope)
                    _bind(self._names().setdefault(self.text_of(leaf), []), unknown)

    def _names(self) -> dict[str, list[RawBinding]]:
        return self.found.top if self.scope is None else self.scope.bound

    def _self_member(self, target: Node) -> str | None:
        """Return `x` of `self.x`, `this.x` or, in Go, `s.x` of the receiver `s`."""
        if target.type not in self.grammar.members:
            return None
        owner, name = self.grammar.members[target.type]
        base = text_of(part_of(target, owner))
        if base in self.grammar.self_names or (base and base in self._receivers()):
            return member_name(target, name)
        return None

    def _receivers(self) -> Iterator[str]:
        """Yield the names of the object itself in the open functions (Go)."""
        scope = self.scope
        while scope is not None:
            yield scope.receiver
            scope = scope.outer

    def _loop(self, node: Node, kind: str) -> None:
        parts = self.grammar.loops[kind](node)
        if parts is None:
            return
        loop = Loop(
            kind=parts.kind,
            span=span(node),
            body=span(parts.body),
            line=self._line(node),
            over=text_of(parts.over),
            targets=tuple(map(self.text_of, parts.targets)),
            is_async=parts.is_async,
        )
        self.found.loops.append(loop)
        for target in parts.targets:
            for leaf in names_in(target, self.grammar):
                unknown = RawBinding(target.end_byte, None, None, self.scope)
                _bind(self._names().setdefault(self.text_of(leaf), []), unknown)

    def _step(self, node: Node, kind: str) -> None:
        step = cast(StepKind, self.grammar.steps[kind])
        self.found.steps.append(Step(step, span(node), partial(step_details, self.grammar, step, node)))

    def _text(self, node: Node, kind: str) -> None:
        self.found.texts.append((node,))


_Visit: TypeAlias = Callable[[_Walk, Node, str], object]
"""What is done at a node, with its type."""


_NAME, _TEXT = 1, 2


class _Kind(NamedTuple):
    """What is done at nodes of one type. At most there is nothing to do."""

    type: str
    role: int = 0
    """`_NAME`: an identifier, which has nothing below it. `_TEXT`: a literal. Else 0."""
    visits: tuple[_Visit, ...] = ()
    reads_below: bool | None = True
    """Whether names right below a node are read; None: `is_read` decides."""


_OTHER = _Kind("")
_Level: TypeAlias = tuple[Node, str, bool | None, Iterator[Node]]
"""A node around the current one, its type, whether names right below it are read (as in `_Kind`), and the
nodes below it that come next. To ask a node for its type makes a new text each time."""


@cache
def _kinds_of(language: Language, grammar: Grammar) -> dict[int, _Kind]:
    """Return what is done at the nodes of a language, by `Node.kind_id`."""
    listed: tuple[tuple[Iterable[str], _Visit], ...] = (
        (DIALECTS[language.name].holders, _Walk._named),
        (grammar.types, _Walk._type),
        (grammar.functions, _Walk._function),
        (grammar.calls, _Walk._call),
        ({*grammar.imports} - {*grammar.bindings}, _Walk._import),
        (grammar.bindings, _Walk._bindings),
        (grammar.loops, _Walk._loop),
        (grammar.tries, _Walk._try),
        (grammar.forks, _Walk._fork),
        (grammar.steps, _Walk._step),
        (grammar.managed, _Walk._managed),
        (grammar.texts, _Walk._text),
        (grammar.members, _Walk._member),
    )
    by_type: dict[str, list[_Visit]] = {}
    for types, visit in listed:
        for each in types:
            by_type.setdefault(each, []).append(visit)
    mixed = {*grammar.calls, *grammar.bindings, *READ_BY_VALUE}
    never = {*grammar.members, *(NOT_READ - READ_BY_VALUE)}
    return {
        number: _Kind(
            kind,
            _NAME if kind in grammar.names else _TEXT if kind in grammar.texts else 0,
            tuple(by_type.get(kind, ())),
            False if kind in never else None if kind in mixed else True,
        )
        for number, kind in named_kinds(language).items()
    }


def _bind(bound: list[RawBinding], new: RawBinding) -> None:
    """Add a binding in the order of `at`, so that those before a place are found by bisection."""
    if bound and bound[-1].at > new.at:
        insort(bound, new, key=place_of)
    else:
        bound.append(new)
