"""Loops that take connections or messages as they come, and what they do with each of them."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop
from faultkit.code.languages.syntax import Span

_ACCEPTS = frozenset(
    ("Accept", "AcceptTCP", "AcceptUnix", "accept", "AcceptTcpClient", "AcceptTcpClientAsync", "AcceptSocket",
     "AcceptSocketAsync", "AcceptAsync", "GetContext", "GetContextAsync", "AcceptStream")
)  # fmt: skip
_RECEIVES = frozenset(
    ("FetchMessage", "ReadMessage", "ReceiveMessage", "Receive", "Recv", "Next", "NextMsg", "Fetch", "Poll",
     "BLPop", "BRPop", "recv", "receive", "recv_async", "try_next", "next", "getone", "get", "blpop", "brpop",
     "poll", "take", "Consume", "ReadAsync", "ReceiveAsync", "ReceiveMessageAsync", "DequeueAsync", "Dequeue",
     "Take", "Pop", "pop", "PopMessage", "receive_message", "fetch")
)  # fmt: skip
_SLOTS = lazy_regex(r"acquire|Acquire|WaitAsync\(|<-\s*struct\{\}|permit", re.IGNORECASE)
"""What a loop does that waits for a free slot before it starts another."""
_FROM_CHANNEL = lazy_regex(r"(?:^|[\s(])(\w+)(?:\s*,\s*\w+)?\s*:?=\s*<-")


def received_by_loop(call: Call, facts: Facts) -> str | None:
    """Return where a loop without an end takes what a task is started with: `accepted` or `received`.

    None if it waits for a free slot first."""
    around = facts.loops_around(call)
    if not around:
        return "received" if facts.language == "kotlin" and _is_collected(call, facts) else None
    loop, text = around[-1], facts.text(call.span)
    if _SLOTS.search(facts.text(loop.body)) and not waits_inside(call, facts):
        return None
    if loop.is_async or (loop.kind == "each" and _is_channel(loop.over, facts)):
        return "received" if any(name in words_of(text) for name in loop.targets) else None
    if loop.kind not in ("endless", "while") and not has_only_condition(loop, facts):
        return None
    words = words_of(text)
    if facts.language == "rust" and loop.kind == "while":
        # `while let Some(job) = rx.recv().await`
        bound = re.match(r"let\s+\w+\(\s*(?:mut\s+)?\(?([\w\s,]+)\)?\)\s*=\s*([\w.]+)\.(\w+)\(", loop.over)
        if bound is not None and bound[3] in _RECEIVES | _ACCEPTS and words & words_of(bound[1]):
            return "accepted" if bound[3] in _ACCEPTS else "received"
    before = Span(loop.body.start, call.span.start)
    if facts.language == "go" and any(name in words for name in _FROM_CHANNEL.findall(facts.text(before))):
        return "accepted" if _is_given_connection(call, facts) else "received"
    for each in facts.within(facts.calls, before):
        if facts.language == "rust" and each.method == "select":
            # What stands in a macro has no calls of its own.
            if _ACCEPTED.search(facts.text(each.span)) and words & _given_by(each, loop, facts):
                return "accepted"
            continue
        if each.method not in _ACCEPTS and (each.method not in _RECEIVES or "." not in each.written):
            continue
        if each.method in ("get", "next", "pop", "fetch") and not _QUEUES.search(each.receiver_written):
            continue
        # What comes of it: its own name, or that of the part of it that a loop or a match takes.
        names = {name for target in each.assigned for name in words_of(target)} | _matched(each, loop, facts)
        if words & (names - {"_", "err"}):
            return "accepted" if each.method in _ACCEPTS else "received"
    return None


_CONNECTIONS = lazy_regex(r"(?:^|\.)(?:Conn|TCPConn|UnixConn|NewChannel|QUICConn|Stream|Session)$")
_ACCEPTED_HERE = lazy_regex(r"\.Accept\w*\(")


def _is_given_connection(call: Call, facts: Facts) -> bool:
    """Return whether a goroutine is given a connection, by its type or as another one accepts them (Go)."""
    scope = facts.named_function_of(call)
    if scope is not None and _ACCEPTED_HERE.search(facts.text(scope.body)):
        return True
    started = [
        one for one in facts.functions_named(call.method) if len(one.parameters) >= len(call.positional)
    ]
    return any(_CONNECTIONS.search(each.type) for one in started for each in one.parameters)


_ACCEPTED = lazy_regex(r"\b\w*(?:listener|server|incoming)\w*\.accept\(\)")
_ONLY_CONDITION = lazy_regex(r"for\s[^;{]*;[^;{]*;\s*\{?\s*$")


def has_only_condition(loop: Loop, facts: Facts) -> bool:
    """Return whether a loop with three clauses counts nothing: `for it := all(); !it.Done(); {` (Go)."""
    if facts.language != "go" or loop.kind != "count":
        return False
    return _ONLY_CONDITION.match(facts.text(loop.head)) is not None


def _given_by(call: Call, loop: Loop, facts: Facts) -> set[str]:
    """Return the names that hold what a macro gives."""
    return {
        name
        for each in facts.within(facts.assignments, loop.body)
        if each.value is not None and each.value.span.start <= call.span.start < each.value.span.end
        for target in each.targets
        for name in words_of(target)
    } - {"_", "mut"}


_TAKEN = lazy_regex(r"acquire\w*\(|WaitAsync\(|<-\s*struct\{\}|withPermit", re.IGNORECASE)
_ENDED_FIRST = lazy_regex(
    r"join_next\(\)\s*\.await|\.len\(\)|\blen\(|\.Wait\(|\.size\b|\bselect\b|\bwait\(|Count\b"
)


def waits_inside(call: Call, facts: Facts) -> bool:
    """Return whether a task waits for a free slot only when it has been started.

    Then the slots limit what the tasks do, and not how many of them wait with what they were given."""
    around = facts.loops_around(call)
    if not around:
        return False
    body, own = facts.text(around[-1].body), facts.text(call.span)
    rest = body.replace(own, "", 1)
    if not _TAKEN.search(own) or _TAKEN.search(rest) or _ENDED_FIRST.search(rest):
        return False
    return re.search(r"\.(?:try_acquire|tryAcquire|TryAcquire)", own) is None


def _is_collected(call: Call, facts: Facts) -> bool:
    """Return whether a task works on an item that `collect { … }` or `consumeEach { … }` gets (Kotlin)."""
    around = [each for each in facts.calls_around(call) if each.method in ("collect", "consumeEach")]
    if not around or _SLOTS.search(facts.text(around[-1].span)):
        return False
    given = next((each.value.span for each in around[-1].arguments if each.value.shape == "function"), None)
    scope = None if given is None else facts.function_at(given)
    names = {each.name for each in scope.parameters} if scope is not None else set[str]()
    return bool((names or {"it"}) & words_of(facts.text(call.span)))


_QUEUES = lazy_regex(
    r"queue|consumer|inbox|channel|stream|\brx$|receiver|subscription|jobs?$|messages?$", re.IGNORECASE
)
_ARMS = lazy_regex(r"\b(?:Ok|Some)\s*\(\s*(?:mut\s+)?\(?\s*([\w\s,]+?)\)?\s*\)\s*=>")


def _matched(call: Call, loop: Loop, facts: Facts) -> set[str]:
    """Return names that the arms of a match give to what a call returned (Rust)."""
    if facts.language != "rust":
        return set()
    arms = _ARMS.findall(facts.text(Span(call.span.end, loop.body.end)))
    names = {name for arm in arms for name in words_of(arm)}
    # What is made of it before the task starts: `let payload = message.payload()`.
    made = {
        target
        for each in facts.within(facts.assignments, loop.body)
        if each.value is not None and words_of(each.value.text) & names
        for target in each.targets
    }
    return names | made


def _is_channel(over: str, facts: Facts) -> bool:
    """Return whether the items of a loop are messages: of a Go channel, or of a consumer."""
    bare = over.rpartition(".")[2]
    if facts.language == "go":
        text = facts.whole_text
        return (
            re.search(rf"\b{re.escape(bare)}\s*,?\s*(\w+\s+)?(:?=\s*make\()?(<-\s*)?chan\b", text) is not None
        )
    return (
        facts.language == "python" and re.search(r"(^|_)(consumer|messages|subscription)$", bare) is not None
    )


def words_of(text: str) -> set[str]:
    """Return the words of a text, each once."""
    return {*re.findall(r"\w+", text)}
