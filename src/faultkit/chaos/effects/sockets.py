"""Connections of this process, cut where they are: in the kernel, whoever made them.

A connection is *reset* by dissolving it: the other end gets an RST, this end an error, and the descriptor
stays open for its owner to close. It is *silenced* by asking the kernel for signed segments (RFC 2385): what
comes unsigned is not taken, and what goes out signed is not taken over there, since nobody there knows the
key. Both ends send again and again, as they would if the network were down, and go on where they were once
the key is taken away. (An end that knows nothing of signatures takes what is sent; Linux knows of them.)
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import socket
import stat
import struct
import sys
from collections.abc import Iterator
from ipaddress import IPv6Address, ip_address

_TCP_MD5SIG = 14
_KEY = b"faultkit"
_FAMILIES = (socket.AF_INET, socket.AF_INET6)
_DESCRIPTORS = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
_UNSPECIFIED = struct.pack("=H14x", socket.AF_UNSPEC)


def plain_ip(host: str) -> str:
    """One spelling for one address; IPv4 inside IPv6 is IPv4."""
    address = ip_address(host.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def tcp_sockets() -> Iterator[socket.socket]:
    """Every TCP socket that this process has open, each as a copy, closed when the next one is asked for.

    A copy, because its owner may close the descriptor at any time, and another may get its number."""
    for number in map(int, os.listdir(_DESCRIPTORS)):
        try:
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
            copy = os.dup(number)
        except OSError:
            continue  # It was closed meanwhile.
        try:
            sock = socket.socket(fileno=copy)
        except OSError:
            os.close(copy)
            continue
        with sock:
            if sock.family in _FAMILIES and sock.type == socket.SOCK_STREAM:
                yield sock


def peer_of(sock: socket.socket) -> tuple[str, int] | None:
    """None: it is not connected."""
    try:
        host, port = sock.getpeername()[:2]
    except OSError:
        return None
    return plain_ip(host), port


def reset(sock: socket.socket) -> None:
    """The connection ends by RST. Where the kernel cannot dissolve it, it ends by FIN."""
    if sys.platform == "linux" and _dissolve(sock.fileno()):
        return
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


def _dissolve(descriptor: int) -> bool:
    connect = ctypes.CDLL(None, use_errno=True).connect
    return bool(connect(descriptor, _UNSPECIFIED, len(_UNSPECIFIED)) == 0)


def can_silence() -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        try:
            silence(sock, "127.0.0.1")
        except OSError:
            return False
    return True


def silence(sock: socket.socket, ip: str) -> None:
    """Nothing goes to or comes from this address any more. OSError where the kernel cannot."""
    _set_key(sock, ip, _KEY)


def let_speak(sock: socket.socket, ip: str) -> None:
    try:
        _set_key(sock, ip, b"")
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.EINVAL):
            raise


def _set_key(sock: socket.socket, ip: str, key: bytes) -> None:
    if sys.platform != "linux":
        raise OSError(errno.ENOPROTOOPT, os.strerror(errno.ENOPROTOOPT))
    option = _address(sock.family, ip) + struct.pack("=BBHi80s", 0, 0, len(key), 0, key)
    sock.setsockopt(socket.IPPROTO_TCP, _TCP_MD5SIG, option)


def _address(family: int, ip: str) -> bytes:
    """struct sockaddr_storage."""
    if family == socket.AF_INET:
        packed = struct.pack("=HH4s", family, 0, socket.inet_pton(family, ip))
    else:
        written = ip if ":" in ip else f"::ffff:{ip}"
        packed = struct.pack("=HHI16sI", family, 0, 0, socket.inet_pton(family, written), 0)
    return packed.ljust(128, b"\0")
