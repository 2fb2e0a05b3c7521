"""Bodies of requests that a handler takes into memory whatever their size."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_LIMITS = re.compile(
    r"content-?_?length|max_?content|limit|maxBody|max_body|too_?large|TooLarge|413|MAX_\w*(SIZE|BYTES|BODY|LEN)",
    re.IGNORECASE,
)
_KTOR = frozenset(("receiveText", "receiveStream", "receiveChannel"))
_RUST_ALL = NamePattern(r"^(axum\.body|hyper\.body)\.to_bytes$")


def unbounded_bodies(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield the places where a body of any size is taken into memory, and what does it."""
    find = {"python": _python, "rust": _rust, "kotlin": _kotlin, "java": _java, "csharp": _csharp}.get(
        facts.language, _javascript
    )
    is_go = facts.language == "go"
    for call in facts.calls:
        if call.method in _UNPACKING and _is_bomb(call, facts):
            yield call.span, f"{call.written}() unpacks a body to any size in memory"
        elif not is_go and find(call, facts):
            yield call.span, f"{call.written}() takes a body of any size into memory"


_UNPACKS = NamePattern(
    r"^(gzip|zlib|bz2|lzma|brotli)\.decompress$|^zlib\.(gunzip|inflate|unzip|brotliDecompress|inflateRaw)(Sync)?$"
)
_UNPACKING = frozenset(
    (
        "readAllBytes", "readBytes", "readText", "read_to_end", "read_to_string", "CopyTo", "CopyToAsync",
        "extractall", "ReadAll", "decompress", "gunzip", "gunzipSync", "inflate",
        "inflateSync", "unzip", "unzipSync", "brotliDecompress", "brotliDecompressSync", "inflateRaw",
        "inflateRawSync",
    )
)  # fmt: skip
"""The last parts of all names that `_is_bomb` looks at."""
_FROM_CLIENT = re.compile(r"\b(req|request|ctx\.req|event|body|payload|upload|file)\b", re.IGNORECASE)
_GO_PACKED = re.compile(r"^compress/(gzip|zlib|flate|bzip2)\.NewReader$")


def _is_bomb(call: Call, facts: Facts) -> bool:
    """Return whether a handler unpacks what a client sent without a limit for the result."""
    if facts.language in ("java", "kotlin"):
        if call.method not in ("readAllBytes", "readBytes", "readText") or call.arguments:
            return False
        is_packed = re.search(r"(GZIP|Inflater|Zip)\w*InputStream(\(\))?\.", call.name) is not None
        return is_packed and _is_fed(call, facts)
    if facts.language == "rust":
        decoded = r"(Gz|Zlib|Deflate|Brotli|Multi)\w*Decoder\b.*\.read_to_(end|string)$"
        is_packed = re.search(decoded, call.name) is not None
        return is_packed and _is_fed(call, facts) and ".take(" not in _body_of(call, facts)
    if facts.language == "csharp":
        is_packed = re.search(r"(GZip|Deflate|Brotli)Stream\.CopyTo(Async)?$", call.name) is not None
        return is_packed and "MemoryStream" in _body_of(call, facts) and _is_fed(call, facts)
    if call.method == "extractall" and facts.language == "python" and facts.route_of(call) is not None:
        scope = facts.named_function_of(call)
        return scope is not None and not re.search(
            r"file_size|infolist|\.size\b|limit", facts.text(scope.body)
        )
    reads = (
        call.name in ("io.ReadAll", "io/ioutil.ReadAll")
        if facts.language == "go"
        else _UNPACKS.match(call.name)
    )
    first = call.argument(place=0) if reads else None
    if first is None:
        return False
    if facts.language == "go":
        name = first.value.text
        if not _is_fed(call, facts):
            return False
        return any(_GO_PACKED.match(each.name) and each.assigned[:1] == (name,) for each in facts.calls)
    if facts.route_of(call) is None or call.has("maxOutputLength", "max_length"):
        return False
    return _FROM_CLIENT.search(facts.text_with_values(call)) is not None


_SERVES = TextPattern(
    r"http\.ResponseWriter|gin\.Context|echo\.Context|fiber\.Ctx|HttpServletRequest|@(Post|Put|Request)Mapping"
    r"|HttpRequest\b|MapPost|\[HttpPost|axum::|actix_web|warp::|@(POST|PUT)\b|receive<|ServerRequest"
)


def _is_fed(call: Call, facts: Facts) -> bool:
    """Return whether a client sends what a function reads: it is a handler, or is given the body of one."""
    if facts.route_of(call) is not None:
        return True
    scope = facts.named_function_of(call)
    if scope is None:
        return False
    if any(
        re.search(r"(^|[./])(Http(Servlet)?Request|Request|MultipartFile|IFormFile)$", each.type)
        for each in scope.parameters
    ):
        return True
    names = " ".join(each.name for each in scope.parameters)
    if facts.language == "rust":
        return _FROM_CLIENT.search(names) is not None
    return _SERVES.search(facts.whole_text) is not None and bool(scope.parameters)


def _body_of(call: Call, facts: Facts) -> str:
    scope = facts.named_function_of(call)
    return "" if scope is None else facts.text(scope.body)


def _has_limit(call: Call, facts: Facts) -> bool:
    """Return whether this text mentions a limit of size anywhere."""
    return _LIMITS.search(facts.whole_text) is not None


def _python(call: Call, facts: Facts) -> bool:
    is_body = call.method in ("body", "get_data") and call.receiver_written.rpartition(".")[2] == "request"
    return is_body and facts.route_of(call) is not None and not call.arguments and not _has_limit(call, facts)


def _javascript(call: Call, facts: Facts) -> bool:
    """Return whether a listener collects all parts of a request, or multer keeps uploads in memory."""
    if call.name == "multer" and call.arguments and call.arguments[0].value.shape == "object":
        return not call.has("limits", "limits.fileSize") and not call.spreads
    limit = call.argument("limit") if _PARSERS.match(call.name) else None
    if limit is not None:
        return _HUGE.fullmatch(limit.value.literal or limit.value.text) is not None
    first = call.argument(place=0) if call.method == "on" else None
    if first is None or first.value.literal != "data" or len(call.positional) != 2:
        return False
    if not re.fullmatch(r"(this\.)?(req|request|ctx\.req|incoming)", call.receiver_written):
        return False
    given = call.positional[1].value
    collects = re.search(r"\+=|\.push\(", given.text) is not None
    return collects and given.shape == "function" and not re.search(r"length|destroy|LIMIT|MAX", given.text)


_PARSERS = NamePattern(r"^(express|body-parser|bodyParser|koa-bodyparser)\b")
_HUGE = re.compile(r"(\d{4,}|[1-9]\d\d|[5-9]\d)\s*mb|\d+\s*gb|Infinity", re.IGNORECASE)


def _rust(call: Call, facts: Facts) -> bool:
    if call.name.endswith("DefaultBodyLimit.disable"):
        return not re.search(r"RequestBodyLimit|DefaultBodyLimit::max", facts.whole_text)
    if not _RUST_ALL.match(call.name):
        return False
    second = call.argument(place=1)
    return second is None or second.value.text == "usize::MAX"


def _kotlin(call: Call, facts: Facts) -> bool:
    route = facts.route_of(call)
    if route is None or route.route is None or route.route.framework != "ktor" or _has_limit(call, facts):
        return False
    if call.method == "receive":
        return "ByteArray" in facts.text(call.span)
    return call.method in _KTOR and call.method == "receiveText"


def _java(call: Call, facts: Facts) -> bool:
    if call.method == "getBytes" and call.receiver.endswith("MultipartFile"):
        scope = facts.named_function_of(call)
        return scope is not None and ".getSize()" not in facts.text(scope.body)
    if call.method not in ("toByteArray", "toString") or not call.receiver.endswith("IOUtils"):
        return False
    first = call.argument(place=0)
    return first is not None and re.search(r"[rR]eq(uest)?\.getInputStream\(\)", first.value.text) is not None


def _csharp(call: Call, facts: Facts) -> bool:
    if call.method == "DisableRequestSizeLimit":
        return True
    if call.method in ("ReadToEnd", "ReadToEndAsync") and call.origin is not None:
        read = facts.text(call.origin.span)
        return re.search(r"StreamReader\(\s*(?:\w+\.)*Request\.Body\b", read) is not None and not _has_limit(
            call, facts
        )
    if call.name not in ("IFormFile.CopyToAsync", "IFormFile.CopyTo"):
        return False
    first, scope = call.argument(place=0), facts.named_function_of(call)
    held = first is not None and any(
        each.name == "MemoryStream" and first.value.text in each.assigned for each in facts.calls
    )
    return held and scope is not None and not re.search(r"\.Length\s*[<>]", facts.text(scope.body))
