"""Faults that exist in the modern era only."""

from __future__ import annotations

from dataclasses import replace

import pytest

from faultkit.faults.call.dead_subscription import DeadSubscription
from faultkit.faults.call.header_mismatch import HeaderMismatch
from faultkit.faults.call.input_required_loop import InputRequiredLoop
from faultkit.faults.call.stale_cache_hints import StaleCacheHints
from faultkit.faults.call.unknown_result_type import UnknownResultType
from faultkit.faults.call.unsupported_version import UnsupportedVersion
from faultkit.faults.call_fault import Send, Status
from tests.faults.call.judged import MODERN, error, frames, judged, result

JSON = (("Content-Type", "application/json"),)
STDIO = replace(MODERN, transport="stdio")
META = "io.modelcontextprotocol/"


def test_a_header_is_blamed() -> None:
    body = error(-32020, "Header mismatch: Mcp-Method does not match the body (fault injected)", "a")
    assert frames(HeaderMismatch(header="Mcp-Method"), call=MODERN) == (Status(400, JSON, body),)


def test_a_version_is_refused_over_each_transport() -> None:
    call = replace(MODERN, params={"_meta": {f"{META}protocolVersion": "2026-07-28"}})
    data = {"supported": ["v1", "v2"], "requested": "2026-07-28"}
    body = error(-32022, "Unsupported protocol version (fault injected)", "a", data=data)
    assert frames(UnsupportedVersion(supported="v1 v2"), call=call) == (Status(400, JSON, body),)
    stdio = replace(call, transport="stdio", params={})
    assert frames(UnsupportedVersion(supported="v1 v2"), call=stdio) == (Send(body),)


def test_a_result_is_of_an_unknown_type() -> None:
    reply = result({"resultType": "complete", "content": []}, "a")
    (frame,) = frames(UnknownResultType(), reply, MODERN)
    assert frame == Send(result({"resultType": "faultkit/unknown", "content": []}, "a"))


def test_more_input_is_required_in_every_round() -> None:
    call = MODERN
    for number in (1, 2, 3):
        (frame,) = frames(InputRequiredLoop(), call=call)
        state = f"faultkit-round-{number}"
        assert frame == Send(result({"resultType": "input_required", "requestState": state}, "a"))
        assert judged(InputRequiredLoop(), call).amount == number
        call = replace(call, params={"requestState": state})


def test_a_client_that_can_be_asked_is_asked() -> None:
    call = replace(MODERN, params={"_meta": {f"{META}clientCapabilities": {"elicitation": {}}}})
    (frame,) = frames(InputRequiredLoop(), call=call)
    assert isinstance(frame, Send)
    assert isinstance(frame.message, dict)
    question = frame.message["result"]["inputRequests"]["answer"]
    assert question["method"] == "elicitation/create"
    assert question["params"]["message"] == "One more answer is needed (fault injected, round 1)."


@pytest.mark.parametrize(
    "state", ["other", "faultkit-round-x", "faultkit-round-²", "faultkit-round-" + "9" * 99, 5]
)
def test_a_state_of_somebody_else_begins_the_rounds_anew(state: object) -> None:
    call = replace(MODERN, params={"requestState": state})
    assert judged(InputRequiredLoop(), call).amount == 1


def test_hints_say_that_a_list_holds_for_long() -> None:
    reply = result({"tools": [], "ttlMs": 0, "cacheScope": "private"}, "a")
    call = replace(MODERN, method="tools/list", name="")
    assert frames(StaleCacheHints(ttl_ms=5), reply, call) == (
        Send(result({"tools": [], "ttlMs": 5, "cacheScope": "public"}, "a")),
    )


def test_a_dead_subscription_is_acknowledged_and_silent_until_it_ends() -> None:
    wanted = {"toolsListChanged": True}
    call = replace(STDIO, method="subscriptions/listen", name="", params={"notifications": wanted})
    meta = {f"{META}subscriptionId": "a"}
    acknowledged = {
        "jsonrpc": "2.0",
        "method": "notifications/subscriptions/acknowledged",
        "params": {"_meta": meta, "notifications": wanted},
    }
    end = result({"resultType": "complete", "_meta": meta}, "a")
    assert frames(DeadSubscription(), call=call) == (Send(acknowledged), Send(end, after_s=600.0))
