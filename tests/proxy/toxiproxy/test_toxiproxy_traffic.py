"""What a client sees of each toxic, on new connections and on live ones, over real sockets."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Any

import pytest

from tests.proxy.toxiproxy.harness import (
    PATIENCE_S,
    SILENCE_S,
    Wire,
    connect,
    is_silent,
    read_all,
    read_exactly,
    seen_by,
    send_if_open,
    serving,
    text_of,
    wired_on,
)
from tests.proxy.toxiproxy.harness import wired as freshly_wired

Wired = Callable[[], AbstractContextManager[Wire]]

ERRNO_TABLE: list[tuple[str, dict[str, Any], str]] = [
    ("noop", {}, "b'reply'"),
    ("latency", {"latency": 20}, "b'reply'"),
    ("latency", {"latency": 20, "jitter": 40}, "b'reply'"),
    ("bandwidth", {"rate": 1}, "b'reply'"),
    ("bandwidth", {"rate": 0}, "silence"),
    ("slow_close", {"delay": 20}, "b'reply'"),
    ("timeout", {"timeout": 0}, "silence"),
    ("timeout", {"timeout": 50}, "EOF"),
    ("reset_peer", {"timeout": 0}, "ECONNRESET"),
    ("reset_peer", {"timeout": 50}, "ECONNRESET"),
    ("slicer", {"average_size": 64, "size_variation": 8, "delay": 10}, "b'reply'"),
    ("limit_data", {"bytes": 3}, "b'rep'"),
    ("limit_data", {"bytes": 0}, "EOF"),
    ("packet_loss", {"loss_rate": 0.0}, "b'reply'"),
]
"""A toxic on the downstream, and what the client's next read gives after the upstream has sent `reply`."""


@pytest.fixture(scope="module")
def wired() -> Iterator[Wired]:
    """Opens the proxy `wire` on the server that the tests of this file share."""
    with serving() as api:
        yield partial(wired_on, api)


def patience_s(view: str) -> float:
    return SILENCE_S if view == "silence" else PATIENCE_S


@pytest.mark.parametrize(("type_name", "attributes", "view"), ERRNO_TABLE)
def test_what_a_client_sees_on_a_new_connection(
    wired: Wired, type_name: str, attributes: dict[str, Any], view: str
) -> None:
    with wired() as wire:
        wire.api.add_toxic(type_name, **attributes)
        with wire.joined() as (client, server):
            send_if_open(server, b"reply")
            assert seen_by(client, patience_s(view)) == view


@pytest.mark.parametrize(("type_name", "attributes", "view"), ERRNO_TABLE)
def test_what_a_client_sees_when_the_toxic_comes_onto_a_live_connection(
    wired: Wired, type_name: str, attributes: dict[str, Any], view: str
) -> None:
    with wired() as wire, wire.joined() as (client, server):
        server.sendall(b"before")
        assert read_exactly(client, 6) == b"before"
        wire.api.add_toxic(type_name, **attributes)
        send_if_open(server, b"reply")
        assert seen_by(client, patience_s(view)) == view


@pytest.mark.parametrize(("type_name", "attributes", "_view"), ERRNO_TABLE)
def test_toxicity_0_has_no_effect_at_all(
    wired: Wired, type_name: str, attributes: dict[str, Any], _view: str
) -> None:
    with wired() as wire, wire.joined() as (client, server):
        wire.api.add_toxic(type_name, "downstream", 0, **attributes)
        wire.api.add_toxic(type_name, "upstream", 0, **attributes)
        client.sendall(b"ask")
        assert read_exactly(server, 3) == b"ask"
        server.sendall(b"reply")
        assert read_exactly(client, 5) == b"reply"
        server.shutdown(socket.SHUT_WR)
        assert seen_by(client) == "EOF"
        client.sendall(b"half-closed")
        assert read_exactly(server, 11) == b"half-closed"


def test_a_disabled_proxy_refuses(wired: Wired) -> None:
    with wired() as wire:
        wire.api.ok("POST", "/proxies/wire", {"enabled": False})
        with pytest.raises(ConnectionRefusedError):
            connect(wire.listen)


def test_a_toxic_acts_on_its_own_stream_only(wired: Wired) -> None:
    with wired() as wire:
        wire.api.add_toxic("timeout", "upstream")
        with wire.joined() as (client, server):
            client.sendall(b"lost")
            server.sendall(b"reply")
            assert read_exactly(client, 5) == b"reply"
            assert is_silent(server)


def test_a_toxic_acts_on_its_own_proxy_only(wired: Wired) -> None:
    with wired() as wire:
        other = wire.api.ok("POST", "/proxies", {"name": "wire*", "upstream": text_of(wire.upstream)})
        wire.api.ok("POST", "/proxies/wire*/toxics", {"type": "timeout"})
        with wire.joined() as (client, server):
            server.sendall(b"reply")
            assert read_exactly(client, 5) == b"reply"
        assert wire.api.ok("GET", "/proxies/wire*")["listen"] == other["listen"]


def test_latency_is_never_early_in_either_direction(wired: Wired) -> None:
    with wired() as wire:
        wire.api.add_toxic("latency", "downstream", latency=60)
        wire.api.add_toxic("latency", "upstream", latency=40)
        with wire.joined() as (client, server):
            began = time.monotonic()
            client.sendall(b"ask")
            read_exactly(server, 3)
            assert time.monotonic() - began >= 0.040
            server.sendall(b"reply")
            read_exactly(client, 5)
            assert time.monotonic() - began >= 0.100


def test_bandwidth_is_never_faster_than_its_rate(wired: Wired) -> None:
    with wired() as wire:
        wire.api.add_toxic("bandwidth", rate=100)
        with wire.joined() as (client, server):
            began = time.monotonic()
            server.sendall(b"x" * 20_000)
            read_exactly(client, 20_000)
            assert time.monotonic() - began >= 0.195


def test_a_rate_of_0_holds_bytes_back_until_the_toxic_goes(wired: Wired) -> None:
    with wired() as wire, wire.joined() as (client, server):
        wire.api.add_toxic("bandwidth", rate=0)
        server.sendall(b"held")
        assert is_silent(client)
        wire.api.ok("DELETE", "/proxies/wire/toxics/bandwidth_downstream")
        assert read_exactly(client, 4) == b"held"


def test_slow_close_delays_the_end_but_no_bytes(wired: Wired) -> None:
    with wired() as wire:
        wire.api.add_toxic("slow_close", delay=100)
        with wire.joined() as (client, server):
            server.sendall(b"reply")
            began = time.monotonic()
            server.shutdown(socket.SHUT_WR)
            assert read_exactly(client, 5) == b"reply"
            assert client.recv(1) == b""
            assert time.monotonic() - began >= 0.100


def test_a_talkative_peer_cannot_put_a_timeout_off(wired: Wired) -> None:
    with wired() as wire:
        wire.api.add_toxic("timeout", timeout=100)
        with wire.joined() as (client, server):
            client.settimeout(0.01)
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline:
                server.sendall(b"chatter")
                try:
                    assert client.recv(1) == b""
                    break
                except TimeoutError:
                    continue
            assert time.monotonic() < deadline


def test_taking_a_timeout_off_closes_the_connections_that_lost_bytes_and_no_others(wired: Wired) -> None:
    with wired() as wire, wire.joined() as (hit, hit_server), wire.joined() as (spared, spared_server):
        wire.api.add_toxic("timeout")
        hit_server.sendall(b"lost")
        assert is_silent(hit)
        wire.api.ok("DELETE", "/proxies/wire/toxics/timeout_downstream")
        assert seen_by(hit) == "EOF"
        spared_server.sendall(b"on we go")
        assert read_exactly(spared, 8) == b"on we go"


@pytest.mark.parametrize("stream", ["upstream", "downstream"])
def test_reset_peer_resets_both_ends_and_lets_nothing_pass(wired: Wired, stream: str) -> None:
    with wired() as wire:
        wire.api.add_toxic("reset_peer", stream, timeout=100)
        with wire.joined() as (client, server):
            sender, receiver = (client, server) if stream == "upstream" else (server, client)
            assert is_silent(receiver)  # It waits for the first bytes.
            began = time.monotonic()
            sender.sendall(b"never seen")
            with pytest.raises(ConnectionResetError):
                receiver.recv(1)
            assert time.monotonic() - began >= 0.100
            with pytest.raises(ConnectionResetError):
                sender.recv(1)


def test_a_slicer_loses_nothing(wired: Wired) -> None:
    payload = bytes(range(256)) * 40
    with wired() as wire:
        wire.api.add_toxic("slicer", average_size=100, size_variation=30, delay=10)
        with wire.joined() as (client, server):
            server.sendall(payload)
            server.shutdown(socket.SHUT_WR)
            assert read_all(client) == payload


def test_packet_loss_costs_time_and_no_bytes(wired: Wired) -> None:
    payload = bytes(range(256)) * 400
    with wired() as wire:
        wire.api.add_toxic("packet_loss", loss_rate=0.05, correlation=0.2)
        with wire.joined() as (client, server):
            server.sendall(payload)
            server.shutdown(socket.SHUT_WR)
            assert read_all(client) == payload


def test_limit_data_lets_exactly_so_many_bytes_pass(wired: Wired) -> None:
    with wired() as wire:
        wire.api.add_toxic("limit_data", bytes=10_000)
        with wire.joined() as (client, server):
            server.sendall(b"x" * 10_001)
            assert read_all(client) == b"x" * 10_000


def test_toxics_of_a_stream_work_together(wired: Wired) -> None:
    with wired() as wire:
        wire.api.add_toxic("slicer", average_size=2)
        wire.api.add_toxic("limit_data", bytes=5)
        with wire.joined() as (client, server):
            server.sendall(b"0123456789")
            assert read_all(client) == b"01234"


def test_a_timeout_swallows_the_end_that_another_toxic_made(wired: Wired) -> None:
    with wired() as wire:
        wire.api.add_toxic("limit_data", bytes=5)
        wire.api.add_toxic("timeout", timeout=0)
        with wire.joined() as (client, server):
            server.sendall(b"0123456789")
            assert is_silent(client)


def test_an_update_acts_on_live_connections(wired: Wired) -> None:
    with wired() as wire, wire.joined() as (client, server):
        wire.api.add_toxic("bandwidth", rate=0)
        server.sendall(b"held")
        assert is_silent(client)
        change = {"attributes": {"rate": 1000}}
        wire.api.ok("PATCH", "/proxies/wire/toxics/bandwidth_downstream", change)
        assert read_exactly(client, 4) == b"held"


def test_reset_frees_what_toxics_hold_back(wired: Wired) -> None:
    with wired() as wire, wire.joined() as (client, server):
        wire.api.add_toxic("latency", latency=60_000)
        server.sendall(b"held")
        assert is_silent(client)
        wire.api.ok("POST", "/reset")
        assert read_exactly(client, 4) == b"held"


def hit(wire: Wire) -> bool:
    with wire.joined() as (client, server):
        server.sendall(b"reply")
        return seen_by(client) == "ECONNRESET"


def test_toxicity_hits_the_same_connections_for_the_same_seed() -> None:
    runs = []
    for _ in range(2):
        with freshly_wired() as wire:
            wire.api.add_toxic("reset_peer", toxicity=0.5)
            runs.append([hit(wire) for _ in range(20)])
    assert runs[0] == runs[1]
    assert 0 < sum(runs[0]) < 20


def test_changes_of_other_toxics_do_not_roll_the_dice_again() -> None:
    with freshly_wired() as wire, ExitStack() as stack:
        wire.api.add_toxic("bandwidth", toxicity=0.5, rate=0)
        pairs = [stack.enter_context(wire.joined()) for _ in range(8)]
        for _, server in pairs:
            server.sendall(b"first")
        first = [seen_by(client, SILENCE_S) == "silence" for client, _ in pairs]
        assert len(set(first)) == 2
        for name in ("a", "b"):
            wire.api.ok("POST", "/proxies/wire/toxics", {"type": "slicer", "name": name})
            wire.api.ok("POST", f"/proxies/wire/toxics/{name}", {"attributes": {"average_size": 3}})
        wire.api.ok("DELETE", "/proxies/wire/toxics/a")
        for _, server in pairs:
            server.sendall(b"again")
        assert [seen_by(client, SILENCE_S) == "silence" for client, _ in pairs] == first


def test_toxics_come_and_go_under_load_and_lose_no_byte(wired: Wired) -> None:
    payload = bytes(range(256)) * 40_000
    chain: dict[str, dict[str, Any]] = {
        "latency": {"latency": 2, "jitter": 4},
        "slicer": {"average_size": 20_000, "size_variation": 500},
        "reset_peer": {"timeout": 60_000},
    }
    with wired() as wire, wire.joined() as (client, server):

        def send() -> None:
            server.sendall(payload)
            server.shutdown(socket.SHUT_WR)

        received: list[bytes] = []
        threads = [
            threading.Thread(target=send),
            threading.Thread(target=lambda: received.append(read_all(client))),
        ]
        wire.api.add_toxic("bandwidth", rate=0)
        for thread in threads:
            thread.start()
        for turn in range(60):
            for name, attributes in chain.items():
                wire.api.add_toxic(name, **attributes)
            rate = {"attributes": {"rate": turn % 2 * 5000}}
            wire.api.ok("PATCH", "/proxies/wire/toxics/bandwidth_downstream", rate)
            for name in chain:
                wire.api.ok("DELETE", f"/proxies/wire/toxics/{name}_downstream")
        wire.api.ok("POST", "/reset")
        for thread in threads:
            thread.join()
        assert received == [payload]


def test_an_update_of_a_timeout_keeps_the_silence(wired: Wired) -> None:
    with wired() as wire, wire.joined() as (client, server):
        wire.api.add_toxic("timeout")
        server.sendall(b"lost")
        assert is_silent(client)
        change = {"attributes": {"timeout": 60_000}}
        wire.api.ok("PATCH", "/proxies/wire/toxics/timeout_downstream", change)
        assert is_silent(client)


def test_an_update_of_limit_data_counts_from_0_again(wired: Wired) -> None:
    with wired() as wire, wire.joined() as (client, server):
        wire.api.add_toxic("limit_data", bytes=5)
        server.sendall(b"1234")
        assert read_exactly(client, 4) == b"1234"
        wire.api.ok("PATCH", "/proxies/wire/toxics/limit_data_downstream", {"attributes": {"bytes": 3}})
        server.sendall(b"56789")
        assert read_all(client) == b"567"
