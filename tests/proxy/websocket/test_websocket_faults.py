"""What rules do to messages, pings and connections: exact values, in virtual time."""

from __future__ import annotations

import pytest
from wsproto.events import BytesMessage, CloseConnection, Ping, Pong, TextMessage

from faultkit.base.rng import Rng
from faultkit.faults import websocket_fault as effects
from faultkit.faults.events import Close, Data, Eof, Event, Reset
from faultkit.faults.websocket.ws_corrupt import WsCorrupt
from faultkit.proxy.http import Output, ToClient, ToUpstream
from faultkit.proxy.websocket import compression, message_flow
from faultkit.proxy.websocket.compression import Deflate, Extensions, read_extensions
from faultkit.proxy.websocket.frame_scanner import MOST_FRAMES
from faultkit.proxy.websocket.message_flow import MOST_HELD_MESSAGE
from tests.proxy.websocket.peers import Layered, Rules, cut_each, cut_whole

DEFLATE = "permessage-deflate"
BOTH = (None, DEFLATE)
CLOSE_FRAME = b"\x88\x02\x03\xe8"


def delayed(*seconds: float) -> Rules:
    return Rules({("to_client", n): [effects.DelayMessage(s)] for n, s in enumerate(seconds) if s})


def closing(code: int = 1011, reason: str = "", to: str = "both", number: int = 0) -> Rules:
    effect = effects.CloseConnection(code, reason, to)  # type: ignore[arg-type]
    return Rules({("to_client", number): [effect]})


def upcase(content: bytes, is_text: bool) -> tuple[bytes, int]:
    return content.upper(), 3


# Delay


def test_a_delayed_message_holds_up_what_follows_it_one_way() -> None:
    peers = Layered(delayed(0.5))
    peers.server_sends(TextMessage("late"))
    peers.server_sends(Ping(b"behind"))
    peers.client_sends(TextMessage("at once"))
    assert (peers.client.seen, peers.server.seen) == ([], ["at once"])
    peers.run(0.4)
    peers.server_sends(TextMessage("too"))
    assert peers.layer.wake_at == 0.5
    peers.run(0.499)
    assert peers.client.seen == []
    peers.run(1.0)
    assert peers.client.seen == ["late", ("ping", b"behind"), "too"]
    assert peers.client.got == peers.sent["server"]
    assert [each for each in peers.released if each[0] == "client"] == [("client", 0.5)] * 3


def test_each_part_of_a_message_is_late_by_the_same_time() -> None:
    peers = Layered(delayed(0.5))
    peers.server_sends(TextMessage("a", message_finished=False))
    peers.run(0.3)
    peers.server_sends(TextMessage("b"))
    peers.run(2.0)
    assert peers.client.seen == ["ab"]
    assert peers.released == [("client", 0.5), ("client", 0.8)]


def test_a_rule_that_ends_lets_its_messages_go_in_order() -> None:
    peers = Layered(
        Rules(
            {
                ("to_client", 0): [effects.DelayMessage(5.0), effects.DelayMessage(0.2)],
                ("to_client", 1): [effects.DelayMessage(5.0)],
                ("to_client", 2): [effects.DelayMessage(5.0)],
            }
        )
    )
    for each in ("1", "2"):
        peers.server_sends(TextMessage(each))
    peers.server_sends(TextMessage("3 begins", message_finished=False))
    peers.run(0.1)
    peers.deliver(peers.layer.end_rules({"rule 1"}, 0.1))
    assert peers.client.seen == []  # The other rule still delays the first one, up to 0.2.
    peers.run(0.15)
    peers.server_sends(TextMessage(", and ends"))
    peers.run(0.2)
    assert peers.client.seen == ["1", "2", "3 begins, and ends"]
    assert peers.layer.wake_at == float("inf")


def test_what_rules_hold_back_is_limited() -> None:
    peers = Layered(delayed(60.0))
    assert peers.layer.wants_input("to_client")
    peers.server_sends(BytesMessage(bytes(1 << 20)))
    assert not peers.layer.wants_input("to_client")
    assert peers.layer.wants_input("to_upstream")
    peers.run(60.0)
    assert peers.layer.wants_input("to_client")


# Drop, duplicate, corrupt


@pytest.mark.parametrize("accepted", BOTH)
def test_a_dropped_message_is_gone_with_its_fragments_while_pings_pass(accepted: str | None) -> None:
    peers = Layered(Rules({("to_upstream", 1): [effects.DropMessage()]}), accepted)
    peers.client_sends(TextMessage("first"))
    peers.client_sends(TextMessage("lost, ", message_finished=False))
    peers.client_sends(Ping(b"alive"))
    peers.client_sends(TextMessage("too"))
    peers.client_sends(TextMessage("first, lost, too"))
    assert peers.server.seen == ["first", ("ping", b"alive"), "first, lost, too"]
    assert peers.rules.noted == [("dropped", 1.0)]


@pytest.mark.parametrize("accepted", BOTH)
@pytest.mark.parametrize("content", ["hello", b"hello", "", "ü" * 200])
def test_copies_come_right_behind_the_message(accepted: str | None, content: str | bytes) -> None:
    message = TextMessage(content) if isinstance(content, str) else BytesMessage(content)
    repeat = Rules(
        {("to_upstream", 0): [effects.RepeatMessage(2)], ("to_client", 0): [effects.RepeatMessage(1)]}
    )
    peers = Layered(repeat, accepted)
    for each in (message, TextMessage("hello again")):
        peers.client_sends(each)
        peers.server_sends(each)
    assert peers.server.seen == [content] * 3 + ["hello again"]
    assert peers.client.seen == [content] * 2 + ["hello again"]
    assert repeat.noted == [("copies", 2), ("copies", 1)]


def test_copies_to_the_upstream_are_masked_anew() -> None:
    peers = Layered(Rules({("to_upstream", 0): [effects.RepeatMessage(3)]}))
    peers.client_sends(BytesMessage(b"12345678"))
    frames = [peers.server.got[at : at + 14] for at in range(0, 56, 14)]
    assert frames[0] == peers.sent["client"]
    assert len({frame[2:6] for frame in frames}) == 4


@pytest.mark.parametrize("accepted", BOTH)
@pytest.mark.parametrize("cut", [cut_whole, cut_each])
def test_a_changed_message_has_other_content_in_sound_frames(accepted: str | None, cut: object) -> None:
    rules = Rules({("to_upstream", 0): [effects.ChangeMessage(upcase), effects.RepeatMessage(1)]})
    peers = Layered(rules, accepted, cut)  # type: ignore[arg-type]
    peers.client_sends(TextMessage("pay ", message_finished=False))
    peers.client_sends(Ping(b""))
    peers.client_sends(TextMessage("two"))
    peers.client_sends(TextMessage("pay two"))
    assert peers.server.seen == [("ping", b""), "PAY TWO", "PAY TWO", "pay two"]
    assert rules.noted == [("changed", 3), ("copies", 1)]


def test_text_that_is_no_utf_8_passes_as_it_is() -> None:
    rng = Rng("x")
    rules = Rules({("to_client", 0): [WsCorrupt().effect(rng), effects.RepeatMessage(1)]})
    peers = Layered(rules)
    peers.server_sends(b"\x81\x02\xff\xff")
    assert peers.client.got == b"\x81\x02\xff\xff"
    assert rules.noted == []


@pytest.mark.parametrize("accepted", [*BOTH, f"{DEFLATE}; server_no_context_takeover"])
def test_a_message_that_is_too_large_to_be_held_passes(accepted: str | None) -> None:
    rules = Rules({("to_client", n): [effects.ChangeMessage(upcase)] for n in (0, 1)})
    peers = Layered(rules, accepted)
    peers.server_sends(TextMessage("a" * MOST_HELD_MESSAGE + "b"))
    assert peers.client.got == peers.sent["server"]
    assert peers.troubles == ["WebSocket messages of more than 1 MiB are not changed or repeated: they pass"]
    assert rules.noted == []
    peers.server_sends(TextMessage("small"))
    peers.server_sends(TextMessage("b" * MOST_HELD_MESSAGE + "c"))
    assert peers.client.seen == ["a" * MOST_HELD_MESSAGE + "b", "SMALL", "b" * MOST_HELD_MESSAGE + "c"]


@pytest.mark.parametrize("first", [b"\x01\x00", b"\x41\x00"])
def test_empty_fragments_without_end_are_not_collected(first: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_flow, "MOST_HELD_MESSAGE", 1000)
    peers = Layered(Rules({("to_client", 0): [effects.ChangeMessage(upcase)]}), DEFLATE)
    peers.client.receive = lambda payload: b""  # type: ignore[method-assign] # It would give up.
    peers.server_sends(first + b"\x00\x00" * 500)
    assert peers.layer._down._message is not None
    assert peers.layer._down._message.raw == []
    assert len(peers.troubles) == 1


def test_a_rule_that_ends_spares_a_message_that_has_not_ended() -> None:
    for accepted in (*BOTH, f"{DEFLATE}; server_no_context_takeover"):
        rules = Rules({("to_client", n): [effects.ChangeMessage(upcase)] for n in (0, 1)})
        peers = Layered(rules, accepted)
        peers.server_sends(TextMessage("one"))
        peers.server_sends(TextMessage("two ", message_finished=False))
        peers.deliver(peers.layer.end_rules((), 0.0))
        peers.server_sends(TextMessage("three"))
        assert peers.client.seen == ["ONE", "two three"]


# Compression


def test_extensions_are_read() -> None:
    assert read_extensions(None) == read_extensions("") == Extensions()
    assert read_extensions(DEFLATE) == Extensions(Deflate(), Deflate())
    assert read_extensions(
        'permessage-deflate; server_no_context_takeover; client_max_window_bits="9"'
    ) == Extensions(Deflate(takeover=False), Deflate(window_bits=9))
    assert read_extensions("permessage-deflate; server_max_window_bits=16").unknown == DEFLATE
    assert read_extensions("permessage-deflate, x-other").unknown == "x-other"


def test_with_an_unknown_extension_messages_are_delayed_and_not_changed() -> None:
    each: list[effects.MessageEffect] = [effects.DropMessage(), effects.DelayMessage(1.0)]
    peers = Layered(Rules({("to_client", 0): each}))
    peers.layer = type(peers.layer)(peers.rules, Extensions(unknown="x-other"))
    peers.server_sends(b"\xb1\x01a")
    assert peers.client.got == b""
    peers.run(1.0)
    assert peers.client.got == b"\xb1\x01a"
    assert "extension that is not understood (x-other)" in peers.troubles[0]


@pytest.mark.parametrize("takeover", [True, False])
def test_after_a_message_that_cannot_be_read_others_are_changed_only_if_they_do_not_refer_to_it(
    takeover: bool,
) -> None:
    accepted = DEFLATE if takeover else f"{DEFLATE}; server_no_context_takeover"
    peers = Layered(Rules({("to_client", n): [effects.RepeatMessage(1)] for n in (0, 1)}), accepted)
    peers.client.receive = lambda payload: b""  # type: ignore[method-assign] # It would give up.
    peers.server_sends(b"\xc2\x03\xff\xff\xff")
    peers.server_sends(TextMessage("next"))
    assert len(peers.rules.noted) == (0 if takeover else 1)
    assert peers.troubles == (
        [
            "messages are not dropped, changed or repeated because of a compressed WebSocket message that "
            "could not be read"
        ]
        if takeover
        else []
    )


def bomb(size: int) -> bytes:
    """Return the frames of a compressed message of so many zeros."""
    peers = Layered(accepted=DEFLATE)
    return b"".join(
        bytes(peers.server.ws.send(BytesMessage(bytes(1 << 20), message_finished=last)))
        for last in (*(size >> 20) * [False], True)
    )


def test_a_compressed_message_of_great_length_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "MOST_INFLATED", 2 << 20)
    frames = bomb(2 << 20)
    peers = Layered(accepted=DEFLATE)
    peers.client.receive = lambda payload: b""  # type: ignore[method-assign] # It would read it all.
    peers.server_sends(frames)
    assert peers.layer._down._inflater is None
    assert peers.troubles == []
    dropping = Rules({("to_client", 0): [effects.DropMessage()]})
    peers = Layered(dropping, DEFLATE)
    peers.server_sends(frames)
    assert peers.client.seen == [("close", 1009, "")]
    assert "a compressed message of more than 2 MiB" in peers.troubles[0]


def test_damaged_compressed_messages_pass_unless_others_hang_on_them() -> None:
    damaged = b"\xc2\x03\xff\xff\xff"
    peers = Layered(Rules({("to_client", 0): [effects.ChangeMessage(upcase)]}), DEFLATE)
    peers.server_sends(damaged)
    assert peers.client.got == damaged
    peers = Layered(Rules({("to_client", 0): [effects.DropMessage()]}), DEFLATE)
    peers.server_sends(TextMessage("lost"))
    peers.server_sends(damaged)
    assert peers.client.seen == [("close", 1007, "")]


# Close


@pytest.mark.parametrize(
    ("to", "client", "upstream"),
    [
        ("both", (1013, "soon"), (1013, "soon")),
        ("client", (1013, "soon"), (1001, "")),
        ("upstream", (1001, ""), (1013, "soon")),
    ],
)
def test_both_sides_see_an_orderly_close(to: str, client: tuple[int, str], upstream: tuple[int, str]) -> None:
    peers = Layered(closing(1013, "soon", to, number=1))
    peers.server_sends(TextMessage("passes"))
    peers.server_sends(TextMessage("is lost"))
    assert peers.client.seen == ["passes", ("close", *client)]
    assert peers.server.seen == [("close", *upstream)]
    assert (peers.client.ended, peers.server.ended) == (Close, None)  # This ends both.
    assert peers.layer.closed
    assert peers.rules.noted == [("close_code", 1013)]


def test_a_client_that_does_not_answer_a_close_has_five_seconds() -> None:
    peers = Layered(closing())
    peers.client.answers = False
    peers.server_sends(TextMessage("x"))
    peers.client_sends(b"\x82\x81abcdx")
    assert peers.server.seen == [("close", 1011, "")]
    peers.run(4.9)
    assert peers.client.ended is None
    peers.run(5.0)
    assert peers.client.ended is Close
    assert peers.layer.wake_at == float("inf")


@pytest.mark.parametrize("end", [Eof, Reset])
def test_a_client_that_ends_instead_of_answering_a_close(end: type[Event]) -> None:
    peers = Layered(closing())
    peers.client.answers = False
    peers.server_sends(TextMessage("x"))
    peers.deliver(peers.layer.from_client(end(1.0)))  # type: ignore[call-arg]
    assert peers.layer.closed
    assert (peers.client.ended, peers.server.ended) == ((Close, None) if end is Eof else (None, Reset))


def test_1006_is_the_end_without_a_close_frame_and_1005_a_close_without_a_code() -> None:
    peers = Layered(closing(1006))
    peers.server_sends(TextMessage("x"))
    assert (peers.client.seen, peers.client.ended) == ([], Close)
    peers = Layered(closing(1005))
    peers.server_sends(TextMessage("x"))
    assert peers.client.got == b"\x88\x00"


def test_a_close_waits_for_delayed_messages_before_it_and_for_the_end_of_a_frame() -> None:
    rules = closing(number=1)
    rules.effects["to_client", 0] = [effects.DelayMessage(9.0)]
    peers = Layered(rules)
    whole = peers.client.ws.send(BytesMessage(b"12345678"))
    peers.client_sends(whole[:9])
    peers.server_sends(TextMessage("late"))
    peers.server_sends(TextMessage("x"))
    assert (peers.client.seen, peers.server.seen) == ([], [])
    peers.client_sends(whole[9:])
    assert peers.server.seen == [b"12345678", ("close", 1011, "")]
    peers.run(8.9)
    assert peers.client.seen == []
    peers.run(9.0)
    assert peers.client.seen == ["late", ("close", 1011, "")]
    assert peers.client.ended is Close


def test_a_connection_that_its_peers_close_is_not_closed_again() -> None:
    peers = Layered(closing())
    peers.client.answers = peers.server.answers = False
    peers.client_sends(CloseConnection(1000))
    peers.server_sends(b"\x81\x01x")
    assert peers.client.got == b"\x81\x01x"
    assert peers.rules.noted == []


# Pings, ends, broken frames


def test_pings_or_pongs_are_swallowed_each_way() -> None:
    peers = Layered(Rules(swallowed={("to_client", "pong"), ("to_upstream", "ping")}))
    for send in (peers.client_sends, peers.server_sends):
        send(Ping(b"1"))
        send(Pong(b"2"))
        send(TextMessage("message"))
    assert peers.client.seen == [("ping", b"1"), "message"]
    assert peers.server.seen == [("pong", b"2"), "message"]


def test_the_end_of_one_way_comes_behind_what_waits_and_leaves_the_other_open() -> None:
    peers = Layered(delayed(1.0))
    peers.server_sends(TextMessage("late"))
    peers.server_sends(b"\x81\x05cut")
    peers.deliver(peers.layer.from_upstream(Eof(0.0)))
    peers.client_sends(TextMessage("heard"))
    assert peers.server.seen == ["heard"]
    assert peers.client.got == b""
    peers.run(1.0)
    assert (peers.client.got, peers.client.ended) == (peers.sent["server"], Eof)


@pytest.mark.parametrize("effect", [effects.ChangeMessage(upcase), effects.DelayMessage(0.0)])
@pytest.mark.parametrize("rest", [b"\x89", b"\x01\x05ab", b"\x89\x04pi", b"\x01\x01a\x89\x02p"])
def test_what_has_come_in_part_goes_before_the_end(effect: effects.MessageEffect, rest: bytes) -> None:
    peers = Layered(Rules({("to_client", 0): [effect]}))
    peers.server_sends(rest)
    peers.deliver(peers.layer.from_upstream(Eof(0.0)))
    assert (peers.client.got, peers.client.ended) == (rest, Eof)


def test_broken_frames_pass_from_there_on_and_are_reported_once() -> None:
    rules = Rules({("to_upstream", 0): [effects.ChangeMessage(upcase)]})
    peers = Layered(rules)
    begin = peers.client.ws.send(TextMessage("kept", message_finished=False))
    peers.client_sends(begin + b"\x81\x02hi and more")
    peers.client_sends(b"and more")
    assert peers.server.got == begin + b"\x81\x02hi and moreand more"
    assert peers.troubles == [
        "the WebSocket of a client cannot be read: frames without a mask; it passes as bytes from there on"
    ]
    peers.server_sends(TextMessage("the other way is still read"))
    assert rules.judged == [("to_upstream", "text"), ("to_client", "text")]


def test_outputs_have_the_time_at_which_they_were_due() -> None:
    layer = Layered(delayed(0.25)).layer
    assert layer.from_upstream(Data(1.0, b"\x81\x01a")) == []
    assert layer.wake(3.0) == [ToClient(Data(1.25, b"\x81\x01a"))]
    assert layer.from_client(Data(4.0, CLOSE_FRAME)) == [ToUpstream(Data(4.0, CLOSE_FRAME))]


# Many frames at once


def joined(outputs: list[Output]) -> bytes:
    return b"".join(
        out.event.payload
        for out in outputs
        if isinstance(out, ToClient) and isinstance(out.event, Data) and out.event.at == 0.0
    )


@pytest.mark.parametrize("ends", [False, True])
def test_a_flood_of_frames_is_read_in_several_goes(ends: bool) -> None:
    peers = Layered(Rules())
    at_once = b"\x81\x00" * MOST_FRAMES
    assert joined(peers.layer.from_upstream(Data(0.0, at_once * 2 + b"\x81\x00"))) == at_once
    assert peers.layer.wake_at == 0.0
    assert not peers.layer.wants_input("to_client")
    if ends:
        rest = peers.layer.from_upstream(Eof(0.1))
        assert joined(rest) == at_once + b"\x81\x00"
        assert rest[-1] == ToClient(Eof(0.1))
    else:
        assert joined(peers.layer.wake(0.1)) == at_once
        assert joined(peers.layer.wake(0.2)) == b"\x81\x00"
    assert peers.layer.wants_input("to_client")
