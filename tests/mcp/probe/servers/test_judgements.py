"""The judgements, and the responses that they are based on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.mcp.probe.servers import judgements
from faultkit.mcp.probe.servers.probe_report import to_junit
from faultkit.mcp.probe.servers.probe_results import (
    EdgeReport,
    Judgement,
    ProbeResponse,
    ProbeResult,
    shortened,
    unanswered,
)

SENT = b"{}"
WORDS = "ü 👩\u200d🚀 \\ \u2028"
RUST_WORDS = r'"ü 👩\u{200d}🚀 \\ \u{2028}"'


def reply(**members: Any) -> ProbeResponse:
    return ProbeResponse(SENT, ({"jsonrpc": "2.0", "id": 1, **members},))


def text_response(text: str, **more: Any) -> ProbeResponse:
    return reply(result={"content": [{"type": "text", "text": text}], **more})


def refused(code: int) -> ProbeResponse:
    return reply(error={"code": code, "message": "no"})


@pytest.mark.parametrize(
    ("seen", "kind"),
    [
        (text_response("x"), "result"),
        (text_response("x", isError=True), "isError"),
        (refused(-32602), "error -32602"),
        (ProbeResponse(SENT, trouble="no answer within 1 s"), "no answer within 1 s"),
        (ProbeResponse(SENT), "no reply came"),
        (ProbeResponse(SENT, ({"id": 1, "result": {}},)), 'the reply lacks "jsonrpc": "2.0"'),
        (reply(), "the reply has neither"),
        (reply(result={}, error={}), "the reply has both a result and an error"),
        (reply(result=None), "the result of the reply is not an object"),
        (reply(result=[]), "the result of the reply is not an object"),
        (
            reply(error={"code": "x"}),
            "the error of the reply lacks a whole number as code or a text as message",
        ),
        (ProbeResponse(SENT, text_response("x").replies * 2), "2 replies came for one request"),
    ],
)
def test_an_answer_is_of_a_kind(seen: ProbeResponse, kind: str) -> None:
    assert seen.kind == kind
    assert bool(seen.problem) == (kind not in ("result", "isError", "error -32602"))


@pytest.mark.parametrize(
    ("members", "status", "is_unanswered"),
    [
        ({"result": {}}, 200, False),
        ({"error": {"code": 1, "message": "no"}}, 200, False),
        ({"result": None}, 200, True),
        ({"result": {}, "error": {}}, None, True),
        ({"id": "1", "result": {}}, 200, True),
        # An HTTP error is an answer, whatever its body is.
        ({"id": "server-error", "error": {"code": 1, "message": "no"}}, 400, False),
    ],
)
def test_a_reply_that_is_malformed_or_has_another_id_is_none(
    members: dict[str, Any], status: int | None, is_unanswered: bool
) -> None:
    response = ProbeResponse(SENT, ({"jsonrpc": "2.0", "id": 1, **members},), status, id=1)
    assert response.is_unanswered == is_unanswered


def test_words_that_are_refused_where_plain_ones_are_taken_prove_nothing() -> None:
    finding = judgements.unicode_survives(text_response("p"), text_response("no", isError=True), "ü", "p")
    assert finding.verdict == "inconclusive"


def test_a_tool_that_does_not_echo_need_not_return_the_words() -> None:
    assert (
        judgements.unicode_survives(text_response("done"), text_response("done"), "ü", "p").verdict
        == "passed"
    )


def test_answers_of_one_shape_may_differ_in_what_they_say() -> None:
    assert judgements.same_each_time([text_response("12:01"), text_response("12:02")]).verdict == "passed"
    other = reply(result={"content": [{"type": "image", "data": ""}]})
    assert judgements.same_each_time([text_response("x"), other]).why == (
        "the answers to the same call differ in their shape"
    )


def test_a_tool_that_is_not_slow_enough_proves_nothing() -> None:
    assert judgements.fails_cleanly(text_response("done")).verdict == "inconclusive"
    assert judgements.fails_cleanly(refused(-32001)).verdict == "passed"


def test_an_id_is_its_own_only_if_it_is_of_the_same_type() -> None:
    assert judgements.ids_match([(1, text_response("x"))]).verdict == "passed"
    assert judgements.ids_match([("1", text_response("x"))]).why == "request '1' was answered with id 1"


def test_pages_without_an_end_have_failed() -> None:
    page = reply(result={"tools": [], "nextCursor": "on"})
    assert (
        judgements.no_repeats("tools/list", [page] * 3, "tools", 3).why == "tools/list: no end after 3 pages"
    )


def test_a_cursor_may_be_new_each_time_if_it_leads_to_the_same_page() -> None:
    first = [reply(result={"tools": [{"name": "a"}], "nextCursor": cursor}) for cursor in "xy"]
    second = [reply(result={"tools": [{"name": "b"}]})] * 2
    assert judgements.pages_are_stable("tools/list", first, second, "tools").verdict == "passed"


@given(st.binary(max_size=3000))
def test_what_is_shown_is_one_short_line(raw: bytes) -> None:
    text = shortened(raw)
    assert len(text) <= 250
    assert len(text.splitlines()) <= 1


def _report(*results: tuple[str, str]) -> EdgeReport:
    made = [ProbeResult("EDGE-1", "x", level, Judgement(verdict, "")) for level, verdict in results]  # type: ignore[arg-type]
    return EdgeReport("t", "stdio", "legacy", "s", tuple(made))


def test_a_server_that_does_not_answer_decides_at_every_level() -> None:
    silent = ProbeResult("EDGE-1", "x", "SHOULD", unanswered("no answer"))
    assert not EdgeReport("t", "stdio", "legacy", "s", (silent,)).is_met(strict=False)
    known = EdgeReport("t", "stdio", "legacy", "s", (silent,), expected_failures=("EDGE-1",))
    assert known.is_met(strict=True)


@pytest.mark.parametrize(
    ("seen", "is_unanswered"),
    [
        (ProbeResponse(SENT, trouble="no answer within 1 s"), True),
        (ProbeResponse(SENT, status=500, trouble="HTTP 500"), False),
        (ProbeResponse(SENT, status=200, trouble="HTTP 200 with x"), True),
        (ProbeResponse(SENT, status=500, trouble="the connection was lost", is_lost=True), True),
        (refused(-32603), False),
    ],
)
def test_an_http_error_is_an_answer_and_silence_is_none(seen: ProbeResponse, is_unanswered: bool) -> None:
    assert seen.is_unanswered == is_unanswered
    assert judgements.refuses(seen).is_unanswered == is_unanswered


def test_a_reply_to_another_request_is_a_problem() -> None:
    reply = {"jsonrpc": "2.0", "id": "1", "result": {}}
    assert ProbeResponse(SENT, (reply,), id=1).problem == 'the reply has id "1", and the request has 1'
    assert ProbeResponse(SENT, ({**reply, "id": None},), id=1).problem == ""


@pytest.mark.parametrize(
    "quoted",
    [repr(WORDS), ascii(WORDS), json.dumps(WORDS), json.dumps(WORDS, ensure_ascii=False), RUST_WORDS],
)
def test_words_may_come_back_quoted(quoted: str) -> None:
    assert (
        judgements.unicode_survives(text_response("p"), text_response(quoted), WORDS, "p").verdict == "passed"
    )


def test_a_must_decides_and_a_should_only_if_one_is_strict() -> None:
    assert not _report(("MUST", "failed")).is_met(strict=False)
    assert _report(("SHOULD", "failed"), ("MUST", "inconclusive")).is_met(strict=False)
    assert not _report(("SHOULD", "failed")).is_met(strict=True)
    assert _report(("SHOULD", "inconclusive"), ("MUST", "not applicable")).is_met(strict=True)


def test_a_junit_report_has_the_times_of_the_run_and_of_each_probe() -> None:
    slow = ProbeResult("EDGE-1", "title", "MUST", Judgement("passed", "fine"), took_s=1.5)
    report = EdgeReport("t", "stdio", "legacy", "s", (slow,), started_at="2026-01-31T12:00:00.000000Z")
    text = to_junit(report, strict=False)
    assert 'time="1.500" timestamp="2026-01-31T12:00:00"' in text
