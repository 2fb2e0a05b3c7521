"""Packed content of a client that is unpacked in memory to whatever size it has.

A limit of the packed size is none of the unpacked one: a few kilobytes may become gigabytes.
"""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.vocabulary.brackets import end_of_bracket
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_UNPACKS = NamePattern(
    r"^(gzip|zlib|bz2|lzma|brotli|zstandard|snappy)\.(decompress|uncompress)$"
    r"|^zlib\.(gunzip|inflate|unzip|brotliDecompress|inflateRaw)(Sync)?$|^(pako|fflate)\.(ungzip|inflate|gunzipSync|unzipSync)$"
)
METHODS = frozenset(
    (
        "readAllBytes", "readBytes", "readText", "read_to_end", "read_to_string", "CopyTo", "CopyToAsync",
        "extractall", "ReadAll", "Copy", "decompress", "gunzip", "gunzipSync", "inflate",
        "inflateSync", "unzip", "unzipSync", "brotliDecompress", "brotliDecompressSync", "inflateRaw",
        "inflateRawSync", "ungzip", "read", "ReadToEnd", "ReadToEndAsync", "toByteArray", "readLines",
        "transferTo", "copyTo", "uncompress",
    )
)  # fmt: skip
"""The last parts of all names that are looked at."""
_PACKED = {
    "java": lazy_regex(r"\b(GZIP|Inflater|Zip|Brotli\w*|Zstd\w*|BZip2\w*|\w*Compressor)InputStream\b"),
    "rust": lazy_regex(
        r"\b(Gz|Zlib|Deflate|Brotli|MultiGz|Zstd|Bz|Xz)\w*Decoder\b|\bDecoder::new\b|ZipArchive|by_index"
    ),
    "csharp": lazy_regex(r"\b(GZip|Deflate|Brotli|ZLib)Stream\b|ZipArchive\w*|\.Open\(\)"),
    "python": lazy_regex(r"\b(GzipFile|gzip\.open|ZipFile|LZMAFile|BZ2File|zipfile|tarfile)\b"),
    "go": lazy_regex(r"\b(gzip|zlib|flate|bzip2|zstd|brotli|lz4)\.NewReader\w*\("),
    "javascript": lazy_regex(
        r"\b(createGunzip|createUnzip|createInflate|createBrotliDecompress|DecompressionStream)\("
    ),
}
_PACKED["kotlin"] = _PACKED["java"]
_FROM_CLIENT = lazy_regex(
    r"\b\w*(req|request|event|body|payload|upload|uploaded|file|archive|raw|blob|packed|compressed|attachment|message|data|input)\b",
    re.IGNORECASE,
)
_SERVES = TextPattern(
    r"http\.ResponseWriter|gin\.Context|echo\.Context|fiber\.Ctx|HttpServletRequest|@(Post|Put|Request)Mapping"
    r"|HttpRequest\b|MapPost|\[HttpPost|axum::|actix_web|warp::|@(POST|PUT)\b|receive<|ServerRequest|ApplicationCall"
    r"|IFormFile|MultipartFile|@\w+\.(post|put|route)\(|\b(app|router|server|fastify)\.(post|put)\(|IncomingMessage"
    r"|NextRequest|FastifyRequest|APIGatewayProxyEvent|UploadFile|web\.Request|HttpExchange"
)
_LIMITED = lazy_regex(
    r"max_length|maxOutputLength|readNBytes|\.take\(|Limit(ed)?Reader|CopyN\(|limit|max_?(size|bytes|len|unpacked|output)"
    r"|MAX_(UN|INFLATED|OUT|DEC|EXP|RAW|PLAIN|CONTENT)\w*|MaxUnpacked\w*|MaxDec\w*|file_size|infolist|uncompressed"
    r"|\.Length\s*>|getSize\(\)|\.size\(\)\s*>|total\s*>|\.length\s*>|BoundedInputStream|unconsumed_tail",
    re.IGNORECASE,
)
_TYPES = lazy_regex(
    r"(^|[./])(Http(Servlet)?Request|Request|MultipartFile|IFormFile|UploadFile|IncomingMessage|HttpContext|HttpExchange"
    r"|ServerRequest|ServerWebExchange|RoutingContext|ApplicationCall|FastifyRequest|NextRequest|HttpRequestData"
    r"|ContainerRequestContext)$|(gin|echo|fiber)(/v\d+)?\.(Context|Ctx)$"
)
_APPLIES = frozenset(("use", "let", "run", "also", "apply", "with"))
_LEVELS = 2


def unpacks_any_size(call: Call, facts: Facts) -> bool:
    """Return whether a call unpacks what a client sent without a limit for the result."""
    if call.method not in METHODS or not _is_whole(call, facts):
        return False
    scope = facts.named_function_of(call) or facts.function_of(call)
    if scope is None or not _is_fed(call, scope, facts):
        return False
    texts = _texts_of(call, facts)
    if _is_archive(call, texts) or facts.loops_around(call):
        # The sizes of its members, or of the parts before, may be looked at first.
        text = _without_packed_limits(facts.text(scope.body), scope)
        return _LIMITED.search(text) is None and not re.search(r"\blen\([^\n]*>", text)
    # A stream is limited by what is around it; what looks at its result comes too late.
    packed = _PACKED.get(facts.syntax.language.family)
    return not any(_LIMITED.search(_without_inner(text, packed)) for text in texts)


_ARCHIVE = lazy_regex(
    r"zip_?file|ZipArchive|tar_?file|TarArchive|by_index|extractall|\.Open\(\)|infolist", re.IGNORECASE
)


def _is_archive(call: Call, texts: list[str]) -> bool:
    return call.method == "extractall" or any(_ARCHIVE.search(text) for text in texts)


def _texts_of(call: Call, facts: Facts) -> list[str]:
    """Return a call, and what its object and its arguments are made of."""
    found = [facts.text(call.span), *_sources(call, facts)]
    for argument in call.positional[:2]:
        made = facts.assignments_to(argument.value.text.lstrip("&"), call)
        found += [each.value.text for each in made if each.value is not None and each.scope is not None]
    return found


def _without_inner(text: str, packed: re.Pattern[str] | None) -> str:
    """Return the text of a reader without what its decoder is given: a limit there is of the packed size."""
    found = None if packed is None else packed.search(text)
    if found is None:
        return text
    opening = text.find("(", found.end() - 1)
    end = end_of_bracket(text, opening + 1, ")") if opening >= 0 else None
    return text[: found.start()] if end is None else f"{text[: found.start()]}{text[end + 1 :]}"


def _without_packed_limits(body: str, scope: Scope) -> str:
    """Return a body without what looks at the size of what is still packed, and without texts."""
    names = "|".join(re.escape(each.name) for each in scope.parameters) or "(?!)"
    packed = (
        rf"\blen\(\s*(?:{names})(?:\.\w+)*\s*\)\s*>[^\n]*"
        rf"|\b(?:{names})(?:\.\w+)*\.(?:[lL]ength|size|getSize\(\)|len\(\))\s*>[^\n]*"
    )
    return re.sub(rf"{packed}|\"[^\"\n]*\"|'[^'\n]*'|//[^\n]*|\bMaxBytesReader", "", body)


def _is_whole(call: Call, facts: Facts) -> bool:
    """Return whether a call takes all of an unpacked content."""
    language = facts.language
    if _UNPACKS.match(call.name) or _is_promised(call, facts) or _is_by_object(call, facts):
        return not call.has("maxOutputLength", "max_length", "max_output_size")
    if call.method == "extractall" and language == "python":
        return True
    if (
        call.method in ("read", "readText", "readBytes", "readAllBytes", "ReadToEnd", "ReadToEndAsync")
        and call.arguments
    ):
        return False
    packed = _PACKED.get(facts.syntax.language.family)
    if packed is None or facts.syntax.language.family == "javascript":
        return False
    if language == "go":
        if call.name not in ("io.ReadAll", "io/ioutil.ReadAll", "io.Copy"):
            return False
        at = 1 if call.method == "Copy" else 0
        source = call.argument(place=at)
        if source is None or (
            call.method == "Copy" and not _is_in_memory(call.positional[0].value.text, call, facts)
        ):
            return False
        return _is_packed(source.value.text, call, packed, facts)
    if call.method in ("CopyTo", "CopyToAsync", "transferTo", "copyTo"):
        first = call.argument(place=0)
        if first is None or not _is_in_memory(first.value.text, call, facts):
            return False
    if language == "rust" and not call.method.startswith("read_to"):
        return False
    if language == "python" and call.method != "read":
        return False
    return any(packed.search(text) for text in _sources(call, facts))


_OBJECTS = lazy_regex(r"\b(decompressobj|Decompressor|LZMADecompressor|BZ2Decompressor|ZstdDecompressor)\(")


def _is_by_object(call: Call, facts: Facts) -> bool:
    """Return whether an object unpacks all that it is given: `zlib.decompressobj().decompress(raw)`."""
    if facts.language != "python" or call.method != "decompress" or len(call.arguments) != 1:
        return False
    return any(_OBJECTS.search(text) for text in _sources(call, facts))


def _is_promised(call: Call, facts: Facts) -> bool:
    """Return whether a call is of `const gunzip = promisify(zlib.gunzip)`."""
    if facts.syntax.language.family != "javascript" or call.receiver_written:
        return False
    made = facts.assignments_to(call.written, call)
    return any(
        each.value is not None
        and re.search(
            r"promisify\(\s*(zlib\.)?(gunzip|inflate|unzip|brotliDecompress|inflateRaw)\b", each.value.text
        )
        for each in made
    )


def _is_in_memory(name: str, call: Call, facts: Facts) -> bool:
    bare = name.lstrip("&")
    made = [facts.text(each.span) for each in facts.assignments_to(bare, call)]
    return any(
        re.search(r"MemoryStream|bytes\.Buffer|strings\.Builder|ByteArrayOutputStream|BytesIO", each)
        for each in made
    )


def _is_packed(text: str, call: Call, packed: re.Pattern[str], facts: Facts) -> bool:
    made = [each.value.text for each in facts.assignments_to(text, call) if each.value is not None]
    return any(packed.search(each) for each in (text, *made))


def _sources(call: Call, facts: Facts) -> list[str]:
    """Return what the object of a call is made of: its name, its variable, or the object of `.use { it }`."""
    head = call.receiver_written.partition(".")[0].partition("(")[0]
    found = [call.name, facts.text(call.callee)]
    made = [
        each for each in facts.assignments_to(head, call) if each.value is not None and each.scope is not None
    ]
    found += [each.value.text for each in made if each.value is not None]
    # A reader around it: `new StreamReader(unpacked)`.
    for each in made:
        for name in re.findall(
            r"\(\s*&?(?:mut )?(\w+)\s*[,)]", "" if each.value is None else each.value.text
        ):
            found += [
                one.value.text
                for one in facts.assignments_to(name, call)
                if one.value is not None and one.scope is not None
            ]
    scope = facts.function_of(call)
    names = ("it", "this") if scope is None else ("it", *(each.name for each in scope.parameters))
    if facts.language == "kotlin" and (head in names or not head):
        around = [each for each in facts.calls_around(call) if each.method in _APPLIES]
        found += [around[-1].name, facts.text(around[-1].callee)] if around else []
    managed = [each for each in facts.managed_around(call) if head in each.assigned]
    return found + [facts.text(each.span) for each in managed]


def _is_fed(call: Call, scope: Scope, facts: Facts, levels: int = _LEVELS) -> bool:
    """Return whether a client sends what a function reads: it is a handler, or is given the body of one."""
    if facts.route_of(call) is not None or any(_TYPES.search(each.type) for each in scope.parameters):
        return True
    for caller in facts.callers_of(scope) if levels else ():
        outer = facts.named_function_of(caller) or facts.function_of(caller)
        if outer is not None and outer is not scope and _is_fed(caller, outer, facts, levels - 1):
            return True
    names = " ".join(each.name for each in scope.parameters)
    if _FROM_CLIENT.search(names) is None:
        return False
    return facts.language == "rust" or _SERVES.search(facts.whole_text) is not None
