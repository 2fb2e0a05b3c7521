"""Answers of addresses that a caller gives, which are taken into memory whatever their size."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.fixed_sources import is_given_fixed

_READS = {
    "python": ("get", "read"),
    "javascript": ("arrayBuffer", "buffer", "blob", "get", "text"),
    "rust": ("bytes", "text"),
    "go": ("ReadAll",),
    "csharp": ("GetByteArrayAsync", "ReadAsByteArrayAsync", "GetStringAsync", "ReadAsStringAsync"),
    "kotlin": ("bytes", "readBytes", "bodyAsBytes", "readRawBytes", "string", "bodyAsText"),
    "java": ("bytes", "readAllBytes", "send", "string"),
}
_THINGS = lazy_regex(
    r"image|img|avatar|picture|photo|feed|preview|remote|external|media|attachment|download|icon|logo|thumb|import|source"
    r"|webhook|callback|scrape|crawl|unfurl|proxy|\blink|page|article|\bsite|browse",
    re.IGNORECASE,
)
_ADDRESS = lazy_regex(
    r"(?:^|_)(?:src|source|link|href|ur[li]|address|location)$|(?:Url|URL|Uri|URI|Link|Source|Src)$"
)
_ADDRESS_TYPE = lazy_regex(r"(^|[./:])(Url|URL|Uri|URI|HttpUrl)$")
_LIMITED = lazy_regex(
    r"(?:size|byte|body|len\w*)_?limit|limit_?(?:size|bytes)|Limited|max_?(?:size|len|bytes|content|body|download)\w*|MAX_(?!ENTR|ITEMS|COUNT|RETR|ATTEMPT|REDIRECT|PAGES|ROWS|RESULTS|AGE|HOPS|TRIES)|content-?_?length|too_?(?:large|big)|\.take\(|stream|chunk"
    r"|iter_content|iter_bytes|\bsize\s*>|\.length\s*>|ofInputStream|readNBytes|maxContentLength",
    re.IGNORECASE,
)
_SENDS = lazy_regex(
    r"fetch\(|axios|requests\.|httpx\.|\.send\(|\.get\(|GetByteArrayAsync|GetAsync|newCall\(|urlopen\(|openStream\(|http\.Get\(|\.Do\("
)


_TEXT_OF = lazy_regex(r"\b\w+\.text\b(?!\()")
_TEXTS = ("text", "string", "bodyAsText", "GetStringAsync", "ReadAsStringAsync")
_CUTS = lazy_regex(r"\.(?:slice|substring|substr|Substring|take)\([^()]*\)|\[:\s*\w+\]")
"""What takes a part of a text that is there already."""


def foreign_bodies(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield whole answers of an address that is a parameter, in a function about what others put there.

    The answer may be read by another function of the text, which gets it from that one."""
    methods = _READS.get(facts.syntax.language.family)
    for call in facts.calls_of_method(*methods) if methods is not None else ():
        scope = facts.named_function_of(call)
        if scope is None or not _is_whole(call, facts):
            continue
        if not _is_foreign(call, scope, "", facts) and not _is_read_for_caller(call, scope, facts):
            continue
        place, text = call.span, facts.text(scope.span)
        if call.method == "get" and (read := re.search(r"\.(?:content|text)\b", text)) is not None:
            end = facts.syntax.place_of(read, scope.span.start).end
            place = Span(call.span.start, max(call.span.end, end))
        yield place, f"{call.written}() takes an answer of any size into memory"


def _is_foreign(call: Call, scope: Scope, reader: str, facts: Facts) -> bool:
    """Return whether a function asks an address that it is given, about what others put there.

    `reader` is the text of a function that reads the answer for it."""
    given = [
        each.name
        for each in scope.parameters
        if (_ADDRESS.search(each.name) or _ADDRESS_TYPE.search(each.type))
        and not is_given_fixed(each.name, scope, facts)
    ]
    if not given:
        return False
    text = facts.text(scope.span)
    bare = f"{text} {reader}"
    if facts.language != "rust":
        bare = _CUTS.sub("", bare)
    if _LIMITED.search(bare) or not _SENDS.search(text):
        return False
    types = " ".join(each.type for each in scope.parameters)
    is_text = call.method == "get" and ".content" not in text
    # A text may be that of an error: the function itself must be about what others put there.
    name = scope.short_name if (call.method in _TEXTS or is_text) and not reader else scope.name
    if not _THINGS.search(f"{name} {' '.join(given)} {types}"):
        return False
    # The address is used as it is, and not put together with that of an own service.
    return any(
        re.search(rf"[(,]\s*&?{re.escape(name)}(?:\.\w+\(\))?\s*[,)]|\b{re.escape(name)}\.to\w*Ur[li]", text)
        for name in given
    )


_ANSWER = lazy_regex(r"(^|[./:])(Response|HttpResponse(Message)?|ClientResponse|ResponseBody|HTTPResponse)$")


def _is_read_for_caller(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a function gets an answer to read, and a caller in this text asked a given address."""
    is_given = any(_ANSWER.search(each.type) for each in scope.parameters)
    if not is_given and not (
        facts.language == "kotlin" and re.search(rf"\b{_EXTENDS}\.", facts.text(scope.head))
    ):
        return False
    reader = facts.text(scope.span)
    called = facts.callers_of(scope) or facts.calls_of_method(scope.short_name)
    callers = {facts.named_function_of(each) for each in called} - {scope, None}
    return any(each is not None and _is_foreign(call, each, reader, facts) for each in callers)


_EXTENDS = r"(?:Response|HttpResponse|ResponseBody)"


def _is_whole(call: Call, facts: Facts) -> bool:
    """Return whether a call holds all bytes of an answer."""
    if call.method == "get":
        kind = call.argument("responseType")
        if facts.language != "python":
            return kind is not None and kind.value.literal == "arraybuffer"
        scope = facts.named_function_of(call)
        return (
            scope is not None
            and call.name.partition(".")[0] in ("requests", "httpx")
            and not call.has("stream")
            and (".content" in (body := facts.text(scope.body)) or _TEXT_OF.search(body) is not None)
        )
    if call.method == "read":
        return "urlopen()" in call.name and not call.arguments
    if call.method == "send":
        return "ofByteArray()" in facts.text(call.span)
    if call.method == "ReadAll":
        return len(call.positional) == 1 and call.positional[0].value.text.endswith(".Body")
    if facts.syntax.language.family == "javascript":
        # `$("title").text()` is the text of an element, and waits for nothing.
        scope = facts.function_of(call)
        is_result = scope is not None and facts.text(scope.body).strip() == facts.text(call.span)
        return not call.arguments and (call.is_awaited or is_result)
    return not call.arguments or facts.language in ("rust", "csharp")
