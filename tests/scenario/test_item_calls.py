"""Calls that are more than one request: event streams and MCP tools, as files write them."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from faultkit.base.errors import InputError
from faultkit.load.load import McpTarget, StreamUntil
from faultkit.load.slo import parse_slo
from faultkit.scenario.http_call import placeholders_in
from faultkit.scenario.item_report import reported_call
from faultkit.scenario.routes import FORWARD, Routes, routes_of, target_of, time_limit_s
from faultkit.scenario.scenario_keys import parse_scenario, scenario_schema
from faultkit.scenario.scenario_model import HttpCall, McpCall, Scenario
from faultkit.scenario.scenario_run import RunSettings, run_scenarios

SCHEMA = Draft202012Validator(scenario_schema())
LOAD = "context: {strategy: {mode: load, duration: 1s, rps: 5}"


def parsed(item: str) -> tuple[Scenario | None, list[str]]:
    document = {"title": "t", "items": [yaml.safe_load(item)]}
    problems: list[InputError] = []
    return parse_scenario(document, problems), [str(error) for error in problems]


def call_of(item: str) -> Any:
    scenario, problems = parsed(item)
    assert problems == []
    assert scenario is not None
    assert SCHEMA.is_valid({"title": "t", "items": [yaml.safe_load(item)]})
    return scenario.items[0].call


@pytest.mark.parametrize(
    ("more", "until"),
    [
        ("", StreamUntil()),
        (", until: {events: 5}", StreamUntil(events=5)),
        (", until: {time: 10s}", StreamUntil(time_s=10.0)),
        (', until: {data: "[DONE]", events: 9}', StreamUntil(events=9, data="[DONE]")),
        (", until: {time: 10s}, timeout: 11s", StreamUntil(time_s=10.0)),
    ],
)
def test_a_call_whose_answer_is_an_event_stream(more: str, until: StreamUntil) -> None:
    call = call_of(f'call: {{method: GET, url: "http://a/", stream: sse{more}}}')
    assert isinstance(call, HttpCall)
    assert call.stream == until
    assert target_of(call, Routes((), None), {}).stream == until


def test_a_stream_that_is_read_for_a_time_has_that_time_more_until_it_is_given_up() -> None:
    call = call_of('call: {method: GET, url: "http://a/", stream: sse, until: {time: 90s}}')
    assert time_limit_s(call) == 120.0
    assert time_limit_s(HttpCall("GET", "http://a/", timeout_s=2.0)) == 2.0


def test_a_call_of_a_tool_over_stdio() -> None:
    call = call_of(
        "call: {mcp: {command: [python, server.py], env: {A: b}, cwd: /srv}, tool: add, "
        "arguments: {a: 1, b: [x]}, timeout: 500, meta: {operation_id: sum}}"
    )
    assert call == McpCall(
        "add",
        '{"a": 1, "b": ["x"]}',
        "",
        (),
        ("python", "server.py"),
        (("A", "b"),),
        "/srv",
        "legacy",
        0.5,
        "sum",
    )
    target = target_of(call, Routes((), None), {})
    assert isinstance(target, McpTarget)
    assert (target.http, target.command, target.timeout_s) == (None, ("python", "server.py"), 0.5)


def test_a_call_of_a_tool_over_http_has_the_headers_and_segments_of_config() -> None:
    document = {
        "title": "t",
        "config": {"http": {"headers": {"X-A": "1"}, "paths": {"segments": {"id": "7"}}}},
        "items": [
            {
                "call": {
                    "mcp": {"url": "http://h:81/{id}/mcp", "era": "modern"},
                    "tool": "add",
                    "headers": {"X-B": "2"},
                }
            }
        ],
    }
    problems: list[InputError] = []
    scenario = parse_scenario(document, problems)
    assert scenario is not None, problems
    call = scenario.items[0].call
    assert isinstance(call, McpCall)
    assert (call.url, call.headers) == ("http://h:81/7/mcp", (("X-A", "1"), ("X-B", "2")))
    assert (call.era, call.arguments) == ("modern", "{}")
    assert SCHEMA.is_valid(document)


def test_a_command_may_be_one_text() -> None:
    call = call_of("call: {mcp: {command: fault mock --tools-from 'a b.yml'}, tool: add}")
    assert call.command == ("fault", "mock", "--tools-from", "a b.yml")


HTTP = 'method: GET, url: "http://a/"'
LLM = "method: POST, url: 'http://a/v1/chat/completions', body: {messages: []}, llm: true"
MCP = "mcp: {command: x}, tool: add"
COMMAND = "a program with its arguments, as a list of texts or as one text"


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("call: {}", "call.method: expected an HTTP method such as GET, got nothing"),
        (f"call: {{{HTTP}, stream: wss}}", 'call.stream: expected one of sse, got "wss"'),
        (
            f"call: {{{HTTP}, until: {{events: 1}}}}",
            "call.until: expected it beside stream: sse only, got it without",
        ),
        (
            f"call: {{{HTTP}, stream: sse, until: {{}}}}",
            "call.until: expected events, time or data, got none of them",
        ),
        (
            f"call: {{{HTTP}, stream: sse, until: {{events: 0}}}}",
            "call.until.events: expected a whole number from 1 to 1000000000, got 0",
        ),
        (
            f"call: {{{HTTP}, stream: sse, until: {{time: 2s}}, timeout: 2s}}",
            "call.timeout: expected more than 2 s, the time of until, got 2 s",
        ),
        (f"call: {{{HTTP}, tool: add}}", "call.tool: expected it beside mcp only, got it without"),
        (f"call: {{{HTTP}, {MCP}}}", "call.method: expected nothing beside mcp, got a value"),
        (f"call: {{{MCP}, stream: sse}}", "call.stream: expected nothing beside mcp, got a value"),
        ("call: {mcp: {command: x}}", "call.tool: expected the name of a tool, got nothing"),
        (
            'call: {mcp: {command: [x, "a\\0b"]}, tool: add}',
            'call.mcp.command: expected words without NUL, got "a\\u0000b"',
        ),
        (
            'call: {mcp: {command: x, cwd: "\\0"}, tool: add}',
            "call.mcp.cwd: expected a folder without NUL in its name, got ",
        ),
        ("call: {mcp: {}, tool: add}", "call.mcp: expected a command or a url, got neither"),
        (
            "call: {mcp: {command: x, url: 'http://a/'}, tool: add}",
            "call.mcp.url: expected only one of command, url, got command too",
        ),
        (
            "call: {mcp: {url: 'http://a/', cwd: /x}, tool: add}",
            "call.mcp.cwd: expected it beside a command only, got it beside a url",
        ),
        (
            "call: {mcp: {command: [x, 5]}, tool: add}",
            f"call.mcp.command: expected {COMMAND}, got a list",
        ),
        (
            "call: {mcp: {command: []}, tool: add}",
            f"call.mcp.command: expected {COMMAND}, got none",
        ),
        (
            "call: {mcp: {command: x, env: {A: 1}}, tool: add}",
            "call.mcp.env.A: expected a text in quotes, got 1",
        ),
        (
            "call: {mcp: {command: x, era: new}, tool: add}",
            'call.mcp.era: expected one of legacy, modern, got "new"',
        ),
        ("call: {mcp: {url: ftp://a/}, tool: add}", "call.mcp.url: expected an absolute URL such as"),
        (
            f"call: {{{MCP}, arguments: [1]}}",
            "call.arguments: expected a mapping of names to values, got a list",
        ),
        (
            f"call: {{{MCP}, arguments: {{a: 2001-01-01}}}}",
            "call.arguments: expected values that JSON has, got others (text needs quotes)",
        ),
        (
            f"call: {{{MCP}, headers: {{A: b}}}}",
            "call.headers: expected them beside a url only, got them beside a command",
        ),
        (
            f"call: {{{MCP}}}\nexpect: {{status: 200}}",
            "expect.status: expected nothing, since the call of a tool has no status, got 200",
        ),
        (
            f"call: {{{MCP}}}\ncontext: {{faults: [{{type: latency, mean: 5}}]}}",
            "context.faults: expected proxy.proxies or upstreams for the faults to act in, since no "
            "connection leads to a server over stdio, got none",
        ),
        (
            f"call: {{{MCP}}}\ncontext: {{strategy: {{mode: load, duration: 1s, rps: 1, clients: 501}}}}",
            "context.strategy.clients: expected at most 500, since each starts a server, got 501",
        ),
        (
            f"call: {{{HTTP}}}\n{LOAD}, slo: [{{type: gap, objective: 95, threshold: 5}}]}}",
            "context.slo[0].type: expected a call with stream: sse for an objective of gap, got another",
        ),
        (
            f"call: {{{HTTP}}}\n{LOAD}, slo: [{{type: token_gap, objective: 95, threshold: 5}}]}}",
            "context.slo[0].type: expected a call with llm: true for an objective of token_gap, got another",
        ),
        (
            f"call: {{{HTTP}, llm: true}}\n{LOAD}}}",
            "call.llm: expected a request to a model: a path such as /v1/chat/completions",
        ),
        (
            f"call: {{{LLM}, stream: sse}}\n{LOAD}}}",
            "call.llm: expected no stream beside it: the answer is read as the model's",
        ),
        (
            f"call: {{{LLM}}}\n{LOAD}, slo: [{{type: tokens_per_second, objective: 95, threshold: fast}}]}}",
            'context.slo[0].threshold: expected a number of tokens per second above 0, got "fast"',
        ),
        (
            f"call: {{{HTTP}}}\n{LOAD}, slo: [{{type: tool_error, objective: 95, threshold: 5}}]}}",
            "context.slo[0].type: expected a call of an MCP tool for an objective of tool_error, got another",
        ),
        (
            f"call: {{{HTTP}, stream: sse}}\ncontext: {{slo: [{{type: gap, objective: 95, threshold: 5}}]}}",
            "context.slo[0].type: expected a strategy of mode load for an objective of gap, got another",
        ),
        (
            f"call: {{{HTTP}, stream: sse}}\n{LOAD}, slo: [{{objective: 9, type: early_end, "
            "threshold: 500}]}",
            "context.slo[0].threshold: expected a percentage above 0 and at most 100, got 500",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place(item: str, expected: str) -> None:
    scenario, problems = parsed(item)
    assert scenario is None
    assert problems[0].startswith(f"items[0].{expected}")


def test_a_flag_for_streams_is_refused_for_other_calls() -> None:
    scenario, _ = parsed(f"call: {{{HTTP}}}\n{LOAD}}}")
    assert scenario is not None
    settings = RunSettings(slos=(parse_slo("gap:95:1s"),))
    with pytest.raises(InputError, match=r"--slo: expected a call with stream: sse .* \(t: items\[0\]\)"):
        run_scenarios([scenario], settings)


def test_faults_act_on_tools_over_http_as_on_any_call() -> None:
    scenario, _ = parsed("call: {mcp: {url: 'http://h:81/mcp'}, tool: add}")
    assert scenario is not None
    routes = routes_of(scenario.items[0])
    assert routes.through == FORWARD
    assert [str(each) for each in routes.proxies[0].broken.upstreams] == ["h:81"]  # type: ignore[union-attr]


def test_a_server_over_stdio_has_a_proxy_only_for_its_own_dependencies() -> None:
    scenario, _ = parsed(f"call: {{{MCP}}}")
    assert scenario is not None
    assert routes_of(scenario.items[0]) == Routes((), None)
    scenario, problems = parsed(
        f"call: {{{MCP}}}\ncontext: {{upstreams: [db], faults: [{{type: latency, mean: 5}}]}}"
    )
    assert scenario is not None, problems
    routes = routes_of(scenario.items[0])
    assert (len(routes.proxies), routes.proxies[0].listen.port) == (1, 3180)


def test_reports_show_the_tool_and_no_secrets() -> None:
    call = call_of(
        "call: {mcp: {command: [run, --token=sk-abcdefghijklmnopqrstuvwxyz12]}, tool: add, arguments: {a: 1}}"
    )
    shown = reported_call(call)
    assert shown.method == "tools/call add"
    assert re.fullmatch(r"stdio: run '?--token=(?!sk-abc).*", shown.url)
    assert shown.has_body
    assert call.shown == f"{shown.method} {shown.url}"


def test_placeholders_in_the_call_of_a_tool_are_found() -> None:
    call = call_of("call: {mcp: {command: [x, REPLACE_ME_A]}, tool: add, arguments: {a: REPLACE_ME_B}}")
    assert placeholders_in(call) == ("REPLACE_ME_B", "REPLACE_ME_A")
