"""Real runs of scenarios: a service, proxies in a separate process, load, and the report."""

from __future__ import annotations

import os
import signal
import ssl
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trustme

from faultkit.base.address import Endpoint, ProxyMap, UpstreamSet, parse_map
from faultkit.base.errors import InputError, RunError, TargetError
from faultkit.faults.connection.refuse import Refuse
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.latency import Latency
from faultkit.load.expectation import Expectation
from faultkit.load.load import Load
from faultkit.load.local_workers import LocalPlace, LocalWorker
from faultkit.load.slo import Slo, parse_slo
from faultkit.load.split import Part
from faultkit.plan import Match, Rule, Trigger, parse_schedule
from faultkit.scenario.report.report_model import ItemReport
from faultkit.scenario.run_events import (
    CallProgress,
    ItemBegan,
    ItemEnded,
    LoadProgress,
    PhaseBegan,
    RunEvent,
)
from faultkit.scenario.scenario_model import (
    HttpCall,
    LoadStrategy,
    RepeatStrategy,
    Scenario,
    ScenarioItem,
    SingleStrategy,
    Strategy,
    WrittenFault,
)
from faultkit.scenario.scenario_run import RunOutcome, RunSettings, run_scenarios
from tests.proxy.origin import Origin, serving
from tests.proxy.wires import listening

SLOW = WrittenFault("latency", Rule("latency", Latency(mean_ms=40.0)))
REFUSING = WrittenFault("httperror", Rule("http_error", HttpError(status=503)))


ONCE = SingleStrategy()
OK = Expectation(status=200)
GATE = Expectation(all_slo_are_valid=True)
USUAL = RunSettings()


def held(ran: ItemReport) -> bool:
    """Return whether the item passed, or is inconclusive only because this machine is busy."""
    return ran.verdict == "passed" or (
        ran.verdict == "inconclusive" and all("late" in reason for reason in ran.reasons)
    )


def url(origin: Origin) -> str:
    return f"http://{origin.endpoint}/x"


def item(
    url: str, *faults: WrittenFault, strategy: Strategy = ONCE, expect: Expectation = OK
) -> ScenarioItem:
    return ScenarioItem(HttpCall("GET", url, timeout_s=5.0), faults, strategy, expect=expect)


def load(seconds: float, rate: float) -> LoadStrategy:
    return LoadStrategy(Load(seconds, rate, keep_alive=False), 1, rate)


def run(item: ScenarioItem, settings: RunSettings = USUAL, **others: object) -> ItemReport:
    outcome = run_scenarios([Scenario("one", (item,))], settings, **others)  # type: ignore[arg-type]
    (ran,) = outcome.report.items
    return ran


def test_a_single_call_meets_the_fault() -> None:
    with serving() as origin:
        ran = run(item(url(origin), SLOW))
    assert held(ran)
    assert (ran.run.requests, ran.faults[0].injected, ran.injection.connections) == (1, 1, 1)
    assert ran.calls[0].total_ms >= 40
    assert ran.calls[0].met is True
    assert origin.seen == [("GET", "/x", str(origin.endpoint))]


def test_repeat_steps_the_fault_and_its_baseline_call_has_none() -> None:
    repeat = RepeatStrategy(step=30.0, count=3, stepped=((0, "mean_ms"),), add_baseline_call=True)
    with serving() as origin:
        ran = run(item(url(origin), SLOW, strategy=repeat))
    assert [(call.baseline, call.stepped_value) for call in ran.calls] == [
        (True, None),
        (False, 40.0),
        (False, 70.0),
        (False, 100.0),
    ]
    assert [call.total_ms >= (call.stepped_value or 0) for call in ran.calls] == [True] * 4
    assert ran.faults[0].injected == 3
    assert ran.run.requests == 3


def test_failfast_ends_a_repeat_at_the_first_miss() -> None:
    expect = Expectation(status=204)
    repeat = RepeatStrategy(step=0.0, count=3, stepped=())
    with serving() as origin:
        patient = run(item(url(origin), SLOW, strategy=repeat, expect=expect))
        hasty = run(
            item(url(origin), SLOW, strategy=RepeatStrategy(0.0, 3, (), failfast=True), expect=expect)
        )
    assert (len(patient.calls), patient.expectation_failures, held(patient)) == (3, 3, False)
    assert (len(hasty.calls), hasty.expectation_failures, held(hasty)) == (1, 1, False)


def test_a_load_ends_when_its_objective_is_decided() -> None:
    planned = LoadStrategy(Load(60.0, 40.0, keep_alive=False), 1, 40.0, ends_early=True)
    settings = replace(USUAL, baseline=False, slos=(parse_slo("availability:50"),))
    with serving() as origin:
        ran = run(item(url(origin), SLOW, strategy=planned, expect=Expectation()), settings)
    assert ran.slos[0].passed is True
    assert 0 < ran.run.requests < 60 * 40 / 2
    assert any(text.startswith("The load ended after") for text in ran.warnings)


def test_a_load_runs_without_the_fault_and_then_with_it() -> None:
    events: list[RunEvent] = []
    with serving() as origin:
        ran = run(item(url(origin), SLOW, strategy=load(0.5, 40.0)), notify=events.append)
    assert ran.baseline is not None
    assert (ran.baseline.requests, ran.run.requests) == (20, 20)
    assert ran.run.response.min_ms >= 40
    assert [difference.name for difference in ran.impact] == ["mean", "p50", "p95", "p99", "errors"]
    assert ran.impact[1].difference > 20
    assert ran.faults[0].injected == 20
    assert len(origin.seen) == 40
    kinds = [type(event) for event in events if not isinstance(event, LoadProgress)]
    assert kinds == [ItemBegan, PhaseBegan, PhaseBegan, ItemEnded]


def test_without_a_baseline_there_is_no_impact() -> None:
    with serving() as origin:
        ran = run(item(url(origin), SLOW, strategy=load(0.2, 20.0)), RunSettings(baseline=False))
    assert (ran.baseline, ran.impact, len(origin.seen)) == (None, (), 4)


def test_a_fault_that_acts_by_the_clock_begins_with_the_load() -> None:
    middle = Rule("latency", Latency(mean_ms=200.0), schedule=parse_schedule("start:50%"))
    with serving() as origin:
        ran = run(
            item(url(origin), WrittenFault("latency", middle), strategy=load(1.0, 40.0)),
            RunSettings(baseline=False),
        )
    assert ran.faults[0].windows == ((0.5, 1.0),)
    assert 10 <= ran.faults[0].injected <= 30  # Nominally 20; requests near the edge may be either.


def test_http_faults_act_on_plain_calls() -> None:
    with serving() as origin:
        ran = run(item(url(origin), REFUSING))
    assert ran.verdict == "failed"
    assert "1 of 1 call missed the expectation, first: status: expected 200, got 503" in ran.reasons
    assert ran.run.failures == {"status_5xx": 1}


def test_faults_on_an_unused_map_are_not_exercised() -> None:
    with serving() as origin, listening() as unused:
        dependency = Endpoint("127.0.0.1", unused.getsockname()[1])
        given = ScenarioItem(
            HttpCall("GET", url(origin)),
            (SLOW,),
            expect=Expectation(status=200),
            maps=(ProxyMap(Endpoint("127.0.0.1", 0), dependency),),
        )
        ran = run(given)
    assert ran.verdict == "not exercised"
    assert ran.reasons == ("latency never acted: no request met it",)


def test_a_port_that_is_shut_and_that_nothing_uses_is_not_exercised() -> None:
    shut = WrittenFault("refuse", Rule("refuse", Refuse()))
    with serving() as origin, listening() as unused:
        dependency = Endpoint("127.0.0.1", unused.getsockname()[1])
        given = ScenarioItem(
            HttpCall("GET", url(origin)),
            (shut,),
            load(0.2, 20.0),
            expect=Expectation(status=200),
            maps=(ProxyMap(Endpoint("127.0.0.1", 0), dependency),),
        )
        ran = run(given)
    assert (ran.verdict, ran.faults[0].injected) == ("not exercised", 0)


def test_a_port_that_is_shut_to_the_calls_themselves_has_acted() -> None:
    shut = WrittenFault("refuse", Rule("refuse", Refuse()))
    with listening() as free:
        port = free.getsockname()[1]
    with serving() as origin:
        given = ScenarioItem(
            HttpCall("GET", f"http://127.0.0.1:{port}/x", timeout_s=5.0),
            (shut,),
            expect=Expectation(status=200),
            maps=(ProxyMap(Endpoint("127.0.0.1", port), origin.endpoint),),
        )
        ran = run(given)
    assert (ran.verdict, ran.faults[0].injected) == ("failed", 1)


def test_upstreams_that_do_not_cover_the_call_leave_it_alone() -> None:
    given = RunSettings(listen=Endpoint("127.0.0.1", 0))
    with serving() as origin:
        call = item(url(origin), SLOW)
        ran = run(
            ScenarioItem(
                call.call, call.faults, expect=call.expect, upstreams=UpstreamSet.parse(["other.test"])
            ),
            given,
        )
    assert (ran.verdict, ran.run.errors) == ("not exercised", 0)


def test_slos_of_an_item_gate_only_if_asked_and_those_of_the_settings_always() -> None:
    promised = Slo("latency", "99% @ 1ms", 99.0, 1.0)
    with serving() as origin:
        told = run(replace(item(url(origin), SLOW), slos=(promised,)))
        asked = run(replace(item(url(origin), SLOW, expect=GATE), slos=(promised,)))
        gated = run(item(url(origin), SLOW, expect=GATE), RunSettings(slos=(promised,)))
    assert held(told)
    assert told.slos[0].passed is False
    for failed in (asked, gated):
        assert failed.verdict in ("failed", "inconclusive")
        assert 'SLO "99% @ 1ms" was missed' in failed.reasons


def test_a_gate_without_an_objective_is_refused_before_anything_is_run() -> None:
    with serving() as origin, pytest.raises(InputError, match=r"one: items\[0\].expect.all_slo_are_valid"):
        run(item(url(origin), SLOW, expect=GATE))
    assert origin.seen == []


def test_a_service_that_fails_without_faults_fails_its_baseline_call() -> None:
    repeat = RepeatStrategy(0.0, 3, (), failfast=True, add_baseline_call=True)
    with serving() as origin:
        ran = run(item(url(origin), strategy=repeat, expect=Expectation(status=204)))
    assert (ran.verdict, len(ran.calls)) == ("failed", 1)
    assert ran.reasons == ("the baseline call, without faults, missed it: status: expected 204, got 200",)


def test_a_dead_proxy_ends_the_run_at_once_and_keeps_finished_items() -> None:
    killed: list[int] = []

    def kill_plane(event: RunEvent) -> None:
        if isinstance(event, LoadProgress) and not killed:
            killed.append(_plane())
            os.kill(killed[0], signal.SIGKILL)

    with serving() as origin:
        first = item(url(origin), SLOW)
        second = item(url(origin), SLOW, strategy=load(3600.0, 20.0))
        outcome = run_scenarios([Scenario("three", (first, second, first))], USUAL, kill_plane)
    done, broken = outcome.report.items
    assert held(done)
    assert broken.verdict == "unfinished"
    assert broken.reasons[0].endswith("the proxy's process was ended by SIGKILL")
    assert isinstance(outcome.trouble, RunError)
    assert outcome.report.partial == str(outcome.trouble)


def _plane() -> int:
    """Return the process of the plane: the first child of ours; load workers start later."""
    tasks = Path("/proc/self/task").glob("*/children")
    children = [int(pid) for each in tasks for pid in each.read_text().split()]
    # Another test may have left one of multiprocessing, which tracks resources to the end.
    return min(pid for pid in children if b"child_process" in Path(f"/proc/{pid}/cmdline").read_bytes())


def test_the_same_seed_injects_the_same_delays() -> None:
    chancy = WrittenFault("latency", Rule("latency", Latency(mean_ms=50.0, stddev_ms=20.0)))
    repeat = RepeatStrategy(step=0.0, count=2, stepped=())
    with serving() as origin:
        runs = [run(item(url(origin), chancy, strategy=repeat), RunSettings(seed=seed)) for seed in (7, 7)]
    assert runs[0].faults == runs[1].faults


def test_an_unavailable_target_is_reported_and_the_others_are_run() -> None:
    with listening() as gone:
        port = gone.getsockname()[1]
    with serving() as origin:
        scenario = Scenario("two", (item(f"http://127.0.0.1:{port}/", SLOW), item(url(origin), SLOW)))
        outcome = run_scenarios([scenario], RunSettings())
    missing, there = outcome.report.items
    assert missing.verdict == "unfinished"
    assert held(there)
    assert str(outcome.trouble) == f"cannot reach 127.0.0.1:{port}: Connection refused"
    assert outcome.report.partial == str(outcome.trouble)
    assert not outcome.report.all_passed


def untrusted() -> ssl.SSLContext:
    """Return a context with a certificate for localhost, of an authority that is not known."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("localhost").configure_cert(context)
    return context


@pytest.mark.parametrize("fault", [SLOW, REFUSING])
def test_a_target_whose_certificate_is_not_trusted_is_named_with_the_reason(fault: WrittenFault) -> None:
    with serving(untrusted()) as origin:
        name = f"localhost:{origin.endpoint.port}"
        given = Scenario("one", (item(f"https://{name}/x", fault),))
        outcome = run_scenarios([given], USUAL)
        (trusting,) = run_scenarios([given], RunSettings(verify=False)).report.items
    assert isinstance(outcome.trouble, TargetError)
    (reason,) = outcome.report.items[0].reasons
    assert reason.startswith(f"cannot reach {name}: TLS: the certificate is not trusted: ")
    assert reason.endswith(" (--cacert names an authority, --insecure checks none)")
    assert trusting.faults[0].injected == 1


def test_a_map_whose_upstream_has_no_trusted_certificate_gets_a_warning(closed_port: int) -> None:
    with serving(untrusted()) as secure, serving() as origin:
        given = parse_map(f"{closed_port}=https://localhost:{secure.endpoint.port}")
        through = replace(item(url(origin), SLOW), maps=(given,))
        (warning,) = run(through).warnings
        assert run(through, RunSettings(verify=False)).warnings == ()
    start = f"Map {closed_port}: cannot reach localhost:{secure.endpoint.port}: TLS: the certificate is not "
    assert warning.startswith(start)
    assert "--cacert" in warning


def test_a_taken_port_is_reported() -> None:
    with serving() as origin, listening() as taken:
        port = taken.getsockname()[1]
        outcome = run_scenarios(
            [Scenario("one", (item(url(origin), SLOW),))], RunSettings(listen=Endpoint("127.0.0.1", port))
        )
    assert isinstance(outcome.trouble, TargetError)
    assert f"cannot listen on 127.0.0.1:{port}" in str(outcome.trouble)


def stopped(given: ScenarioItem, when: type[RunEvent]) -> RunOutcome:
    stop = threading.Event()

    def watch(event: RunEvent) -> None:
        if isinstance(event, when):
            stop.set()

    return run_scenarios([Scenario("one", (given, given))], RunSettings(), watch, stop)


@pytest.mark.parametrize("when", [PhaseBegan, LoadProgress])
def test_a_stopped_load_keeps_its_figures_and_is_unfinished(when: type[RunEvent]) -> None:
    with serving() as origin:
        outcome = stopped(item(url(origin), SLOW, strategy=load(30.0, 20.0)), when)
    (ran,) = outcome.report.items
    assert (ran.verdict, outcome.report.partial) == ("unfinished", "it was stopped")


def test_a_repeat_that_is_stopped_keeps_its_calls() -> None:
    with serving() as origin:
        repeat = RepeatStrategy(step=0.0, count=50, stepped=(), wait_s=0.01)
        outcome = stopped(item(url(origin), SLOW, strategy=repeat), CallProgress)
    (ran,) = outcome.report.items
    assert (ran.verdict, len(ran.calls)) == ("unfinished", 1)


def test_rules_for_one_map_leave_the_other_alone() -> None:
    rule = Rule("latency", Latency(mean_ms=40.0), Match.only("http"))
    with serving() as origin:
        ran = run(item(url(origin), WrittenFault("latency", rule)))
    assert ran.faults[0].injected == 1


def test_each_item_has_its_own_luck_and_the_same_one_again() -> None:
    chancy = WrittenFault("httperror", replace(REFUSING.rule, trigger=Trigger(probability=0.5)))
    with serving() as origin:
        given = item(url(origin), chancy, strategy=RepeatStrategy(0.0, 8, ()))
        runs = [run_scenarios([Scenario("luck", (given,) * 2)], USUAL).report.items for _ in range(2)]
    met = [[tuple(call.status for call in ran.calls) for ran in items] for items in runs]
    assert met[0] == met[1]
    assert len({*met[0]}) > 1


def test_the_schedule_of_a_repeat_counts_from_its_first_call() -> None:
    late = Rule("http_error", HttpError(status=503), schedule=parse_schedule("start:300ms"))
    with serving() as origin:
        repeat = RepeatStrategy(step=0.0, count=5, stepped=(), wait_s=0.1)
        ran = run(item(url(origin), WrittenFault("httperror", late), strategy=repeat))
    assert (ran.calls[0].status, ran.calls[-1].status) == (200, 503)


def test_a_call_that_is_stopped_does_not_wait_for_its_answer() -> None:
    silent = WrittenFault("blackhole", Rule("blackhole", Blackhole()))
    with serving() as origin:
        outcome = stopped(item(url(origin), silent), PhaseBegan)
    (ran,) = outcome.report.items
    assert (ran.verdict, ran.calls) == ("unfinished", ())


def test_a_lost_worker_is_in_the_report_and_decides_what_can_be_judged() -> None:
    half = Slo("availability", "half", 40, None)
    most = Slo("availability", "most", 95, None)
    workers: list[int] = []
    killed: list[int] = []

    class Known(LocalPlace):
        def start(self, segments: Sequence[Part[Any]]) -> Sequence[LocalWorker]:
            started = LocalPlace(2).start(segments)
            workers.extend(worker.pid for worker in started)
            return started

    def kill(event: RunEvent) -> None:
        if isinstance(event, LoadProgress) and event.progress.elapsed_s > 0.2 and not killed:
            killed.append(workers[1])
            os.kill(killed[0], signal.SIGKILL)

    with serving() as origin:
        settings = RunSettings(baseline=False, on=Known(2), slos=(half, most))
        ran = run(item(url(origin), SLOW, strategy=load(1.0, 40.0)), settings, notify=kill)
    (degraded,) = ran.degraded
    (lost,) = degraded.lost
    assert (degraded.phase, degraded.planned, degraded.measured) == ("faults", 40, ran.run.requests)
    assert (lost.why, lost.planned) == ("it was ended by SIGKILL", 20)
    assert [result.passed for result in ran.slos] == [True, None]
    assert (ran.verdict, ran.reasons[0]) == ("inconclusive", 'SLO "most" could not be judged')


def test_a_target_that_dies_mid_run_is_refused_and_does_not_answer_502() -> None:
    with serving() as origin:

        def die(event: RunEvent) -> None:
            if isinstance(event, LoadProgress) and event.progress.done > 3:
                origin.shutdown()
                origin.server_close()

        ran = run(item(url(origin), SLOW, strategy=load(1.5, 20.0)), RunSettings(baseline=False), notify=die)
    assert ran.run.failures.get("refused", 0) > 0
    assert "status_5xx" not in ran.run.failures
    assert 502 not in ran.run.statuses
    assert ran.verdict in ("failed", "inconclusive")
