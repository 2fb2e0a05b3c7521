"""JavaScript: finds streams that are piped with nothing to handle their errors."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import JAVASCRIPT, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.failures import handler_around

_SOURCES = lazy_regex(
    r"(^|\.)(fs|fs-extra|graceful-fs)\.createReadStream$|^fs\.createReadStream$|^createReadStream$"
    r"|(^|\.)zlib\.create\w+$|\.(createReadStream|openDownloadStream(ByName)?)$|(^|\.)got\.stream(\.\w+)?$"
)
_FILES = lazy_regex(r"(^|\.)createWriteStream$")
_HANDLES = lazy_regex(
    r"""\.(on|once|addListener)\(\s*['"]error['"]|\bpipeline\s*\(|\bfinished\s*\(|\bpump\s*\("""
)


def _check(facts: Facts) -> Iterator[Hit]:
    seen = set[Call]()
    for call in facts.calls_of_method("pipe"):
        if _is_of_answer(call, facts):
            seen.add(call)
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


_OPENS = lazy_regex(
    r"(^|\.)createReadStream$|\.openDownloadStream(ByName)?$|(^|\.)got\.stream(\.\w+)?$|^undici\.|(^|\.)Readable\.fromWeb$"
    r"|(^|\.)archiver$|\.(getObject|download|createReadStream|openRead)$|(^|[\w.]*)[qQ]uery\w*\.stream$"
)
"""Calls that open what must be closed: a file, a request to another service."""
_GIVES_STREAM = lazy_regex(
    r"^(open|get|download|read|fetch|create)\w*Stream$|^(stream|download|openRead|getObject)$"
)
_ROWS = lazy_regex(r"^[^(]*\(\s*new\s+(QueryStream|Cursor)\(")
_HELD = lazy_regex(r"(^|\.)(Body|body|data|stdout)$")
_TO_CLIENT = lazy_regex(r"^(res|response|resp|reply\.raw|ctx\.res|rep\.raw)$")
_REQUESTS = ("req", "request", "self.req", "ctx.req", "request.raw", "req.raw")
_GONE = frozenset(("close", "aborted"))
_ENDS = lazy_regex(
    r"\bpipeline\s*\(|\bfinished\s*\(|\bpump\s*\(|addAbortSignal|\bcompose\s*\(|\bon-finished\b|\bonFinished\s*\("
)
_STOPS = lazy_regex(r"\b(destroy|abort|close|cancel|kill|unpipe|end|stop|cleanup|clean\w*|release)\w*\b")


def _left_open(reported: set[Call], facts: Facts) -> Iterator[Hit]:
    """Yield what is piped to a client, and that nothing closes when the client goes away."""
    for call in facts.calls_of_method("pipe"):
        target, scope = call.argument(place=0), facts.function_of(call)
        if target is None or scope is None or not _is_client(target.value.text, call, facts):
            continue
        source, name = _opened(call, facts)
        if not name or source in reported or call in reported:
            continue
        outer = handler_around(call, facts) or facts.named_function_of(call) or scope
        if _is_ended(call, outer, facts):
            continue
        if source is not None:
            reported.add(source)
        what = f"nothing closes {name} when the client goes away in the middle: pipe() does not"
        yield Hit(call.span, what, LIKELY)


def _is_client(target: str, call: Call, facts: Facts) -> bool:
    if _TO_CLIENT.match(target):
        return True
    return any(
        one.name == target and one.type.rpartition(".")[2] in ("Response", "ServerResponse")
        for scope in facts.functions_around(call)
        for one in scope.parameters
    )


def _opened(call: Call, facts: Facts) -> tuple[Call | None, str]:
    """Return the call that opened what is piped, if there is one, and how to name what it has opened."""
    source = call.origin
    while source is not None and not _OPENS.search(source.name):
        source = source.origin
    if source is not None:
        return source, f"what {source.written}() opens"
    source = call.origin
    while source is not None and source.method == "pipe":
        source = source.origin
    if source is not None and (_GIVES_STREAM.search(source.method) or _ROWS.search(facts.text(source.span))):
        return source, f"what {source.written}() opens"
    first, origin = call.receiver_written, call.origin
    while origin is not None and origin.method == "pipe":
        first, origin = origin.receiver_written, origin.origin
    first = re.sub(r"[!?]|\(.*", "", first).removesuffix(".pipe")
    if _HELD.search(first) and "." in first and not first.startswith(("req.", "request.")):
        return None, first
    return (None, first) if _is_answer_of_request(first, call, facts) else (None, "")


def _is_answer_of_request(name: str, call: Call, facts: Facts) -> bool:
    """Return whether a name is the answer that a request of Node.js gives its function."""
    for each in facts.calls_around(call):
        if each.name not in ("http.request", "http.get", "https.request", "https.get") or not each.positional:
            continue
        given = facts.function_at(each.positional[-1].value.span)
        if given is not None and any(one.name == name for one in given.parameters[:1]):
            return True
    return False


def _is_ended(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether the function ends what it pipes when the client has gone."""
    text = facts.text(scope.span)
    if _ENDS.search(text):
        return True
    for each in facts.within(facts.calls, scope.span):
        first = each.argument(place=0) if each.method in ("on", "once", "addListener") else None
        if first is None or first.value.literal not in _GONE or len(each.positional) < 2:
            continue
        given = each.positional[1].value
        of_client = _TO_CLIENT.match(each.receiver_written) or each.receiver_written in _REQUESTS
        if of_client and (given.shape != "function" or _STOPS.search(given.text)):
            return True
    return re.search(r"\bsignal\s*[:,}]", text) is not None


_ANSWERS = lazy_regex(r"(^|\.)(Body|body|data)$")
_REMOTE = lazy_regex(r"@aws-sdk/|aws-sdk|axios|node-fetch|undici|got$|@google-cloud/|minio|@azure/")


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
