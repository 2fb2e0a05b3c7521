"""Scenarios whose faults act in a proxy that runs elsewhere: a real one, behind its control API."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from faultkit.base.address import LOOPBACK, Endpoint, UpstreamSet, parse_map
from faultkit.base.errors import FaultkitError, InputError, TargetError
from faultkit.base.process_identity import group_is_alive
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.jitter import Jitter
from faultkit.faults.stream.latency import Latency
from faultkit.load.expectation import Expectation
from faultkit.load.slo import parse_slo
from faultkit.plan import Match, Plan, Rule, dump_plan
from faultkit.proxy.control.control_client import ControlClient
from faultkit.proxy.control.control_server import ControlServer
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.plane import Plane
from faultkit.scenario.control_api import ControlApi
from faultkit.scenario.report.report_model import ItemReport
from faultkit.scenario.run_events import CallProgress, PhaseBegan, RunEvent
from faultkit.scenario.scenario_model import (
    HttpCall,
    RepeatStrategy,
    Scenario,
    ScenarioItem,
    WrittenFault,
)
from faultkit.scenario.scenario_run import RunSettings, run_scenarios
from tests.proxy.origin import Origin, serving

TOKEN = "for-tests-only"
SLOW = WrittenFault("latency", Rule("latency", Latency(mean_ms=20.0)))
ANY = Endpoint(LOOPBACK, 0)
THERE = "AT (there are web, http)"


class FakeClock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class There:
    """What runs beside the service: a map to it, a forward proxy, and their control API."""

    plane: Plane
    control: ControlServer
    clock: FakeClock
    origin: Origin
    map: Endpoint

    @property
    def api(self) -> ControlApi:
        return ControlApi(f"http://{self.control.bound}")

    @property
    def client(self) -> ControlClient:
        return ControlClient(self.api.at, TOKEN)

    def item(
        self, *faults: WrittenFault, at: Endpoint | None = None, through: str | None = None
    ) -> ScenarioItem:
        call = HttpCall("GET", f"http://{at or self.origin.endpoint}/x", timeout_s=5.0)
        return ScenarioItem(call, faults, expect=Expectation(status=200), through=through)

    def run(self, item: ScenarioItem, notify: Callable[[RunEvent], None] = lambda event: None) -> ItemReport:
        outcome = run_scenarios([Scenario("one", (item,), control=self.api)], RunSettings(), notify)
        (ran,) = outcome.report.items
        assert outcome.trouble is None
        return ran

    def is_as_before(self) -> bool:
        return self.plane.plan == Plan() and self.client.status()["lease"] is None


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> Iterator[There]:
    monkeypatch.setenv("FAULT_CONTROL_TOKEN", TOKEN)
    clock = FakeClock()
    with ExitStack() as stack:
        origin = stack.enter_context(serving())
        plane = stack.enter_context(Plane(Plan()))
        bound = plane.open_proxy(ProxySpec("web", ANY, origin.endpoint, speaks="http"))
        plane.open_proxy(ProxySpec("http", ANY, broken=UpstreamSet.parse(["*"])))
        control = stack.enter_context(ControlServer(plane, ANY, TOKEN, clock))
        yield There(plane, control, clock, origin, bound)


def held(ran: ItemReport) -> bool:
    """Return whether the item passed, or is inconclusive only because this machine is busy."""
    late = ran.verdict == "inconclusive" and all("late" in reason for reason in ran.reasons)
    return ran.verdict == "passed" or late


@pytest.mark.parametrize("through", ["web", "http"])
def test_calls_go_through_the_proxy_that_the_item_names(there: There, through: str) -> None:
    ran = there.run(there.item(SLOW, through=through))
    assert held(ran)
    assert (ran.faults[0].injected, ran.injection.connections) == (1, 1)
    assert ran.calls[0].total_ms >= 20
    assert f"{there.map} → {there.origin.endpoint}, at {there.api.at}" in ran.routes
    assert there.is_as_before()


def test_calls_to_the_address_of_a_map_meet_its_faults(there: There) -> None:
    ran = there.run(there.item(SLOW, at=there.map))
    assert held(ran)
    assert ran.faults[0].injected == 1


def test_counters_of_another_run_are_not_those_of_this_one(there: There) -> None:
    for _ in range(2):
        ran = there.run(there.item(SLOW, at=there.map))
        assert (ran.faults[0].injected, ran.injection.connections) == (1, 1)


def test_a_fault_that_no_call_met_is_not_exercised(there: There) -> None:
    ran = there.run(there.item(SLOW))
    assert (ran.verdict, ran.injection.connections) == ("not exercised", 0)


def test_a_repeat_steps_the_fault_there_and_its_baseline_call_has_none(there: There) -> None:
    repeat = RepeatStrategy(step=15.0, count=2, stepped=((0, "mean_ms"),), add_baseline_call=True)
    ran = there.run(replace(there.item(SLOW, at=there.map), strategy=repeat))
    assert [call.stepped_value for call in ran.calls] == [None, 20.0, 35.0]
    assert all(call.total_ms >= (call.stepped_value or 0) for call in ran.calls)
    assert ran.faults[0].injected == 2


def test_a_map_of_the_item_that_is_open_there_is_used_and_not_opened_here(there: There) -> None:
    given = parse_map(f"{there.map.port}=http://{there.origin.endpoint}")
    ran = there.run(replace(there.item(SLOW, at=there.map), maps=(given,)))
    assert held(ran)


def test_an_item_whose_lease_is_lost_is_inconclusive_with_the_reason(there: There) -> None:
    def lose(event: RunEvent) -> None:
        if isinstance(event, CallProgress) and event.done == 1:
            there.client.end_lease(there.client.status()["lease"]["id"])

    repeat = RepeatStrategy(step=0.0, count=3, stepped=())
    ran = there.run(replace(there.item(SLOW, at=there.map), strategy=repeat), lose)
    assert ran.verdict == "inconclusive"
    (reason,) = ran.reasons
    assert reason.startswith("the proxies were out of reach, so what the faults did is not known: ")
    assert (ran.faults[0].injected, ran.injection.connections) == (0, 0)
    assert there.is_as_before()


def test_objectives_of_an_item_whose_lease_is_lost_are_undecided(there: There) -> None:
    def lose(event: RunEvent) -> None:
        if isinstance(event, CallProgress) and event.done == 1:
            there.client.end_lease(there.client.status()["lease"]["id"])

    slos = (parse_slo("error:99:1%"), parse_slo("availability:99:1ms"))
    repeat = RepeatStrategy(step=0.0, count=3, stepped=())
    ran = there.run(replace(there.item(SLOW, at=there.map), strategy=repeat, slos=slos), lose)
    assert ran.verdict == "inconclusive"
    assert [result.passed for result in ran.slos] == [None, None]
    assert all((result.warning or "").startswith("The proxies were out of reach, ") for result in ran.slos)


def test_a_run_that_is_stopped_ends_its_lease(there: There) -> None:
    stop = threading.Event()

    def end(event: RunEvent) -> None:
        if isinstance(event, CallProgress):
            stop.set()

    repeat = RepeatStrategy(step=0.0, count=3, stepped=())
    item = replace(there.item(SLOW, at=there.map), strategy=repeat)
    outcome = run_scenarios([Scenario("one", (item,), control=there.api)], RunSettings(), end, stop)
    assert outcome.report.items[0].verdict == "unfinished"
    assert there.is_as_before()


def test_all_items_of_a_run_have_one_lease(there: There) -> None:
    seen: set[str] = set()

    def note(event: RunEvent) -> None:
        if isinstance(event, PhaseBegan):
            seen.add(there.client.status()["lease"]["id"])

    item = there.item(SLOW, at=there.map)
    scenarios = [
        Scenario("one", (item, item), control=there.api),
        Scenario("two", (item,), control=there.api),
    ]
    outcome = run_scenarios(scenarios, RunSettings(), note)
    assert len(outcome.report.items) == 3
    assert len(seen) == 1


def test_the_given_api_takes_the_place_of_those_in_the_files(there: There) -> None:
    elsewhere = ControlApi("https://nowhere.test:7900")
    item = there.item(SLOW, at=there.map)
    outcome = run_scenarios([Scenario("one", (item,), control=elsewhere)], RunSettings(control=there.api))
    assert held(outcome.report.items[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"through": "db"}, f'proxy.through: expected the name of a proxy at {THERE}, got "db"'),
        (
            {"through": "web", "http_proxy": False},
            "proxy.through: expected none with disable_http_proxies, got both",
        ),
        (
            {"upstreams": UpstreamSet.parse(["a.test"])},
            "upstreams: expected none with the proxy at AT, whose own --upstream names the hosts, got a.test",
        ),
        (
            {"maps": (parse_map("7072=http://a.test:1"),)},
            f"proxy.proxies[0]: expected a proxy that is open at {THERE}, got "
            '"127.0.0.1:7072=http://a.test:1"',
        ),
        (
            {"faults": (SLOW, WrittenFault("latency", Rule("b", Latency(), match=Match(proxy="db*"))))},
            f'faults[1].match.proxy: expected the name of a proxy at {THERE}, got "db*"',
        ),
    ],
)
def test_an_item_that_does_not_fit_is_refused_before_anything_runs(
    there: There, change: dict[str, object], message: str
) -> None:
    item = replace(there.item(SLOW), **change)  # type: ignore[arg-type]
    with pytest.raises(InputError) as caught:
        run_scenarios([Scenario("one", (item,), file="a.yaml", control=there.api)], RunSettings())
    assert str(caught.value) == f"a.yaml: items[0].context.{message.replace('AT', there.api.at)}"
    assert there.origin.seen == []
    assert there.is_as_before()


def test_a_proxy_for_the_calls_needs_a_control_api() -> None:
    item = ScenarioItem(HttpCall("GET", "http://a.test/"), through="web")
    with pytest.raises(InputError) as caught:
        run_scenarios([Scenario("one", (item,))], RunSettings())
    assert str(caught.value) == (
        "one: items[0].context.proxy.through: expected a control API beside it (`proxy` of the scenario, or "
        "--proxy-at), got none"
    )


@pytest.mark.parametrize(
    ("token", "kind", "message"),
    [
        (
            "",
            InputError,
            "one: proxy.token_env: expected the token in the variable FAULT_CONTROL_TOKEN, got n",
        ),
        ("wrong", TargetError, "the control API at {at} wants another token (see FAULT_CONTROL_TOKEN): "),
    ],
)
def test_a_missing_or_wrong_token_is_an_error_before_anything_runs(
    there: There, monkeypatch: pytest.MonkeyPatch, token: str, kind: type[FaultkitError], message: str
) -> None:
    monkeypatch.setenv("FAULT_CONTROL_TOKEN", token)
    with pytest.raises(kind) as caught:
        there.run(there.item(SLOW))
    assert str(caught.value).startswith(message.format(at=there.api.at))
    assert there.origin.seen == []


def test_an_api_that_is_not_there_is_an_error_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, closed_port: int
) -> None:
    monkeypatch.setenv("FAULT_CONTROL_TOKEN", TOKEN)
    scenario = Scenario(
        "one",
        (ScenarioItem(HttpCall("GET", "http://a.test/")),),
        control=ControlApi(f"http://127.0.0.1:{closed_port}"),
    )
    with pytest.raises(TargetError, match=r"cannot be reached: .*refused"):
        run_scenarios([scenario], RunSettings())


COORDINATOR = """
title: A dependency that hangs
proxy: {{at: "{at}"}}
items:
  - call: {{method: GET, url: "http://{map}/x", timeout: 60s}}
    context: {{faults: [{{type: blackhole}}], strategy: {strategy}}}
    expect: {{status: 200}}
"""
LOAD = "{mode: load, duration: 60s, rps: 20}"


def _is_in_baseline(there: There) -> bool:
    return bool(there.origin.seen)


def _has_acted(there: There) -> bool:
    return there.plane.snapshot().injected.get("blackhole", 0) > 0


@pytest.mark.parametrize(
    ("strategy", "moment", "rules"),
    [
        pytest.param(LOAD, _is_in_baseline, [], id="in the baseline of a load"),
        pytest.param("{mode: single}", _has_acted, [Blackhole()], id="while the fault acts"),
    ],
)
def test_a_coordinator_that_is_killed_leaves_no_fault_and_no_process(
    there: There, tmp_path: Path, strategy: str, moment: Callable[[There], bool], rules: list[Blackhole]
) -> None:
    before = Plan((Rule("jitter", Jitter()),))
    there.client.put_plan(dump_plan(before), 0.0)
    file = tmp_path / "hang.yaml"
    file.write_text(COORDINATOR.format(at=there.api.at, map=there.map, strategy=strategy))
    command = [sys.executable, "-m", "faultkit", "scenario", "run", "--no-ui", str(file)]
    running = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        _until(lambda: moment(there) or running.poll() is not None)
        assert running.poll() is None
    finally:
        running.kill()
        running.wait()
    _until(lambda: not group_is_alive(running.pid))
    there.control.tick()
    assert [rule.fault for rule in there.plane.plan.rules] == rules
    there.clock.now += 15.0
    there.control.tick()
    assert there.plane.plan == before
    assert there.run(there.item(at=there.map)).run.statuses == {200: 1}


def _until(is_so: Callable[[], bool]) -> None:
    """Wait until it is so."""
    pause = threading.Event()
    for _ in range(1500):
        if is_so():
            return
        pause.wait(0.02)
    raise AssertionError("it took too long")
