"""Finds messages to all subscribers that wait for each of them in turn."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, GO, KOTLIN, LIKELY, PYTHON, RUST, Hit, Rule
from faultkit.code.rules.vocabulary.lock_regions import lock_regions

_RECEIVERS = lazy_regex(
    r"client|subscri|\bsubs?\b|listener|peer|member|conn|watcher|session|observer|viewer|outbox|player|socket|\bws\b"
    r"|\bchans?\b|channels|senders|recipients|websockets",
    re.IGNORECASE,
)
_SENT = lazy_regex(r"^[ \t]*(?!case\b)([\w.\[\]]+)\s*<-\s*(?!\s*$).+$", re.MULTILINE)
_SENDS = {
    "rust": frozenset(("send",)),
    "kotlin": frozenset(("send", "emit")),
    "python": frozenset(("put", "send", "send_text", "send_json", "send_bytes", "send_str", "drain")),
    "csharp": frozenset(("WriteAsync", "SendAsync")),
}
_APART = frozenset(
    (
        "spawn", "timeout", "wait_for", "withTimeout", "withTimeoutOrNull", "create_task", "launch", "async",
        "gather", "Run", "start_soon", "WaitAsync", "ensure_future", "fail_after", "move_on_after",
    )
)  # fmt: skip
"""Functions in which one send does not hold up the next, or not for long."""
_LIMITED = lazy_regex(
    r"asyncio\.timeout\(|CancelAfter|move_on_after|fail_after|wait_for\(|send_timeout|SetWriteDeadline"
)


def _check(facts: Facts) -> Iterator[Hit]:
    sends = _SENDS.get(facts.language, frozenset())
    for loop in facts.loops:
        if loop.kind != "each" or not _RECEIVERS.search(f"{loop.over} {' '.join(loop.targets)}"):
            continue
        if facts.language == "go":
            found = _sent_in_go(loop, facts)
        else:
            found = next((call.span for call in _sent(loop, sends, facts)), None)
        if found is not None:
            what = f"one of {loop.over.strip()[:40]} that does not read stops the messages to all others"
            yield Hit(found, what, LIKELY)


def _sent_in_go(loop: Loop, facts: Facts) -> Span | None:
    """Return the send to the channel of an item that is no case of a `select`, and holds no lock."""
    body = facts.text(loop.body)
    if "<-" not in body or "select" in body or "go func" in body:
        return None
    if any(is_within(loop.span, each.span) for each in lock_regions(facts)):
        return None  # FK-P017 says more.
    for found in _SENT.finditer(body):
        if {*re.findall(r"\w+", found[1])} & {*loop.targets}:
            return facts.syntax.place_of(found, loop.body.start)
    return None


def _sent(loop: Loop, sends: frozenset[str], facts: Facts) -> Iterator[Call]:
    targets = {name for each in loop.targets for name in re.findall(r"[A-Za-z_]\w*", each)}
    if _LIMITED.search(facts.text(loop.body)):
        return
    for call in facts.within(facts.calls, loop.body):
        if call.method not in sends or not call.arguments:
            continue
        if not {*re.findall(r"\w+", call.receiver_written)} & targets:
            continue
        if facts.language == "kotlin":
            waits = facts.is_in_async(call) and "hannel" in facts.whole_text
        else:
            waits = call.is_awaited or any(each.is_awaited for each in facts.calls_on(call))
        if waits and not any(
            each.method in _APART for each in facts.calls_around(call) if is_within(each.span, loop.span)
        ):
            yield call


RULE = Rule(
    id="FK-R167",
    slug="slow-receiver-stops-all",
    title="One slow receiver stops all others",
    why="The sender waits for each receiver in turn: one that does not read fills its queue, and then no "
    "other gets a message, and none can join or leave.",
    fix="Try to send without waiting (select with default, try_send, put_nowait), and drop the message or "
    "the receiver that is too slow.",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *GO, *RUST, *CSHARP, *KOTLIN),
    check=_check,
    words=(b"<-", b"send", b"emit", b"put", b"drain", b"WriteAsync", b"SendAsync"),
)
