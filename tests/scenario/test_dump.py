"""A scenario written down and read again is the same scenario."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings

from faultkit.base.errors import InputError
from faultkit.scenario.scenario_file import read_scenarios
from faultkit.scenario.scenario_keys import parse_scenario
from faultkit.scenario.scenario_model import Scenario
from tests.scenario.documents import scenario_documents
from tests.scenario.scenario_dump import dump_scenario


def parsed(document: object) -> Scenario:
    problems: list[InputError] = []
    scenario = parse_scenario(document, problems)
    assert problems == []
    assert scenario is not None
    return scenario


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(scenario_documents())
def test_what_is_dumped_parses_back_equal(document: dict[str, Any]) -> None:
    scenario = parsed(document)
    text = yaml.safe_dump(dump_scenario(scenario), allow_unicode=True, sort_keys=False)
    again, problems = read_scenarios(text)
    assert problems == []
    assert [(each.title, each.description, each.items) for each in again] == [
        (scenario.title, scenario.description, scenario.items)
    ]


def test_a_dump_says_no_more_than_it_must() -> None:
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
