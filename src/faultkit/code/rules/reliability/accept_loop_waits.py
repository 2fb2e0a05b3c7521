"""Finds loops that accept connections and wait for what a client sends before they accept the next."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, GO, JAVA, KOTLIN, LIKELY, PYTHON, RUST, Hit, Rule
from faultkit.code.rules.vocabulary.failed_accepts import ACCEPTS, IN_MACRO, LISTENERS

_WAITS = frozenset(
    ("accept", "handshake", "Handshake", "HandshakeContext", "startHandshake", "do_handshake", "wrap_socket",
     "accept_async", "accept_hdr_async", "AuthenticateAsServerAsync", "AuthenticateAsServer", "read",
     "read_exact",
     "read_to_end", "read_to_string", "read_line", "recv", "Read", "ReadString", "ReadBytes", "readLine",
     "ReadLineAsync", "ReadLine", "ReadAsync", "ReadFull", "ReadAll", "readNBytes", "readAllBytes", "peek",
     "readUTF", "readObject", "serve_connection", "ReadByte", "ReadExactlyAsync", "readRequest",
     "ReadRequest")
)  # fmt: skip
"""Calls that wait for bytes of the client."""
_LIMITS = lazy_regex(
    r"SetDeadline|SetReadDeadline|settimeout|setSoTimeout|soTimeout|set_read_timeout|ReceiveTimeout|ReadTimeout"
    r"|wait_for\(|asyncio\.timeout|CancelAfter|withTimeout|WaitAsync\("
)
_TIMED = ("timeout", "timeout_at", "wait_for", "withTimeout", "withTimeoutOrNull", "timeout_after")


def _check(facts: Facts) -> Iterator[Hit]:
    for call in (*facts.calls_of_method(*ACCEPTS), *facts.calls_of_method("select")):
        if call.method == "select":
            # What stands in a macro of Rust has no calls of its own.
            if facts.language != "rust" or not IN_MACRO.search(facts.text(call.span)):
                continue
        elif not LISTENERS.search(call.receiver_written):
            continue
        loops = facts.loops_around(call)
        if (
            not loops
            or loops[-1].kind not in ("endless", "while")
            or _LIMITS.search(facts.text(loops[-1].span))
        ):
            continue
        waits = _wait_for_client(call, loops[-1], facts)
        if waits is not None:
            what = f"{waits.written}() waits for one client, and the loop accepts no other until it answers"
            yield Hit(waits.span, what, LIKELY)


def _wait_for_client(accepts: Call, loop: Loop, facts: Facts) -> Call | None:
    """Return a call of the loop itself that waits for bytes of the connection that it has just accepted."""
    function = facts.function_of(accepts)
    names = {*_words(accepts.assigned)}
    if not names:
        names = _given_later(accepts, loop, facts)
    for each in facts.within(facts.assignments, Span(accepts.span.end, loop.body.end)):
        if (
            each.value is not None
            and _mentions(each.value.text, names)
            and facts.function_of(each) is function
        ):
            names |= {*_words(each.targets)}
    for call in facts.within(facts.calls, Span(accepts.span.end, loop.body.end)):
        if call.method not in _WAITS or facts.function_of(call) is not function or call.is_launched:
            continue
        if not _mentions(facts.text(call.span), names):
            continue
        around = facts.calls_around(call)
        if any(each.method in _TIMED or each.is_launched or "spawn" in each.method for each in around):
            continue
        if facts.language in ("rust", "csharp") and not call.is_awaited and call.method.endswith("Async"):
            continue
        return call
    return None


def _given_later(accepts: Call, loop: Loop, facts: Facts) -> set[str]:
    """Return the names that hold what was accepted inside a macro or a match."""
    return {
        name
        for each in facts.within(facts.assignments, loop.body)
        if each.value is not None and is_within(accepts.span, each.value.span)
        for name in _words(each.targets)
    }


def _words(targets: tuple[str, ...]) -> Iterator[str]:
    for target in targets:
        yield from (
            word for word in re.findall(r"[A-Za-z_]\w*", target) if word not in ("mut", "_", "err", "addr")
        )


def _mentions(text: str, names: set[str]) -> bool:
    return any(re.search(rf"(?<![\w.]){re.escape(name)}\b", text) for name in names)


RULE = Rule(
    id="FK-R171",
    slug="accept-loop-waits",
    title="Accept loop that waits for a client",
    why="A client that connects and sends nothing stops the loop: no other connection is accepted.",
    fix="Start a task or thread for each connection, and do the handshake and all reads in it, with a time "
    "limit.",
    kind="reliability",
    severity="high",
    languages=(*PYTHON, *GO, *JAVA, *RUST, *CSHARP, *KOTLIN),
    check=_check,
    words=(b"ccept",),
)
