"""JavaScript: finds streams that are piped with nothing to handle their errors."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import JAVASCRIPT, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.failures import handler_around

_SOURCES = re.compile(
    r"(^|\.)(fs|fs-extra|graceful-fs)\.createReadStream$|^fs\.createReadStream$|^createReadStream$"
    r"|(^|\.)zlib\.create\w+$|\.(createReadStream|openDownloadStream(ByName)?)$|(^|\.)got\.stream(\.\w+)?$"
)
_FILES = re.compile(r"(^|\.)createWriteStream$")
_HANDLES = re.compile(
    r"""\.(on|once|addListener)\(\s*['"]error['"]|\bpipeline\s*\(|\bfinished\s*\(|\bpump\s*\("""
)


def _check(facts: Facts) -> Iterator[Hit]:
    seen = set[Call]()
    for call in facts.calls_of_method("pipe"):
        if _is_of_answer(call, facts):
            what = f"an error of {call.receiver_written} is handled by nothing, and ends the process"
            yield Hit(call.span, what, LIKELY, "high" if handler_around(call, facts) else None)
            continue
        source = _source(call) or _target(call, facts)
        if source is None or source in seen or _is_handled(call, source, facts):
            continue
        seen.add(source)
        what = f"an error of {source.written}() is handled by nothing, and ends the process"
        yield Hit(call.span, what, LIKELY, "high" if handler_around(call, facts) else None)
    yield from _left_open(seen, facts)


_OPENS = re.compile(r"(^|\.)createReadStream$|\.openDownloadStream(ByName)?$")
_TO_CLIENT = re.compile(r"^(res|response|reply\.raw|ctx\.res)$")
_ENDS = re.compile(
    r"""['"](?:close|aborted)['"]|\bpipeline\s*\(|\bfinished\s*\(|\bpump\s*\(|addAbortSignal"""
    r"""|\b(?:source|stream|file|handle|input|reader|rs)\w*\.(?:destroy|close)\("""
)


def _left_open(reported: set[Call], facts: Facts) -> Iterator[Hit]:
    """Yield files that are piped through others to a client, and that nothing closes when it goes away."""
    for call in facts.calls_of_method("pipe"):
        source, target = _source(call), call.argument(place=0)
        if source is None or source in reported or target is None or not _OPENS.search(source.name):
            continue
        scope = facts.function_of(call)
        if scope is None or not _TO_CLIENT.match(target.value.text) or not _is_second(call):
            continue
        if _ENDS.search(facts.text(scope.span)):
            continue
        reported.add(source)
        what = f"nothing closes what {source.written}() opens when the client goes away in the middle"
        yield Hit(call.span, what, LIKELY)


_ANSWERS = re.compile(r"(^|\.)(Body|body|data)$")
_REMOTE = re.compile(r"@aws-sdk/|aws-sdk|axios|node-fetch|undici|got$|@google-cloud/|minio|@azure/")


def _is_of_answer(call: Call, facts: Facts) -> bool:
    """Return whether the body of an object store or of an answer is piped: `object.Body.pipe(res)`."""
    if not any(_REMOTE.search(module) for module in facts.imports.modules):
        return False
    first, origin = call.receiver_written, call.origin
    while origin is not None and origin.method == "pipe":
        first, origin = origin.receiver_written, origin.origin
    first = re.sub(r"\(.*", "", first.removesuffix("!").removesuffix("?"))
    if any(
        each.method == "pipe" and is_within(call.span, each.span) and each is not call for each in facts.calls
    ):
        return False  # The end of the chain is enough.
    body = _ANSWERS.search(re.sub(r"\.pipe$", "", first)) is not None
    scope = facts.function_of(call)
    return body and scope is not None and _HANDLES.search(facts.text(scope.span)) is None


def _is_second(call: Call) -> bool:
    """Return whether a stream comes through another: `file.pipe(gzip).pipe(res)`."""
    origin = call.origin
    while origin is not None and origin.method != "pipe":
        origin = origin.origin
    return origin is not None


def _source(call: Call) -> Call | None:
    """Return the call that made the first stream of a chain."""
    origin = call.origin
    while origin is not None and not _SOURCES.search(origin.name):
        origin = origin.origin
    return origin


def _target(call: Call, facts: Facts) -> Call | None:
    """Return the call that made the file that is written to."""
    given = call.argument(place=0)
    if given is None:
        return None
    for made in facts.calls:
        if _FILES.search(made.name) and (made.span == given.value.span or given.value.text in made.assigned):
            return made
    return None


def _is_handled(call: Call, source: Call, facts: Facts) -> bool:
    """Return whether the function handles errors of streams anywhere: which one is not told apart."""
    scope = facts.function_of(source) or facts.function_of(call)
    span = Span(0, len(facts.syntax.source)) if scope is None else scope.span
    return _HANDLES.search(facts.text(span)) is not None


RULE = Rule(
    id="FK-R051",
    slug="pipe-without-error-handler",
    title="Stream piped without an error handler",
    why="pipe() does not pass errors on: a missing file or a broken archive is an uncaught error that ends "
    "the process, and the other stream is never closed.",
    fix="Use stream.pipeline(), which handles errors and closes all streams, or add a listener for 'error'.",
    kind="reliability",
    severity="medium",
    languages=JAVASCRIPT,
    check=_check,
)
