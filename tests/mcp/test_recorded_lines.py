"""The lines of a recording: what is written can be read again, and earlier recordings can be read, too."""

from __future__ import annotations

import json

import pytest

from faultkit.base.errors import InputError
from faultkit.faults.call_fault import (
    Call,
    Cut,
    Disconnect,
    Drip,
    EndStream,
    Frame,
    KeepAlive,
    Send,
    Status,
    Verdict,
)
from faultkit.mcp.fault_specs import parse_spec
from faultkit.mcp.recorded_lines import (
    frame_line,
    frame_of,
    injection_line,
    read_lines,
    rules_line,
    verdict_of,
)
from faultkit.plan import Plan

REPLY = {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize(
    "frame",
    [
        Send(REPLY),
        Send(REPLY, after_s=1.5),
        Send(b"no json"),
        Cut(REPLY),
        Drip(REPLY, 5, 0.5),
        KeepAlive(0.0, 3.0),
        EndStream(),
        Disconnect(),
        Disconnect(reset=True),
        Status(429, (("Retry-After", "3"),)),
    ],
)
def test_a_frame_is_read_as_it_was_written(frame: Frame) -> None:
    assert frame_of(json.loads(json.dumps(frame_line("s", 1, frame)))) == frame


def test_a_verdict_is_read_as_far_as_reports_need_it() -> None:
    rule = parse_spec("slow:500")
    assert rule is not None
    call = Call("tools/call", "search", {}, 1)
    delay = Verdict(delay_s=0.5, effect="delay_ms", amount=500)
    line = json.loads(json.dumps(injection_line("s", rule, call, delay)))
    assert verdict_of(line) == Verdict(delay_s=0.5, effect="delay_ms")
    refusal = Verdict(ask=False, frames=lambda reply: (), effect="x", marker="canary")
    read = verdict_of(json.loads(json.dumps(injection_line("s", rule, call, refusal))))
    assert (read.ask, read.frames is None, read.effect, read.marker) == (False, False, "x", "canary")


def test_an_injection_of_an_earlier_recording_replaces_the_reply_unless_it_delays() -> None:
    assert verdict_of({"inject": "slow", "effect": "delay_ms"}).frames is None
    assert verdict_of({"inject": "lost", "effect": "lost_reply"}).frames is not None


def test_the_rules_are_named_with_their_faults() -> None:
    rule = parse_spec("slow:500@search")
    assert rule is not None
    assert rules_line(Plan((rule,))) == {"from": "gateway", "rules": [{"name": "slow", "fault": "slow"}]}


@pytest.mark.parametrize("key", ["t", "delay_s", "every_s", "for_s"])
@pytest.mark.parametrize("value", ["1e999", "NaN", "-1", "true", '"soon"', "1" + "0" * 400])
def test_a_time_that_is_no_number_of_seconds_is_refused_with_its_line(key: str, value: str) -> None:
    text = f'{{"from": "client"}}\n{{"from": "client", "{key}": {value}}}\n'
    expected = f"^calls: line 2: expected {key}: 0 to 10,000,000,000 seconds, got "
    with pytest.raises(InputError, match=expected):
        read_lines(text, "calls")
