"""Finds files and request bodies that are read into memory as a whole.

Evidence: a client or another service decides about the size; or a file is read for each request or message,
or holds, by its name, data that grows. Other files of a program are mostly small.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, Step, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.collected_bodies import collected_bodies
from faultkit.code.rules.vocabulary.foreign_bodies import foreign_bodies
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.repetition import frequency_of
from faultkit.code.rules.vocabulary.unbounded_bodies import has_limit, unbounded_bodies
from faultkit.code.rules.vocabulary.unbounded_lines import unbounded_lines

_LINES = lazy_regex(r"\.(split\(\s*['\"]\\n['\"]|split\(/\\r\?\\n/|splitlines\()")
_OPENED = lazy_regex(r"^(open|io\.open|gzip\.open|bz2\.open|codecs\.open|pathlib\.Path\.open)\(\)\.read$")
_OBJECT = lazy_regex(r"""\[["']Body["']\]\.read$""")
"""The body of an object in S3: `client.get_object(…)["Body"].read()`."""
_WHOLE = {
    "javascript": NamePattern(
        r"^fs(/promises)?(\.promises)?\.readFile(Sync)?$|(^|\.)Body\.transformToString$"
    ),
    "go": NamePattern(r"^(os\.ReadFile|io/ioutil\.ReadFile)$"),
    "java": NamePattern(r"^java\.nio\.file\.Files\.(readAllLines|readString|readAllBytes)$"),
    "python": NamePattern(r"^pathlib\.Path\.(read_text|read_bytes)$"),
    "csharp": NamePattern(r"^(System\.IO\.)?File\.ReadAll(Bytes|Text|Lines)(Async)?$"),
    "kotlin": NamePattern(
        r"^java\.io\.File\.(readBytes|readText|readLines)$|^java\.nio\.file\.Files\.(readAllLines|readString|readAllBytes)$"
    ),
    "rust": NamePattern(r"^(std\.fs|tokio\.fs|fs)\.(read|read_to_string)$"),
}
_METHODS = frozenset(
    (
        "readlines", "read", "read_text", "read_bytes", "readFile", "readFileSync", "transformToString",
        "ReadFile", "ReadAll", "ReadFrom", "Copy",
        "readAllLines", "readString", "readAllBytes", "ReadAllBytes", "ReadAllText",
        "ReadAllLines", "ReadAllBytesAsync", "ReadAllTextAsync", "ReadAllLinesAsync", "readBytes",
        "readText", "readLines", "read_to_string",
    )
)  # fmt: skip
"""The last parts of the names of all calls that are looked at."""
_ALL_LINES = frozenset(("readAllLines", "ReadAllLines", "ReadAllLinesAsync", "readLines"))
_UPLOADS = frozenset(("fastapi.UploadFile.read", "starlette.datastructures.UploadFile.read"))
_HANDED_ON = ("Body", "data", "content", "body")
_GO_BODIES = frozenset(("io.ReadAll", "io/ioutil.ReadAll"))
_BOUNDS = lazy_regex(r"MaxBytesReader|LimitReader|LimitedReader")
_SETTINGS = lazy_regex(
    r"config|settings|\.env|secret|token|key|cert|schema|template|\.ya?ml|\.toml|\.sql|version|/proc/|/sys/|/etc/|\bproc_|procstat"
    r"|rc['\"]|requirement|reqs|passwd|authorized|lua|html|\.json|crl|\.conf|manifest|licen[sc]e|readme|\.md\b|metadata",
    re.IGNORECASE,
)

_DATA = lazy_regex(r"\.(csv|tsv|log|txt|jsonl|ndjson|dat|xml|gz)\b|data|export|dump", re.IGNORECASE)


def _check(facts: Facts) -> Iterator[Hit]:
    for span, what, is_endless in unbounded_bodies(facts):
        sure = is_endless and not _is_of_own_file(span, facts)
        yield Hit(span, what, LIKELY if sure else POSSIBLE)
    for span in collected_bodies(facts):
        yield Hit(span, "this takes a body of any size into memory", LIKELY)
    for span, what in (*unbounded_lines(facts), *foreign_bodies(facts)):
        yield Hit(span, what, LIKELY)
    whole = _WHOLE.get(facts.syntax.language.family)
    for call in facts.calls_of_method(*_METHODS):
        if call.method == "readlines" and facts.language == "python" and not call.arguments:
            if (
                not facts.functions_named(call.method)
                and _is_iterated(call, facts)
                and not _is_small(call, facts)
            ):
                what = f"{call.written}() holds all lines, though they are used one by one"
                yield Hit(call.span, what, _sureness(call, facts))
        elif _is_read_whole(call, facts) or (whole is not None and whole.match(call.name)):
            yield from _hit(call, facts)
        elif facts.language == "go" and (read := _read_in_go(call, facts)) is not None:
            yield from _body(call, read, facts)
        elif facts.language == "java" and call.method == "readAllBytes" and _is_upload(call, facts):
            yield Hit(call.span, f"{call.written}() takes a body of any size into memory", LIKELY)
        elif call.name in _UPLOADS and not call.arguments and not _is_measured(call, facts):
            yield Hit(call.span, f"{call.written}() takes an upload of any size into memory", LIKELY)


def _is_read_whole(call: Call, facts: Facts) -> bool:
    if facts.language != "python":
        return False
    if call.method == "read" and not call.arguments:
        return _OPENED.match(call.name) is not None or _OBJECT.search(facts.text(call.callee)) is not None
    return False


def _hit(call: Call, facts: Facts) -> Iterator[Hit]:
    opened = call.origin or call
    if _is_small(call, facts) or _is_made_here(call, facts) or _is_own_state(call, facts):
        return
    if (
        _split(call, facts)
        or _is_read_by_row(call, facts)
        or (call.method in _ALL_LINES and not _is_changed_whole(call, facts))
        or _is_looked_through(call, facts)
    ):
        what = f"{call.written}() holds the whole file, though it is used line by line"
        yield Hit(call.span, what, _sureness(call, facts))
    elif _is_handed_on(call, facts):
        what = f"{call.written}() holds the whole file only to hand it on"
        yield Hit(call.span, what, _sureness(call, facts))
    elif call.method == "read_to_string":
        return  # Texts are templates and settings.
    elif frequency_of(call, facts) == "request" and not _is_literal(opened) and _is_sent(call, facts):
        yield Hit(call.span, f"{call.written}() holds a whole file in memory for each request", POSSIBLE)


_ENDLESS_LOG = lazy_regex(r"(?:access|audit|event|server)[._]?logs?(?![a-z])", re.IGNORECASE)


def _sureness(call: Call, facts: Facts) -> float:
    """Return LIKELY for an object of a store, which others write, and for a log that is never cut.

    Other files are mostly small: settings, lists and indexes of the program itself."""
    if _OBJECT.search(facts.text(call.callee)) or call.method == "transformToString":
        return LIKELY
    texts = (facts.text((call.origin or call).span), facts.text(call.callee), _function(call, facts))
    return LIKELY if any(map(_ENDLESS_LOG.search, texts)) else POSSIBLE


def _is_of_own_file(span: Span, facts: Facts) -> bool:
    """Return whether what is unpacked is read from a file of the program: `decompress(f.read())`."""
    inside = facts.within(facts.calls, span)
    return any(
        _OPENS.search(call.name) or (call.origin is not None and _OPENS.search(call.origin.name))
        for call in inside
    )


_OPENS = lazy_regex(
    r"^(open|io\.open|pathlib\.Path\.(open|read_bytes)|fs(/promises)?\.(promises\.)?readFile(Sync)?"
    r"|os\.(Open|ReadFile))\b"
)


_REPLACES = (
    "move", "Move", "rename", "Rename", "replace", "Replace", "persist", "renameSync", "copy_to",
)  # fmt: skip


def _is_own_state(call: Call, facts: Facts) -> bool:
    """Return whether the text itself keeps the file, and replaces it as a whole."""
    first = call.argument(place=0)
    name = call.receiver_written if first is None else first.value.text
    return bool(name) and any(
        each.value.text == name for one in facts.calls_of_method(*_REPLACES) for each in one.arguments
    )


def _is_made_here(call: Call, facts: Facts) -> bool:
    """Return whether the file lies in a temporary folder that the same function has made."""
    scope = facts.named_function_of(call)
    return (
        scope is not None
        and re.search(
            r"\b(mkdtemp|TemporaryDirectory|NamedTemporaryFile|mkstemp|MkdirTemp|createTemp\w+|tempdir|GetTempFileName)\b",
            facts.text(scope.body),
        )
        is not None
    )


def _is_changed_whole(call: Call, facts: Facts) -> bool:
    """Return whether the lines are needed together: one is changed, seen beside the next, or all are sorted,
    or written again."""
    scope = facts.function_of(call)
    if scope is None or len(call.assigned) != 1:
        return False
    name = re.escape(call.assigned[0])
    item = r"\[[^\]\n]*[+-]\s*\d+\s*\]|\[[^\]\n]+\]\s*=[^=]"
    needed = rf"\b{name}({item}|\.(set|add|removeAt|remove|sort\w*|Sort)\()"
    written = rf"\b([wW]riteAllLines(Async)?|Files\.write|sort|Sort|Reverse|reverse)\([^;\n]*\b{name}\b"
    return re.search(rf"{needed}|{written}", facts.text(scope.body)) is not None


_BY_ROW = lazy_regex(r"\bcsv\b|readline|TextIOWrapper|\bfor\b[^\n]*\bin\b|read_csv")


def _is_read_by_row(call: Call, facts: Facts) -> bool:
    """Return whether the content is wrapped to be read row by row: `csv.reader(io.StringIO(text))`."""
    scope = facts.function_of(call)
    if facts.language != "python" or scope is None:
        return False
    if not _BY_ROW.search(facts.text(scope.body)):
        return False  # A buffer that is handed on is used elsewhere, in parts or not.
    kept = {name for each in (call, *facts.calls_on(call)) for name in each.assigned}
    return any(
        any(argument.value.text in kept for argument in each.positional)
        for each in facts.own(
            facts.calls_named("io.StringIO", "io.BytesIO", "csv.reader", "csv.DictReader"), scope
        )
    )


def _is_looked_through(call: Call, facts: Facts) -> bool:
    """Return whether a text is used line by line (Rust, Kotlin): `text.lines().filter(…)`."""
    if facts.language not in ("rust", "kotlin"):
        return False
    # `read_to_string(path).with_context(…)?` is the same text.
    same = [call, *(each for each in facts.calls_on(call) if each.method in _SAME_TEXT)]
    return any(each.method in ("lines", "lineSequence") for one in same for each in facts.calls_on(one))


_SAME_TEXT = frozenset(
    ("with_context", "context", "map_err", "expect", "unwrap", "unwrap_or_default", "unwrap_or_else", "await")
)


def _is_sent(call: Call, facts: Facts) -> bool:
    """Return whether the content is the answer, which could be streamed: `res.send(content)`."""
    names = [name for each in (call, *_later(call, facts)) for name in each.assigned[:1]]
    names += re.findall(r"(?:function\s*)?\(\s*\w+\s*,\s*(\w+)\s*\)", facts.text(call.span))
    scope = facts.function_of(call)
    if call.is_argument or call.is_returned:
        return True
    return scope is not None and any(
        each.method in ("send", "end", "write", "Write", "body", "File", "Bytes", "respondBytes", "from")
        and argument.value.text == name
        for each in facts.within(facts.calls, scope.body)
        for argument in each.arguments
        for name in names
    )


def _is_small(call: Call, facts: Facts) -> bool:
    """Return whether it is a file of settings, or one with a fixed name that is no data."""
    opened = call.origin or call
    text = facts.text(opened.span)
    if _OBJECT.search(facts.text(call.callee)):
        text = re.sub(r"\b[kK]ey\b", "", text)  # Every object has a key.
    if _SETTINGS.search(text) or _SETTINGS.search(_function(call, facts)) or _is_short(call, facts):
        return True
    return _is_literal(opened) and _DATA.search(text) is None


_MEASURED = lazy_regex(r"\.(?:Length|length\(\)|st_size|size|Size\(\)|len\(\))\s*[<>]=?\s*[\w(]")


def _is_short(call: Call, facts: Facts) -> bool:
    """Return whether the length of the file is compared with something before it is read."""
    scope = facts.named_function_of(call)
    return (
        scope is not None
        and _MEASURED.search(facts.text(Span(scope.body.start, call.span.start))) is not None
    )


def _is_handed_on(call: Call, facts: Facts) -> bool:
    """Return whether it goes to a function that takes an open file: `put_object(Body=open(p).read())`."""
    scope, text = facts.function_of(call), facts.text(call.span)
    names = {text, *call.assigned}
    return any(
        argument.name in _HANDED_ON and argument.value.text in names
        for each in facts.own(facts.calls, scope)
        if each.span != call.span
        for argument in each.arguments
    )


def _function(call: Call, facts: Facts) -> str:
    scope = facts.named_function_of(call)
    return "" if scope is None else scope.short_name


def _is_literal(call: Call) -> bool:
    given = call.positional[:1] if call.method != "File" else call.positional
    return bool(given) and all(each.value.shape == "text" for each in given)


def _split(call: Call, facts: Facts) -> bool:
    """Return whether it is split into lines, directly or through its name."""
    if any(each.method in ("splitlines", "split", "toString") and _LINES.search(facts.text(each.span))
           for each in _later(call, facts)):  # fmt: skip
        return True
    if facts.language != "go" or not call.assigned:
        return False
    scope = facts.function_of(call)
    return (
        scope is not None
        and re.search(
            rf"(strings|bytes)\.(Split|Fields)\((string\()?{re.escape(call.assigned[0])}\b",
            facts.text(scope.body),
        )
        is not None
    )


def _later(call: Call, facts: Facts) -> Iterator[Call]:
    todo = list(facts.calls_on(call))
    for _ in range(40):
        if not todo:
            return
        each = todo.pop()
        yield each
        todo += facts.calls_on(each)


def _is_iterated(call: Call, facts: Facts) -> bool:
    text = facts.text(call.span)
    if any(loop.over == text or loop.over == f"enumerate({text})" for loop in facts.loops):
        return True
    if len(call.assigned) != 1:
        return False
    scope = facts.function_of(call)
    used = [
        each
        for each in facts.accesses
        if each.written == call.assigned[0] and facts.function_of(each) is scope
    ]
    overs = [loop for loop in facts.loops if loop.over == call.assigned[0]]
    return len(used) == 1 and bool(overs)


def _is_measured(call: Call, facts: Facts) -> bool:
    """Return whether the size of an upload is compared with something before it is read."""
    scope = facts.named_function_of(call)
    before = "" if scope is None else facts.text(Span(scope.body.start, call.span.start))
    return re.search(r"\.size\b[^\n]{0,40}[<>]|[<>][^\n]{0,40}\.size\b", before) is not None


def _is_upload(call: Call, facts: Facts) -> bool:
    """Return whether Java reads a request body without a check of its length."""
    scope, stream = facts.named_function_of(call), call.origin
    if scope is None or stream is None or stream.method != "getInputStream":
        return False
    from_client = any(each.type.endswith(("ServletRequest", "MultipartFile")) for each in scope.parameters)
    body = facts.text(scope.body)
    return from_client and ("getContentLength" not in body or not has_limit(body))


_BUFFER = lazy_regex(r"bytes\.(?:Buffer|NewBuffer)|strings\.Builder")


def _read_in_go(call: Call, facts: Facts) -> str | None:
    """Return what a call reads into memory to its end: `r.Body`."""
    if call.name in _GO_BODIES or call.method == "ReadFrom":
        first = call.argument(place=0)
        return None if first is None else first.value.text
    if call.name != "io.Copy" or len(call.positional) != 2:
        return None
    target = call.positional[0].value.text.lstrip("&")
    made = facts.assignments_to(target, call)
    held = any(_BUFFER.search(facts.text(each.span)) for each in made)
    return call.positional[1].value.text if held else None


def _body(call: Call, read: str, facts: Facts) -> Iterator[Hit]:
    """Yield reads of a request body, whose length the client decides."""
    scope = facts.route_of(call) or facts.named_function_of(call)
    if scope is None:
        return
    body = facts.text(scope.body)
    if _BOUNDS.search(body) or ("ContentLength" in body and has_limit(body)):
        return
    if any(_BOUNDS.search(facts.text(each.body)) for one in facts.callers_of(scope)
           if (each := facts.function_of(one)) is not None):  # fmt: skip
        return
    requests = {each.name for each in scope.parameters if each.type == "net/http.Request"}
    # A function that sends a request has one of its own.
    requests -= {name for name in requests if re.search(rf"\.Do\(\s*{name}\b|RoundTrip\(", body)}
    if _is_told_to(call, facts) or _is_of_client(scope, facts):
        return
    if any(read == f"{name}.Body" for name in requests) or read in ("c.Request.Body", "c.Request().Body"):
        yield Hit(call.span, f"{call.written}() takes a body of any size into memory", LIKELY)


def _is_of_client(scope: Scope, facts: Facts) -> bool:
    """Return whether a function belongs to a type that sends requests, so that the body is its own (Go)."""
    return scope.is_method and any(
        each.owner == scope.owner
        and [one.type for one in each.parameters] == ["net/http.Request"]
        and "http.Response" in facts.text(each.head)
        for each in facts.functions_named("Do", "RoundTrip")
    )


def _is_told_to(call: Call, facts: Facts) -> bool:
    """Return whether a condition around says that there is no limit: `if cfg.maxBody < 0 { … }`."""
    return any(is_within(call.span, step.span) for step in _without_limit(facts))


@lru_cache(maxsize=4)
def _without_limit(facts: Facts) -> tuple[Step, ...]:
    return tuple(step for step in facts.steps_of("branch") if _NO_LIMIT.search(step.text))


_NO_LIMIT = lazy_regex(r"(?:max|limit)\w*\s*(?:<=?|==)\s*(?:0|-1)\b", re.IGNORECASE)


RULE = Rule(
    id="FK-P011",
    slug="whole-file-loaded",
    title="Whole file loaded into memory",
    why="Memory grows with the size of the file and the number of requests; one big file ends the process.",
    fix="Iterate over lines or chunks, stream it, or refuse what is larger than a limit.",
    kind="performance",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
)
