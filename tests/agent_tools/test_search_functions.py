"""`fault_find_breaking_point`: its arguments, its limits, its progress, and its result."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from faultkit.agent_tools.argument_kinds import read_arguments
from faultkit.agent_tools.impact_functions import RUNS
from faultkit.agent_tools.listed_schemas import input_schema
from faultkit.agent_tools.load_limits import LoadLimits
from faultkit.agent_tools.search_functions import (
    check_limits,
    find_breaking_point,
    progress_watch,
    scenario_for,
    structured_of,
)
from faultkit.agent_tools.search_tools import DEFAULT_RPS, OUTPUT, SEARCH_TOOL
from faultkit.agent_tools.tool import Services, ToolCall, ToolResult
from faultkit.base.errors import InputError, RunError
from faultkit.load.load import Progress
from faultkit.load.search.search_values import Block
from faultkit.scenario import asked_search
from faultkit.scenario.run_events import ItemBegan, LoadProgress, RunEvent, SearchProgress
from faultkit.scenario.scenario_model import HttpCall, SearchStrategy
from tests.agent_tools.impact_app import app
from tests.scenario.report.test_search_reports import FOUND, SENTENCE, report_of

URL = "http://127.0.0.1:9090/"
VARY = "faults.latency.mean=0..1000ms"


def asked(**given: Any) -> dict[str, Any]:
    return read_arguments(SEARCH_TOOL, {"url": URL, "vary": VARY, **given})


def called(cancelled: threading.Event | None = None, **given: Any) -> ToolResult:
    call = ToolCall(asked(**given), Services(), cancelled or threading.Event(), lambda *told: None)
    if cancelled is not None:
        call.progress = lambda done, of, message: cancelled.set()
    return find_breaking_point(call)


def test_the_arguments_make_the_search_of_the_command() -> None:
    given = {
        "method": "POST",
        "body": "{}",
        "timeout": 2,
        "budget": "2m",
        "fail_below": "150ms",
        "rps": 50,
        "proxies": ["34000=http://127.0.0.1:9999"],
        "slos": ["90% < 200ms"],
    }
    (item,) = scenario_for(asked(**given)).items
    assert isinstance(item.call, HttpCall)
    assert (item.call.method, item.call.body, item.call.timeout_s) == ("POST", "{}", 2.0)
    strategy = item.strategy
    assert isinstance(strategy, SearchStrategy)
    assert (strategy.varied.path, strategy.varied.scale.harmful) == ("faults.latency.mean", 1000.0)
    assert (strategy.budget_s, strategy.rps, strategy.breaks_above) == (120.0, 50.0, 150.0)
    assert [(slo.objective, slo.threshold) for slo in item.slos] == [(90.0, 200.0)]
    assert [each.listen.port for each in item.maps] == [34000]
    assert not item.http_proxy


def test_the_defaults_are_those_of_the_command_with_a_shorter_budget() -> None:
    (item,) = scenario_for(asked()).items
    assert isinstance(item.strategy, SearchStrategy)
    assert (item.strategy.budget_s, item.strategy.rps) == (60.0, DEFAULT_RPS)
    assert asked_search.DEFAULT_RPS == DEFAULT_RPS
    assert [(slo.objective, slo.threshold) for slo in item.slos] == [(95.0, 300.0)]


def test_a_load_is_searched_without_a_rate_of_its_own() -> None:
    (item,) = scenario_for(asked(vary="load.rps=10..100")).items
    assert isinstance(item.strategy, SearchStrategy)
    assert (item.strategy.varied.path, item.faults) == ("load.rps", ())


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"vary": "latency"}, "vary: expected SETTING=FROM..TO"),
        ({"vary": "faults.nope.mean=0..1"}, 'vary: unknown fault "nope"; expected one of latency'),
        ({"vary": "faults.latency.colour=0..1"}, "vary: unknown setting of latency"),
        ({"vary": "faults.latency.mean=5..5"}, "vary: expected two different numbers"),
        ({"vary": "faults.packet_loss.rate=0..2"}, "vary: expected"),
        ({"budget": "soon"}, "budget: expected"),
        ({"budget": "5s"}, "budget: expected at least"),
        ({"fail_below": "2s"}, "fail_below: expected a value of the range"),
        ({"slos": ["latency:99:1s@5s"]}, "slos[0]: expected an objective without a window"),
        ({"slos": []}, "slos: expected an objective that can break"),
        ({"budget": "10m"}, "budget: expected at most 5m"),
        ({"vary": "load.rps=1..9999"}, "rps: expected at most 500"),
        ({"vary": "load.clients=1..999", "rps": 1}, "num_clients: expected at most 100"),
        ({"timeout": 99}, "timeout: expected at most 1m"),
        ({"url": "http://192.0.2.1/"}, "url: expected a host on this machine"),
        ({"method": "G E T"}, "method: expected"),
    ],
)
def test_an_error_names_the_wrong_argument_and_nothing_is_sent(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as raised:
        called(**given)
    assert str(raised.value).startswith(problem)


def test_the_limits_hold_at_the_most_harmful_value() -> None:
    scenario = scenario_for(asked(vary="load.clients=1..50", rps=2))
    check_limits(scenario, LoadLimits(max_clients=50, max_rps_total=100))
    with pytest.raises(InputError, match="rps: expected at most 99"):
        check_limits(scenario, LoadLimits(max_clients=50, max_rps_total=99))


def test_progress_grows_and_shows_the_bracket() -> None:
    found: list[tuple[float, float | None, str]] = []
    watch = progress_watch(lambda done, of, message: found.append((done, of, message)))
    (item,) = scenario_for(asked()).items
    events: list[RunEvent] = [
        ItemBegan(1, 1, "title", item, 60.0),
        SearchProgress(Block(0.0, 10, "gates"), "ms", 0, 0.0),
        LoadProgress(Progress(1.0, 10, 10, 0, 0, 0)),
        SearchProgress(Block(500.0, 10, "bracket", 0.0, 1000.0), "ms", 20, 2.0),
        LoadProgress(Progress(1.0, 10, 10, 0, 0, 0)),
        SearchProgress(Block(250.0, 10, "bracket", 0.0, 500.0), "ms", 30, 75.0),
    ]
    for event in events:
        watch(event)
    done = [each for each, _, _ in found]
    assert done == sorted(set(done))
    assert {of for _, of, _ in found} == {60.0}
    assert done[-1] < 60
    assert found[2][2] == "holds up to 0 ms, broken from 1000 ms; 20 requests"


def test_the_result_has_the_sentence_and_its_figures() -> None:
    (item,) = report_of(replace(FOUND, wanted_requests=9000, wanted_s=450.0)).items
    found = structured_of(item, "text", {}, "1")
    assert found["sentence"] == SENTENCE
    assert (found["search"]["held"], found["search"]["broken"]) == (176, 190)
    assert found["search"]["wanted_budget"] == "7m 30s"
    schema = {**OUTPUT, "properties": {**OUTPUT["properties"], "report": {"type": "object"}}}
    Draft202012Validator(schema).validate(found)


def test_the_schema_is_one_and_its_examples_are_read() -> None:
    schema = input_schema(SEARCH_TOOL)
    Draft202012Validator.check_schema(schema)
    Draft202012Validator.check_schema(OUTPUT)
    for name, each in schema["properties"].items():
        for example in each.get("examples", []):
            read_arguments(SEARCH_TOOL, {"url": URL, "vary": VARY, name: example})


def test_a_real_app_is_searched() -> None:
    with app() as service:
        result = called(
            url=service.url, vary="faults.latency.mean=0..1ms", slos=["50% < 10s"], rps=100, budget="250"
        )
    found = result.structured
    Draft202012Validator(OUTPUT).validate(found)
    assert (found["verdict"], found["search"]["outcome"]) == ("passed", "holds")
    assert result.text == found["markdown"]
    assert len(service.asked) >= found["search"]["requests"] > 50


def test_a_cancelled_search_ends_its_traffic() -> None:
    with app() as service, pytest.raises(RunError, match="the search was cancelled"):
        called(threading.Event(), url=service.url, rps=50)
    assert RUNS._count == 0
    assert len(service.asked) < 200
