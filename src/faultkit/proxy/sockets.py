"""Sockets as bare descriptors: what a connection asks of the kernel beside reading and writing.

A socket object of Python's costs more than most of the system calls made through it, and a connection
that lives for one exchange would pay for two of them. So a link owns two numbers: it reads and writes
them with `os`, and does the rest here. Whoever owns a number closes it, once.
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
from socket import SocketType
from typing import Literal, TypeAlias

Address: TypeAlias = tuple[int, tuple[object, ...]]
"""Family and socket address."""

Farewell: TypeAlias = Literal["reset", "drain", "none"]
"""By RST; by FIN, after unread bytes are read; or as it is, where nothing is left to say."""

NONE = -1
"""Where there is no socket."""

# None of these calls waits, so the interpreter's lock is kept over them: to let it go would cost more.
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


def accept_known(listener: socket.socket) -> tuple[int, str]:
    """The next client, not blocking, and who it is. Raises OSError."""
    # What socket.accept does, less its Python layer.
    fd, address = listener._accept()  # type: ignore[attr-defined]
    os.set_blocking(fd, False)
    return fd, f"{address[0]}:{address[1]}"


if sys.platform == "linux":
    _accept4 = _libc.accept4
    _NEW = socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC

    def accept(listener: socket.socket) -> int:
        """The next client, not blocking; NONE if nobody waits. Raises OSError."""
        # One call does it all, and no address is written down that nobody reads.
        fd: int = _accept4(listener.fileno(), None, None, _NEW)
        if fd < 0:
            code = ctypes.get_errno()
            if code != errno.EAGAIN:
                raise OSError(code, os.strerror(code))
        return fd

    def way_to(address: Address) -> Callable[[], int]:
        """As `set_out`, for one address that is gone to again and again: it is put into bytes once."""
        family, target = address
        host, port = str(target[0]), int(str(target[1]))
        packed = socket.inet_pton(family, host)
        if family == socket.AF_INET:
            place = struct.pack("=H", family) + struct.pack("!H", port) + packed + bytes(8)
        elif len(target) == 2 or not any(target[2:]):
            place = struct.pack("=H", family) + struct.pack("!HI", port, 0) + packed + bytes(4)
        else:
            return lambda: set_out(address)  # With a scope, which is seldom.
        size, kind, one = len(place), _STREAM | socket.SOCK_CLOEXEC, struct.pack("i", 1)

        def set_out_again() -> int:
            fd: int = _socket(family, kind, 0)
            if fd >= 0:
                _setsockopt(fd, _TCP, _NO_DELAY, one, 4)
                if _connect(fd, place, size) == 0 or ctypes.get_errno() == errno.EINPROGRESS:
                    return fd
            code = ctypes.get_errno()
            if fd >= 0:
                _close(fd)
            raise OSError(code, os.strerror(code))

        return set_out_again

else:

    def accept(listener: socket.socket) -> int:
        """The next client, not blocking; NONE if nobody waits. Raises OSError."""
        try:
            return accept_known(listener)[0]
        except BlockingIOError:
            return NONE

    def way_to(address: Address) -> Callable[[], int]:
        """As `set_out`, for one address that is gone to again and again."""
        return lambda: set_out(address)


def set_out(address: Address) -> int:
    """A socket on its way to `address`. Raises OSError if it cannot even set out."""
    family, target = address
    upstream = SocketType(family, _STREAM)
    try:
        if not _BORN_NONBLOCKING:
            upstream.setblocking(False)
        upstream.setsockopt(_TCP, _NO_DELAY, 1)
        code = upstream.connect_ex(target)
        if code not in _UNDER_WAY:
            raise OSError(code, os.strerror(code))
    except BaseException:
        upstream.close()
        raise
    return upstream.detach()


def has_arrived(fd: int) -> bool:
    """Whether a socket that has set out is connected; on loopback it mostly is, and at once."""
    with _borrowed(fd) as end:
        try:
            end.getpeername()
        except OSError:
            return False
        return True


def failure_of(fd: int) -> int:
    """The error that a socket has met with, or 0. The kernel tells it once."""
    with _borrowed(fd) as end:
        return end.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)


def unread_bytes(fd: int) -> int:
    """How much lies in a socket, ready to be read."""
    answer = bytearray(4)
    fcntl.ioctl(fd, termios.FIONREAD, answer)
    return int.from_bytes(answer, sys.byteorder)


def end_output(fd: int) -> None:
    """Send FIN; what the peer still sends can be read. A socket that is gone needs none."""
    _shutdown(fd, socket.SHUT_WR)


def close(fd: int, farewell: Farewell) -> None:
    """It never fails: a socket that is gone already needs no farewell."""
    if farewell == "reset":
        _setsockopt(fd, _SOCKET, _LINGER, _RESET_ON_CLOSE, len(_RESET_ON_CLOSE))
    elif farewell == "drain":
        _drain(fd)
    _close(fd)


def _drain(fd: int) -> None:
    """Unread bytes would turn the FIN of a close into a reset."""
    try:
        for _ in range(_MOST_DRAINS):
            if not os.read(fd, 65536):
                return
    except OSError:
        pass


@contextmanager
def _borrowed(fd: int) -> Iterator[SocketType]:
    """The socket as an object, for the rare questions that only objects answer."""
    # To ask the kernel what it is would fail for a socket that has met with an error on some systems.
    end = SocketType(socket.AF_INET6, socket.SOCK_STREAM, 0, fd)
    try:
        yield end
    finally:
        end.detach()
