"""Sockets as bare descriptors: everything that a connection asks of the kernel besides reading and writing.

A Python socket object costs more than most of the system calls made through it, and a connection that lives
for one exchange would pay for two of them. So a link owns two numbers: it reads and writes them with `os`,
and does the rest here. The owner of a number closes it, once. Listening sockets are few, and stay objects.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import struct
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from socket import SocketType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from faultkit.base.address import Endpoint
from faultkit.base.errors import TargetError
from faultkit.proxy.data_plane import ALONE, Worker
from faultkit.proxy.native import native

Address: TypeAlias = tuple[int, tuple[object, ...]]
"""Family and socket address."""

CloseMode: TypeAlias = Literal["reset", "drain", "none"]
"""How a socket is closed: by RST; by FIN, after unread bytes are read; or as it is, where nothing is left to
send."""

NO_SOCKET = -1
"""The number that stands for no socket."""

# None of these calls waits, so they keep the interpreter's lock (PyDLL): releasing it would cost more.
_libc = ctypes.PyDLL(None, use_errno=True)
_setsockopt, _shutdown = _libc.setsockopt, _libc.shutdown
_socket, _connect = _libc.socket, _libc.connect
_close = socket.close

_UNDER_WAY = (errno.EINPROGRESS, 0, errno.EWOULDBLOCK)
_SOCKET, _LINGER = socket.SOL_SOCKET, socket.SO_LINGER
_TCP, _NO_DELAY = socket.IPPROTO_TCP, socket.TCP_NODELAY
_BORN_NONBLOCKING = hasattr(socket, "SOCK_NONBLOCK")
_STREAM = socket.SOCK_STREAM | (socket.SOCK_NONBLOCK if _BORN_NONBLOCKING else 0)
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_MOST_DRAINS = 16
_FIRST_BYTES = 65536
BACKLOG = 4096
"""Connections that the kernel queues for a listening socket."""


def listen(name: str, endpoint: Endpoint, worker: Worker = ALONE) -> socket.socket:
    """Bind and listen, in the caller's thread, so that a taken port is a TargetError right there."""
    try:
        family, _, _, _, address = socket.getaddrinfo(
            endpoint.host, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise TargetError(f"{name}: cannot listen on {endpoint}: {error.strerror or error}") from None
    if endpoint.port == 0:
        address = _free_address(family, address)
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if family == socket.AF_INET6:
            every_address = endpoint.host == "::"
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not every_address)
        # The first worker must find the port free; the others then share it.
        if worker.index:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(address)
        if worker.count > 1:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        why = getattr(error, "strerror", None) or error
        raise TargetError(f"{name}: cannot listen on {endpoint}: {why}") from None
    listener.setblocking(False)
    return listener


def _free_address(family: int, address: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the address with a free port: Linux keeps a shut port only if it was bound by number."""
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.bind(address)
        bound: tuple[Any, ...] = probe.getsockname()
        return bound


def accept_known(listener: socket.socket) -> tuple[int, str]:
    """Accept the next client: a non-blocking socket and its address as text. Raises OSError."""
    # What socket.accept does, without its Python layer.
    fd, address = listener._accept()  # type: ignore[attr-defined]
    os.set_blocking(fd, False)
    return fd, f"{address[0]}:{address[1]}"


def packed_address(address: Address) -> bytes | None:
    """Return an address as the kernel of Linux reads it; None for one with a scope id, which is rare."""
    family, target = address
    port, packed = int(str(target[1])), socket.inet_pton(family, str(target[0]))
    if family == socket.AF_INET:
        return struct.pack("=H", family) + struct.pack("!H", port) + packed + bytes(8)
    if any(target[2:]):
        return None
    return struct.pack("=H", family) + struct.pack("!HI", port, 0) + packed + bytes(4)


if sys.platform == "linux":
    _accept4 = _libc.accept4
    _NEW = socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC

    def accept(listener: socket.socket) -> int:
        """Accept the next client: a non-blocking socket, or NO_SOCKET if none waits. Raises OSError."""
        # One system call does it all, and the kernel need not copy an address that is not used.
        if native is not None:
            return int(native.accept_client(listener.fileno()))
        fd: int = _accept4(listener.fileno(), None, None, _NEW)
        if fd < 0:
            code = ctypes.get_errno()
            if code != errno.EAGAIN:
                raise OSError(code, os.strerror(code))
        return fd

    def connector_to(address: Address) -> Callable[[], int]:
        """Return a function that starts to connect to one address and returns the descriptor.

        The address is used again and again, so it is packed into bytes once."""
        family = address[0]
        place = packed_address(address)
        if place is None:
            return lambda: start_connect(address).detach()
        if native is not None:
            return partial(native.start_connect, family, place)
        size, kind, one = len(place), _STREAM | socket.SOCK_CLOEXEC, struct.pack("i", 1)

        def connect_again() -> int:
            fd: int = _socket(family, kind, 0)
            if fd >= 0:
                _setsockopt(fd, _TCP, _NO_DELAY, one, 4)
                if _connect(fd, place, size) == 0 or ctypes.get_errno() == errno.EINPROGRESS:
                    return fd
            code = ctypes.get_errno()
            if fd >= 0:
                _close(fd)
            raise OSError(code, os.strerror(code))

        return connect_again

else:

    def accept(listener: socket.socket) -> int:
        """Accept the next client: a non-blocking socket, or NO_SOCKET if none waits. Raises OSError."""
        try:
            return accept_known(listener)[0]
        except BlockingIOError:
            return NO_SOCKET

    def connector_to(address: Address) -> Callable[[], int]:
        """Return a function that starts to connect to one address and returns the descriptor."""
        return lambda: start_connect(address).detach()


def start_connect(address: Address) -> SocketType:
    """Start to connect a new non-blocking socket to `address`. Raises OSError if that fails at once."""
    family, target = address
    sock = SocketType(family, _STREAM)
    try:
        if not _BORN_NONBLOCKING:
            sock.setblocking(False)
        sock.setsockopt(_TCP, _NO_DELAY, 1)
        code = sock.connect_ex(target)
        if code not in _UNDER_WAY:
            raise OSError(code, os.strerror(code))
    except BaseException:
        sock.close()
        raise
    return sock


def is_connected(fd: int) -> bool:
    """Return whether a started connect has succeeded; on loopback it mostly has, and at once."""
    with _borrowed(fd) as end:
        try:
            end.getpeername()
        except OSError:
            return False
        return True


# Linux, struct tcp_info: tcpi_bytes_acked, which counts the SYN as one byte.
_BYTES_ACKED = struct.Struct("@120xQ")


def has_acknowledged(fd: int, sent: int) -> bool:
    """Return whether the peer's kernel has acknowledged the first `sent` bytes of a socket.

    A server that closes an idle connection does not acknowledge the request that crosses with it; one that
    fails while it works on the request does. False where the system does not report it."""
    if sys.platform != "linux":
        return False
    with _borrowed(fd) as end:
        info = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_ACKED.size)
    (acked,) = _BYTES_ACKED.unpack(info)
    return bool(acked - 1 >= sent)


def socket_error(fd: int) -> int:
    """Return the pending error of a socket, or 0. The kernel reports it once."""
    with _borrowed(fd) as end:
        return end.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)


def unread_bytes(fd: int) -> int:
    """Return how many bytes a socket holds, ready to be read."""
    answer = bytearray(4)
    fcntl.ioctl(fd, termios.FIONREAD, answer)
    return int.from_bytes(answer, sys.byteorder)


def pass_first(client: int, upstream: int) -> tuple[bytes, int] | None:
    """Pass on the first bytes of a client: return those that the upstream did not take, and how many it took.
    Without any bytes yet, both are empty; None if the client has failed. Raises what the upstream answers."""
    try:
        chunk = os.read(client, _FIRST_BYTES)
    except BlockingIOError:
        return b"", 0
    except OSError:
        return None
    try:
        sent = os.write(upstream, chunk) if chunk else 0
    except BlockingIOError:
        sent = 0
    return chunk[sent:], sent


def end_output(fd: int) -> None:
    """Send FIN; what the peer still sends can be read. An error is ignored: the socket has failed then."""
    _shutdown(fd, socket.SHUT_WR)


def close_socket(fd: int, mode: CloseMode) -> None:
    """Close a socket. Never raises: one that has failed already needs neither RST nor FIN."""
    if mode == "reset":
        if native is not None:
            native.close_by_reset(fd)
            return
        _setsockopt(fd, _SOCKET, _LINGER, _RESET_ON_CLOSE, len(_RESET_ON_CLOSE))
    elif mode == "drain":
        _drain(fd)
    _close(fd)


def _drain(fd: int) -> None:
    """Read what is left: unread bytes would turn the FIN of a close into a reset."""
    try:
        for _ in range(_MOST_DRAINS):
            if not os.read(fd, 65536):
                return
    except OSError:
        pass


@contextmanager
def _borrowed(fd: int) -> Iterator[SocketType]:
    """Wrap a descriptor in a socket object, for the rare calls that only objects have."""
    # The family is given, not detected: on some systems detection fails for a socket with an error.
    end = SocketType(socket.AF_INET6, socket.SOCK_STREAM, 0, fd)
    try:
        yield end
    finally:
        end.detach()


if native is not None and not TYPE_CHECKING:
    # Bound directly: a function in between costs as much as some of these calls.
    is_connected = native.is_connected
    unread_bytes = native.unread_bytes
    pass_first = native.pass_first
    end_output = native.end_output
