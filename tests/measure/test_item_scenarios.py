"""Scenarios with MCP tools and event streams: faults act on them, and every report has their figures."""

from __future__ import annotations

import json
import re
import sys
import threading
from pathlib import Path

import pytest
import yaml

from faultkit.base.address import Endpoint
from faultkit.base.errors import InputError
from faultkit.demo.demo_server import DemoServer
from faultkit.llm.mock.mock_answers import MockAnswers, ScriptedTurn
from faultkit.load.slo import LLM_KINDS
from faultkit.scenario.report.report_model import ItemReport, Report
from faultkit.scenario.report.results_document import from_document, to_json
from faultkit.scenario.report.scenario_junit import render_junit
from faultkit.scenario.report.scenario_markdown import render_markdown
from faultkit.scenario.report.scenario_page import render_html
from faultkit.scenario.report.scenario_text import render_text
from faultkit.scenario.scenario_keys import parse_scenario
from faultkit.scenario.scenario_run import RunSettings, run_scenarios
from tests.llm.mock.served_mock import mock
from tests.load.mcp_http_server import McpServer
from tests.load.servers import serving, url_of
from tests.load.stream_servers import Sent, streaming

LLM_EXAMPLE = Path(__file__).parents[2] / "examples" / "llm-load.yaml"


def ran(text: str, **settings: object) -> Report:
    problems: list[InputError] = []
    scenario = parse_scenario(yaml.safe_load(text), problems)
    assert scenario is not None, problems
    outcome = run_scenarios([scenario], RunSettings(seed=3, **settings))  # type: ignore[arg-type]
    assert outcome.trouble is None, outcome.trouble
    return outcome.report


def rendered(report: Report) -> dict[str, str]:
    """Return the report in all formats; the results can be read back."""
    assert from_document(json.loads(to_json(report))) == report
    return {
        "text": render_text(report),
        "markdown": render_markdown(report),
        "page": render_html(report),
        "junit": render_junit(report),
        "json": to_json(report),
    }


MCP = """\
title: Tools behind a fault
items:
  - call: {mcp: {url: "URL"}, tool: add, arguments: {a: 1}, timeout: 20s}
    context:
      faults: [{type: httperror, status_code: 503, probability: 0.5}]
      strategy: {mode: load, duration: 0.5s, clients: 2, rps: 30}
      slo:
        - {type: tool_error, title: Tools work, objective: 90, threshold: 5}
        - {type: error, title: Calls succeed, objective: 99, threshold: 1}
    expect: {all_slo_are_valid: true}
"""


def test_faults_act_on_tools_over_http() -> None:
    server = McpServer()
    with serving(server.serve) as endpoint:
        report = ran(MCP.replace("URL", url_of(endpoint, "/mcp")))
    (item,) = report.items
    run, baseline = item.run, item.baseline
    assert run.mcp is not None
    assert baseline is not None
    assert baseline.mcp is not None
    assert (baseline.requests, baseline.errors, baseline.mcp.sessions) == (30, 0, 2)
    refused = run.failures["status_5xx"]
    assert 0 < refused < run.requests == 30
    assert run.mcp.levels == {"transport": refused, "protocol": 0, "tool": 0}
    # The fault answered what the server was never asked: the sessions are opened before it acts.
    assert server.counts["tools/call"] == 60 - refused
    assert server.counts["initialize"] == 4
    kept = {result.slo.title: result.passed for result in item.slos}
    assert kept == {"Tools work": True, "Calls succeed": False}
    shown = rendered(report)
    for each in shown.values():
        assert "tools/call add" in each
    assert "transport errors" in shown["text"]
    assert "Tool Calls" in shown["markdown"]
    assert "Transport errors" in shown["page"]
    assert f'name="1.transport_errors" value="{refused}"' in shown["junit"]
    assert json.loads(shown["json"])["scenarios"][0]["items"][0]["run"]["mcp"]["sessions"] == 2


def test_answers_of_a_model_have_their_figures_in_every_report() -> None:
    text = LLM_EXAMPLE.read_text("utf-8")
    text = text.replace("duration: 4s", "duration: 0.4s").replace("threshold: 1000", "threshold: 9000")
    text = text.replace("threshold: 200}", "threshold: 9000}").replace("threshold: 30}", "threshold: 0.1}")
    answers = MockAnswers("script", (ScriptedTurn("One two three."),))
    rule = {"fault": "llm_rate_limit", "trigger": {"first": 1}}
    with mock(answers, rule, tokens_per_s=100.0) as url:
        report = ran(text.replace("http://127.0.0.1:8770", url))
    (item,) = report.items
    assert item.run.llm is not None
    counts = (item.run.requests, item.run.llm.answers, item.run.llm.tokens, item.run.llm.refusals)
    assert counts == (10, 9, 36, 1)
    kept = {result.slo.kind: result.passed for result in item.slos}
    # The refused request has no first token.
    assert kept == {
        "time_to_first_token": False,
        "token_gap": True,
        "tokens_per_second": True,
        "early_end": True,
        "refusal": False,
    }
    shown = rendered(report)
    assert "36 tokens" in shown["text"]
    assert "Answers of the Model" in shown["markdown"]
    assert "Tokens/s of an answer" in shown["page"]
    assert 'name="1.refusals" value="1"' in shown["junit"]
    assert json.loads(shown["json"])["scenarios"][0]["items"][0]["run"]["llm"]["tokens"] == 36


STREAM = """\
title: A stream behind a fault
items:
  - call: {method: GET, url: "URL", stream: sse, until: {events: 4}, timeout: 20s}
    context:
      faults: [{type: latency, mean: 150, stddev: 0, side: server, direction: ingress}]
      strategy: {mode: load, duration: 0.5s, rps: 20}
      slo:
        - {type: first_event, title: Starts soon, objective: 90, threshold: 100}
        - {type: gap, title: Flows, objective: 90, threshold: 10s}
        - {type: early_end, title: Lasts, objective: 90, threshold: 5}
    expect: {all_slo_are_valid: true}
"""


def test_faults_act_on_event_streams() -> None:
    sent = Sent()
    with serving(streaming(sent, events=4, gap_s=0.01)) as endpoint:
        report = ran(STREAM.replace("URL", url_of(endpoint)))
    (item,) = report.items
    assert item.baseline is not None
    run, baseline = item.run.stream, item.baseline.stream
    assert run is not None
    assert baseline is not None
    assert run.streams + baseline.streams == len(sent.requests) == 20
    assert run.events + baseline.events == sent.events == 80
    assert (run.gaps.count, run.early_ends) == (30, 0)
    assert run.first_event.min_ms >= 150 > baseline.first_event.min_ms
    assert passed(item) == {"Starts soon": False, "Flows": True, "Lasts": True}
    shown = rendered(report)
    assert "with faults: 40 events" in shown["text"]
    assert "Event Streams" in shown["markdown"]
    assert "Event streams" in shown["page"]
    assert 'name="1.events" value="40"' in shown["junit"]


def passed(item: ItemReport) -> dict[str, bool | None]:
    return {result.slo.title: result.passed for result in item.slos}


def test_streams_that_a_fault_cuts_end_early() -> None:
    sent = Sent()
    text = STREAM.replace(
        "{type: latency, mean: 150, stddev: 0, side: server, direction: ingress}",
        "{type: limit_data, bytes: 200, side: server, direction: ingress}",
    )
    with serving(streaming(sent, events=400, gap_s=0.001)) as endpoint:
        report = ran(text.replace("URL", url_of(endpoint)).replace("events: 4", "events: 400"))
    (item,) = report.items
    assert item.run.stream is not None
    assert item.baseline is not None
    assert item.baseline.errors == 0
    assert item.run.stream.early_ends == item.run.errors == item.run.requests == 10
    assert passed(item)["Lasts"] is False


def test_a_tool_that_is_not_there_proves_nothing() -> None:
    server = McpServer(lambda number: "rpc_error")
    text = MCP.replace("      faults: [{type: httperror, status_code: 503, probability: 0.5}]\n", "")
    text = text.split("      slo:")[0]
    with serving(server.serve) as endpoint:
        (item,) = ran(text.replace("URL", url_of(endpoint, "/mcp"))).items
    assert item.verdict == "inconclusive"
    assert "none of the calls had a result (rpc_error: 30)" in item.reasons


@pytest.mark.parametrize("strategy", ["{mode: single}", "{mode: repeat, step: 0, count: 2}"])
def test_single_calls_of_a_tool(strategy: str, tmp_path: Path) -> None:
    server = McpServer(lambda number: "tool_error" if number == 2 else "json")
    text = f"""\
title: One call
items:
  - call: {{mcp: {{url: "URL"}}, tool: add}}
    context: {{strategy: {strategy}}}
    expect: {{response_time_under: 20s}}
"""
    with serving(server.serve) as endpoint:
        (item,) = ran(text.replace("URL", url_of(endpoint, "/mcp"))).items
    assert len(item.calls) == server.counts["tools/call"]
    assert server.counts["initialize"] == server.counts["delete"] == 1
    if len(item.calls) == 1:
        assert item.verdict == "passed"
    else:
        assert item.calls[1].why == "expected a result, got tool_error"
        assert item.verdict == "failed"


@pytest.mark.parametrize("strategy", ["{mode: single}", "{mode: repeat, step: 0, count: 2}"])
def test_the_session_of_single_calls_is_opened_without_the_faults(strategy: str) -> None:
    server = McpServer()
    text = f"""\
title: One call
items:
  - call: {{mcp: {{url: "URL"}}, tool: add}}
    context: {{strategy: {strategy}, faults: [{{type: httperror, status_code: 503}}]}}
    expect: {{response_time_under: 20s}}
"""
    with serving(server.serve) as endpoint:
        report = ran(text.replace("URL", url_of(endpoint, "/mcp")))
    (item,) = report.items
    assert report.partial is None
    assert (server.counts["initialize"], server.counts["tools/call"]) == (1, 0)
    assert [call.status for call in item.calls] == [503] * len(item.calls)


# --- the examples of docs/load.md ------------------------------------------------------------

PROJECT = Path(__file__).parents[2]
EXAMPLES = re.findall(r"```yaml\n(title: .*?)```", (PROJECT / "docs" / "load.md").read_text(), re.DOTALL)
OF_TOOLS, OF_STREAMS = (
    next(text for text in EXAMPLES if words in text) for words in ("tool: search", "stream: sse")
)


def held(item: ItemReport) -> bool:
    """Return whether no objective was missed, or only because this machine is busy."""
    return item.verdict in ("passed", "inconclusive") and False not in passed(item).values()


def test_the_example_with_a_tool_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    text = OF_TOOLS.replace("[fault,", f"[{sys.executable}, -m, faultkit,").replace("3s,", "1s,")
    (item,) = ran(text).items
    assert held(item), item.reasons
    assert (item.run.requests, item.run.errors) == (40, 0)
    assert item.run.mcp is not None
    assert item.run.mcp.sessions == 2


def test_the_example_with_a_stream_holds() -> None:
    server = DemoServer(Endpoint("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        text = OF_STREAMS.replace("127.0.0.1:7070", str(server.endpoint)).replace("5s, rps", "1s, rps")
        (item,) = ran(text).items
    finally:
        server.stop()
        thread.join()
        server.close()
    assert held(item), item.reasons
    assert item.run.stream is not None
    assert (item.run.stream.events, item.run.stream.gaps.count) == (40, 36)


def test_the_example_with_a_model_is_that_of_the_file_but_for_its_limits() -> None:
    problems: list[InputError] = []
    (text,) = [each for each in EXAMPLES if "llm: true" in each]
    on_page, in_file = (
        parse_scenario(yaml.safe_load(each), problems) for each in (text, LLM_EXAMPLE.read_text("utf-8"))
    )
    assert problems == []
    assert on_page is not None
    assert in_file is not None
    kinds = [[slo.kind for slo in each.items[0].slos] for each in (on_page, in_file)]
    assert kinds[0] == kinds[1] == [*LLM_KINDS[:3], "early_end", "refusal"]
