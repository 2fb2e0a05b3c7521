"""network_partition: cuts this process off from some targets, or lets a running proxy do it.

With `metadata.control`, a proxy does it (`rule_effect`). Otherwise it happens inside this process, for TCP
only. Existing connections are cut in the kernel, also those of libraries that are not written in Python. New
ones are intercepted where Python connects: `socket.socket.connect` and `connect_ex`, which asyncio, ssl and
everything built on them call. A library that connects by itself (libpq, gRPC, uvloop) gets its connection,
and loses it a tenth of a second later at most.

How a connection is cut: it is *reset* by dissolving it (connect to AF_UNSPEC): the peer receives an RST, this
side an error, and the descriptor stays open for its owner to close. It is *silenced* by enabling TCP
signatures with a key (RFC 2385): the kernel drops unsigned segments that come in, and the peer drops the
signed ones that go out, because it does not have the key. Both sides retransmit, as if the network were down,
and continue where they were once the key is removed. (A peer whose system does not support RFC 2385 accepts
what is sent; Linux drops it.)
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
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Any

from faultkit.base.address import Endpoint
from faultkit.base.documents.key_tables import Key, KeyTable
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import choice
from faultkit.base.errors import InputError, RunError, TargetError
from faultkit.chaos.effects.lasting_effect import (
    LastingEffect,
    Measured,
    UndoLog,
    endpoints,
)
from faultkit.chaos.effects.rule_effect import CONTROL_KEYS, ProxyRules, partition_at_proxy
from faultkit.chaos.safety.chaos_limits import Limits
from faultkit.chaos.safety.undo import UndoResult

_TCP_MD5SIG = 14
"""The socket option of RFC 2385 in Linux (linux/tcp.h)."""
_KEY = b"faultkit"
_FAMILIES = (socket.AF_INET, socket.AF_INET6)
_DESCRIPTORS = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
_UNSPECIFIED = struct.pack("=H14x", socket.AF_UNSPEC)


# --- cutting TCP connections in the kernel ---------------------------------------------------------


def plain_ip(host: str) -> str:
    """Return the canonical form of an address, with an IPv4-mapped IPv6 address as IPv4."""
    address = ip_address(host.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def tcp_sockets() -> Iterator[socket.socket]:
    """Yield a duplicate of every open TCP socket of this process; the next step closes it.

    Duplicates, because an owner may close its descriptor at any time, and its number may be reused."""
    for number in map(int, os.listdir(_DESCRIPTORS)):
        try:
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
            copy = os.dup(number)
        except OSError:
            continue  # The owner has closed it in the meantime.
        try:
            sock = socket.socket(fileno=copy)
        except OSError:
            os.close(copy)
            continue
        with sock:
            if sock.family in _FAMILIES and sock.type == socket.SOCK_STREAM:
                yield sock


def peer_of(sock: socket.socket) -> tuple[str, int] | None:
    """Return the address of the other end, or None if the socket is not connected."""
    try:
        host, port = sock.getpeername()[:2]
    except OSError:
        return None
    return plain_ip(host), port


def reset(sock: socket.socket) -> None:
    """End the connection by RST; where the kernel cannot, by FIN."""
    if sys.platform == "linux":
        connect = ctypes.CDLL(None, use_errno=True).connect
        if connect(sock.fileno(), _UNSPECIFIED, len(_UNSPECIFIED)) == 0:
            return
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


def can_silence() -> bool:
    """Return whether this system supports TCP signatures."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        try:
            silence(sock, "127.0.0.1")
        except OSError:
            return False
    return True


def silence(sock: socket.socket, ip: str) -> None:
    """Stop all data to and from this address. Raises OSError where the kernel cannot."""
    _set_key(sock, ip, _KEY)


def unsilence(sock: socket.socket, ip: str) -> None:
    """Let data pass again. Does nothing if the address was not silenced."""
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
    """Return the address as a struct sockaddr_storage."""
    if family == socket.AF_INET:
        packed = struct.pack("=HH4s", family, 0, socket.inet_pton(family, ip))
    else:
        written = ip if ":" in ip else f"::ffff:{ip}"
        packed = struct.pack("=HHI16sI", family, 0, 0, socket.inet_pton(family, written), 0)
    return packed.ljust(128, b"\0")


# --- the partition ---------------------------------------------------------------------------------


MODES = ("refuse", "blackhole")
PARTITION_METADATA = KeyTable(
    Key("mode", choice(MODES), {"enum": list(MODES)}, "refuse", "What becomes of connections."),
    *CONTROL_KEYS,
    has_nulls=False,
)
_CUT_EVERY_S = 0.1


@dataclass(frozen=True, slots=True)
class Partition:
    """Which targets are cut off, and how: a StartableEffect."""

    mode: str
    targets: tuple[Endpoint, ...]

    def check(self, limits: Limits, *, targets_too: bool) -> None:
        for index, target in enumerate(self.targets if targets_too else ()):
            limits.check_target(target.host, target.port, f"targets[{index}]")

    def begin(self, name: str, lasts_s: float, lease: UndoLog | None) -> LastingEffect:
        """Cut the targets off. Nothing is written down, because the effect ends with this process."""
        return start_partition(self.targets, blackhole=self.mode == "blackhole")


def read_partition(targets: tuple[str, ...], metadata: Mapping[str, object]) -> Partition | ProxyRules:
    """Return the settings of a partition. PARTITION_METADATA are the keys of the metadata."""
    reader = MappingReader(metadata, PARTITION_METADATA, "metadata")
    mode = reader.take("mode")
    if not targets:
        raise InputError("targets", "expected at least one HOST:PORT to cut off, got none")
    found = endpoints(targets)
    return partition_at_proxy(mode, found, reader) if "control" in metadata else Partition(mode, found)


def start_partition(targets: tuple[Endpoint, ...], *, blackhole: bool) -> PartitionEffect:
    """Cut this process off from the targets.

    Raises TargetError for a name without an address, and RunError if this system cannot silence."""
    if blackhole and not can_silence():
        raise RunError(
            "this system cannot silence a connection (it has no TCP_MD5SIG): "
            "use mode refuse, or let a proxy do it, by metadata.control"
        )
    effect = PartitionEffect(targets, blackhole)
    effect.start()
    return effect


class PartitionEffect:
    """A partition between this process and some targets: a LastingEffect."""

    def __init__(self, targets: tuple[Endpoint, ...], blackhole: bool) -> None:
        self._targets = targets
        self._blackhole = blackhole
        self._addresses = {
            address for target in targets for address in _addresses_of(target.host, target.port)
        }
        self._ports = {target.port for target in targets}
        self._counts: Counter[str] = Counter(connections_cut=0, connects_met=0)
        self._silenced: dict[int, socket.socket] = {}
        """Duplicates of silenced sockets by inode. If an owner closes its socket meanwhile, the kernel must
        still be able to send the FIN once the partition ends."""
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._cutter = threading.Thread(target=self._cut_repeatedly, name="fault-partition", daemon=True)

    @property
    def says(self) -> str:
        what = "stall" if self._blackhole else "are refused and reset"
        return f"connections of this process to {', '.join(map(str, self._targets))} {what}"

    @property
    def is_active(self) -> bool:
        return not self._ended.is_set()

    def measure(self) -> Measured:
        return dict(self._counts)

    def hits(self) -> int:
        return self._counts["connections_cut"] + self._counts["connects_met"]

    def start(self) -> None:
        """Intercept new connections, cut existing ones, and keep cutting those that slip through."""
        _hook.add(self)
        try:
            self._cut()
            self._cutter.start()
        except BaseException:
            self.end()
            raise

    def end(self) -> UndoResult:
        with self._lock:
            if self._ended.is_set():
                return UndoResult(True, "it has ended already")
            self._ended.set()
            _hook.remove(self)
        if self._cutter.ident is not None:
            self._cutter.join()
        if self._blackhole:
            self._unsilence_all()
            _hook.cut_again()
        return UndoResult(True, f"connections to {', '.join(map(str, self._targets))} go through again")

    # --- new connections ----------------------------------------------------------------------

    def address_of(self, family: int, address: object) -> tuple[str, int] | None:
        """Return the IP address and port to connect to, if this partition cuts them off."""
        match address:
            case (str(host), int(port), *_) if port in self._ports:
                found = _addresses_of(host, port, or_none=True) & self._addresses
                # A name may have addresses of both families, and an IPv6 socket can reach IPv4 (RFC 4291
                # section 2.5.5.2): prefer an address of the socket's own family.
                fitting = [each for each in found if (":" in each[0]) == (family == socket.AF_INET6)]
                return next(iter(fitting or (found if family == socket.AF_INET6 else ())), None)
        return None

    def intercept(self, sock: socket.socket, ip: str) -> int:
        """Return the error number of a new connection, or 0 if the kernel may try."""
        with self._lock:
            if self._ended.is_set():
                return 0
            self._counts["connects_met"] += 1
            if not self._blackhole:
                return errno.ECONNREFUSED
            # The peer drops the signed SYN, and the kernel here drops what the peer sends.
            silence(sock, ip)
            return 0

    # --- existing connections -----------------------------------------------------------------

    def _cut_repeatedly(self) -> None:
        while not self._ended.wait(_CUT_EVERY_S):
            self._cut()

    def _cut(self) -> None:
        for sock in tcp_sockets():
            peer = peer_of(sock)
            if peer in self._addresses:
                assert peer is not None
                with self._lock:
                    if not self._ended.is_set():
                        self._cut_one(sock, peer[0])

    def _cut_one(self, sock: socket.socket, ip: str) -> None:
        if not self._blackhole:
            self._counts["connections_cut"] += 1
            reset(sock)
            return
        inode = os.fstat(sock.fileno()).st_ino
        if inode not in self._silenced:
            self._counts["connections_cut"] += 1
            self._silenced[inode] = sock.dup()
        try:
            silence(sock, ip)
        except OSError:
            # The kernel has room for a limited number of keys: this connection goes on, and is counted.
            self._counts["connections_missed"] += 1

    def cut_again(self) -> None:
        """Silence connections that the end of another partition has let pass."""
        if self._blackhole:
            self._cut()

    def _unsilence_all(self) -> None:
        ips = {ip for ip, _ in self._addresses}
        for sock in self._silenced.values():
            with sock:
                _unsilence(sock, ips)
        self._silenced.clear()
        # Sockets that are still connecting have no peer yet.
        for sock in tcp_sockets():
            _unsilence(sock, ips)


def _unsilence(sock: socket.socket, ips: set[str]) -> None:
    for ip in ips:
        if sock.family == socket.AF_INET6 or ":" not in ip:
            unsilence(sock, ip)


def _addresses_of(host: str, port: int, *, or_none: bool = False) -> set[tuple[str, int]]:
    try:
        return {(plain_ip(host), port)}
    except ValueError:
        pass  # It is a name.
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        if or_none:
            return set()  # The connect itself will fail with the same error.
        raise TargetError(f"{host} has no address: {error}") from None
    return {(plain_ip(str(address[0])), port) for *_, address in found}


class _ConnectHook:
    """Replaces two methods of socket.socket while a partition is active."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._partitions: tuple[PartitionEffect, ...] = ()
        self._before: dict[str, Any] = {}
        """The class's own attribute under each name; None where it inherits the method."""
        self._originals: dict[str, Callable[..., Any]] = {}
        self._is_installed = False

    def add(self, partition: PartitionEffect) -> None:
        with self._lock:
            self._partitions = (*self._partitions, partition)
            if not self._is_installed:
                for name, method in _METHODS.items():
                    self._before[name] = vars(socket.socket).get(name)
                    self._originals[name] = getattr(socket.socket, name)
                    setattr(socket.socket, name, method)
                self._is_installed = True

    def remove(self, partition: PartitionEffect) -> None:
        with self._lock:
            self._partitions = tuple(each for each in self._partitions if each is not partition)
            if not self._partitions:
                self._uninstall()

    def cut_again(self) -> None:
        for partition in self._partitions:
            partition.cut_again()

    def intercept(self, sock: socket.socket, address: object) -> tuple[int, object]:
        """Return an error number or 0, and the address to connect to."""
        for partition in self._partitions:
            if sock.type != socket.SOCK_STREAM:
                continue
            if (found := partition.address_of(sock.family, address)) is not None:
                problem = partition.intercept(sock, found[0])
                assert isinstance(address, tuple)
                # Connect to the very address that was silenced: resolving the name again may give another.
                host = found[0] if sock.family == socket.AF_INET or ":" in found[0] else f"::ffff:{found[0]}"
                return problem, (host, *address[1:])
        return 0, address

    def call_original(self, name: str, sock: socket.socket, address: object) -> Any:
        return self._originals[name](sock, address)

    def clear(self) -> None:
        """Drop all partitions in a forked child, where no thread would ever end them."""
        self._lock = threading.Lock()
        self._partitions = ()
        self._uninstall()

    def _uninstall(self) -> None:
        # If another library has replaced our method since, ours must stay below it: it passes everything on.
        if not self._is_installed or any(
            vars(socket.socket)[name] is not _METHODS[name] for name in _METHODS
        ):
            return
        for name, before in self._before.items():
            if before is None:
                delattr(socket.socket, name)
            else:
                setattr(socket.socket, name, before)
        self._is_installed = False


def _connect(self: socket.socket, address: Any) -> None:
    problem, address = _hook.intercept(self, address)
    if problem:
        raise OSError(problem, os.strerror(problem))
    _hook.call_original("connect", self, address)


def _connect_ex(self: socket.socket, address: Any) -> int:
    problem, address = _hook.intercept(self, address)
    return problem or int(_hook.call_original("connect_ex", self, address))


_METHODS: dict[str, Callable[..., Any]] = {"connect": _connect, "connect_ex": _connect_ex}
_hook = _ConnectHook()
os.register_at_fork(after_in_child=_hook.clear)
