"""Finds bodies and stored objects that are held in memory as a whole, though they are used in parts.

Evidence: the content is used line by line; or it is written, and the file is no part of a program for the
command line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.command_lines import is_command_line
from faultkit.code.rules.vocabulary.held_wholes import (
    is_kept,
    is_of_other_type,
    is_used_otherwise,
    wholes_used_in_parts,
)
from faultkit.code.rules.vocabulary.http_requests import library_of
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_BUFFERS = ("arrayBuffer", "buffer", "blob")


_OF_FILES = lazy_regex(r"""\[["']Body["']\]\.read$""")
"""What the rule about whole files reports."""
_USES = {
    "line by line": "holds the whole content, though it is used line by line",
    "written": "holds the whole content before it is written",
}


def _check(facts: Facts) -> Iterator[Hit]:
    for hit in _hits(facts):
        # A user on the command line saves one file after the other.
        once = hit.message.endswith("written") and is_command_line(facts)
        yield replace(hit, confidence=POSSIBLE) if once else hit


def _hits(facts: Facts) -> Iterator[Hit]:
    if facts.language == "python":
        hits = list(_python(facts))
    elif facts.language in _HOLDS:
        hits = list(_held(facts))
    else:
        hits = list(_javascript(facts)) if facts.language != "go" else []
    found = {facts.line(hit) for hit in hits}
    yield from hits
    for call, use, sure in wholes_used_in_parts(facts):
        if call.line not in found and not _OF_FILES.search(facts.text(call.callee)):
            found.add(call.line)
            yield Hit(call.span, f"{call.written}() {_USES[use]}", LIKELY if sure else POSSIBLE)


_HOLDS = {
    "rust": lazy_regex(r"^reqwest\..*\.bytes$"),
    "csharp": lazy_regex(r"(^|\.)(GetByteArrayAsync|ReadAsByteArrayAsync|DownloadData(TaskAsync)?)$"),
    "java": lazy_regex(r"(^|\.)(bytes|body|readAllBytes)$"),
    "kotlin": lazy_regex(r"(^|\.)(bytes|body|readBytes|readRawBytes|bodyAsBytes)$"),
}
_WRITES = frozenset(
    ("write", "write_all", "WriteAllBytes", "WriteAllBytesAsync", "writeBytes", "writeByteArrayToFile")
)
_BYTES = TextPattern(r"ofByteArray\(|byte\[\]|ByteArray|OkHttp|okhttp|\.bytes\(\)|openStream|getInputStream")


def _held(facts: Facts) -> Iterator[Hit]:
    """Yield bodies of answers that are written to a file in one piece."""
    holds = _HOLDS[facts.language]
    if facts.language in ("java", "kotlin") and not _BYTES.search(facts.whole_text):
        return
    for call in facts.calls_of_method(*_WRITES):
        if facts.language == "rust" and "fs" not in call.name and "File" not in call.name:
            continue
        if facts.language == "java" and not call.name.endswith(
            ("Files.write", "FileUtils.writeByteArrayToFile")
        ):
            continue
        given = {argument.value.text.lstrip("&") for argument in call.positional}
        for each in facts.calls:
            if not holds.search(each.name) or facts.function_of(each) is not facts.function_of(call):
                continue
            if is_of_other_type(each, facts):
                continue
            inside = call.span.start < each.span.start and each.span.end <= call.span.end
            scope = facts.named_function_of(each)
            if scope is None or is_kept(each, scope, facts):
                continue
            if inside or not given.isdisjoint(each.assigned):
                sure = inside or not is_used_otherwise(each, scope, facts)
                what = f"{each.written}() holds the whole body before it is written"
                yield Hit(each.span, what, LIKELY if sure else POSSIBLE)
                break


def _python(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_of_method("write", "write_bytes"):
        first = call.argument(place=0)
        if first is None or not first.value.text.endswith(".content"):
            continue
        scope = facts.function_of(call)
        if scope is not None and facts.text(scope.body).count(first.value.text) > 1:
            continue  # It is looked at before, so that it must be there.
        for each in facts.accesses:
            if (
                each.span == first.value.span
                and each.origin is not None
                and library_of(each.origin, facts.language) is not None
            ):
                yield Hit(
                    call.span, f"{call.written}() gets the whole body in memory before it is written", LIKELY
                )


def _javascript(facts: Facts) -> Iterator[Hit]:
    yield from _axios(facts)
    for call in facts.calls_of_method("writeFile", "writeFileSync"):
        scope = facts.function_of(call)
        data = call.argument(place=1)
        if scope is None or data is None or not call.name.startswith("fs"):
            continue
        for each in facts.own(facts.calls_of_method(*_BUFFERS), scope):
            named = each.assigned and re.search(rf"\b{re.escape(each.assigned[0])}\b", data.value.text)
            if (
                each.origin is not None
                and library_of(each.origin, facts.language) is not None
                and (named or data.value.span.start <= each.span.start < data.value.span.end)
            ):
                yield Hit(each.span, f"{each.written}() holds the whole body before it is written", LIKELY)


def _axios(facts: Facts) -> Iterator[Hit]:
    """Yield requests for an array buffer whose data is written to a file."""
    if "arraybuffer" not in facts.whole_text:
        return
    for call in facts.calls:
        scope, kind = facts.function_of(call), call.argument("responseType")
        if scope is None or kind is None or kind.value.literal != "arraybuffer" or not call.assigned:
            continue
        name = call.assigned[0]
        data = r"\bdata\b" if name.startswith("{") else rf"\b{re.escape(name)}\.data\b"
        if re.search(rf"writeFile(Sync)?\([^;\n]*,\s*(Buffer\.from\()?{data}", facts.text(scope.body)):
            yield Hit(call.span, f"{call.written}() holds the whole body before it is written", LIKELY)


RULE = Rule(
    id="FK-P024",
    slug="whole-body-loaded",
    title="Whole body loaded that is used in parts",
    why="Memory must hold the largest file times the number of downloads; the big one ends the process.",
    fix="Stream it in chunks or lines: iter_bytes, iter_lines, io.Copy, pipeline(response.body, file).",
    kind="performance",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
)
