"""Searches that a command line asks for: of a URL, or of the items of scenario files. Pure.

What is asked becomes the mapping that a file would have as `strategy`, so that one parser reads both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError
from faultkit.base.text import count_of
from faultkit.base.units import format_duration
from faultkit.load.load import Load
from faultkit.load.search.breaking_point import most_levels
from faultkit.scenario.item_checks import item_problems
from faultkit.scenario.scenario_keys import parse_scenario
from faultkit.scenario.scenario_model import (
    LoadStrategy,
    Scenario,
    ScenarioItem,
    SearchStrategy,
    VariedSetting,
)
from faultkit.scenario.search_goals import with_breaks_above
from faultkit.scenario.search_setting import budget_of, lowest_rate, read_value, value_text
from faultkit.scenario.strategy import parse_strategy

VARY_FORM = "SETTING=FROM..TO with the harmless end first, such as faults.latency.mean=0..1000ms"
DEFAULT_RPS = 20.0
_VARY = re.compile(r"\s*([^=\s]+)\s*=\s*(.+?)\s*\.\.\s*(.+?)\s*")
_BARE = re.compile(r"[0-9.]+", re.ASCII)
_UNIT = re.compile(r"(?<=[0-9. ])[^0-9.\s]+$")
_FAULT = re.compile(r"faults\.(\w+)\.(\w+)", re.ASCII)
_REQUESTS = re.compile(r"(\d+)(?:\s*requests)?", re.ASCII)
_FLAGS = {
    "vary": "--vary",
    "from": "--vary",
    "to": "--vary",
    "scale": "--scale",
    "budget": "--budget",
    "precision": "--precision",
    "rps": "--rps",
    "clients": "--clients",
}
"""By key of the strategy: the flag that sets it."""


@dataclass(frozen=True, slots=True)
class AskedSearch:
    """The flags of a search; None where one is not given."""

    vary: str | tuple[str, ...] | None = None
    """One setting with its range, or several."""
    budget: str | None = None
    scale: str | None = None
    precision: str | None = None
    rps: float | None = None
    clients: int | None = None
    fail_below: str | None = None

    @property
    def varies(self) -> tuple[str, ...]:
        return (self.vary,) if isinstance(self.vary, str) else self.vary or ()


def search_of_url(url: str, asked: AskedSearch) -> Scenario:
    """Return the scenario that searches a URL, with a fault of the kind that is varied and nothing else."""
    if not asked.varies:
        raise InputError("--vary", f"expected {VARY_FORM} for a URL, got none")
    given = _given(asked)
    rps = {} if "load.rps" in _paths(given) else {"rps": DEFAULT_RPS}
    document = {
        "title": f"Where {url} breaks",
        "items": [
            {
                "call": {"method": "GET", "url": url},
                "context": {"faults": _faults(given), "strategy": {"mode": "search", **rps, **given}},
            }
        ],
    }
    problems: list[InputError] = []
    scenario = parse_scenario(document, problems)
    if scenario is None:
        raise _of_flag(problems[0], "items[0].context.strategy.")
    return replace(scenario, items=tuple(_bounded(item, asked) for item in scenario.items))


def _faults(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    faults: dict[str, dict[str, Any]] = {}
    for path in _paths(given):
        if path.startswith("load."):
            continue
        found = _FAULT.fullmatch(path)
        if found is None:
            expected = "a setting such as faults.latency.mean, or one of the load, for a URL"
            raise InputError("--vary", f"expected {expected}, got {shown(path)}")
        type_, name = found.groups()
        # Without a deviation, the mean is the delay.
        more = {"stddev": 0} if type_ == "latency" and name in ("mean", "mean_ms") else {}
        faults.setdefault(type_, {"type": type_}).update(more)
    return list(faults.values())


def _paths(given: Mapping[str, Any]) -> list[str]:
    """Return the settings of the keys of a strategy."""
    vary = given["vary"]
    return [each["setting"] for each in vary] if isinstance(vary, list) else [str(vary)]


def search_of_file(scenario: Scenario, asked: AskedSearch) -> Scenario:
    """Return a scenario whose items search: those that do, and with `--vary` also its loads."""
    return replace(scenario, items=tuple(_searching(scenario, item, asked) for item in scenario.items))


def _searching(scenario: Scenario, item: ScenarioItem, asked: AskedSearch) -> ScenarioItem:
    match item.strategy:
        case LoadStrategy(load=load, clients=clients, rps=rps):
            if not asked.varies:
                raise InputError("--vary", f"expected {VARY_FORM} for a load, got none ({scenario.title})")
            own: dict[str, Any] = _load_keys(load, clients, rps)
        case SearchStrategy(load=load, clients=clients, rps=rate):
            own = {**_load_keys(load, clients, rate), **_search_keys(item.strategy)}
        case _:
            problem = "expected items of mode search, or of mode load with --vary, got another"
            raise InputError(scenario.file or scenario.title, problem)
    given = {**own, **_given(asked)}
    for setting in ("rps", "clients"):
        if f"load.{setting}" in _paths(given):
            given.pop(setting, None)
    problems: list[InputError] = []
    strategy = parse_strategy({"mode": "search", **given}, "", problems, item.faults)
    if problems:
        raise _of_flag(problems[0], "")
    assert isinstance(strategy, SearchStrategy)
    if isinstance(item.strategy, SearchStrategy) and _paths_of(item.strategy) == _paths_of(strategy):
        strategy = replace(strategy, breaks_above=item.strategy.breaks_above)
    # What is expected of the answers of a load must not hold at each value of a search.
    expect = replace(item.expect, response_time_under_ms=None, all_slo_are_valid=None)
    searching = _bounded(replace(item, strategy=strategy, expect=expect), asked)
    for error in item_problems(searching):
        raise InputError(f"{scenario.file or scenario.title}: {error.path}", error.problem)
    return searching


def _load_keys(load: Load, clients: int, rps: float | None) -> dict[str, Any]:
    return {
        "clients": clients,
        "rps": rps,
        "model": load.model,
        "spacing": load.spacing,
        "keep_alive": load.keep_alive,
        "max_in_flight": load.most_in_flight,
    }


def _paths_of(strategy: SearchStrategy) -> list[str]:
    return [varied.path for varied in strategy.settings]


def _search_keys(strategy: SearchStrategy) -> dict[str, Any]:
    budget = strategy.budget_requests
    keys = {"budget": budget if strategy.budget_s is None else format_duration(strategy.budget_s)}
    if strategy.second is not None:
        return {**keys, "vary": [_setting_keys(varied, "setting") for varied in strategy.settings]}
    return {**keys, **_setting_keys(strategy.varied, "vary")}


def _setting_keys(varied: VariedSetting, name: str) -> dict[str, Any]:
    return {
        name: varied.path,
        "from": varied.scale.harmless,
        "to": varied.scale.harmful,
        "scale": varied.scale.spacing,
        "precision": varied.scale.resolution or None,
    }


def _given(asked: AskedSearch) -> dict[str, Any]:
    """Return the flags as keys of a strategy."""
    found: dict[str, Any] = {}
    if len(asked.varies) == 1:
        found["vary"], found["from"], found["to"] = parse_vary(asked.varies[0])
        found["precision"] = None
    elif asked.varies:
        return _given_two(asked)
    if asked.budget is not None:
        requests = _REQUESTS.fullmatch(asked.budget.strip())
        found["budget"] = int(requests[1]) if requests else asked.budget
    for name in ("scale", "precision", "rps", "clients"):
        if (value := getattr(asked, name)) is not None:
            found[name] = value
    return found


def _given_two(asked: AskedSearch) -> dict[str, Any]:
    """Return the flags of a search of two settings as keys of a strategy."""
    if len(asked.varies) > 2:
        raise InputError("--vary", f"expected one setting or two, got {len(asked.varies)}")
    if asked.precision is not None:
        expected = "none with two settings, since each has its own unit: a file can have one for each"
        raise InputError("--precision", f"expected {expected}, got {shown(asked.precision)}")
    rest = _given(replace(asked, vary=None, scale=None))
    settings = [
        {"setting": path, "from": start, "to": end, "scale": asked.scale}
        for path, start, end in map(parse_vary, asked.varies)
    ]
    return {**dict.fromkeys(("from", "to", "scale", "precision")), **rest, "vary": settings}


def parse_vary(text: str) -> tuple[str, str, str]:
    """Return the setting and the two ends of its range. A first end without a unit has that of the second."""
    found = _VARY.fullmatch(text)
    if found is None:
        raise InputError("--vary", f"expected {VARY_FORM}, got {shown(text)}")
    path, start, end = found.groups()
    unit = _UNIT.search(end)
    if unit is not None and _BARE.fullmatch(start):
        start += unit[0]
    return path, start, end


def _of_flag(error: InputError, prefix: str) -> InputError:
    """Return an error of the strategy as one of the flag that set it."""
    key = error.path.removeprefix(prefix)
    # Those of two settings are below vary: `vary[1].to`.
    return InputError(_FLAGS.get(key.partition("[")[0], key), error.problem)


def _bounded(item: ScenarioItem, asked: AskedSearch) -> ScenarioItem:
    """Return the item with the bound of `--fail-below`."""
    if asked.fail_below is None:
        return item
    assert isinstance(item.strategy, SearchStrategy)
    if item.strategy.second is not None:
        expected = "none with two settings, since a frontier has no single value"
        raise InputError("--fail-below", f"expected {expected}, got {shown(asked.fail_below)}")
    varied = item.strategy.varied
    try:
        bound = read_value(asked.fail_below, varied.unit)
    except InputError as error:
        raise error.at("--fail-below") from None
    ends = sorted((varied.scale.harmless, varied.scale.harmful))
    if not ends[0] <= bound <= ends[1]:
        got = value_text(bound, varied.unit)
        raise InputError("--fail-below", f"expected a value of the range {varied.scale.shown}, got {got}")
    return with_breaks_above(item, bound)


def plan_lines(scenarios: Sequence[Scenario]) -> list[str]:
    """Return what each search will do at most, for a user to see beforehand."""
    lines = []
    for scenario in scenarios:
        for item in scenario.items:
            strategy = item.strategy
            assert isinstance(strategy, SearchStrategy)
            rate, grid = lowest_rate(strategy), strategy.grid
            ranges = [
                f"{varied.path} in {varied.scale.shown} {varied.unit}".rstrip()
                for varied in strategy.settings
            ]
            if grid is None:
                up_to = count_of(most_levels(strategy.varied.scale), "value")
            else:
                up_to = f"{grid.most_measured} of {count_of(grid.pairs, 'pair')}"
            seconds = strategy.budget_s or budget_of(strategy) / rate
            lines.append(
                f"{item.call.shown}: searching {' and '.join(ranges)}, up to {up_to}, about "
                f"{budget_of(strategy)} requests in {format_duration(round(seconds, 1))}"
            )
    return lines
