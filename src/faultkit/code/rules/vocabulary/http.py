"""Calls that send an HTTP request: with which library and method, and whether they wait for ever."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.code.facts import Argument, Call, Facts
from faultkit.code.rules.vocabulary.bounds import is_bounded
from faultkit.code.rules.vocabulary.http_libraries import (
    BY_NAME,
    METHODS,
    REST_TEMPLATE,
    SPRING_METHODS,
    Library,
)
from faultkit.code.rules.vocabulary.variables import given_to

IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

_METHOD_KEY = re.compile(r"\bmethod['\"]?\s*[:=]\s*['\"`]([A-Za-z]+)['\"`]")
_URL = re.compile(r"ur[li]|href|endpoint|path|link|address", re.IGNORECASE)
_LITERAL_METHOD = re.compile(r"^['\"`]?([A-Za-z]+)['\"`]?$")
_GO_METHODS = {"Get": "GET", "Head": "HEAD", "Post": "POST", "PostForm": "POST"}
_BUILT = re.compile(r"java\.net\.http\.HttpClient\.newBuilder\(\).*\.build\(\)\.send(Async)?$")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    call: Call
    library: Library
    method: str
    """`GET` …; empty if the text does not tell."""
    timeout: bool | None
    """Whether it has a bound of its own or by its client; None if the text does not tell."""
    url: str
    """As written."""

    @property
    def is_safe(self) -> bool:
        return self.method in SAFE

    @property
    def client(self) -> Call | None:
        """The call that made the client; None for functions of the library and for clients from elsewhere."""
        return self.call.origin


@lru_cache(maxsize=4)
def http_requests(facts: Facts) -> tuple[HttpRequest, ...]:
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
    """Python: `requests = {}` or a parameter `requests`, and then `requests.get(key)`."""
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
    """By the call's name, and only among the libraries of a language if one is given."""
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
    """A variable or call that stands where the options may stand."""
    for each in call.positional:
        if each.place not in library.options or each.value.shape not in ("name", "call", "other"):
            continue
        # In the first place, most people give a URL.
        if each.place or (each.value.shape == "name" and not _URL.search(each.value.text)):
            return each
    return None


def _method_in(options: Argument, call: Call, facts: Facts) -> str:
    """The method that the options in a variable name; empty if the text does not tell."""
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
    """Go: the call of NewRequest whose request this one sends."""
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
    """Where what is sent stands; its keys are not options."""
    return 1 if call.method in ("post", "put", "patch") and library.name == "axios" else None


def _on_unknown_client(call: Call, library: Library) -> bool:
    """A client that came as a parameter may have a timeout."""
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
