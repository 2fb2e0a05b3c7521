"""Every fault of calls keeps the laws, with any settings and any reply."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faultkit.base.rng import Rng
from faultkit.faults import CALL_FAULTS
from faultkit.faults.call_fault import (
    ERAS,
    TRANSPORTS,
    Call,
    CallFault,
    Circumstances,
    Cut,
    Drip,
    EndStream,
    Frame,
    KeepAlive,
    Message,
    Send,
    Status,
)
from faultkit.faults.fault import Fault
from faultkit.testing.strategies import faults

WITH_ANOTHER_ID = {"wrong_id", "mistyped_id"}
KINDS = pytest.mark.parametrize("kind", CALL_FAULTS)
FRAMES = get_args(Frame)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
blocks = st.lists(
    st.fixed_dictionaries({"type": st.just("text"), "text": st.text(max_size=20)}) | json_values, max_size=3
)
results = json_values | st.fixed_dictionaries(
    {},
    optional={
        "content": blocks | json_values,
        "contents": blocks,
        "structuredContent": json_values,
        "tools": st.lists(
            json_values | st.fixed_dictionaries({"name": st.text(), "inputSchema": json_values})
        ),
        "_meta": json_values,
        "resultType": st.text(),
    },
)
ids = st.integers(0, 2**31) | st.text(max_size=8)


@st.composite
def calls(draw: st.DrawFn, fault: CallFault) -> Call:
    places = [(transport, era) for transport in TRANSPORTS for era in ERAS if fault.fits(transport, era)]
    transport, era = draw(st.sampled_from(places))
    methods = fault.fitting_methods() or ("tools/call", "tools/list", "resources/read", "ping", "x/y")
    params = draw(
        st.dictionaries(st.sampled_from(["_meta", "arguments", "requestState", "notifications"]), json_values)
    )
    return Call(
        draw(st.sampled_from(methods)),
        draw(st.text(max_size=8)),
        params,
        draw(ids),
        transport=transport,
        era=era,
        ordinal=draw(st.integers(0, 3)),
        nth=draw(st.integers(0, 3)),
    )


def any_fault(data: st.DataObject, kind: str) -> CallFault:
    fault = data.draw(faults(CALL_FAULTS[kind]))
    assert isinstance(fault, CallFault)
    small = {"count": 20, "bytes": 100, "copies": 5}
    return replace(
        fault,
        **{name: min(getattr(fault, name), most) for name, most in small.items() if hasattr(fault, name)},
    )


def reply_of(data: st.DataObject, call: Call) -> Message:
    if data.draw(st.booleans()):
        return {"jsonrpc": "2.0", "id": call.id, "result": data.draw(results)}
    return {"jsonrpc": "2.0", "id": call.id, "error": {"code": -1, "message": "no"}}


@KINDS
@given(data=st.data())
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_fault_of_calls_keeps_the_laws(kind: str, data: st.DataObject) -> None:
    fault = any_fault(data, kind)
    call = data.draw(calls(fault))
    reply = reply_of(data, call)
    before, params = copy.deepcopy(reply), copy.deepcopy(call.params)
    first, second = (fault.judge(call, Circumstances(Rng.keyed(7), {})) for _ in range(2))
    assert replace(first, frames=None) == replace(second, frames=None), (
        "the same circumstances, the same verdict"
    )
    assert first.idle or first.effect or kind == "stale_value", "an injection has an effect"
    assert first.delay_s >= 0
    if first.frames is None:
        assert first.ask, "a call that is not passed to the server needs frames"
        return
    assert second.frames is not None
    given_reply = reply if first.ask else None
    frames = first.frames(given_reply)
    assert frames == second.frames(given_reply) == first.frames(given_reply), "the same frames, however often"
    assert (reply, call.params) == (before, params), "what is given is not altered"
    assert frames, "a client is told something, and be it late"
    for frame in frames:
        check_frame(kind, call, frame)


def check_frame(kind: str, call: Call, frame: Frame) -> None:
    assert isinstance(frame, FRAMES)
    assert frame.after_s >= 0
    if isinstance(frame, EndStream | KeepAlive | Status):
        assert call.transport == "http", "only HTTP has streams and statuses"
    for message in messages_of(frame):
        assert json.loads(json.dumps(message)) == message
        if "id" in message and kind not in WITH_ANOTHER_ID:
            assert message["id"] == call.id, "the id of the call is kept"
        if "id" in message and kind in WITH_ANOTHER_ID:
            assert json.dumps(message["id"]) != json.dumps(call.id), (
                "and it is another id where that is the fault"
            )


def messages_of(frame: Frame) -> list[dict[str, Any]]:
    given = (
        frame.message
        if isinstance(frame, Send | Cut | Drip)
        else frame.body
        if isinstance(frame, Status)
        else b""
    )
    return [given] if isinstance(given, dict) else []


@KINDS
def test_every_fault_of_calls_fits_somewhere_and_says_what_fits_elsewhere(kind: str) -> None:
    cls = CALL_FAULTS[kind]
    fault = cls()
    places = [(transport, era) for transport in TRANSPORTS for era in ERAS]
    fitting = [place for place in places if fault.fits(*place)]
    assert fitting
    if fitting != places or fault.fitting_methods():
        assert cls.instead
        assert not cls.instead.endswith(".")
    only = fault.fitting_methods()
    assert not only or set(cls.methods) & set(only)


@KINDS
def test_the_main_setting_is_one_of_its_settings(kind: str) -> None:
    cls = CALL_FAULTS[kind]
    assert cls.main in cls.settings() or (cls.main == "" and (not cls.settings() or kind == "stream_end"))


def test_no_setting_has_the_name_of_a_key_of_the_trigger() -> None:
    from faultkit.plan.plan_keys import TRIGGER

    names = {name for cls in CALL_FAULTS.values() for name in cls.settings()}
    assert names & set(TRIGGER.names) == set()


def test_every_kind_is_a_fault_with_the_file_of_its_name() -> None:
    for kind, cls in CALL_FAULTS.items():
        assert issubclass(cls, Fault)
        assert cls.__module__ == f"faultkit.faults.call.{kind}"
