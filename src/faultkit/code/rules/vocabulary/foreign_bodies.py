"""Answers of addresses that a caller gives, which are taken into memory whatever their size."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts
from faultkit.code.languages.syntax import Span

_READS = {
    "python": ("get", "read"),
    "javascript": ("arrayBuffer", "buffer", "blob", "get", "text"),
    "rust": ("bytes", "text"),
    "csharp": ("GetByteArrayAsync", "ReadAsByteArrayAsync"),
    "kotlin": ("bytes", "readBytes", "bodyAsBytes", "readRawBytes"),
    "java": ("bytes", "readAllBytes", "send"),
}
_THINGS = re.compile(
    r"image|img|avatar|picture|photo|feed|preview|remote|external|media|attachment|download|icon|logo|thumb|import|source"
    r"|webhook|callback|scrape|crawl|unfurl|proxy|\blink",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"(?:^|_)(?:src|source|link|href|ur[li]|address|location)$|(?:Url|URL|Uri|URI|Link|Source|Src)$"
)
_ADDRESS_TYPE = re.compile(r"(^|[./:])(Url|URL|Uri|URI|HttpUrl)$")
_LIMITED = re.compile(
    r"(?:size|byte|body|len\w*)_?limit|limit_?(?:size|bytes)|Limited|max_?(?:size|len|bytes|content|body|download)\w*|MAX_(?!ENTR|ITEMS|COUNT|RETR|ATTEMPT|REDIRECT|PAGES|ROWS|RESULTS|AGE|HOPS|TRIES)|content-?_?length|too_?(?:large|big)|\.take\(|stream|chunk"
    r"|iter_content|iter_bytes|\bsize\s*>|\.length\s*>|ofInputStream|readNBytes|maxContentLength",
    re.IGNORECASE,
)
_SENDS = re.compile(
    r"fetch\(|axios|requests\.|httpx\.|\.send\(|\.get\(|GetByteArrayAsync|GetAsync|newCall\(|urlopen\(|openStream\("
)


def foreign_bodies(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield whole answers of an address that is a parameter, in a function about what others put there."""
    methods = _READS.get(facts.syntax.language.family)
    for call in facts.calls_of_method(*methods) if methods is not None else ():
        scope = facts.named_function_of(call)
        if scope is None or not _is_whole(call, facts):
            continue
        text = facts.text(scope.span)
        given = [
            each.name
            for each in scope.parameters
            if _ADDRESS.search(each.name) or _ADDRESS_TYPE.search(each.type)
        ]
        if not given or _LIMITED.search(text) or not _SENDS.search(text):
            continue
        types = " ".join(each.type for each in scope.parameters)
        # A text may be that of an error: the function itself must be about what others put there.
        name = scope.short_name if call.method == "text" else scope.name
        if not _THINGS.search(f"{name} {' '.join(given)} {types}"):
            continue
        # The address is used as it is, and not put together with that of an own service.
        if any(re.search(rf"[(,]\s*&?{re.escape(name)}(?:\.\w+\(\))?\s*[,)]", text) for name in given):
            place = call.span
            if call.method == "get" and (read := re.search(r"\.content\b", text)) is not None:
                end = facts.syntax.place_of(read, scope.span.start).end
                place = Span(call.span.start, max(call.span.end, end))
            yield place, f"{call.written}() takes an answer of any size into memory"


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
            and ".content" in facts.text(scope.body)
        )
    if call.method == "read":
        return "urlopen()" in call.name and not call.arguments
    if call.method == "send":
        return "ofByteArray()" in facts.text(call.span)
    return not call.arguments or call.method == "GetByteArrayAsync" or facts.language == "rust"
