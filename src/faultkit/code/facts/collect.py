"""One walk over a tree that collects everything facts are made of, still as nodes. Resolves no names.

Everything is collected in one pass, because a walk over a large file is what a review spends most time on.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable
from typing import cast

from faultkit.code.facts.arms import arms_of, arms_of_try
from faultkit.code.facts.collected import (
    CollectedNodes,
    RawAssignment,
    RawBinding,
    RawCall,
    RawScope,
    place_of,
    span,
)
from faultkit.code.facts.fact_values import Loop, Shape, Step, StepKind, Text, Value
from faultkit.code.facts.grammar import Binding, Grammar, member_name, part_of, passed_on
from faultkit.code.functions import DIALECTS, qualified_names
from faultkit.code.languages.dialect import text_of
from faultkit.code.languages.syntax import Node, Span, Syntax

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
_ANNOTATIONS = frozenset({"annotation", "attribute"})
_DECLARES = frozenset(
    {
        "function_definition", "function_declaration", "generator_function_declaration", "function_item",
        "local_function_statement",
    }
)  # fmt: skip
"""Types that bind the name of a function where they stand."""
_LAMBDAS = frozenset({"arrow_function", "lambda_expression", "lambda"})


def unwrap(grammar: Grammar, node: Node) -> Node:
    """Return the expression without parentheses, `await` and similar nodes around it."""
    if grammar.passes:
        node = passed_on(grammar, node)
    while node.type in grammar.transparent and node.named_child_count:
        if node.type == "unary_expression" and grammar.sees_through.search(text_of(node)) is None:
            return node
        inner = [child for child in node.named_children if not child.is_extra]
        if not inner:
            return node
        node = inner[-1] if node.type in ("cast_expression", "type_assertion") else inner[0]
        if grammar.passes:
            node = passed_on(grammar, node)
    return node


def value_of(grammar: Grammar, node: Node) -> Value:
    """Return an expression as a value with its shape."""
    inner = unwrap(grammar, node)
    shape: Shape = grammar.shapes.get(inner.type, "other")
    if shape == "text" and _has_holes(inner, grammar):
        shape = "other"
    if grammar.words and shape in ("name", "other"):
        shape = grammar.words.get(text_of(inner), shape)
    return Value(text_of(node), shape, span(node))


def _has_holes(text: Node, grammar: Grammar) -> bool:
    """Return whether a text is put together at run time: an f-string, a template."""
    holes = grammar.interpolations
    if holes and any(child.type in holes for child in text.children):
        return True
    return grammar.hole is not None and grammar.hole.search(text_of(text)) is not None


def collect(syntax: Syntax, grammar: Grammar) -> CollectedNodes:
    """Walk the tree once."""
    return _Walk(syntax, grammar).run()


class _Walk:
    """One walk over a tree, with the scopes and types that are open at the current node."""

    def __init__(self, syntax: Syntax, grammar: Grammar) -> None:
        self.grammar = grammar
        self.found = CollectedNodes(syntax, grammar)
        self.names = qualified_names(syntax)
        self.body_of = DIALECTS[syntax.language.name].body
        self.visitors = _visitors(grammar)
        self.stack: list[Node] = []
        self.open_scopes: list[RawScope] = []
        self.open_types: list[tuple[int, str]] = []

    def run(self) -> CollectedNodes:
        cursor = self.found.syntax.root.walk()
        stack, visitors = self.stack, self.visitors
        while True:
            node = cursor.node
            assert node is not None
            del stack[cursor.depth :]
            if (wanted := visitors.get(node.type)) is not None and node.is_named:
                self._leave(node)
                for visit in wanted:
                    visit(self, node)
            stack.append(node)
            if cursor.goto_first_child():
                continue
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return self.found

    @property
    def scope(self) -> RawScope | None:
        return self.open_scopes[-1] if self.open_scopes else None

    @property
    def owner(self) -> str:
        if self.open_types:
            return self.open_types[-1][1]
        return self.scope.owner if self.scope is not None else ""

    def _leave(self, node: Node) -> None:
        while self.open_scopes and self.open_scopes[-1].node.end_byte <= node.start_byte:
            self.open_scopes.pop()
        while self.open_types and self.open_types[-1][0] <= node.start_byte:
            self.open_types.pop()

    def _call(self, node: Node) -> None:
        if not self.grammar.is_call(node):
            return
        self.found.calls[node.id] = RawCall(node, self.scope, self.owner, self._flags(node))

    def _bindings(self, node: Node) -> None:
        imported = self._import(node) if node.type in self.grammar.imports else frozenset[str]()
        for binding in self.grammar.bindings[node.type](node):
            self._binding(node, binding, imported)

    def _try(self, node: Node) -> None:
        if (parts := self.grammar.tries[node.type](node)) is not None:
            self.found.tries.append((node, parts))
            if node.type not in self.grammar.forks:
                self.found.arms += arms_of_try(node, parts, self.grammar)

    def _fork(self, node: Node) -> None:
        self.found.arms += arms_of(node, self.grammar)

    def _managed(self, node: Node) -> None:
        if (body := self.grammar.managed_body(node)) is not None:
            self.found.managed.append((node, span(body)))

    def _access(self, node: Node) -> None:
        words = self.grammar.step_words
        if words and (kind := words.get(text_of(node))) is not None:
            self.found.steps.append(Step(kind, span(node), self._line(node)))
        elif self._is_read(node):
            self.found.accesses.append((node, self.scope, self.owner))

    def _line(self, node: Node) -> int:
        return node.start_point[0] + 1

    def _type(self, node: Node) -> None:
        named = node.child_by_field_name("name") or node.child_by_field_name("type")
        name = text_of(named).partition("<")[0]
        outer = self.open_types[-1][1] if self.open_types else ""
        whole = f"{outer}.{name}" if outer and name else name
        self.open_types.append((node.end_byte, whole))
        self.found.classes[whole] = tuple(self.grammar.bases(node))

    def _function(self, node: Node) -> None:
        body = self.body_of(node)
        body_node = node.child_by_field_name("body")
        if body is None and body_node is None:
            return
        inner = body or span(cast(Node, body_node))
        receiver, type_ = self.grammar.receiver(node)
        decorators = tuple(self.grammar.decorators(node))
        start = min([node.start_byte, *(each.start_byte for each in decorators)])
        scope = RawScope(
            node=node,
            span=Span(start, node.end_byte),
            body=inner,
            name=self.names.get(inner.start, ""),
            owner=type_ or self.owner,
            outer=self.scope,
            is_async=self.grammar.is_async(node),
            parameters=tuple(self.grammar.parameters(node)),
            decorators=decorators,
            receiver=receiver,
            given_to=self._given_to(node),
        )
        for place, each in enumerate(scope.parameters):
            names = [each.name] if each.name.type in self.grammar.names else _leaves(each.name, self.grammar)
            for name in names:
                value = self._promise_value(scope, place)
                bound = RawBinding(inner.start, value, each.type, scope.outer)
                _bind(scope.bound.setdefault(text_of(name), []), bound)
        if node.type in _DECLARES and not self._is_method(node):
            own = text_of(node.child_by_field_name("name"))
            self.found.defined.setdefault(own, []).append(self.scope)
        if (callee := self._iterating_callee(scope)) is not None:
            over = text_of(part_of(callee, self.grammar.members[callee.type][0]))
            whole = span(cast(RawCall, scope.given_to).node)
            items = tuple(text_of(each.name) for each in scope.parameters)
            if not items and self.grammar.implicit_item:
                items = (self.grammar.implicit_item,)
            self.found.loops.append(
                Loop("comprehension", whole, span(node), self._line(node), over, items, is_async=False)
            )
        self.found.scopes.append(scope)
        self.open_scopes.append(scope)

    def _is_method(self, node: Node) -> bool:
        """Return whether a function stands in the body of a type, not in a function there."""
        inner = self.scope
        return bool(self.open_types) and (inner is None or inner.node.end_byte > self.open_types[-1][0])

    def _given_to(self, node: Node) -> RawCall | None:
        around = [each for each in self.stack[-3:] if each.type not in _AROUND_ARGUMENT]
        if len(around) < 2 or around[-1].type not in (*_ARGUMENTS, "annotated_lambda"):
            return None
        return self.found.calls.get(around[-2].id)

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

    def _flags(self, node: Node) -> dict[str, bool]:
        grammar, flags, inner = self.grammar, {}, node
        if node.type in _ANNOTATIONS:
            return {"is_decorator": True}
        carried = False
        for parent in reversed(self.stack):
            kind = parent.type
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

    def _import(self, node: Node) -> frozenset[str]:
        """Note what a statement imports, and return the names that it binds."""
        names = set()
        for name, whole in self.grammar.imports[node.type](node):
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
            if text_of(target) in imported:
                continue
            if target.type in grammar.names:
                if binding.is_field:
                    _bind(self.found.fields.setdefault((self.owner, text_of(target)), []), bound)
                else:
                    _bind(self._names().setdefault(text_of(target), []), bound)
            elif (member := self._self_member(target)) is not None:
                _bind(self.found.fields.setdefault((self.owner, member), []), bound)
            elif target.type not in grammar.members and target.type not in grammar.subscripts:
                for leaf in _leaves(target, grammar):
                    if text_of(leaf) in imported:
                        continue
                    unknown = RawBinding(node.end_byte, None, None, self.scope)
                    _bind(self._names().setdefault(text_of(leaf), []), unknown)

    def _names(self) -> dict[str, list[RawBinding]]:
        return self.found.top if self.scope is None else self.scope.bound

    def _self_member(self, target: Node) -> str | None:
        """Return `x` of `self.x`, `this.x` or, in Go, `s.x` of the receiver `s`."""
        if target.type not in self.grammar.members:
            return None
        owner, name = self.grammar.members[target.type]
        base = text_of(part_of(target, owner))
        receivers = {each.receiver for each in self.open_scopes if each.receiver}
        if base in self.grammar.self_names or base in receivers:
            return member_name(target, name)
        return None

    def _loop(self, node: Node) -> None:
        parts = self.grammar.loops[node.type](node)
        if parts is None:
            return
        loop = Loop(
            kind=parts.kind,
            span=span(node),
            body=span(parts.body),
            line=self._line(node),
            over=text_of(parts.over),
            targets=tuple(map(text_of, parts.targets)),
            is_async=parts.is_async,
        )
        self.found.loops.append(loop)
        for target in parts.targets:
            for leaf in _leaves(target, self.grammar):
                unknown = RawBinding(target.end_byte, None, None, self.scope)
                _bind(self._names().setdefault(text_of(leaf), []), unknown)

    def _step(self, node: Node) -> None:
        kind = cast(StepKind, self.grammar.steps[node.type])
        word, sides = "", tuple[Value, ...]()
        parts = [child for child in node.named_children if not child.is_extra]
        if kind == "binary":
            left = node.child_by_field_name("left") or (parts[0] if parts else None)
            right = node.child_by_field_name("right") or (parts[-1] if parts else None)
            word = text_of(node.child_by_field_name("operator") or node.child_by_field_name("operators"))
            if not word:
                word = " ".join(text_of(child) for child in node.children if not child.is_named)
            sides = tuple(value_of(self.grammar, each) for each in (left, right) if each is not None)
        condition = node.child_by_field_name("condition") or (parts[0] if parts else None)
        self.found.steps.append(Step(kind, span(node), self._line(node), text_of(condition), word, sides))

    def _text(self, node: Node) -> None:
        if _has_holes(node, self.grammar):
            content = "".join(text_of(child) for child in node.children if "content" in child.type)
        else:
            content = value_of(self.grammar, node).literal
        self.found.texts.append(Text(content, span(node), self._line(node)))

    def _is_read(self, node: Node) -> bool:
        """Return whether a node is a whole path that is read: no callee, target or parameter name."""
        if not self.stack:
            return False
        parent, grammar = self.stack[-1], self.grammar
        if parent.type in grammar.members:
            return False
        if parent.type in grammar.calls and grammar.callee(parent) == node and not grammar.own_name(parent):
            return False
        if node.type in grammar.names and parent.type in _NO_READS:
            return parent.type in _HOLDERS and parent.child_by_field_name("value") == node
        return not (parent.type in grammar.bindings and parent.child_by_field_name("left") == node)


def _visitors(grammar: Grammar) -> dict[str, list[Callable[[_Walk, Node], object]]]:
    """Return what to do at a node, by its type. Most types need nothing, which is what makes a walk fast."""
    table: tuple[tuple[Iterable[str], Callable[[_Walk, Node], object]], ...] = (
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
        ({*grammar.members, *grammar.names}, _Walk._access),
    )
    found: dict[str, list[Callable[[_Walk, Node], object]]] = {}
    for types, visit in table:
        for each in types:
            found.setdefault(each, []).append(visit)
    return found


_HOLDERS = frozenset(
    {
        "pair", "keyword_argument", "default_parameter", "typed_default_parameter", "let_declaration",
        "let_condition", "for_expression",
    }
)  # fmt: skip
"""Node types whose names are not read, while their values are."""
_NO_READS = frozenset(
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


def _bind(bound: list[RawBinding], new: RawBinding) -> None:
    """Add a binding in the order of `at`, so that those before a place are found by bisection."""
    if bound and bound[-1].at > new.at:
        insort(bound, new, key=place_of)
    else:
        bound.append(new)


def _leaves(node: Node, grammar: Grammar) -> list[Node]:
    """Return the names in a pattern."""
    found, todo = list[Node](), [node]
    while todo:
        each = todo.pop()
        if each.type in grammar.names or each.type.endswith("identifier_pattern"):
            found.append(each)
        elif each.type not in grammar.members and each.type not in grammar.subscripts:
            todo += each.named_children
    return found
