"""Calls that send an HTTP request: their library and method, and whether they can wait for ever."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.code.facts import Argument, Assignment, Call, Facts, Loop, Scope
from faultkit.code.facts.facts import Placed
from faultkit.code.rules.vocabulary.http_libraries import (
    BY_NAME,
    METHODS,
    REST_TEMPLATE,
    SPRING_METHODS,
    Library,
)

IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

_METHOD_KEY = re.compile(r"\bmethod['\"]?\s*[:=]\s*['\"`]([A-Za-z]+)['\"`]")
_URL = re.compile(r"ur[li]|href|endpoint|path|link|address", re.IGNORECASE)
_LITERAL_METHOD = re.compile(r"^['\"`]?([A-Za-z]+)['\"`]?$")
_GO_METHODS = {"Get": "GET", "Head": "HEAD", "Post": "POST", "PostForm": "POST"}
_BUILT = re.compile(r"java\.net\.http\.HttpClient\.newBuilder\(\).*\.build\(\)\.send(Async)?$")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A call that sends an HTTP request."""

    call: Call
    library: Library
    method: str
    """`GET` …; empty if it is unknown."""
    timeout: bool | None
    """Whether the call or its client has a timeout; None if it is unknown."""
    url: str
    """The URL as written."""

    @property
    def is_safe(self) -> bool:
        return self.method in SAFE

    @property
    def client(self) -> Call | None:
        """The call that made the client; None for functions of the library and clients from elsewhere."""
        return self.call.origin


@lru_cache(maxsize=4)
def http_requests(facts: Facts) -> tuple[HttpRequest, ...]:
    """Return the calls that send HTTP requests."""
    return tuple(_requests(facts))


def _requests(facts: Facts) -> Iterator[HttpRequest]:
    own = {scope.name for scope in facts.scopes if scope.name}
    for call in facts.calls:
        library = library_of(call, facts.language)
        if (
            call.name in own
            or library is None
            or call.is_decorator
            or is_variable(call, facts)
            or (not call.arguments and library.name != "superagent")
        ):
            continue
        url = call.argument("url", place=0)
        if library.name == "superagent" and url is None:
            continue
        method = _method(call, library, facts)
        timeout = _timeout(call, library, facts)
        yield HttpRequest(call, library, method, timeout, "" if url is None else url.value.text)


def is_variable(call: Call, facts: Facts) -> bool:
    """Return whether the name is a local variable (Python), as in `requests = {}` and `requests.get(key)`."""
    head, dot, _ = call.written.partition(".")
    if facts.language != "python" or not dot or head in facts.imports.names:
        return False
    if not call.name.startswith(f"{head}."):
        return False
    around = list(facts.functions_around(call))
    return any(each.name == head for scope in around for each in scope.parameters) or any(
        head in each.targets and each.scope in around for each in facts.assignments
    )


def library_of(call: Call, language: str = "") -> Library | None:
    """Return the library by the name of a call, only among those of a language if one is given."""
    if _BUILT.match(call.name):
        return BY_NAME["java.net.http.HttpClient.send"]
    found = BY_NAME.get(call.name)
    return None if found is not None and language and language not in found.languages else found


def _method(call: Call, library: Library, facts: Facts) -> str:
    if call.method in METHODS and call.name not in library.plain:
        return call.method.upper()
    if library.name == "net/http":
        return _GO_METHODS.get(call.method) or _go_request(call, facts)
    if library.name == "urllib":
        return "POST" if call.argument("data", place=1) else "GET"
    if library.name == "java.net.http":
        return _java_request(call)
    if library.name == "RestTemplate":
        return SPRING_METHODS[call.method]
    given = call.argument("method")
    if given is None and (options := _named_options(call, library)) is not None:
        return _method_in(options, call, facts)
    if (
        given is None
        and call.name.endswith((".request", ".stream"))
        and library.name not in ("http", "axios")
    ):
        given = call.argument(place=0)
    if given is None:
        return "GET" if not call.spreads and not call.name.endswith(".send") else ""
    found = _LITERAL_METHOD.match(given.value.text)
    return found[1].upper() if found and given.value.shape == "text" else ""


def _named_options(call: Call, library: Library) -> Argument | None:
    """Return a variable or call at the position of the options."""
    for each in call.positional:
        if each.place not in library.options or each.value.shape not in ("name", "call", "other"):
            continue
        # In the first place, most people give a URL.
        if each.place or (each.value.shape == "name" and not _URL.search(each.value.text)):
            return each
    return None


def _method_in(options: Argument, call: Call, facts: Facts) -> str:
    """Return the method that options in a variable name; empty if it is unknown."""
    if options.value.shape != "name":
        return ""
    told = given_to(options.value.text, call, facts)
    found = _METHOD_KEY.search("\n".join(facts.text(each.span) for each in told))
    if found is not None:
        return found[1].upper()
    known = [each for each in told if each.value is not None and each.value.shape == "object"]
    texts = [facts.text(each.span) for each in told]
    return "" if not known or any("..." in text or "method" in text for text in texts) else "GET"


def request_of(call: Call, facts: Facts) -> Call | None:
    """Return the NewRequest call of the request that a Go call sends."""
    given = call.argument(place=0)
    if given is None:
        return None
    for each in facts.calls_named("net/http.NewRequest", "net/http.NewRequestWithContext"):
        if given.value.text in each.assigned and facts.function_of(each) is facts.function_of(call):
            return each
    return None


def _go_request(call: Call, facts: Facts) -> str:
    made = request_of(call, facts)
    if made is None:
        return ""
    word = made.argument(place=1 if made.method == "NewRequestWithContext" else 0)
    if word is None:
        return ""
    if word.value.shape == "text":
        return word.value.literal.upper()
    return word.value.text.rpartition("Method")[2].upper()


def _java_request(call: Call) -> str:
    given = call.argument(place=0)
    text = "" if given is None else given.value.text
    for method in ("POST", "PUT", "DELETE"):
        if f".{method}(" in text:
            return method
    return "GET" if "newBuilder" in text else ""


def _timeout(call: Call, library: Library, facts: Facts) -> bool | None:
    if _given(call, library) is not None or is_bounded(call, facts):
        return True
    if library.name == "net/http":
        return _go_timeout(call, facts)
    if library.name == "java.net.http":
        return _java_timeout(call, facts)
    if library.name == "RestTemplate":
        return _spring_timeout(call, facts)
    if library.name in ("http", "superagent") and _chained(call, facts, "setTimeout", "timeout"):
        return True
    if _unknown_options(call, library):
        return None
    client = call.origin
    if client is not None:
        if any(client.has(each) for each in library.on_client):
            return True
        if client.spreads or _sets_timeout(client, facts):
            return None
        if library.name == "axios" and any(each.value.shape == "name" for each in client.positional):
            return None
    elif _on_unknown_client(call, library):
        return None
    return False


def _given(call: Call, library: Library) -> Argument | None:
    for name in library.timeouts:
        found = call.argument(name)
        in_body = found is not None and found.place == _body_place(call, library)
        if found is not None and found.value.shape != "none" and not in_body:
            return found
    return None if library.place is None else call.argument(place=library.place)


def _unknown_options(call: Call, library: Library) -> bool:
    if call.spreads:
        return True
    data = _body_place(call, library)
    return any(
        each.value.shape in ("name", "call", "other")
        and each.place in library.options
        and each.place not in (0, data)
        for each in call.positional
    )


def _body_place(call: Call, library: Library) -> int | None:
    """Return the index of the body among the arguments; its keys are no options."""
    return 1 if call.method in ("post", "put", "patch") and library.name == "axios" else None


def _on_unknown_client(call: Call, library: Library) -> bool:
    """Return whether the client came as a parameter, so that it may have a timeout."""
    owners = ("Session.", "Client.", "session().", "create().", "PoolManager.")
    return library.name != "requests" and any(owner in call.name for owner in owners)


def _sets_timeout(client: Call, facts: Facts) -> bool:
    names = {f"{each}.{word}" for each in client.assigned for word in ("timeout", "defaults.timeout")}
    return any({*each.targets} & names for each in facts.assignments)


def _chained(call: Call, facts: Facts, *methods: str) -> bool:
    todo, seen = [call], set[int]()
    while todo:
        each = todo.pop()
        for later in facts.calls_on(each):
            if later.method in methods:
                return True
            if later.span.start not in seen or later.span.end not in seen:
                seen |= {later.span.start, later.span.end}
                todo.append(later)
    return any(made.method in methods for made in _before(call))


def _before(call: Call) -> Iterator[Call]:
    made = call.origin
    while made is not None:
        yield made
        made = made.origin


def _go_timeout(call: Call, facts: Facts) -> bool | None:
    made = request_of(call, facts)
    if made is not None and made.method == "NewRequestWithContext":
        context = made.argument(place=0)
        plain = context is not None and context.value.text in ("context.Background()", "context.TODO()")
        if not plain:
            return None
    client = call.origin
    if client is not None and client.name == "net/http.Client":
        if client.has("Timeout"):
            return True
        names = {f"{each}.Timeout" for each in client.assigned}
        return any({*each.targets} & names for each in facts.assignments)
    if call.name.startswith("net/http.Client."):
        return None
    return False


def _java_timeout(call: Call, facts: Facts) -> bool | None:
    given = call.argument(place=0)
    if given is None:
        return None
    text = given.value.text
    if given.value.shape == "name":
        built = [
            each.value.text
            for each in facts.assignments
            if text in each.targets and each.value is not None and "newBuilder" in each.value.text
        ]
        if not built:
            return None
        text = built[-1]
    return ".timeout(" in text


def _spring_timeout(call: Call, facts: Facts) -> bool | None:
    made = call.origin
    if made is None or made.name != REST_TEMPLATE or made.arguments:
        return None
    told = any(each.method in ("setRequestFactory", "setInterceptors") for each in facts.calls_on(made))
    return None if told else False


# Values of a variable: what is assigned to it, and what is put into it. Judges nothing.


_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_DEEPEST = 2
"""Levels that are followed: options that hold headers that hold a key."""


def given_to(name: str, place: Placed, facts: Facts) -> tuple[Assignment, ...]:
    """Return what a variable or a part of it is set to, in an enclosing function or at the top."""
    around: set[Scope | None] = {None, *facts.functions_around(place)}
    return tuple(each for each in facts.assignments if each.scope in around and _is_about(name, each.targets))


def text_around(call: Call, facts: Facts) -> str:
    """Return the text of a call, and the texts of assignments to the variables in it."""
    return "\n".join((facts.text(call.span), *_about(facts.text(call.span), call, facts, 0)))


def _about(text: str, place: Call, facts: Facts, depth: int) -> Iterator[str]:
    names = {*_NAME.findall(text)}
    told = [facts.text(each.span) for name in names for each in given_to(name, place, facts)]
    # `headers.set("a", b)`, `req.Header.Set("a", b)`
    function = next(iter(facts.functions_around(place)), None)
    if function is not None:
        told += [
            facts.text(each.span)
            for each in facts.within(facts.calls, function.span)
            if each.receiver_written.partition(".")[0] in names and each is not place
        ]
    yield from told
    if depth + 1 < _DEEPEST:
        for each in told:
            yield from _about(each, place, facts, depth + 1)


def _is_about(name: str, targets: tuple[str, ...]) -> bool:
    return any(each == name or each.startswith((f"{name}.", f"{name}[")) for each in targets)


# Calls that wait for a time, the length of the wait, and what limits the time of the code inside it.


SLEEPS = frozenset(
    {
        "time.sleep",
        "asyncio.sleep",
        "anyio.sleep",
        "trio.sleep",
        "gevent.sleep",
        "eventlet.sleep",
        "time.Sleep",
        "time.After",
        "time.NewTimer",
        "time.Tick",
        "Thread.sleep",
        "setTimeout",
        "timers/promises.setTimeout",
    }
)
_WAIT_WORDS = re.compile(
    r"^_*(sleep|delay|pause|wait|backoff|back_off)|(sleep|backoff|delay|_wait|Wait)$", re.IGNORECASE
)


def sleeps(facts: Facts) -> tuple[Call, ...]:
    """Return calls that wait for a time."""
    return tuple(call for call in facts.calls if is_sleep(call))


def is_sleep(call: Call) -> bool:
    """Return whether it is a known sleep, or a function whose name says that it waits."""
    if call.name in SLEEPS or (
        call.method == "sleep" and call.receiver.startswith("java.util.concurrent.TimeUnit")
    ):
        return True
    return _WAIT_WORDS.search(call.method) is not None and call.method not in (
        "wait_for",
        "waitFor",
        "waitFor",
    )


def waits_in(loop: Loop, facts: Facts) -> tuple[Call, ...]:
    """Return the waits in the body of a loop."""
    return tuple(call for call in facts.within(facts.calls, loop.body) if is_sleep(call))


def is_constant(call: Call) -> bool:
    """Return whether it waits the same time in every call."""
    text = " ".join(each.value.text for each in call.positional)
    return bool(call.positional) and re.fullmatch(r"[\d._\s*]+|[\d\s*]*time\.\w+[\d\s*]*", text) is not None


# Time limits around code: `asyncio.timeout`, `Promise.race` and similar calls.


_BLOCKS = frozenset(
    {
        "asyncio.timeout",
        "asyncio.timeout_at",
        "async_timeout.timeout",
        "anyio.fail_after",
        "anyio.move_on_after",
        "trio.fail_after",
        "trio.move_on_after",
    }
)
_FUNCTIONS = frozenset({"asyncio.wait_for", "asyncio.wait", "Promise.race", "p-timeout", "pTimeout"})
_BOUND_WORDS = ("timeout", "deadline")


def is_bounded(call: Call, facts: Facts) -> bool:
    """Return whether something around a call ends it after a time."""
    if any(each.name in _BLOCKS for each in facts.managed_around(call)):
        return True
    return any(
        each.name in _FUNCTIONS or any(word in each.method.lower() for word in _BOUND_WORDS)
        for each in facts.calls_around(call)
    )
