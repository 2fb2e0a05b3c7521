"""C#: reads from sockets that nothing ends when the other side falls silent.

`ReceiveTimeout` and `ReadTimeout` hold for calls that block; those that are awaited end by their token alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.cancellation_limits import is_limited, token_of

_READS = (
    "ReadAsync", "ReadExactlyAsync", "ReadAtLeastAsync", "ReadLineAsync", "ReadToEndAsync", "ReceiveAsync",
    "ReceiveFromAsync", "ReceiveMessageFromAsync", "AuthenticateAsClientAsync", "AuthenticateAsServerAsync",
)  # fmt: skip
_BLOCKING = ("Read", "ReadByte", "ReadExactly", "ReadLine", "ReadToEnd", "Receive", "ReceiveFrom")
_STREAM = lazy_regex(r"(?:^|\.)(?:NetworkStream|SslStream|TcpClient|Socket|UdpClient|ClientWebSocket)$")
_WORDS = (b"TcpClient", b"NetworkStream", b"Socket", b"UdpClient", b"TcpListener")
_OPENED = lazy_regex(
    r"\bGetStream\(\)|\bnew\s+(?:TcpClient|Socket|UdpClient|ClientWebSocket)\b|\bAccept(?:TcpClient|Socket)?(?:Async)?\("
)
_OF_BLOCKING = lazy_regex(r"\b(?:Receive|Read)Timeout\s*=(?!=)")
_CONNECTS = ("ConnectAsync", "Connect")
_ACCEPTS = ("AcceptTcpClientAsync", "AcceptSocketAsync", "AcceptAsync", "AcceptTcpClient", "AcceptSocket")
_OTHERS = lazy_regex(r"\bTask\.WhenAny\(|KeepAliveTimeout|SocketOptionName\.KeepAlive|IdleTimeout")
"""What else ends a read, or a connection whose other side is gone."""


def reads_in_csharp(facts: Facts) -> Iterator[Call]:
    """Yield awaited reads of sockets that this text opens or accepts, whose token does not end by time."""
    if not any(word in facts.syntax.source for word in _WORDS) or _OTHERS.search(facts.whole_text):
        return
    has_other_limit = _OF_BLOCKING.search(facts.whole_text) is not None
    connects = [each for each in facts.calls_of_method(*_CONNECTS) if _is_connect(each)]
    limits_connect = any(is_limited(each, facts) for each in connects)
    if not (connects or facts.calls_of_method(*_ACCEPTS) or _asks(facts)):
        return
    if connects and not limits_connect and all("WebSocket" in each.name for each in connects):
        return  # Many wait for the next message for as long as they run.
    # Where nothing at all has a limit, that is found where the connection is opened.
    is_found_before = not (has_other_limit or limits_connect) and any(
        not token_of(each, facts) for each in connects
    )
    for call in facts.calls_of_method(*_READS) if not is_found_before else ():
        scope = facts.named_function_of(call)
        if scope is None or not call.is_awaited or not _is_socket(call.receiver_written, scope, facts):
            continue
        limited = is_limited(call, facts)
        # Of a token from elsewhere it is not known; a limit of connecting alone shows that it has none.
        if limited is False or (limited is None and (has_other_limit or limits_connect)):
            yield call
    if not has_other_limit and limits_connect:
        yield from _blocking(facts)


def _blocking(facts: Facts) -> Iterator[Call]:
    """Yield reads that block, of a connection that was opened within a limit of its own."""
    for call in facts.calls_of_method(*_BLOCKING):
        scope = facts.named_function_of(call)
        if scope is not None and not call.is_awaited and _is_socket(call.receiver_written, scope, facts):
            yield call


def _is_connect(call: Call) -> bool:
    return (
        re.search(r"(?:^|\.)(?:TcpClient|Socket|ClientWebSocket)\.Connect(?:Async)?$", call.name) is not None
    )


def _asks(facts: Facts) -> bool:
    """Return whether a datagram is sent and its answer waited for."""
    return b"UdpClient" in facts.syntax.source and bool(facts.calls_of_method("SendAsync", "Send"))


def _is_socket(owner: str, scope: Scope, facts: Facts) -> bool:
    words = {*re.findall(r"\w+", owner)} - {"this", "new"}
    return not words.isdisjoint(_sockets(scope, facts))


@lru_cache(maxsize=64)
def _sockets(scope: Scope, facts: Facts) -> frozenset[str]:
    """Return the names that hold a socket or its stream: parameters, fields, and what is made of them."""
    names = {each.name for each in scope.parameters if _STREAM.search(each.type)}
    names |= {
        target.rpartition(".")[2]
        for each in facts.assignments
        if each.scope is None and each.owner and _STREAM.search(each.type)
        for target in each.targets
    }
    if any(each.type.endswith(("Stream", "StreamReader", "PipeReader")) for each in scope.parameters):
        names |= _given(scope, facts)
    for each in facts.within(facts.assignments, scope.body):
        text = "" if each.value is None else each.value.text
        if len(text) > 400:
            continue
        if _OPENED.search(text) or not names.isdisjoint(re.findall(r"(?<![.\"])\b\w+", text)):
            names.update(word for target in each.targets for word in re.findall(r"\w+", target))
    return frozenset(names)


def _given(scope: Scope, facts: Facts) -> set[str]:
    """Return the streams among the parameters of a function that is given those of a socket."""
    found = set[str]()
    for caller in facts.callers_of(scope):
        outer = facts.named_function_of(caller)
        if outer is None or outer is scope:
            continue
        known = _sockets(outer, facts)
        for place, each in enumerate(scope.parameters):
            given = caller.argument(each.name, place=place)
            if given is not None and not known.isdisjoint(re.findall(r"\w+", given.value.text)):
                found.add(each.name)
    return found


_OF_BLOCKING_CLIENTS = {
    "SmtpClient": ("SendMailAsync", "SendAsync"),
    "HttpWebRequest": ("GetResponseAsync", "GetRequestStreamAsync"),
    "WebRequest.Create()": ("GetResponseAsync", "GetRequestStreamAsync"),
    "WebRequest.CreateHttp()": ("GetResponseAsync", "GetRequestStreamAsync"),
}
"""Clients whose `Timeout` holds for calls that block alone, and those of their calls that do not."""


def limits_of_blocking_calls(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield awaited calls of clients whose `Timeout` is set, and does not hold for them."""
    if facts.language != "csharp" or b"Timeout" not in facts.syntax.source:
        return
    if not facts.syntax.has_any(b"smtpclient", b"webrequest") or b"MailKit" in facts.syntax.source:
        return
    for call in facts.calls_of_method("SendMailAsync", "GetResponseAsync", "GetRequestStreamAsync"):
        made = call.origin
        methods = _OF_BLOCKING_CLIENTS.get(call.receiver.rpartition("Net.Mail.")[2])
        if made is None or methods is None or call.method not in methods or is_limited(call, facts):
            continue
        names = {f"{name}.Timeout" for name in made.assigned}
        if made.has("Timeout") or not names.isdisjoint(facts.assigned_names):
            yield call.span, f"Timeout does not hold for {call.written}(), which waits without a limit"
