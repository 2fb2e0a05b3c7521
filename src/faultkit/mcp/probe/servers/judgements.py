"""The judgements: from the responses of a probe to a verdict with its reason. Pure, one function a rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from faultkit.mcp.probe.servers.probe_results import Judgement, ProbeResponse, failed, inconclusive, passed
from faultkit.mcp.wire.message import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    Id,
    encode,
)

TOO_LARGE = (400, 413)
"""HTTP statuses for a body that is too large, or that the server refuses to read."""


def answered(seen: ProbeResponse) -> Judgement:
    """Pass on any clean answer, a result or an error."""
    return failed(seen.problem) if seen.problem else passed(f"answered with {_a(seen.kind)}")


def unicode_survives(plain: ProbeResponse, text: ProbeResponse, words: str, plain_words: str) -> Judgement:
    """Compare one call with plain words and with Unicode: a tool that echoes its argument must not change
    it."""
    if text.problem:
        return failed(text.problem)
    if plain.kind == "result" and text.kind != "result":
        return inconclusive(f"the tool accepts plain words, and answers these with {_a(text.kind)}")
    if _says(plain, plain_words) and not _says(text, words):
        return failed("the tool echoes its argument, and these words came back changed")
    said = "came back unchanged" if _says(text, words) else f"answered with {_a(text.kind)}"
    return passed(said)


def _says(seen: ProbeResponse, words: str) -> bool:
    return seen.reply is not None and any(words in text for text in _texts(seen.reply.get("result")))


def _texts(value: Any) -> list[str]:
    found: list[str] = []
    waiting = [value]
    while waiting:
        here = waiting.pop()
        if isinstance(here, str):
            found.append(here)
        elif isinstance(here, Mapping):
            waiting += here.values()
        elif isinstance(here, list):
            waiting += here
    return found


def same_each_time(seen: Sequence[ProbeResponse]) -> Judgement:
    """Pass if repeated calls get answers of one kind and one shape."""
    for each in seen:
        if each.problem:
            return failed(each.problem)
    kinds = [each.kind for each in seen]
    if len(set(kinds)) > 1:
        return failed(f"the same call is answered in different ways: {', then '.join(kinds)}")
    if len({encode(_shape(dict(each.reply or {}))) for each in seen}) > 1:
        return failed("the answers to the same call differ in their shape")
    return passed(f"answered with {_a(kinds[0])} each time")


def _shape(value: Any, key: str = "") -> Any:
    """Return a value without what may differ between calls: texts, numbers, and the length of lists."""
    if isinstance(value, Mapping):
        return {name: _shape(each, name) for name, each in sorted(value.items()) if name != "_meta"}
    if isinstance(value, list):
        return sorted({encode(_shape(each)).decode("utf-8", "replace") for each in value})
    if key in ("type", "isError", "code"):
        return value
    return "number" if isinstance(value, int | float) else type(value).__name__


def each_once(seen: Sequence[ProbeResponse], strays: int) -> Judgement:
    """Pass if each of several concurrent calls got one answer, and all are of one kind."""
    lost = [each for each in seen if each.problem]
    if lost:
        return failed(f"{len(lost)} of {len(seen)} calls: {lost[0].problem}")
    if strays:
        return failed(f"{strays} replies came that no request was waiting for")
    kinds = sorted({each.kind for each in seen})
    if len(kinds) > 1:
        return failed(f"identical calls were answered in different ways: {' and '.join(kinds)}")
    return passed(f"{len(seen)} calls, each answered once with {_a(kinds[0])}")


def ends_well(troubles: Sequence[str], rounds: int) -> Judgement:
    """Judge rounds of opening and closing; `troubles` says what went wrong in each, empty if nothing did."""
    for number, trouble in enumerate(troubles, 1):
        if trouble:
            return failed(f"round {number} of {rounds}: {trouble}")
    return passed(f"began and ended {rounds} times")


def fails_cleanly(seen: ProbeResponse) -> Judgement:
    """Judge a call that takes longer than the server allows."""
    if seen.problem:
        return failed(f"no clean error: {seen.problem}")
    if seen.kind == "result":
        return inconclusive("the tool answered with a result: it is not slow enough")
    return passed(f"answered with {_a(seen.kind)}")


def by_id(asked: Sequence[tuple[Id, ProbeResponse]]) -> Judgement:
    """Pass if each answer to concurrent requests has the id of its own request."""
    for id, seen in asked:
        if seen.problem:
            return failed(f"request {id!r}: {seen.problem}")
        got = None if seen.reply is None else seen.reply.get("id")
        if type(got) is not type(id) or got != id:
            return failed(f"request {id!r} was answered with id {got!r}")
    return passed(f"{len(asked)} requests at once, each answered with its own id")


def parse_error(seen: ProbeResponse) -> Judgement:
    """Expect error -32700 for half a message (JSON-RPC 2.0, 5.1)."""
    return _code(seen, PARSE_ERROR, "half a message")


def invalid_request(seen: Sequence[tuple[str, ProbeResponse]]) -> Judgement:
    """Expect error -32600 for each wrong envelope (JSON-RPC 2.0, 5.1); each comes with what is wrong with
    it."""
    for what, each in seen:
        finding = _code(each, INVALID_REQUEST, f"a message {what}")
        if finding.verdict != "passed":
            return finding
    return passed(f"{len(seen)} messages, each answered with error {INVALID_REQUEST}")


def _code(seen: ProbeResponse, wanted: int, what: str) -> Judgement:
    if seen.problem:
        return failed(f"{what}: expected error {wanted}, got: {seen.problem}")
    if seen.code != wanted:
        return failed(f"{what}: expected error {wanted}, got {_a(seen.kind)}")
    return passed(f"{what} was answered with error {wanted}")


def refuses(seen: ProbeResponse) -> Judgement:
    """Judge a call with arguments that the schema of the tool does not allow."""
    if seen.problem:
        return failed(seen.problem)
    if seen.is_tool_error or seen.code == INVALID_PARAMS:
        return passed(f"refused with {_a(seen.kind)}")
    if seen.code is not None:
        return failed(f"expected isError or error {INVALID_PARAMS}, got error {seen.code}")
    return failed("the tool was run with arguments that its schema does not allow")


def refuses_unknown_tool(seen: ProbeResponse) -> Judgement:
    """Judge a call of a tool that does not exist."""
    if seen.problem:
        return failed(seen.problem)
    if seen.is_tool_error or seen.code in (INVALID_PARAMS, METHOD_NOT_FOUND):
        return passed(f"refused with {_a(seen.kind)}")
    if seen.code is not None:
        return failed(f"expected error {INVALID_PARAMS} or isError, got error {seen.code}")
    return failed("a tool that does not exist was answered with a result")


def bears(seen: ProbeResponse) -> Judgement:
    """Judge an oversized message: it must be served, or refused with an error."""
    if seen.reply is None and seen.status in TOO_LARGE:
        return passed(f"refused with HTTP {seen.status}")
    return answered(seen)


def goes_on(after: ProbeResponse) -> Judgement:
    """Judge the request after a call that was cancelled."""
    if after.problem:
        return failed(f"after a cancelled call: {after.problem}")
    return passed("a call was cancelled, and the next request was answered")


def pages_are_stable(
    method: str, first: Sequence[ProbeResponse], second: Sequence[ProbeResponse], key: str
) -> Judgement:
    """Compare a first page requested twice, and the page of its cursor requested twice."""
    for each in (*first, *second):
        if each.result is None:
            return failed(f"{method}: {each.problem or each.kind}")
    if len({_cursor(each) for each in first}) > 1:
        # A server may issue a new cursor each time, but the page behind it must not change.
        return _same_pages(method, second, key)
    if len({_items(each, key) for each in first}) > 1:
        return failed(f"{method}: the first page differs when it is asked for again")
    return _same_pages(method, second, key)


def _same_pages(method: str, pages: Sequence[ProbeResponse], key: str) -> Judgement:
    if len({_items(each, key) for each in pages}) > 1:
        return failed(f"{method}: one cursor leads to different pages")
    return passed(f"{method}: a cursor leads to the same page each time")


def no_repeats(method: str, pages: Sequence[ProbeResponse], key: str, most: int) -> Judgement:
    """Pass if no entry stands on two pages, and the pages end."""
    cursors = [_cursor(each) for each in pages]
    items = [item for each in pages for item in (each.result or {}).get(key) or ()]
    if len(pages) >= most and cursors[-1] is not None:
        return failed(f"{method}: no end after {most} pages")
    shown = [encode(item) for item in items]
    if len(set(shown)) < len(shown):
        return failed(f"{method}: something is listed on more than one page")
    return passed(f"{method}: {len(pages)} pages with {len(items)} entries, none twice")


def cursor_of(seen: ProbeResponse) -> Any:
    """Return the cursor of the next page; None if there is none."""
    return None if seen.result is None else seen.result.get("nextCursor")


def _cursor(seen: ProbeResponse) -> bytes | None:
    cursor = cursor_of(seen)
    return None if cursor is None else encode(cursor)


def _items(seen: ProbeResponse, key: str) -> bytes:
    return encode((seen.result or {}).get(key))


def _a(kind: str) -> str:
    return {"result": "a result", "isError": "isError"}.get(kind, kind)
