"""Clients and connections that a function makes, uses and drops: not kept, given on or returned."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, Scope, is_within
from faultkit.code.rules.vocabulary.repetition import frequency_of, runs_once

ENDS = frozenset(("quit", "end", "close", "disconnect", "$disconnect", "destroy"))
"""Methods that end a connection."""
_ONCE = lazy_regex(
    r"main|run|migrat|seed|setup|init|start|check|ping|health|test|wait|probe|cmd|command|boot|serve|install|open|connect"
    r"|new|create|build|make|provide|config|register|import|export|backup|dump|restore|consum|subscri|listen",
    re.IGNORECASE,
)
_MAKES = lazy_regex(
    r"^(get|open|create|new|make|acquire|connect)\w*(connection|conn|client|pool)$", re.IGNORECASE
)
_DECLARED = lazy_regex(rb"\b(const|let|var|val)\s+$")
_STUB = lazy_regex(
    r"^(New\w+Client|[nN]ew\w*Stub|\w+Stub|fetch|fetch_one|fetch_all|fetch_optional|execute|query_async)$"
)
"""A stub of gRPC is a view of a connection; queries of Rust are given one to run."""
_OF_STUB = lazy_regex(r"(?:Stub|Client)\(\s*\w+\s*\)")


def runs_seldom(scope: Scope) -> bool:
    """Return whether a function runs once or seldom, as its name tells."""
    return runs_once(scope) or _ONCE.match(scope.short_name) is not None


def is_for_one_use(call: Call, facts: Facts) -> bool:
    """Return whether a function with arguments makes a client, uses it and drops it."""
    if call.is_decorator or call.is_returned:
        return False
    scope = facts.named_function_of(call)
    if any(each.method == "use" and each.span.start == call.span.start for each in facts.calls_on(call)):
        return scope is not None and not runs_seldom(scope)
    if scope is None or scope is not facts.function_of(call) or runs_seldom(scope):
        return False
    if not scope.parameters or any("." in name or "[" in name for name in call.assigned):
        return False
    if call.is_discarded or call.is_argument or is_kept(call, scope, facts):
        return False
    if any(each.is_returned and each.span.start == call.span.start for each in facts.calls_on(call)):
        return False
    names = {*_end_of_chain(call, facts).assigned[:1]} - {"_"}
    given = any(
        argument.value.text.lstrip("&*") in names
        for each in facts.within(facts.calls, scope.body)
        for argument in each.arguments
        if not each.name.startswith(("errors.", "fmt."))
        and not (_STUB.search(each.method) and not _is_in_argument(each, facts))
        and not (each.constructs and "GrpcChannel" in call.name)
    )
    returned = any(
        step.kind == "return"
        and not names.isdisjoint(re.findall(r"(?<![\w.])\w+(?![\w.(])", _OF_STUB.sub("", step.text)))
        for step in facts.within(facts.steps, scope.body)
    )
    stored = any(
        each.value is not None and each.value.text.lstrip("&*") in names
        for each in facts.within(facts.assignments, scope.body)
    )
    return bool(names) and not (given or returned or stored)


def _is_in_argument(call: Call, facts: Facts) -> bool:
    """Return whether what a call makes is given to another, or is a field of a new object; answers of
    queries, which are awaited, hold no client."""
    return not call.is_awaited and any(
        is_within(call.span, argument.value.span)
        for around in facts.calls_around(call)
        for argument in around.arguments
    )


def _end_of_chain(call: Call, facts: Facts) -> Call:
    """Return the last call of a chain: `new Kafka(options).producer()`."""
    while not call.assigned:
        later = [each for each in facts.calls_on(call) if each.span.start == call.span.start]
        if len(later) != 1:
            break
        call = later[0]
    return call


def is_ended_here(caller: Call, facts: Facts) -> bool:
    """Return whether a function with arguments makes a connection, and ends it before it returns."""
    user = facts.named_function_of(caller)
    if user is None or not user.parameters or runs_seldom(user):
        return False
    names = {name for name in caller.assigned if name.isidentifier()}
    return any(
        each.method in ENDS and each.receiver_written in names
        for each in facts.own(facts.calls, facts.function_of(caller))
    )


def is_kept(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether the connection is kept in a field, or the function is there to make one."""
    if any("." in name for name in _end_of_chain(call, facts).assigned):
        return True
    if _MAKES.search(scope.short_name):
        # What FastAPI calls for each request makes one for each, by whatever name.
        return facts.language != "python" or frequency_of(call, facts) != "request"
    if is_global(call, scope, facts) or _is_stored(call, scope, facts):
        return True
    fields = {f"self.{name}" for name in call.assigned}
    return facts.language == "java" and not fields.isdisjoint(facts.assigned_names)


_STORES = frozenset(("insert", "put", "set", "Set", "store", "Store", "putIfAbsent", "TryAdd", "setdefault"))


def _is_stored(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether the connection is put into a collection of others: `CLIENTS.insert(key, client)`."""
    names = {name for each in (call, *facts.calls_around(call)) for name in each.assigned}
    return any(
        not names.isdisjoint(re.findall(r"\w+", argument.value.text))
        for each in facts.within(facts.calls, scope.body)
        if each.method in _STORES and each.span.start > call.span.end
        for argument in each.positional[1:]
    )


def is_global(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether it goes to a variable of the file: `if (!pool) pool = new Pool()`."""
    if facts.language == "python":
        return not facts.globals_in(scope).isdisjoint(call.assigned)
    made = [each for each in facts.assignments if each.call is call]
    if any(each.operator == ":=" or _DECLARED.search(_before(each, facts)) for each in made):
        return False  # A variable of the function, whatever the file has of the same name.
    return not facts.file_names.isdisjoint(call.assigned)


def _before(each: Assignment, facts: Facts) -> bytes:
    return facts.syntax.source[max(0, each.span.start - 8) : each.span.start]
