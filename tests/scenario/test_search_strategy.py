"""The strategy search: its keys, the settings that it can vary, and mistakes that are found beforehand."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from faultkit.base.errors import InputError
from faultkit.load.load import arrival_count
from faultkit.load.samples import Sample, Samples
from faultkit.load.search.search_values import Goal
from faultkit.load.slo import parse_slo
from faultkit.scenario.scenario_keys import parse_scenario, scenario_schema
from faultkit.scenario.scenario_model import McpCall, ScenarioItem, SearchStrategy
from faultkit.scenario.scenario_run import check_place
from faultkit.scenario.search_goals import goals_of, times_ms, why_no_search
from faultkit.scenario.search_setting import (
    budget_of,
    load_at,
    rate_at,
    read_value,
    rules_at,
    rules_of,
    value_text,
    values_text,
)

LATENCY = {"type": "latency", "mean": 0, "stddev": 0}
VARY_LATENCY = {"vary": "faults.latency.mean", "from": 0, "to": "1s"}
SLO = {"type": "latency", "objective": 95, "threshold": 300}


def document(faults: list[dict[str, Any]], strategy: dict[str, Any], **item: Any) -> dict[str, Any]:
    context = {"faults": faults, "strategy": {"mode": "search", **strategy}, "slo": item.pop("slo", [SLO])}
    call = {"method": "GET", "url": "http://localhost/"}
    return {"title": "a", "items": [{"call": call, "context": context, **item}]}


def read(
    faults: list[dict[str, Any]], strategy: dict[str, Any], **item: Any
) -> tuple[ScenarioItem | None, list[str]]:
    problems: list[InputError] = []
    scenario = parse_scenario(document(faults, strategy, **item), problems)
    texts = [str(problem).removeprefix("items[0].") for problem in problems]
    return (None if scenario is None else scenario.items[0]), texts


def search_of(faults: list[dict[str, Any]], strategy: dict[str, Any], **item: Any) -> SearchStrategy:
    found, problems = read(faults, strategy, **item)
    assert problems == []
    assert found is not None
    assert isinstance(found.strategy, SearchStrategy)
    return found.strategy


def test_a_search_has_its_setting_range_budget_and_load() -> None:
    given = {
        **VARY_LATENCY,
        "rps": 20,
        "clients": 2,
        "budget": "90s",
        "precision": "5ms",
        "spacing": "poisson",
    }
    strategy = search_of([LATENCY], given, expect={"breaks_above": "150ms"})
    varied = strategy.varied
    assert (varied.fault, varied.name, varied.unit) == (0, "mean_ms", "ms")
    assert (varied.scale.harmless, varied.scale.harmful, varied.scale.resolution) == (0.0, 1000.0, 5.0)
    assert (strategy.load.rate_rps, strategy.load.spacing, strategy.breaks_above) == (40.0, "poisson", 150.0)
    assert budget_of(strategy) == 90 * 40
    Draft202012Validator(scenario_schema()).validate(
        document([LATENCY], given, expect={"breaks_above": "150ms"})
    )


@pytest.mark.parametrize(
    ("path", "start", "end", "found"),
    [
        ("faults.latency.mean", 0, 100, (0, "mean_ms", "ms", False)),
        ("faults[0].mean_ms", 0, 100, (0, "mean_ms", "ms", False)),
        ("faults.httperror.probability", 0, "50%", (1, "probability", "", False)),
        ("faults.http_error.probability", 0, 1, (1, "probability", "", False)),
        ("faults.bandwidth.rate", 1000, 1, (2, "rate", "", False)),
        ("faults[3].bytes", 100_000, 0, (3, "bytes", "bytes", True)),
        ("load.rps", 10, 500, (None, "rps", "requests a second", False)),
        ("load.clients", 1, 64, (None, "clients", "clients", True)),
    ],
)
def test_any_number_of_a_fault_or_the_load_can_be_varied(
    path: str, start: object, end: object, found: tuple[object, ...]
) -> None:
    faults: list[dict[str, Any]] = [
        LATENCY,
        {"type": "httperror"},
        {"type": "bandwidth", "rate": 10},
        {"type": "limit_data", "bytes": 5},
    ]
    rps = {} if path == "load.rps" else {"rps": 10}
    varied = search_of(faults, {"vary": path, "from": start, "to": end, "budget": "1h", **rps}).varied
    assert (varied.fault, varied.name, varied.unit, varied.scale.whole) == found


@pytest.mark.parametrize(
    ("faults", "strategy", "problem"),
    [
        ([LATENCY], {"vary": "faults.latency.men", "from": 0, "to": 1}, "did you mean"),
        (
            [LATENCY],
            {"vary": "faults.latency.distribution", "from": 0, "to": 1},
            "a setting that is a number",
        ),
        ([LATENCY], {"vary": "faults.jitter.amplitude", "from": 0, "to": 1}, 'a fault of type "jitter"'),
        ([], {"vary": "faults[0].mean", "from": 0, "to": 1}, "no faults"),
        ([LATENCY, LATENCY], VARY_LATENCY, "faults[0] or faults[1]"),
        ([LATENCY], {"vary": "latency", "from": 0, "to": 1}, "expected a setting such as"),
        ([LATENCY], {"vary": "load.duration", "from": 0, "to": 1}, "unknown setting of the load"),
        ([LATENCY], {**VARY_LATENCY, "to": 0}, "to: expected two different numbers"),
        ([LATENCY], {**VARY_LATENCY, "scale": "log"}, "numbers above 0 for a log scale"),
        ([LATENCY], {**VARY_LATENCY, "from": -5}, "from: expected a number of at least 0"),
        ([LATENCY], {**VARY_LATENCY, "to": "soon"}, "to: expected a number of ms"),
        (
            [{"type": "httperror"}],
            {"vary": "faults.httperror.probability", "from": 0, "to": 2},
            "to: expected a number from 0 to 1",
        ),
        ([LATENCY], {**VARY_LATENCY, "budget": 0}, "budget: expected a duration"),
        ([LATENCY], {**VARY_LATENCY, "precision": 0}, "precision: expected a number above 0"),
        ([], {"vary": "load.clients", "from": 0, "to": 5}, "from: expected at least 1"),
        ([], {"vary": "load.clients", "from": 1, "to": 5, "clients": 3}, "clients: expected none"),
        ([], {"vary": "load.rps", "from": 0, "to": 5}, "from: expected more than 0"),
        ([LATENCY], {"vary": "faults.latency.mean", "to": 5}, "from: expected the harmless end"),
    ],
)
def test_a_wrong_setting_range_or_budget_is_an_error(
    faults: list[dict[str, Any]], strategy: dict[str, Any], problem: str
) -> None:
    rps = {} if strategy["vary"] == "load.rps" else {"rps": 10}
    item, problems = read(faults, {**strategy, **rps})
    assert item is None
    assert len(problems) == 1
    assert problem in problems[0]


def test_a_search_needs_a_rate_also_if_it_is_closed() -> None:
    for model in ("open", "closed"):
        _, problems = read([LATENCY], {**VARY_LATENCY, "model": model})
        expected = "expected a number of requests a second above 0, got nothing"
        assert problems == [f"context.strategy.rps: {expected}"]


@pytest.mark.parametrize(
    ("faults", "more", "problem"),
    [
        ([LATENCY], {"slo": [{**SLO, "window": "5s"}]}, "without a window"),
        ([{**LATENCY, "period": "start:1s"}], {}, "faults[0].period: expected none"),
        ([LATENCY], {"expect": {"all_slo_are_valid": True}}, "expected breaks_above"),
        ([LATENCY], {"expect": {"breaks_above": "2s"}}, "expected a value of the range 0..1000"),
        ([LATENCY], {"expect": {"breaks_above": "x"}}, "expected a number of ms"),
    ],
)
def test_what_does_not_go_with_a_search_is_an_error(
    faults: list[dict[str, Any]], more: dict[str, Any], problem: str
) -> None:
    _, problems = read(faults, {**VARY_LATENCY, "rps": 10}, **more)
    assert len(problems) == 1
    assert problem in problems[0]


def test_breaks_above_is_for_searches_only() -> None:
    call = {"method": "GET", "url": "http://localhost/"}
    problems: list[InputError] = []
    parse_scenario({"title": "a", "items": [{"call": call, "expect": {"breaks_above": 5}}]}, problems)
    assert "items[0].expect.breaks_above: expected none without" in str(problems[0])


def test_a_budget_that_cannot_decide_the_ends_names_the_one_that_would_do() -> None:
    strategy = search_of([LATENCY], {**VARY_LATENCY, "rps": 10, "budget": "10s"})
    slos = [parse_slo("latency:95:300ms")]
    error = why_no_search(strategy, slos)
    assert error is not None
    assert error.path == "context.strategy.budget"
    wanted = error.problem.removeprefix("expected at least ").partition(",")[0]
    enough = search_of([LATENCY], {**VARY_LATENCY, "rps": 10, "budget": wanted})
    assert why_no_search(enough, slos) is None
    by_requests = search_of([LATENCY], {**VARY_LATENCY, "rps": 10, "budget": 100})
    error = why_no_search(by_requests, slos)
    assert error is not None
    assert "requests, which the ends" in error.problem


def test_a_search_without_an_objective_is_an_error() -> None:
    error = why_no_search(search_of([LATENCY], {**VARY_LATENCY, "rps": 10}), [])
    assert error is not None
    assert error.path == "context.slo"


def test_the_stricter_part_of_an_objective_of_errors_counts() -> None:
    slos = [parse_slo("latency:95:300ms"), parse_slo("error:90:5%"), parse_slo("availability:99.5:1s")]
    assert goals_of(slos) == (Goal(0.95, 300.0), Goal(0.95, inf), Goal(0.995, 1000.0))


def test_times_are_in_the_order_of_their_starts_and_infinite_for_failed_requests() -> None:
    rows = [
        Sample(2.0, 2.0, 0.5, status=200),
        Sample(0.0, 0.1, 0.2, status=200),
        Sample(1.0, 1.0, 0.001, status=0, failure=2),
        Sample(3.0, 3.0, 0.25, status=404),
    ]
    assert times_ms(Samples.of(rows)) == [pytest.approx(300), inf, pytest.approx(500), pytest.approx(250)]
    assert times_ms(Samples.of(rows), 200)[3] == inf


def test_values_may_have_their_unit() -> None:
    assert read_value("1.5s", "ms") == 1500
    assert read_value(20, "ms") == 20
    assert read_value("20", "ms") == 20
    assert read_value("5%", "") == 0.05
    assert read_value("64 bytes", "bytes") == 64
    assert (value_text(182.0, "ms"), value_text(0.05, "")) == ("182 ms", "0.05")


def test_rules_and_loads_follow_the_value() -> None:
    item, _ = read([LATENCY, {"type": "httperror"}], {**VARY_LATENCY, "rps": 10, "clients": 3})
    assert item is not None
    assert isinstance(item.strategy, SearchStrategy)
    rules = [fault.rule for fault in item.faults]
    moved = rules_at(rules, item.strategy.varied, 42.5)
    assert (moved[0].fault.mean_ms, moved[1]) == (42.5, rules[1])  # type: ignore[attr-defined]
    load = load_at(item.strategy, item.call, [42.5], 17)
    assert (arrival_count(load), load.rate_rps) == (17, 30.0)
    by_rate = search_of([], {"vary": "load.rps", "from": 10, "to": 500, "clients": 2, "budget": "10m"})
    assert rate_at(by_rate, [100.0]) == 200.0
    assert budget_of(by_rate) == 600 * 20
    assert arrival_count(load_at(by_rate, item.call, [333.3], 1000)) == 1000


def test_searched_clients_are_those_of_a_closed_load_and_of_sessions() -> None:
    given = {"vary": "load.clients", "from": 1, "to": 64, "rps": 2}
    closed = search_of([], {**given, "model": "closed"})
    load = load_at(closed, McpCall("t"), [7.0], 10)
    assert (load.clients, load.rate_rps) == (7, 14.0)
    opened = search_of([], given)
    assert load_at(opened, McpCall("t"), [7.0], 10).clients == 7


def test_a_search_is_not_sent_from_a_cluster() -> None:
    problems: list[InputError] = []
    scenario = parse_scenario(document([LATENCY], {**VARY_LATENCY, "rps": 10}), problems)
    assert scenario is not None
    with pytest.raises(InputError, match="--on: expected local:N for a search"):
        check_place([scenario])


LOSS = {"type": "packet_loss", "rate": 0}
BOTH: list[dict[str, Any]] = [
    {"setting": "faults.latency.mean", "from": 0, "to": "400ms"},
    {"setting": "faults.packet_loss.rate", "from": 0, "to": "40%", "precision": 0.1},
]


def test_a_search_of_two_settings_has_a_range_for_each() -> None:
    given = {"vary": BOTH, "rps": 20, "budget": "4m"}
    strategy = search_of([LATENCY, LOSS], given)
    assert [(each.fault, each.name, each.unit) for each in strategy.settings] == [
        (0, "mean_ms", "ms"),
        (1, "rate", ""),
    ]
    grid = strategy.grid
    assert grid is not None
    assert grid.first == (0, 50, 100, 150, 200, 250, 300, 350, 400)
    assert grid.second == (0, 0.1, 0.2, 0.3, 0.4)
    rules = rules_of([fault.rule for fault in read([LATENCY, LOSS], given)[0].faults], strategy, (50, 0.3))  # type: ignore[union-attr]
    assert (rules[0].fault.mean_ms, rules[1].fault.rate) == (50, 0.3)  # type: ignore[attr-defined]
    assert values_text(strategy, (50, 0.3)) == "50 ms and 0.3"
    Draft202012Validator(scenario_schema()).validate(document([LATENCY, LOSS], given))
    assert search_of([LATENCY], {**VARY_LATENCY, "rps": 1}).grid is None


def test_two_settings_may_be_those_of_the_load() -> None:
    given = {
        "vary": [
            {"setting": "load.rps", "from": 10, "to": 40},
            {"setting": "load.clients", "from": 1, "to": 4},
        ]
    }
    strategy = search_of([], {**given, "budget": "10m"})
    assert rate_at(strategy, (20.0, 3.0)) == 60.0
    assert budget_of(strategy) == 600 * 10
    assert strategy.grid is not None
    assert strategy.grid.second == (1, 2, 3, 4)


@pytest.mark.parametrize(
    ("strategy", "problem"),
    [
        ({"vary": BOTH[:1]}, "vary: expected one setting, or a list of two, got 1"),
        ({"vary": [*BOTH, *BOTH]}, "vary: expected one setting, or a list of two, got 4"),
        ({"vary": []}, "vary: expected one setting, or a list of two, got 0"),
        ({"vary": BOTH, "from": 0}, "from: expected none beside a list of settings"),
        ({"vary": BOTH, "scale": "log"}, "scale: expected none beside a list of settings"),
        ({"vary": [BOTH[0], "load.clients"]}, "vary[1]: expected a mapping"),
        ({"vary": [BOTH[0], {**BOTH[1], "unit": 5}]}, "vary[1].unit: unknown key"),
        ({"vary": [BOTH[0], {**BOTH[1], "to": 2}]}, "vary[1].to: expected a number from 0 to 1"),
        ({"vary": [BOTH[0], {"setting": "load.clients", "to": 2}]}, "vary[1].from: expected the harmless"),
        ({"vary": [BOTH[0], {"from": 1, "to": 2}]}, "vary[1].setting: expected a setting such as"),
        ({"vary": [BOTH[0], {**BOTH[0], "setting": "faults[0].mean_ms"}]}, "expected another setting than"),
        (
            {
                "vary": [
                    {**BOTH[1], "to": 0.8},
                    {"setting": "faults.packet_loss.burst_length", "from": 1, "to": 5},
                ]
            },
            "which are no pair (0.7 and 1.5)",
        ),
        ({"vary": [BOTH[0], {"setting": "load.clients", "from": 1, "to": 5}], "clients": 3}, "is searched"),
    ],
)
def test_a_mistake_of_two_settings_names_its_place(strategy: dict[str, Any], problem: str) -> None:
    item, problems = read([LATENCY, LOSS], {**strategy, "rps": 10})
    assert item is None
    assert len(problems) == 1, problems
    assert problem in problems[0]


def test_two_settings_have_no_bound_that_they_must_hold_up_to() -> None:
    _, problems = read([LATENCY, LOSS], {"vary": BOTH, "rps": 10}, expect={"breaks_above": "50ms"})
    assert len(problems) == 1
    assert "expect.breaks_above: expected none with two settings" in problems[0]


def test_the_schema_wants_ends_beside_one_setting_and_none_beside_two() -> None:
    valid = Draft202012Validator(scenario_schema()).is_valid
    assert not valid(document([LATENCY], {"vary": "faults.latency.mean", "rps": 1}))
    assert not valid(document([LATENCY, LOSS], {"vary": BOTH, "from": 0, "to": 5, "rps": 1}))
    assert not valid(document([LATENCY, LOSS], {"vary": BOTH[:1], "rps": 1}))
    assert not valid(document([LATENCY, LOSS], {"vary": [BOTH[0], {"setting": "load.rps"}], "rps": 1}))


def test_a_budget_that_cannot_decide_a_clear_map_names_the_one_that_would_do() -> None:
    slos = [parse_slo("latency:95:300ms")]
    error = why_no_search(search_of([LATENCY, LOSS], {"vary": BOTH, "rps": 10, "budget": "10s"}), slos)
    assert error is not None
    assert "which 45 pairs take if all goes well" in error.problem
    wanted = error.problem.removeprefix("expected at least ").partition(",")[0]
    assert (
        why_no_search(search_of([LATENCY, LOSS], {"vary": BOTH, "rps": 10, "budget": wanted}), slos) is None
    )
