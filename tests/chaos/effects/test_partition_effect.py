"""network_partition inside this process, on real sockets: what is cut, and that it is restored."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import sys
import threading
from collections.abc import Iterator

import pytest
import trustme

from faultkit.base.address import Endpoint
from faultkit.base.errors import TargetError
from faultkit.chaos import ChaosFault, FaultRegistry
from faultkit.chaos.effects.partition_effect import can_silence, peer_of, tcp_sockets
from tests.chaos.waiting import PATIENCE_S, until

SOON_S = 0.3
"""Seconds without data that prove a partition."""
linux = pytest.mark.skipif(not can_silence(), reason="this kernel cannot silence a connection")


@pytest.fixture
def registry() -> Iterator[FaultRegistry]:
    with FaultRegistry(seed=1) as faults:
        yield faults


def cut_off(registry: FaultRegistry, target: Endpoint, mode: str, name: str = "cut") -> None:
    metadata = {"mode": mode}
    registry.register(ChaosFault(name, "network_partition", 1, 60, targets=(str(target),), metadata=metadata))
    assert registry.inject(name).was_triggered


def connected(target: Endpoint, timeout_s: float = PATIENCE_S) -> socket.socket:
    return socket.create_connection((target.host, target.port), timeout_s)


def echoed(client: socket.socket, data: bytes) -> bytes:
    client.sendall(data)
    return received(client, len(data))


def received(client: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size and (more := client.recv(size - len(found))):
        found += more
    return found


# --- refuse -------------------------------------------------------------------------------------


def test_refuse_resets_a_live_connection_and_lets_the_next_one_through_afterwards(
    registry: FaultRegistry, echo: Endpoint
) -> None:
    with connected(echo) as client:
        assert echoed(client, b"before") == b"before"
        cut_off(registry, echo, "refuse")
        with pytest.raises(ConnectionError):
            echoed(client, b"during")
    with pytest.raises(ConnectionRefusedError):
        connected(echo)
    with socket.socket() as client:
        assert client.connect_ex((echo.host, echo.port)) != 0
    assert registry.measure("cut") == {"connections_cut": 1, "connects_met": 2}

    registry.remove("cut")
    with connected(echo) as client:
        assert echoed(client, b"after") == b"after"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it ends by FIN")
def test_the_other_end_of_a_reset_connection_sees_a_reset(registry: FaultRegistry) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = connected(Endpoint(*listener.getsockname()))
        there, _ = listener.accept()
        with client, there:
            there.settimeout(PATIENCE_S)
            cut_off(registry, Endpoint(*listener.getsockname()), "refuse")
            with pytest.raises(ConnectionResetError):
                there.recv(1)


def test_a_thread_that_waits_for_an_answer_is_woken(registry: FaultRegistry, echo: Endpoint) -> None:
    came: list[object] = []

    def read(client: socket.socket) -> None:
        try:
            came.append(client.recv(1))
        except OSError as error:
            came.append(error)

    with connected(echo) as client:
        thread = threading.Thread(target=read, args=(client,))
        thread.start()
        cut_off(registry, echo, "refuse")
        thread.join(PATIENCE_S)
    assert len(came) == 1
    assert came[0] == b"" or isinstance(came[0], ConnectionError)


def test_asyncio_is_refused_and_reset_too(registry: FaultRegistry, echo: Endpoint) -> None:
    async def main() -> None:
        reader, writer = await asyncio.open_connection(echo.host, echo.port)
        writer.write(b"x")
        assert await reader.readexactly(1) == b"x"
        cut_off(registry, echo, "refuse")
        with pytest.raises(ConnectionError):
            await reader.readexactly(1)
        writer.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(echo.host, echo.port)

    asyncio.run(asyncio.wait_for(main(), PATIENCE_S))


def test_a_name_and_its_address_are_the_same_target(registry: FaultRegistry, echo: Endpoint) -> None:
    cut_off(registry, Endpoint("localhost", echo.port), "refuse")
    for host in ("127.0.0.1", "localhost"):
        with pytest.raises(ConnectionRefusedError):
            connected(Endpoint(host, echo.port))


def test_other_ports_of_a_target_go_on(registry: FaultRegistry, echo: Endpoint, closed_port: int) -> None:
    with connected(echo) as client:
        cut_off(registry, Endpoint(echo.host, closed_port), "refuse")
        assert echoed(client, b"unharmed") == b"unharmed"
        with connected(echo) as another:
            assert echoed(another, b"so is this") == b"so is this"


@pytest.mark.skipif(sys.platform != "linux", reason="the way around Python is the one of Linux")
def test_a_connection_made_behind_the_back_of_python_is_cut_a_moment_later(
    registry: FaultRegistry, echo: Endpoint
) -> None:
    cut_off(registry, echo, "refuse")
    # Calls the method of the base class, as a library that connects by itself does.
    import _socket

    with socket.socket() as client:
        _socket.socket.connect(client, (echo.host, echo.port))
        client.settimeout(PATIENCE_S)
        with pytest.raises(OSError, match=r"\[Errno"):
            received(client, 1)


def test_a_name_without_an_address_is_reported(registry: FaultRegistry) -> None:
    registry.register(ChaosFault("cut", "network_partition", 1, targets=("no-such-host.invalid:1",)))
    with pytest.raises(TargetError, match=r"^no-such-host\.invalid has no address"):
        registry.inject("cut")
    assert "connect" not in vars(socket.socket)


# --- blackhole ----------------------------------------------------------------------------------


@linux
def test_blackhole_stalls_a_live_connection_and_both_ways_come_through_afterwards(
    registry: FaultRegistry,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        target = Endpoint(*listener.getsockname())
        client = connected(target)
        there, _ = listener.accept()
        with client, there:
            cut_off(registry, target, "blackhole")
            for here, peer in ((client, there), (there, client)):
                here.sendall(b"held up")
                peer.settimeout(SOON_S)
                with pytest.raises(TimeoutError):
                    peer.recv(1)
            assert registry.measure("cut")["connections_cut"] == 1

            registry.remove("cut")
            for peer in (client, there):
                peer.settimeout(PATIENCE_S)
                assert received(peer, 7) == b"held up"


@linux
def test_a_new_connection_times_out_as_the_caller_asks(registry: FaultRegistry, echo: Endpoint) -> None:
    cut_off(registry, echo, "blackhole")
    with pytest.raises(TimeoutError):
        connected(echo, SOON_S)

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.open_connection(echo.host, echo.port), SOON_S)

    asyncio.run(main())


@linux
def test_a_connection_that_was_still_trying_is_made_afterwards(
    registry: FaultRegistry, echo: Endpoint
) -> None:
    async def main() -> bytes:
        cut_off(registry, echo, "blackhole")
        trying = asyncio.create_task(asyncio.open_connection(echo.host, echo.port))
        await asyncio.wait({trying}, timeout=SOON_S)
        assert not trying.done()
        registry.remove("cut")
        reader, writer = await trying
        writer.write(b"at last")
        found = await reader.readexactly(7)
        writer.close()
        await writer.wait_closed()
        return found

    assert asyncio.run(asyncio.wait_for(main(), PATIENCE_S)) == b"at last"


@linux
def test_a_connection_that_was_closed_meanwhile_says_goodbye_afterwards(registry: FaultRegistry) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        target = Endpoint(*listener.getsockname())
        client = connected(target)
        there, _ = listener.accept()
        with there:
            there.settimeout(SOON_S)
            cut_off(registry, target, "blackhole")
            client.close()
            with pytest.raises(TimeoutError):
                there.recv(1)
            registry.remove("cut")
            there.settimeout(PATIENCE_S)
            assert there.recv(1) == b""


@linux
def test_of_two_walls_before_a_target_the_second_still_holds_when_the_first_falls(
    registry: FaultRegistry, echo: Endpoint
) -> None:
    with connected(echo) as client:
        cut_off(registry, echo, "blackhole", "first")
        cut_off(registry, echo, "blackhole", "second")
        registry.remove("first")
        client.settimeout(SOON_S)
        client.sendall(b"x")
        with pytest.raises(TimeoutError):
            client.recv(1)
        registry.remove("second")
        client.settimeout(PATIENCE_S)
        assert received(client, 1) == b"x"


@linux
def test_ipv6_is_silenced_as_well(registry: FaultRegistry) -> None:
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6")
    with listener:
        target = Endpoint(*listener.getsockname()[:2])
        client = connected(target)
        there, _ = listener.accept()
        with client, there:
            cut_off(registry, target, "blackhole")
            there.sendall(b"x")
            client.settimeout(SOON_S)
            with pytest.raises(TimeoutError):
                client.recv(1)
            registry.remove("cut")
            client.settimeout(PATIENCE_S)
            assert received(client, 1) == b"x"


@linux
def test_tls_stalls_and_goes_on_like_any_other_bytes(registry: FaultRegistry) -> None:
    authority = trustme.CA()
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(serving)
    asking = ssl.create_default_context()
    authority.configure_trust(asking)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            there, _ = listener.accept()
            with serving.wrap_socket(there, server_side=True) as secured:
                secured.sendall(secured.recv(1))
                secured.sendall(secured.recv(1))

        thread = threading.Thread(target=serve)
        thread.start()
        target = Endpoint(*listener.getsockname())
        with asking.wrap_socket(connected(target), server_hostname="localhost") as client:
            assert echoed(client, b"a") == b"a"
            cut_off(registry, target, "blackhole")
            client.settimeout(SOON_S)
            with pytest.raises(TimeoutError):
                echoed(client, b"b")
            registry.remove("cut")
            client.settimeout(PATIENCE_S)
            assert received(client, 1) == b"b"
        thread.join(PATIENCE_S)


# --- cleanup -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["refuse", pytest.param("blackhole", marks=linux)])
def test_afterwards_everything_is_as_it_was(registry: FaultRegistry, echo: Endpoint, mode: str) -> None:
    def all_there_is() -> tuple[object, ...]:
        ours = [thread.name for thread in threading.enumerate() if thread.name.startswith("fault-")]
        # The echo server, which also runs in this process, closes a connection that was reset.
        descriptors = len(os.listdir("/dev/fd")) if mode == "blackhole" else 0
        return dict(vars(socket.socket)), socket.socket.connect, ours, descriptors

    with connected(echo) as client:
        assert echoed(client, b"x") == b"x"
        before = all_there_is()
        cut_off(registry, echo, mode)
        assert socket.socket.connect is not before[1]
        registry.remove("cut")
        until(lambda: all_there_is() == before)


def test_it_ends_by_itself_when_its_time_is_over(registry: FaultRegistry, echo: Endpoint) -> None:
    fault = ChaosFault("cut", "network_partition", 1, duration_s=0.05, targets=(str(echo),))
    registry.register(fault)
    registry.inject("cut")
    until(lambda: not registry.active())
    with connected(echo) as client:
        assert echoed(client, b"x") == b"x"


def test_a_library_that_replaces_connect_meanwhile_keeps_its_method(
    registry: FaultRegistry, echo: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_off(registry, echo, "refuse")
    ours, calls = socket.socket.connect, []

    def theirs(self: socket.socket, address: tuple[str, int]) -> None:
        calls.append(address)
        ours(self, address)

    monkeypatch.setattr(socket.socket, "connect", theirs)
    with pytest.raises(ConnectionRefusedError):
        connected(echo)
    registry.remove("cut")
    with connected(echo):
        pass
    cut_off(registry, echo, "refuse")
    with pytest.raises(ConnectionRefusedError):
        connected(echo)
    assert len(calls) == 3
    monkeypatch.undo()
    registry.remove("cut")
    assert "connect" not in vars(socket.socket)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_no_wall(registry: FaultRegistry, echo: Endpoint) -> None:
    cut_off(registry, echo, "refuse")
    child = os.fork()
    if child == 0:
        try:
            connected(echo).close()
        except OSError:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_every_tcp_socket_of_this_process_is_found(echo: Endpoint) -> None:
    with connected(echo) as client, socket.socket(socket.AF_INET, socket.SOCK_DGRAM):
        peers = [peer_of(sock) for sock in tcp_sockets()]
    assert (echo.host, echo.port) in peers
    assert client.fileno() == -1
