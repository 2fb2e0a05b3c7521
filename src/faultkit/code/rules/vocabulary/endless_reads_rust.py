"""Rust: reads from sockets that nothing ends when the other side falls silent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.vocabulary.call_paths import is_bounded_on_all_paths

_READS = (
    "read", "read_exact", "read_to_end", "read_to_string", "read_line", "read_until", "read_buf", "next_line",
    "recv", "recv_from", "next", "try_next",
    *(f"read_{sign}{bits}{order}" for sign in "ui" for bits in (8, 16, 32, 64) for order in ("", "_le")),
)  # fmt: skip
_STREAM = r"(?:TcpStream|TlsStream|OwnedReadHalf|ReadHalf|UdpSocket|WebSocketStream)\b"
_DECLARED = lazy_regex(rf"\b(\w+)\s*:\s*&?(?:'\w+\s+)?(?:mut\s+)?[\w:<\s,&]*\b{_STREAM}")
"""Parameters and fields: `stream: TcpStream`, `reader: BufReader<OwnedReadHalf>`."""
_OPENED = lazy_regex(r"\b(?:TcpStream|UdpSocket)::(?:connect|bind)\w*\(|\bconnect_async\w*\(|\.accept\(\)")
_WORDS = (b"TcpStream", b"UdpSocket", b"WebSocketStream", b"connect_async")
_KEPT_ALIVE = (b"keepalive", b"KeepAlive", b"Keepalive", b"user_timeout")
_WAITS_FOR_OTHERS = lazy_regex(r"\bselect(?:_biased)?!")
"""One of the things that are waited for at once may be a timer."""


def reads_in_rust(facts: Facts) -> Iterator[Call]:
    """Yield reads of sockets that this text is given, accepts, or opens within a limit."""
    source = facts.syntax.source
    if not any(word in source for word in _WORDS) or any(word in source for word in _KEPT_ALIVE):
        return
    if any(not is_bounded_on_all_paths(each, facts) for each in _connects(facts)):
        return  # The connection itself has no limit, which is found there.
    limited = bool(facts.calls_of_method("set_read_timeout", "set_nonblocking"))
    blocks = not limited and b"tokio" not in source and b"net::" in source
    for call in facts.calls_of_method(*_READS):
        scope = facts.function_of(call)
        named = facts.named_function_of(call)
        if scope is None or named is None or not _is_socket(facts.text(call.callee), named, facts):
            continue
        if _WAITS_FOR_OTHERS.search(facts.text(named.span)):
            continue
        if call.is_awaited:
            if _is_answer(call, named, facts) and not is_bounded_on_all_paths(call, facts):
                yield call
        elif blocks and not scope.is_async and call.arguments and not call.method.startswith(("next", "try")):
            yield call


def _connects(facts: Facts) -> Iterator[Call]:
    for call in facts.calls_named("tokio.net.TcpStream.connect", "tokio_tungstenite.connect_async"):
        if call.is_awaited:
            yield call


def _is_answer(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether silence is a failure there: a datagram is an answer only after one was sent.

    A server waits for the next one for as long as it runs."""
    if call.method not in ("recv", "recv_from", "next", "try_next"):
        return True
    if call.method.startswith("recv"):
        return any(
            each.receiver_written == call.receiver_written and each.span.start < call.span.start
            for each in facts.within(facts.calls_of_method("send", "send_to"), scope.body)
        ) and not _is_served(call, facts)
    return b"Ping" not in facts.syntax.source and b"ping" not in facts.syntax.source


def _is_served(call: Call, facts: Facts) -> bool:
    """Return whether a loop receives first, and then answers."""
    around = facts.loops_around(call)
    if not around:
        return False
    sent = facts.within(facts.calls_of_method("send", "send_to"), around[-1].body)
    return not any(each.span.start < call.span.start for each in sent)


def _is_socket(owner: str, scope: Scope, facts: Facts) -> bool:
    """Return whether an object is a socket of this text, or reads from one."""
    words = {*re.findall(r"\w+", owner.rpartition(".")[0])} - {"self", "mut", "new"}
    return not words.isdisjoint(_sockets(scope, facts)) or any(
        _is_given(each, scope, facts) for each in words
    )


def _is_given(name: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a parameter of any type holds a socket of a caller: `next_line(&mut reader)`."""
    names = [each.name for each in scope.parameters if each.name != "self"]
    if name not in names:
        return False
    for caller in facts.callers_of(scope):
        given, around = caller.argument(place=names.index(name)), facts.named_function_of(caller)
        if given is None or around is None or around is scope:
            continue
        if not _sockets(around, facts).isdisjoint(re.findall(r"\w+", given.value.text)):
            return True
    return False


@lru_cache(maxsize=64)
def _sockets(scope: Scope, facts: Facts) -> frozenset[str]:
    """Return the names that hold a socket in a function: parameters, fields, and what is made of them."""
    names = {*_DECLARED.findall(facts.text(scope.head)), *_fields(facts)}
    for each in facts.within(facts.assignments, scope.body):
        if each.value is None:
            continue
        text = each.value.text
        if len(text) > 400:
            continue
        if _OPENED.search(text) or (names and not names.isdisjoint(re.findall(r"(?<![.\"])\b\w+", text))):
            names.update(word for target in each.targets for word in re.findall(r"\w+", target))
    return frozenset(names)


@lru_cache(maxsize=4)
def _fields(facts: Facts) -> frozenset[str]:
    """Return the fields of structs of this text that hold a socket."""
    bodies = re.findall(r"\bstruct\s+\w+[^{;(]*\{([^}]*)\}", facts.whole_text)
    return frozenset(name for body in bodies for name in _DECLARED.findall(body))
