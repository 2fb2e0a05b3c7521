"""A scenario that is dumped as a YAML document and parsed again is equal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings

from faultkit.base.errors import InputError
from faultkit.base.units import format_duration
from faultkit.faults.fault_data import dump_fault
from faultkit.load.expectation import Expectation
from faultkit.load.load import Load
from faultkit.load.slo import Slo
from faultkit.plan import dump_rule
from faultkit.scenario.scenario_file import read_scenarios
from faultkit.scenario.scenario_keys import parse_scenario
from faultkit.scenario.scenario_model import (
    Call,
    HttpCall,
    LoadStrategy,
    RepeatStrategy,
    Scenario,
    ScenarioItem,
    SingleStrategy,
    Strategy,
    WrittenFault,
)
from faultkit.scenario.strategy import default_steps
from faultkit.scenario.written_faults import ALIASES, MATCH_KEYS, MODEL_KEYS, default_settings
from tests.scenario.documents import scenario_documents


def parsed(document: object) -> Scenario:
    problems: list[InputError] = []
    scenario = parse_scenario(document, problems)
    assert problems == []
    assert scenario is not None
    return scenario


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(scenario_documents())
def test_a_dumped_scenario_parses_back_equal(document: dict[str, Any]) -> None:
    scenario = parsed(document)
    text = yaml.safe_dump(dump_scenario(scenario), allow_unicode=True, sort_keys=False)
    again, problems = read_scenarios(text)
    assert problems == []
    assert [(each.title, each.description, each.items) for each in again] == [
        (scenario.title, scenario.description, scenario.items)
    ]


def test_a_dump_leaves_out_defaults() -> None:
    document = {
        "title": "spike",
        "items": [
            {
                "call": {"method": "GET", "url": "http://localhost/", "timeout": 500},
                "context": {
                    "upstreams": ["example.com:80"],
                    "faults": [
                        {"type": "latency", "mean": 800.0, "stddev": 100.0, "side": "client"},
                        {"type": "packetloss", "direction": "egress"},
                        {"type": "dns", "rate": 0.5},
                        {"type": "httperror", "status_code": 503, "probability": 0.05, "period": "start:1s"},
                    ],
                    "strategy": {"mode": "repeat", "step": 100.0, "count": 5, "add_baseline_call": True},
                    "slo": [{"type": "error", "title": "few", "objective": 99.0, "threshold": 1.0}],
                    "proxy": {"proxies": ["127.0.0.1:9090=https://example.com:443"]},
                },
                "expect": {"status": 200, "response_time_under": 100},
            }
        ],
    }
    assert dump_scenario(parsed(document)) == document


def test_a_chosen_step_is_dumped() -> None:
    context = {
        "faults": [{"type": "slow_close", "delay_ms": 5.0}],
        "strategy": {"mode": "repeat", "step": 1.0, "count": 2, "step_of": "delay_ms"},
    }
    call = {"method": "GET", "url": "http://localhost/"}
    document = {"title": "a", "items": [{"call": call, "context": context}]}
    assert dump_scenario(parsed(document)) == document


# The inverse of `parse_scenario`: a scenario as the data of a YAML document, without default values


def dump_scenario(scenario: Scenario) -> dict[str, Any]:
    return _without_empty(
        {
            "title": scenario.title,
            "description": scenario.description,
            "proxy": None if scenario.control is None else _without_empty(asdict(scenario.control)),
            "items": [_dump_item(item) for item in scenario.items],
        }
    )


def _without_empty(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mapping without empty values."""
    return {key: value for key, value in given.items() if value is not None and value not in ({}, [])}


def _dump_item(item: ScenarioItem) -> dict[str, Any]:
    context = {
        "upstreams": [str(upstream) for upstream in item.upstreams.upstreams],
        "faults": [dump_written(fault) for fault in item.faults],
        "strategy": _dump_strategy(item),
        "slo": [_dump_slo(slo) for slo in item.slos],
        "proxy": _without_empty(
            {
                "disable_http_proxies": None if item.http_proxy else True,
                "proxies": [str(each) for each in item.maps],
                "through": item.through,
            }
        ),
    }
    return _without_empty(
        {
            "call": _dump_call(item.call),
            "context": _without_empty(context),
            "expect": _dump_expect(item.expect),
        }
    )


def _dump_call(call: Call) -> dict[str, Any]:
    assert isinstance(call, HttpCall)
    return _without_empty(
        {
            "method": call.method,
            "url": call.url,
            "headers": dict(call.headers),
            "body": call.body,
            "timeout": None if call.timeout_s is None else dump_span(call.timeout_s),
            "stream": None if call.stream is None else "sse",
            "until": _without_empty(
                {"events": call.stream.events, "data": call.stream.data} if call.stream else {}
            ),
            "meta": _without_empty({"operation_id": call.operation_id}),
        }
    )


def _dump_strategy(item: ScenarioItem) -> dict[str, Any] | None:
    strategy: Strategy = item.strategy
    if isinstance(strategy, SingleStrategy):
        return None
    if isinstance(strategy, LoadStrategy):
        return _dump_load(strategy)
    assert isinstance(strategy, RepeatStrategy)
    return {"mode": "repeat", "step": strategy.step, "count": strategy.count, **_dump_repeat(strategy, item)}


def _dump_repeat(strategy: RepeatStrategy, item: ScenarioItem) -> dict[str, Any]:
    chosen = None
    if strategy.stepped and strategy.stepped != default_steps(item.faults):
        chosen = strategy.stepped[0][1]
    return _without_empty(
        {
            "step_of": chosen,
            "wait": dump_span(strategy.wait_s) if strategy.wait_s else None,
            "failfast": strategy.failfast or None,
            "add_baseline_call": strategy.add_baseline_call or None,
        }
    )


def _dump_load(strategy: LoadStrategy) -> dict[str, Any]:
    load, default = strategy.load, Load(1.0, 1.0)
    return _without_empty(
        {
            "mode": "load",
            "duration": format_duration(load.duration_s),
            "clients": strategy.clients,
            "rps": None if strategy.rps is None else dump_number(strategy.rps),
            "model": load.model if load.model != default.model else None,
            "ramp": format_duration(load.ramp_s) if load.ramp_s else None,
            "spacing": load.spacing if load.spacing != default.spacing else None,
            "keep_alive": load.keep_alive or None,
            "max_in_flight": load.most_in_flight if load.most_in_flight != default.most_in_flight else None,
        }
    )


def _dump_slo(slo: Slo) -> dict[str, Any]:
    return _without_empty(
        {
            "type": slo.kind,
            "title": slo.title if slo.title != slo.kind else None,
            "objective": slo.objective,
            "threshold": slo.threshold,
            "window": None if slo.window_s is None else format_duration(slo.window_s),
        }
    )


def _dump_expect(expect: Expectation) -> dict[str, Any]:
    under_ms = expect.response_time_under_ms
    return _without_empty(
        {
            "status": expect.status,
            "response_time_under": None if under_ms is None else dump_number(under_ms),
            "all_slo_are_valid": expect.all_slo_are_valid,
        }
    )


def dump_written(fault: WrittenFault) -> dict[str, object]:
    """Return the data that `parse_fault` reads as this fault, with the shorter names where there are any."""
    rule, kind = fault.rule, fault.rule.fault.kind
    settings = dump_fault(rule.fault)
    for name in default_settings(fault.written, settings):
        settings[name] = getattr(rule.fault, name)
    if fault.written == "packetloss" and settings == {"model": "five-state"}:
        settings = {}
    plain = dump_rule(rule)
    parts: dict[str, object] = {}
    for part in ("match", "trigger"):
        given = plain.get(part, {})
        assert isinstance(given, dict)
        parts.update(given)
    match = {key: parts.pop(key) for key in (*MATCH_KEYS, *MODEL_KEYS, "flow", "message") if key in parts}
    names = {meant: name for name, meant in ALIASES.get(kind, {}).items() if meant != "per"}
    dumped = {names.get(name, name): value for name, value in {**settings, **parts}.items()}
    if match:
        dumped["match"] = match
    if rule.schedule.periods:
        dumped["period"] = str(rule.schedule)
    return {"type": fault.written, **dumped}


def dump_number(ms: float) -> int | float:
    """Return a whole number as an int: 500, not 500.0."""
    return int(ms) if ms == int(ms) else ms


def dump_span(seconds: float) -> int | float | str:
    """Return milliseconds where they give the same time back, else text."""
    ms = dump_number(round(seconds * 1000, 9))
    return ms if ms / 1000 == seconds else format_duration(seconds)
