"""Each probe passes on a server that keeps its rule, and fails on one that does not."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from faultkit.base.errors import InputError, TargetError
from faultkit.faults.call_fault import ERAS, Era
from faultkit.mcp.mcp_client import ServerAddress
from faultkit.mcp.mock.manifest import load_manifest
from faultkit.mcp.probe.clients.recording_mock import RecordingMock
from faultkit.mcp.probe.servers.edge_probes import PROBES
from faultkit.mcp.probe.servers.probe_results import EdgeReport, ProbeOptions, ProbeResult
from faultkit.mcp.probe.servers.probe_run import check_run, probe_server
from faultkit.mcp.probe.servers.probe_session import opening_s
from faultkit.mcp.wire.http_front import HttpFront
from faultkit.plan import Plan
from tests.mcp.probe.servers.odd_server import OddServer
from tests.mcp.probe.servers.odd_server_places import on_pipes, over_http
from tests.mcp.specs import parse_specs

PATIENT_S = 10.0
SHORT_S = 1.0
SLOW = ("sleep", None)
TOOLS = Path(__file__).parents[4] / "examples" / "tools.yml"


def probed_on_pipes(vice: str, id: str, wait_s: float = PATIENT_S) -> ProbeResult:
    report = asyncio.run(probe_server(on_pipes(vice), ProbeOptions((id,), slow=SLOW, wait_s=wait_s)))
    return report.results[0]


def probed_over_http(vice: str, options: ProbeOptions) -> tuple[EdgeReport, OddServer]:
    async def run() -> tuple[EdgeReport, OddServer]:
        async with over_http(vice) as (at, odd):
            return await probe_server(at, options), odd

    return asyncio.run(run())


@pytest.fixture(scope="module")
def good() -> EdgeReport:
    return asyncio.run(probe_server(on_pipes(), ProbeOptions(slow=SLOW)))


def test_a_server_that_keeps_every_rule_passes_every_probe_of_its_transport(good: EdgeReport) -> None:
    verdicts = {each.id: each.verdict for each in good.results}
    assert verdicts == {id: "not applicable" if id == "EDGE-007" else "passed" for id in PROBES}


def test_a_report_names_the_server_and_what_was_called(good: EdgeReport) -> None:
    assert (good.server, good.transport, good.era, good.restarts) == ("odd 1", "stdio", "legacy", 0)
    assert set(good.called) == {"say", "sum", "sleep"}
    assert good.is_met(strict=True)


def test_a_server_over_http_that_keeps_every_rule_passes_every_probe_of_its_transport() -> None:
    report, _ = probed_over_http("", ProbeOptions(slow=SLOW))
    verdicts = {each.id: each.verdict for each in report.results}
    assert verdicts == {
        id: "passed" if "http" in probe.transports else "not applicable" for id, probe in PROBES.items()
    }
    assert [id for id, verdict in verdicts.items() if verdict == "not applicable"] == ["EDGE-008", "EDGE-107"]


@pytest.mark.parametrize(
    ("vice", "id", "why"),
    [
        (
            "knows ASCII only",
            "EDGE-001",
            "the tool echoes its argument, and these words came back changed",
        ),
        ("is moody", "EDGE-003", "the same call is answered in different ways: isError, then result, "),
        ("answers twice", "EDGE-004", "8 replies came that no request was waiting for"),
        (
            "takes any envelope",
            "EDGE-009",
            'a message without "jsonrpc": expected error -32600, got a result',
        ),
        (
            "has one error for all",
            "EDGE-009",
            'a message without "jsonrpc": expected error -32600, got error -32603',
        ),
        ("forgets its pages", "EDGE-010", "tools/list: one cursor leads to different pages"),
        ("lists things twice", "EDGE-010", "tools/list: something is listed on more than one page"),
        (
            "takes any arguments",
            "EDGE-103",
            "the tool was run with arguments that its schema does not allow",
        ),
        ("takes any tool", "EDGE-104", "a tool that does not exist was answered with a result"),
        (
            "greets",
            "EDGE-107",
            r"1 line on stdout is not a message; the first: server is ready \x1b[2J",
        ),
    ],
)
def test_a_server_that_breaks_a_rule_fails_its_probe(vice: str, id: str, why: str) -> None:
    result = probed_on_pipes(vice, id)
    assert result.verdict == "failed"
    assert result.judgement.why.startswith(why)
    assert result.evidence


def test_lines_on_stdout_during_other_probes_count_and_fail_the_run() -> None:
    ids = ("EDGE-003", "EDGE-005", "EDGE-107")
    report = asyncio.run(probe_server(on_pipes("logs calls"), ProbeOptions(ids)))
    assert [each.verdict for each in report.results] == ["passed", "passed", "failed"]
    assert report.results[2].judgement.why == "3 lines on stdout are not messages; the first: call done"
    assert report.results[2].evidence[1].came == "call done"
    assert not report.is_met(strict=False)
    # Each connection counts, and EDGE-005 opens three more.
    report = asyncio.run(probe_server(on_pipes("greets"), ProbeOptions(ids)))
    assert report.results[2].judgement.why.startswith("4 lines on stdout are not messages; ")


@pytest.mark.parametrize(
    ("vice", "id", "why"),
    [
        ("forgets calls", "EDGE-004", "3 of 8 calls: no answer within 1 s"),
        (
            "answers with another id",
            "EDGE-004",
            'an ordinary call of say: no answer within 1 s, but a reply with id "not 4"',
        ),
        (
            "breaks its replies off",
            "EDGE-003",
            "no answer within 1 s, but a line that is not a JSON-RPC message",
        ),
        (
            "outlives its client",
            "EDGE-005",
            "round 1 of 3: it did not end within 1 s of the end of its stdin",
        ),
        ("hangs", "EDGE-006", "no clean error: no answer within 1 s"),
        (
            "ignores half lines",
            "EDGE-008",
            "half a message: expected error -32700, got: no answer within 1 s",
        ),
        (
            "sulks",
            "EDGE-105",
            "after a cancelled call: no answer within 1 s; afterwards: no answer within 1 s",
        ),
    ],
)
def test_a_server_that_says_nothing_fails_when_its_time_is_over(vice: str, id: str, why: str) -> None:
    result = probed_on_pipes(vice, id, SHORT_S)
    assert (result.verdict, result.judgement.why) == ("failed", why)


@pytest.mark.parametrize(
    ("vice", "id"),
    [
        ("falls over Unicode", "EDGE-001"),
        ("falls over large input", "EDGE-002"),
        ("falls over empty arrays", "EDGE-101"),
        ("falls over oversized messages", "EDGE-102"),
    ],
)
def test_a_server_that_a_probe_ends_has_failed_and_is_begun_anew(vice: str, id: str) -> None:
    report = asyncio.run(probe_server(on_pipes(vice), ProbeOptions((id, "EDGE-104"))))
    ended = "the process ended with exit code 3"
    assert [each.verdict for each in report.results] == ["failed", "passed"]
    assert report.results[0].judgement.why == f"{ended}; afterwards: {ended}"
    assert report.restarts == 1


@pytest.mark.parametrize(
    ("vice", "id", "why"),
    [
        ("mixes up ids", "EDGE-007", "request 'b' was answered with id 'another'"),
        ("keeps sessions", "EDGE-005", "round 1 of 3: DELETE of the session was answered with 500"),
        (
            "answers in prose",
            "EDGE-009",
            'a message without "jsonrpc": expected error -32600, got: HTTP 400 with bad request',
        ),
        ("falls over large input", "EDGE-002", "the connection was lost: the connection was closed"),
        ("answers twice", "EDGE-004", "8 replies came that no request was waiting for"),
    ],
)
def test_a_server_over_http_that_breaks_a_rule_fails_its_probe(vice: str, id: str, why: str) -> None:
    report, _ = probed_over_http(vice, ProbeOptions((id,)))
    assert report.results[0].verdict == "failed"
    assert report.results[0].judgement.why == why
    assert not report.is_met(strict=True)
    is_silent = vice == "falls over large input"
    assert report.results[0].judgement.is_unanswered == is_silent
    assert report.is_met(strict=False) == (report.results[0].level == "SHOULD" and not is_silent)


@pytest.mark.parametrize("id", ["EDGE-001", "EDGE-002", "EDGE-004", "EDGE-103", "EDGE-105"])
def test_a_tool_that_refuses_an_ordinary_call_shows_nothing(id: str) -> None:
    options = ProbeOptions((id,), tools=("say",))
    report, odd = probed_over_http("knows no words", options)
    assert report.results[0].verdict == "inconclusive"
    assert report.results[0].judgement.why == (
        "an ordinary call of say is answered with isError, so the probe would show nothing: "
        "give it arguments with --args 'say={…}'"
    )
    assert "no such word" in report.results[0].evidence[0].came
    assert odd.calls == ["say"]


@pytest.mark.parametrize("id", ["EDGE-003", "EDGE-104"])
def test_a_server_that_refuses_every_call_shows_nothing_of_those_that_it_must_refuse(id: str) -> None:
    report, _ = probed_over_http("refuses every call", ProbeOptions((id,)))
    assert report.results[0].verdict == "inconclusive"
    assert report.results[0].judgement.why.startswith("an ordinary call of say is answered with isError")


def test_empty_input_is_given_to_a_tool_that_accepts_calls() -> None:
    report, odd = probed_over_http("knows no words", ProbeOptions(("EDGE-003",)))
    assert report.results[0].verdict == "passed"
    assert report.results[0].judgement.why == "answered with a result each time"
    assert odd.calls == [*["say"] * 4, *["sum"] * 4]


def test_an_http_error_in_place_of_the_reply_to_an_ordinary_call_fails_the_run() -> None:
    report, _ = probed_over_http("answers calls with 503", ProbeOptions(("EDGE-004",)))
    assert report.results[0].judgement.why == "an ordinary call of say: HTTP 503 with no upstream"
    assert not report.is_met(strict=False)


def test_evidence_shows_a_second_reply() -> None:
    report, _ = probed_over_http("answers twice", ProbeOptions(("EDGE-004",)))
    assert report.results[0].evidence[0].came.count('"content"') == 2


def test_a_tool_that_accepts_calls_is_looked_for() -> None:
    report, odd = probed_over_http("knows no words", ProbeOptions(("EDGE-004", "EDGE-105")))
    assert [each.verdict for each in report.results] == ["passed", "passed"]
    # The ordinary calls are made once for all probes.
    assert odd.calls == ["say", "sum", *["sum"] * 8, "sum"]


def test_arguments_of_the_user_are_used_in_place_of_those_made_up() -> None:
    options = ProbeOptions(("EDGE-004", "EDGE-103"), tools=("say",))
    report, _ = probed_over_http("knows no made-up words", options)
    assert {each.verdict for each in report.results} == {"inconclusive"}
    report, _ = probed_over_http(
        "knows no made-up words", replace(options, arguments={"say": {"text": "hello"}})
    )
    assert {each.verdict for each in report.results} == {"passed"}


def test_words_that_come_back_quoted_are_unchanged() -> None:
    report, _ = probed_over_http("quotes its argument", ProbeOptions(("EDGE-001",)))
    assert (report.results[0].verdict, report.results[0].judgement.why) == (
        "passed",
        "came back unchanged, with escape sequences",
    )


def test_evidence_shows_what_came_in_place_of_a_reply() -> None:
    evidence = probed_on_pipes("answers with another id", "EDGE-004", SHORT_S).evidence
    assert evidence[0].came == (
        'no answer within 1 s; came: {"jsonrpc": "2.0", "id": "not 4", '
        '"result": {"content": [{"type": "text", "text": "faultkit"}]}}'
    )


def test_a_body_that_is_refused_as_too_large_is_borne() -> None:
    report, _ = probed_over_http("refuses large bodies", ProbeOptions(("EDGE-102",)))
    assert (report.results[0].verdict, report.results[0].judgement.why) == ("passed", "refused with HTTP 413")


def test_tools_that_may_do_harm_are_not_called_unless_they_are_named() -> None:
    report, odd = probed_over_http("", ProbeOptions())
    assert set(odd.calls) == {"say", "sum", "faultkit-no-such-tool"}
    assert set(report.called) == {"say", "sum"}
    report, odd = probed_over_http("takes any tool", ProbeOptions(("EDGE-003",), tools=("wipe",)))
    assert odd.calls == ["wipe"] * 3
    assert report.called == {"wipe": 3}


def test_a_tool_that_the_server_has_not_is_wrong_input() -> None:
    with pytest.raises(InputError, match=r'--tool: expected a tool of the server, got "nope" \(tools: say, '):
        probed_over_http("", ProbeOptions(tools=("nope",)))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"nope": {}}, '--args: expected a tool of the server, got "nope"'),
        ({"say": {}}, "--args: expected arguments that its schema allows, got"),
        ({"wipe": {"text": "x"}}, "--args: wipe does not declare itself read-only: add --tool wipe"),
    ],
)
def test_arguments_that_cannot_be_used_are_wrong_input(
    arguments: dict[str, dict[str, object]], problem: str
) -> None:
    with pytest.raises(InputError) as raised:
        probed_over_http("", ProbeOptions(arguments=arguments))
    assert str(raised.value).startswith(problem)


def test_slow_arguments_that_the_schema_does_not_allow_are_wrong_input() -> None:
    with pytest.raises(InputError, match="--slow: expected arguments that its schema allows, got"):
        probed_over_http("", ProbeOptions(slow=("say", {"text": 7})))


@pytest.mark.parametrize(
    ("at", "options", "problem"),
    [
        (ServerAddress(), ProbeOptions(), "expected a command behind -- or --url URL, got neither"),
        (
            ServerAddress(("x",), "http://127.0.0.1:9/"),
            ProbeOptions(),
            "expected a command behind -- or --url URL, got both",
        ),
        (on_pipes(), ProbeOptions(("EDGE-01",)), '--only: unknown probe "EDGE-01"; did you mean EDGE-'),
    ],
)
def test_wrong_input_is_told_before_anything_is_started(
    at: ServerAddress, options: ProbeOptions, problem: str
) -> None:
    with pytest.raises(InputError) as raised:
        check_run(at, options)
    assert str(raised.value).startswith(problem)


def test_a_server_that_cannot_be_had_is_no_target() -> None:
    with pytest.raises(TargetError, match="does not initialize"):
        asyncio.run(probe_server(ServerAddress((sys.executable, "-I", "-c", "")), ProbeOptions()))
    with pytest.raises(TargetError, match="cannot reach"):
        asyncio.run(probe_server(ServerAddress(url="http://127.0.0.1:9/mcp"), ProbeOptions()))


@pytest.mark.parametrize("era", ERAS)
def test_a_server_of_either_era_can_be_probed(era: Era) -> None:
    async def run() -> EdgeReport:
        service = RecordingMock(load_manifest(TOOLS), Plan(), era, lambda entry: None)
        front = HttpFront(service)
        host, port = await front.start("127.0.0.1", 0)
        try:
            return await probe_server(ServerAddress(url=f"http://{host}:{port}/mcp"), ProbeOptions())
        finally:
            await front.stop()
            await service.stop()

    report = asyncio.run(run())
    assert report.era == era
    # The mock answers every request.
    assert [each.id for each in report.results if each.verdict == "failed"] == ["EDGE-103"]
    assert [each.id for each in report.results if each.verdict == "inconclusive"] == []


def probed_mock(spec: str, *ids: str) -> EdgeReport:
    """Probe a mock over HTTP in the modern era, with this fault."""

    async def run() -> EdgeReport:
        plan = Plan(rules=parse_specs([spec]))
        service = RecordingMock(load_manifest(TOOLS), plan, "modern", lambda entry: None)
        front = HttpFront(service)
        host, port = await front.start("127.0.0.1", 0)
        try:
            return await probe_server(
                ServerAddress(url=f"http://{host}:{port}/mcp"), ProbeOptions(ids, era="modern")
            )
        finally:
            await front.stop()
            await service.stop()

    return asyncio.run(run())


def test_a_request_for_input_is_no_result() -> None:
    report = probed_mock("input_required_loop", "EDGE-001", "EDGE-003", "EDGE-004", "EDGE-103", "EDGE-104")
    assert [each.verdict for each in report.results] == ["inconclusive"] * 5
    assert report.results[0].judgement.why.endswith(
        " is answered with a request for input, so the probe would show nothing"
    )
    assert report.results[4].judgement.why == (
        "the server asks for input before it says whether the tool exists"
    )


def test_a_result_of_an_unknown_type_is_no_valid_reply() -> None:
    report = probed_mock("unknown_result_type", "EDGE-004")
    assert report.results[0].judgement.why.endswith(
        'the result has the unknown resultType "faultkit/unknown"'
    )
    assert not report.is_met(strict=False)


@pytest.mark.parametrize("era", ERAS)
def test_the_era_can_be_chosen(era: Era) -> None:
    async def run() -> EdgeReport:
        service = RecordingMock(load_manifest(TOOLS), Plan(), None, lambda entry: None)
        front = HttpFront(service)
        host, port = await front.start("127.0.0.1", 0)
        try:
            at = ServerAddress(url=f"http://{host}:{port}/mcp")
            return await probe_server(at, ProbeOptions(("EDGE-104",), era=era))
        finally:
            await front.stop()
            await service.stop()

    report = asyncio.run(run())
    assert (report.era, report.results[0].verdict) == (era, "passed")


def test_a_server_that_does_not_speak_the_chosen_era_is_no_target() -> None:
    with pytest.raises(TargetError, match=r"does not initialize: .*no such method"):
        asyncio.run(probe_server(on_pipes(), ProbeOptions(era="modern")))


def test_the_docs_have_a_row_for_each_probe_with_its_level_and_rule() -> None:
    lines = (TOOLS.parents[1] / "docs" / "edge.md").read_text("utf-8").splitlines()
    rows = [line.strip("| ").split(" | ")[:3] for line in lines if line.startswith("| EDGE-")]
    assert [[id, level, rule.lower()] for id, level, rule in rows] == [
        [each.id, each.level, each.title.lower()] for each in PROBES.values()
    ]


def test_what_a_server_writes_to_stderr_cannot_control_the_terminal() -> None:
    shown: list[str] = []
    options = ProbeOptions(("EDGE-104",))
    asyncio.run(probe_server(on_pipes("writes to stderr"), options, show=shown.append))
    assert shown == [r"ready \x1b[31m \x9b2J", "last"]


def test_a_name_cannot_control_the_terminal() -> None:
    report, _ = probed_over_http("has a wild name", ProbeOptions(("EDGE-104",)))
    assert report.server == r"odd\x1b[2J\x9b31m 1"


def test_what_starts_has_longer_than_what_runs_and_no_longer_than_its_user_allows() -> None:
    assert [opening_s(wait_s) for wait_s in (0.1, 2.0, 10.0, 60.0)] == [5.0, 6.0, 30.0, 180.0]
