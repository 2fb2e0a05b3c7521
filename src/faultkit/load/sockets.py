"""Sockets of the load engine: starting to connect, and the meaning of the system's error codes."""

from __future__ import annotations

import errno
import os
import socket
import struct
import sys
from socket import SocketType

from faultkit.load.response import Failure
from faultkit.proxy.sockets import Address

_UNDER_WAY = (errno.EINPROGRESS, 0, errno.EWOULDBLOCK)
_BORN_NONBLOCKING = hasattr(socket, "SOCK_NONBLOCK")
_STREAM = socket.SOCK_STREAM | (socket.SOCK_NONBLOCK if _BORN_NONBLOCKING else 0)


def begin_connect(address: Address) -> tuple[SocketType, bool]:
    """Start to connect to `address`. Return the socket, and whether it is connected already.

    On loopback it mostly is. Raises OSError if the connection cannot be started."""
    family, target = address
    sock = SocketType(family, _STREAM)
    try:
        if not _BORN_NONBLOCKING:
            sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        code = sock.connect_ex(target)
        if code not in _UNDER_WAY:
            raise OSError(code, os.strerror(code))
    except BaseException:
        sock.close()
        raise
    return sock, is_connected(sock)


def is_connected(sock: SocketType) -> bool:
    """Return whether the socket is connected."""
    try:
        sock.getpeername()
    except OSError:
        return False
    return True


_FAILURES = {
    errno.ECONNREFUSED: Failure.REFUSED,
    errno.ETIMEDOUT: Failure.TIMEOUT,
    errno.ECONNRESET: Failure.RESET,
    errno.ECONNABORTED: Failure.RESET,
    errno.EPIPE: Failure.RESET,
}
_SHORTAGES = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


def failure_of(code: int) -> Failure:
    """Return the failure of an error code; UNREACHABLE for others (no route, host down, not permitted)."""
    return _FAILURES.get(code, Failure.UNREACHABLE)


def is_our_shortage(code: int, family: int) -> bool:
    """Return whether this machine has no descriptor, memory or port left, which is no failure of the target.

    Without a free port the code is EADDRNOTAVAIL, which with IPv6 can also mean that there is no IPv6."""
    return code in _SHORTAGES or (code == errno.EADDRNOTAVAIL and family == socket.AF_INET)


# Linux, struct tcp_info: tcpi_bytes_acked, which counts the SYN as one byte.
_BYTES_ACKED = struct.Struct("@120xQ")


def has_taken(sock: SocketType, sent: int) -> bool:
    """Return whether the peer's kernel has acknowledged the first `sent` bytes of `sock`.

    A server that closes an idle connection does not take the request that crosses with it; one that
    fails while it works on the request has. False where the system does not report it.
    """
    if sys.platform != "linux":
        return False
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_ACKED.size)
    (acked,) = _BYTES_ACKED.unpack(info)
    return bool(acked - 1 >= sent)
