"""Finds downloads and uploads that are held in memory as a whole on their way to a file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Facts
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.http_requests import library_of

_BUFFERS = ("arrayBuffer", "buffer", "blob")


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language == "python":
        yield from _python(facts)
    elif facts.language == "go":
        yield from _go(facts)
    elif facts.language in _HOLDS:
        yield from _held(facts)
    else:
        yield from _javascript(facts)


_HOLDS = {
    "rust": re.compile(r"^reqwest\..*\.bytes$"),
    "csharp": re.compile(r"(^|\.)(GetByteArrayAsync|ReadAsByteArrayAsync|DownloadData(TaskAsync)?)$"),
    "java": re.compile(r"(^|\.)(bytes|body|readAllBytes)$"),
    "kotlin": re.compile(r"(^|\.)(bytes|body|readBytes|readRawBytes|bodyAsBytes)$"),
}
_WRITES = frozenset(
    ("write", "write_all", "WriteAllBytes", "WriteAllBytesAsync", "writeBytes", "writeByteArrayToFile")
)
_BYTES = re.compile(r"ofByteArray\(|byte\[\]|ByteArray|OkHttp|okhttp|\.bytes\(\)|openStream|getInputStream")


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
            inside = call.span.start < each.span.start and each.span.end <= call.span.end
            if inside or not given.isdisjoint(each.assigned):
                yield Hit(each.span, f"{each.written}() holds the whole body before it is written", LIKELY)
                break


def _python(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_of_method("write", "write_bytes"):
        first = call.argument(place=0)
        if first is None or not first.value.text.endswith(".content"):
            continue
        for each in facts.accesses:
            if (
                each.span == first.value.span
                and each.origin is not None
                and library_of(each.origin, facts.language) is not None
            ):
                yield Hit(
                    call.span, f"{call.written}() gets the whole body in memory before it is written", LIKELY
                )


def _go(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_named("os.WriteFile", "io/ioutil.WriteFile"):
        data = call.argument(place=1)
        for each in facts.calls_named("io.ReadAll", "io/ioutil.ReadAll"):
            same = facts.function_of(each) is facts.function_of(call)
            if same and data is not None and each.assigned and data.value.text == each.assigned[0]:
                yield Hit(each.span, f"{each.written}() holds the whole body before it is written", LIKELY)


def _javascript(facts: Facts) -> Iterator[Hit]:
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


RULE = Rule(
    id="FK-P024",
    slug="whole-body-loaded",
    title="Whole body loaded on its way to a file",
    why="Memory must hold the largest file times the number of downloads; the big one ends the process.",
    fix="Stream it in chunks: iter_bytes, io.Copy, pipeline(response.body, file).",
    kind="performance",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
)
