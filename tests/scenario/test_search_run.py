"""A search of an item, with a simulated service in place of loads: what is kept, tried again, or given up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from faultkit.base.rng import Rng
from faultkit.load.load import Load, arrival_count, instants
from faultkit.load.local_workers import LocalPlace
from faultkit.load.response import Failure
from faultkit.load.samples import Sample, Samples
from faultkit.load.slo import parse_slo
from faultkit.load.tally import Tally
from faultkit.load.workers import LoadResult
from faultkit.plan import Plan
from faultkit.proxy.data_plane import Lateness, LatenessSummary, Snapshot
from faultkit.scenario import search_run
from faultkit.scenario.measure import Measurements
from faultkit.scenario.run_events import FrontierProgress, RunEvent, SearchProgress
from faultkit.scenario.scenario_keys import parse_scenario
from faultkit.scenario.scenario_model import ScenarioItem, SearchStrategy
from faultkit.scenario.search_report import search_item_report
from faultkit.scenario.search_run import STOPPED, TRIES, SearchMeter

SLOS = (parse_slo("latency:90:300ms"),)


def item_of(*faults: dict[str, Any], **strategy: Any) -> ScenarioItem:
    given = {"vary": "faults.latency.mean", "from": 0, "to": 1000, "rps": 100, "budget": 6000, **strategy}
    document = {
        "title": "a",
        "items": [
            {
                "call": {"method": "GET", "url": "http://localhost/", "timeout": "5s"},
                "context": {
                    "faults": [{"type": "latency", "mean": 0, "stddev": 0}, *faults],
                    "strategy": {"mode": "search", **given},
                },
            }
        ],
    }
    problems: list[Any] = []
    scenario = parse_scenario(document, problems)
    assert scenario is not None, problems
    return scenario.items[0]


class Service:
    """A plane and a service behind it, whose answers take the latency of the plan and some more."""

    change_s = 0.0

    def __init__(self, *, latency_acts: bool = True, status: int = 200, late_from: int | None = None) -> None:
        self.plan = Plan()
        self.injected = 0
        self.failed = 0
        self.loads: list[Load] = []
        self.began = 0
        self._latency_acts = latency_acts
        self._status = status
        self._late_from = late_from
        """The number of the load from which on all requests start late."""
        self._rng = Rng.keyed(7, "service")

    def set_plan(self, plan: Plan, total_s: float | None = None, origin: float | None = None) -> None:
        self.plan = plan

    def snapshot(self) -> Snapshot:
        injected = {"latency": self.injected, "http_error": self.failed}
        return Snapshot((), (), injected, LatenessSummary(), 0, 0)

    def measured(self) -> tuple[Snapshot, Lateness]:
        return self.snapshot(), Lateness()

    def run_load(
        self, target: object, load: Load, *, on_begin: Callable[[float], None], **kwargs: Any
    ) -> LoadResult:
        on_begin(0.0)
        self.loads.append(load)
        mean_ms = self.plan.rules[0].fault.mean_ms  # type: ignore[attr-defined]
        self.injected += arrival_count(load) if self._latency_acts and mean_ms else 0
        late_s = 0.2 if self._late_from is not None and len(self.loads) >= self._late_from else 0.0
        fails = self.plan.rules[1].trigger.probability if len(self.plan.rules) > 1 else 0.0
        tally = Tally()
        samples = []
        for at in instants(load):
            taken_s = mean_ms / 1000 + 0.02 * self._rng.uniform()
            is_failed = fails > 0 and self._rng.uniform() < fails
            self.failed += is_failed
            failure = Failure.STATUS if is_failed else Failure.NONE
            status = 500 if is_failed else self._status
            samples.append(Sample(at, at + late_s, taken_s, status=status, failure=failure))
        tally.add(Samples.of(samples))
        return LoadResult(tally, 0, 0.0, load.duration_s, cut_short=False)


def searched(
    monkeypatch: pytest.MonkeyPatch, service: Service, item: ScenarioItem, **more: Any
) -> tuple[Measurements, list[RunEvent]]:
    monkeypatch.setattr(search_run, "run_load", more.pop("run_load", service.run_load))
    assert isinstance(item.strategy, SearchStrategy)
    events: list[RunEvent] = []
    measured = Measurements()
    meter = SearchMeter(
        item,
        item.strategy,
        SLOS,
        None,  # type: ignore[arg-type]
        service,
        measured,
        seed=1,
        on=LocalPlace(),
        notify=events.append,
        stop=threading.Event(),
    )
    meter.run()
    return measured, events


def test_the_breaking_point_of_a_service_is_found_and_the_rules_are_lifted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service = Service()
    measured, events = searched(monkeypatch, service, item_of())
    found = measured.search
    assert found is not None
    assert found.outcome == "found"
    # 90 % of 20 ms of its own are 18 ms: 282 ms are left for the network.
    assert found.held is not None
    assert found.broken is not None
    assert found.held <= 282 <= found.broken
    assert service.plan.rules == ()
    shown = [event for event in events if isinstance(event, SearchProgress)]
    assert len(shown) == len(service.loads)
    assert (shown[-1].block.held, shown[-1].block.broken) == (found.held, found.broken)
    assert measured.faults.requests == found.requests == sum(map(arrival_count, service.loads))


def test_the_budget_in_requests_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    measured, _ = searched(monkeypatch, Service(), item_of(budget=3000))
    assert measured.faults.requests <= 3000


def test_a_rate_is_searched_by_loads_of_that_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    item = item_of(vary="load.rps", to=900, **{"from": 100}, rps=None)
    service = Service()
    searched(monkeypatch, service, item)
    rates = [load.rate_rps for load in service.loads]
    assert (rates[0], max(filter(None, rates))) == (100.0, 900.0)


def test_a_block_in_doubt_is_measured_again_and_then_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(late_from=3)
    measured, _ = searched(monkeypatch, service, item_of(to=400))
    found = measured.search
    assert found is not None
    assert found.outcome == "inconclusive"
    assert f"no trustworthy figures were had in {TRIES} tries" in found.reason
    assert "started more than 10 ms late" in found.reason
    assert len(service.loads) == 2 + TRIES


def test_a_block_that_is_in_doubt_once_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service()
    usual = service.run_load

    def late_once(target: object, load: Load, **kwargs: Any) -> LoadResult:
        service._late_from = len(service.loads) + 1 if len(service.loads) == 2 else None
        return usual(target, load, **kwargs)

    measured, _ = searched(monkeypatch, service, item_of(to=290), run_load=late_once)
    assert measured.search is not None
    assert measured.search.outcome == "found"
    assert measured.faults.requests < sum(map(arrival_count, service.loads))


def test_a_fault_that_never_acts_at_the_harmful_end_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    measured, _ = searched(monkeypatch, Service(latency_acts=False), item_of())
    assert measured.search is not None
    assert measured.search.outcome == "inconclusive"
    assert measured.search.reason == "latency never acted at 1000 ms, the harmful end of the range."


def test_a_page_of_errors_at_the_harmless_end_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    measured, _ = searched(monkeypatch, Service(status=404), item_of())
    assert measured.search is not None
    assert measured.search.outcome == "inconclusive"
    assert "no answer was 2xx or 3xx (status 404" in measured.search.reason


def test_a_search_that_is_stopped_keeps_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service()
    usual = service.run_load

    def stopped(target: object, load: Load, **kwargs: Any) -> LoadResult:
        result = usual(target, load, **kwargs)
        return LoadResult(result.tally, 0, 0.0, 1.0, cut_short=len(service.loads) == 3)

    item = item_of()
    measured, _ = searched(monkeypatch, service, item, run_load=stopped)
    found = measured.search
    assert found is not None
    assert (found.outcome, found.reason) == ("inconclusive", STOPPED)
    assert (found.held, found.broken) == (0.0, 1000.0)
    assert service.plan.rules == ()
    assert isinstance(item.strategy, SearchStrategy)
    made = search_item_report(
        item,
        item.strategy,
        SLOS,
        measured,
        service.snapshot(),
        started_at="",
        routes=(),
        cut_short="the run was stopped before its end",
    )
    assert made.verdict == "unfinished"
    assert made.search is not None
    assert [level.decision for level in made.search.levels] == ["held", "broken"]
    # The requests of the block that was cut short decide nothing, but were sent.
    sent = sum(map(arrival_count, service.loads))
    assert made.search.requests == made.run.requests == sent
    assert "Mean: 1000.00 ms" in made.faults[0].description
    assert made.faults[0].description.endswith("searched from 0 ms on")


HTTP_ERROR = {"type": "httperror", "probability": 0}
PAIRS: dict[str, Any] = {
    "vary": [
        {"setting": "faults.latency.mean", "from": 0, "to": 800},
        {"setting": "faults.httperror.probability", "from": 0, "to": 0.8},
    ],
    "from": None,
    "to": None,
    "budget": 20_000,
}


def test_the_frontier_of_two_settings_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request is bad with the probability of errors, and whatever it is above 280 ms of latency."""
    service, item = Service(), item_of(HTTP_ERROR, **PAIRS)
    measured, events = searched(monkeypatch, service, item)
    found = measured.frontier
    assert found is not None
    assert (found.outcome, found.reason) == ("found", "")
    for row in found.rows:
        for pair in row:
            latency_ms, probability = pair.values
            if probability != 0.1:  # Those are at the objective itself.
                expected = "held" if latency_ms <= 280 and probability < 0.1 else "broken"
                assert pair.decision == expected, pair
    assert service.plan.rules == ()
    assert measured.faults.requests == found.requests <= 20_000
    shown = [event for event in events if isinstance(event, FrontierProgress)]
    assert len(shown) == len(service.loads)
    assert shown[-1].units == ("ms", "")
    assert isinstance(item.strategy, SearchStrategy)
    made = search_item_report(
        item, item.strategy, SLOS, measured, service.snapshot(), started_at="", routes=(), cut_short=None
    )
    assert (made.verdict, made.search) == ("passed", None)
    assert made.frontier is not None
    assert len(made.frontier.pairs) == 81
    assert made.strategy.stepped == "faults.latency.mean and faults.httperror.probability"
    assert [fault.description.rpartition(";")[2] for fault in made.faults] == [
        " searched from 0 ms on",
        " searched from 0 on",
    ]
    assert made.warnings[-1].startswith("Nothing can be expected of a search of two settings")


def test_a_fault_of_a_pair_must_act_where_the_other_setting_is_harmless(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measured, _ = searched(monkeypatch, Service(latency_acts=False), item_of(HTTP_ERROR, **PAIRS))
    assert measured.frontier is not None
    assert measured.frontier.outcome == "inconclusive"
    assert measured.frontier.reason == "latency never acted at 800 ms, the harmful end of the range."


def test_a_pair_in_doubt_is_given_up_with_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    measured, _ = searched(monkeypatch, Service(late_from=2), item_of(HTTP_ERROR, **PAIRS))
    found = measured.frontier
    assert found is not None
    assert found.outcome == "inconclusive"
    assert found.reason.startswith("At 200 ms and 0.1 no trustworthy figures were had")
    assert found.rows[0][0].decision == "held"
