"""Bodies of requests that a loop puts together part by part, whatever their size.

A loop that counts what it has and leaves has a limit; a declared length that was looked at before is none, as
a client need not declare one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Loop, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.unbounded_bodies import REFUSES_UNDECLARED

_REQUEST = (
    r"(?:this\.|self\.)?(?:req|request|ctx\.req|ctx\.request\.req|incoming|event\.node\.req|c\.req\.raw"
    r"|http_?[rR]equest)"
)
_SOURCES = {
    "javascript": lazy_regex(
        rf"^{_REQUEST}(?:\.raw)?(?:\.body)?(?:\.(?:setEncoding|values|iterator|on)\(.*\))?$|^(?:message|socket)$"
    ),
    "python": lazy_regex(rf"^{_REQUEST}\.(?:stream\(\)|content\.iter_(?:any|chunked|chunks)\(.*\)|content)$"),
    "rust": lazy_regex(
        r"^let (?:Some|Ok)\((?:Ok\()?(?:mut )?\w+\)?(?:\))? = (\w+)\."
        r"(?:next|try_next|data|frame|chunk)\(\)(?:\.await)?\??$"
    ),
}
_COLLECTS = {
    "javascript": lazy_regex(
        r"\.push\(\s*\w+|\w+\s*\+=\s*(?!\w+\.(?:length|byteLength)\b)\w+|=\s*Buffer\.concat\(\s*\["
    ),
    "python": lazy_regex(r"\.(?:extend|append)\(\s*\w+|\b\w+\s*\+=\s*\w+\b(?!\()"),
    "rust": lazy_regex(r"\.(?:extend_from_slice|extend|put|put_slice|push|append)\("),
}
_BODY_TYPES = lazy_regex(r"(?:^|[.:])(?:Payload|Body|BodyDataStream|BodyStream|Incoming|DataStream)$")
_STREAM_TYPES = lazy_regex(
    r"(?:^|[./:])(?:IncomingMessage|Http2ServerRequest|FastifyRequest|NextRequest|ReadableStream|Readable)$"
)
_COMPARES = lazy_regex(r"(?<![=\-<>])[<>]=?(?![>=])\s*[\w(&*]")
_NO_COMPARISON = lazy_regex(r"=>|->|::<[^<>]*>|\b[A-Z]\w*<[^<>]*>|[\"'`][^\"'`\n]*[\"'`]")
_ENDS = lazy_regex(r"destroy\(|\b(?:throw|raise|return|break|abort)\b|Err\(")


def collected_bodies(facts: Facts) -> Iterator[Span]:
    """Yield loops over the parts of a request that keep all of them."""
    family = facts.syntax.language.family
    source = _SOURCES.get(family)
    if source is None:
        return
    for loop in facts.loops:
        if not (loop.is_async if family != "rust" else loop.kind == "while"):
            continue
        if not _is_of_request(loop, source, facts):
            continue
        text = facts.text(loop.body)
        if not _COLLECTS[family].search(text) or _is_limited(text):
            continue
        scope = facts.named_function_of(loop)
        if scope is None or not REFUSES_UNDECLARED.search(facts.text(scope.span)):
            yield Span(loop.span.start, loop.body.end)


def _is_limited(text: str) -> bool:
    """Return whether a loop compares what it has with something, and leaves."""
    bare = _NO_COMPARISON.sub("", text)
    return _COMPARES.search(bare) is not None and _ENDS.search(bare) is not None


def _is_of_request(loop: Loop, source: re.Pattern[str], facts: Facts) -> bool:
    over = " ".join(loop.over.split())
    found = source.match(over)
    scope = facts.named_function_of(loop) or facts.function_of(loop)
    if facts.language == "rust":
        name = "" if found is None else found[1]
        return scope is not None and any(
            each.name.removeprefix("mut ") == name and _BODY_TYPES.search(each.type)
            for each in scope.parameters
        )
    if found is not None:
        return True
    return scope is not None and over.isidentifier() and _is_given_request(over, scope, source, facts)


def _is_given_request(name: str, scope: Scope, source: re.Pattern[str], facts: Facts) -> bool:
    """Return whether a parameter is a request: by its type, or as callers in this text give one."""
    own = [each.name for each in scope.parameters if each.name not in ("self", "this", "cls")]
    if name not in own:
        return False
    if any(each.name == name and _STREAM_TYPES.search(each.type) for each in scope.parameters):
        types = {each.type.rpartition(".")[2] for each in scope.parameters if each.name == name}
        if not types & {"Readable", "ReadableStream"}:
            return True
    place = own.index(name)
    return any(
        len(call.positional) > place and source.match(call.positional[place].value.text) is not None
        for call in facts.callers_of(scope)
    )
