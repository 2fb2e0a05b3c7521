"""Java and Kotlin: sockets whose reads wait for as long as the other side is silent."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.rules.vocabulary.call_paths import is_bounded_on_all_paths
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_LIMITS = (b"oTimeout", b"SO_TIMEOUT", b"SO_RCVTIMEO")
"""`setSoTimeout(5000)`, `soTimeout = 5000`."""
_CONNECT = NamePattern(r"(?<!Web)(?<!Datagram)(Socket|createSocket\(\))\.connect$")
_ACCEPT = NamePattern(r"(ServerSocket|createServerSocket\(\))\.accept$")
_FACTORY = lazy_regex(r"[sS]ocketFactory|getDefault\(\)")
_READS = (b"getInputStream", b"inputStream", b"getChannel")
_LOCAL = lazy_regex(rb"UnixDomain|AFUNIX|getLoopbackAddress|\"localhost\"|\"127\.0\.0\.1\"")


def reads_on_jvm(facts: Facts) -> Iterator[Call]:
    """Yield connects and accepts of sockets that are read from, in a text that sets no limit of reads."""
    source = facts.syntax.source
    if b"ocket" not in source:
        return
    if facts.language == "kotlin" and b"io.ktor.network" in source:
        yield from _ktor(facts)
        return
    if any(word in source for word in _LIMITS) or _LOCAL.search(source):
        return
    yield from _datagrams(facts)
    if not any(word in source for word in _READS):
        return
    for call in facts.calls_of_method("connect"):
        # Without a limit of its own, the connect is found as such.
        if _CONNECT.search(call.name) and len(call.positional) == 2:
            yield call
    for call in facts.calls_of_method("createSocket"):
        if len(call.positional) == 2 and _FACTORY.search(call.name + call.receiver_written):
            yield call
    yield from (call for call in facts.calls_of_method("accept") if _ACCEPT.search(call.name))


def _datagrams(facts: Facts) -> Iterator[Call]:
    """Yield receives of an answer to a datagram: if one of the two is lost, the wait does not end."""
    for call in facts.calls_of_method("receive"):
        scope = facts.named_function_of(call)
        if scope is None or not re.search(r"(Datagram|Multicast)Socket\.receive$", call.name):
            continue
        sent = facts.within(facts.calls_of_method("send"), scope.body)
        if any(each.receiver == call.receiver and each.span.start < call.span.start for each in sent):
            yield call


_KTOR_READS = (
    "readUTF8Line", "readUTF8LineTo", "readFully", "readAvailable", "readByte", "readShort", "readInt",
    "readLong", "readPacket", "readRemaining", "readByteArray", "readLine",
)  # fmt: skip


def _ktor(facts: Facts) -> Iterator[Call]:
    """Yield reads of Ktor's sockets that no `withTimeout` ends."""
    source = facts.syntax.source
    if b"socketTimeout" in source or b"openReadChannel" not in source:
        return
    for call in facts.calls_of_method(*_KTOR_READS):
        if call.receiver_written and not is_bounded_on_all_paths(call, facts):
            yield call
