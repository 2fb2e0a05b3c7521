from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.base.address import Endpoint
from faultkit.faults.connection.refuse import Refuse
from faultkit.faults.stream.latency import Latency
from faultkit.load.expectation import Expectation
from faultkit.load.fold import LostWorker
from faultkit.load.load import Load
from faultkit.load.response import Failure
from faultkit.load.samples import Sample
from faultkit.load.slo import Slo
from faultkit.plan import Rule
from faultkit.proxy.data_plane import Lateness, LatenessSummary, ProxyCounts, Snapshot
from faultkit.scenario.item_report import item_report
from faultkit.scenario.measure import MeasuredCall, Measurements
from faultkit.scenario.report import report_model as report
from faultkit.scenario.report.report_files import RENDERERS
from faultkit.scenario.report.scenario_text import render_item
from faultkit.scenario.scenario_model import (
    HttpCall,
    LoadStrategy,
    RepeatStrategy,
    ScenarioItem,
    WrittenFault,
)
from tests.load.rows import row, tally_of

LOAD = Load(10.0, 10.0)
PLANNED = [row(number / 10) for number in range(100)]
ERROR = row(0.0, failure=Failure.STATUS)._replace(status=500)
REFUSED = row(9.9, failure=Failure.REFUSED)
SLOW = Latency(distribution="uniform", min_ms=10, max_ms=90)


EACH_SECOND = Slo("availability", "each second", 90, None, window_s=1.0)


def assembled(measured: Measurements, gate: Slo = EACH_SECOND, slow: Latency = SLOW) -> report.ItemReport:
    item = ScenarioItem(
        HttpCall("GET", "http://127.0.0.1/"),
        strategy=LoadStrategy(LOAD, 1, 10.0),
        faults=(WrittenFault("latency", Rule("slow", slow)),),
    )
    measured.faults_s = measured.baseline_s = 10.0
    after = Snapshot((), (), {"slow": 100}, LatenessSummary(), 0, 0)
    return item_report(item, measured, after, gates=(gate,), started_at="", routes=(), cut_short=None)


def late_by_3_ms() -> Lateness:
    lateness = Lateness()
    for _ in range(10):
        lateness.record(0.003)
    return lateness


def test_the_allowed_lateness_of_the_proxy_depends_on_the_smallest_delay() -> None:
    close = Slo("latency", "95% @ 96ms", 95, 96.0)  # The answers take 100 ms.
    found = assembled(Measurements(tally_of(*PLANNED), lateness=late_by_3_ms()), close)
    assert found.verdict == "inconclusive"
    assert found.reasons == (
        "10 of 10 releases of the proxy (100.0%) were more than 2 ms late, the 99th percentile 3.0 ms.",
        'SLO "95% @ 96ms" was missed',
    )


@pytest.mark.parametrize(("limit_ms", "verdict"), [(300.0, "passed"), (50.0, "failed")])
def test_lateness_that_is_small_beside_the_margin_is_a_warning(limit_ms: float, verdict: str) -> None:
    far = Slo("latency", "95% in time", 95, limit_ms)
    found = assembled(Measurements(tally_of(*PLANNED), lateness=late_by_3_ms()), far)
    assert found.verdict == verdict
    assert found.warnings == (
        "10 of 10 releases of the proxy (100.0%) were more than 2 ms late, the 99th percentile 3.0 ms. "
        "The verdict does not depend on it.",
    )


def test_a_mean_that_is_not_the_one_asked_for_is_a_warning() -> None:
    found = assembled(Measurements(tally_of(*PLANNED)), slow=Latency(mean_ms=20, stddev_ms=20))
    assert found.warnings == (
        "latency: delays below 0 are drawn again, so that their mean is 25.8 ms, not 20 ms (stddev is over "
        "half of it).",
    )
    assert assembled(Measurements(tally_of(*PLANNED)), slow=Latency(mean_ms=20, stddev_ms=10)).warnings == ()


def test_an_item_of_which_nothing_is_expected_says_that_it_cannot_fail() -> None:
    call = HttpCall("GET", "http://127.0.0.1/")

    def warnings(expect: Expectation, *gates: Slo) -> tuple[str, ...]:
        item = ScenarioItem(call, (), expect=expect)
        nothing = Snapshot((), (), {}, LatenessSummary(), 0, 0)
        measured = Measurements(tally_of(*PLANNED))
        found = item_report(item, measured, nothing, gates=gates, started_at="", routes=(), cut_short=None)
        assert found.verdict == "passed"
        return found.warnings

    assert warnings(Expectation()) == ("Nothing is expected of this item, so it cannot fail.",)
    assert warnings(Expectation(status=200)) == ()
    assert warnings(Expectation(response_time_under_ms=100.0)) == ()
    assert warnings(Expectation(), EACH_SECOND) == ()


@pytest.mark.parametrize(
    ("accepted", "rows", "verdict", "injected"),
    [
        (0, PLANNED, "not exercised", 0),
        (1, PLANNED, "passed", 1),
        (0, [*PLANNED[:-1], REFUSED], "passed", 1),
    ],
)
def test_a_shut_port_counts_only_if_something_uses_it(
    accepted: int, rows: list[Sample], verdict: str, injected: int
) -> None:
    proxy = ProxyCounts("9", Endpoint("127.0.0.1", 9), Endpoint("127.0.0.1", 8), accepted, 0, 0, 0, 0, 1, 0)
    after = Snapshot((proxy,), (), {"shut": 1}, LatenessSummary(), 0, 0)
    item = ScenarioItem(
        HttpCall("GET", "http://127.0.0.1/"), (WrittenFault("refuse", Rule("shut", Refuse())),)
    )
    measured = Measurements(tally_of(*rows), before=after)
    found = item_report(item, measured, after, gates=(EACH_SECOND,), started_at="", routes=(), cut_short=None)
    assert (found.verdict, found.faults[0].injected) == (verdict, injected)
    if not injected:
        assert found.reasons == (
            "refuse never acted: no connection to its port was seen, and a shut port sees none; a baseline "
            "(of a load, or add_baseline_call) shows whether the service uses it",
        )


def test_a_weak_baseline_is_a_warning() -> None:
    found = assembled(Measurements(tally_of(*PLANNED), baseline=tally_of(*PLANNED[:50])))
    assert found.verdict == "passed"
    assert found.warnings == ("Baseline: Only 50 of 100 planned requests (50.0%) were sent.",)


def test_a_second_that_was_dropped_leaves_its_objective_undecided() -> None:
    tally = tally_of(*PLANNED[:30], *PLANNED[40:])
    tally.dropped = 10
    found = assembled(Measurements(tally))
    assert [(each.passed, each.window_start_s) for each in found.slos] == [(None, 3.0)]
    assert found.verdict == "inconclusive"


@pytest.mark.parametrize(
    ("before", "verdict", "reasons"),
    [
        (row(0.0), "passed", ()),
        (
            ERROR,
            "inconclusive",
            ("the baseline call, without faults, got no 2xx or 3xx (status 500)",),
        ),
    ],
)
def test_a_repeat_whose_baseline_call_is_an_error_proves_nothing(
    before: Sample, verdict: str, reasons: tuple[str, ...]
) -> None:
    item = ScenarioItem(
        HttpCall("GET", "http://127.0.0.1/"),
        (WrittenFault("latency", Rule("slow", SLOW)),),
        RepeatStrategy(0.0, 1, (), add_baseline_call=True),
        expect=Expectation(response_time_under_ms=900.0),
    )
    calls = [MeasuredCall(before, True, None, None), MeasuredCall(ERROR, False, None, None)]
    after = Snapshot((), (), {"slow": 1}, LatenessSummary(), 0, 0)
    found = item_report(
        item,
        Measurements(tally_of(ERROR), calls=calls),
        after,
        gates=(),
        started_at="",
        routes=(),
        cut_short=None,
    )
    assert (found.verdict, found.reasons) == (verdict, reasons)


NOTHING = Expectation()


def degraded(
    kept: int,
    *,
    expect: Expectation = NOTHING,
    slow: float = 0.1,
    gates: tuple[Slo, ...] = (),
) -> report.ItemReport:
    """Return the report of a load of 100 requests, of which a lost worker did not report the last ones."""
    item = ScenarioItem(
        HttpCall("GET", "http://127.0.0.1/"), strategy=LoadStrategy(LOAD, 1, 10.0), expect=expect
    )
    rows = [row(number / 10, took_s=slow) for number in range(kept)]
    tally = tally_of(*rows)
    tally.lost = 100 - kept
    tally.misses.add(expect, rows)
    lost = LostWorker("load worker 2 of 2", 4.25, "it was ended by SIGKILL", 50, kept - 50)
    measured = Measurements(tally, faults_s=10.0, faults_lost=(lost,))
    after = Snapshot((), (), {}, LatenessSummary(), 0, 0)
    return item_report(item, measured, after, gates=gates, started_at="", routes=(), cut_short=None)


P90 = Slo("latency", "p90", 90, 300.0)
P50 = Slo("latency", "p50", 50, 300.0)


def test_a_run_that_lost_a_worker_is_degraded_and_judged_where_it_can_be() -> None:
    found = degraded(60, gates=(P50, P90))
    assert found.degraded == (
        report.Degraded(
            "faults", 100, 60, (LostWorker("load worker 2 of 2", 4.25, "it was ended by SIGKILL", 50, 10),)
        ),
    )
    assert [result.passed for result in found.slos] == [True, None]
    assert (found.verdict, found.reasons) == ("inconclusive", ('SLO "p90" could not be judged',))
    assert degraded(60, gates=(P50,)).verdict == "passed"
    assert degraded(60, gates=(P50,), slow=0.5).verdict == "failed"


def test_a_call_that_missed_the_expectation_decides_though_a_worker_was_lost() -> None:
    expect = Expectation(response_time_under_ms=300.0)
    assert degraded(99, expect=expect, slow=0.5).verdict == "failed"
    unknown = degraded(99, expect=expect)
    assert unknown.verdict == "inconclusive"
    assert unknown.reasons == (
        "a worker was lost, so it is not known whether 1 planned call met the expectation",
    )


def test_the_page_shows_a_degraded_run_as_it_is() -> None:
    page = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text("utf-8")
    shown = render_item(degraded(60, gates=(P50, P90)))[:5]
    assert "\n".join(shown).replace("127.0.0.1", "127.0.0.1:7090") in page


def test_every_format_names_who_was_lost_and_when() -> None:
    whole = report.Report(
        "faultkit", "", "", 7, (report.ScenarioReport("one", None, None, 1, (degraded(60, gates=(P90,)),)),)
    )
    for name, render in RENDERERS.items():
        shown = " ".join(render(whole).split()).replace("DEGRADED ", "")
        assert "load worker 2 of 2" in shown, name
        assert "it was ended by SIGKILL" in shown, name
        if name not in (".json", ".yaml", ".yml"):
            assert "was lost 4.2 s after the start" in shown, name
            assert "60 of 100 planned requests were measured" in shown, name
