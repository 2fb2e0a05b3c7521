"""Requests that are written out whole, with what they hold: headers, bodies, addresses, rejected input.

Errors of clients and of validation hold the request or the input that failed; their text shows it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.facts.facts import Placed
from faultkit.code.rules.vocabulary.failures import is_error_handler
from faultkit.code.rules.vocabulary.personal_data import personal_part
from faultkit.code.rules.vocabulary.telling_types import (
    is_about_secrets,
    is_secret_name,
    telling_types,
    type_of,
)
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

# Errors of HTTP clients of JavaScript.

_CLIENTS = ("axios", "@nestjs/axios", "got")
_SENDS_SECRET = lazy_regex(rb"authorization|api[-_]?key|\bauth\s*:|bearer|password|secret", re.IGNORECASE)
_OF_ERROR = lazy_regex(
    r"^(?:e|ex|err|error|exc|cause|reason|\w+Err(?:or)?)\??\.(?:(?:response\??\.)?config(?:\??\.headers)?|request|response"
    r"|options(?:\??\.headers)?)$"
)


def request_of_error(written: str, facts: Facts) -> bool:
    """Return whether it is the request that an error of axios or got holds, with all its headers."""
    return _OF_ERROR.match(written) is not None and facts.imports_any(*_CLIENTS)


def error_as_whole(name: str, place: Placed, facts: Facts) -> str:
    """Return what an error of axios shows in `err.toJSON()` and `JSON.stringify(err)`; empty if nothing."""
    if not facts.imports_any("axios", "@nestjs/axios") or not _SENDS_SECRET.search(facts.syntax.source):
        return ""
    known = any(handler.name == name for handler in facts.handlers_around(place))
    scope = facts.function_of(place)
    caught = scope is not None and any(each.name == name for each in scope.parameters)
    return "headers" if (known or caught) and re.fullmatch(r"\w*[eE]rr\w*|e|ex|reason|cause", name) else ""


# Schemas of JavaScript, whose values have all members that they name.

_SCHEMAS = ("object", "strictObject", "looseObject", "Object", "Struct")
_READS = frozenset(
    (
        "parse",
        "safeParse",
        "parseAsync",
        "safeParseAsync",
        "validate",
        "validateSync",
        "validateAsync",
        "cast",
        "Parse",
    )
)
_INFERRED = TextPattern(r"\btype\s+(\w+)\s*=\s*[\w.]+<\s*typeof\s+(\w+)\s*>")
_READ_PART = lazy_regex(r"^(\w+)\.(?:data|output|value)$")


@lru_cache(maxsize=4)
def telling_schemas(facts: Facts) -> dict[str, str]:
    """Return schemas of this text that name a secret, each with it: `z.object({ pin: z.string() })`."""
    found = dict[str, str]()
    if facts.syntax.language.family != "javascript":
        return found
    for call in facts.calls_of_method(*_SCHEMAS):
        members = [each.name for each in call.arguments if each.name and "." not in each.name]
        holder = next(
            (
                each.targets[0]
                for each in facts.assignments
                if members
                and each.targets
                and each.value is not None
                and each.value.span.start == call.span.start
            ),
            "",
        )
        part = next((each for each in members if is_secret_name(each, facts)), "")
        if holder and (part := part or personal_part(holder, members)):
            found[holder] = part
    return found


def read_by_schema(written: str, place: Placed, facts: Facts) -> str:
    """Return the secret in what a schema has read: `Login.parse(body)`, `Login.safeParse(body).data`."""
    schemas = telling_schemas(facts)
    if not schemas:
        return ""
    found = _READ_PART.match(written)
    name = written if found is None else found[1]
    for each in facts.assignments_to(name, place) if name.isidentifier() else ():
        call = each.call
        if call is None or call.method not in _READS or (found is None and call.method.startswith("safe")):
            continue
        given = [call.receiver_written, *(one.value.text for one in call.positional[:1])]
        if part := next((schemas[one] for one in given if one in schemas), ""):
            return part
    kind = type_of(written, place, facts) if written.isidentifier() else ""
    schema = next((one[2] for one in _INFERRED.finditer(facts.whole_text) if kind and one[1] == kind), "")
    return schemas.get(schema, "")


# Values whose text has all headers of a request.

_WITH_HEADERS = frozenset(("HttpRequestMessage", "HttpEntity", "RequestEntity"))
_GO_REQUEST = ("net/http.Request",)
_MAKES_REQUEST = ("net/http.NewRequest", "net/http.NewRequestWithContext")
"""Whole names: a method of a request is named after what made it."""
_METADATA = lazy_regex(r"metadata\.From(?:Incoming|Outgoing)Context\(|\.invocation_metadata\(\)")


def shown_headers(name: str, place: Placed, facts: Facts) -> str:
    """Return `headers` if a variable is a request whose text has all of them, or metadata of a call."""
    shown = _shown_headers(name, place, facts)
    return "" if shown and _is_in_error(place, facts) else shown


def _shown_headers(name: str, place: Placed, facts: Facts) -> str:
    if facts.language == "go":
        if _is_context_of_line(name, place, facts):
            return ""
        for scope in facts.functions_around(place):
            if any(each.name == name and each.type in _GO_REQUEST for each in scope.parameters):
                return "headers"
        calls = [each.call for each in facts.assignments_to(name, place) if each.call is not None]
        if any(each.name in _MAKES_REQUEST and each.assigned[:1] == (name,) for each in calls):
            return "headers" if _SENDS_SECRET.search(facts.syntax.source) else ""
    if facts.language in ("go", "python") and facts.syntax.has_any(b"metadata"):
        made = [each.value.text for each in facts.assignments_to(name, place) if each.value is not None]
        if any(_METADATA.search(text) for text in made):
            return "authorization"
    if facts.language in ("java", "kotlin", "csharp") and any(
        kind.encode() in facts.syntax.source for kind in _WITH_HEADERS
    ):
        kind = type_of(name, place, facts) or _made_type(name, place, facts)
        return "headers" if kind in _WITH_HEADERS and _SENDS_SECRET.search(facts.syntax.source) else ""
    if facts.syntax.language.family == "javascript" and b"interceptors" in facts.syntax.source:
        inner = facts.function_of(place)
        around = facts.calls_around(place)
        if inner is not None and inner.parameters and inner.parameters[0].name == name:
            given = any(each.written.endswith("interceptors.request.use") for each in around)
            return "headers" if given else ""
    return ""


def _is_context_of_line(name: str, place: Placed, facts: Facts) -> bool:
    """Return whether a request is the context of a line, before its text: `log.Error(r, "failed")`."""
    around = facts.calls_around(place)
    given = around[-1].positional if around else ()
    is_first = len(given) > 1 and given[0].value.text == name
    return is_first and not around[-1].method.startswith("Print")


_OF_ANSWER = {
    "java": (lazy_regex(r"\w\.request$"), b"feign."),
    "kotlin": (lazy_regex(r"\w\.request$"), b"feign."),
    "csharp": (lazy_regex(r"\w\.RequestMessage$"), b"HttpResponseMessage"),
}
"""Requests that an answer holds, and whose text has all headers: of Feign also the body."""


def request_of_answer(written: str, facts: Facts) -> bool:
    """Return whether it is the request of an answer: `response.request()`, `response.RequestMessage`."""
    path, word = _OF_ANSWER.get(facts.language, (None, b""))
    if path is None or word not in facts.syntax.source or path.search(written) is None:
        return False
    return _SENDS_SECRET.search(facts.syntax.source) is not None


def _is_in_error(place: Placed, facts: Facts) -> bool:
    """Return whether it becomes a part of an error, which often wraps another."""
    return any(
        each.name == "fmt.Errorf" or each.method.endswith(("Error", "Exception"))
        for each in facts.calls_around(place)
        if each.name == "fmt.Errorf" or each.constructs
    )


def _made_type(name: str, place: Placed, facts: Facts) -> str:
    calls = [each.call for each in facts.assignments_to(name, place)]
    return next((call.method for call in calls if call is not None and call.constructs), "")


# Addresses with a secret in their query or path.

_SECRET = (
    r"(?:(?:access|reset|invite|invitation|signing|sign|session|auth|download|share|verification|verify"
    r"|confirm(?:ation)?|magic|login|one_?time|signed|upload|api)[_-]?)?token|api[_-]?key|signature|otp|secret"
)
_SECRET_NAME = lazy_regex(_SECRET)
_READS_SECRET = lazy_regex(
    rf"(?:query|args|GET|query_params|searchParams|params|Query\(\)|queryParameters|Query|path_params)\s*(?:\(\))?"
    rf"(?:\??\.|\[|\.[gG]et(?:First)?\()\s*[\"'`]?(?:{_SECRET})\b(?!\s*:)"
    rf"|\{{[^{{}}]*\b(?:{_SECRET})\b[^{{}}]*\}}\s*=\s*(?:req|request|ctx|c\.req)\.(?:query|params)\b"
    rf"|[\"'`/][:<{{](?:\w+:)?(?:{_SECRET})\b(?=[>}}\"'`/?:)])"
    rf"|@(?:RequestParam|PathVariable|QueryParam|PathParam)(?:\([^)]*\))?\s+(?:final\s+)?"
    rf"(?:String\s+(?:{_SECRET})\b|(?:{_SECRET})\s*:\s*String)"
    rf"|\[From(?:Query|Route)[^\]]*\]\s*string\??\s+(?:{_SECRET})\b|\b(?:{_SECRET})\s*:\s*str\s*=\s*Query\(",
    re.IGNORECASE,
)
_ADDRESS = {
    "javascript": r"^(?:req|request|ctx|ctx\.req|ctx\.request|c\.req|event)\."
    r"(?:originalUrl|url|href|query|rawQueryString|params)$",
    "python": r"^(?:request|req|self\.request)\."
    r"(?:url|full_path|query_string|query_params|args|GET|rel_url|path_qs)$",
    "go": r"^(?:r|req|c\.Request|ctx\.Request|request)\.(?:URL|RequestURI|URL\.RawQuery)$",
    "kotlin": r"^(?:request|req|call\.request|exchange\.request)\."
    r"(?:uri|queryString|requestURI|queryParameters)$",
    "csharp": r"^(?:(?:\w+\.)?Request|(?:\w+\.)?request)\.QueryString(?:\.Value)?$",
    "rust": r"^(?:parts|req|request)\.uri$",
}
_ADDRESS_CALL = lazy_regex(
    r"(?:^|\.)(?:get_full_path|build_absolute_uri|GetDisplayUrl|GetEncodedUrl|GetEncodedPathAndQuery|getQueryString|RequestURI)$"
    r"|(?:^|\.)(?:r|req|request)\.URL\.String$|^(?:req|request|parts)\.uri$|^call\.request\.(?:uri|queryString)$"
    r"|[rR]equest(?:\(\))?\.getURI$|exchange\.getRequest\(\)\.getURI$"
)
_PATTERNS = {family: lazy_regex(pattern) for family, pattern in _ADDRESS.items()}


@lru_cache(maxsize=4)
def _has_secret_address(facts: Facts) -> bool:
    """Return whether this text reads a secret from the query or the path of a request."""
    if not facts.syntax.has_any(b"token", b"key", b"signature", b"otp", b"secret"):
        return False
    if _READS_SECRET.search(facts.whole_text) is not None:
        return True
    # FastAPI: what is no part of the path is one of the query.
    return any(
        _SECRET_NAME.fullmatch(each.name) and each.type == "str" and each.default is None
        for scope in (facts.routes() if facts.language == "python" else ())
        for each in scope.parameters
    )


def is_secret_address(written: str, facts: Facts) -> bool:
    """Return whether it is the address of a request, in a text that reads a secret from such an address."""
    pattern = _PATTERNS.get(facts.syntax.language.family)
    return pattern is not None and pattern.match(written) is not None and _has_secret_address(facts)


def is_secret_address_call(call: Call, facts: Facts) -> bool:
    """Return the same of a call: `r.URL.String()`."""
    return _ADDRESS_CALL.search(call.written) is not None and _has_secret_address(facts)


_MORGAN = lazy_regex(r"[\"'`](?:combined|common|dev|short|tiny)[\"'`]|:url\b(?!-)")


def access_logs(facts: Facts) -> tuple[Call, ...]:
    """Return loggers of all addresses, in a text that reads a secret from one."""
    if not facts.imports_any("morgan") or not _has_secret_address(facts):
        return ()
    return tuple(
        call
        for call in facts.calls_named("morgan")
        if any(_MORGAN.search(each.value.text) for each in call.positional)
    )


# Input that did not pass validation.

_REJECTED = frozenset(
    (
        "pydantic.ValidationError",
        "pydantic_core.ValidationError",
        "pydantic.error_wrappers.ValidationError",
        "fastapi.exceptions.RequestValidationError",
        "jsonschema.ValidationError",
        "jsonschema.exceptions.ValidationError",
    )
)
_REJECTED_NAMES = frozenset(
    (
        "MethodArgumentNotValidException",
        "WebExchangeBindException",
        "BindException",
        "HandlerMethodValidationException",
    )
)
_SAFE = (b"hide_input_in_errors", b"include_input=False")


def rejected_input(name: str, place: Placed, facts: Facts) -> str:
    """Return the secret in the input that an error of validation quotes; empty if there is none."""
    types = telling_types(facts)
    if not types or any(word in facts.syntax.source for word in _SAFE):
        return ""
    if facts.language == "python":
        for handler in facts.handlers_around(place):
            if handler.name == name and _REJECTED.intersection(handler.types):
                tried = next((each for each in facts.tries if handler in each.handlers), None)
                text = "" if tried is None else facts.text(tried.body)
                part = next((types[each] for each in types if re.search(rf"\b{each}\b", text)), "")
                if part:
                    return part
    for scope in facts.functions_around(place):
        for each in scope.parameters:
            last = each.type.rpartition(".")[2]
            if each.name == name and (each.type in _REJECTED or last in _REJECTED_NAMES):
                return next(iter(types.values()))
    return ""


_VALIDATES = lazy_regex(r"^(?:await\s+)?(?:validate|validateSync|validateOrReject)\(")


def rejected_objects(name: str, place: Placed, facts: Facts) -> str:
    """Return the secret in the objects that errors of class-validator and Joi hold (JavaScript)."""
    if not facts.imports_any("class-validator", "joi", "@hapi/joi"):
        return ""
    for each in facts.assignments_to(name, place):
        value = "" if each.value is None else each.value.text
        if facts.imports_any("class-validator") and _VALIDATES.match(value):
            return next(iter(telling_types(facts).values()), "")
    if not facts.imports_any("joi", "@hapi/joi"):
        return ""
    from_joi = any(
        re.search(rf"\berror\b(?:\s*:\s*{re.escape(name)})?", target)
        and ".validate" in (each.value.text if each.value else "")
        for each in facts.assignments
        for target in each.targets
    )
    keys = re.findall(r"\b(\w+)\s*:\s*[jJ]oi\.", facts.whole_text) if from_joi and name == "error" else []
    return next((key for key in keys if is_secret_name(key, facts)), "")


# Bodies of all requests, in what runs before or after every handler.

_NEXT = frozenset(("next", "call_next", "callNext", "chain", "filterChain", "_next"))
_NEXT_TYPES = frozenset(
    (
        "FilterChain",
        "RequestDelegate",
        "HandlerFunc",
        "WebFilterChain",
        "RequestHandlerDelegate",
        "UnaryHandler",
    )
)
_BODY_PATH = lazy_regex(r"^(?:req|request|ctx\.request|ctx\.req|c\.req)\.(?:body|rawBody|data|json)$")
_BODY_READ = lazy_regex(
    r"\brequest\.(?:body|json|get_data|get_json|text)\(|\bReadAll\(\s*(?:r|req|c\.Request)\.Body"
    r"|getContentAsByteArray\(|getContentAsString\(|ReadToEndAsync\(|\.receiveText\(|\.readBytes\(|to_bytes\(|\.collect\("
)
_HIDES = lazy_regex(r"redact|mask|sanit|scrub|obfusc|omit|strip|without|allowlist|truncat", re.IGNORECASE)
_CHANGED = lazy_regex(r"^(?:string|String|str|new String)\(|\.decode\(")


def body_of_any_request(written: str, place: Placed, facts: Facts) -> bool:
    """Return whether it is the whole body of a request, in a function that every request goes through."""
    in_javascript = facts.syntax.language.family == "javascript"
    if _BODY_PATH.match(written) is None if in_javascript else not written.isidentifier():
        return False
    around = facts.functions_around(place)
    middle = next((scope for scope in around if _is_between(scope) or is_error_handler(scope)), None)
    if middle is None or _HIDES.search(facts.text(middle.span)):
        return False
    if in_javascript:
        return True
    if any(each.type.endswith("grpc.UnaryHandler") for each in middle.parameters):
        return written == middle.parameters[1].name
    made = [each.value.text for each in facts.assignments_to(written, place) if each.value is not None]
    return any(_BODY_READ.search(text) for text in made)


def _is_between(scope: Scope) -> bool:
    return any(each.name in _NEXT or each.type.rpartition(".")[2] in _NEXT_TYPES for each in scope.parameters)


# Addresses that errors of HTTP clients quote.

_QUOTES_ADDRESS = (
    "requests", "httpx", "aiohttp", "net/http", "reqwest", "github.com/go-resty/resty", "resty.dev/v3",
    "github.com/go-resty/resty/v2", "io.ktor.client",
)  # fmt: skip
_SENDS = lazy_regex(r"\.\s*(?:Do|Get|Post|PostForm|get|post|put|request|send|raise_for_status|Execute)\(")
_QUERY = lazy_regex(
    r"\bparams\s*=\s*\{[^{}]*\}|\.(?:Set|Add|SetQueryParam)\([^()]*\)|\bSetQueryParams\(map[^{}]*\{[^{}]*\}"
    r"|\.query\(&\[[^\]]*\]|\bparameters?(?:\.append)?\([^()]*\)"
)
_PAIR = lazy_regex(r"[\"'](\w+)[\"']\s*[:,]\s*&?([\w.]+)")
_SHORT_KEYS = frozenset(("key", "apikey", "appid", "token", "auth", "subscription"))
_IS_KEY = lazy_regex(r"(?:key|token|secret)$", re.IGNORECASE)


def secret_in_failed_address(name: str, place: Placed, facts: Facts) -> str:
    """Return the key in the query of a request whose error, which quotes the address, is written out."""
    if facts.language not in ("python", "go", "rust", "kotlin") or not facts.imports_any(*_QUOTES_ADDRESS):
        return ""
    # `_IS_KEY` and `_SHORT_KEYS` ask for no other words.
    if not (is_about_secrets(facts) or facts.syntax.has_any(b"key", b"appid")):
        return ""
    handlers = [each for each in facts.handlers_around(place) if each.name == name]
    tried = next((each for each in facts.tries if handlers and handlers[-1] in each.handlers), None)
    if tried is None or not _SENDS.search(facts.text(tried.body)) or _is_in_error(place, facts):
        return ""
    scope = facts.named_function_of(place)
    text = "" if scope is None else facts.text(scope.body).replace("Header.Set(", "")
    if "without_url" in text:
        return ""
    for found in _QUERY.finditer(text):
        for key, value in _PAIR.findall(found[0]):
            is_key = key.lower() in _SHORT_KEYS and _IS_KEY.search(value)
            if is_key or is_secret_name(key, facts) or key.lower() in ("apikey", "appid"):
                return str(key)
    return ""
