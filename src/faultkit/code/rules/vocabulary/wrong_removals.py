"""Listeners that are not removed although the text removes them: by another function, or not on every way.

bus.on("tick", this.show.bind(this));        Each `bind`, arrow function and method reference is a function of
bus.off("tick", this.show.bind(this));       its own: the second removes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, Scope, Value, is_within
from faultkit.code.facts.groups import grouped
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.removals import (
    BY_FUNCTION,
    is_known_function,
    is_taken_away,
    key_of,
    name_of,
)
from faultkit.code.rules.vocabulary.short_lives import outlives, repeated_around

_ON = frozenset(("on", "addListener", "addEventListener", "prependListener"))
_ADDS = NamePattern(
    r"^(on|once|prependListener|subscribe|connect|register|(add|register)_?\w*([lL]istener|[oO]bserver|[cC]allback|[hH]andler))$"
)
_BOUND = lazy_regex(r"\.bind\s*\([^()]*\)$")
_JVM_OFF = NamePattern(
    r"^(remove|unregister|deregister|detach)\w*(Listener|Observer|Callback|Handler|Subscriber)$"
)
_PYTHON_OFF = frozenset(
    ("remove_listener", "remove_done_callback", "remove_handler", "remove_callback", "remove_observer",
     "off", "disconnect", "unsubscribe", "unregister", "remove_subscriber")
)  # fmt: skip
_PARTIAL = lazy_regex(r"^(functools\.)?partial\s*\(|^lambda\b")
_SETTLES = lazy_regex(r"\b(resolve|reject|fulfil\w*|done)\s*\(")


def removals_of_new_functions(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield calls that are to remove a listener and are given a function that was never added."""
    if facts.language == "csharp":
        for each in facts.assignments:
            if each.operator != "-=" or each.value is None:
                continue
            if each.value.shape == "function" or _was_never_added(each, facts):
                what = f"this function was never added to {each.targets[0]}: nothing is removed"
                yield each.span, what
        return
    for call, given in _removals(facts):
        if call.receiver_written and _is_new(given, call, facts):
            shown = facts.in_words_of(call, call.written)
            yield call.span, f"{shown}() is given a new function, which was never added: it removes nothing"
        elif call.receiver_written and _is_another(given, call, facts):
            shown = facts.in_words_of(call, call.written)
            yield call.span, f"{shown}() is given {given.text}, which was never added: it removes nothing"


def _was_never_added(each: Assignment, facts: Facts) -> bool:
    """Return whether only functions that are written in place were added to an event (C#)."""
    event = key_of("".join(each.targets[:1]))
    added = [
        one.value
        for one in facts.assignments
        if one.operator == "+=" and one.value is not None and key_of("".join(one.targets[:1])) == event
    ]
    return (
        bool(added)
        and all(one.shape == "function" for one in added)
        and each.value is not None
        and (is_known_function(each.value, facts))
    )


def _is_another(given: Value, call: Call, facts: Facts) -> bool:
    """Return whether a function of this text is removed, and others were added to the same object.

    `bus.on(topic, (event) => this.show(event))`, then `bus.off(topic, this.show)`."""
    if given.shape != "name" or facts.language == "java" or not is_known_function(given, facts):
        return False
    key, event = key_of(call.receiver_written), call.positional[0].value.text
    at = -1 if facts.language == "python" else 1
    added = [
        each.positional[at].value
        for each in _added_to(facts).get(key, ())
        if len(each.positional) > max(at, 0)
        if each.positional[0].value.text == event or len(call.positional) == 1
    ]
    return bool(added) and all(
        each.shape in ("function", "call", "other") and name_of(each, facts) != given.text for each in added
    )


@lru_cache(maxsize=4)
def _added_to(facts: Facts) -> dict[str, list[Call]]:
    """Return the calls that add listeners, by the keys of their objects."""
    added = facts.calls_with_method(_ADDS.match)
    return grouped(added, lambda call: key_of(call.receiver_written))


def _removals(facts: Facts) -> Iterator[tuple[Call, Value]]:
    """Yield calls that remove a listener, each with the function that it is given."""
    if facts.syntax.language.family == "javascript":
        calls = facts.calls_of_method(*BY_FUNCTION)
        yield from ((call, call.positional[1].value) for call in calls if len(call.positional) > 1)
        return
    if facts.language == "python":
        calls = facts.calls_of_method(*_PYTHON_OFF)
    else:
        calls = tuple(
            call for call in facts.calls if facts.language == "java" and _JVM_OFF.match(call.method)
        )
    yield from ((call, call.positional[-1].value) for call in calls if call.positional)


def _is_new(given: Value, call: Call, facts: Facts) -> bool:
    """Return whether a function is made where it is given, or in the same function for this alone."""
    if _makes_function(given, facts):
        return True
    if given.shape != "name" or not given.text.isidentifier():
        return False
    scope = facts.named_function_of(call)
    if scope is None:
        return False
    made = [
        each
        for each in facts.within(facts.assignments, scope.body)
        if each.targets == (given.text,) and each.value is not None
    ]
    if not made or not all(each.value is not None and _makes_function(each.value, facts) for each in made):
        return False
    uses = re.findall(rf"(?<![\w.]){re.escape(given.text)}\b", facts.text(scope.body))
    # Made, removed, and used for nothing else.
    return len(uses) == 2


def _makes_function(value: Value, facts: Facts) -> bool:
    text = value.text
    if facts.language == "java":
        return value.shape == "function" or "->" in text or re.fullmatch(r"[\w.]+::\w+", text) is not None
    if facts.language == "python":
        return _PARTIAL.match(text) is not None
    return value.shape == "function" or (value.shape == "call" and _BOUND.search(text) is not None)


def kept_after_timeout(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield time-outs of promises that reject and leave the listener of the promise where it was added."""
    for promise in facts.calls_named("Promise"):
        given = promise.argument(place=0)
        executor = None if given is None else facts.function_at(given.value.span)
        if executor is None:
            continue
        inside = tuple(facts.within(facts.calls, executor.body))
        added = [
            call
            for call in inside
            if call.method in _ON
            and len(call.positional) > 1
            and call.positional[1].value.shape == "name"
            and call.receiver_written
            and facts.function_of(call) is executor
            and not _is_made_here(call, promise, facts)
        ]
        for listen in added:
            name = listen.positional[1].value.text
            around = facts.named_function_of(promise) or executor
            removals = [
                call
                for call in facts.within(facts.calls, around.body)
                if call.method in BY_FUNCTION and _gives(call, name)
            ]
            # A listener that nothing removes is named by another rule.
            for timer in inside if removals else ():
                if timer.method != "setTimeout" or not timer.positional:
                    continue
                if _leaves_listener(timer, removals, executor, facts):
                    shown = facts.in_words_of(listen, listen.receiver_written)
                    what = f"after this time-out {name} stays among the listeners of {shown}"
                    yield timer.span, what
                    break


def kept_abort_listeners(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield listeners for the abort of a signal that lives longer than the work, which nothing removes.

    `{ once: true }` removes them when the signal is aborted, which may be at the end of the process."""
    for call in facts.calls_of_method("addEventListener"):
        event = call.argument(place=0)
        if event is None or event.value.literal != "abort" or len(call.positional) < 2 or call.has("signal"):
            continue
        scope = facts.named_function_of(call)
        given = call.positional[1].value
        if scope is None or not _lives_on(call, scope, facts) or is_taken_away(call, given, facts):
            continue
        shown = facts.in_words_of(call, call.receiver_written)
        yield call.span, f"each call adds a listener to {shown}, which lives on, and none is removed"


def _lives_on(listen: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a signal is one for many calls of a function."""
    path = listen.receiver_written.replace("?.", ".")
    head = path.partition(".")[0]
    run = repeated_around(listen, facts)
    if run is not None and run.caller is None:
        return outlives(path, listen, run, facts)
    own = [one.name for one in scope.parameters]
    at = next((place for place, name in enumerate(own) if head in re.findall(r"[\w$]+", name)), None)
    if at is None and head in ("self", "this"):
        return _runs_again(scope) and _is_set_by_maker(path, scope, facts)
    if at is None:
        if any(head in each.targets for each in facts.within(facts.assignments, scope.body)):
            return False
        around = [each for each in facts.functions_around(listen) if is_within(scope.span, each.body)]
        inside = {facts.named_function_of(call) for call in facts.callers_of(scope)}
        known = head in facts.file_names or head in facts.imports.names
        # A function that the one around it calls itself works for that call of it alone.
        given = inside.isdisjoint(around) and any(
            head in re.findall(r"[\w$]+", one.name) for each in around for one in each.parameters
        )
        return (known or given) and _runs_again(scope)
    return any(_hands_on_long(each, at, facts) for each in facts.callers_of(scope))


def _runs_again(scope: Scope) -> bool:
    """Return whether a function is called again and again: it does not begin something, or is given work."""
    if scope.short_name in ("main", "constructor"):
        return False
    return bool(scope.parameters) or not re.match(
        r"(start|run|init|begin|open|listen|connect|setup)", scope.short_name
    )


def _is_set_by_maker(path: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a field of an object is set once, when the object is made."""
    field = "self." + path.split(".")[1].lstrip("?!").rstrip("?!")
    return all(
        each.scope is None or each.scope.short_name in ("constructor", "__init__")
        for each in facts.assignments
        if field in each.targets and each.owner in ("", scope.owner)
    )


def _hands_on_long(caller: Call, at: int, facts: Facts) -> bool:
    """Return whether a caller gives the same signal again and again: one of the file, or in each round."""
    given = next((each.value for each in caller.arguments if each.place == at), None)
    if given is None or given.shape not in ("name", "object"):
        return False
    text = given.text
    if given.shape == "object":
        signal = re.search(r"\bsignal(?:\s*:\s*([\w$.]+))?", text)
        if signal is None:
            return False
        text = signal[1] or "signal"
    head = text.partition(".")[0]
    around = [*facts.functions_around(caller)]
    bound = any(head == one.name for scope in around for one in scope.parameters)
    made = [each for each in facts.assignments if head in each.targets and each.scope in around]
    if (head in facts.file_names and not bound and not made) or re.match(r"(this|self)\.", text):
        return True
    loops = [loop for loop in facts.loops_around(caller) if loop.kind != "comprehension"]
    return bool(loops) and not any(is_within(each.span, loops[0].body) for each in made)


def removed_on_success_only(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield removals after a wait, outside of `finally`, of a listener that the same function has added."""
    for call in facts.calls_of_method(*BY_FUNCTION):
        scope = facts.function_of(call)
        if scope is None or not scope.is_async or len(call.positional) < 2 or not call.receiver_written:
            continue
        if call.receiver_written == "process":
            continue  # A child that waits for its parent's messages ends with the failure.
        name = call.positional[1].value.text.rstrip("!")
        if facts.is_in_finally(call) or facts.handlers_around(call) or not name.isidentifier():
            continue
        added = [
            each
            for each in facts.within(facts.calls, Span(scope.body.start, call.span.start))
            if each.method in _ON and _gives(each, name) and each.receiver_written == call.receiver_written
        ]
        removals = [
            each
            for each in facts.within(facts.calls, scope.body)
            if each.method in BY_FUNCTION and _gives(each, name)
        ]
        if len(added) != 1 or len(removals) != 1 or _is_made_here(call, call, facts):
            continue
        waits = [
            step
            for step in facts.within(facts.steps, Span(added[0].span.end, call.span.start))
            if step.kind == "await" and facts.function_of(step) is scope and not facts.tries_around(step)
        ]
        if waits:
            shown = facts.text(call.span)
            yield call.span, f"{shown} is skipped if what is awaited before it fails: the listener stays"


def _gives(call: Call, name: str) -> bool:
    return len(call.positional) > 1 and call.positional[1].value.text.rstrip("!") == name


def _is_made_here(listen: Call, promise: Call, facts: Facts) -> bool:
    """Return whether what is listened to was made for this promise and ends with it."""
    head = listen.receiver_written.replace("?.", ".").partition(".")[0]
    around = facts.named_function_of(promise)
    if head in ("self", "this") or around is None:
        return False
    return any(
        head in each.targets and each.call is not None
        for each in facts.within(facts.assignments, around.body)
    )


def _leaves_listener(timer: Call, removals: list[Call], executor: Scope, facts: Facts) -> bool:
    function = facts.function_at(timer.positional[0].value.span)
    if function is None or not _SETTLES.search(facts.text(function.span)):
        return False
    if any(is_within(each.span, function.span) for each in removals):
        return False
    # `settle(reject, error)`, where settle removes the listener.
    called = {call.method for call in facts.within(facts.calls, function.span)}
    passed = {
        argument.value.text
        for call in facts.within(facts.calls, function.span)
        for argument in call.arguments
    }
    cleaning = {
        scope.short_name
        for scope in facts.scopes
        if scope.short_name and any(is_within(each.span, scope.span) for each in removals)
    }
    if cleaning & (called | passed):
        return False
    # `.finally(() => off())` on the promise itself.
    return not any(not is_within(each.span, executor.span) for each in removals)


# C#: registrations with tokens that live as long as the program.

_LONG_TOKEN = lazy_regex(r"\b(_\w+|this\.\w+|\w*[lL]ifetime\w*|Application(Stopping|Stopped))\b")
_ENDED = r"\b{name}\??\.(Dispose(Async)?|Unregister)\("


def kept_registrations(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield linked token sources that a method makes again and again and does not dispose of."""
    for call in facts.calls_of_method("CreateLinkedTokenSource"):
        scope = facts.function_of(call)
        if scope is None or call.is_managed or call.is_returned or len(call.assigned) != 1:
            continue
        name = call.assigned[0]
        if not name.isidentifier() or name.startswith("_"):
            continue
        given = " ".join(each.value.text for each in call.arguments)
        text = facts.text(scope.body)
        # Who gets the token only cannot dispose of its source.
        gives_token = any(
            step.kind == "return" and step.text.strip(" ;") == f"{name}.Token"
            for step in facts.own(facts.steps, scope)
        )
        if not (gives_token or _LONG_TOKEN.search(given) or facts.loops_around(call)):
            continue
        # What is kept or handed on is disposed of elsewhere.
        passed = re.search(rf"[(,=]\s*{re.escape(name)}\s*[,);}}]", text)
        fields = any(each.targets == (name,) and each.scope is None for each in facts.assignments)
        if passed or fields or re.search(_ENDED.format(name=re.escape(name)), text):
            continue
        yield (
            call.span,
            f"{name} is never disposed of: it stays registered with its tokens as long as they live",
        )
