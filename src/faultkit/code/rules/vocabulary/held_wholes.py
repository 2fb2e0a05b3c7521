"""Bodies and objects that are taken into memory as a whole, though what follows could use them in parts.

Whether a whole is needed shows by its use: lines that are taken one by one, bytes that are written to a file,
an answer or another stream. A whole that is parsed (JSON, XML) must be there at once and is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

METHODS = frozenset(
    (
        "read", "readall", "read_all", "download_as_bytes", "download_as_string", "download_as_text",
        "decompress", "transformToString", "transformToByteArray", "arrayBuffer", "buffer", "text", "blob",
        "gunzip", "gunzipSync", "unzip", "inflate", "brotliDecompress", "streamToString", "streamToBuffer",
        "ReadAll", "readAllBytes", "readBytes", "readText", "readLines", "toByteArray", "toString",
        "asByteArray", "asUtf8String", "asString", "getObjectAsString", "getObjectAsBytes", "bytes", "string",
        "body", "bodyAsBytes", "bodyAsText", "readRawBytes", "copyToByteArray", "copyToString", "ReadToEnd",
        "ReadToEndAsync", "GetByteArrayAsync", "GetStringAsync", "ReadAsByteArrayAsync", "ReadAsStringAsync",
        "DownloadData", "DownloadDataTaskAsync", "DownloadContentAsync", "ToArray", "read_to_string",
        "read_to_end", "into_bytes", "collect", "to_bytes", "to_vec", "getBytes",
    )
)  # fmt: skip
"""Methods that may take a whole; `_holds` asks for the rest."""
_ANY_OBJECT = {
    "python": lazy_regex(
        r"\.(read|readall|read_all|download_as_(bytes|string|text))$|^(gzip|zlib|bz2|lzma)\.decompress$"
    ),
    "javascript": lazy_regex(
        r"\.(transformToString|transformToByteArray|arrayBuffer|buffer|text|blob)$"
        r"|(^|[.~])(gunzip|unzip|inflate|brotliDecompress)(Sync)?$|(^|~)streamTo(String|Buffer)$"
        r"|^stream/consumers\.\w+$"
    ),
    "go": lazy_regex(r"^(io|io/ioutil)\.ReadAll$"),
    "java": lazy_regex(
        r"\.(readAllBytes|asByteArray|asUtf8String|getObjectAsString|bytes|body|copyToByteArray|copyToString)$"
        r"|(IOUtils|ByteStreams|CharStreams|EntityUtils)\.(toByteArray|toString)$|^MultipartFile\.getBytes$"
    ),
    "kotlin": lazy_regex(
        r"\.(readAllBytes|readBytes|readText|readLines|asByteArray|asUtf8String|bytes|string|body|bodyAsBytes"
        r"|bodyAsText|readRawBytes|copyToByteArray)$|(IOUtils|ByteStreams)\.(toByteArray|toString)$"
    ),
    "csharp": lazy_regex(
        r"\.(ReadToEnd|ReadToEndAsync|GetByteArrayAsync|GetStringAsync|ReadAsByteArrayAsync|ReadAsStringAsync"
        r"|DownloadData|DownloadDataTaskAsync|DownloadContentAsync)$|MemoryStream\.ToArray$"
    ),
    "rust": lazy_regex(
        r"^reqwest\..*\.(bytes|text)$|\.(into_bytes|to_vec)$|\.(read_to_string|read_to_end)$|body\.collect$"
        r"|body\.to_bytes$"
    ),
}  # fmt: skip
_FILES = lazy_regex(
    r"^(open|(io|gzip|bz2|codecs|pathlib\.Path)\.open)\(\)\.read$|^io\.(BytesIO|StringIO)\b|^java\.io\.File\.|^(std\.)?fs\."
)
"""Reads of files, which another rule looks at, and of what is in memory already."""
_SHORT = lazy_regex(
    r"std(out|err|in)\b|proc(ess)?\b|popen|\bcmd\b|child|config|settings|\btoken|secret|schema|template|manifest|version"
    r"|licen[sc]e|readme|ssh|key_?file|error|\bmsg\b|password|/proc/|\bpty\b|prompt|clipboard|fixture|resource|asset|classpath",
    re.IGNORECASE,
)
"""Sources that are short by their names: outputs of programs, settings, messages of errors."""
_SHORT_BY_OWNER = lazy_regex(r"lock|key|lice[sn]", re.IGNORECASE)
_BOUNDED = lazy_regex(
    r"LimitReader|LimitedReader|MaxBytes\w*|readNBytes|\.take\(|max_?bytes|max_?size|maxContentLength|Limited::new"
    r"|content_?length|ContentLength|MAX_\w+",
    re.IGNORECASE,
)
_CONVERTS = lazy_regex(
    r"\.(decode|toString|text|string|asByteArray|asUtf8String|into_bytes|to_vec"
    r"|to_bytes|collect|GetString|String|data)\b|^(new )?(string|String|str|Buffer\.from|bytes"
    r"|String::from_utf8\w*"
    r"|std::str::from_utf8|Encoding\.\w+\.GetString)\(|(gunzip|unzip|decompress|inflate)\w*\(",
)
_BY_LINE = (
    r"(split\(\s*[b`]?['\"/`](\\n|\\r\\n|\\r\?\\n|\\\\n|\\\\R|\\\\r\?\\\\n)(?!['\"/`]\s*,\s*\d)"
    r"|Split\(\s*(new\[\] ?\{ ?)?['\"]\\n(?!['\"]\s*,\s*\d)|splitlines\(|lines\(\)|lineSequence\(|Lines\()"
)


_USES = (
    "plit", "ines(", "StringIO", "BytesIO", "StringReader", "csv.", "NewScanner", "Cursor::new", "rite",
    "ByteArrayInputStream", ".send(", ".end(", "lineSequence", "respondBytes", "File(",
)  # fmt: skip
"""One of them is in each function that uses a whole in parts; they are found faster."""
_LONGEST = 20_000
"""Bytes of the functions that are looked at; longer ones are generated or packed code."""


def wholes_used_in_parts(facts: Facts) -> Iterator[tuple[Call, str, bool]]:
    """Yield calls that hold a whole, each with how its content is used, and whether that is sure.

    `line by line` is, for an object of a store or what is unpacked; `written` is, if nothing else is done
    with the content."""
    holds = _ANY_OBJECT[facts.syntax.language.family]
    for call in facts.calls_of_method(*METHODS):
        if not holds.search(call.name) or _FILES.match(call.name):
            continue
        scope = facts.named_function_of(call)
        if scope is None or scope.body.end - scope.body.start > _LONGEST or not _is_whole(call, facts):
            continue
        body = facts.text(scope.body)
        if not any(word in body for word in _USES) or _is_short(call, scope, facts):
            continue
        if call.method in ("bytes", "body", "string") and is_of_other_type(call, facts):
            continue
        use = _use_of(call, scope, facts)
        if use == "line by line":
            yield call, use, _is_of_store(call, scope, facts)
        elif use is not None:
            # What a program has put into memory itself is there already.
            is_own = call.name.endswith("MemoryStream.ToArray")
            yield call, use, not is_own and not is_used_otherwise(call, scope, facts)


_OF_STORES = lazy_regex(
    r"transformTo|download|getObject|get_object|GetObject|\[[\"']Body[\"']\]|\b(?:r|req|object|obj|out)\.Body\b|blob|bucket|s3|(?:gun|un)zip|inflate"
    r"|decompress|\bRequest\.Body\b",
    re.IGNORECASE,
)


def _is_of_store(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a content is an object of a store, a body of a request, or what was packed."""
    names = {*re.findall(r"(?<![\w.])[A-Za-z_]\w*", facts.text(call.span))}
    texts = [facts.text(call.span), call.name]
    texts += [
        each.value.text
        for name in names
        for each in facts.assignments_to(name, call)
        if each.value is not None and each.scope is not None
    ]
    return any(map(_OF_STORES.search, texts))


_SUMS = r"\b(?:len|(?:\w+\.)?(?:sha|md5|crc|hash|checksum|Sum|New)\w*|\w+\.(?:update|digest))\(\s*$"
"""Lengths and checksums, which can be made in parts as well."""
_LENGTH = r"(?!\.(?:length|size|Length|len\(\)|byteLength)\b)"


def is_used_otherwise(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a function does more with a content than write it or look at its length."""
    names = [name for name in call.assigned[:1] if name.isidentifier()]
    if not names:
        return False
    body = facts.text(scope.body)
    after = body[call.span.end - scope.body.start :]
    writes = _WRITES[facts.syntax.language.family]
    wraps = r"(?:Buffer\.from\(|await |\(await |&)*$"
    allowed = re.compile(rf"(?:(?:{writes}){wraps}|{_SUMS})")
    uses = re.finditer(rf"(?<![\w.]){re.escape(names[0])}\b{_LENGTH}", after)
    return not all(allowed.search(after[: used.start()]) for used in uses)


def _is_whole(call: Call, facts: Facts) -> bool:
    if call.method in ("read", "readall", "read_all"):
        return not call.arguments
    if call.method in ("body", "bytes", "string", "text", "buffer") and call.arguments:
        return False
    if facts.language == "rust" and call.method in ("collect", "into_bytes", "to_vec"):
        return re.search(r"\bbody\b", facts.text(call.callee)) is not None
    return True


def _is_short(call: Call, scope: Scope, facts: Facts) -> bool:
    text = facts.text(call.span)
    if "SizeLimit(" in facts.text(scope.head):
        return True  # `[RequestSizeLimit(…)]`
    if _SHORT.search(text) or _SHORT.search(scope.short_name) or _SHORT_BY_OWNER.search(scope.name):
        return True
    sources = [
        facts.text(each.span)
        for name in re.findall(r"(?<![\w.])[A-Za-z_]\w*", text)
        for each in facts.assignments_to(name, call)
        if each.scope is not None
    ]
    return _BOUNDED.search(text) is not None or any(
        _BOUNDED.search(each) or _SHORT.search(each.partition("=")[2]) for each in sources
    )


_SOURCES = lazy_regex(r"Response|Body|Stream|Source|URL|Url|Channel|Reader|Connection|Call|Part|File")


def is_of_other_type(call: Call, facts: Facts) -> bool:
    """Return whether the object of a call has a type that is no answer and no stream."""
    head = call.receiver_written
    if not head.isidentifier():
        return False
    around = facts.functions_around(call)
    types = [each.type for scope in around for each in scope.parameters if each.name == head and each.type]
    return bool(types) and _SOURCES.search(types[-1]) is None


def _use_of(call: Call, scope: Scope, facts: Facts) -> str | None:
    """Return how the content of a call is used in its function, if that could be done in parts."""
    body = facts.text(scope.body)
    family = facts.syntax.language.family
    if not _USED[family].is_in(body):
        return None  # To compile expressions for each name takes long.
    if _NEEDS_WHOLE.search(body) or _IN_MEMORY.match(call.receiver_written):
        return None
    names = [rf"\b{re.escape(name)}\b" for name in _names_of(call, scope, facts)]
    is_remade = _is_remade(call, scope, facts)
    for form in (re.escape(facts.text(call.span)), *names):
        if not is_remade and _by_line(form, body):
            return "line by line"
        if _written(form, body, family) and not is_kept(call, scope, facts):
            return "written"
    return None


_NEEDS_WHOLE = lazy_regex(r"\b(?:chardet|jschardet|charset_normalizer|cchardet)\.|\bUniversalDetector\b")
"""What looks at all of a content to find its encoding."""
_IN_MEMORY = lazy_regex(r"_?(?:\w+_)?(?:buffer|buf|bio|bytes_?io|string_?io|memory_?stream)$", re.IGNORECASE)
"""Names of contents that are in memory already."""


def is_kept(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether the whole stays in memory anyway: an object keeps it, as a cache does."""
    return any(
        each.value is not None and each.value.text in call.assigned and not _is_local(each.targets[0])
        for each in facts.within(facts.assignments, scope.body)
        if len(each.targets) == 1
    )


def _is_local(name: str) -> bool:
    return name.isidentifier() and not name.startswith("_")


def _is_remade(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a function is given the whole and returns another: `text = fill_in(text, values)`."""
    return any(
        each.value is not None
        and each.value.shape == "call"
        and each.span.start > call.span.end
        and re.search(rf"^(await )?[\w.]+\((.*[\s,(=])?{re.escape(name)}\b", each.value.text, re.DOTALL)
        and not _CONVERTS.search(each.value.text)
        and not re.search(_BY_LINE, each.value.text)
        for name in call.assigned
        if name.isidentifier()
        for each in facts.within(facts.assignments, scope.body)
        if each.targets == (name,)
    )


def _names_of(call: Call, scope: Scope, facts: Facts) -> list[str]:
    """Return the names that hold the content, also decoded or unpacked."""
    names = [name for name in call.assigned if name.isidentifier() and name not in ("err", "_")]
    if facts.language == "go":
        names = names[:1]
    text = facts.text(call.span)
    for each in facts.within(facts.assignments, scope.body):
        if each.value is None or len(each.targets) > 2 or not each.targets[0].isidentifier():
            continue
        value = each.value.text
        held = any(re.search(rf"(?<![\w.]){re.escape(name)}\b", value) for name in names)
        if each.targets[0] not in names and ((held and _CONVERTS.search(value)) or _wraps(value, text)):
            names.append(each.targets[0])
    return names


def _wraps(value: str, text: str) -> bool:
    """Return whether a value is the call itself, decoded or unpacked: `body.read().decode()`."""
    at = value.find(text)
    if at < 0:
        return False
    after = value[at + len(text) :].lstrip(")?.! \n")
    return (
        re.fullmatch(
            r"(await\?*\.?)?\s*((decode|toString|asByteArray|asUtf8String|into_bytes|to_vec|to_bytes|string|text)\([^()]*\)\)?"
            r"[?.!\s]*)*(await\?*)?;?",
            after,
        )
        is not None
    )


_PARSED = lazy_regex(
    r"\b(XmlReader|XmlTextReader|XmlDocument|XDocument|XPathDocument|XElement|XmlSerializer|JsonTextReader|InputSource"
    r"|StreamSource|DocumentBuilder|SAXParser|XMLInputFactory|Unmarshaller|ObjectMapper|JsonReader|Gson|ZipFile"
    r"|ZipArchive|ElementTree|etree|load_workbook|read_excel|Image\.open|PdfReader)\b"
)
"""What takes a reader and needs the whole: documents of XML and JSON, archives, images."""


_SPLITS = (
    r"((strings|bytes)\.(Split|SplitSeq|Lines)\w*\(|NewScanner\(\w+\.New(Reader|Buffer)\w*\("
    r"|csv\.NewReader\(\w+\.New(Reader|Buffer)\w*\(|csv\.(reader|DictReader)\()"
)
_WRAPS = (
    r"((io\.)?(StringIO|BytesIO)\(|StringReader\(|InputStreamReader\(\s*(new )?ByteArrayInputStream\("
    r"|Cursor::new\(|GZIPInputStream\(\s*(new )?ByteArrayInputStream\()"
)


def _by_line(form: str, body: str) -> bool:
    later = r"\)*\??(\.(decode|toString|trim|strip|rstrip|text)\([^()]*\)|\.await\??|\?|!!)*"
    return (
        re.search(rf"{form}{later}\??\.\s*{_BY_LINE}", body) is not None
        or re.search(rf"{_SPLITS}\s*(string\(|&)?{form}", body) is not None
        or (_is_wrapped(form, body) and _PARSED.search(body) is None)
    )


def _is_wrapped(form: str, body: str) -> bool:
    """Return whether a content is made a file or stream again, which is read in parts."""
    if re.search(rf"{_WRAPS}\s*(string\(|&)?{form}", body) is None:
        return False
    # A buffer that is returned is read elsewhere, in parts or not.
    return re.search(r"BytesIO", body) is None or _IN_PARTS.search(body) is not None


_IN_PARTS = lazy_regex(r"\bfor\b[^\n]*\bin\b|csv|readline|TextIOWrapper|read\(\w|copyfileobj|GzipFile|gzip")


_SINK = r"\b(f|fh|fp|handle|\w*(file|out|target|dest|dst|output|sink|tmp|stream|response|res|writer))\w*"
"""Names of what is written to: a file, an answer, another stream."""
_WRITES = {
    "go": r"\.WriteFile\([^\n,]+,\s*|\b(?!hash|h\b|mac|sum|sb\b|buf|b\b|digest)\w+\.Write\(",
    "python": rf"{_SINK}\.write\(\s*|write_bytes\(\s*",
    "java": rf"Files\.write(String)?\([^\n,]+,\s*|{_SINK}(\(\))?\.write\(\s*|ByteArrayToFile\([^\n,]+,\s*",
    "kotlin": rf"\bwriteBytes\(\s*|{_SINK}\.write\(\s*|Files\.write\([^\n,]+,\s*|respondBytes\(\s*",
    "csharp": rf"WriteAll(Bytes|Text)(Async)?\([^\n,]+,\s*|{_SINK}\.Write(Async)?\(\s*|\bFile\(\s*",
    "rust": r"\bfs::write\([^\n,]+,\s*&?|\.write_all\(\s*&?",
    "javascript": rf"writeFile(Sync)?\([^\n,]+,\s*|{_SINK}\.(write|end|send)\(\s*",
}


_USED = {
    family: TextPattern(rf"\.\s*{_BY_LINE}|{_SPLITS}|{_WRAPS}|{writes}") for family, writes in _WRITES.items()
}
"""What is done in parts, with whatever content."""


def _written(form: str, body: str, language: str) -> bool:
    writes = _WRITES[language]
    return re.search(rf"({writes})(Buffer\.from\(|await |\(await )*{form}\)*\s*[,)]", body) is not None
