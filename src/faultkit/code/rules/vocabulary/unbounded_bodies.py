"""Bodies of requests that a handler takes into memory whatever their size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.text_pattern import TextPattern
from faultkit.code.rules.vocabulary.unpacked_bodies import METHODS, unpacks_any_size

_LIMITS = lazy_regex(
    r"content-?_?length|max_?content|limit|maxBody|max_body|too_?large|TooLarge|413|MAX_\w*(SIZE|BYTES|BODY|LEN)",
    re.IGNORECASE,
)
_KTOR = frozenset(("receiveText", "receiveStream", "receiveChannel"))
_RUST_ALL = NamePattern(r"^(axum\.body|hyper\.body)\.to_bytes$")


def unbounded_bodies(facts: Facts) -> Iterator[tuple[Span, str, bool]]:
    """Yield the places where a body of any size is taken into memory, what does it, and whether no limit of
    the server is known."""
    find = {"python": _python, "rust": _rust, "kotlin": _kotlin, "java": _java, "csharp": _csharp}.get(
        facts.language, _javascript
    )
    is_go = facts.language == "go"
    yield from _limits_removed(facts)
    for call in facts.calls:
        if call.method in METHODS and unpacks_any_size(call, facts):
            yield call.span, f"{call.written}() unpacks a body to any size in memory", True
        elif not is_go and find(call, facts):
            where = "onto the disk" if call.name == "multer" and call.has("dest") else "into memory"
            limit = _server_limit(call, facts)
            size = f"a whole body, up to {limit}," if limit else "a body of any size"
            yield call.span, f"{call.written}() takes {size} {where}", not limit


def _server_limit(call: Call, facts: Facts) -> str:
    """Return the limit that holds for a body although the code around does not look at its size.

    ASP.NET refuses bodies of over 30 MB, and Spring files of over 1 MB, unless they are told otherwise."""
    if facts.language == "csharp" and call.method != "DisableRequestSizeLimit":
        return "the limit of the server"
    if facts.language == "java" and call.method == "getBytes" and not _may_be_streamed(call, facts):
        return "the limit of the server"
    given = call.argument("limit") if _PARSERS.match(call.name) else None
    return given.value.literal if given is not None and "mb" in given.value.literal.lower() else ""


_STREAMED = lazy_regex(
    r"(?:new ByteArray(?:InputStream|Resource)|new InputStreamReader|Files\.write|\breadValue|\breadTree)"
    r"\(\s*(?:\w+,\s*)?$"
)


def _may_be_streamed(call: Call, facts: Facts) -> bool:
    """Return whether all bytes of an upload only go to what takes a stream as well (Java)."""
    scope = facts.named_function_of(call)
    if scope is None:
        return False
    body = facts.text(scope.body)
    at = call.span.start - scope.body.start
    if _STREAMED.search(body[:at]):
        return True
    if len(call.assigned) != 1 or not call.assigned[0].isidentifier():
        return False
    uses = [
        each.start()
        for each in re.finditer(rf"\b{call.assigned[0]}\b(?!\.length)", body)
        if each.start() > at
    ]
    return bool(uses) and all(_STREAMED.search(body[:use]) for use in uses)


_DECLARED = lazy_regex(r"[^\n]*(?:content[-_]?length|getContentLength)\w*[^\n]*", re.IGNORECASE)
_TOO_LARGE = lazy_regex(r"\w*too_?large\w*|\b413\b", re.IGNORECASE)
REFUSES_UNDECLARED = lazy_regex(
    r"\b411\b|length_?required|(?:content[-_]?length)\w*(?:\(\))?[^\n]{0,40}?"
    r"(?:is None|===?\s*(?:null|undefined|-1)|<=?\s*0|is null|is_none\(|None\s*=>|\?:\s*return|\?\?\s*throw"
    r"|isNaN|isFinite|isInteger)|(?:!|not )\s*(?:req\w*\.)?content_?length\b",
    re.IGNORECASE,
)
"""A request without a declared length is refused."""


@lru_cache(maxsize=16)
def has_limit(text: str) -> bool:
    """Return whether a text mentions a limit of size.

    A declared length that is too large is refused by some; a client that declares none gets past that, unless
    it is refused as well."""
    if _LIMITS.search(text) is None:
        return False
    declared = _DECLARED.findall(text)
    if not declared or REFUSES_UNDECLARED.search(text):
        return True
    names = {
        name for line in declared for name in re.findall(r"\b\w*(?:MAX|LIMIT|[Mm]ax|[Ll]imit)\w*\b", line)
    }
    rest = _TOO_LARGE.sub("", _DECLARED.sub("", text))
    for name in names:
        rest = re.sub(rf"\b{re.escape(name)}\b", "", rest)
    return _LIMITS.search(rest) is not None


def _has_limit(call: Call, facts: Facts) -> bool:
    return has_limit(facts.whole_text)


def _python(call: Call, facts: Facts) -> bool:
    is_body = call.method in ("body", "get_data") and call.receiver_written.rpartition(".")[2] == "request"
    if not is_body or facts.route_of(call) is None or call.arguments:
        return False
    if call.method == "get_data":
        # A server of WSGI reads no body whose length is not declared.
        return _LIMITS.search(facts.whole_text) is None
    return not has_limit(_without_late_limits(facts.whole_text))


_LATE = lazy_regex(r"[^\n]*\b(?:len\(|\w*size\b|nbytes\b)[^\n]*[<>][^\n]*")
_CONSTANT = lazy_regex(r"\b[A-Z][A-Z0-9_]{3,}\b")


@lru_cache(maxsize=4)
def _without_late_limits(text: str) -> str:
    """Return a text without what looks at the size of a body that has been read (Python)."""
    late = [line for line in _LATE.findall(text) if not _DECLARED.match(line)]
    if not late:
        return text
    for name in {name for line in late for name in _CONSTANT.findall(line)}:
        text = re.sub(rf"\b{name}\b", "", text)
    return _TOO_LARGE.sub("", _REFUSED_TEXT.sub("", _LATE.sub(_declared_only, text)))


_REFUSED_TEXT = lazy_regex(r"[^\n]*\b(?:raise|detail|abort)\b[^\n]*")


def _declared_only(found: re.Match[str]) -> str:
    return found[0] if _DECLARED.match(found[0]) else ""


def _javascript(call: Call, facts: Facts) -> bool:
    """Return whether a listener collects all parts of a request, or multer keeps uploads in memory."""
    if call.name == "multer" and call.arguments and call.arguments[0].value.shape == "object":
        return not call.has("limits", "limits.fileSize") and not call.spreads
    limit = call.argument("limit") if _PARSERS.match(call.name) else None
    if limit is not None:
        return _HUGE.fullmatch(limit.value.literal or limit.value.text) is not None
    if _ALL_OF.match(call.name):
        source = call.argument(place=0)
        limited = call.has("limit", "maxBuffer", "maxLength") or call.spreads
        return source is not None and not limited and _REQUEST.fullmatch(source.value.text) is not None
    first = call.argument(place=0) if call.method == "on" else None
    if first is None or first.value.literal != "data" or len(call.positional) != 2:
        return False
    if not re.fullmatch(r"(this\.)?(req|request|ctx\.req|incoming)", call.receiver_written):
        return False
    given = call.positional[1].value
    collects = re.search(r"\+=(?!\s*[\w.]+\.(?:byteLength|length|size)\b)|\.push\(", given.text) is not None
    limited = re.search(r"destroy|LIMIT|MAX|(?<!=)[<>]", given.text) is not None
    return collects and given.shape == "function" and not limited


_ALL_OF = NamePattern(
    r"^(raw-body|get-raw-body|getRawBody)(\.default)?$|^stream/consumers\.(text|json|buffer|arrayBuffer|blob)$"
    r"|^(get-stream|getStream)(\.\w+)?$|^concat-stream$"
)
_REQUEST = lazy_regex(
    r"(?:this\.)?(?:\w+\.)?(?:req|request|incoming|incomingMessage)(?:\.raw)?|ctx\.req|c\.req\.raw"
)

_UNLIMITED = (
    r"(?:Infinity|Number\.(?:MAX_SAFE_INTEGER|MAX_VALUE|POSITIVE_INFINITY)|null|None|usize::MAX|u64::MAX|long\.MaxValue"
    r"|int\.MaxValue|Long\.MAX_VALUE|Int(?:eger)?\.MAX_VALUE|math\.MaxInt(?:32|64)?|-1L?|float\(['\"]inf['\"]\)|math\.inf)"
)
_LIMIT_NAMES = (
    r"(?:bodyLimit|BodyLimit|MaxRequestBodySize|MultipartBodyLengthLimit|client_max_size|max_request_size|maxRequestBodySize"
    r"|max_body_size|MAX_CONTENT_LENGTH|DATA_UPLOAD_MAX_MEMORY_SIZE|maxInMemorySize|MaxMultipartMemory|maxHttpBufferSize"
    r"|maxPayload|maxRequestSize|maxRequestLength|MaxReceiveMessageSize|maxInboundMessageSize|MaxRecvMsgSize"
    r"|max_(?:de|en)coding_message_size|max_frame_size|max_message_size|maxMessageSize|maxFrameSize|maxContentLength"
    r"|setBodyLimit|setMax(?:Content|Post|Form\w*|Body)\w*Size|maxPostSize)"
)
_LIMITERS = (
    r"(?:HttpObjectAggregator|StompSubframeAggregator|WebSocketFrameAggregator|LengthFieldBasedFrameDecoder"
    r"|LineBasedFrameDecoder|DelimiterBasedFrameDecoder|JsonObjectDecoder|PayloadConfig::new|DefaultBodyLimit::max"
    r"|JsonConfig::default\(\)\.limit|RequestBodyLimitLayer::new|Limited::new)"
)
"""Makers of what takes bodies or frames up to a size, their first argument."""
_ENDS = r"(?=\s*(?:[,;)}\]\n#]|$|//|/\*|\.to|as\b))"
"""No operator follows: `Integer.MAX_VALUE - size` is another value."""
_REMOVED = TextPattern(
    rf"\b{_LIMIT_NAMES}['\"\]]*\s*[:=(]\s*{_UNLIMITED}\b{_ENDS}|\b{_LIMITERS}\(\s*(?:[\w.]+,\s*)?{_UNLIMITED}\b{_ENDS}"
)
_REMOVED_WORDS = (
    b"bodylimit", b"lengthlimit", b"limited::", b"bodysize", b"body_size", b"requestsize", b"request_size",
    b"client_max_size", b"memorysize", b"memory_size", b"buffersize", b"messagesize", b"message_size",
    b"msgsize", b"framesize", b"frame_size", b"postsize", b"contentlength", b"content_length",
    b"requestlength", b"multipartmemory", b"maxpayload", b"setmax", b"aggregator", b"framedecoder",
    b"objectdecoder", b"payloadconfig", b"jsonconfig",
)  # fmt: skip
"""Of which one stands in each name of `_LIMIT_NAMES` and `_LIMITERS`; they are found faster."""


def _limits_removed(facts: Facts) -> Iterator[tuple[Span, str, bool]]:
    """Yield settings that take the limit of bodies away."""
    if not facts.syntax.has_any(*_REMOVED_WORDS) or not _MAY_REMOVE.is_in(facts.whole_text):
        return
    text = facts.whole_text
    places = [*_REMOVED.finditer(text)]
    if constants := _unlimited_constants(facts):
        name = rf"(?:\w+\.)?(?:{'|'.join(constants)})\b"
        places += re.finditer(
            rf"\b{_LIMIT_NAMES}['\"\]]*\s*[:=(]\s*{name}|\b{_LIMITERS}\(\s*(?:[\w.]+,\s*)?{name}", text
        )
    for found in places:
        # An option that is not set in a settings type of Rust leaves the limit of the library.
        if facts.language != "rust" or not found[0].endswith("None"):
            # ASP.NET does not hold a body in memory, and what reads it may have a limit of its own.
            sure = facts.language != "csharp"
            yield facts.syntax.place_of(found), "this takes away the limit of the size of bodies", sure


_MAY_REMOVE = TextPattern(rf"\b(?:{_LIMIT_NAMES}|{_LIMITERS})")
_IS_UNLIMITED = lazy_regex(_UNLIMITED)


def _unlimited_constants(facts: Facts) -> list[str]:
    """Return names of constants of a text that are the largest number there is."""
    return [
        name
        for each in facts.assignments
        if each.scope is None and each.value is not None and _IS_UNLIMITED.fullmatch(each.value.text)
        for target in each.targets
        if (name := target.rpartition(".")[2]).isidentifier() and name.isupper()
    ]


_PARSERS = NamePattern(r"^(express|body-parser|bodyParser|koa-bodyparser)\b")
_HUGE = lazy_regex(r"\d{3,}\s*mb|\d+\s*gb|Infinity", re.IGNORECASE)


def _rust(call: Call, facts: Facts) -> bool:
    if call.name.endswith("DefaultBodyLimit.disable"):
        return not re.search(r"RequestBodyLimit|DefaultBodyLimit::max", facts.whole_text)
    if call.method == "to_bytes" and ".collect()" in call.name:
        return _is_whole_of_request(call, facts)
    if call.method == "collect" and not call.arguments and call.origin is None:
        # `timeout(limit, body.collect()).await`
        return call.is_argument and _is_whole_of_request(call, facts, only_body=True)
    if not _RUST_ALL.match(call.name):
        return False
    first, second = call.argument(place=0), call.argument(place=1)
    if first is None or _is_of_answer(first.value.text, call, facts):
        return False
    return second is None or second.value.text == "usize::MAX"


_ANSWER = lazy_regex(r"\bres(?:p|ponse)?\.into_(?:parts|body)\(")


def _is_of_answer(text: str, call: Call, facts: Facts) -> bool:
    """Return whether a body is that of an answer which the program itself has made (Rust)."""
    made = facts.assignments_to(text, call) if text.isidentifier() else ()
    return any(
        _ANSWER.search(each) for each in (text, *(one.value.text for one in made if one.value is not None))
    )


def _is_whole_of_request(call: Call, facts: Facts, *, only_body: bool = False) -> bool:
    """Return whether `request.into_body().collect().await?.to_bytes()` has no limit (hyper)."""
    scope = facts.named_function_of(call)
    if scope is None or re.search(r"\bLimited\b|RequestBodyLimit", facts.whole_text):
        return False
    head = re.match(r"\w+", facts.text(call.span))
    types = r"(Incoming|Body)$" if only_body else r"(Request|Incoming|Body)$"
    return head is not None and any(
        each.name.removeprefix("mut ") == head[0] and re.search(types, each.type) for each in scope.parameters
    )


def _kotlin(call: Call, facts: Facts) -> bool:
    route = facts.route_of(call)
    if route is None or route.route is None or route.route.framework != "ktor" or _has_limit(call, facts):
        return False
    if call.method == "receive":
        return re.search(r"receive<(ByteArray|String)>", facts.text(call.span)) is not None
    if (
        call.method in ("readBytes", "readAllBytes", "toByteArray", "readRemaining", "readText")
        and not call.arguments
    ):
        return (
            re.search(r"receive(Stream|Channel)\(\)|\b(streamProvider|provider)\(\)", call.name) is not None
        )
    return call.method in _KTOR and call.method == "receiveText"


_JAVA_ALL = NamePattern(
    r"(IOUtils|StreamUtils|ByteStreams|FileCopyUtils)\.(toByteArray|toString|copyToByteArray|copyToString)$"
)


def _java(call: Call, facts: Facts) -> bool:
    if call.method == "getBytes" and call.receiver.endswith("MultipartFile"):
        scope = facts.named_function_of(call)
        return scope is not None and ".getSize()" not in facts.text(scope.body)
    if call.method == "readAllBytes" and call.name.endswith("HttpExchange.getRequestBody().readAllBytes"):
        scope = facts.named_function_of(call)
        return scope is not None and not has_limit(facts.text(scope.body))
    if call.method in ("lines", "transferTo") and call.origin is not None:
        return _is_taken_whole(call, call.origin, facts)
    if not _JAVA_ALL.search(call.name):
        return False
    first = call.argument(place=0)
    return first is not None and re.search(r"[rR]eq(uest)?\.getInputStream\(\)", first.value.text) is not None


_REQUEST_TYPES = lazy_regex(r"(ServletRequest|HttpExchange|ContainerRequestContext)$")


def _is_taken_whole(call: Call, stream: Call, facts: Facts) -> bool:
    """Return whether all lines of a request are joined, or its stream goes to memory."""
    scope = facts.named_function_of(call)
    if scope is None or stream.method not in ("getReader", "getInputStream", "getRequestBody"):
        return False
    if not any(_REQUEST_TYPES.search(each.type) for each in scope.parameters):
        return False
    text = facts.text(scope.body)
    if call.method == "lines":
        is_kept = "joining(" in text
    else:
        first = call.argument(place=0)
        is_kept = first is not None and any(
            each.value is not None and "ByteArrayOutputStream" in each.value.text
            for each in facts.assignments_to(first.value.text, call)
        )
    return is_kept and not has_limit(text)


def _csharp(call: Call, facts: Facts) -> bool:
    if call.method == "DisableRequestSizeLimit":
        return True
    if call.method in ("ReadToEnd", "ReadToEndAsync") and call.origin is not None:
        read = facts.text(call.origin.span)
        return re.search(
            r"StreamReader\(\s*(?:\w+\.)*Request\.(?:Body|InputStream)\b", read
        ) is not None and not _has_limit(call, facts)
    if call.name not in ("IFormFile.CopyToAsync", "IFormFile.CopyTo"):
        return False
    first, scope = call.argument(place=0), facts.named_function_of(call)
    held = first is not None and any(
        each.name == "MemoryStream" and first.value.text in each.assigned for each in facts.calls
    )
    return held and scope is not None and not re.search(r"\.Length\s*[<>]", facts.text(scope.body))
