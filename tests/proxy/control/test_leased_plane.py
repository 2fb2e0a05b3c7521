"""The plane behind a control API, held by a lease: a real plane, a real API, and a client that is cut off."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from faultkit import __version__
from faultkit.base.address import Endpoint
from faultkit.base.certificates import add_certificate, client_context, mutual_tls
from faultkit.base.errors import TargetError
from faultkit.faults.stream.latency import Latency
from faultkit.plan import Plan, Rule, Trigger, parse_schedule, read_plan
from faultkit.proxy.control import leased_plane
from faultkit.proxy.control.control_client import ControlClient
from faultkit.proxy.control.control_server import ControlServer
from faultkit.proxy.control.leased_plane import LeasedPlane, LeaseLost
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.plane import Plane
from faultkit.proxy.remote import Planes
from tests.proxy.control.certificates import Certificates
from tests.proxy.wires import connect, read_exactly

TOKEN = "for-tests-only"
BEFORE = read_plan("seed: 3\nrules: [{fault: jitter}]")
SLOW = Plan((Rule("slow", Latency(mean_ms=1.0)),), 5)
PATIENCE_S = 20.0


class FakeClock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class There:
    """What runs on the other machine."""

    plane: Plane
    control: ControlServer
    proxy: Endpoint
    clock: FakeClock

    @property
    def client(self) -> ControlClient:
        return ControlClient(f"http://{self.control.bound}", TOKEN)

    def names(self) -> list[str]:
        return [rule.name for rule in self.plane.plan.rules]

    def talk(self) -> None:
        with connect(self.proxy) as client:
            client.sendall(b"ping")
            assert read_exactly(client, 4) == b"ping"


@pytest.fixture
def there(echo: Endpoint) -> Iterator[There]:
    with Plane(BEFORE) as plane:
        proxy = plane.open_proxy(ProxySpec("db", Endpoint("127.0.0.1", 0), echo))
        clock = FakeClock()
        with ControlServer(plane, Endpoint("127.0.0.1", 0), TOKEN, clock) as control:
            yield There(plane, control, proxy, clock)


def test_the_rules_of_an_item_act_and_then_the_plan_of_before_returns(there: There) -> None:
    with LeasedPlane(there.client) as plane:
        assert [(each.name, each.listen) for each in plane.proxies] == [("db", there.proxy)]
        with plane.item():
            assert there.names() == []
            plane.set_plan(SLOW)
            assert there.plane.plan == SLOW
        assert there.names() == []
    assert there.plane.plan == BEFORE
    assert there.client.status()["lease"] is None


def test_the_counters_of_an_item_begin_with_it(there: There) -> None:
    there.talk()
    with LeasedPlane(there.client) as plane:
        for count in (1, 2):
            with plane.item():
                plane.set_plan(SLOW)
                for _ in range(count):
                    there.talk()
                snapshot, lateness = plane.measured()
            (proxy,) = snapshot.proxies
            assert (proxy.accepted, proxy.to_client_bytes) == (count, 4 * count)
            assert snapshot.injected["slow"] == count
            assert snapshot.lateness == lateness.summary()
            assert 0 < lateness.summary().count <= there.plane.snapshot().lateness.count
    assert there.plane.snapshot().injected["slow"] == 3


def test_shares_of_a_run_become_seconds_and_schedules_begin_with_the_run(there: There) -> None:
    half = Plan((Rule("slow", Latency(), schedule=parse_schedule("start:50%,duration:25%")),))
    with LeasedPlane(there.client) as plane, plane.item():
        plane.set_plan(half, total_s=40.0)
        (rule,) = there.plane.plan.rules
        assert str(rule.schedule) == "start:20s,duration:10s"
        assert there.plane.snapshot().acting == ()
        plane.set_plan(Plan())
        plane.set_plan(half, total_s=40.0, origin=time.monotonic() - 25.0)
        assert there.plane.snapshot().acting == ("slow",)


def test_rules_without_a_schedule_act_before_the_run_begins(there: There) -> None:
    with LeasedPlane(there.client) as plane, plane.item():
        plane.set_plan(SLOW, total_s=40.0, origin=time.monotonic() + 60.0)
        assert there.plane.snapshot().acting == ("slow",)


def test_a_second_run_is_refused_and_changes_nothing(there: There) -> None:
    with LeasedPlane(there.client) as plane, plane.item():
        plane.set_plan(SLOW)
        with pytest.raises(TargetError, match=r"^the run \".+\" holds the plan for another 1"):
            LeasedPlane(there.client).__enter__()
        assert there.plane.plan == SLOW


def test_a_run_that_is_renewed_outlives_the_time_of_its_lease(there: There) -> None:
    renewed = threading.Semaphore(0)

    class Counting(ControlClient):
        def change_lease(self, *args: object, **named: object) -> dict[str, object]:
            answer = super().change_lease(*args, **named)  # type: ignore[arg-type]
            if len(args) == 2:  # Without a plan.
                renewed.release()
            return answer

    with LeasedPlane(Counting(there.client.url, TOKEN), ttl_s=0.9) as plane, plane.item():
        plane.set_plan(SLOW)
        for _ in range(2):
            assert renewed.acquire(timeout=PATIENCE_S)
            there.clock.now += 0.8
            there.control.tick()
        assert (plane.lost, there.names()) == (None, ["slow"])


def test_a_lease_that_was_ended_there_is_lost_and_the_next_item_takes_another(there: There) -> None:
    with LeasedPlane(there.client) as plane:
        with plane.item():
            plane.set_plan(SLOW)
            lease = there.client.status()["lease"]["id"]
            there.client.end_lease(lease)
            with pytest.raises(LeaseLost, match="has ended"):
                plane.measured()
            why = plane.lost
            assert why
            with pytest.raises(LeaseLost):
                plane.set_plan(SLOW)
        with plane.item():
            plane.set_plan(SLOW)
            assert (plane.lost, there.names()) == (None, ["slow"])
    assert there.plane.plan == BEFORE


def test_an_api_that_cannot_be_reached_any_more_is_noticed_without_a_call(echo: Endpoint) -> None:
    with Plane(BEFORE) as there:
        control = ControlServer(there, Endpoint("127.0.0.1", 0), TOKEN)
        with control:
            plane = LeasedPlane(ControlClient(f"http://{control.bound}", TOKEN), ttl_s=0.3)
            plane.__enter__()
        waited = threading.Event()
        for _ in range(int(PATIENCE_S / 0.05)):
            if plane.lost is not None or waited.wait(0.05):
                break
        assert plane.lost is not None
        assert plane.lost.startswith(f"the control API at http://{control.bound} cannot be reached") or (
            plane.lost == f"the lease at http://{control.bound} could not be renewed in time"
        )
        plane.__exit__()  # Nothing answers: it ends all the same.


def test_an_api_whose_process_has_ended_is_lost_before_the_lease_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("faultkit.proxy.control.leased_plane._RENEWALS", 3000)
    with Plane(BEFORE) as there:
        control = ControlServer(there, Endpoint("127.0.0.1", 0), TOKEN)
        with control:
            plane = LeasedPlane(ControlClient(f"http://{control.bound}", TOKEN), ttl_s=300.0)
            plane.__enter__()
        waited = threading.Event()
        for _ in range(int(PATIENCE_S / 0.05)):
            if plane.lost is not None or waited.wait(0.05):
                break
        assert plane.lost is not None
        assert plane.lost.startswith(f"the control API at http://{control.bound} cannot be reached")
        plane.__exit__()


def test_another_version_is_refused(there: There, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leased_plane, "__version__", "0.0.1")
    with pytest.raises(TargetError) as caught:
        LeasedPlane(there.client).__enter__()
    assert str(caught.value) == (
        f"the control API at {there.client.url}: expected Faultkit 0.0.1, got version {__version__}"
    )
    assert there.client.status()["lease"] is None


def test_rules_that_are_refused_there_are_no_mistake_of_the_file(echo: Endpoint) -> None:
    first = Plan((Rule("slow", Latency(), trigger=Trigger(first=1)),))
    with Planes(BEFORE, workers=2) as workers:
        workers.open_proxy(ProxySpec("db", Endpoint("127.0.0.1", 0), echo))
        with ControlServer(workers, Endpoint("127.0.0.1", 0), TOKEN) as control:
            client = ControlClient(f"http://{control.bound}", TOKEN)
            with LeasedPlane(client) as plane, plane.item():
                with pytest.raises(TargetError, match=r"the rules are refused: rules\[0\].trigger.first"):
                    plane.set_plan(first)
                plane.set_plan(SLOW)
                assert client.status()["acting"] == ["slow"]


@pytest.mark.parametrize("has_certificate", [False, True])
def test_over_tls_a_run_needs_a_certificate(tmp_path: Path, has_certificate: bool) -> None:
    authority = Certificates(tmp_path)
    tls = mutual_tls(*authority.issue("localhost"), authority.ca)
    context = client_context(authority.ca)
    if has_certificate:
        add_certificate(context, *authority.issue("client.test", file="client"))
    with Plane(BEFORE) as there, ControlServer(there, Endpoint("127.0.0.1", 0), TOKEN, tls=tls) as control:
        plane = LeasedPlane(ControlClient(f"https://localhost:{control.bound.port}", TOKEN, context))
        if not has_certificate:
            with pytest.raises(TargetError, match="certificate"):
                plane.__enter__()
            assert there.plan == BEFORE
            return
        with plane, plane.item():
            plane.set_plan(SLOW)
            assert there.plan == SLOW
        assert there.plan == BEFORE
