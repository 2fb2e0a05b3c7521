"""Call faults that break replies: bytes, ids, order, number."""

from __future__ import annotations

from dataclasses import replace

import pytest

from faultkit.faults.call.duplicate_reply import DuplicateReply
from faultkit.faults.call.malformed_json import MalformedJson
from faultkit.faults.call.mistyped_id import MistypedId
from faultkit.faults.call.notification_storm import NotificationStorm
from faultkit.faults.call.out_of_order import OutOfOrder
from faultkit.faults.call.progress_storm import ProgressStorm
from faultkit.faults.call.reply_after_cancel import ReplyAfterCancel
from faultkit.faults.call.truncated_reply import TruncatedReply
from faultkit.faults.call.wrong_id import WrongId
from faultkit.faults.call_fault import CallFault, Cut, Frame, Send, Verdict
from tests.faults.call.judged import CALL, REFUSED, REPLY, frames, judged


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (
            MalformedJson(),
            (Send(b'{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"two words"}]}'),),
        ),
        (MalformedJson(text="<html>é"), (Send("<html>é".encode()),)),
        (WrongId(), (Send({**REPLY, "id": 1_000_010}),)),
        (WrongId(id="other"), (Send({**REPLY, "id": "other"}),)),
        (MistypedId(), (Send({**REPLY, "id": "7"}),)),
        (DuplicateReply(), (Send(REPLY), Send(REPLY))),
        (DuplicateReply(copies=3, every_ms=10), (Send(REPLY), Send(REPLY, 0.01), Send(REPLY, 0.01))),
        (TruncatedReply(share=0.25), (Cut(REPLY, 0.25),)),
        (ReplyAfterCancel(delay_ms=300), (Send(REPLY, after_s=0.3),)),
    ],
)
def test_the_reply_comes_broken_after_the_server_has_worked(
    fault: CallFault, expected: tuple[Frame, ...]
) -> None:
    assert judged(fault).ask
    assert judged(fault).effect == fault.kind
    assert frames(fault) == expected


@pytest.mark.parametrize("fault", [WrongId(), MistypedId(), DuplicateReply(), TruncatedReply()])
def test_an_error_of_the_server_is_broken_like_any_reply(fault: CallFault) -> None:
    (first, *_) = frames(fault, REFUSED)
    assert isinstance(first, Send | Cut)
    assert isinstance(first.message, dict)
    assert first.message["error"] == REFUSED["error"]


@pytest.mark.parametrize(
    ("id", "wrong", "mistyped"),
    [(7, 1_000_010, "7"), ("7", "7-1000003", 7), ("abc", "abc-1000003", ["abc"]), ("²", "²-1000003", ["²"])],
)
def test_ids_of_both_types_go_wrong(id: str | int, wrong: str | int, mistyped: object) -> None:
    call, reply = replace(CALL, id=id), {**REPLY, "id": id}
    assert frames(WrongId(), reply, call) == (Send({**REPLY, "id": wrong}),)
    assert frames(MistypedId(), reply, call) == (Send({**REPLY, "id": mistyped}),)


def test_a_reply_that_is_cut_nowhere_is_no_fault() -> None:
    assert judged(TruncatedReply(share=1)).idle


def test_a_reply_that_is_overtaken_stays_as_it_is() -> None:
    assert judged(OutOfOrder(behind=2)) == Verdict(overtaken_by=2, effect="out_of_order", amount=2.0)


def test_only_the_late_reply_is_deaf_to_cancellation() -> None:
    assert judged(ReplyAfterCancel()).ignores_cancel
    assert not judged(DuplicateReply()).ignores_cancel


def test_a_client_of_the_modern_era_cancels_by_closing_the_stream_so_nothing_can_come_after() -> None:
    fault = ReplyAfterCancel()
    assert [
        (transport, era) for transport in fault.transports for era in fault.eras if fault.fits(transport, era)
    ] == [
        ("stdio", "legacy"),
        ("stdio", "modern"),
        ("http", "legacy"),
    ]


def test_a_storm_of_notifications_comes_before_the_reply() -> None:
    assert frames(NotificationStorm(count=2, every_ms=5)) == (
        Send(_log("storm 1 of 2"), after_s=0.005),
        Send(_log("storm 2 of 2"), after_s=0.005),
        Send(REPLY),
    )


def _log(text: str) -> dict[str, object]:
    params = {"level": "info", "logger": "faultkit", "data": text}
    return {"jsonrpc": "2.0", "method": "notifications/message", "params": params}


@pytest.mark.parametrize(
    ("params", "token"),
    [({"_meta": {"progressToken": "t"}}, "t"), ({"_meta": {"progressToken": 0}}, 0), ({}, "faultkit")],
)
def test_a_storm_of_progress_has_the_token_of_the_call(params: dict[str, object], token: object) -> None:
    found = frames(ProgressStorm(count=2), call=replace(CALL, params=params))
    assert found == (
        *(
            Send(
                {
                    "jsonrpc": "2.0",
                    "method": "notifications/progress",
                    "params": {"progressToken": token, "progress": number, "total": 2},
                }
            )
            for number in (1, 2)
        ),
        Send(REPLY),
    )
