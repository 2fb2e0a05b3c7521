"""One contract for data planes in a thread, in a process, and in two processes that share their ports."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.address import Endpoint
from faultkit.base.errors import InputError, RunError, TargetError
from faultkit.faults.connection.refuse import Refuse
from faultkit.faults.stream.latency import Latency
from faultkit.plan import Plan, Rule, parse_schedule
from faultkit.proxy import remote
from faultkit.proxy.data_plane import MOST_RECENT, DataPlane, Lateness, LatenessSummary, ProxySpec
from faultkit.proxy.plane import Plane
from faultkit.proxy.plane_events import Closed, Injected, Opened, PlaneEvent, RulesChanged
from faultkit.proxy.remote import PlaneProcess, Planes
from tests.proxy.wires import LOOPBACK, PATIENCE_S, connect, listening, plan_of, read_exactly

Make = Callable[..., DataPlane]


def two_planes(plan: Plan | None = None, **options: Any) -> Planes:
    return Planes(plan, workers=2, **options)


FACES = (
    pytest.param(Plane, id="Plane"),
    # Of such, Planes are made: what it does alone is what it does beside another one.
    pytest.param(PlaneProcess, id="PlaneProcess", marks=pytest.mark.thorough),
    pytest.param(two_planes, id="Planes"),
)
MANY = 24
"""Enough connections that each of two workers gets some, except in one of eight million runs."""
SLOW = plan_of(Latency(mean_ms=1, per="operation"))
ANY_PORT = Endpoint(LOOPBACK, 0)


@pytest.fixture(params=FACES)
def make(request: pytest.FixtureRequest) -> Make:
    face: Make = request.param
    return face


def open_many(stack: ExitStack, proxy: Endpoint) -> list[socket.socket]:
    return [stack.enter_context(connect(proxy)) for _ in range(MANY)]


def ask(client: socket.socket, payload: bytes = b"ping") -> None:
    client.sendall(payload)
    assert read_exactly(client, len(payload)) == payload


def gather(plane: DataPlane, kind: type[PlaneEvent], count: int) -> list[Any]:
    """Wait for a number of events of one kind, and return them."""
    found: list[Any] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} came"
        plane.snapshot()
        found += [event for event in plane.take_events() if isinstance(event, kind)]
    return found


def test_bytes_go_through_and_are_counted(make: Make, echo: Endpoint) -> None:
    with ExitStack() as stack:
        plane = stack.enter_context(make())
        proxy = plane.open_proxy(ProxySpec("db", ANY_PORT, echo))
        for client in open_many(stack, proxy):
            ask(client)
        (counts,) = plane.snapshot().proxies
        assert (counts.name, counts.listen, counts.upstream) == ("db", proxy, echo)
        assert (counts.accepted, counts.live) == (MANY, MANY)
        assert (counts.to_upstream_bytes, counts.to_client_bytes) == (4 * MANY, 4 * MANY)


def test_a_plan_change_acts_on_live_connections_and_is_counted(make: Make, echo: Endpoint) -> None:
    with ExitStack() as stack:
        plane = stack.enter_context(make())
        clients = open_many(stack, plane.open_proxy(ProxySpec("db", ANY_PORT, echo)))
        for client in clients:
            ask(client)
        assert (plane.snapshot().injected, plane.snapshot().lateness.count) == ({}, 0)
        plane.set_plan(SLOW)
        assert plane.plan == SLOW
        for client in clients:
            ask(client)
        after = plane.snapshot()
        assert (after.acting, after.injected) == (("0-latency",), {"0-latency": MANY})
        assert (after.lateness.count, after.lateness.early) == (MANY, 0)
        assert (after.held_bytes, after.dropped_happenings) == (0, 0)


def test_what_happens_is_told_in_order_and_each_connection_has_its_own_number(
    make: Make, echo: Endpoint
) -> None:
    with ExitStack() as stack:
        plane = make(SLOW, observed=True)
        with plane:
            clients = open_many(stack, plane.open_proxy(ProxySpec("db", ANY_PORT, echo)))
            for client in clients:
                ask(client)
            opened = gather(plane, Opened, MANY)
            assert len({event.connection for event in opened}) == MANY
            assert [event.at for event in opened] == sorted(event.at for event in opened)
            ports = {client.getsockname()[1] for client in clients}
            assert {int(event.client.rpartition(":")[2]) for event in opened} == ports
        assert sum(isinstance(event, Closed) for event in plane.take_events()) == MANY
        assert plane.take_events() == []


def test_being_observed_can_begin_and_end(make: Make, echo: Endpoint) -> None:
    with make(SLOW) as plane:
        proxy = plane.open_proxy(ProxySpec("db", ANY_PORT, echo))
        with connect(proxy) as client:
            ask(client)
            assert plane.take_events() == []
            assert not plane.observed
            plane.observed = True
            assert plane.observed
            ask(client)
            (injected,) = gather(plane, Injected, 1)
            assert (injected.rule, injected.effect) == ("0-latency", "delay_ms")
            plane.observed = False
            ask(client)
            plane.snapshot()
            assert plane.take_events() == []


def test_a_schedule_begins_once_for_all(make: Make) -> None:
    rule = Rule("later", Latency(mean_ms=1), schedule=parse_schedule("start:300ms"))
    with make(observed=True) as plane:
        plane.set_plan(Plan((rule,), 7))
        changes = gather(plane, RulesChanged, 2)
        assert [change.active for change in changes] == [(), ("later",)]
        assert plane.snapshot().acting == ("later",)


def test_a_schedule_may_count_from_another_instant(make: Make) -> None:
    past = Rule("past", Latency(mean_ms=1), schedule=parse_schedule("start:1h"))
    future = Rule("future", Latency(mean_ms=1), schedule=parse_schedule("duration:1h"))
    with make() as plane:
        plane.set_plan(Plan((past,), 7), origin=time.monotonic() - 3600)
        assert plane.snapshot().acting == ("past",)
        plane.set_plan(Plan((future,), 7), origin=time.monotonic() + 3600)
        assert plane.snapshot().acting == ()


def test_a_schedule_counts_from_the_making_of_the_plane(make: Make) -> None:
    rule = Rule("early", Latency(mean_ms=1), schedule=parse_schedule("duration:1us"))
    with make(Plan((rule,), 7)) as plane:
        assert plane.snapshot().acting == ()


def test_a_port_in_use_is_a_target_error_and_leaves_nothing(make: Make) -> None:
    with listening() as taken, make() as plane:
        port = taken.getsockname()[1]
        with pytest.raises(TargetError, match=f"late: cannot listen on 127.0.0.1:{port}: Address already in"):
            plane.open_proxy(ProxySpec("late", Endpoint(LOOPBACK, port), Endpoint(LOOPBACK, 9)))
        assert plane.snapshot().proxies == ()


def test_a_port_of_another_plane_is_in_use(make: Make, echo: Endpoint) -> None:
    with make() as first, make() as second:
        taken = first.open_proxy(ProxySpec("db", ANY_PORT, echo))
        with pytest.raises(TargetError, match="Address already in use"):
            second.open_proxy(ProxySpec("db", taken, echo))
        first.close_proxy("db")
        assert second.open_proxy(ProxySpec("db", taken, echo)) == taken


def test_a_name_can_be_taken_once(make: Make, echo: Endpoint) -> None:
    with make() as plane:
        proxy = plane.open_proxy(ProxySpec("twin", ANY_PORT, echo))
        with pytest.raises(InputError) as caught:
            plane.open_proxy(ProxySpec("twin", ANY_PORT, echo))
        assert (caught.value.path, caught.value.problem) == ("proxy", 'the name "twin" is taken')
        with ExitStack() as stack:
            for client in open_many(stack, proxy):
                ask(client)


def test_a_disabled_proxy_refuses_and_an_enabled_one_serves_again(make: Make, echo: Endpoint) -> None:
    with ExitStack() as stack:
        plane = stack.enter_context(make())
        proxy = plane.open_proxy(ProxySpec("db", ANY_PORT, echo))
        clients = open_many(stack, proxy)
        for client in clients:
            ask(client)
        plane.set_enabled("db", False)
        assert [client.recv(1) for client in clients] == [b""] * MANY
        for _ in range(MANY):
            with pytest.raises(ConnectionRefusedError):
                connect(proxy)
        plane.set_enabled("db", True)
        for client in open_many(stack, proxy):
            ask(client)


def test_refuse_shuts_the_port_everywhere(make: Make, echo: Endpoint) -> None:
    with make(plan_of(Refuse())) as plane:
        proxy = plane.open_proxy(ProxySpec("db", ANY_PORT, echo))
        for _ in range(MANY):
            with pytest.raises(ConnectionRefusedError):
                connect(proxy)
        seen = plane.snapshot()
        assert (seen.injected, seen.proxies[0].injected) == ({"0-refuse": 1}, 1)
        plane.set_plan(Plan())
        with ExitStack() as stack:
            for client in open_many(stack, proxy):
                ask(client)


def test_a_plan_that_is_refused_changes_nothing(make: Make) -> None:
    share = Rule("share", Latency(), schedule=parse_schedule("start:50%"))
    with make(SLOW) as plane:
        with pytest.raises(InputError, match="percentages need a total duration"):
            plane.set_plan(Plan((share,)))
        with pytest.raises(InputError, match="percentages need a total duration"):
            plane.check_rule(share)
        assert plane.plan == SLOW
        assert plane.snapshot().acting == ("0-latency",)


def test_closing_leaves_no_port_and_may_come_twice(make: Make, echo: Endpoint) -> None:
    with make() as plane:
        proxy = plane.open_proxy(ProxySpec("db", ANY_PORT, echo))
        client = connect(proxy)
        ask(client)
    with client:
        assert client.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        connect(proxy)
    plane.close()
    with pytest.raises(RunError, match="the proxy has ended"):
        plane.snapshot()
    with socket.create_server((LOOPBACK, proxy.port)):
        pass


def test_a_worker_that_dies_is_told_by_the_next_question(echo: Endpoint) -> None:
    with Planes(workers=2) as planes:
        planes.open_proxy(ProxySpec("db", ANY_PORT, echo))
        child = planes._planes[1]._child
        assert child is not None
        os.kill(child.pid, signal.SIGKILL)
        with pytest.raises(RunError, match="the proxy's process 2 of 2 was ended by SIGKILL"):
            planes.snapshot()


@contextmanager
def wedged(planes: Planes) -> Iterator[int]:
    """Stop the second worker with SIGSTOP."""
    child = planes._planes[1]._child
    assert child is not None
    os.kill(child.pid, signal.SIGSTOP)
    yield child.pid
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, signal.SIGCONT)


def test_a_worker_that_does_not_answer_is_an_error_and_is_ended(
    echo: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_PATIENCE_S", 1.0)
    with Planes(workers=2) as planes:
        with wedged(planes), pytest.raises(RunError) as caught:
            planes.snapshot()
        said = "the proxy's process 2 of 2 did not answer within 1 s and was ended"
        assert str(caught.value) == said
        with pytest.raises(RunError, match=said):
            planes.open_proxy(ProxySpec("db", ANY_PORT, echo))


def test_closing_does_not_wait_for_a_worker_that_does_not_answer(
    echo: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_FAREWELL_S", 0.1)
    planes = Planes(workers=2)
    planes.start()
    proxy = planes.open_proxy(ProxySpec("db", ANY_PORT, echo))
    with wedged(planes):
        planes.close()
    with pytest.raises(ConnectionRefusedError):
        connect(proxy)


def lateness_of(micros: list[float]) -> Lateness:
    lateness = Lateness()
    for each in micros:
        lateness.record(each / 1e6)
    return lateness


@pytest.mark.parametrize(
    ("limit_us", "share"), [(0, 0.75), (150, 0.5), (2000, 0.25), (4600, 0.25), (5000, 0.0)]
)
def test_the_share_of_later_releases(limit_us: float, share: float) -> None:
    assert lateness_of([0, 100, 1000, 5000]).share_above(limit_us) == share


def test_of_no_releases_none_is_late() -> None:
    assert Lateness().share_above(0) == 0.0


def test_releases_are_counted_when_many_wait_and_when_a_figure_is_asked_for() -> None:
    lateness = lateness_of([7.5] * MOST_RECENT)
    assert lateness.recent == []
    lateness.record(20.5e-6)
    lateness.record(-1e-6)
    assert len(lateness.recent) == 2
    assert lateness.summary() == LatenessSummary(MOST_RECENT + 2, 8.0, 8.0, 20.5e-6 * 1e6, early=1)
    assert lateness.recent == []


@given(st.lists(st.floats(0, 1e7), min_size=1, max_size=50), st.floats(0, 1e7))
def test_it_is_off_by_no_more_than_the_width_of_a_bucket(micros: list[float], limit_us: float) -> None:
    share = lateness_of(micros).share_above(limit_us) * len(micros)
    assert sum(each > limit_us * 17 / 16 + 1.001 for each in micros) <= round(share)
    assert round(share) <= sum(each >= limit_us - 0.001 for each in micros)
