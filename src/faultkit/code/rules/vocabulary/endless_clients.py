"""HTTP clients that this text makes without a limit of time, or whose limit it switches off.

The requests of such a client are often made elsewhere, or through a chain that does not show the client.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.built_requests import chain
from faultkit.code.rules.vocabulary.cancellation_limits import is_limited
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_CONFIGURED = lazy_regex(
    r"requestFactory|RequestFactory|clientConnector|ClientConnector|setDefaultRequestConfig|customizers?\b|\.apply\("
    r"|interceptors?\b|Configurer|register\(|property\(|setConnectionManager|setDefaultSocketConfig|HttpConnector"
)
"""Parts of a client that may have the limit."""
_PARTS = NamePattern(
    r"(^|\.)(RequestConfig\.custom\(\)(\.\w+\(\))*\.build|\w+ClientHttpRequestFactory|(Web|Http)ClientOptions(\.\w+\(\))*(\.\w+)?"
    r"|ClientBuilder\.newBuilder\(\)(\.\w+\(\))*\.build"
    r"|reactor\.netty\.http\.client\.HttpClient\.create\(\)(\.\w+\(\))*\.\w+)$"
)
"""The parts themselves, if this text makes them."""
_OF_CONNECTING = lazy_regex(
    r"connect(?:ion)?_?(?:request_?|acquire_?|establish_?)?timeout|handshake|writetimeout|write_timeout"
    r"|keepalive|idle_?timeout|pool\w*timeout|lease|acquire|exception|validat|interrupted"
)
"""Names of limits, in small letters, that do not bound the wait for an answer."""
_MADE = NamePattern(
    r"(^|\.)(RestTemplateBuilder(\.\w+\(\))*\.build"
    r"|WebClient\.(create|builder\(\)(\.\w+\(\))*\.build|Builder(\.\w+\(\))*\.build)"
    r"|RestClient\.(create|builder\(\)(\.\w+\(\))*\.build|Builder(\.\w+\(\))*\.build)"
    r"|HttpClients\.createDefault|HttpClients\.custom\(\)(\.\w+\(\))*\.build|HttpClientBuilder\.create\(\)(\.\w+\(\))*\.build"
    r"|HttpAsyncClients\.createDefault|ClientBuilder\.newClient)$"
)
_OF_SEARCH = NamePattern(r"\b(elasticsearch|opensearch)\b")
"""Clients of search engines, which limit each read to 30 s by themselves."""
_LIMITS_CONNECTING = NamePattern(r"[cC]onnect(ion)?(Request)?Timeout")
_REST_TEMPLATE = NamePattern(r"(^|\.)RestTemplate$")
_OKHTTP = NamePattern(r"(^|\.)OkHttpClient\b.*\.(readTimeout|connectTimeout|writeTimeout)$")
_JAVA_WORDS = (
    b"OkHttpClient", b"RestTemplate", b"WebClient", b"RestClient", b"HttpClients", b"HttpAsyncClients",
    b"ClientBuilder", b"RequestConfig", b"ClientOptions", b"ClientHttpRequestFactory", b"reactor.netty",
)  # fmt: skip
"""One of them is in each name that the three patterns above match."""
_ZERO = lazy_regex(r"^(0L?|Duration\.ZERO|0\.\w+|Duration\.of\w+\(0\))$")
_OFF = {
    "kotlin": lazy_regex(
        r"\b(request|socket|connect)Timeout(Millis)?\s*=\s*(0\b|null|Long\.MAX_VALUE|[\w.]*INFINITE_TIMEOUT_MS)"
    ),
    "csharp": lazy_regex(
        r"(?<![\w.])(\w+\.)?Timeout\s*=\s*((System\.Threading\.)?Timeout\.Infinite\w*|TimeSpan\.MaxValue|-1\b)"
        r"|\bCommandTimeout\s*=\s*0\b|\.SetCommandTimeout\(\s*0\s*\)|\bcommandTimeout:\s*0\b"
    ),
    "javascript": lazy_regex(r"\b(headersTimeout|bodyTimeout)\s*:\s*0\b|\btimeout\s*:\s*false\b"),
    "python": lazy_regex(r"ClientTimeout\(\s*(total\s*=\s*)?(None|0)\s*,?\s*\)"),
}


def endless_clients(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield the place of each such client, and what is wrong with it."""
    if facts.language in ("java", "kotlin"):
        yield from _java(facts)
    if facts.language == "kotlin" and facts.imports_any("io.ktor.client"):
        yield from _switched_off(facts)
    if facts.language == "csharp" and re.search(
        r"HttpClient|Rest(Client|Sharp)|ommandTimeout", facts.whole_text
    ):
        # Each request has a limit of its own where a token is cancelled after a time.
        if _LIMITED_EACH.search(facts.syntax.source) is None:
            yield from _switched_off(facts)
        yield from _after_headers(facts)
    if facts.syntax.language.family == "javascript":
        if facts.imports_any("undici", "ky"):
            yield from _switched_off(facts)
        yield from _scripts(facts)
    if facts.language == "kotlin" and facts.imports_any("io.ktor.client.engine"):
        yield from _ktor(facts)
    if facts.language == "python" and facts.imports_any("aiohttp"):
        yield from _switched_off(facts)
    by_language = {"go": _resty, "rust": _rust, "python": _models, "java": _zero, "kotlin": _zero}
    find = by_language.get(facts.language)
    if find is not None:
        yield from find(facts)


def only_makes(facts: Facts) -> bool:
    """Return whether a text of C# makes clients and sends nothing: its users may limit each request."""
    return facts.language == "csharp" and _SENDS.search(facts.syntax.source) is None


_LIMITED_EACH = TextPattern(
    rb"CancelAfter\(|\bWithTimeout\w*\(|\.WaitAsync\(|TimeoutStrategy|AddTimeout\(|TimeoutAsync|CancellationTokenSource\(\s*[\w.]"
)
"""C#: what limits each request apart from its client."""
_SENDS = TextPattern(
    rb"\.(?:Get|Post|Put|Patch|Delete|Send|Execute|Download|Upload)(?:\w*Async)?(?:<[^;>()]*>)?\(|[cC]ommandTimeout"
)
"""C#: what sends with a client."""
_MAIL_SESSIONS = (
    "jakarta.mail.Session.getInstance", "jakarta.mail.Session.getDefaultInstance",
    "javax.mail.Session.getInstance", "javax.mail.Session.getDefaultInstance",
    "Session.getInstance", "Session.getDefaultInstance",
)  # fmt: skip
_RESTY = NamePattern(r"^github\.com/go-resty/resty(/v\d)?\.New$")
_RESTY_LIMITS = ("SetTimeout", "SetContext", "NewWithClient", "WithTimeout")
_UREQ = ("ureq.AgentBuilder.new", "ureq.Agent.new", "ureq.agent", "ureq.Agent.new_with_defaults")
_UREQ_LIMITS = ("timeout", "timeout_read", "timeout_global", "timeout_recv_response")
_MODELS = NamePattern(r"^(openai|anthropic|mistralai|cohere)\.\w+$")


_BODY_READS = (
    "CopyToAsync",
    "ReadAsStringAsync",
    "ReadAsByteArrayAsync",
    "ReadLineAsync",
    "ReadToEndAsync",
    "ReadAsync",
)


def _after_headers(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield reads of a body after its headers, with which the `Timeout` of the client ends (C#)."""
    if b"ResponseHeadersRead" not in facts.syntax.source:
        return
    for call in facts.calls_of_method("GetAsync", "SendAsync", "GetStreamAsync"):
        scope = facts.named_function_of(call)
        if scope is None or not any("ResponseHeadersRead" in each.value.text for each in call.arguments):
            continue
        reads = [
            each for each in facts.own(facts.calls, scope) if each.method in _BODY_READS and each.is_awaited
        ]
        later = [each for each in reads if each.span.start > call.span.end]
        if later and all(is_limited(each, facts) is False for each in later):
            yield (
                later[0].span,
                f"{later[0].written}() has no limit: that of the client ends with the headers",
            )


def _ktor(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield clients of Ktor that install no HttpTimeout; their engines limit some steps, or none."""
    if re.search(
        r"^(?!import ).*(?:(?<!onnect)Timeout(?:Millis)?\b|(?<!connect)timeout)",
        facts.whole_text.replace("HttpTimeout", ""),
        re.MULTILINE,
    ):
        return
    if re.search(r"WebSockets?\b|\bSSE\b", facts.whole_text):
        return  # A connection that lasts.
    for call in facts.calls_named("io.ktor.client.HttpClient"):
        engine = call.argument(place=0)
        # Of engines without any limit, each request is reported.
        # CIO ends a whole request after 15 s by itself.
        if engine is not None and not re.search(r"Mock|\b(Java|Curl|Js|CIO)\b", engine.value.text):
            yield call.span, f"{call.written}() sets no limit for a whole request, which may wait long"


_FAST_LIMITS = ("DoTimeout", "DoDeadline", "GetTimeout", "SetTimeout", "PostTimeout")
_SCRIPT_CLIENTS = {"graphql-request.GraphQLClient": ("fetch", "signal", "timeout", "requestMiddleware")}
"""JavaScript: clients without a limit of their own, and the options that may have one."""


def _scripts(facts: Facts) -> Iterator[tuple[Span, str]]:
    if facts.syntax.has_any(b"signal"):
        return
    for call in facts.calls_named(*_SCRIPT_CLIENTS):
        if not call.has(*_SCRIPT_CLIENTS[call.name]) and not call.spreads:
            yield call.span, f"{call.written}() has no timeout, and its requests may wait for ever"


def _resty(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield clients of resty and fasthttp in a text that sets no limit for any."""
    if facts.imports_any("github.com/valyala/fasthttp") and not facts.calls_of_method(*_FAST_LIMITS):
        for call in facts.calls_named("github.com/valyala/fasthttp.Client"):
            later = {f"{name}.ReadTimeout" for name in call.assigned}
            if not call.has("ReadTimeout") and later.isdisjoint(facts.assigned_names):
                yield call.span, f"{call.written} has no ReadTimeout, and its requests may wait for ever"
    made = [each for each in facts.calls_of_method("New") if _RESTY.match(each.name)]
    if made and not facts.calls_of_method(*_RESTY_LIMITS):
        for call in made:
            yield call.span, f"{call.written}() has no timeout, and its requests may wait for ever"


def _rust(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield clients of ureq without a limit, and the limit of reqwest's blocking client switched off."""
    for call in facts.calls_of_method("timeout"):
        first = call.argument(place=0)
        if first is not None and first.value.text == "None" and "reqwest" in call.name:
            yield call.span, f"{call.written}(None) switches the limit off, and requests may wait for ever"
    if not facts.imports_any("ureq") and "ureq::" not in facts.whole_text:
        return
    if facts.calls_of_method(*_UREQ_LIMITS):
        return
    for call in facts.calls_named(*_UREQ):
        yield call.span, f"{call.written}() has no limit for reading, and requests may wait for ever"


def _models(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield clients of language models whose limit is switched off (Python)."""
    for call in facts.calls_with_name(_MODELS.match):
        given = call.argument("timeout")
        if given is not None and given.value.shape == "none":
            yield given.value.span, f"{call.written}() switches the limit off, and may wait for ever"


def _zero(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield limits of zero, which mean none: `new Request.Options(0, …)`, `new JedisPool(…, 0)`."""
    for call in facts.calls_of_method("Options", "JedisPool", "Jedis"):
        last = call.name.rpartition(".")[2]
        if (
            last == "Options"
            and "Request" in call.written
            and any(each.value.text == "0" for each in call.positional)
        ):
            yield call.span, f"{call.written}() with 0 switches the limit off, and requests may wait for ever"
        elif (
            last in ("JedisPool", "Jedis")
            and len(call.positional) >= 3
            and call.positional[-1].value.text == "0"
        ):
            yield call.span, f"{call.written}() with a timeout of 0 waits for ever"
    sessions = facts.calls_named(*_MAIL_SESSIONS)
    if not sessions or "mail.smtp" not in facts.whole_text:
        return
    if not re.search(r"mail\.smtps?\.(write)?timeout", facts.whole_text):
        for call in sessions:
            yield call.span, f"{call.written}() without mail.smtp.timeout waits for ever"


def _switched_off(facts: Facts) -> Iterator[tuple[Span, str]]:
    for found in _OFF[facts.syntax.language.family].finditer(facts.whole_text):
        place = facts.syntax.place_of(found)
        line = facts.syntax.line_text(facts.syntax.line(place.start)).lstrip()
        # A download that lasts may have no limit; a comment says so.
        if line.startswith(("//", "#", "*")) or _streams(place, facts):
            continue
        yield place, f"{' '.join(found[0].split())} switches the limit off, and requests may wait for ever"


def _streams(place: Span, facts: Facts) -> bool:
    line = facts.syntax.line(place.start)
    near = " ".join(facts.syntax.line_text(each) for each in range(max(1, line - 1), line + 1))
    return re.search(r"//|/\*|#", near) is not None


def _java(facts: Facts) -> Iterator[tuple[Span, str]]:
    if not any(word in facts.syntax.source for word in _JAVA_WORDS):
        return
    if re.search(r"^package org\.apache\.http|WebSocket", facts.whole_text, re.MULTILINE):
        return  # The library itself; and a socket that lasts has no limit of a read.
    is_limited = _has_limit(facts)
    if not is_limited and any(word in facts.syntax.source for word in _CONNECTS):
        half = next((call for call in facts.calls if _is_half_limited(call, facts)), None)
        if half is not None:
            yield half.span, f"{half.written}() limits no more than connecting: the answer may take for ever"
            return
    for call in facts.calls:
        if _OKHTTP.search(call.name) and call.arguments and _ZERO.match(call.arguments[0].value.text):
            if not facts.comment_at(call):
                yield (
                    call.span,
                    f"{call.written}() with 0 switches the limit off, and requests may wait for ever",
                )
            continue
        if _REST_TEMPLATE.search(call.name) and call.constructs and not call.arguments and call.is_returned:
            if facts.imports_any("org.springframework") and not is_limited:
                yield call.span, f"{call.written}() has no timeout, and its requests may wait for ever"
            continue
        if not _MADE.search(call.name) or is_limited or _OF_SEARCH.search(call.name):
            continue
        parts = " ".join(facts.text(each.span) for each in chain(call))
        if not _CONFIGURED.search(parts) and not _is_configured(call, facts):
            yield (
                call.span,
                f"the client of {call.written}() has no timeout, and its requests may wait for ever",
            )


def _has_limit(facts: Facts) -> bool:
    """Return whether some call or setting of this text is about a limit: `responseTimeout(…)`."""
    if any(each.arguments for each in facts.calls_of_method("block")):
        return True  # `mono.block(Duration.ofSeconds(3))`
    called = (each.method.lower() for each in facts.calls if not _OKHTTP.search(each.name))
    names = (name.lower() for name in facts.assigned_names)
    return any("timeout" in name and not _OF_CONNECTING.search(name) for name in (*called, *names))


_CONNECT_WORDS = lazy_regex(r"onnectTimeout|CONNECT_TIMEOUT")
_CONNECTS = (b"onnectTimeout", b"onnectionRequestTimeout", b"CONNECT_TIMEOUT")


def _is_half_limited(call: Call, facts: Facts) -> bool:
    """Return whether a client, or a part of one, is given a limit for connecting."""
    if _PARTS.search(call.name) is None and _MADE.search(call.name) is None:
        return False
    on_it = facts.calls_on(call)
    if any(_LIMITS_CONNECTING.search(each.method) for each in (*chain(call), *on_it)):
        return True
    # `.option(CONNECT_TIMEOUT_MILLIS, 3000)`; Kotlin: `factory.apply { setConnectTimeout(3000) }`
    inside = (each for each in (*chain(call), *on_it) if each.method in ("option", "apply", "also"))
    return any(_CONNECT_WORDS.search(facts.text(each.span)) for each in inside)


def _is_configured(client: Call, facts: Facts) -> bool:
    return any(_CONFIGURED.search(f"{each.method}(") for each in facts.calls_on(client))
