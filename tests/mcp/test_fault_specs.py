"""Specs: faults of calls in one word of a command line."""

from __future__ import annotations

from typing import Any

import pytest

from faultkit.base.errors import InputError
from faultkit.faults import CALL_FAULTS
from faultkit.mcp.fault_specs import parse_spec, short_form
from faultkit.plan import Rule, dump_rule
from tests.mcp.specs import parse_specs


def dumped(text: str) -> dict[str, object]:
    rule = parse_spec(text)
    assert rule is not None
    return dump_rule(rule)


@pytest.mark.parametrize(
    ("text", "kind", "parts"),
    [
        ("hang", "hang", {}),
        ("wedged", "wedged", {}),
        ("slow:500", "slow", {"with": {"delay_ms": 500.0}}),
        ("recover-after:3", "recover_after", {"with": {"failures": 3}}),
        ("reply-after-cancel:50", "reply_after_cancel", {"with": {"delay_ms": 50.0}}),
        ("slow:500@search", "slow", {"with": {"delay_ms": 500.0}, "match": {"tool": "search"}}),
        ("hang@search*", "hang", {"match": {"tool": "search*"}}),
        ("hang@fs/read", "hang", {"match": {"tool": "fs/read"}}),
        ("hang@tools/list", "hang", {"match": {"method": "tools/list"}}),
        ("hang@tools/*", "hang", {"match": {"method": "tools/*"}}),
        ("hang@ping", "hang", {"match": {"tool": "ping"}}),
        ("hang@method:ping", "hang", {"match": {"method": "ping"}}),
        ("hang@resource:file:///a@b", "hang", {"match": {"resource": "file:///a@b"}}),
        ("hang@prompt:hello", "hang", {"match": {"prompt": "hello"}}),
        ("hang@server:db,search", "hang", {"match": {"server": "db", "tool": "search"}}),
        ("error:-32000", "protocol_error", {"with": {"code": -32000}}),
        (
            "http_error:429@tools/call",
            "http_status",
            {"with": {"status": 429}, "match": {"method": "tools/call"}},
        ),
        (
            "rate_limit:http,retry_after_s=5",
            "rate_limit",
            {"with": {"form": "http", "retry_after_s": 5}},
        ),
        ("hang%0.25", "hang", {"trigger": {"probability": 0.25}}),
        ("hang%0.25@search", "hang", {"trigger": {"probability": 0.25}, "match": {"tool": "search"}}),
        ("hang,first=2,burst=3", "hang", {"trigger": {"first": 2, "burst": 3}}),
        ("flaky:0.3,seed=abc", "flaky", {"with": {"fail_rate": 0.3, "seed": "abc"}}),
        ("flaky:0.3,seed=7", "flaky", {"with": {"fail_rate": 0.3, "seed": "7"}}),
        ("tool_error:disk full", "tool_error", {"with": {"text": "disk full"}}),
        ('tool_error:"no, not @ 100% home"', "tool_error", {"with": {"text": "no, not @ 100% home"}}),
        ("disconnect,call_upstream=true", "disconnect", {"with": {"call_upstream": True}}),
        ("schema_drift@search", "schema_drift", {"with": {"tools": "search"}}),
        ("vanished_tools:se*", "vanished_tools", {"with": {"tools": "se*"}}),
        (" hang ", "hang", {}),
    ],
)
def test_a_spec_is_a_rule_of_a_plan(text: str, kind: str, parts: dict[str, Any]) -> None:
    assert dumped(text) == {"name": kind, "fault": kind, **parts}


@pytest.mark.parametrize("spec", ["none@search", "none:5", "none%0.5"])
def test_none_stands_alone(spec: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_spec(spec)
    problem = "none stands alone: no fault has no settings, no chance and no target"
    assert str(caught.value) == f'"{spec}": {problem}'


def test_none_is_no_rule() -> None:
    assert parse_spec("none") is None
    assert parse_specs(["none"]) == ()


def test_each_of_several_specs_has_a_name_of_its_own() -> None:
    rules = parse_specs(["slow:1@a", "none", "slow:2@b", "hang"])
    assert [rule.name for rule in rules] == ["slow", "slow-2", "hang"]


@pytest.mark.parametrize("kind", CALL_FAULTS)
def test_every_fault_of_calls_has_a_short_form(kind: str) -> None:
    for word in (kind, kind.replace("_", "-")):
        assert parse_spec(word) == Rule(kind, CALL_FAULTS[kind]())
    main = CALL_FAULTS[kind].main
    assert short_form(CALL_FAULTS[kind]) == (f"{kind}:{main.upper()}" if main else kind)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "",
            "expected KIND[:VALUE][,KEY=VALUE…][%PROBABILITY][@TARGET], such as hang, slow:500 or "
            "slow:500@search, got ''",
        ),
        (
            "slo:5",
            "unknown fault 'slo'; did you mean 'slow'? (expected a fault of calls such as hang, slow:500 or "
            "slow:500@search; `fault faults` lists them)",
        ),
        (
            "latency",
            "latency acts on the network: use fault run; here a fault of calls such as hang, slow:500 or "
            "slow:500@search",
        ),
        (
            "clean_end",
            "clean_end acts on requests to LLM APIs, and MCP messages are none: use fault run llm in front "
            "of the API, or fault mock llm in its place; here a fault of calls such as hang, slow:500 or "
            "slow:500@search",
        ),
        ("slow:x", "delay_ms: expected a number of at least 0, got 'x'"),
        ("slow:-1", "delay_ms: expected a number of at least 0, got -1.0"),
        ("slow:nan", "delay_ms: expected a number of at least 0, got 'nan'"),
        ("recover-after:1.5", "failures: expected a whole number of at least 0, got '1.5'"),
        (
            "frozen:3",
            "frozen: expected no value, got '3' (settings of frozen: none; of its trigger: probability, "
            "first, after, every, burst)",
        ),
        (
            "hang,",
            "expected KEY=VALUE after a comma, got '' (settings of hang: limit_s; of its trigger: "
            "probability, first, after, every, burst)",
        ),
        ("hang,foo=1", "foo: unknown setting of hang 'foo' (known: limit_s)"),
        ("slow:5,delay_ms=3", "delay_ms: expected it once, got it twice"),
        ("hang,first=2.5", "first: expected a whole number of at least 1, got 2.5"),
        ("hang,first=x", "first: expected a number, got 'x'"),
        ("hang%2", "probability: expected a number from 0 to 1, got 2"),
        ("hang%", "%: expected a number, got ''"),
        ("hang@", "@: expected a tool or a method, such as hang, slow:500 or slow:500@search, got ''"),
        ("hang@a,b", "@: expected one tool, got 'a' and 'b'"),
        (
            "tool_error@tools/list",
            "method: expected tool_error on tools/call, got tools/list (use protocol_error for methods "
            "other than tools/call)",
        ),
        ("disconnect,call_upstream=yes", "call_upstream: expected true or false, got 'yes'"),
    ],
)
def test_a_bad_spec_is_told_with_what_was_expected(text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_spec(text)
    assert str(caught.value) == f'"{text}": {problem}'
