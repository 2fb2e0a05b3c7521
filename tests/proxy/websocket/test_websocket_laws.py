"""Without a rule that acts, every byte passes; and messages that are compressed anew mean the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import cycle

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from wsproto.events import BytesMessage, Event, Ping, Pong, TextMessage
from wsproto.events import CloseConnection as Goodbye
from wsproto.utilities import LocalProtocolError

from faultkit.faults.events import Data, Eof
from faultkit.faults.websocket_fault import (
    ChangeMessage,
    CloseConnection,
    DelayMessage,
    DropMessage,
    MessageEffect,
    RepeatMessage,
)
from faultkit.proxy.http import ToClient
from tests.proxy.websocket.peers import Layered, Rules, cut_each, cut_whole

ACCEPTED = (
    None,
    "permessage-deflate",
    "permessage-deflate; server_no_context_takeover; client_no_context_takeover",
    "permessage-deflate; server_max_window_bits=9; client_max_window_bits=10",
)
TEXTS = ("", "a", "größer", "😀" * 50, "again and again " * 20)
SIZES = (0, 1, 125, 126, 70_000)

messages = st.one_of(
    st.builds(lambda n, ends: TextMessage(TEXTS[n], message_finished=ends), st.integers(0, 4), st.booleans()),
    st.builds(
        lambda n, ends: BytesMessage(bytes([n]) * SIZES[n], message_finished=ends),
        st.integers(0, 4),
        st.booleans(),
    ),
    st.builds(Ping, st.sampled_from((b"", b"beat"))),
    st.builds(Pong, st.sampled_from((b"", b"x" * 125))),
)
scripts = st.lists(st.tuples(st.booleans(), messages), max_size=8)
Script = list[tuple[bool, Event]]


def play(peers: Layered, script: Script) -> None:
    """Let the peers send; an event that does not fit, as text inside a binary message, is left out."""
    within: dict[bool, type[Event] | None] = {True: None, False: None}
    for by_client, event in [*script, (True, Goodbye(1000, "bye"))]:
        if isinstance(event, TextMessage | BytesMessage):
            if within[by_client] not in (None, type(event)):
                continue
            within[by_client] = None if event.message_finished else type(event)
        with suppress(LocalProtocolError):  # A rule has closed the connection.
            if by_client:
                peers.client_sends(event)
            else:
                peers.server_sends(event)


@given(
    script=scripts,
    sizes=st.lists(st.integers(1, 30_000), min_size=1, max_size=4),
    accepted=st.sampled_from(ACCEPTED),
)
@settings(max_examples=25, deadline=None)
def test_random_traffic_passes_byte_for_byte(script: Script, sizes: list[int], accepted: str | None) -> None:
    rounds = cycle((*sizes, 9_000))

    def cut(payload: bytes) -> Iterator[bytes]:
        while payload:
            size = next(rounds)
            yield payload[:size]
            payload = payload[size:]

    peers = Layered(accepted=accepted, cut=cut)
    play(peers, script)
    assert peers.server.got == peers.sent["client"]
    assert peers.client.got == peers.sent["server"]
    assert peers.server.seen[-1] == ("close", 1000, "bye")
    assert peers.troubles == []


def swapped(content: bytes, is_text: bool) -> tuple[bytes, int]:
    return content.swapcase(), 1


EFFECTS: tuple[list[MessageEffect], ...] = (
    [],
    [DropMessage()],
    [RepeatMessage(1)],
    [ChangeMessage(swapped)],
    [ChangeMessage(swapped), RepeatMessage(2), DelayMessage(0.5)],
    [DelayMessage(1.0)],
    [CloseConnection(1011, "", "both")],
)


@given(
    script=scripts,
    size=st.integers(1, 9),
    accepted=st.sampled_from(ACCEPTED),
    effects=st.lists(st.tuples(st.booleans(), st.integers(0, 2), st.sampled_from(EFFECTS)), max_size=3),
)
@settings(max_examples=25, deadline=None)
def test_what_rules_do_does_not_hang_on_how_bytes_are_cut(
    script: Script, size: int, accepted: str | None, effects: list[tuple[bool, int, list[MessageEffect]]]
) -> None:
    def cut(payload: bytes) -> Iterator[bytes]:
        # A few small pieces, then the rest: 70,000 single bytes would take seconds.
        yield from (payload[at : at + size] for at in range(0, min(len(payload), 60), size))
        if rest := payload[-(-min(len(payload), 60) // size) * size :]:
            yield rest

    def seen(cutter: Callable[[bytes], Iterator[bytes]]) -> list[object]:
        rules = Rules({("to_client" if down else "to_upstream", n): each for down, n, each in effects})
        peers = Layered(rules, accepted, cutter)
        play(peers, script)
        peers.run(60.0)
        for at in (time for _, time in peers.released):
            assert at <= 60.0
        return [peers.client.seen, peers.server.seen, peers.client.ended, rules.noted, peers.troubles]

    assert seen(cut) == seen(cut_whole)


@given(
    raw=st.binary(max_size=60),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    begin=st.sampled_from((b"", b"\x01\x02ab", b"\x89\x00", b"\xc1\x05\xf2\x48\xcd\xc9\xc9")),
    accepted=st.sampled_from(ACCEPTED),
)
@settings(max_examples=60, deadline=None)
def test_any_bytes_pass(raw: bytes, sizes: list[int], begin: bytes, accepted: str | None) -> None:
    layer = Layered(accepted=accepted).layer
    given, got, rounds = begin + raw, b"", cycle(sizes)
    outputs = []
    while given:
        size = next(rounds)
        outputs += layer.from_upstream(Data(0.0, given[:size]))
        given = given[size:]
    outputs += layer.from_upstream(Eof(0.0))
    for output in outputs[:-1]:
        assert isinstance(output, ToClient)
        assert isinstance(output.event, Data)
        got += output.event.payload
    assert got == begin + raw
    assert outputs[-1] == ToClient(Eof(0.0))


FIRST = "the first message, with words that come again"


@given(script=scripts, accepted=st.sampled_from(ACCEPTED[1:]))
@example(
    script=[(True, TextMessage(FIRST)), (True, TextMessage("")), (True, TextMessage(""))],
    accepted=ACCEPTED[1],
)
@settings(max_examples=25, deadline=None)
def test_messages_after_a_dropped_one_mean_what_they_meant(script: Script, accepted: str) -> None:
    def seen(rules: Rules) -> tuple[list[object], list[object]]:
        peers = Layered(rules, accepted)
        play(peers, [(True, TextMessage(FIRST)), (False, TextMessage(FIRST)), *script])
        assert peers.troubles == []
        return peers.client.seen, peers.server.seen

    dropping = Rules({("to_client", 0): [DropMessage()], ("to_upstream", 0): [DropMessage()]})
    to_client, to_server = seen(Rules())
    assert (to_client[0], to_server[0]) == (FIRST, FIRST)
    assert seen(dropping) == (to_client[1:], to_server[1:])
    assert dropping.noted == [("dropped", 1.0), ("dropped", 1.0)]


@pytest.mark.parametrize("accepted", ACCEPTED)
def test_bytes_one_by_one_pass_and_are_read_the_same(accepted: str | None) -> None:
    script: Script = [
        (True, TextMessage("one ", message_finished=False)),
        (True, Ping(b"beat")),
        (True, TextMessage("message", message_finished=True)),
        (False, BytesMessage(b"\x00" * 300)),
        (False, Pong(b"")),
        (True, TextMessage("one more message")),
    ]
    rules = Rules()
    peers = Layered(rules, accepted, cut_each)
    play(peers, script)
    assert peers.server.got == peers.sent["client"]
    assert peers.client.got == peers.sent["server"]
    assert rules.judged == [("to_upstream", "text"), ("to_client", "binary"), ("to_upstream", "text")]
    peers = Layered(Rules({("to_upstream", 0): [DropMessage()]}), accepted, cut_each)
    play(peers, script)
    assert peers.server.seen == [("ping", b"beat"), "one more message", ("close", 1000, "bye")]
