"""Faults that a running proxy or gateway carries out, through their real control APIs."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from faultkit.base.address import Endpoint
from faultkit.base.errors import InputError, TargetError
from faultkit.chaos import ChaosFault, FaultRegistry, Injection
from faultkit.chaos.effects import rule_effect
from faultkit.chaos.effects.rule_effect import ProxyRules
from faultkit.chaos.safety.undo import Undo, UndoResult
from faultkit.mcp.gateway.gateway_control import GatewayControl, GatewayState
from faultkit.plan import read_plan
from faultkit.proxy.control.control_client import ControlClient
from faultkit.proxy.control.control_server import ControlServer
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.plane import Plane
from tests.chaos.waiting import PATIENCE_S

TOKEN = "for-tests-only"
SOON_S = 0.3


class Notes:
    """An UndoLog that keeps what is written to it."""

    def __init__(self) -> None:
        self.undos: list[Undo] = []
        self.results: list[UndoResult] = []

    def intend(self, undo: Undo) -> str:
        self.undos.append(undo)
        return str(len(self.undos))

    def record_undo(self, intent: str, result: UndoResult) -> None:
        self.results.append(result)


class Stand:
    """An echo server behind a proxy with a control API."""

    def __init__(self, plane: Plane, control: ControlServer, upstream: Endpoint, proxy: Endpoint) -> None:
        self.plane = plane
        self.upstream = upstream
        self.proxy = proxy
        self.control = str(control.bound)
        self.metadata: dict[str, Any] = {"control": self.control, "token": TOKEN}

    def rules(self) -> list[str]:
        return [rule.fault.kind for rule in self.plane.plan.rules]

    def connected(self) -> socket.socket:
        return socket.create_connection((self.proxy.host, self.proxy.port), PATIENCE_S)


@pytest.fixture
def stand(echo: Endpoint) -> Iterator[Stand]:
    with Plane(read_plan("rules: []")) as plane:
        proxy = plane.open_proxy(ProxySpec("db[1]", Endpoint("127.0.0.1", 0), echo))
        plane.open_proxy(ProxySpec("other", Endpoint("127.0.0.1", 0), Endpoint("127.0.0.1", 9)))
        with ControlServer(plane, Endpoint("127.0.0.1", 0), TOKEN) as control:
            yield Stand(plane, control, echo, proxy)


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def registry(notes: Notes) -> Iterator[FaultRegistry]:
    with FaultRegistry(seed=1, lease=notes) as faults:
        yield faults


def echoed(client: socket.socket, data: bytes) -> bytes:
    client.sendall(data)
    return client.recv(len(data), socket.MSG_WAITALL)


def test_a_partition_at_the_proxy_cuts_a_live_connection_and_refuses_new_ones(
    registry: FaultRegistry, stand: Stand, notes: Notes
) -> None:
    fault = ChaosFault(
        "cut", "network_partition", 1, 30, targets=(str(stand.upstream),), metadata=stand.metadata
    )
    registry.register(fault)
    with stand.connected() as client:
        assert echoed(client, b"before") == b"before"
        assert registry.inject("cut").was_triggered
        with pytest.raises(ConnectionError):
            client.recv(1)
    with pytest.raises(ConnectionRefusedError):
        stand.connected()
    assert stand.rules() == ["refuse", "reset"]
    assert {rule.match.proxy for rule in stand.plane.plan.rules} == {"db[[]1]"}

    registry.remove("cut")
    assert stand.rules() == []
    assert [result.ok for result in notes.results] == [True, True]
    with stand.connected() as client:
        assert echoed(client, b"after") == b"after"


def test_a_blackhole_at_the_proxy_stalls_and_then_lets_everything_through(
    registry: FaultRegistry, stand: Stand
) -> None:
    metadata = {**stand.metadata, "mode": "blackhole"}
    targets = (str(stand.upstream),)
    registry.register(ChaosFault("cut", "network_partition", 1, 30, targets=targets, metadata=metadata))
    with stand.connected() as client:
        assert echoed(client, b"a") == b"a"
        registry.inject("cut")
        client.settimeout(SOON_S)
        with pytest.raises(TimeoutError):
            echoed(client, b"b")
        registry.remove("cut")
        client.settimeout(PATIENCE_S)
        assert client.recv(1) == b"b"


def test_any_network_fault_is_a_rule_with_a_time_limit_of_its_own(
    registry: FaultRegistry, stand: Stand, notes: Notes
) -> None:
    metadata = {**stand.metadata, "with": {"mean_ms": 5.0}, "match": {"proxy": "db*"}}
    registry.register(ChaosFault("slow", "latency", 1, 30, metadata=metadata))
    injection = registry.inject("slow")
    assert injection.effect is not None
    assert 29 < injection.effect.lasts_s <= 30
    (rule,) = stand.plane.plan.rules
    assert (rule.fault.kind, rule.match.proxy) == ("latency", "db*")
    assert rule.name.startswith("chaos-slow-latency-")
    (undo,) = notes.undos
    assert (undo.kind, undo.data["rule"], undo.data["control"]) == (
        "rule",
        rule.name,
        f"http://{stand.control}",
    )
    assert TOKEN not in undo.says
    with stand.connected() as client:
        assert echoed(client, b"x") == b"x"
    assert registry.measure("slow") == {"injected": 1}


def test_hits_are_known_when_the_rules_are_gone(stand: Stand) -> None:
    api = ControlClient(f"http://{stand.control}", TOKEN)
    effect = ProxyRules(api, ({"fault": "latency", "with": {"mean_ms": 1}},)).begin("slow", 30, None)
    with stand.connected() as client:
        assert echoed(client, b"x") == b"x"
    assert effect.end().ok
    assert (effect.is_active, effect.hits()) == (False, 1)


def test_rules_that_could_not_be_removed_are_still_at_work(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = ControlClient(f"http://{stand.control}", TOKEN)
    effect = ProxyRules(api, ({"fault": "jitter"},)).begin("slow", 30, None)
    with monkeypatch.context() as patch:
        patch.setattr(rule_effect, "carry_out", lambda undo: UndoResult(False, "the door is locked"))
        assert effect.end() == UndoResult(False, "the door is locked")
    assert (effect.is_active, stand.rules()) == (True, ["jitter"])
    assert effect.end().ok
    assert (effect.is_active, stand.rules()) == (False, [])


def test_a_rule_that_somebody_else_removed_is_no_trouble(registry: FaultRegistry, stand: Stand) -> None:
    registry.register(ChaosFault("slow", "jitter", 1, 30, metadata=stand.metadata))
    registry.inject("slow")
    stand.plane.set_plan(read_plan("rules: []"))
    assert registry.remove("slow")


def test_a_target_that_no_proxy_leads_to_is_named(registry: FaultRegistry, stand: Stand) -> None:
    fault = ChaosFault("cut", "network_partition", 1, targets=("10.0.0.1:5432",), metadata=stand.metadata)
    registry.register(fault)
    with pytest.raises(InputError) as caught:
        registry.inject("cut")
    assert caught.value.path == "targets[0]"
    assert caught.value.problem == (
        f"no proxy of http://{stand.control} leads to 10.0.0.1:5432 "
        f"(there are: {stand.upstream}, 127.0.0.1:9)"
    )
    assert stand.rules() == []


def test_if_one_of_several_rules_is_not_taken_none_stays(registry: FaultRegistry, stand: Stand) -> None:
    api = ControlClient(f"http://{stand.control}", TOKEN)
    with pytest.raises(InputError):
        ProxyRules(api, ({"fault": "jitter"}, {"fault": "nonsense"})).begin("two", 30, None)
    assert stand.rules() == []


@pytest.mark.parametrize("token", [None, "wrong"])
def test_a_wrong_token_is_reported(
    registry: FaultRegistry, stand: Stand, token: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FAULT_CONTROL_TOKEN", raising=False)
    metadata = {"control": stand.control} | ({} if token is None else {"token": token})
    registry.register(ChaosFault("slow", "jitter", 1, metadata=metadata))
    with pytest.raises(TargetError, match=r"wants another token \(see FAULT_CONTROL_TOKEN\)"):
        registry.inject("slow")


def test_the_token_may_come_from_the_environment(
    registry: FaultRegistry, stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULT_CONTROL_TOKEN", TOKEN)
    registry.register(ChaosFault("slow", "jitter", 1, metadata={"control": stand.control}))
    registry.inject("slow")
    assert stand.rules() == ["jitter"]


def test_a_control_address_without_a_listener_is_reported(registry: FaultRegistry, closed_port: int) -> None:
    metadata = {"control": f"127.0.0.1:{closed_port}", "token": TOKEN}
    registry.register(ChaosFault("slow", "jitter", 1, metadata=metadata))
    with pytest.raises(TargetError, match=r"cannot be reached"):
        registry.inject("slow")


def test_a_fault_of_calls_is_a_rule_of_the_gateway(registry: FaultRegistry) -> None:
    async def main() -> tuple[Injection, list[str], list[str]]:
        running = GatewayState(read_plan("rules: []"), "shop", "stdio")
        control = GatewayControl(running, TOKEN)
        host, port = await control.start("127.0.0.1", 0)
        try:
            metadata = {"control": f"{host}:{port}", "token": TOKEN, "match": {"tool": "search"}}
            registry.register(ChaosFault("stuck", "hang", 1, 30, metadata=metadata))
            injection = await registry.ainject("stuck")
            during = [f"{rule.fault.kind} of {rule.match.tool}" for rule in running.injector.plan.rules]
            await registry.aend(injection)
            return injection, during, [rule.name for rule in running.injector.plan.rules]
        finally:
            await control.stop()

    injection, during, after = asyncio.run(asyncio.wait_for(main(), PATIENCE_S))
    assert injection.was_triggered
    assert (during, after) == (["hang of search"], [])
