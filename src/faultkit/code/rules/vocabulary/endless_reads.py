"""Reads from a connection without a limit, which wait for as long as the other side is silent."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.vocabulary.call_paths import callers_of_function
from faultkit.code.rules.vocabulary.waits import is_bounded

_RUST_READS = re.compile(
    r"^(read|read_exact|read_to_end|read_to_string|read_line|read_until|read_buf|next_line|read_u\w+|read_i\w+)$"
)
_PYTHON_READS = frozenset(("read", "readline", "readexactly", "readuntil"))
_GO_READERS = re.compile(
    r"^(bufio\.(NewReader|NewReaderSize|NewScanner|NewReadWriter)|encoding/\w+\.NewDecoder|encoding/binary\.Read"
    r"|io\.(ReadFull|ReadAll|ReadAtLeast|Copy|CopyN|CopyBuffer|LimitReader|TeeReader)|fmt\.Fscan\w*"
    r"|net/textproto\.(NewConn|NewReader))$"
)
"""Functions that read from what they are given, or make something that does."""
_GO_DIALS = ("DialTimeout", "Dial", "DialContext", "DialTCP")
_GO_DIALED = re.compile(
    r"^(net\.Dial(Timeout|TCP)|net\.Dialer\.Dial(Context)?|crypto/tls\.Dial(WithDialer)?)$"
)
_GO_LIMITS = ("SetDeadline", "SetReadDeadline")


def endless_reads(facts: Facts) -> Iterator[Call]:
    """Yield the first read without a limit in each function that serves or opens a connection."""
    find = {"rust": _rust, "python": _python, "go": _go}.get(facts.language)
    told: set[Scope | None] = set()
    for call in () if find is None else find(facts):
        scope = facts.named_function_of(call)
        if scope not in told:
            told.add(scope)
            yield call


def _rust(facts: Facts) -> Iterator[Call]:
    for scope in facts.scopes:
        streams = {each.name for each in scope.parameters if each.type.endswith("tokio.net.TcpStream")}
        if not scope.is_async or not streams or _waits_for_others(scope, facts):
            continue
        callers = callers_of_function(scope, facts)
        if callers and all(is_bounded(each, facts) for each in callers):
            continue
        for call in facts.own(facts.calls, scope):
            if _RUST_READS.match(call.method) and call.is_awaited and not is_bounded(call, facts):
                yield call
                break


def _waits_for_others(scope: Scope, facts: Facts) -> bool:
    """Return whether a function waits for several things at once, one of which may be a timer (Rust)."""
    return "select!" in facts.text(scope.span)


def _opened_in_python(facts: Facts) -> Iterator[Call]:
    """Yield reads of connections that were opened within a limit, which ends there."""
    for made in facts.calls_named("asyncio.open_connection"):
        scope = facts.function_of(made)
        names = [*made.assigned, *(name for each in facts.calls_around(made) for name in each.assigned)]
        if scope is None or not names or not is_bounded(made, facts):
            continue
        reader = re.findall(r"\w+", names[0])[:1]
        for call in facts.own(facts.calls, scope):
            reads = call.method in _PYTHON_READS and call.receiver_written in reader and call.is_awaited
            if reads and not is_bounded(call, facts):
                yield call
                break


def _python(facts: Facts) -> Iterator[Call]:
    yield from _opened_in_python(facts)
    served = {
        argument.value.text.rpartition(".")[2]
        for call in facts.calls_named("asyncio.start_server")
        for argument in call.positional[:1]
    }
    for scope in facts.scopes:
        if scope.short_name not in served:
            continue
        readers = [each.name for each in scope.parameters if each.name not in ("self", "cls")][:1]
        for call in facts.own(facts.calls, scope):
            reads = call.method in _PYTHON_READS and call.receiver_written in readers and call.is_awaited
            if reads and not is_bounded(call, facts):
                yield call


def _go(facts: Facts) -> Iterator[Call]:
    if facts.calls_of_method(*_GO_LIMITS):
        return
    yield from _sockets(facts)
    opened = [each for each in facts.calls_of_method(*_GO_DIALS) if _GO_DIALED.search(each.name)]
    for scope in facts.scopes:
        connections = {each.name for each in scope.parameters if each.type in ("net.Conn", "net.TCPConn")}
        if not connections or not _accepts(scope, facts):
            # A limit of connecting is none of what comes after it.
            connections = {name for each in facts.within(opened, scope.body) for name in each.assigned[:1]}
        if not connections:
            continue
        if _CLOSED_LATER.search(facts.text(scope.span)):
            continue  # The end of the context closes the connection.
        yield from _reads_of(connections, scope, facts)


_CLOSED_LATER = re.compile(r"context\.AfterFunc\(|<-\s*\w*[cC]tx\.Done\(\)[^}]*\.Close\(\)")


def _reads_of(connections: set[str], scope: Scope, facts: Facts, levels: int = 1) -> Iterator[Call]:
    """Yield reads of connections, also those of a function of this text that is given one (Go)."""
    is_tunnel = facts.text(scope.span).count("io.Copy") > 1
    for call in facts.own(facts.calls, scope):
        places = [place for place, each in enumerate(call.positional) if each.value.text in connections]
        if is_tunnel and call.method.startswith("Copy"):
            continue  # What passes data on both ways may wait for as long as neither side speaks.
        if call.method == "Read" and call.receiver_written in connections:
            yield call
        elif places and _GO_READERS.match(call.name):
            # `io.Copy(file, conn)` reads, `io.Copy(conn, file)` waits for a peer that does not.
            yield call
        elif places and levels:
            for own in facts.functions_named(call.method):
                given = {own.parameters[place].name for place in places if place < len(own.parameters)}
                if any(True for _ in _reads_of(given, own, facts, levels - 1)):
                    yield call
                    break


_WEBSOCKET = re.compile(r"^github\.com/gorilla/websocket\.")


def _sockets(facts: Facts) -> Iterator[Call]:
    """Yield reads in a loop of websockets that no deadline ends: a peer that is gone is not noticed (Go)."""
    if facts.imports_any("github.com/gorilla/websocket"):
        for call in facts.calls_of_method("ReadMessage", "ReadJSON", "NextReader"):
            if facts.loops_around(call) and (_WEBSOCKET.match(call.name) or call.receiver_written):
                yield call


def _accepts(scope: Scope, facts: Facts) -> bool:
    """Return whether this text accepts the connections that it gives to a function."""
    accepted = {name for call in facts.calls_of_method("Accept", "AcceptTCP") for name in call.assigned[:1]}
    return any(
        argument.value.text in accepted for call in facts.callers_of(scope) for argument in call.arguments
    )
