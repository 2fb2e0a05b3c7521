"""The unmodified client toxiproxy-python controls `fault toxiproxy`; the effect is checked by traffic."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from faultkit.proxy.toxiproxy.toxiproxy_server import API_VERSION
from tests.proxy.toxiproxy.harness import (
    connect,
    is_silent,
    read_all,
    read_exactly,
    seen_by,
    send_if_open,
    serving,
    text_of,
    upstream,
)

toxiproxy = pytest.importorskip("toxiproxy", reason="toxiproxy-python is not installed")
exceptions = pytest.importorskip("toxiproxy.exceptions")


@pytest.fixture
def client() -> Iterator[Any]:
    with serving() as api:
        client = toxiproxy.Toxiproxy()
        client.update_api_consumer(api.endpoint.host, api.endpoint.port)
        try:
            yield client
        finally:
            client.update_api_consumer("127.0.0.1", 8474)


@pytest.fixture
def origin() -> Iterator[socket.socket]:
    with upstream() as listener:
        yield listener


@pytest.fixture
def proxy(client: Any, origin: socket.socket) -> Any:
    return client.create(upstream=text_of(origin), name="db")


def pair(proxy: Any, origin: socket.socket) -> tuple[socket.socket, socket.socket]:
    near = connect(proxy.listen)
    far, _ = origin.accept()
    far.settimeout(5)
    return near, far


def test_the_server_is_found_and_tells_its_version(client: Any) -> None:
    assert client.running() is True
    assert json.loads(client.version()) == {"version": API_VERSION}


def test_proxies_are_created_found_and_destroyed(client: Any, origin: socket.socket) -> None:
    proxy = client.create(upstream=text_of(origin), name="db")
    assert list(client.proxies()) == ["db"]
    assert client.get_proxy("db").listen == proxy.listen
    near, far = pair(proxy, origin)
    with near, far:
        near.sendall(b"ask")
        assert read_exactly(far, 3) == b"ask"
    with pytest.raises(exceptions.ProxyExists):
        client.create(upstream=text_of(origin), name="db")
    assert client.destroy(proxy) is True
    assert client.get_proxy("db") is None
    with pytest.raises(ConnectionRefusedError):
        connect(proxy.listen)


def test_a_proxy_is_down_for_a_while(proxy: Any, origin: socket.socket) -> None:
    near, far = pair(proxy, origin)
    with near, far:
        with proxy.down():
            assert seen_by(near) == "EOF"
            with pytest.raises(ConnectionRefusedError):
                connect(proxy.listen)
        assert proxy.enabled is True
    near, far = pair(proxy, origin)
    near.close()
    far.close()


TOXICS: list[tuple[str, dict[str, int], str]] = [
    ("latency", {"latency": 30, "jitter": 5}, "b'reply'"),
    ("bandwidth", {"rate": 100}, "b'reply'"),
    ("slow_close", {"delay": 30}, "b'reply'"),
    ("timeout", {"timeout": 30}, "EOF"),
    ("reset_peer", {"timeout": 30}, "ECONNRESET"),
    ("slicer", {"average_size": 64, "size_variation": 16, "delay": 10}, "b'reply'"),
    ("limit_data", {"bytes": 2}, "b're'"),
]


@pytest.mark.parametrize(("type_name", "attributes", "view"), TOXICS)
def test_toxics_of_every_type_act_and_go(
    proxy: Any, origin: socket.socket, type_name: str, attributes: dict[str, int], view: str
) -> None:
    proxy.add_toxic(type=type_name, attributes=attributes)
    toxic = proxy.get_toxic(f"{type_name}_downstream")
    assert (toxic.type, toxic.stream, toxic.toxicity) == (type_name, "downstream", 1.0)
    assert toxic.attributes == attributes
    near, far = pair(proxy, origin)
    with near, far:
        send_if_open(far, b"reply")
        assert seen_by(near) == view
    assert proxy.destroy_toxic(f"{type_name}_downstream") is True
    assert proxy.toxics() == {}
    near, far = pair(proxy, origin)
    with near, far:
        far.sendall(b"reply")
        assert seen_by(near) == "b'reply'"


def test_latency_of_a_toxic_is_never_early(proxy: Any, origin: socket.socket) -> None:
    proxy.add_toxic(name="slow", type="latency", stream="upstream", attributes={"latency": 80})
    near, far = pair(proxy, origin)
    with near, far:
        began = time.monotonic()
        near.sendall(b"ask")
        assert read_exactly(far, 3) == b"ask"
        assert time.monotonic() - began >= 0.080


def test_toxicity_0_spares_every_connection(proxy: Any, origin: socket.socket) -> None:
    proxy.add_toxic(type="reset_peer", toxicity=0, attributes={"timeout": 0})
    near, far = pair(proxy, origin)
    with near, far:
        far.sendall(b"reply")
        far.shutdown(socket.SHUT_WR)
        assert read_all(near) == b"reply"


def test_wrong_toxics_and_names_raise_what_the_client_has_for_them(proxy: Any) -> None:
    with pytest.raises(exceptions.InvalidToxic):
        proxy.add_toxic(type="earthquake")
    with pytest.raises(exceptions.InvalidToxic):
        proxy.add_toxic(type="latency", stream="sideways")
    with pytest.raises(exceptions.NotFound):
        proxy.destroy_toxic("absent")


def test_populate_and_reset(client: Any, origin: socket.socket) -> None:
    wanted = [{"name": name, "upstream": text_of(origin), "listen": "127.0.0.1:0"} for name in ("a", "b")]
    proxies = client.populate(wanted)
    assert sorted(client.proxies()) == ["a", "b"]
    proxies[0].add_toxic(type="bandwidth", attributes={"rate": 0})
    proxies[1].disable()
    near, far = pair(proxies[0], origin)
    with near, far:
        far.sendall(b"held")
        assert is_silent(near)
        assert client.reset() is True
        assert read_exactly(near, 4) == b"held"
    assert proxies[0].toxics() == {}
    near, far = pair(proxies[1], origin)
    near.close()
    far.close()
    client.destroy_all()
    assert client.proxies() == {}
