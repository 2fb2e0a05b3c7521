"""Functions that make clients, and what their callers do with a client: one use, many, or one request.

Which calls make a client, the rules know.
"""

from __future__ import annotations

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.vocabulary.repetition import is_over_items

_INVOKES = ("", ".get", ".Invoke", ".invoke", ".call", ".apply", ".getObject")
"""How a function in a field or variable is called."""
_STUB = lazy_regex(
    r"^(?:\w*[a-z]Client|\w+Stub|new\w*Stub|New\w+Client|new|with_interceptor|with_origin|max_\w+_size|Ok|Some|from)$"
)
"""What makes a view of a channel: a stub of gRPC, and what it is wrapped in."""


def stored_factory_calls(call: Call, facts: Facts) -> tuple[Call, ...]:
    """Return the calls of a lambda that makes a client and is kept: `connect = () => new Client()`."""
    scope = facts.function_of(call)
    if scope is None or not scope.is_anonymous or scope.parameters or not call.is_returned:
        return ()
    names = {
        each.targets[0].removeprefix("self.").removeprefix("this.")
        for each in facts.assignments
        if len(each.targets) == 1 and each.value is not None and each.value.span == scope.span
    }
    if not names:
        return ()
    wanted = {f"{name}{invoked}" for name in names for invoked in _INVOKES}
    return tuple(each for each in facts.calls if each.written.removeprefix("self.") in wanted)


def is_for_many(made: Call, facts: Facts) -> bool:
    """Return whether a client serves many items of a loop in the function that makes it."""
    names = {name for name in made.assigned if name.isidentifier()}
    scope = facts.function_of(made)
    if scope is None or not names or any(map(is_over_items, facts.loops_around(made))):
        return False
    return any(
        is_over_items(loop) and any(facts.mentions(name, loop.body) for name in names)
        for loop in facts.within(facts.loops, scope.body)
    )


def is_kept_in_request(made: Call, facts: Facts) -> bool:
    """Return whether a client becomes a part of a request: `c.set("s3", client())`, `req.s3 = client()`."""
    parameters = {each.name for scope in facts.functions_around(made) for each in scope.parameters}
    roots = {name.partition(".")[0] for name in made.assigned if "." in name}
    if made.is_argument:
        around = facts.calls_around(made)
        if around and around[-1].method in ("set", "Set", "put", "setAttribute", "setVar", "decorate"):
            roots.add(around[-1].receiver_written.partition(".")[0])
    return not roots.isdisjoint(parameters - {"self", "this", "app", "server", "fastify"})


def is_used_by_method(made: Call, user: Scope, factory: Scope | None, facts: Facts) -> bool:
    """Return whether a method with arguments uses at once what another method of its object makes."""
    if factory is None or not factory.is_method or not user.is_method or user.owner != factory.owner:
        return False
    has_arguments = any(each.name not in ("self", "cls") for each in user.parameters)
    return has_arguments and any(each.span.start == made.span.start for each in facts.calls_on(made))


def is_wrapped_result(made: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a function returns a stub of the channel that it makes: `NewRatesClient(conn)`."""
    if made.is_argument:
        around = [each for each in facts.calls_around(made) if facts.function_of(each) is scope]
        wraps = all(_STUB.match(each.method) for each in around)
        return wraps and any(each.is_returned for each in around)
    end, names = made, {*made.assigned}
    for _ in range(6):  # endpoint.connect().await.map_err(…)?
        later = [each for each in facts.calls_on(end) if each.span.start == made.span.start]
        if names or not later:
            break
        end = later[0]
        names = {*end.assigned}
    names.discard("_")
    names.discard("err")
    if not names:
        return False
    for each in facts.own(facts.calls, scope):
        if _STUB.match(each.method) and any(one.value.text.lstrip("&*") in names for one in each.positional):
            around = [each, *(one for one in facts.calls_around(each) if facts.function_of(one) is scope)]
            if any(one.is_returned for one in around):
                return True
            if any(
                one.is_returned or any(outer.is_returned for outer in facts.calls_around(one))
                for one in facts.calls_on(each)
            ):
                return True
    return False


_GETTER = lazy_regex(
    r"(?:@\w+\s*)*(?:(?:public|private|protected|internal|static|override)\s+)*get\s*\w*\s*\("
)


def read_of_property(scope: Scope, facts: Facts) -> Call | None:
    """Return a call on what a property returns, such as `self.client.get(url)`; None if it is no property."""
    is_property = any(each.method == "property" for each in scope.decorators) or (
        facts.language in ("javascript", "typescript", "tsx", "kotlin")
        and _GETTER.match(facts.text(scope.span)) is not None
    )
    if not is_property:
        return None
    path = f"self.{scope.short_name}"
    return next(
        (each for each in facts.calls if f"{each.receiver_written}.".startswith(f"{path}.")),
        None,
    )
