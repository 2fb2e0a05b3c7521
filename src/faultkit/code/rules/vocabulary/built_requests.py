"""HTTP requests of Rust, C# and Kotlin: builders, typed clients, and where they keep their timeouts.

A request is often a chain, `client.get(url).header(…).send()`: the call that sends has no URL, and the
timeout stands anywhere in the chain or on the client. A client is known only if this text makes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.rules.vocabulary.call_paths import is_bounded_on_all_paths
from faultkit.code.rules.vocabulary.http_libraries import SPRING_METHODS
from faultkit.code.rules.vocabulary.name_pattern import NamePattern


@dataclass(frozen=True, slots=True)
class BuiltRequest:
    """A call that sends, before it is known as a request of a library."""

    library: str
    method: str
    timeout: bool | None
    url: str


_VERBS = ("get", "head", "options", "post", "put", "patch", "delete")
_REQWEST = NamePattern(
    r"^reqwest\.(?:blocking\.)?(?:get|Client(?:Builder)?\b.*\.(get|post|put|patch|delete|head|request)\(\).*\.send)$"
)
_HYPER = NamePattern(r"^hyper(_util)?\.client\b.*\.(get|request)$|^hyper\.Client\b.*\.(get|request)$")
_UREQ = NamePattern(
    r"^ureq\.(?:(get|post|put|patch|delete|head)\(\)|(?:agent\(\)|Agent\b.*)\.(get|post|put|patch|delete|head)\(\)).*"
    r"\.(call|send|send_json|send_form|send_string|send_bytes|send_empty)$"
)
_RUST_LIMITS = frozenset(
    ("timeout", "timeout_global", "timeout_read", "timeout_per_call", "read_timeout", "timeout_recv_response")
)
_RUST_CLIENTS = NamePattern(r"^reqwest\.Client\.(new|default|builder)$|^reqwest\.(get|ClientBuilder\.new)$")

_CLIENT_MADE = NamePattern(r"^reqwest\.Client(\.(new|default)|(Builder\.new|\.builder)\(\).*\.build)$")
_VERB_CALL = lazy_regex(r"\.(get|post|put|patch|delete|head|request)\(\).*\.send$")


def builds_requests(language: str) -> bool:
    """Return whether `built_request` knows a language."""
    return language in _READERS


def built_request(call: Call, facts: Facts) -> BuiltRequest | None:
    """Return what a call sends, if it sends an HTTP request."""
    reader = _READERS.get(facts.language)
    return None if reader is None or call.is_decorator else reader(call, facts)


def chain(call: Call) -> list[Call]:
    """Return a call and the calls that made its object, the nearest first."""
    found, each = list[Call](), call
    while len(found) < 40:
        found.append(each)
        if each.origin is None:
            break
        each = each.origin
    return found


def _url(calls: list[Call]) -> str:
    for each in calls:
        if each.method.lower() in _VERBS and each.arguments:
            return each.arguments[0].value.text
    return ""


def _rust(call: Call, facts: Facts) -> BuiltRequest | None:
    found = _REQWEST.match(call.name)
    if found is not None:
        calls = chain(call)
        verb = "get" if call.method == "get" else found[1]
        return BuiltRequest(
            "reqwest",
            "" if verb == "request" else verb.upper(),
            _reqwest_timeout(call, calls, facts),
            _url(calls),
        )
    if call.is_awaited and call.arguments and _HYPER.match(call.name):
        return BuiltRequest("reqwest", "", is_bounded_on_all_paths(call, facts), call.arguments[0].value.text)
    found = _UREQ.match(call.name)
    if found is None:
        return None
    calls = chain(call)
    root = calls[-1]
    timeout: bool | None = None
    if any(each.method in _RUST_LIMITS or "timeout" in each.method for each in calls):
        timeout = True
    elif root.name.startswith("ureq.") and root.name.count(".") == 1:
        timeout = False
    return BuiltRequest("ureq", (found[1] or found[2]).upper(), timeout, _url(calls))


def _reqwest_timeout(call: Call, calls: list[Call], facts: Facts) -> bool | None:
    if any(each.method in _RUST_LIMITS for each in calls) or is_bounded_on_all_paths(call, facts):
        return True
    if ".blocking." in call.name:
        return True  # 30 s by default, for the whole.
    if not call.is_awaited:
        return None  # A future: a limit may be put around it later.
    # With a middleware, or a builder that other code fills, the client is not known.
    root = calls[-1]
    return False if _RUST_CLIENTS.match(root.name) else None


def clients_without_timeout(facts: Facts) -> Iterator[Call]:
    """Yield calls that make a client without a timeout for requests through a field of another type.

    Such requests do not lead back to the client: they are known by the type of the field, or by its name.
    """
    if facts.language != "rust":
        return
    sent = [each for each in facts.calls_of_method("send") if _VERB_CALL.search(each.name)]
    open_ended = [each for each in sent if each.is_awaited and not is_bounded_on_all_paths(each, facts)]
    if not open_ended or any(part.method in _RUST_LIMITS for each in sent for part in chain(each)):
        return
    for call in facts.calls:
        calls = chain(call)
        if not _RUST_CLIENTS.match(calls[-1].name) or not _CLIENT_MADE.match(call.name):
            continue
        if any(each.method in _RUST_LIMITS for each in calls) or any(call in chain(each) for each in sent):
            continue
        fields = {*_fields_with(call, facts)}
        if any(_field_of(each) in fields for each in open_ended):
            yield call


def reqwest_client_apart(sent: Call, facts: Facts) -> Call | None:
    """Return the client of a request, if another function of this text makes it: its limit belongs there."""
    if facts.language != "rust":
        return None
    client = next((each for each in chain(sent) if _CLIENT_MADE.match(each.name)), None)
    if client is None or facts.named_function_of(client) is facts.named_function_of(sent):
        return None
    return client


def _fields_with(client: Call, facts: Facts) -> Iterator[str]:
    """Yield names that hold a client: of variables, and of the fields in a literal around it."""
    unwrapped = [each for each in facts.calls_on(client) if each.method in ("unwrap", "expect")]
    for each in (client, *unwrapped):
        yield from (name.rpartition(".")[2] for name in each.assigned)
    for around in facts.calls_around(client):
        place = [one.value.span == client.span for one in around.positional]
        for scope in facts.functions_named(around.method) if any(place) else ():
            # `Self::with_client(Client::new(), url)`: the parameter has the name of the field.
            names = [each.name for each in scope.parameters if each.name != "self"]
            yield from names[place.index(True) :][:1]
        if around.constructs:
            yield from (
                each.name
                for each in around.arguments
                if each.name and is_within(client.span, each.value.span)
            )


def _field_of(sent: Call) -> str:
    """Return `http` of `state.http.get(url).send()`."""
    owner = chain(sent)[-1].receiver_written
    return owner.rpartition(".")[2] if "." in owner else ""


_CSHARP = NamePattern(
    r"^(Get|Post|Put|Patch|Delete|Send)(Async|AsJsonAsync|StringAsync|StreamAsync|ByteArrayAsync|FromJsonAsync)?$"
)
_CSHARP_OWNER = lazy_regex(r"(^|[._])_?\w*(client|http)$", re.IGNORECASE)
_TOKEN = lazy_regex(r"\b(ct|cts?\.Token|\w*[tT]oken)$")


def cancellation_tokens(scope: Scope) -> set[str]:
    """Return the names of the parameters of a C# method that cancel it, known by their type."""
    return {each.name for each in scope.parameters if each.type.rpartition(".")[2] == "CancellationToken"}


def _csharp(call: Call, facts: Facts) -> BuiltRequest | None:
    verb = _CSHARP.match(call.method)
    if verb is None or not call.arguments:
        return None
    is_known = call.receiver == "HttpClient"
    is_guess = call.method.endswith("Async") and _CSHARP_OWNER.search(call.receiver_written) is not None
    if not is_known and not (is_guess and not call.receiver[:1].isupper()):
        return None
    timeout: bool | None = None
    scope = facts.named_function_of(call)
    tokens = set() if scope is None else cancellation_tokens(scope)
    has_token = any(_TOKEN.search(each.value.text) or each.value.text in tokens for each in call.arguments)
    if has_token or is_bounded_on_all_paths(call, facts):
        timeout = True
    elif call.origin is not None and call.origin.name == "HttpClient":
        client = call.origin
        names = {f"{name}.Timeout" for name in client.assigned} | {
            f"{name.removeprefix('self.')}.Timeout" for name in client.assigned
        }
        sets = not names.isdisjoint(facts.assigned_names)
        is_kept = any("." in name for name in client.assigned)
        timeout = True if client.has("Timeout") or sets else None if client.spreads or is_kept else False
    method = "" if verb[1] == "Send" else verb[1].upper()
    return BuiltRequest("HttpClient", method, timeout, call.arguments[0].value.text)


_KTOR = NamePattern(r"^io\.ktor\.client\.HttpClient\.(get|post|put|patch|delete|head|request)$")
_WITHOUT_LIMIT = ("Java", "Curl", "Js")
"""Engines of Ktor that wait for ever unless they are told otherwise."""
_OKHTTP = NamePattern(r"^okhttp3\.OkHttpClient\b.*\.newCall\(\)\.(execute|enqueue|await|executeAsync)$")
_CONNECTS = NamePattern(
    r"^java\.net\.(URL|URI\b.*\.toURL\(\))\.openConnection$|\.to(URL|Url)\(\)\.openConnection$"
)
_SENDS = ("getInputStream", "getResponseCode", "connect", "getOutputStream")
_STREAMS = NamePattern(r"^java\.net\.(URL|URI(\.create\(\))?\.toURL\(\))\.openStream$")
_URL_READS = NamePattern(r"^java\.net\.(URL|URI(\.create\(\))?\.toURL\(\))\.(readText|readBytes|openStream)$")
_TIMEOUT = lazy_regex(r"\b(set)?[rR]eadTimeout\b")


def _kotlin(call: Call, facts: Facts) -> BuiltRequest | None:
    if (fluent := _fluent(call, facts)) is not None:
        return fluent
    if _URL_READS.match(call.name):
        return BuiltRequest(
            "java.net", "GET", is_bounded_on_all_paths(call, facts) or False, call.receiver_written
        )
    if _CONNECTS.match(call.name):
        scope = facts.named_function_of(call)
        text = "" if scope is None else facts.text(scope.span)
        # A connection that is returned or passed on may get its limits elsewhere, but in this text.
        kept = call.is_returned or call.is_argument or scope is None
        if kept and _is_sent_here(facts):
            text, kept = facts.whole_text, False
        return BuiltRequest("java.net", "", True if _TIMEOUT.search(text) else None if kept else False, "")
    if _OKHTTP.match(call.name):
        return _okhttp(call, facts)
    found = _KTOR.match(call.name)
    if found is None or not call.arguments:
        return None
    timeout: bool | None = None
    client = call.origin
    if is_bounded_on_all_paths(call, facts) or "timeout" in facts.text(call.span).lower():
        timeout = True
    elif client is not None:
        engine = client.arguments[0].value.text if client.arguments else ""
        made = facts.text(client.span).replace("HttpTimeout", "")
        if re.search("(?<!connect)timeout", made, re.IGNORECASE):
            timeout = True
        elif engine in _WITHOUT_LIMIT:
            timeout = False
    method = "" if found[1] == "request" else found[1].upper()
    return BuiltRequest("Ktor", method, timeout, call.arguments[0].value.text)


def _okhttp(call: Call, facts: Facts) -> BuiltRequest:
    # 10 s for each step by default.
    off = any(
        each.method in ("readTimeout", "callTimeout")
        and each.arguments
        and each.arguments[0].value.text == "0"
        for each in chain(call)
    )
    made = call.origin
    text = "" if made is None else facts.text_with_values(made)
    verb = re.search(r"\.(post|put|patch|delete|head|method)\(", text)
    # A request is a GET until its builder is told otherwise.
    method = "GET" if verb is None else "" if verb[1] == "method" else verb[1].upper()
    return BuiltRequest("OkHttp", method, not off or is_bounded_on_all_paths(call, facts), "")


_BUILT_TEMPLATE = NamePattern(r"\bRestTemplateBuilder\b.*\.build\(\)\.\w+$")
_FLUENT = NamePattern(
    r"\b(?:RestClient|WebClient)\b.*\.(get|post|put|patch|delete|head)\(\).*\.(?:retrieve|exchange\w*|awaitExchange)\(\)"
    r"(?:\.\w+\(\))*\.(?:body|toEntity|toBodilessEntity|block|awaitBody|awaitBodyOrNull|awaitBodilessEntity)$"
)


def _fluent(call: Call, facts: Facts) -> BuiltRequest | None:
    """Return the request of Spring's RestClient, WebClient or a built RestTemplate, which has the limits."""
    if call.method in SPRING_METHODS and _BUILT_TEMPLATE.search(call.name):
        return BuiltRequest("Spring", SPRING_METHODS[call.method], None, "")
    found = _FLUENT.search(call.name)
    return None if found is None else BuiltRequest("Spring", found[1].upper(), None, "")


def _java(call: Call, facts: Facts) -> BuiltRequest | None:
    """Return the request of an `HttpURLConnection`, or of a client of Spring."""
    if (fluent := _fluent(call, facts)) is not None:
        return fluent
    if call.method == "execute" and _OKHTTP.match(call.name):
        return _okhttp(call, facts)
    made = call.origin
    # A resource or a file has an address, too.
    if made is not None and _STREAMS.match(call.name) and re.search(r"https?:|\+", facts.text(made.span)):
        return BuiltRequest(
            "java.net", "GET", is_bounded_on_all_paths(call, facts) or False, call.receiver_written
        )
    if _CONNECTS.match(call.name):
        scope = facts.named_function_of(call)
        text = "" if scope is None else facts.text(scope.span)
        if scope is None or not re.search(r"\bHttps?URLConnection\b", text):
            return None
        sends = any(each.method in _SENDS for each in facts.calls_on(call))
        if not sends and _is_handed_out(call, scope, facts) and facts.calls_of_method(*_SENDS):
            sends, text = True, facts.whole_text
        verb = re.search(r'setRequestMethod\("(\w+)"\)', text)
        method = "GET" if verb is None else verb[1]
        timeout = True if _TIMEOUT.search(text) else False if sends else None
        return BuiltRequest("java.net", method, timeout, "")
    return None


def _is_handed_out(made: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a function returns the connection that it opens."""
    names = {*made.assigned, *(name for each in facts.calls_around(made) for name in each.assigned)}
    names |= {
        name
        for each in facts.within(facts.assignments, scope.body)
        if each.value is not None and is_within(made.span, each.value.span)
        for name in each.targets
    }
    return made.is_returned or any(
        step.kind == "return" and step.text.strip(" ;") in names
        for step in facts.within(facts.steps, scope.body)
    )


def _is_sent_here(facts: Facts) -> bool:
    """Return whether this text also reads from the connections of java.net that it opens (Kotlin)."""
    return facts.syntax.has_any(b"inputstream", b"responsecode") and b"URLConnection" in facts.syntax.source


_READERS = {"rust": _rust, "csharp": _csharp, "kotlin": _kotlin, "java": _java}
