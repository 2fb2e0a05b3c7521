"""One text as rules see it: lists of facts in the order of the text, and queries about their places.

Pure and read-only. `faultkit.code.facts.build` makes it; `faultkit.code.rules.vocabulary` knows what the
functions of libraries mean.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, cast

from faultkit.code.facts.assignments import Assignment, AssignmentsByTarget
from faultkit.code.facts.callers import Callers
from faultkit.code.facts.fact_values import (
    Access,
    Arm,
    Call,
    Handler,
    Imports,
    Loop,
    Scope,
    Step,
    StepKind,
    Text,
    Try,
)
from faultkit.code.facts.functions_around import FunctionChains, InnermostFunctions
from faultkit.code.facts.groups import grouped, merged
from faultkit.code.facts.made_later import MadeLater
from faultkit.code.facts.nesting import Nesting, P, Placed, is_within, start_of
from faultkit.code.facts.project import NO_PROJECT, Project
from faultkit.code.languages.syntax import Span, Syntax

__all__ = ["Facts", "Placed", "is_within"]

_SELF = re.compile(r"\bself\.")
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_VALUE_LEVELS = 2
"""Levels of variables that are followed: options that hold headers that hold a key."""
_RECEIVER = re.compile(r"func\s*\(\s*(\w+)")
_COMMENT = re.compile(r"(?:^|\s)(?:#|//|/\*)\s*\w.*")
_IN_THREAD = (
    "asyncio.to_thread", "anyio.to_thread.run_sync", "fastapi.concurrency.run_in_threadpool",
    "starlette.concurrency.run_in_threadpool",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Facts:
    """The facts of one text."""

    syntax: Syntax
    imports: Imports
    scopes: tuple[Scope, ...]
    """Functions, outer ones before inner ones."""
    calls: tuple[Call, ...]
    """Outer calls before those among their arguments; of a chain `a().b()` the last call comes first."""
    loops: tuple[Loop, ...]
    assignments: tuple[Assignment, ...]
    accesses: MadeLater[Access]
    """Reads of names and paths."""
    texts: MadeLater[Text]
    steps: tuple[Step, ...]
    classes: dict[str, tuple[str, ...]]
    """Types that this text declares, by qualified name, with the resolved names of their bases."""
    managed: tuple[tuple[Call, Span], ...]
    """Each managed call with the block in which it is open."""
    make_arms: Callable[[], tuple[Arm, ...]]
    make_tries: Callable[[Facts], tuple[Try, ...]]
    forget: Callable[[], None]
    """Ends the use of facts: see `Resolver.forget`."""
    project: Project = NO_PROJECT
    """What the manifest nearest above the file says."""

    # Made when a rule asks for them: for most texts, none does.

    @cached_property
    def arms(self) -> tuple[Arm, ...]:
        return self.make_arms()

    @cached_property
    def tries(self) -> tuple[Try, ...]:
        return self.make_tries(self)

    @cached_property
    def language(self) -> str:
        return self.syntax.language.name

    @cached_property
    def text(self) -> Callable[[Span], str]:
        """Return the text of a span."""
        if self.syntax.source.isascii():
            whole = self.whole_text
            return lambda span: whole[span[0] : span[1]]
        return self.syntax.text

    def line(self, place: Placed) -> int:
        return self.syntax.line(place.span.start)

    def imports_any(self, *modules: str) -> bool:
        """Return whether one of these modules, or something in it, is imported: `imports_any("httpx",
        "net/http")`."""
        return not self.imports.all_modules.isdisjoint(modules)

    def in_words_of(self, place: Placed, text: str) -> str:
        """Return a text about code at a place, with the word of that code for the object itself instead
        of `self`."""
        if self.language in ("python", "rust"):
            return text
        name = "this"
        if self.language == "go":
            outer = next(self.functions_around(place), None)
            found = None if outer is None else _RECEIVER.match(self.text(outer.span))
            name = "self" if found is None else found[1]
        return _SELF.sub(f"{name}.", text)

    # Facts by name.

    def calls_named(self, *names: str) -> tuple[Call, ...]:
        """Return calls by exact resolved name."""
        return merged(self._by_name, names)

    def calls_of_method(self, *methods: str) -> tuple[Call, ...]:
        """Return calls by the last part of the name, on any object."""
        return merged(self._by_method, methods)

    def calls_with_name(self, find: Callable[[str], object]) -> tuple[Call, ...]:
        """Return calls whose resolved name passes a test. Each name is tested once: that takes a fraction of
        the time of a loop over all calls."""
        return merged(self._by_name, tuple(filter(find, self._by_name)))

    def calls_with_method(self, find: Callable[[str], object]) -> tuple[Call, ...]:
        """Return calls the last part of whose name passes a test; see `calls_with_name`."""
        return merged(self._by_method, tuple(filter(find, self._by_method)))

    def calls_on(self, origin: Call) -> tuple[Call, ...]:
        """Return calls on the result of a call: of `s = Session()` all `s.get(…)`, `s.close()`."""
        return tuple(self._by_origin.get(origin, ()))

    def accesses_on(self, origin: Call) -> tuple[Access, ...]:
        """Return reads on the result of a call: of `r = get(u)` every `r.status_code`. Paths are whole:
        `….headers.x`."""
        return tuple(self._accesses_by_origin.get(origin, ()))

    def functions_named(self, *names: str) -> tuple[Scope, ...]:
        """Return functions of this text by the last part of their names, of any object."""
        return merged(self._by_short_name, names)

    def function_at(self, span: Span) -> Scope | None:
        """Return the function that is written at exactly this span, as an argument is."""
        return self._by_span.get(span)

    def steps_of(self, *kinds: StepKind) -> tuple[Step, ...]:
        return merged(self._steps_by_kind, kinds)

    def routes(self) -> tuple[Scope, ...]:
        """Return functions that answer requests."""
        return tuple(scope for scope in self.scopes if scope.route is not None)

    # Facts by place.

    def function_of(self, place: Placed) -> Scope | None:
        """Return the innermost function or lambda around a place."""
        return self._innermost[place.span]

    def named_function_of(self, place: Placed) -> Scope | None:
        """Return the innermost named function around a place."""
        scope = self._innermost[place.span]
        while scope is not None and not scope.name:
            scope = scope.outer
        return scope

    def functions_around(self, place: Placed) -> Iterator[Scope]:
        """Yield functions from the outermost to the innermost; decorators stand outside the decorated
        function."""
        return iter(self._chains[self._innermost[place.span]])

    def is_in_async(self, place: Placed) -> bool:
        """Return whether the innermost function around a place is async."""
        scope = self.function_of(place)
        return scope is not None and scope.is_async

    def route_of(self, place: Placed) -> Scope | None:
        """Return the function around a place that answers requests, or None."""
        return next((scope for scope in self.functions_around(place) if scope.route is not None), None)

    def loops_around(self, place: Placed, *, across: bool = False) -> tuple[Loop, ...]:
        """Return the loops whose body contains a place, outermost first.

        Loops outside the function around the place count only with `across`; but the function given to
        `.map(…)` is the body of that loop.
        """
        around = [loop for loop in self._loop_nesting.around(place.span) if is_within(place.span, loop.body)]
        if across:
            return tuple(around)
        function = self.function_of(place)
        while function is not None and any(
            loop.kind == "comprehension" and loop.body == function.span for loop in around
        ):
            function = function.outer
        return tuple(loop for loop in around if function is None or is_within(loop.span, function.span))

    def tries_around(self, place: Placed) -> tuple[Try, ...]:
        """Return the tries with handlers whose body contains a place of the same function.

        A lambda that a thread runs while its function waits is a part of that function.
        """
        function = self.function_of(place)
        # Most lambdas of Kotlin run where they stand: `use { … }`, `let { … }`.
        inline = self.language == "kotlin"
        while function is not None and (self._is_awaited(function) or (inline and function.is_anonymous)):
            function = function.outer
        return tuple(
            each
            for each in self._tried.around(place.span)
            if each.handlers and (function is None or is_within(each.span, function.span))
        )

    def is_in_finally(self, place: Placed) -> bool:
        """Return whether a place stands in a `finally` block."""
        tries = self._try_nesting.around(place.span)
        return any(each.finally_ is not None and is_within(place.span, each.finally_) for each in tries)

    def handlers_around(self, place: Placed) -> tuple[Handler, ...]:
        """Return the handlers whose body contains a place, outermost first."""
        return tuple(
            handler
            for each in self._try_nesting.around(place.span)
            for handler in each.handlers
            if is_within(place.span, handler.body)
        )

    def is_deferred(self, place: Placed) -> bool:
        """Return whether a place is in a call that runs when its function ends: `defer func() { … }()`."""
        return any(each.is_deferred for each in self._call_nesting.around(place.span))

    def is_launched(self, place: Placed) -> bool:
        """Return whether a place is in a goroutine: `go func() { … }()`."""
        return any(each.is_launched for each in self._call_nesting.around(place.span))

    def _is_awaited(self, scope: Scope) -> bool:
        """Return whether errors of the lambda are raised here, as in `await asyncio.to_thread(lambda: …)`."""
        return scope.is_anonymous and scope.span in self._spans_in_threads

    def managed_around(self, place: Placed) -> tuple[Call, ...]:
        """Return calls in the heads of the `with` or try-with-resources statements around a place, locks
        included."""
        return tuple(call for call, body in self.managed if is_within(place.span, body))

    def calls_around(self, place: Placed) -> tuple[Call, ...]:
        """Return calls that have a place among their arguments, also inside a given function, outermost
        first."""
        return tuple(
            call
            for call in self._call_nesting.around(place.span)
            if place.span.start >= call.callee.end and place.span != call.span
        )

    def are_exclusive(self, one: Placed, other: Placed) -> bool:
        """Return whether at most one of two places is reached in a run of their function.

        They stand in different arms of a choice, or the first in an arm that leaves before the second.
        A handler counts as an alternative of what it guards.
        """
        first, second = sorted((one, other), key=start_of)
        mine, others = self._arm_nesting.around(first.span), self._arm_nesting.around(second.span)
        while mine and others and mine[0] is others[0]:
            del mine[0], others[0]
        if mine and others and mine[0].fork == others[0].fork:
            return mine[0].place != others[0].place
        return any(self._is_left_before(arm, second) for arm in mine)

    def _is_left_before(self, arm: Arm, later: Placed) -> bool:
        if not arm.leaves or self.function_of(arm) not in (None, *self.functions_around(later)):
            return False
        if arm.leaves == "function":
            return True
        around = self.loops_around(arm)
        return bool(around) and is_within(later.span, around[-1].body)

    def within(self, items: Iterable[P], span: Span) -> Iterator[P]:
        """Yield the facts inside a span. A tuple must be in the order of the text, as all facts are."""
        if isinstance(items, MadeLater):
            return cast(Iterator[P], items.within(span))
        if not isinstance(items, tuple):
            return (item for item in items if is_within(item.span, span))
        # Facts are in the order of the text, so that those in a span are adjacent.
        start, end = span
        known = self._bounds.get(id(items))
        if known is None:
            first = bisect_left(items, start, key=start_of)
            after = bisect_left(items, end, lo=first, key=start_of)
        else:
            first = bisect_left(known[0], start)
            after = bisect_left(known[0], end, first)
            # Of a function, a loop or another node all end in it.
            if max(known[1][first:after], default=0) <= end:
                return iter(items[first:after])
        return (item for item in items[first:after] if item.span.end <= end)

    def own(self, items: Iterable[P], scope: Scope | None) -> Iterator[P]:
        """Yield the facts in the body of a function, without those of functions inside it.

        None stands for the top of the file."""
        if id(items) in self._bounds:
            if id(items) not in self._own_facts:
                self._own_facts[id(items)] = grouped(items, self.function_of)
            return iter(self._own_facts[id(items)].get(scope, ()))
        inside = items if scope is None else self.within(items, scope.body)
        return (item for item in inside if self.function_of(item) is scope)

    def globals_in(self, scope: Scope) -> frozenset[str]:
        """Return the names that a function of Python declares as global or nonlocal."""
        declared = (step for step in self.within(self.steps, scope.body) if step.kind == "global")
        return frozenset(name for step in declared for name in _NAME.findall(self.text(step.span))[1:])

    def callers_of(self, scope: Scope) -> tuple[Call, ...]:
        """Return calls in this text of a function, or of a method of this name.

        `self.load()` calls a method and `load()` a function. Where methods may be overloaded, the number of
        arguments decides.
        """
        return self._callers[scope]

    def comment_at(self, place: Placed) -> str:
        """Return the comments on the line of a place and on the line above it; empty if there are none."""
        line = self.line(place)
        above = self.syntax.line_text(line - 1).strip() if line > 1 else ""
        beside = _COMMENT.search(self.syntax.line_text(line))
        found = [above] if above.startswith(("#", "//", "*", "/*")) else []
        return " ".join([*found, *([] if beside is None else [beside[0]])])

    def mentions(self, word: str, span: Span) -> bool:
        """Return whether code in the span, without comments and texts, contains this identifier."""
        return any(word in each.written.split(".") for each in self.within(self.accesses, span)) or any(
            word in each.written.split(".") for each in self.within(self.calls, span)
        )

    # Values of variables.

    def assignments_to(self, name: str, place: Placed) -> tuple[Assignment, ...]:
        """Return the assignments to a variable or to a part of it, in a function around a place or at the
        top of the file."""
        return self._by_target.around(name, self._chains[self._innermost[place.span]])

    def assignments_of(self, *names: str) -> tuple[Assignment, ...]:
        """Return the assignments to variables or to parts of them, anywhere in the text."""
        found = merged(self._by_target.groups, names)
        return tuple(dict.fromkeys(found)) if len(names) > 1 else found

    def text_with_values(self, call: Call) -> str:
        """Return the text of a call, and the texts that set the variables in it."""
        text = self.text(call.span)
        return "\n".join((text, *self._texts_of_values(text, call, _VALUE_LEVELS)))

    def _texts_of_values(self, text: str, place: Call, levels: int) -> Iterator[str]:
        names = {*_NAME.findall(text)}
        found = [self.text(each.span) for name in names for each in self.assignments_to(name, place)]
        # `headers.set("a", b)`, `req.Header.Set("a", b)`
        function = next(self.functions_around(place), None)
        if function is not None:
            found += [
                self.text(each.span)
                for each in self.within(self.calls, function.span)
                if each.receiver_written.partition(".")[0] in names and each is not place
            ]
        yield from found
        if levels > 1:
            for each in found:
                yield from self._texts_of_values(each, place, levels - 1)

    @cached_property
    def whole_text(self) -> str:
        """The text itself."""
        return self.syntax.source.decode("utf-8", "replace")

    @cached_property
    def assigned_names(self) -> frozenset[str]:
        """Everything that is assigned to anywhere, as written: `a`, `self.a`, `a.b`."""
        return frozenset(name for each in self.assignments for name in each.targets)

    @cached_property
    def file_names(self) -> frozenset[str]:
        """What is assigned to outside of functions: variables of the file, and fields of its classes."""
        return frozenset(name for each in self.assignments if each.scope is None for name in each.targets)

    @cached_property
    def _bounds(self) -> dict[int, tuple[list[int], list[int]]]:
        """Return starts and ends of the facts that rules look for most often, by the id of their tuple."""
        listed: tuple[tuple[Placed, ...], ...] = (self.calls, self.assignments, self.steps)
        spans = ((id(items), [each.span for each in items]) for items in listed)
        return {key: ([start for start, _ in each], [end for _, end in each]) for key, each in spans}

    @cached_property
    def _own_facts(self) -> dict[int, dict[Scope | None, list[Any]]]:
        """Return facts by the functions that they are in, by the id of their tuple, of those asked for."""
        return {}

    @cached_property
    def _by_span(self) -> dict[Span, Scope]:
        return {scope.span: scope for scope in reversed(self.scopes)}

    @cached_property
    def _by_short_name(self) -> dict[str, list[Scope]]:
        return grouped((scope for scope in self.scopes if scope.name), attrgetter("short_name"))

    @cached_property
    def _innermost(self) -> InnermostFunctions:
        return InnermostFunctions(self.scopes)

    @cached_property
    def _chains(self) -> FunctionChains:
        return FunctionChains()

    @cached_property
    def _spans_in_threads(self) -> frozenset[Span]:
        """Return the spans of what is given to functions that run it in a thread."""
        calls = self.calls_named(*_IN_THREAD)
        return frozenset(argument.value.span for call in calls for argument in call.arguments)

    @cached_property
    def _steps_by_kind(self) -> dict[str, list[Step]]:
        return grouped(self.steps, attrgetter("kind"))

    @cached_property
    def _call_nesting(self) -> Nesting[Call]:
        return Nesting(self.calls)

    @cached_property
    def _loop_nesting(self) -> Nesting[Loop]:
        return Nesting(self.loops)

    @cached_property
    def _try_nesting(self) -> Nesting[Try]:
        return Nesting(self.tries)

    @cached_property
    def _tried(self) -> Nesting[Try]:
        """Return tries by their bodies: in Go, that is the statement before `if err != nil { … }`."""
        return Nesting(self.tries, lambda each: each.body)

    @cached_property
    def _arm_nesting(self) -> Nesting[Arm]:
        return Nesting(self.arms)

    @cached_property
    def _by_target(self) -> AssignmentsByTarget:
        return AssignmentsByTarget(self.assignments)

    @cached_property
    def _accesses_by_origin(self) -> dict[Call | None, list[Access]]:
        return grouped(self.accesses, attrgetter("origin"))

    @cached_property
    def _by_name(self) -> dict[str, list[Call]]:
        return grouped(self.calls, attrgetter("name"))

    @cached_property
    def _by_method(self) -> dict[str, list[Call]]:
        return grouped(self.calls, attrgetter("method"))

    @cached_property
    def _callers(self) -> Callers:
        return Callers(self.calls, self.assignments, self.syntax)

    @cached_property
    def _by_origin(self) -> dict[Call | None, list[Call]]:
        return grouped(self.calls, attrgetter("origin"))
