"""Calls traced from the reports of a gateway, without sockets and with a clock that the test sets."""

from __future__ import annotations

from typing import Any

import pytest

from faultkit.agents.execute.observed_outcome import outcome_of_reply
from faultkit.agents.execute.wire_observer import WireObserver
from faultkit.agents.recovery.trace import TracedCall
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
from faultkit.mcp.wire.message import encode, read


class Wire:
    """The messages between a client and a server, as a gateway reports them to its observer."""

    def __init__(self) -> None:
        self.now_ms = 0.0
        self.called = 0
        self.observer = WireObserver("shop", lambda: self.now_ms, self._count)

    def _count(self) -> None:
        self.called += 1

    def at(self, now_ms: float) -> Wire:
        self.now_ms = now_ms
        return self

    def call(self, id: int, tool: str = "order", **arguments: Any) -> Call:
        params = {"name": tool, "arguments": arguments}
        self.report("client", {"id": id, "method": "tools/call", "params": params})
        return Call("tools/call", tool, params, id, "shop")

    def answer(self, id: int, text: str = "done", *, is_error: bool = False) -> dict[str, Any]:
        content = [{"type": "text", "text": text}]
        reply = {"jsonrpc": "2.0", "id": id, "result": {"content": content, "isError": is_error}}
        self.report("server", reply)
        return reply

    def fail(self, id: int, code: int) -> None:
        self.report("server", {"id": id, "error": {"code": code, "message": "no"}})

    def list(self, id: int, *tools: dict[str, Any]) -> None:
        self.report("server", {"id": id, "result": {"tools": list(tools)}})

    def cancel(self, id: int) -> None:
        self.report("client", {"method": "notifications/cancelled", "params": {"requestId": id}})

    def inject(self, call: Call, spec: str, verdict: Verdict) -> None:
        rule = parse_spec(spec)
        assert rule is not None
        self.observer.injected("s", rule, call, verdict)

    def report(self, side: Any, message: dict[str, Any]) -> None:
        self.observer.message("s", side, read(encode({"jsonrpc": "2.0", **message})))


def brief(call: TracedCall) -> tuple[str, float, float | None, str, str]:
    return call.tool, call.start_ms, call.end_ms, call.outcome, call.fault


def frames(*frames: Frame) -> Verdict:
    return Verdict(ask=False, frames=lambda reply: frames, effect="x", marker="canary-1")


def test_a_call_ends_when_its_reply_passes() -> None:
    wire = Wire()
    wire.at(5).call(1, item="tea")
    wire.at(9).answer(1)
    (call,) = wire.observer.traced_calls(10)
    assert brief(call) == ("order", 5, 9, "ok", "")
    assert (call.arguments, call.server, wire.called) == ({"item": "tea"}, "shop", 1)
    assert call.effect


@pytest.mark.parametrize(("code", "invalid"), [(-32602, True), (-32000, False)])
def test_an_error_of_the_protocol_tells_whether_the_call_was_wrong(code: int, invalid: bool) -> None:
    wire = Wire()
    wire.call(1)
    wire.fail(1, code)
    (call,) = wire.observer.traced_calls(10)
    assert (call.outcome, call.invalid, call.effect) == ("protocol_error", invalid, "")


def test_a_tool_that_is_not_listed_is_an_invalid_call_and_one_that_only_reads_has_no_effect() -> None:
    wire = Wire()
    wire.list(1, {"name": "search", "annotations": {"readOnlyHint": True}})
    wire.call(2, "search")
    wire.answer(2)
    wire.call(3, "saerch")
    wire.answer(3, "unknown tool", is_error=True)
    known, unknown = wire.observer.traced_calls(10)
    assert (known.is_read, known.effect, known.invalid) == (True, "", False)
    assert (unknown.outcome, unknown.invalid) == ("tool_error", True)


@pytest.mark.parametrize(
    ("frame", "outcome", "end_ms"),
    [
        (Send({"jsonrpc": "2.0", "id": 1, "result": {"content": []}}), "ok", 100),
        (Send({"jsonrpc": "2.0", "id": 1, "result": {"isError": True}}), "tool_error", 100),
        (Drip({"jsonrpc": "2.0", "id": 1, "result": {}}, 10, 0.5), "ok", 1600),
        (Status(503, (("retry-after", "2"),)), "protocol_error", 100),
        (Disconnect(), "lost", 100),
        (EndStream(), "lost", 100),
        (Cut({"jsonrpc": "2.0", "id": 1, "result": {}}), "lost", 100),
        (KeepAlive(1, 5), "timeout", 9000),
        (Send({"jsonrpc": "2.0", "id": 2, "result": {}}), "timeout", 9000),
        (Send(b"no json"), "timeout", 9000),
    ],
)
def test_what_a_fault_sends_is_what_the_caller_gets_to_know(
    frame: Frame, outcome: str, end_ms: float
) -> None:
    wire = Wire()
    wire.inject(wire.call(1), "hang", frames(frame))
    wire.at(100).observer.sent("s", 1, frame)
    (call,) = wire.observer.traced_calls(9000)
    assert brief(call) == ("order", 0, end_ms, outcome, "hang")
    assert call.retry_after_ms == (2000 if isinstance(frame, Status) else None)
    assert call.canaries == ("canary-1",)


def test_a_reply_that_a_fault_keeps_is_in_the_ledger_all_the_same() -> None:
    wire = Wire()
    wire.inject(wire.call(1, item="tea"), "lost_reply", Verdict(frames=lambda reply: ()))
    wire.at(3).answer(1)
    wire.at(700).call(2, item="tea")
    wire.at(701).answer(2)
    lost, done = wire.observer.traced_calls(800)
    assert brief(lost) == ("order", 0, 700, "timeout", "lost_reply")
    assert brief(done) == ("order", 700, 701, "ok", "")
    assert lost.effect == done.effect != ""


def test_a_reply_that_is_only_late_ends_its_call() -> None:
    wire = Wire()
    wire.inject(wire.call(1), "slow:500", Verdict(delay_s=0.5, effect="delay_ms"))
    wire.at(501).answer(1)
    assert [brief(call) for call in wire.observer.traced_calls(800)] == [("order", 0, 501, "ok", "slow")]


def test_what_is_called_off_has_ended_then_and_a_late_reply_changes_nothing() -> None:
    wire = Wire()
    wire.call(1)
    wire.at(300).cancel(1)
    wire.at(400).answer(1)
    wire.at(500).cancel(7)
    assert [brief(call) for call in wire.observer.traced_calls(800)] == [("order", 0, 300, "cancelled", "")]


def test_calls_under_way_are_lost_with_their_server() -> None:
    wire = Wire()
    wire.call(1)
    wire.at(10).answer(1)
    wire.at(20).call(2)
    wire.at(50).observer.lost("another session")
    wire.at(60).observer.lost("s")
    ends = [brief(call)[1:4] for call in wire.observer.traced_calls(800)]
    assert ends == [(0, 10, "ok"), (20, 60, "lost")]


def test_a_drip_can_be_called_off_while_it_lasts() -> None:
    wire = Wire()
    drip = Drip({"jsonrpc": "2.0", "id": 1, "result": {}}, 1, 1.0)
    wire.inject(wire.call(1), "slow_drip", frames(drip))
    wire.observer.sent("s", 1, drip)
    wire.at(2000).cancel(1)
    assert [brief(call)[2:4] for call in wire.observer.traced_calls(9000)] == [(2000, "cancelled")]


def test_calls_in_one_go_do_not_show_that_the_first_was_given_up() -> None:
    wire = Wire()
    wire.call(1)
    wire.at(2).call(2)
    wire.at(5).answer(2)
    assert [brief(call)[1:4] for call in wire.observer.traced_calls(3000)] == [
        (0, 3000, "timeout"),
        (2, 5, "ok"),
    ]
    wire.at(1000).call(3)
    assert brief(wire.observer.traced_calls(3000)[0])[1:4] == (0, 1000, "timeout")


def test_what_nobody_lived_to_see_has_no_end() -> None:
    wire = Wire()
    wire.call(1)
    assert [brief(call) for call in wire.observer.traced_calls(None)] == [("order", 0, None, "timeout", "")]


def test_a_time_to_wait_that_no_float_can_hold_is_none() -> None:
    error = {"code": 1, "message": "wait", "data": {"retryAfter": 10**400}}
    assert outcome_of_reply({"jsonrpc": "2.0", "id": 1, "error": error}).retry_after_ms is None


CHANGES_REPLIES = Verdict(frames=lambda reply: () if reply is None else (Send(reply),), effect="x")


@pytest.mark.parametrize("is_error", [False, True])
def test_a_fault_that_leaves_the_reply_as_it_is_was_not_met_even_if_the_reply_is_an_error(
    is_error: bool,
) -> None:
    wire = Wire()
    wire.inject(wire.call(1), "corrupt_value", CHANGES_REPLIES)
    reply = wire.at(3).answer(1, is_error=is_error)
    wire.observer.sent("s", 1, Send(reply))
    outcome = "tool_error" if is_error else "ok"
    assert [brief(call) for call in wire.observer.traced_calls(10)] == [("order", 0, 3, outcome, "")]


def test_a_fault_that_changes_replies_is_not_met_by_a_call_without_a_reply() -> None:
    wire = Wire()
    wire.inject(wire.call(1), "corrupt_value", CHANGES_REPLIES)
    wire.at(500).cancel(1)
    wire.inject(wire.call(2), "slow:900", Verdict(delay_s=0.9, effect="delay_ms"))
    wire.at(700).cancel(2)
    assert [brief(call)[3:] for call in wire.observer.traced_calls(800)] == [
        ("cancelled", ""),
        ("cancelled", "slow"),
    ]


def test_a_reply_that_comes_after_its_call_was_cancelled_is_what_the_fault_is_for() -> None:
    wire = Wire()
    late = Verdict(frames=CHANGES_REPLIES.frames, ignores_cancel=True, effect="reply_after_cancel")
    wire.inject(wire.call(1), "reply_after_cancel", late)
    reply = wire.at(3).answer(1)
    wire.at(500).cancel(1)
    wire.at(900).observer.sent("s", 1, Send(reply))
    assert [brief(call)[3:] for call in wire.observer.traced_calls(950)] == [
        ("cancelled", "reply_after_cancel")
    ]


def test_a_reply_that_asks_for_input_has_no_effect_until_the_call_is_made_again_with_it() -> None:
    wire = Wire()
    wire.call(1, item="tea")
    wire.report("server", {"id": 1, "result": {"resultType": "input_required", "requestState": "1"}})
    wire.call(2, item="tea")
    wire.answer(2)
    assert [bool(call.effect) for call in wire.observer.traced_calls(10)] == [False, True]
