"""Searches that the command line asks for: of a URL, of loads in a file, and in place of what a file says."""

from __future__ import annotations

from typing import Any

import pytest

from faultkit.base.errors import InputError
from faultkit.scenario.asked_search import AskedSearch, parse_vary, plan_lines, search_of_file, search_of_url
from faultkit.scenario.scenario_keys import parse_scenario
from faultkit.scenario.scenario_model import Scenario, SearchStrategy

URL = "http://localhost:7070/ping"
LATENCY = "faults.latency.mean=0..1s"


def strategy_of(scenario: Scenario) -> SearchStrategy:
    strategy = scenario.items[0].strategy
    assert isinstance(strategy, SearchStrategy)
    return strategy


def file_of(strategy: dict[str, Any], **item: Any) -> Scenario:
    problems: list[InputError] = []
    faults = [{"type": "latency", "mean": 50}, {"type": "httperror", "probability": 0.1}]
    context = {"faults": faults, "strategy": strategy}
    items = [{"call": {"method": "GET", "url": URL}, "context": context, **item}]
    scenario = parse_scenario({"title": "a", "items": items}, problems, "a.yaml")
    assert scenario is not None, problems
    return scenario


def test_a_url_is_searched_with_a_fault_of_the_kind_that_is_varied() -> None:
    scenario = search_of_url(URL, AskedSearch(LATENCY, budget="90s", rps=40, fail_below="150ms"))
    strategy, fault = strategy_of(scenario), scenario.items[0].faults[0].rule.fault
    assert (fault.kind, fault.stddev_ms) == ("latency", 0.0)  # type: ignore[attr-defined]
    assert (strategy.varied.scale.harmful, strategy.budget_s, strategy.rps) == (1000.0, 90.0, 40.0)
    assert strategy.breaks_above == 150.0


def test_a_rate_is_searched_without_a_fault_and_a_budget_may_be_requests() -> None:
    scenario = search_of_url(URL, AskedSearch("load.rps=10..500", budget="6000", scale="log", clients=2))
    strategy = strategy_of(scenario)
    assert scenario.items[0].faults == ()
    assert (strategy.budget_requests, strategy.budget_s, strategy.clients) == (6000, None, 2)
    assert strategy.varied.scale.spacing == "log"


def test_a_load_of_a_file_is_searched_at_its_rate() -> None:
    load = {"mode": "load", "duration": "10s", "clients": 3, "rps": 5, "keep_alive": True}
    scenario = search_of_file(
        file_of(load, expect={"response_time_under": 100}), AskedSearch("faults.httperror.probability=0..50%")
    )
    strategy = strategy_of(scenario)
    assert (strategy.load.rate_rps, strategy.load.keep_alive) == (15.0, True)
    assert (strategy.varied.fault, strategy.varied.scale.harmful) == (1, 0.5)
    assert scenario.items[0].expect.response_time_under_ms is None


def test_flags_take_the_place_of_what_a_file_says() -> None:
    own = {"mode": "search", "vary": "faults.latency.mean", "from": 0, "to": 500, "rps": 10, "budget": "2m"}
    scenario = file_of(own, expect={"breaks_above": 100})
    kept = strategy_of(search_of_file(scenario, AskedSearch()))
    assert kept == strategy_of(scenario)
    changed = strategy_of(search_of_file(scenario, AskedSearch(budget="10m", rps=50, fail_below="0.2s")))
    assert (changed.budget_s, changed.rps, changed.breaks_above) == (600.0, 50.0, 200.0)
    assert changed.varied == kept.varied
    other = strategy_of(search_of_file(scenario, AskedSearch("load.rps=1..50")))
    assert (other.varied.path, other.breaks_above) == ("load.rps", None)


def test_the_first_end_has_the_unit_of_the_second() -> None:
    assert parse_vary("faults.latency.mean=0.5..2s") == ("faults.latency.mean", "0.5s", "2s")
    assert parse_vary("faults[0].rate=1000..1") == ("faults[0].rate", "1000", "1")
    assert parse_vary(" a.b = 10ms .. 1s ") == ("a.b", "10ms", "1s")
    assert parse_vary("a.b=0..inf") == ("a.b", "0", "inf")  # No unit.


@pytest.mark.parametrize(
    ("asked", "flag", "problem"),
    [
        (AskedSearch(), "--vary", "for a URL, got none"),
        (AskedSearch("latency"), "--vary", "expected SETTING=FROM..TO"),
        (AskedSearch("faults[0].mean=0..5"), "--vary", "a setting such as faults.latency.mean"),
        (AskedSearch("faults.latency.men=0..5"), "--vary", "did you mean"),
        (AskedSearch("faults.latency.mean=5..5"), "--vary", "two different numbers"),
        (AskedSearch("faults.latency.mean=0..inf"), "--vary", 'such as "150ms", got "inf"'),
        (AskedSearch("load.rps=1..inf"), "--vary", "expected a number of requests a second, got inf"),
        (AskedSearch(LATENCY, budget="soon"), "--budget", "expected a duration"),
        (AskedSearch(LATENCY, precision="-1"), "--precision", "above 0"),
        (AskedSearch(LATENCY, fail_below="2s"), "--fail-below", "a value of the range 0..1000"),
        (AskedSearch(LATENCY, fail_below="x"), "--fail-below", "expected a number of ms"),
    ],
)
def test_a_mistake_names_its_flag(asked: AskedSearch, flag: str, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        search_of_url(URL, asked)
    assert raised.value.path == flag
    assert problem in raised.value.problem


def test_a_fault_that_does_not_exist_is_named() -> None:
    with pytest.raises(InputError, match="latncy"):
        search_of_url(URL, AskedSearch("faults.latncy.mean=0..5"))


def test_items_that_cannot_be_searched_are_an_error() -> None:
    with pytest.raises(InputError, match="--vary"):
        search_of_file(file_of({"mode": "load", "duration": "1s", "rps": 1}), AskedSearch())
    with pytest.raises(InputError, match="expected items of mode search"):
        search_of_file(file_of({"mode": "single"}), AskedSearch(LATENCY))


def test_the_plan_says_what_it_takes_at_most() -> None:
    lines = plan_lines([search_of_url(URL, AskedSearch(LATENCY, budget="2m", rps=10))])
    assert lines == [
        f"GET {URL}: searching faults.latency.mean in 0..1000 ms, up to 22 values, about 1200 requests in 2m"
    ]


LOSS = "faults.packet_loss.rate=0..40%"


def test_two_settings_of_a_url_have_a_fault_each() -> None:
    scenario = search_of_url(URL, AskedSearch((LATENCY, LOSS), budget="4m", rps=50))
    strategy = strategy_of(scenario)
    assert [fault.rule.fault.kind for fault in scenario.items[0].faults] == ["latency", "packet_loss"]
    assert [varied.path for varied in strategy.settings] == ["faults.latency.mean", "faults.packet_loss.rate"]
    assert [varied.scale.harmful for varied in strategy.settings] == [1000.0, 0.4]
    assert strategy.budget_s == 240.0
    both = search_of_url(URL, AskedSearch((LATENCY, "faults.latency.stddev=0..50ms")))
    assert [fault.rule.fault.kind for fault in both.items[0].faults] == ["latency"]
    load = strategy_of(search_of_url(URL, AskedSearch(("load.rps=1..50", "load.clients=1..4"), scale="log")))
    assert [varied.scale.spacing for varied in load.settings] == ["log", "log"]


def test_two_settings_take_the_place_of_one_and_one_of_two() -> None:
    own = {"mode": "search", "vary": "faults.latency.mean", "from": 0, "to": 500, "rps": 10, "precision": 5}
    scenario = file_of(own, expect={"breaks_above": 100})
    both = search_of_file(
        scenario, AskedSearch(("faults[0].mean=0..1s", "faults.httperror.probability=0..1"))
    )
    strategy = strategy_of(both)
    assert [varied.path for varied in strategy.settings] == [
        "faults[0].mean",
        "faults.httperror.probability",
    ]
    assert strategy.breaks_above is None
    assert strategy_of(search_of_file(both, AskedSearch())) == strategy
    longer = strategy_of(search_of_file(both, AskedSearch(budget="10m")))
    assert (longer.settings, longer.budget_s) == (strategy.settings, 600.0)
    assert strategy_of(search_of_file(both, AskedSearch(LATENCY))).second is None


@pytest.mark.parametrize(
    ("asked", "flag", "problem"),
    [
        (AskedSearch((LATENCY, LOSS, "load.rps=1..9")), "--vary", "expected one setting or two, got 3"),
        (AskedSearch((LATENCY, LATENCY)), "--vary", "expected another setting than faults.latency.mean"),
        (
            AskedSearch((LATENCY, "faults.latency.mean_ms=0..5")),
            "--vary",
            'expected another setting than faults.latency.mean, got "faults.latency.mean_ms"',
        ),
        (AskedSearch((LATENCY, "faults.packet_loss.rate=0..2")), "--vary", "expected a number from 0 to 1"),
        (AskedSearch((LATENCY, "faults.packet_loss.rte=0..2")), "--vary", "did you mean"),
        (AskedSearch((LATENCY, LOSS), precision="5"), "--precision", "expected none with two settings"),
        (AskedSearch((LATENCY, LOSS), fail_below="5"), "--fail-below", "expected none with two settings"),
        (AskedSearch((LATENCY, LOSS), scale="log"), "--vary", "numbers above 0 for a log scale"),
    ],
)
def test_a_mistake_of_two_settings_names_its_flag(asked: AskedSearch, flag: str, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        search_of_url(URL, asked)
    assert raised.value.path == flag
    assert problem in raised.value.problem


def test_the_plan_of_two_settings_has_both_ranges_and_how_many_pairs() -> None:
    lines = plan_lines([search_of_url(URL, AskedSearch((LATENCY, LOSS), budget="2m", rps=10))])
    assert lines == [
        f"GET {URL}: searching faults.latency.mean in 0..1000 ms and faults.packet_loss.rate in 0..0.4, up "
        "to 54 of 81 pairs, about 1200 requests in 2m"
    ]
