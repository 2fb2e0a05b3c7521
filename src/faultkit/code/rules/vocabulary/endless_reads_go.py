"""Go: reads from connections and websockets that no deadline ends."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_READERS = NamePattern(
    r"^(bufio\.(NewReader|NewReaderSize|NewScanner|NewReadWriter)|encoding/\w+\.NewDecoder|encoding/binary\.Read"
    r"|io\.(ReadFull|ReadAll|ReadAtLeast|Copy|CopyN|CopyBuffer|LimitReader|TeeReader)|fmt\.Fscan\w*"
    r"|net/textproto\.(NewConn|NewReader))$"
)
"""Functions that read from what they are given, or make something that does."""
_DIALS = ("DialTimeout", "Dial", "DialContext", "DialTCP", "DialUDP", "DialWithDialer")
_DIALED = NamePattern(
    r"^(net\.Dial(Timeout|TCP|UDP)|(net|crypto/tls)\.Dialer\.Dial(Context)?"
    r"|crypto/tls\.Dial(WithDialer)?)$"
)
_READS = frozenset(("Read", "ReadFrom", "ReadFromUDP", "ReadMsgUDP", "ReadFromUDPAddrPort"))
_LIMITS = ("SetDeadline", "SetReadDeadline")
_IN_MEMORY = lazy_regex(r"\b(?:strings|bytes)\.New(?:Reader|Buffer\w*)\(")
_NEVER = lazy_regex(r"^time\.Time\{\}$")
_CLOSED_LATER = lazy_regex(r"context\.AfterFunc\(|<-\s*\w*[cC]tx\.Done\(\)[^}]*\.Close\(\)")


def reads_in_go(facts: Facts) -> Iterator[Call]:
    """Yield reads from connections that this text opens or accepts, if nothing sets a deadline for them."""
    yield from _sockets(facts)
    limits = facts.calls_of_method(*_LIMITS)
    if limits:
        yield from _after_reset(limits, facts)
        return
    yield from _messages(facts)
    opened = [each for each in facts.calls_of_method(*_DIALS) if _DIALED.match(each.name)]
    fields = {field for each in opened for field in _fields_with(each, facts)}
    handed = [call for each in opened for call in _handed_out(each, facts)]
    for scope in facts.scopes:
        connections = {each.name for each in scope.parameters if each.type in ("net.Conn", "net.TCPConn")}
        if not connections or not _accepts(scope, facts):
            # A limit of connecting is none of what comes after it.
            made = (*facts.within(opened, scope.body), *(each for each in handed if _is_in(each, scope)))
            connections = {name for each in made for name in each.assigned[:1]}
        connections |= _used_fields(fields, scope, facts)
        if not connections:
            continue
        if _CLOSED_LATER.search(facts.text(scope.span)):
            continue  # The end of the context closes the connection.
        yield from _reads_of(connections, scope, facts)


def _is_in(call: Call, scope: Scope) -> bool:
    return scope.body.start <= call.span.start and call.span.end <= scope.body.end


def _fields_with(opened: Call, facts: Facts) -> Iterator[str]:
    """Yield the names of fields that hold a connection: `c.conn = conn`, `&Client{conn: conn}`."""
    names = {*opened.assigned[:1]}
    yield from (name.rpartition(".")[2] for name in names if "." in name)
    scope = facts.named_function_of(opened)
    if scope is None:
        return
    for each in facts.within(facts.assignments, scope.body):
        if each.value is not None and each.value.text in names and "." in each.targets[0]:
            yield each.targets[0].rpartition(".")[2]
    for call in facts.within(facts.calls, scope.body):
        if call.constructs:
            yield from (each.name for each in call.arguments if each.name and each.value.text in names)


def _used_fields(fields: set[str], scope: Scope, facts: Facts) -> set[str]:
    """Return these fields as a function writes them: `c.conn`."""
    if not fields:
        return set()
    written = rf"\b\w+\.(?:{'|'.join(map(re.escape, sorted(fields)))})\b"
    return {*re.findall(written, facts.text(scope.body))}


def _handed_out(opened: Call, facts: Facts) -> Iterator[Call]:
    """Yield calls of the function that opens a connection, if it returns that."""
    scope = facts.named_function_of(opened)
    if scope is None:
        return
    names = {*opened.assigned[:1]}
    returns = opened.is_returned or any(
        step.kind == "return" and step.text.partition(",")[0].strip() in names
        for step in facts.within(facts.steps, scope.body)
    )
    if returns:
        yield from facts.callers_of(scope)


def _reads_of(connections: set[str], scope: Scope, facts: Facts, levels: int = 1) -> Iterator[Call]:
    """Yield reads of connections, also those of a function of this text that is given one."""
    is_tunnel = facts.text(scope.span).count("io.Copy") > 1
    for call in facts.own(facts.calls, scope):
        places = [place for place, each in enumerate(call.positional) if each.value.text in connections]
        if is_tunnel and call.method.startswith("Copy"):
            continue  # What passes data on both ways may wait for as long as neither side speaks.
        if places == [0] and call.method.startswith("Copy") and _IN_MEMORY.search(facts.text(call.span)):
            continue  # A text that fits into the buffers of the connection.
        if call.method in _READS and call.receiver_written in connections:
            yield call
        elif places and _READERS.match(call.name):
            # `io.Copy(file, conn)` reads, `io.Copy(conn, file)` waits for a peer that does not.
            yield call
        elif places and levels:
            for own in facts.functions_named(call.method):
                given = {own.parameters[place].name for place in places if place < len(own.parameters)}
                if any(True for _ in _reads_of(given, own, facts, levels - 1)):
                    yield call
                    break


def _after_reset(limits: tuple[Call, ...], facts: Facts) -> Iterator[Call]:
    """Yield reads after the deadline of a handshake was taken away, and none was set again.

    `SetDeadline(time.Time{})` ends the limit for all that follows."""
    last = limits[-1]
    scope = facts.named_function_of(last)
    if scope is None or any(facts.named_function_of(each) is not scope for each in limits):
        return
    given = last.argument(place=0)
    if given is None or not _NEVER.match(given.value.text) or last.is_deferred:
        return
    if facts.loops_around(last) or facts.is_deferred(last):
        return
    for call in _reads_of({last.receiver_written}, scope, facts):
        if call.span.start > last.span.end:
            yield call


_GORILLA = NamePattern(r"^github\.com/gorilla/websocket\.")


def _sockets(facts: Facts) -> Iterator[Call]:
    """Yield reads in a loop of websockets that no deadline ends: a peer that is gone is not noticed."""
    if facts.imports_any("github.com/gorilla/websocket") and not facts.calls_of_method(*_LIMITS):
        for call in facts.calls_of_method("ReadMessage", "ReadJSON", "NextReader"):
            if facts.loops_around(call) and (_GORILLA.match(call.name) or call.receiver_written):
                yield call


_CODER = ("github.com/coder/websocket", "nhooyr.io/websocket")
_WITHIN = lazy_regex(r"context\.With(?:Timeout|Deadline)")


def _messages(facts: Facts) -> Iterator[Call]:
    """Yield reads of websockets whose context has no deadline, in a text that sends no pings."""
    if not facts.imports_any(*_CODER) or facts.calls_of_method("Ping") or _WITHIN.search(facts.whole_text):
        return
    for call in facts.calls_of_method("Read", "Reader"):
        first = call.argument(place=0)
        if first is not None and re.search(r"ctx|[cC]ontext", first.value.text) and facts.loops_around(call):
            yield call


def _accepts(scope: Scope, facts: Facts) -> bool:
    """Return whether this text accepts the connections that it gives to a function."""
    accepted = {name for call in facts.calls_of_method("Accept", "AcceptTCP") for name in call.assigned[:1]}
    return any(
        argument.value.text in accepted for call in facts.callers_of(scope) for argument in call.arguments
    )
