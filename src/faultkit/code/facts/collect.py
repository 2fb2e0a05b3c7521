"""One walk over a tree that collects everything facts are made of, still as nodes. Resolves no names.

Everything is collected in one pass, because a walk over a large file is what a review spends most time on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TypeAlias, cast

from faultkit.code.facts.call_flags import ARGUMENTS, awaited_callee, first_flags, flags_of_path, flags_with
from faultkit.code.facts.collected import (
    CollectedNodes,
    RawAssignment,
    RawBinding,
    RawCall,
    RawScope,
    bind,
    span,
)
from faultkit.code.facts.expressions import step_details
from faultkit.code.facts.fact_values import NO_FLAGS, CallFlags, Loop, Step, StepDetails, StepKind
from faultkit.code.facts.grammar import (
    NAME,
    TEXT,
    Binding,
    Grammar,
    may_have_holes,
    member_name,
    names_in,
    part_of,
    role_of,
)  # fmt: skip
from faultkit.code.facts.reads import NOT_READ, READ_BY_VALUE, is_read
from faultkit.code.functions import DIALECTS, FunctionNames
from faultkit.code.languages import Language
from faultkit.code.languages.dialect import text_of
from faultkit.code.languages.syntax import ERROR_KIND, Node, Span, Syntax, kind_count, named_kinds

_AROUND_ARGUMENT = frozenset({"argument", "value_argument"})
_AROUND_FUNCTION = ARGUMENTS | _AROUND_ARGUMENT | {"annotated_lambda"}
"""Types right around a function that is given to a call."""
_ANNOTATIONS = frozenset({"annotation", "attribute"})
_DECLARES = frozenset(
    {
        "function_definition", "function_declaration", "generator_function_declaration", "function_item",
        "local_function_statement",
    }
)  # fmt: skip
"""Types that bind the name of a function where they stand."""


def collect(syntax: Syntax, grammar: Grammar) -> CollectedNodes:
    """Walk the tree once."""
    if grammar.passes and not any(word.encode() in syntax.source for word in grammar.passes):
        grammar = _without_passes(grammar)
    return _Walk(syntax, grammar).run()


@cache
def _without_passes(grammar: Grammar) -> Grammar:
    """Return a grammar for texts that have none of the methods in `passes`, whose calls are no calls."""
    return replace(grammar, passes=frozenset(), is_call=None)


class _Walk:
    """One walk over a tree, with the scopes and types that are open at the current node.

    It asks the tree for as little as possible: each question to a node costs more than the work on it.
    """

    def __init__(self, syntax: Syntax, grammar: Grammar) -> None:
        self.grammar = grammar
        self.found = CollectedNodes(syntax, grammar)
        self.text_of = syntax.text_of
        self.kinds = _kinds_of(syntax.language, grammar)
        self.has_step_words = any(word.encode() in syntax.source for word in grammar.step_words)
        self.has_decorators = grammar.decorator_sign in syntax.source
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
        syntax = self.found.syntax
        kinds, words = self.kinds, self.has_step_words
        path, opened, accesses = self.path, self.opened, self.found.accesses
        # A cursor is faster than the lists of the nodes below each node.
        cursor = syntax.root.walk()
        go_in, go_on, go_out = cursor.goto_first_child, cursor.goto_next_sibling, cursor.goto_parent
        parent, around = syntax.root, kinds[syntax.root.kind_id]
        assert around is not None
        path.append((parent, around))
        are_read = around.reads_names
        if not go_in():
            return self._finished()
        while True:
            node: Node = cursor.node  # type: ignore[assignment]
            kind = kinds[node.kind_id]
            if kind is not None:
                if kind.role == NAME:
                    if words and self._step_word(node):
                        pass
                    elif are_read or (are_read is None and self._is_read(node, True, parent, around.type)):
                        accesses.append((node, self.scope, self.owner))
                else:
                    for visit in kind.visits:
                        visit(self, node, kind.type)
                    if (not kind.role or self._may_hold_more(node, kind.role)) and go_in():
                        parent, around, are_read = node, kind, kind.reads_names
                        path.append((node, kind))
                        continue
                    if opened and opened[-1][0] == len(path):
                        self._close(len(path))
            while not go_on():
                path.pop()
                if not path:
                    return self._finished()
                go_out()
                if opened and opened[-1][0] == len(path):
                    self._close(len(path))
                parent, around = path[-1]
                are_read = around.reads_names

    def _may_hold_more(self, node: Node, role: int) -> bool:
        """Return whether there may be something to collect below a node that has a role."""
        if role == TEXT:
            # In most texts there are no holes, and nothing to look at.
            return bool(self.grammar.interpolations) and may_have_holes(node, self.found.syntax.source)
        return node.has_error

    def _finished(self) -> CollectedNodes:
        """Return what was found, with the names of functions, which are known at the end of the walk."""
        for scope in self.found.scopes:
            scope.name = self.names.get(scope.body.start, "")
        return self.found

    def _open(self) -> None:
        """Note what is open around a scope or type that begins."""
        self.opened.append((len(self.path), self.scope, self.owner, len(self.open_types)))

    def _type_around(self, levels: int) -> str:
        """Return the type of the node so many levels above the current one; empty if there is none."""
        return self.path[-levels][1].type if len(self.path) >= levels else ""

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
        grammar = self.grammar
        if grammar.is_call is not None and not grammar.is_call(node, self.path[-1][0]):
            return
        callee, flags = grammar.callee(node), self._flags(node, kind)
        if callee is not None and (awaited := awaited_callee(callee, grammar)) is not None:
            callee, flags = awaited, (True, *flags[1:])
        self.found.calls[node.id] = RawCall(
            node,
            kind,
            self.scope,
            self.owner,
            flags,
            callee,
            grammar.own_name(node),
        )

    def _bindings(self, node: Node, kind: str) -> None:
        imported = self._import(node, kind) if kind in self.grammar.imports else frozenset[str]()
        is_field = bool(self.grammar.fields_in) and self._type_around(3) == self.grammar.fields_in
        for binding in self.grammar.bindings[kind](node, self.path[-1][0]):
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
        parent, around = self.path[-1]
        is_read = around.reads_paths
        if is_read or (is_read is None and self._is_read(node, False, parent, around.type)):
            self.found.accesses.append((node, self.scope, self.owner))

    def _is_read(self, node: Node, is_name: bool, parent: Node, around: str) -> bool:
        """Return what the type of a node around a name or path does not show: whether it is read."""
        if around in self.grammar.calls and (raw := self.found.calls.get(parent.id)) is not None:
            # The callee has been read before.
            if raw.callee == node and not raw.own_name:
                return False
            if around not in self.grammar.bindings and around not in NOT_READ:
                return True
        return is_read(node, is_name, parent, around, self.grammar)

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
        decorators = tuple(self.grammar.decorators(node)) if self.has_decorators else ()
        start = min(each.start_byte for each in (node, *decorators)) if decorators else node.start_byte
        scope = RawScope(
            node=node,
            span=Span(start, node.end_byte),
            body=inner,
            owner=type_ or self.owner,
            outer=self.scope,
            is_async=self._is_async(node, inner),
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
                bind(scope.bound.setdefault(self.text_of(name), []), bound)
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

    def _is_async(self, node: Node, body: Span) -> bool:
        grammar, source = self.grammar, self.found.syntax.source
        return source.find(grammar.async_word, node.start_byte, body.start) >= 0 and grammar.is_async(node)

    def _is_method(self, node: Node) -> bool:
        """Return whether a function stands in the body of a type, not in a function there."""
        inner = self.scope
        return bool(self.open_types) and (inner is None or inner.node.end_byte > self.open_types[-1][0])

    def _given_to(self) -> RawCall | None:
        if self.path[-1][1].type not in _AROUND_FUNCTION:
            return None
        around = [(each, kind.type) for each, kind in self.path[-3:] if kind.type not in _AROUND_ARGUMENT]
        if len(around) < 2 or (around[-1][1] not in ARGUMENTS and around[-1][1] != "annotated_lambda"):
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

    def _flags(self, node: Node, own_kind: str) -> CallFlags:
        """Return what surrounds a call."""
        if own_kind in _ANNOTATIONS:
            return flags_with("is_decorator")
        known = self.path[-1][1].flags
        if known is not None:
            return known
        return flags_of_path(node, ((each, kind.type) for each, kind in reversed(self.path)), self.grammar)

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
        is_single = len(binding.targets) == 1
        has_known_value = is_single or self.found.syntax.language.name == "go"
        for place, target in enumerate(binding.targets):
            bound = RawBinding(
                node.end_byte,
                binding.value,
                binding.type,
                self.scope,
                is_first=place == 0 and has_known_value,
            )
            kind, name = target.type, self.text_of(target)
            if is_single and kind in grammar.names:
                raw.name = name
            if name in imported:
                continue
            if kind in grammar.names:
                if binding.is_field:
                    bind(self.found.fields.setdefault((self.owner, name), []), bound)
                else:
                    bind(self._names().setdefault(name, []), bound)
            elif (member := self._self_member(target)) is not None:
                bind(self.found.fields.setdefault((self.owner, member), []), bound)
            elif kind not in grammar.members and kind not in grammar.subscripts:
                for leaf in names_in(target, grammar):
                    if self.text_of(leaf) in imported:
                        continue
                    unknown = RawBinding(node.end_byte, None, None, self.scope)
                    bind(self._names().setdefault(self.text_of(leaf), []), unknown)

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
                bind(self._names().setdefault(self.text_of(leaf), []), unknown)

    def _step(self, node: Node, kind: str) -> None:
        step = cast(StepKind, self.grammar.steps[kind])
        self.found.steps.append(Step(step, span(node), partial(step_details, self.grammar, step, node)))

    def _text(self, node: Node, kind: str) -> None:
        self.found.texts.append((node,))


_Visit: TypeAlias = Callable[[_Walk, Node, str], object]
"""What is done at a node, with its type."""


@dataclass(slots=True)
class _Kind:
    """What is done at nodes of one type. At most there is nothing to do."""

    type: str
    role: int = 0
    """`NAME`: an identifier, with nothing below it. `TEXT`: a literal. `CLOSED`: of `Grammar.closed`.
    Else 0."""
    visits: tuple[_Visit, ...] = ()
    reads_names: bool | None = True
    """Whether names right below a node are read; None: `is_read` decides."""
    reads_paths: bool | None = True
    """Whether paths right below a node are read, likewise."""
    flags: CallFlags | None = NO_FLAGS
    """The flags of a call right below a node; None: it depends on more than the type."""


_Level: TypeAlias = tuple[Node, _Kind]
"""A node around the current one, and its kind. To ask a node for its type makes a new text each time."""


@cache
def _kinds_of(language: Language, grammar: Grammar) -> dict[int, _Kind | None]:
    """Return what is done at the nodes of a language, by `Node.kind_id`; None for what has no name, such as
    a bracket: nothing."""
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
    by_parts = {*grammar.calls, *grammar.bindings}
    mixed = {*by_parts, *READ_BY_VALUE}
    never = {*grammar.members, *(NOT_READ - READ_BY_VALUE)}
    names = {**named_kinds(language), ERROR_KIND: "ERROR"}
    kinds = {
        number: _Kind(
            kind,
            role_of(kind, grammar),
            tuple(by_type.get(kind, ())),
            False if kind in never else None if kind in mixed else True,
            False
            if kind in grammar.members
            else not (kind in grammar.calls or kind in grammar.bindings) or None,
            first_flags(kind, grammar),
        )
        for number, kind in names.items()
    }
    return {number: kinds.get(number) for number in (*range(kind_count(language)), ERROR_KIND)}
