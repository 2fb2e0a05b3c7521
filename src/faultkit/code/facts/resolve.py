"""The resolver: gives each call, access, decorator and assignment its name, independent of local spelling.

Rules look for `requests.get` or `httpx.Client.get`. The text has `r.get`, `self._http.get` or
`client().get`. The resolver connects the two, for one text, from what `collect` found. A resolved name is a
dotted path: an imported module or a type, then members, with `()` for the result of a call that is no
constructor and `[]` for an item. `?` stands for an unknown part. Beside the name the resolver gives the
*origin*: the call that made the object at the start of the path (of `s.get(u)` the call `Session()`), so
that rules can read its arguments.

Order of resolution; each step ends the search if it has an answer:

    call        a constructor gives its type, another call gives `name()`; a local factory (a function of
                this text whose only returned call is a constructor) gives what it constructs
    member a.b  if `a` is the object itself (`self`, `this`, the receiver in Go): the field `b` of the class;
                otherwise `a` is resolved, and `.b` is appended
    item a[i]   the name of `a` and `[]`, without an origin
    variable    1. bindings in the function around it, up to the place of use: the last that is not None
                2. bindings in enclosing functions, at any place: they may run later
                3. fields of the class, in languages that name them without `self` (Java)
                4. bindings at the top of the file, unless the name is imported
                5. functions that this text defines
                6. imports, then names that the language knows without an import
    binding     its value if that is a call, a name or a member; otherwise its declared type; otherwise the
                name itself, marked with `~`, so that a parameter `fetch` is not taken for the global one

Limits, all on purpose: only one text is read, so a name from another module of the project stays a path.
Control flow is not followed: of two branches the later binding counts. Values that pass through parameters
or containers are lost. Chains longer than `DEEPEST` and cycles end in `?`. An unknown name matches no
rule: the resolver prefers a missed finding to a false one.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import partial

from faultkit.code.facts.arguments import arguments_of
from faultkit.code.facts.arms import outcomes
from faultkit.code.facts.collected import (
    CollectedNodes,
    RawAccess,
    RawBinding,
    RawCall,
    RawScope,
    place_of,
    span,
)
from faultkit.code.facts.expressions import unwrap, value_of
from faultkit.code.facts.fact_values import (
    LOCAL,
    Access,
    Assignment,
    Call,
    CallDetails,
    Parameter,
    Route,
    Scope,
)
from faultkit.code.facts.grammar import Binding, part_of
from faultkit.code.facts.paths import DEEPEST, LONGEST, Paths
from faultkit.code.languages.dialect import text_of
from faultkit.code.languages.syntax import Node, Span

ResolvedName = tuple[str, Call | None]
"""A resolved name, and the call that made the object at its start, if it is known."""
_UNKNOWN = "?"


class Resolver:
    """Resolves names in one text.

    Calls and scopes are made once and kept, because facts are compared by identity.
    """

    def __init__(self, found: CollectedNodes) -> None:
        self.found = found
        self.grammar = found.grammar
        self.paths = Paths(found.grammar, found.syntax)
        self._text_of = found.syntax.text_of
        self._calls: dict[int, Call] = {}
        # Calls whose name is being resolved: a second visit is a cycle, such as `x = x.next()` in a loop.
        self._making: set[int] = set()
        self._scopes: dict[RawScope, Scope] = {}
        self._depth = 0
        self._assigned = self._targets_of_calls()
        self._factories = self._local_factories()

    def forget(self) -> None:
        """Break the circles among facts, so that Python frees them at once, without its garbage collector.

        Nothing may be asked of the facts afterwards. It need not be called; but the collector takes a
        twentieth of the time of a review."""
        self._calls.clear()
        self._scopes.clear()
        for scope in self.found.scopes:
            scope.bound.clear()

    # Facts.

    def calls(self) -> tuple[Call, ...]:
        """Return all calls, in the order of the text."""
        return tuple(self.call(raw.node) for raw in self.found.calls.values())

    def scope(self, raw: RawScope | None, route: Route | None = None) -> Scope | None:
        """Return the function as a fact; None for the top of the file."""
        if raw is None:
            return None
        if raw not in self._scopes:
            self._scopes[raw] = Scope(
                name=raw.name,
                span=raw.span,
                body=raw.body,
                line=self.found.syntax.line(raw.node.start_byte),
                is_async=raw.is_async,
                is_anonymous=not raw.name,
                parameters=tuple(
                    Parameter(
                        self._text_of(each.name),
                        "" if each.type is None else self.imported_name(self.grammar.type_name(each.type)),
                        None if each.default is None else value_of(self.grammar, each.default),
                    )
                    for each in raw.parameters
                ),
                decorators=tuple(self.decorator(each, raw) for each in raw.decorators),
                outer=self.scope(raw.outer),
                route=route,
                owner=raw.owner,
            )
        return self._scopes[raw]

    def assignments(self) -> tuple[Assignment, ...]:
        """Return all assignments, fields of classes written as `self.name`."""
        return tuple(
            Assignment(
                targets=tuple(
                    ("self." if raw.binding.is_field else "") + self.paths.written(each, raw.scope)
                    for each in raw.binding.targets
                ),
                value=None if raw.binding.value is None else value_of(self.grammar, raw.binding.value),
                span=span(raw.node),
                line=self.found.syntax.line(raw.node.start_byte),
                scope=self.scope(raw.scope),
                owner=raw.owner,
                type=""
                if raw.binding.type is None
                else self.imported_name(self.grammar.type_name(raw.binding.type)),
                call=self._call_in(raw.binding.value),
                operator=raw.binding.operator,
                is_constant=raw.binding.is_constant,
            )
            for raw in self.found.assignments
        )

    def access(self, raw: RawAccess) -> Access:
        """Return a read of a name or path that is not called."""
        node, scope, owner = raw
        place = span(node)
        line = self.found.syntax.line(place.start)
        # Most reads are of plain names, which need no walk along a path.
        text = self._text_of(node) if node.type in self.grammar.names else ""
        if text and not self.paths.means_self(text, scope):
            name, origin = self._variable(text, place.start, scope, owner)
            return Access(name, text, place, line, origin)
        name, origin = self.name(node, scope, owner)
        return Access(name, self.paths.written(node, scope), place, line, origin)

    def managed(self) -> tuple[tuple[Call, Span], ...]:
        """Return what `with` and try-with-resources close, each with the body it is open in."""
        found = []
        inside = [raw for raw in self.found.calls.values() if raw.flags.get("is_managed")]
        for item, body in self.found.managed:
            calls = [raw for raw in inside if _holds(item, raw.node)]
            for raw in calls[:1]:
                found.append((self.call(raw.node), body))
            if not calls:
                found.append((self._managed_value(item), body))
        return tuple(found)

    def _managed_value(self, item: Node) -> Call:
        """Return `lock` of `with lock:` as a call without arguments."""
        inner = item.named_children[0] if item.named_child_count else item
        if inner.type == "as_pattern" and inner.named_child_count:
            inner = inner.named_children[0]
        scope = self._scope_at(item)
        name, origin = self.name(inner, scope, "" if scope is None else scope.owner)
        details = partial(self._details_without_arguments, item, inner)
        return Call(
            name, self.paths.written(inner, scope), span(item), details, origin=origin, is_managed=True
        )

    def _scope_at(self, node: Node) -> RawScope | None:
        inside = [each for each in self.found.scopes if _holds(each.node, node)]
        return inside[-1] if inside else None

    # Calls.

    def call(self, node: Node) -> Call:
        """Return the call of a node, made on the first request."""
        known = self._calls.get(node.id)
        if known is not None:
            return known
        raw = self.found.calls[node.id]
        name, origin = self._callee_name(raw)
        call = Call(
            name,
            self._callee_written(raw),
            span(node),
            partial(self._details, raw),
            partial(arguments_of, self.grammar, node),
            constructs=node.type in self.grammar.constructors or self.grammar.constructs(name),
            origin=origin,
            **raw.flags,
        )
        self._calls[node.id] = call
        return call

    def _details(self, raw: RawCall) -> CallDetails:
        node, line = raw.node, self.found.syntax.line
        found, own = self.paths.callee(node)
        callee = found or node
        named = node.child_by_field_name("name") if own else None
        return CallDetails(
            Span(
                node.start_byte if own else callee.start_byte,
                callee.end_byte if named is None else named.end_byte,
            ),
            line(node.start_byte),
            line(max(node.start_byte, node.end_byte - 1)),
            self._assigned_names(raw),
        )

    def _details_without_arguments(self, node: Node, callee: Node) -> CallDetails:
        line = self.found.syntax.line(node.start_byte)
        return CallDetails(span(callee), line, line)

    def _assigned_names(self, raw: RawCall) -> tuple[str, ...]:
        binding = self._assigned.get(raw.node.id)
        if binding is None:
            return ()
        prefix = "self." if binding.is_field else ""
        return tuple(prefix + self.paths.written(each, raw.scope) for each in binding.targets)

    def decorator(self, node: Node, raw: RawScope) -> Call:
        """Return a decorator or annotation as a call, with or without arguments."""
        inner = unwrap(self.grammar, node)
        if inner.id in self.found.calls:
            return self.call(inner)
        name, origin = self.name(inner, raw.outer, raw.owner)
        details = partial(self._details_without_arguments, node, node)
        return Call(
            name, self.paths.written(inner, raw.outer), span(node), details, origin=origin, is_decorator=True
        )

    def _callee_name(self, raw: RawCall) -> ResolvedName:
        node, grammar = raw.node, self.grammar
        if node.id in self._making:
            return _UNKNOWN, None
        self._making.add(node.id)
        try:
            kind = node.type
            callee, own = self.paths.callee(node)
            if kind in grammar.constructors and callee is not None:
                if callee.type in grammar.names or callee.type in grammar.members:
                    return self.name(callee, raw.scope, raw.owner)
                return self.imported_name(grammar.type_name(callee)), None
            if kind == "annotation":
                named = text_of(node.child_by_field_name("name"))
                if not named and callee is not None:
                    named = grammar.type_name(callee)
                return self.imported_name(named), None
            if own:
                if callee is None:
                    return self.found.imports.get(own, own), None
                base, origin = self.name(callee, raw.scope, raw.owner)
                return f"{base}.{own}", origin
            return (_UNKNOWN, None) if callee is None else self.name(callee, raw.scope, raw.owner)
        finally:
            self._making.discard(node.id)

    def _callee_written(self, raw: RawCall) -> str:
        callee, own = self.paths.callee(raw.node)
        base = "" if callee is None else self.paths.written(callee, raw.scope)
        return f"{base}.{own}" if base and own else base or own

    # Names.

    def imported_name(self, name: str) -> str:
        """Return a dotted name with its first part replaced by what it is imported from."""
        head, dot, rest = name.partition(".")
        known = self.found.imports.get(head)
        if known is not None:
            return known + dot + rest
        known = self.grammar.predefined.get(head)
        return name if known is None or head in self.found.classes else known + dot + rest

    def name(self, node: Node, scope: RawScope | None, owner: str) -> ResolvedName:
        """Resolve a path; the order is that of the module docstring."""
        self._depth += 1
        try:
            return (_UNKNOWN, None) if self._depth > DEEPEST else self._name(node, scope, owner)
        finally:
            self._depth -= 1

    def _name(self, node: Node, scope: RawScope | None, owner: str) -> ResolvedName:
        node = unwrap(self.grammar, node)
        grammar, kind = self.grammar, node.type
        if node.id in self.found.calls:
            return self._made_name(node, scope, owner)
        if kind in grammar.members:
            base, last = self.paths.member(node, kind)
            if base is None:
                return self.imported_name(last), None
            around = base.type
            # Most paths begin with a plain name, which needs no walk; its text is made once.
            text = self._text_of(base) if around in grammar.names else ""
            if self.paths.means_self(text, scope) if text else self.paths.is_self(base, scope):
                known = self._member(owner, last)
                return known if known is not None else (f"self.{last}", None)
            if around == "super":
                return f"super().{last}", None
            if text and self._depth < DEEPEST:
                self._depth += 1
                path, origin = self._variable(text, base.start_byte, scope, owner)
                self._depth -= 1
            else:
                path, origin = self.name(base, scope, owner)
            return f"{path}.{last}", origin
        if kind in grammar.subscripts:
            base = part_of(node, grammar.subscripts[kind])
            path = _UNKNOWN if base is None else self.name(base, scope, owner)[0]
            return f"{path}[]", None
        text = self._text_of(node)
        if self.paths.means_self(text, scope):
            return "self", None
        if kind in grammar.names:
            return self._variable(text, node.start_byte, scope, owner)
        return (text if len(text) < LONGEST and text.isidentifier() else _UNKNOWN), None

    def _variable(self, name: str, at: int, scope: RawScope | None, owner: str) -> ResolvedName:
        # Steps 1 to 6 of the module docstring. Only in the function itself does the place of use matter: an
        # enclosing function may have run further before this one is called.
        inner: RawScope | None = scope
        while inner is not None:
            if (bound := inner.bound.get(name)) is not None:
                known = self._bound_name(name, bound, at if inner is scope else None, owner)
                if known is not None:
                    return known
            inner = inner.outer
        if self.grammar.bare_fields and (known := self._member(owner, name)) is not None:
            return known
        if (bound := self.found.top.get(name)) is not None and name not in self.found.imports:
            known = self._bound_name(name, bound, at if scope is None else None, owner)
            if known is not None:
                return known
        if self._is_defined(name, scope):
            return LOCAL + name, None
        return self.imported_name(name), None

    def _is_defined(self, name: str, scope: RawScope | None) -> bool:
        """Return whether a function of this text has this name and is visible from a scope."""
        defined = self.found.defined.get(name)
        if defined is None:
            return False
        around: set[RawScope | None] = {None}
        while scope is not None:
            around.add(scope)
            scope = scope.outer
        return not around.isdisjoint(defined)

    def _bound_name(
        self, name: str, bound: list[RawBinding], at: int | None, owner: str
    ) -> ResolvedName | None:
        """Resolve the last binding before a place; None if there is none."""
        last = len(bound) if at is None else bisect_right(bound, at, key=place_of)
        if not last:
            return None
        # `client = None` and later `client = Client()`: the None is a placeholder.
        before = range(last - 1, -1, -1)
        real = next((bound[place] for place in before if not self._is_nothing(bound[place].value)), None)
        return self._value_name(name, real or bound[last - 1], owner) or (LOCAL + name, None)

    def _is_nothing(self, value: Node | None) -> bool:
        if value is None or not self.grammar.words:
            return value is not None and self.grammar.shapes.get(value.type) == "none"
        return value_of(self.grammar, value).shape == "none"

    def _member(self, owner: str, name: str) -> ResolvedName | None:
        """Resolve a field of a class; None if the class does not bind it."""
        bound = self.found.fields.get((owner, name))
        if not bound:
            return None
        # Methods run in any order, so the place of use does not matter: the last real value counts. If that
        # is unknown, the type of a declaration such as `client: Client` is used.
        real = [each for each in bound if each.value is not None and not self._is_nothing(each.value)]
        # In `self.x = x` the second one is a variable.
        whole = name if self.grammar.bare_fields else f"self.{name}"
        known = self._value_name(whole, (real or bound)[-1], owner)
        typed = [each for each in bound if each.type is not None]
        if known is None and typed:
            known = self._value_name(name, typed[0], owner)
        return known or (f"self.{name}", None)

    def _value_name(self, name: str, bound: RawBinding, owner: str) -> ResolvedName | None:
        """Resolve what a binding gives to a name; None if that is unknown."""
        # `is_first`: of several targets only the first has a known value, as in `body, err := read()`.
        if bound.value is not None and bound.is_first:
            value = unwrap(self.grammar, bound.value)
            if value.id in self.found.calls:
                return self._made_name(value, bound.scope, owner)
            if value.type in self.grammar.members or value.type in self.grammar.names:
                # `x = x` resolves to itself, and `a = b` with an unknown `b` keeps the name `a`.
                written = self._text_of(value)
                if written != name:
                    found, origin = self.name(value, bound.scope, owner)
                    bare = found.removeprefix(LOCAL)
                    if origin is not None or bare != written or "." in bare:
                        return found, origin
                return None
        if bound.type is not None and (type_ := self.grammar.type_name(bound.type)):
            return self.imported_name(type_), None
        return None

    def _made_name(self, node: Node, scope: RawScope | None, owner: str) -> ResolvedName:
        """Resolve what a call makes; `promisify(execFile)` makes a function that is `execFile`."""
        made = self.call(node)
        given = node.child_by_field_name("arguments") if made.name == "util.promisify" else None
        wrapped = None if given is None or given.named_child_count != 1 else given.named_child(0)
        return self._result_name(made) if wrapped is None else self.name(wrapped, scope, owner)

    def _result_name(self, call: Call) -> ResolvedName:
        """Resolve the result of a call: the type it constructs, what a local factory constructs, else
        `name()`."""
        factory = self._factories.get(call.name.removeprefix(LOCAL))
        # A factory that returns the call of another factory is not followed: the two may call each other.
        if factory is not None:
            constructed = self.call(factory)
            if constructed.constructs or constructed.name.removeprefix(LOCAL) not in self._factories:
                call = constructed
        return (self.grammar.constructed(call.name) if call.constructs else f"{call.name}()"), call

    def _local_factories(self) -> dict[str, Node]:
        """Return the functions of this text whose only returned call is a constructor, by name."""
        returned: dict[str, list[RawCall]] = {}
        for raw in self.found.calls.values():
            if raw.flags.get("is_returned") and raw.scope is not None and raw.scope.name:
                returned.setdefault(raw.scope.name, []).append(raw)
        return {
            name: raws[0].node
            for name, raws in returned.items()
            if len(raws) == 1 and self._constructs(raws[0].node)
        }

    def _constructs(self, node: Node) -> bool:
        callee = self.grammar.callee(node)
        return node.type in self.grammar.constructors or (
            callee is not None and self.grammar.constructs(self._text_of(callee))
        )

    def _targets_of_calls(self) -> dict[int, Binding]:
        targets: dict[int, Binding] = {}
        for raw in self.found.assignments:
            if raw.binding.value is not None:
                inner = unwrap(self.grammar, raw.binding.value)
                for each in (inner, *outcomes(inner, self.grammar)):
                    targets[unwrap(self.grammar, each).id] = raw.binding
        return targets

    def _call_in(self, value: Node | None) -> Call | None:
        if value is None:
            return None
        inner = unwrap(self.grammar, value)
        return self.call(inner) if inner.id in self.found.calls else None


def _holds(outer: Node, inner: Node) -> bool:
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte
