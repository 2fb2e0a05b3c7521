"""Sockets of the load engine: setting out, and what the system says of those that failed."""

from __future__ import annotations

import errno
import os
import socket
import struct
import sys
from socket import SocketType

from faultkit.load.failure import Failure
from faultkit.proxy.sockets import Address

_UNDER_WAY = (errno.EINPROGRESS, 0, errno.EWOULDBLOCK)
_BORN_NONBLOCKING = hasattr(socket, "SOCK_NONBLOCK")
_STREAM = socket.SOCK_STREAM | (socket.SOCK_NONBLOCK if _BORN_NONBLOCKING else 0)


def begin_connect(address: Address) -> tuple[SocketType, bool]:
    """A socket on its way to `address`, and whether it is there already, as on loopback it mostly is.

    Raises OSError if it cannot even set out.
    """
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
    """What is not in the table means that no way leads there: no route, host down, not permitted."""
    return _FAILURES.get(code, Failure.UNREACHABLE)


def is_our_shortage(code: int, family: int) -> bool:
    """This machine has no descriptor, memory or port left, which says nothing about the target.
    Without a port left it speaks of the address; but so it does where it has no IPv6."""
    return code in _SHORTAGES or (code == errno.EADDRNOTAVAIL and family == socket.AF_INET)


# Linux, struct tcp_info: tcpi_bytes_acked, which counts the SYN as one byte.
_BYTES_ACKED = struct.Struct("@120xQ")


def has_taken(sock: SocketType, sent: int) -> bool:
    """Whether the other side's kernel has taken in the first `sent` bytes that went out at `sock`.

    A server that closes an idle connection does not take the request that crosses with it; one that
    gives up while it works on the request has. Where the system cannot tell, nothing was taken.
    """
    if sys.platform != "linux":
        return False
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_ACKED.size)
    (acked,) = _BYTES_ACKED.unpack(info)
    return bool(acked - 1 >= sent)
