"""HTTP requests in code: which calls send one, with which method, and whether they can wait for ever.

The client libraries are in `http_libraries`; here are the functions that find their calls in facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Argument, Call, Facts, Scope
from faultkit.code.rules.vocabulary.built_requests import builds_requests, built_request, chain
from faultkit.code.rules.vocabulary.call_paths import is_bounded_on_all_paths
from faultkit.code.rules.vocabulary.client_fields import (
    SESSION_METHODS,
    is_endless_field,
    is_endless_transport,
    is_session_field,
    typed_field,
)
from faultkit.code.rules.vocabulary.half_limits import is_ended, is_ignored
from faultkit.code.rules.vocabulary.http_libraries import (
    BUILT,
    BY_NAME,
    METHODS,
    REST_TEMPLATE,
    SPRING_METHODS,
    Library,
)
from faultkit.code.rules.vocabulary.java_requests import java_method, java_timeout
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

_PRIVATE = lazy_regex(r"_(?!_)")
_METHOD_KEY = lazy_regex(r"\bmethod['\"]?\s*[:=]\s*['\"`]([A-Za-z]+)['\"`]")
_URL = lazy_regex(r"ur[li]|href|endpoint|path|link|address", re.IGNORECASE)
_LITERAL_METHOD = lazy_regex(r"^['\"`]?([A-Za-z]+)['\"`]?$")
_GO_METHODS = {"Get": "GET", "Head": "HEAD", "Post": "POST", "PostForm": "POST"}
_GO_LIMITS = lazy_regex(r"\bcontext\.With(Timeout|Deadline)\w*\(|\.Timeout\s*=|ResponseHeaderTimeout")
_BUILT = NamePattern(r"java\.net\.http\.HttpClient\.newBuilder\(\).*\.build\(\)\.send(Async)?$")


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


_SENDING = {*(name.rpartition(".")[2] for name in BY_NAME), *SESSION_METHODS, "send", "sendAsync"}
"""The last parts of the names of all calls that send requests, where requests are not built before."""


@lru_cache(maxsize=4)
def http_requests(facts: Facts) -> tuple[HttpRequest, ...]:
    """Return the calls that send HTTP requests."""
    return tuple(_requests(facts))


def _requests(facts: Facts) -> Iterator[HttpRequest]:
    builds = builds_requests(facts.language)
    injected = _injected_fetch(facts)
    for call in facts.calls if builds else facts.calls_of_method(*_SENDING, *injected):
        if builds and (built := built_request(call, facts)) is not None:
            yield HttpRequest(call, BUILT[built.library], built.method, built.timeout, built.url)
            continue
        library = library_of(call, facts.language)
        if library is None and call.method in injected and (call.is_awaited or call.is_returned):
            library = BY_NAME["fetch"]
        if library is None and is_session_field(call, facts):
            library = BY_NAME["requests.get"]
        if library is None and (typed := BY_NAME.get(typed_field(call, facts))) is not None:
            url = call.argument("url", place=0)
            known = True if _given(call, typed, facts) is not None else None
            yield HttpRequest(call, typed, call.method.upper(), known, "" if url is None else url.value.text)
            continue
        if library is None or call.is_decorator or (not call.arguments and library.name != "superagent"):
            continue
        url = call.argument("url", place=0)
        if library.name == "superagent" and url is None:
            continue
        method = _method(call, library, facts)
        timeout = _timeout(call, library, facts)
        yield HttpRequest(call, library, method, timeout, "" if url is None else url.value.text)


_FETCH_TYPE = lazy_regex(
    r"\b(\w+)\??\s*:\s*(?:typeof\s+(?:globalThis\.)?fetch|Fetch(?:Like|Fn|Function)?)\b|\b(\w+)\s*=\s*(?:globalThis\.)?fetch\s*[,)};]"
)


_HOLDS_FETCH = (b"typeof fetch", b"typeof globalThis.fetch", b": Fetch", b"= fetch", b"= globalThis.fetch")
"""One of them is in each text with such a name."""


@lru_cache(maxsize=4)
def _injected_fetch(facts: Facts) -> frozenset[str]:
    """Return parameters and fields that hold `fetch`, so that tests can replace it (JavaScript)."""
    source = facts.syntax.source
    if facts.syntax.language.family != "javascript" or not any(word in source for word in _HOLDS_FETCH):
        return frozenset()
    found = (name or other for name, other in _FETCH_TYPE.findall(facts.whole_text))
    return frozenset(name for name in found if name != "fetch")


def library_of(call: Call, language: str = "") -> Library | None:
    """Return the library by the name of a call, only among those of a language if one is given."""
    if call.method in ("send", "sendAsync") and _BUILT.match(call.name):
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
        return java_method(call, facts)
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
        # The first argument is usually a URL.
        if each.place or (each.value.shape == "name" and not _URL.search(each.value.text)):
            return each
    return None


def _method_in(options: Argument, call: Call, facts: Facts) -> str:
    """Return the method that options in a variable name; empty if it is unknown."""
    if options.value.shape != "name":
        return ""
    assignments = facts.assignments_to(options.value.text, call)
    found = _METHOD_KEY.search("\n".join(facts.text(each.span) for each in assignments))
    if found is not None:
        return found[1].upper()
    known = [each for each in assignments if each.value is not None and each.value.shape == "object"]
    texts = [facts.text(each.span) for each in assignments]
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
    request = request_of(call, facts)
    if request is None:
        return ""
    word = request.argument(place=1 if request.method == "NewRequestWithContext" else 0)
    if word is None:
        return ""
    if word.value.shape == "text":
        return word.value.literal.upper()
    return word.value.text.rpartition("Method")[2].upper()


def _timeout(call: Call, library: Library, facts: Facts) -> bool | None:
    if _given(call, library, facts) is not None or _is_ended_around(call, library, facts):
        return True
    if library.name == "net/http":
        return _go_timeout(call, facts)
    if library.name == "java.net.http":
        return java_timeout(call, facts)
    if library.name == "RestTemplate":
        return _spring_timeout(call, facts)
    if library.name == "superagent" and _chained(call, facts, "timeout"):
        return True
    if library.name == "http" and _chained(call, facts, "setTimeout") and is_ended(facts):
        return True
    if library.name == "axios" and "axios.defaults.timeout" in facts.assigned_names:
        return None
    if library.name in ("axios", "http") and _has_limit_in_variable(call, facts):
        return library.name == "axios" or is_ended(facts)
    if _unknown_options(call, library) and not _spreads_without_timeout(call, facts):
        return None
    if "javascript" in library.languages and _by_dispatcher(call, facts):
        return None
    client = call.origin
    if client is not None:
        given = client.argument(*library.on_client) if library.on_client else None
        if given is not None and given.value.text != "0":
            # Without a limit, the client is reported, not each of its calls.
            return None if given.value.shape == "none" else True
        if client.spreads or _sets_timeout(client, library, facts):
            return None
        if library.name == "axios" and any(each.value.shape == "name" for each in client.positional):
            return None
    elif _on_unknown_client(call, library):
        return None
    return False


def _is_ended_around(call: Call, library: Library, facts: Facts) -> bool:
    """Return whether something around a call ends it after a time.

    `withTimeout` of Kotlin ends no call that blocks its thread, unless that may be interrupted."""
    if not is_bounded_on_all_paths(call, facts):
        return False
    return facts.language != "kotlin" or any(
        each.method == "runInterruptible" or not each.method.startswith("withTimeout")
        for each in facts.calls_around(call)
        if each.method == "runInterruptible" or "imeout" in each.method
    )


def _given(call: Call, library: Library, facts: Facts) -> Argument | None:
    for name in library.timeouts:
        found = call.argument(name)
        in_body = found is not None and _is_no_option(found, call, library)
        if found is None or found.value.shape == "none" or in_body:
            continue
        if "python" in library.languages or not is_ignored(name, call, library.name, facts):
            return found
    return None if library.place is None else call.argument(place=library.place)


def _is_no_option(found: Argument, call: Call, library: Library) -> bool:
    """Return whether a key is one of a body or query: `requests.get(url, {"timeout": 3})`."""
    if library.name == "axios" and call.method in ("get", "delete", "head", "options") and found.place == 2:
        return True  # A third argument is not read.
    in_query = "python" in library.languages and found.place >= 0 and bool(found.name)
    return in_query or found.place == _body_place(call, library)


def _spreads_without_timeout(call: Call, facts: Facts) -> bool:
    """Return whether a private function passes on `**kwargs`, and no caller puts a timeout among them."""
    scope = facts.named_function_of(call)
    fetches = call.name == "fetch" or call.method in _injected_fetch(facts)
    if facts.language != "python" and scope is not None and fetches:
        return _passes_options_on(call, scope, facts)
    spread = [each for each in call.arguments if each.name == "**"]
    if facts.language != "python" or scope is None or len(spread) != 1:
        return False
    name = spread[0].value.text.strip("*")
    takes = re.search(rf"\*\*\s*{re.escape(name)}\b", facts.text(scope.head))
    if takes is None or not _PRIVATE.match(scope.short_name) or "timeout" in facts.text(scope.span):
        return False
    callers = facts.callers_of(scope)
    return bool(callers) and not any(each.has("timeout") or each.spreads for each in callers)


def _passes_options_on(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether `fetch` gets options that callers in this text give, and none has a signal."""
    spread = {each.value.text.strip(".") for each in call.arguments if each.name == "..."}
    given = {each.name for each in scope.parameters}
    return (
        bool(spread)
        and spread <= given
        and bool(facts.callers_of(scope))
        and not re.search(r"signal|abort|timeout", facts.whole_text, re.IGNORECASE)
    )


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


_LIMIT_KEY = lazy_regex(r"\b(?:timeout|signal|cancelToken)\b")


def _has_limit_in_variable(call: Call, facts: Facts) -> bool:
    """Return whether the options of a request are in a variable of this text, and have a limit."""
    first = call.argument(place=0)
    if first is None or first.value.shape != "name":
        return False
    made = facts.assignments_to(first.value.text, call)
    return any(_LIMIT_KEY.search(facts.text(each.span)) for each in made)


def _body_place(call: Call, library: Library) -> int | None:
    """Return the index of the body among the arguments; its keys are no options."""
    return 1 if call.method in ("post", "put", "patch") and library.name == "axios" else None


def _on_unknown_client(call: Call, library: Library) -> bool:
    """Return whether the client came as a parameter, so that it may have a timeout."""
    owners = ("Session.", "Client.", "session().", "create().", "PoolManager.")
    return library.name != "requests" and any(owner in call.name for owner in owners)


def _sets_timeout(client: Call, library: Library, facts: Facts) -> bool:
    # The instance itself has no such setting in axios.
    words = ("defaults.timeout",) if library.name == "axios" else ("timeout", "defaults.timeout")
    names = {f"{each}.{word}" for each in client.assigned for word in words}
    return not names.isdisjoint(facts.assigned_names)


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
    return any(origin.method in methods for origin in chain(call)[1:])


def _is_given(call: Call, facts: Facts) -> bool:
    """Return whether a caller gives the request, whose context may have a limit (Go)."""
    scope, first = facts.function_of(call), call.argument(place=0)
    if scope is None or first is None or call.method != "Do":
        return False
    return any(each.name == first.value.text for each in scope.parameters)


def _is_limited_by_maker(call: Call, facts: Facts) -> bool:
    """Return whether a function of this text makes the request, with a context that ends (Go)."""
    given = call.argument(place=0)
    made = () if given is None else facts.assignments_to(given.value.text, call)
    makers = {
        each.call.method
        for each in made
        if each.call is not None and given is not None and each.targets[0] == given.value.text
    }
    own = [each for each in facts.functions_named(*makers) if "NewRequest" in facts.text(each.body)]
    return any(_GO_LIMITS.search(facts.text(each.body)) for each in own)


_ENDLESS_CONTEXTS = ("context.Background()", "context.TODO()")


def _has_context(request: Call, call: Call, facts: Facts) -> bool:
    """Return whether a request has a context that its maker may have limited (Go)."""
    if request.method == "NewRequestWithContext":
        context = request.argument(place=0)
        return (
            context is None
            or "DefaultClient" in call.name
            or "Context()" in context.value.text
            or _GO_LIMITS.search(facts.whole_text) is not None
        ) and not (context is not None and context.value.text in _ENDLESS_CONTEXTS)
    given = [
        each.argument(place=0)
        for each in facts.calls_of_method("WithContext")
        if each.receiver_written in request.assigned and each.span.end <= call.span.end
    ]
    return any(each is not None and each.value.text not in _ENDLESS_CONTEXTS for each in given)


def _go_timeout(call: Call, facts: Facts) -> bool | None:
    request = request_of(call, facts)
    if request is None and _is_limited_by_maker(call, facts):
        return True
    if request is None and _is_given(call, facts):
        return None
    if request is not None and _has_context(request, call, facts):
        return None
    client = call.origin
    if client is not None and client.name == "net/http.Client":
        if client.has("Timeout"):
            return True
        if not {f"{each}.Timeout" for each in client.assigned}.isdisjoint(facts.assigned_names):
            return True
        return False if is_endless_transport(client, facts) else None
    if call.name.startswith("net/http.Client."):
        return False if is_endless_field(call, facts) else None
    return False


_LIMITS_OF_AGENT = lazy_regex(r"headersTimeout|bodyTimeout")


def _by_dispatcher(call: Call, facts: Facts) -> bool:
    """Return whether a request of undici is given a dispatcher that has limits, or comes from elsewhere."""
    given = call.argument("dispatcher")
    if given is None:
        return False
    made = facts.assignments_to(given.value.text, call) if given.value.text.isidentifier() else ()
    values = [each.value.text for each in made if each.value is not None] or [given.value.text]
    return any(
        not each.startswith("new ") or "(" not in each or _LIMITS_OF_AGENT.search(each) for each in values
    )


def _spring_timeout(call: Call, facts: Facts) -> bool | None:
    template = call.origin
    if template is None or template.name != REST_TEMPLATE or template.arguments:
        return None
    is_configured = any(
        each.method in ("setRequestFactory", "setInterceptors") for each in facts.calls_on(template)
    )
    return None if is_configured else False
