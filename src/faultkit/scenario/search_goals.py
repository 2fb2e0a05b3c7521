"""Objectives as a search sees them, and what is wrong with an item that searches. Pure.

A request is good or bad for an objective. A failed one is bad for every objective: a value of the setting at
which nothing is answered must not look good.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil, inf

from faultkit.base.errors import InputError
from faultkit.base.units import format_duration
from faultkit.load.early_stop import good_share, limit_ms_of
from faultkit.load.samples import Samples
from faultkit.load.search.breaking_point import fewest_of_search
from faultkit.load.search.frontier import fewest_of_frontier
from faultkit.load.search.search_values import Goal
from faultkit.load.slo import Slo, SloKind
from faultkit.scenario.scenario_model import ScenarioItem, SearchStrategy
from faultkit.scenario.search_setting import budget_of, lowest_rate, value_text

_WHY_NOT: dict[SloKind, str] = {
    "gap": "its percentile is of all gaps and not of requests",
    "token_gap": "its percentile is of all gaps and not of requests",
    "time_to_first_token": "the times of first tokens are kept by the second and not by request",
    "refusal": "a search does not tell refusals from other errors",
    "tokens_per_second": "the times of tokens are kept by the second and not by request",
    "first_event": "the times of first events are kept by the second and not by request",
}


def why_not_searchable(slo: Slo) -> str | None:
    """Return why a search cannot decide by an objective; None if it can."""
    if slo.window_s is not None:
        return "expected an objective without a window for a search, which judges request by request, got one"
    if slo.kind in _WHY_NOT:
        return f"expected an objective of requests for a search, got {slo.kind}: {_WHY_NOT[slo.kind]}"
    return None


def goals_of(slos: Sequence[Slo]) -> tuple[Goal, ...]:
    """Return the goals of a search, with limits in milliseconds."""
    return tuple(_goal(slo) for slo in slos)


def _goal(slo: Slo) -> Goal:
    limit_ms = limit_ms_of(slo)
    return Goal(good_share(slo), inf if limit_ms is None else limit_ms)


def times_ms(samples: Samples, status: int | None = None) -> list[float]:
    """Return the response times in the order of the intended starts, in milliseconds; infinite for requests
    that failed, or had another status than the expected one."""
    rows = zip(samples.intended, samples.response_times(), samples.failure, samples.status, strict=True)
    return [
        inf if failure or (status is not None and got != status) else 1000 * time
        for _, time, failure, got in sorted(rows)
    ]


def late_ms(samples: Samples) -> list[float]:
    """Return how late requests started, in the same order."""
    rows = zip(
        samples.intended,
        samples.response_times(),
        samples.failure,
        samples.status,
        samples.started,
        strict=True,
    )
    return [max(0.0, 1000 * (started - intended)) for intended, _, _, _, started in sorted(rows)]


def search_problems(item: ScenarioItem) -> Iterator[InputError]:
    """Yield what is wrong with the parts of an item that searches. Paths begin at the item."""
    strategy = item.strategy
    assert isinstance(strategy, SearchStrategy)
    for index, slo in enumerate(item.slos):
        if (problem := why_not_searchable(slo)) is not None:
            yield InputError(f"context.slo[{index}]", problem)
    for index, fault in enumerate(item.faults):
        if fault.rule.schedule.periods:
            problem = (
                f"expected none, since each value is measured by loads of its own, got {fault.rule.schedule}"
            )
            yield InputError(f"context.faults[{index}].period", problem)
    for key, value in (
        ("response_time_under", item.expect.response_time_under_ms),
        ("all_slo_are_valid", item.expect.all_slo_are_valid),
    ):
        if value is not None:
            problem = "expected breaks_above, since a search goes on until an objective is missed, got this"
            yield InputError(f"expect.{key}", problem)
    scale, least = strategy.varied.scale, strategy.breaks_above
    if least is not None and not min(scale.harmless, scale.harmful) <= least <= max(
        scale.harmless, scale.harmful
    ):
        got = value_text(least, strategy.varied.unit)
        yield InputError("expect.breaks_above", f"expected a value of the range {scale.shown}, got {got}")


def why_no_search(strategy: SearchStrategy, slos: Sequence[Slo]) -> InputError | None:
    """Return what is wrong with a search by all its objectives; None if nothing. Paths begin at the item."""
    if not slos:
        problem = "expected an objective that can break, under context.slo or by --slo, got none"
        return InputError("context.slo", problem)
    goals, grid = goals_of(slos), strategy.grid
    if grid is None:
        fewest, why = fewest_of_search(strategy.varied.scale, goals), "the ends of the range take"
    else:
        fewest, why = fewest_of_frontier(grid, goals), f"{grid.pairs} pairs take"
    if budget_of(strategy) >= fewest:
        return None
    if strategy.budget_s is None:
        wanted, got = f"{fewest} requests", f"{strategy.budget_requests}"
    else:
        wanted = format_duration(ceil(fewest / lowest_rate(strategy)))
        got = format_duration(strategy.budget_s)
    return InputError(
        "context.strategy.budget",
        f"expected at least {wanted}, which {why} if all goes well, got {got}",
    )


def with_breaks_above(item: ScenarioItem, value: float) -> ScenarioItem:
    """Return an item that expects its objectives to be shown to hold up to a value."""
    assert isinstance(item.strategy, SearchStrategy)
    return replace(item, strategy=replace(item.strategy, breaks_above=value))
