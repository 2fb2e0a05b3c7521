"""Plans that change while bytes flow: by hand, by schedule, and a thousand times under load."""

import socket
from itertools import cycle

import pytest

from faultkit.faults.connection.refuse import Refuse
from faultkit.faults.connection.slow_accept import SlowAccept
from faultkit.faults.fault import Fault
from faultkit.faults.stream.bandwidth import Bandwidth
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.jitter import Jitter
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.limit_data import LimitData
from faultkit.faults.stream.packet_loss import PacketLoss
from faultkit.faults.stream.slicer import Slicer
from faultkit.faults.stream.slow_close import SlowClose
from faultkit.plan import Plan, Rule, Trigger, parse_schedule
from faultkit.proxy.plane_events import Injected, RulesChanged
from tests.proxy.wires import (
    BOTH,
    connect,
    expected_digest,
    joined,
    plan_of,
    read_all,
    read_exactly,
    received_digest,
    send_hashed,
    wired,
)


def test_a_thousand_plan_changes_under_load_lose_no_byte() -> None:
    plans = [
        plan_of(Latency(mean_ms=2, per="operation"), match=BOTH),
        Plan(),
        plan_of(Jitter(amplitude_ms=3, frequency_hz=100), Bandwidth(rate=1, unit="GBps"), match=BOTH),
        plan_of(PacketLoss(rate=0.01, rto_ms=1, rtt_ms=1), Slicer(average_bytes=9000), match=BOTH),
        plan_of(Blackhole(), match=BOTH),
    ]
    total = 200_000_000
    with joined() as (wire, client, server):
        sender = send_hashed(server, total)
        back = send_hashed(client, total // 10)
        for _, plan in zip(range(1000), cycle(plans), strict=False):
            wire.plane.set_plan(plan)
        wire.plane.set_plan(Plan())
        assert received_digest(client) == expected_digest(total)
        assert received_digest(server) == expected_digest(total // 10)
        sender.join()
        back.join()
        assert wire.plane.snapshot().held_bytes == 0


def test_a_schedule_acts_on_a_live_connection() -> None:
    scheduled = Plan((Rule("hole", Blackhole(), schedule=parse_schedule("start:50ms,duration:100ms")),), 7)
    with joined() as (wire, client, server):
        wire.plane.observed = True
        server.sendall(b"before")
        assert read_exactly(client, 6) == b"before"
        wire.plane.set_plan(scheduled)
        changes: list[tuple[str, ...]] = []
        while len(changes) < 3:
            server.sendall(b".")
            changes += [h.active for h in wire.plane.take_events() if isinstance(h, RulesChanged)]
            client.settimeout(5)
            client.recv(4096)
        assert changes == [(), ("hole",), ()]


def test_two_scheduled_faults_of_one_kind_act_side_by_side() -> None:
    rules = (
        Rule("a", Latency(mean_ms=10, per="operation"), schedule=parse_schedule("duration:10s")),
        Rule("b", Latency(mean_ms=20, per="operation"), schedule=parse_schedule("duration:10s;start:20s")),
    )
    with joined(Plan(rules, 1)) as (wire, client, server):
        server.sendall(b"x")
        read_exactly(client, 1)
        assert wire.plane.snapshot().injected == {"a": 1, "b": 1}


def test_refuse_shuts_the_port_and_opens_it_again() -> None:
    with wired() as wire:
        wire.plane.set_plan(plan_of(Refuse()))
        with pytest.raises(ConnectionRefusedError):
            connect(wire.proxy)
        wire.plane.set_plan(Plan())
        client, server = wire.join()
        with client, server:
            client.sendall(b"x")
            assert read_exactly(server, 1) == b"x"


def test_a_rule_that_shuts_the_port_counts_once_at_each_shutting() -> None:
    """The proxy does not see clients that the kernel refuses, so shutting the port counts once."""
    with wired(plan_of(Refuse()), observed=True) as wire:
        plane = wire.plane
        assert plane.snapshot().injected == {"0-refuse": 1}
        plane.set_plan(plan_of(Refuse(), Latency()))
        plane.set_enabled("wire", True)
        assert plane.snapshot().injected["0-refuse"] == 1
        plane.set_plan(Plan())
        plane.set_enabled("wire", False)
        plane.set_plan(plan_of(Refuse()))
        assert plane.snapshot().injected == {"0-refuse": 1, "1-latency": 0}, "it was shut already"
        plane.set_enabled("wire", True)
        assert plane.snapshot().injected["0-refuse"] == 2
        assert plane.snapshot().proxies[0].injected == 2
        told = [h for h in plane.take_events() if isinstance(h, Injected)]
        assert [(h.rule, h.effect, h.connection) for h in told] == [("0-refuse", "port_shut", None)] * 2


def test_a_refusal_of_some_connections_resets_those() -> None:
    with wired(plan_of(Refuse(), trigger=Trigger(first=1))) as wire:
        with pytest.raises(ConnectionResetError), connect(wire.proxy) as first:
            first.recv(1)
        client, server = wire.join()
        with client, server:
            client.sendall(b"x")
            assert read_exactly(server, 1) == b"x"


def test_slow_accept_holds_the_connection_and_loses_nothing() -> None:
    with wired(plan_of(SlowAccept(delay_ms=80)), observed=True) as wire, connect(wire.proxy) as client:
        client.sendall(b"patience")
        server, _ = wire.upstream.accept()
        with server:
            server.settimeout(5)
            assert read_exactly(server, 8) == b"patience"
        injected = [h for h in wire.plane.take_events() if isinstance(h, Injected)]
        assert [(h.effect, h.value) for h in injected] == [("delay_ms", 80.0)]


@pytest.mark.parametrize(
    "fault",
    [
        Latency(mean_ms=0),
        Jitter(amplitude_ms=0),
        PacketLoss(rate=0),
        PacketLoss(rate=0.5, rto_ms=0, rtt_ms=0),
        SlowClose(delay_ms=0),
        SlowAccept(delay_ms=0),
    ],
    ids=repr,
)
def test_a_delay_of_zero_is_not_an_injection(fault: Fault) -> None:
    with joined(plan_of(fault)) as (wire, client, server):
        server.sendall(b"x" * 100_000)
        server.shutdown(socket.SHUT_WR)
        assert read_all(client) == b"x" * 100_000
        snapshot = wire.plane.snapshot()
        assert (sum(snapshot.injected.values()), sum(proxy.injected for proxy in snapshot.proxies)) == (0, 0)


def test_a_disabled_proxy_refuses_and_drops_what_it_had() -> None:
    with joined() as (wire, client, server):
        wire.plane.set_enabled("wire", False)
        assert client.recv(1) == b""
        assert server.recv(1) == b""
        with pytest.raises(ConnectionRefusedError):
            connect(wire.proxy)
        wire.plane.set_enabled("wire", True)
        again, upstream = wire.join()
        again.close()
        upstream.close()


def test_a_trigger_is_drawn_once_for_a_connection_and_the_same_for_the_same_seed() -> None:
    def hits(seed: int) -> list[bool]:
        plan = plan_of(LimitData(bytes=1), trigger=Trigger(probability=0.5), seed=seed)
        cut = []
        with wired(plan) as wire:
            for _ in range(20):
                client, server = wire.join()
                with client, server:
                    server.sendall(b"ab")
                    server.shutdown(socket.SHUT_WR)
                    cut.append(read_all(client) == b"a")
        return cut

    first = hits(1)
    assert hits(1) == first
    assert hits(2) != first
    assert 0 < sum(first) < 20


def test_the_same_seed_gives_the_same_injections_event_by_event() -> None:
    def run(seed: int) -> list[tuple[object, ...]]:
        faults = (Latency(mean_ms=2, stddev_ms=1, per="operation"), PacketLoss(rate=0.2, rto_ms=1))
        with wired(plan_of(*faults, match=BOTH, seed=seed), observed=True) as wire:
            for _ in range(3):
                client, server = wire.join()
                with client, server:
                    for _ in range(20):
                        client.sendall(b"ping")
                        read_exactly(server, 4)
                        server.sendall(b"pong")
                        read_exactly(client, 4)
            injected = [h for h in wire.plane.take_events() if isinstance(h, Injected)]
        return [(h.connection, h.flow, h.rule, h.n, h.effect, h.value) for h in injected]

    first = run(1)
    assert len(first) > 120
    assert run(1) == first
    assert run(2) != first


def test_counts_of_rules_that_are_gone_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faultkit.proxy.plane._MOST_PAST_RULES", 2)
    with wired() as wire:
        for name in ("a", "b", "c", "a", "d"):
            wire.plane.set_plan(Plan((Rule(name, Blackhole()),)))
            wire.plane.set_plan(Plan())
        assert wire.plane.snapshot().injected == {"a": 0, "d": 0}
