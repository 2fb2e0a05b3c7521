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

from faultkit.code.facts.assignments import Assignment
from faultkit.code.facts.call_flags import flags_with
from faultkit.code.facts.collected import (
    CollectedNodes,
    RawAccess,
    RawAssignment,
    RawBinding,
    RawCall,
    RawScope,
    place_of,
    span,
)
from faultkit.code.facts.expressions import unwrap, value_of
from faultkit.code.facts.fact_readers import BareReader, FactReader
from faultkit.code.facts.fact_values import (
    LOCAL,
    Access,
    Call,
    Parameter,
    Route,
    Scope,
)
from faultkit.code.facts.grammar import part_of
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
        self.paths = Paths(found)
        self._text_of = found.syntax.text_of
        self._reader = FactReader(found, self.paths, self.call, self.imported_name)
        self._bare = BareReader(found.syntax)
        self._calls: dict[int, Call] = {}
        # Calls whose name is being resolved: a second visit is a cycle, such as `x = x.next()` in a loop.
        self._making: set[int] = set()
        self._scopes: dict[RawScope, Scope] = {}
        self._depth = 0
        self._special = {*found.grammar.constructors, "annotation"}
        self._factories = self._local_factories()

    def forget(self) -> None:
        """Break the circles among facts, so that Python frees them at once, without its garbage collector.

        Nothing may be asked of the facts afterwards. It need not be called; but the collector takes a
        twentieth of the time of a review."""
        self._calls.clear()
        self._scopes.clear()
        del self._reader
        for scope in self.found.scopes:
            scope.bound.clear()

    # Facts.

    def calls(self) -> tuple[Call, ...]:
        """Return all calls, in the order of the text."""
        made = self._calls
        return tuple([made.get(id_) or self._made_call(id_, raw) for id_, raw in self.found.calls.items()])

    def scope(self, raw: RawScope | None, routes: tuple[Route, ...] = ()) -> Scope | None:
        """Return the function as a fact; None for the top of the file."""
        if raw is None:
            return None
        known = self._scopes.get(raw)
        if known is None:
            known = self._scopes[raw] = Scope(
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
                routes=routes,
                owner=raw.owner,
            )
        return known

    def assignments(self) -> tuple[Assignment, ...]:
        """Return all assignments, fields of classes written as `self.name`."""
        return tuple(
            Assignment(
                self._targets(raw),
                span(raw.node),
                self.scope(raw.scope),
                raw.owner,
                raw.binding.operator,
                raw.binding.is_constant,
                self._reader,
                raw,
            )
            for raw in self.found.assignments
        )

    def _targets(self, raw: RawAssignment) -> tuple[str, ...]:
        if not raw.name or self.paths.means_self(raw.name, raw.scope):
            return self._reader.targets(raw.binding, raw.scope)
        return (f"self.{raw.name}",) if raw.binding.is_field else (raw.name,)

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
        inside = [raw for raw in self.found.calls.values() if raw.is_managed]
        for item, body in self.found.managed:
            # Those in the body of a `lock (x) { … }` are of other items.
            end = body.start if item.start_byte < body.start else item.end_byte
            calls = [raw for raw in inside if _holds(item, raw.node) and raw.node.start_byte < end]
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
        written = self.paths.written(inner, scope)
        return Call(name, written, span(item), self._bare, (item, inner), origin=origin, flags=_MANAGED)

    def _scope_at(self, node: Node) -> RawScope | None:
        inside = [each for each in self.found.scopes if _holds(each.node, node)]
        return inside[-1] if inside else None

    # Calls.

    def call(self, node: Node) -> Call:
        """Return the call of a node, made on the first request."""
        id_ = node.id
        return self._calls.get(id_) or self._made_call(id_, self.found.calls[id_])

    def _made_call(self, id_: int, raw: RawCall) -> Call:
        if id_ in self._making:
            name, origin, written = _UNKNOWN, None, self._callee_written(raw)
        else:
            self._making.add(id_)
            try:
                name, origin, written = self._plain_callee(raw) or self._callee(raw)
            finally:
                self._making.discard(id_)
        grammar = self.grammar
        call = self._calls[id_] = Call(
            name,
            written,
            span(raw.node),
            self._reader,
            raw,
            constructs=raw.kind in grammar.constructors or grammar.constructs(name),
            origin=origin,
            flags=raw.flags,
        )
        return call

    def _plain_callee(self, raw: RawCall) -> tuple[str, Call | None, str] | None:
        """Return name, origin and text of a callee as most calls have it, `f` or `a.f`; None for others:
        `_callee` reads all, in three times the time."""
        callee, own, scope, paths = raw.callee, raw.own_name, raw.scope, self.paths
        if callee is None or raw.kind in self._special or self._depth > DEEPEST - 2:
            return None
        kind, last, levels = callee.kind_id, own, 1
        if kind in paths.path_kinds and not own:
            base, last = paths.member(callee, paths.path_kinds[kind])
            if base is None or base.kind_id not in paths.name_kinds:
                return None
            callee, levels = base, 2
        elif kind not in paths.name_kinds:
            return None
        text = self._text_of(callee)
        if not text or paths.means_self(text, scope):
            return None
        self._depth += levels
        name, origin = self._variable(text, callee.start_byte, scope, raw.owner)
        self._depth -= levels
        return (f"{name}.{last}", origin, f"{text}.{last}") if last else (name, origin, text)

    def decorator(self, node: Node, raw: RawScope) -> Call:
        """Return a decorator or annotation as a call, with or without arguments."""
        inner = unwrap(self.grammar, node)
        if inner.id in self.found.calls:
            return self.call(inner)
        name, origin = self.name(inner, raw.outer, raw.owner)
        written = self.paths.written(inner, raw.outer)
        return Call(name, written, span(node), self._bare, (node, node), origin=origin, flags=_DECORATOR)

    def _callee(self, raw: RawCall) -> tuple[str, Call | None, str]:
        return *self._callee_name(raw), self._callee_written(raw)

    def _callee_name(self, raw: RawCall) -> ResolvedName:
        grammar, callee, own = self.grammar, raw.callee, raw.own_name
        if raw.kind in grammar.constructors and callee is not None:
            if callee.type in grammar.names or callee.type in grammar.members:
                return self.name(callee, raw.scope, raw.owner)
            return self.imported_name(grammar.type_name(callee)), None
        if raw.kind == "annotation":
            named = text_of(raw.node.child_by_field_name("name"))
            if not named and callee is not None:
                named = grammar.type_name(callee)
            return self.imported_name(named), None
        if own:
            if callee is None:
                return self.found.imports.get(own, own), None
            base, origin = self.name(callee, raw.scope, raw.owner)
            return f"{base}.{own}", origin
        return (_UNKNOWN, None) if callee is None else self.name(callee, raw.scope, raw.owner)

    def _callee_written(self, raw: RawCall) -> str:
        callee, own = raw.callee, raw.own_name
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
                known = self._given_name(name, inner) or self._bound_name(
                    name, bound, at if inner is scope else None, owner
                )
                if known is not None:
                    return known
            elif name == "it" and (known := self._given_name(name, inner)) is not None:
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

    def _given_name(self, name: str, scope: RawScope) -> ResolvedName | None:
        """Resolve the parameter of a lambda that is given the object of its call: `socket.use { it.x() }`."""
        given_to, grammar = scope.given_to, self.grammar
        if given_to is None or given_to.callee is None or not grammar.given_by:
            return None
        names = [text_of(each.name) for each in scope.parameters]
        callee = unwrap(grammar, given_to.callee)
        if names not in ([name], []) or (not names and name != "it") or callee.type not in grammar.members:
            return None
        base, last = self.paths.member(callee, callee.type)
        if base is None or last not in grammar.given_by:
            return None
        found, origin = self.name(base, given_to.scope, given_to.owner)
        return None if found.startswith(LOCAL) or found == _UNKNOWN else (found, origin)

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
        real = bound[last - 1]
        for place in range(last - 1, -1, -1):
            if not self._is_nothing(bound[place].value):
                real = bound[place]
                break
        return self._value_name(name, real, owner) or (LOCAL + name, None)

    def _is_nothing(self, value: Node | None) -> bool:
        if value is None:
            return False
        if not self.grammar.words:
            return self.grammar.shapes.get(value.type) == "none"
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
        bound = None if wrapped is None else wrapped.child_by_field_name("function")
        if bound is not None and bound.type in self.grammar.members:
            # `promisify(client.get.bind(client))`
            base, last = self.paths.member(bound, bound.type)
            wrapped = base if last == "bind" else wrapped
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
            if raw.is_returned and raw.scope is not None and raw.scope.name:
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


_MANAGED, _DECORATOR = flags_with("is_managed"), flags_with("is_decorator")


def _holds(outer: Node, inner: Node) -> bool:
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte
