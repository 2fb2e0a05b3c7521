"""Keys of maps that clients choose: they come from a request, through the functions of a text.

The functions that keep such keys are called by handlers of requests with something that the request brought.
Removals that only undo a failed entry are told here from those that bound a map.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.stores import MapStore, Put, given_words, words

_REQUESTS = lazy_regex(
    r"(^|[./])(Request|HttpContext|HttpRequest|HttpServletRequest|ServletRequest|ServerRequest|ServerWebExchange"
    r"|ServerHttpRequest|FastifyRequest|ApplicationCall|RoutingContext|ContainerRequestContext|IncomingMessage)$"
    r"|(gin|echo|fiber|iris)(/v\d+)?\.(Context|Ctx)$"
)
_ADDRESSES = lazy_regex(
    r"<\s*(?:std::net::)?(?:IpAddr|Ipv[46]Addr|SocketAddr|InetAddress|IPAddress)\b|map\[netip\.Addr\]"
)
_LEVELS = 2
_REMOVES = ("delete", "pop", "remove", "Remove", "TryRemove", "invalidate", "Delete", "discard", "evict")


def has_addresses(store: MapStore) -> bool:
    """Return whether the keys of a map are addresses of clients, by their type."""
    return _ADDRESSES.search(store.text) is not None


def takes_request(scope: Scope) -> bool:
    """Return whether a function answers requests, or is given one."""
    return scope.route is not None or any(_REQUESTS.search(each.type) for each in scope.parameters)


def is_asked_by_clients(put: Put, facts: Facts) -> bool:
    """Return whether a handler of requests gives what the key is made of, directly or through a function."""
    return _is_given_by_handler(put.scope, facts, _LEVELS)


def _is_given_by_handler(scope: Scope, facts: Facts, levels: int) -> bool:
    for call in _calls_of(scope, facts):
        outer = [each for each in facts.functions_around(call) if each is not scope]
        handler = next((each for each in reversed(outer) if takes_request(each)), None)
        if handler is not None:
            given = given_words(handler, facts) | _OF_CONTROLLER
            if any(given & words(text) and not _FEW.search(text) for text in _texts(call)):
                return True
        elif levels > 1 and outer and _is_given_by_handler(outer[-1], facts, levels - 1):
            return True
    return False


_OF_CONTROLLER = frozenset(("Request", "HttpContext"))
"""Members of a controller that hold the request (C#)."""
_FEW = lazy_regex(
    r"(?<![a-z])(?:endpoint|plan|route|status|kind|locale|lang|version|tenant|region|currency|dialect|format)(?![a-z])",
    re.IGNORECASE,
)
"""Words of keys that a program has few of, though requests name them."""


def _texts(call: Call) -> Iterator[str]:
    yield from (each.value.text for each in call.arguments)


def _calls_of(scope: Scope, facts: Facts) -> Iterator[Call]:
    """Yield the calls of a function, also on objects whose type is not known, if no other has its name."""
    called, name = facts.callers_of(scope), scope.short_name
    yield from called
    is_alone = scope.is_method and name not in _COMMON and len(facts.functions_named(name)) == 1
    yield from facts.calls_of_method(name) if is_alone and not called else ()


_COMMON = frozenset(
    ("get", "set", "add", "put", "load", "find", "call", "run", "next", "use", "apply", "send", "update")
)


def is_memo_of_clients(store: MapStore, facts: Facts) -> bool:
    """Return whether a function returns another that keeps its results, and a handler calls one that was made
    when the program started: `const plan = memoize(find)`, then `plan(request.query.from)`."""
    maker = store.made.scope
    if maker is None or not store.is_closure:
        return False
    made = {
        name for call in facts.callers_of(maker) if facts.function_of(call) is None for name in call.assigned
    }
    for call in facts.calls if made else ():
        if call.written not in made:
            continue
        handler = next((each for each in facts.functions_around(call) if takes_request(each)), None)
        given = frozenset[str]() if handler is None else given_words(handler, facts)
        if any(given & words(text) and not _FEW.search(text) for text in _texts(call)):
            return True
    return False


def removed_on_failure(store: MapStore, facts: Facts) -> list[Span]:
    """Return the places that take an entry out because what it was to hold could not be loaded."""
    found = []
    for call in facts.calls_of_method(*_REMOVES):
        if call.receiver_written.removeprefix("self.") != store.bare:
            continue
        in_catch = any(
            each.method in ("catch", "exceptionally", "onErrorResume") for each in facts.calls_around(call)
        )
        if in_catch or facts.handlers_around(call):
            found.append(call.span)
    return found


def without(text: str, spans: list[Span], facts: Facts) -> str:
    """Return the whole text of a file without some places."""
    source = facts.syntax.source
    for span in sorted(spans, reverse=True):
        source = source[: span.start] + b" " * (span.end - span.start) + source[span.end :]
    return source.decode("utf-8", "replace") if spans else text
