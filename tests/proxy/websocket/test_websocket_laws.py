"""Without a rule that acts, every byte passes; and messages that are compressed anew mean the same."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, Pong, TextMessage

from faultkit.faults.websocket_fault import DropMessage
from tests.proxy.websocket.peers import Layered, Rules, cut_each

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
    for by_client, event in [*script, (True, CloseConnection(1000, "bye"))]:
        if isinstance(event, TextMessage | BytesMessage):
            if within[by_client] not in (None, type(event)):
                continue
            within[by_client] = None if event.message_finished else type(event)
        if by_client:
            peers.client_sends(event)
        else:
            peers.server_sends(event)


@given(
    script=scripts,
    sizes=st.lists(st.integers(1, 30_000), min_size=1, max_size=4),
    accepted=st.sampled_from(ACCEPTED),
)
@settings(max_examples=40, deadline=None)
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


FIRST = "the first message, with words that come again"


@given(script=scripts, accepted=st.sampled_from(ACCEPTED[1:]))
@example(
    script=[(True, TextMessage(FIRST)), (True, TextMessage("")), (True, TextMessage(""))],
    accepted=ACCEPTED[1],
)
@settings(max_examples=40, deadline=None)
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
