"""What the WebSocket faults decide, and which settings they take."""

import pytest

from faultkit.base.errors import InputError
from faultkit.base.rng import Rng
from faultkit.faults import NETWORK_FAULTS
from faultkit.faults.websocket.ws_close import WsClose
from faultkit.faults.websocket.ws_corrupt import WsCorrupt, changed_content
from faultkit.faults.websocket.ws_delay import WsDelay
from faultkit.faults.websocket.ws_drop import WsDrop
from faultkit.faults.websocket.ws_duplicate import WsDuplicate
from faultkit.faults.websocket.ws_ping_silence import WsPingSilence
from faultkit.faults.websocket_fault import (
    ChangeMessage,
    CloseConnection,
    DelayMessage,
    DropMessage,
    RepeatMessage,
    WebSocketFault,
)
from faultkit.plan import Match, Rule, parse_rule


def test_each_fault_has_its_effect() -> None:
    rng = Rng("test")
    assert WsDelay(delay_ms=250).effect(rng) == DelayMessage(0.25)
    assert WsDrop().effect(rng) == DropMessage()
    assert WsDuplicate(copies=3).effect(rng) == RepeatMessage(3)
    assert WsClose(code=4000, reason="no", to="client").effect(rng) == CloseConnection(4000, "no", "client")
    assert WsClose(after_messages=2).spared_messages == 2
    assert isinstance(WsCorrupt().effect(rng), ChangeMessage)


def test_delays_are_drawn_by_the_given_numbers() -> None:
    fault = WsDelay(distribution="uniform", min_ms=10, max_ms=20)
    drawn = [fault.draw_s(Rng(str(n))) for n in range(50)]
    assert len(set(drawn)) == 50
    assert all(0.01 <= each <= 0.02 for each in drawn)
    assert drawn == [fault.draw_s(Rng(str(n))) for n in range(50)]


@pytest.mark.parametrize(
    ("drops", "swallowed"), [("pongs", ["pong"]), ("pings", ["ping"]), ("both", ["ping", "pong"])]
)
def test_ping_silence_swallows_what_it_is_asked_to(drops: str, swallowed: list[str]) -> None:
    fault = WsPingSilence(drops=drops)  # type: ignore[arg-type]
    assert [kind for kind in ("ping", "pong") if fault.swallows(kind)] == swallowed
    assert not any(WsDrop().swallows(kind) for kind in ("ping", "pong"))


@pytest.mark.parametrize("text", ['{"paid": 120, "to": "Ada"}', "größer 😀", "x", "😀?!"])
def test_corrupted_text_is_other_text_of_the_same_length(text: str) -> None:
    for seed in range(30):
        content, places = changed_content(1, Rng(str(seed)), text.encode(), True)
        changed = content.decode()
        assert places == 1
        assert len(changed) == len(text)
        assert sum(a != b for a, b in zip(changed, text, strict=True)) == 1


def test_letters_and_digits_are_replaced_by_others_of_their_kind() -> None:
    for seed in range(30):
        content, _ = changed_content(99, Rng(str(seed)), b'{"a1": "Z"}', True)
        lower, digit, upper = content[2:3], content[3:4], content[8:9]
        assert lower.islower()
        assert digit.isdigit()
        assert upper.isupper()
        assert not {lower, digit, upper} & {b"a", b"1", b"Z"}
        assert content.replace(lower + digit, b"a1").replace(upper, b"Z") == b'{"a1": "Z"}'


def test_of_binary_messages_one_bit_of_each_hit_byte_is_flipped() -> None:
    content, places = changed_content(3, Rng("x"), bytes(16), False)
    assert (places, [bin(byte).count("1") for byte in content if byte]) == (3, [1, 1, 1])
    assert changed_content(3, Rng("x"), bytes(16), False) == (content, 3)
    assert changed_content(5, Rng("x"), b"", False) == (b"", 0)
    assert changed_content(5, Rng("x"), b"", True) == (b"", 0)
    assert changed_content(5, Rng("x"), b"\xff", True) == (b"\xff", 0)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"code": 999}, "code: expected a whole number from 1000 to 4999, got 999"),
        ({"code": 1015}, "code: expected a code that can be sent, got 1015, which is reserved"),
        ({"code": "1000"}, "code: expected a whole number from 1000 to 4999, got '1000'"),
        ({"reason": "ä" * 62}, "reason: expected at most 123 bytes, got 124 of them"),
        ({"code": 1006, "reason": "x"}, "reason: expected none with code 1006, which sends no code, got one"),
        ({"to": "server"}, "to: expected one of client, upstream, both, got 'server'"),
    ],
)
def test_codes_and_reasons_that_cannot_be_sent_are_refused(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(ValueError) as error:
        WsClose(**settings)  # type: ignore[arg-type]
    assert str(error.value) == problem


def test_rules_match_messages_by_way_and_kind() -> None:
    rule = parse_rule(
        {"fault": "ws_drop", "match": {"path": "/chat", "flow": "to_client", "message": "text"}}
    )
    assert rule.match == Match(path="/chat", flow="to_client", message="text")
    assert rule.match.covers_message("to_client", "text")
    assert not rule.match.covers_message("to_upstream", "text")
    assert not rule.match.covers_message("to_client", "binary")
    assert Match().covers_message("to_upstream", None)


@pytest.mark.parametrize(
    ("fault", "match", "problem"),
    [
        ("http_error", {"flow": "to_client"}, "match.flow: expected only with faults of WebSocket messages"),
        ("latency", {"message": "text"}, "match.message: expected only with faults of level http"),
        (
            "ws_ping_silence",
            {"message": "text"},
            "match.message: expected only with faults of WebSocket messag",
        ),
        ("ws_drop", {"flow": "ingress"}, 'match.flow: expected one of to_upstream, to_client, got "ingress"'),
        ("ws_drop", {"message": "json"}, 'match.message: expected one of text, binary, got "json"'),
        ("ws_drop", {"status": 200}, "match.status: expected only with faults of answers"),
    ],
)
def test_conditions_that_do_not_fit_are_refused(fault: str, match: dict[str, object], problem: str) -> None:
    with pytest.raises(InputError) as error:
        parse_rule({"fault": fault, "match": match})
    assert str(error.value).startswith(problem)


def test_the_request_that_opens_a_connection_passes() -> None:
    faults = [fault() for fault in NETWORK_FAULTS.values() if issubclass(fault, WebSocketFault)]
    assert len(faults) == 6
    assert all(fault.judge(None).status is None for fault in faults)
    assert Rule("x", WsPingSilence(), Match(flow="to_client")).match.flow == "to_client"
