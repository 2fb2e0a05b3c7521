"""Judgements on the responses of a probe: verdicts with their reasons. Pure, one function for each rule."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from faultkit.mcp.probe.servers.probe_results import (
    INPUT_REQUIRED,
    Judgement,
    ProbeResponse,
    failed,
    inconclusive,
    passed,
    shortened,
    unanswered,
)
from faultkit.mcp.wire.message import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    Id,
    encode,
)

TOO_LARGE_STATUSES = (400, 413)
"""HTTP statuses for a body that is too large, or that the server refuses to read."""


def problem_of(response: ProbeResponse, before: str = "") -> Judgement:
    """Judge a valid request without a clean answer; `before` begins the reason."""
    why = f"{before}{response.problem}"
    return unanswered(why) if response.is_unanswered else failed(why)


def answered(response: ProbeResponse) -> Judgement:
    """Pass on any clean answer, a result or an error."""
    if response.problem:
        return problem_of(response)
    return passed(f"answered with {_with_article(response.kind)}")


def control_refused(tool: str, control: ProbeResponse) -> Judgement:
    """Judge a probe whose tool does not even accept an ordinary call."""
    if control.problem:
        # The call is valid and harmless, so an HTTP error in place of a reply is no answer to it.
        return unanswered(f"an ordinary call of {tool}: {control.problem}")
    shows_nothing = (
        f"an ordinary call of {tool} is answered with {_with_article(control.kind)}, so the probe would show "
        "nothing"
    )
    if control.asks_for_input:
        return inconclusive(shows_nothing)
    return inconclusive(f"{shows_nothing}: give it arguments with --args '{tool}={{…}}'")


def unicode_survives(plain: ProbeResponse, text: ProbeResponse, words: str, plain_words: str) -> Judgement:
    """Compare a call with plain words, which was accepted, with one with Unicode: a tool that echoes its
    argument may quote it, but not change it."""
    if text.problem:
        return problem_of(text)
    if text.kind != "result":
        return inconclusive(
            f"the tool accepts plain words, and answers these with {_with_article(text.kind)}"
        )
    texts = _texts(text.result)
    if any(words in each for each in texts):
        return passed("came back unchanged")
    if any(words in _without_escapes(each) for each in texts):
        return passed("came back unchanged, with escape sequences")
    if any(plain_words in each for each in _texts(plain.result)):
        return failed("the tool echoes its argument, and these words came back changed")
    return passed(f"answered with {_with_article(text.kind)}")


_ESCAPE = re.compile(
    r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|(.))"
)
"""Escape sequences of JSON, JavaScript, Python and Rust."""


def _without_escapes(text: str) -> str:
    """Return a quoted text without its quoting, as far as it is that of a common language."""

    def plain(found: re.Match[str]) -> str:
        digits = found[1] or found[2] or found[3] or found[4]
        if digits is None:
            return found[5]
        return chr(int(digits, 16)) if int(digits, 16) <= sys.maxunicode else found[0]

    # Two escaped halves of a surrogate pair become one character.
    unescaped = _ESCAPE.sub(plain, text)
    return unescaped.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _texts(value: Any) -> list[str]:
    """Return all texts in a JSON value."""
    found: list[str] = []
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, str):
            found.append(current)
        elif isinstance(current, Mapping):
            pending += current.values()
        elif isinstance(current, list):
            pending += current
    return found


def same_each_time(responses: Sequence[ProbeResponse]) -> Judgement:
    """Pass if repeated calls get answers of one kind and one shape."""
    for each in responses:
        if each.problem:
            return problem_of(each)
    kinds = [each.kind for each in responses]
    if len(set(kinds)) > 1:
        return failed(f"the same call is answered in different ways: {', then '.join(kinds)}")
    if len({encode(_shape(dict(each.reply or {}))) for each in responses}) > 1:
        return failed("the answers to the same call differ in their shape")
    return passed(f"answered with {_with_article(kinds[0])} each time")


def _shape(value: Any, key: str = "") -> Any:
    """Return a value without what may differ between calls: texts, numbers, and the length of lists."""
    if isinstance(value, Mapping):
        return {name: _shape(each, name) for name, each in sorted(value.items()) if name != "_meta"}
    if isinstance(value, list):
        return sorted({encode(_shape(each)).decode("utf-8", "replace") for each in value})
    if key in ("type", "isError", "code"):
        return value
    return "number" if isinstance(value, int | float) else type(value).__name__


def answered_once(responses: Sequence[ProbeResponse], stray_replies: int) -> Judgement:
    """Pass if each of several concurrent calls got one answer, and all are of one kind."""
    lost = [each for each in responses if each.problem]
    if lost:
        return problem_of(lost[0], f"{len(lost)} of {len(responses)} calls: ")
    if stray_replies:
        return failed(f"{stray_replies} replies came that no request was waiting for")
    kinds = sorted({each.kind for each in responses})
    if len(kinds) > 1:
        return failed(f"identical calls were answered in different ways: {' and '.join(kinds)}")
    return passed(f"{len(responses)} calls, each answered once with {_with_article(kinds[0])}")


def sessions_end(troubles: Sequence[str], rounds: int) -> Judgement:
    """Judge rounds of opening and closing; `troubles` says what went wrong in each, empty if nothing did."""
    for number, trouble in enumerate(troubles, 1):
        if trouble:
            return failed(f"round {number} of {rounds}: {trouble}")
    return passed(f"began and ended {rounds} times")


def fails_cleanly(response: ProbeResponse) -> Judgement:
    """Judge a call that takes longer than the server allows."""
    if response.problem:
        return problem_of(response, "no clean error: ")
    if response.kind == "result" or response.asks_for_input:
        answer = _with_article(response.kind)
        return inconclusive(f"the tool answered with {answer}: it is not slow enough")
    return passed(f"answered with {_with_article(response.kind)}")


def ids_match(asked: Sequence[tuple[Id, ProbeResponse]]) -> Judgement:
    """Pass if each answer to concurrent requests has the id of its own request."""
    for id, response in asked:
        got = None if response.reply is None else response.reply.get("id")
        if response.reply is not None and (type(got) is not type(id) or got != id):
            return failed(f"request {id!r} was answered with id {got!r}")
        if response.problem:
            return problem_of(response, f"request {id!r}: ")
    return passed(f"{len(asked)} requests at once, each answered with its own id")


def parse_error(response: ProbeResponse) -> Judgement:
    """Expect error -32700 for half a message (JSON-RPC 2.0, section 5.1)."""
    return _code(response, PARSE_ERROR, "half a message")


def invalid_request(responses: Sequence[tuple[str, ProbeResponse]]) -> Judgement:
    """Expect error -32600 for each wrong envelope (JSON-RPC 2.0, section 5.1); each comes with what is wrong
    with it."""
    for what, each in responses:
        judgement = _code(each, INVALID_REQUEST, f"a message {what}")
        if judgement.verdict != "passed":
            return judgement
    return passed(f"{len(responses)} messages, each answered with error {INVALID_REQUEST}")


def _code(response: ProbeResponse, wanted: int, what: str) -> Judgement:
    if response.problem:
        return failed(f"{what}: expected error {wanted}, got: {response.problem}")
    if response.code != wanted:
        return failed(f"{what}: expected error {wanted}, got {_with_article(response.kind)}")
    return passed(f"{what} was answered with error {wanted}")


def refuses(response: ProbeResponse) -> Judgement:
    """Judge a call with arguments that the schema of the tool does not allow."""
    if response.problem:
        return problem_of(response)
    if response.is_tool_error or response.code == INVALID_PARAMS:
        return passed(f"refused with {_with_article(response.kind)}")
    if response.code is not None:
        return failed(f"expected isError or error {INVALID_PARAMS}, got error {response.code}")
    if response.asks_for_input:
        return inconclusive("the server asks for input before it runs the tool")
    return failed("the tool was run with arguments that its schema does not allow")


def refuses_unknown_tool(response: ProbeResponse) -> Judgement:
    """Judge a call of a tool that does not exist."""
    if response.problem:
        return problem_of(response)
    if response.is_tool_error or response.code in (INVALID_PARAMS, METHOD_NOT_FOUND):
        return passed(f"refused with {_with_article(response.kind)}")
    if response.code is not None:
        return failed(f"expected error {INVALID_PARAMS} or isError, got error {response.code}")
    if response.asks_for_input:
        return inconclusive("the server asks for input before it says whether the tool exists")
    return failed("a tool that does not exist was answered with a result")


def names(response: ProbeResponse, tool: str) -> bool:
    """Return whether an answer names a tool."""
    return any(tool in text for text in _texts(dict(response.reply or {})))


def serves_or_refuses(response: ProbeResponse) -> Judgement:
    """Judge an oversized message: it must be served, or refused with an error."""
    if response.reply is None and response.status in TOO_LARGE_STATUSES:
        return passed(f"refused with HTTP {response.status}")
    return answered(response)


def answers_after_cancellation(after: ProbeResponse) -> Judgement:
    """Judge the request after a call that was cancelled."""
    if after.problem:
        return problem_of(after, "after a cancelled call: ")
    return passed("a call was cancelled, and the next request was answered")


def has_list(response: ProbeResponse, method: str, key: str) -> Judgement:
    """Expect the list of a capability that the server announces."""
    if response.problem:
        return problem_of(response, f"{method}: ")
    if response.result is None:
        message = shortened(encode(((response.reply or {}).get("error") or {}).get("message")))
        return failed(f"the server announces {key}, and {method} is answered with {response.kind}: {message}")
    if not isinstance(response.result.get(key), list):
        return failed(f'{method}: the result lacks a list "{key}"')
    return passed(f"{method} is answered with a list")


def only_messages(invalid_lines: Sequence[str], count: int) -> Judgement:
    """Expect nothing but messages on stdout (MCP 2025-11-25, Transports, stdio)."""
    if not count:
        return passed("every line was a message")
    lines = "1 line on stdout is not a message" if count == 1 else f"{count} lines on stdout are not messages"
    return failed(f"{lines}; the first: {invalid_lines[0]}")


def pages_are_stable(
    method: str, first: Sequence[ProbeResponse], second: Sequence[ProbeResponse], key: str
) -> Judgement:
    """Compare a first page requested twice, and the page of its cursor requested twice."""
    for each in (*first, *second):
        if each.problem:
            return problem_of(each, f"{method}: ")
        if each.result is None:
            return failed(f"{method}: {each.kind}")
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


def cursor_of(response: ProbeResponse) -> Any:
    """Return the cursor of the next page; None if there is none."""
    return None if response.result is None else response.result.get("nextCursor")


def _cursor(response: ProbeResponse) -> bytes | None:
    cursor = cursor_of(response)
    return None if cursor is None else encode(cursor)


def _items(response: ProbeResponse, key: str) -> bytes:
    return encode((response.result or {}).get(key))


def _with_article(kind: str) -> str:
    return {"result": "a result", INPUT_REQUIRED: "a request for input"}.get(kind, kind)
