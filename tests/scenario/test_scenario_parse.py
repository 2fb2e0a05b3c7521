"""Documents and the scenarios that they become."""

from __future__ import annotations

from typing import Any

import pytest

from faultkit.base.address import Endpoint, ProxyMap, Upstream, UpstreamSet
from faultkit.base.errors import InputError
from faultkit.faults.stream.latency import Latency
from faultkit.load.expectation import Expectation
from faultkit.load.load import Load
from faultkit.load.slo import Slo
from faultkit.plan import Match, Rule, parse_schedule
from faultkit.scenario.scenario_keys import parse_scenario
from faultkit.scenario.scenario_model import (
    HttpCall,
    LoadStrategy,
    Scenario,
    ScenarioItem,
    SingleStrategy,
    Strategy,
    WrittenFault,
)

CALL = {"method": "GET", "url": "http://localhost/"}


def scenario_of(document: object) -> Scenario:
    problems: list[InputError] = []
    scenario = parse_scenario(document, problems, "a.yaml", 3)
    assert problems == []
    assert scenario is not None
    return scenario


def call_of(config: dict[str, Any] | None = None, **call: Any) -> HttpCall:
    document = {"title": "a", "config": {"http": config}, "items": [{"call": {**CALL, **call}}]}
    return scenario_of(document).items[0].call


def item_of(**context: Any) -> ScenarioItem:
    return scenario_of({"title": "a", "items": [{"call": CALL, "context": context}]}).items[0]


def strategy_of(**strategy: Any) -> Strategy:
    return item_of(strategy={"mode": "load", **strategy}).strategy


def test_a_whole_scenario_becomes_a_value() -> None:
    scenario = scenario_of(
        {
            "title": "Slow answers",
            "description": "Two lines\nof text.",
            "config": {"http": {"headers": {"Accept": "text/plain"}, "paths": {"segments": {"id": "a/b c"}}}},
            "items": [
                {
                    "call": {
                        "method": "post",
                        "url": "https://example.com:8443/users/{id}?copy={id}",
                        "headers": {"accept": "*/*", "X-Id": "1"},
                        "body": "text",
                        "timeout": 500,
                        "meta": {"operation_id": "addUser"},
                    },
                    "context": {
                        "upstreams": ["https://db.example/path", "*.example.com", "cache:6379"],
                        "faults": [
                            {"type": "latency", "mean": 80, "stddev": 5, "period": "start:10%,duration:15%"}
                        ],
                        "strategy": {"mode": "load", "duration": "10s", "clients": 3, "rps": 2},
                        "slo": [
                            {"slo_type": "latency", "title": "P95", "objective": 95, "threshold": 300},
                            {"type": "error", "objective": 99, "threshold": 1, "window": "5s"},
                            {"type": "availability", "objective": 99.9},
                        ],
                        "proxy": {"disable_http_proxies": True, "proxies": ["9090=https://example.com"]},
                    },
                    "expect": {"status": 200, "response_time_under": 250, "all_slo_are_valid": True},
                }
            ],
        }
    )
    rule = Rule("latency", Latency(mean_ms=80, stddev_ms=5), Match())
    item = ScenarioItem(
        HttpCall(
            "POST",
            "https://example.com:8443/users/a%2Fb%20c?copy=a%2Fb%20c",
            (("accept", "*/*"), ("X-Id", "1")),
            "text",
            0.5,
            "addUser",
        ),
        (
            WrittenFault(
                "latency",
                Rule(rule.name, rule.fault, schedule=parse_schedule("start:10%,duration:15%")),
            ),
        ),
        LoadStrategy(Load(10.0, 6.0, keep_alive=False), 3, 2.0),
        (
            Slo("latency", "P95", 95.0, 300.0),
            Slo("error", "error", 99.0, 1.0, 5.0),
            Slo("availability", "availability", 99.9, None),
        ),
        Expectation(200, 250.0, True),
        UpstreamSet((Upstream("db.example", 443), Upstream("*.example.com"), Upstream("cache", 6379))),
        (ProxyMap(Endpoint("127.0.0.1", 9090), Endpoint("example.com", 443), True, "http", True),),
        http_proxy=False,
    )
    assert scenario == Scenario("Slow answers", (item,), "Two lines\nof text.", "a.yaml", 3)


def test_almost_everything_may_be_left_out() -> None:
    item = ScenarioItem(HttpCall("GET", "http://localhost/"))
    assert scenario_of({"title": "a", "items": [{"call": CALL}]}).items == (item,)
    empty = dict.fromkeys(("upstreams", "faults", "strategy", "slo", "proxy", "runs_on"))
    assert item_of(**empty) == item
    assert item_of(strategy={"mode": "single"}).strategy == SingleStrategy()


def test_headers_of_a_call_win_over_those_of_config() -> None:
    config = {"headers": {"A": "1", "B": "2"}}
    assert call_of(config, headers={"b": "3", "C": ""}).headers == (("A", "1"), ("b", "3"), ("C", ""))


@pytest.mark.parametrize(
    ("body", "headers", "expected", "sent"),
    [
        ("{}", {}, "{}", ()),
        ({"a": [1, "ä", None]}, {}, '{"a": [1, "ä", null]}', (("content-type", "application/json"),)),
        ([], {"X": "1"}, "[]", (("X", "1"), ("content-type", "application/json"))),
        ([1], {"Content-Type": "text/plain"}, "[1]", (("Content-Type", "text/plain"),)),
    ],
)
def test_a_body_that_is_no_text_is_sent_as_json(
    body: object, headers: dict[str, str], expected: str, sent: object
) -> None:
    call = call_of(body=body, headers=headers)
    assert (call.body, call.headers) == (expected, sent)


@pytest.mark.parametrize(
    ("timeout", "seconds"), [(500, 0.5), (0.5, 0.0005), ("500ms", 0.5), ("1m 30s", 90.0)]
)
def test_a_timeout_is_milliseconds_or_text_with_a_unit(timeout: object, seconds: float) -> None:
    assert call_of(timeout=timeout).timeout_s == seconds


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ({"duration": "10s", "rps": 5}, LoadStrategy(Load(10.0, 5.0, keep_alive=False), 1, 5.0)),
        (
            {"duration": "1m", "clients": 4, "rps": 0.5, "ramp": "10s", "spacing": "poisson"},
            LoadStrategy(Load(60.0, 2.0, ramp_s=10.0, spacing="poisson", keep_alive=False), 4, 0.5),
        ),
        (
            {"duration": "1s", "clients": 4, "model": "closed", "keep_alive": True},
            LoadStrategy(Load(1.0, None, clients=4, model="closed", keep_alive=True), 4, None),
        ),
        (
            {"duration": "1s", "clients": 4, "rps": 2, "model": "closed"},
            LoadStrategy(Load(1.0, 8.0, clients=4, model="closed", keep_alive=False), 4, 2.0),
        ),
        (
            {"duration": "1s", "rps": 1, "max_in_flight": 7},
            LoadStrategy(Load(1.0, 1.0, keep_alive=False, most_in_flight=7), 1, 1.0),
        ),
    ],
)
def test_a_load_is_read_with_all_it_has(strategy: dict[str, Any], expected: Strategy) -> None:
    assert strategy_of(**strategy) == expected


def test_times_of_objectives_and_expectations_may_have_units() -> None:
    slo = {"type": "latency", "objective": 99, "threshold": "1.1ms"}
    assert item_of(slo=[slo]).slos == (Slo("latency", "latency", 99.0, 1.1),)
    document = {"title": "a", "items": [{"call": CALL, "expect": {"response_time_under": "2s"}}]}
    assert scenario_of(document).items[0].expect == Expectation(response_time_under_ms=2000.0)


def test_several_maps_may_leave_their_port_to_the_system() -> None:
    maps = item_of(proxy={"proxies": ["0=a:1", "0=b:2"]}).maps
    assert [each.upstream for each in maps] == [Endpoint("a", 1), Endpoint("b", 2)]
