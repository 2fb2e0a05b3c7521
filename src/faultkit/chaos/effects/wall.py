"""A network partition inside this process: a wall between it and some targets.

Connections that are there are cut in the kernel (`effects.sockets`), also those of libraries that are not
written in Python. New ones are met where Python connects: `socket.socket.connect` and `connect_ex`, which
asyncio, ssl and all that is built on them call. A library that connects by itself (libpq, gRPC, uvloop) gets
its connection, and has it cut a tenth of a second later at most. Only TCP is touched.
"""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from faultkit.base.address import Endpoint
from faultkit.base.errors import RunError, TargetError
from faultkit.chaos.effects.lasting import Measured
from faultkit.chaos.effects.sockets import (
    can_silence,
    let_speak,
    peer_of,
    plain_ip,
    reset,
    silence,
    tcp_sockets,
)
from faultkit.chaos.undo import UndoResult

_LOOK_EVERY_S = 0.1


def raise_wall(targets: tuple[Endpoint, ...], *, blackhole: bool) -> Wall:
    """TargetError: a name has no address. RunError: this system cannot do it."""
    if blackhole and not can_silence():
        raise RunError(
            "this system cannot silence a connection (it has no TCP_MD5SIG): "
            "use mode refuse, or let a proxy do it, by metadata.control"
        )
    wall = Wall(targets, blackhole)
    wall.rise()
    return wall


class Wall:
    def __init__(self, targets: tuple[Endpoint, ...], blackhole: bool) -> None:
        self._targets = targets
        self._blackhole = blackhole
        self._places = {place for target in targets for place in _places_of(target.host, target.port)}
        self._ports = {target.port for target in targets}
        self._counts: Counter[str] = Counter(connections_cut=0, connects_met=0)
        self._kept: dict[int, socket.socket] = {}
        """By inode. A connection that its owner closes meanwhile must be able to say goodbye afterwards."""
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._looking = threading.Thread(target=self._look, name="fault-wall", daemon=True)

    @property
    def says(self) -> str:
        what = "stall" if self._blackhole else "are refused and reset"
        return f"connections of this process to {', '.join(map(str, self._targets))} {what}"

    @property
    def at_work(self) -> bool:
        return not self._over.is_set()

    def measure(self) -> Measured:
        return dict(self._counts)

    def rise(self) -> None:
        _gate.add(self)
        try:
            self._cut()
            self._looking.start()
        except BaseException:
            self.end()
            raise

    def end(self) -> UndoResult:
        with self._lock:
            if self._over.is_set():
                return UndoResult(True, "it has ended already")
            self._over.set()
            _gate.remove(self)
        if self._looking.ident is not None:
            self._looking.join()
        if self._blackhole:
            self._let_all_speak()
            _gate.look_again()
        return UndoResult(True, f"connections to {', '.join(map(str, self._targets))} go through again")

    # --- new connections ----------------------------------------------------------------------

    def place_of(self, family: int, address: object) -> tuple[str, int] | None:
        """The IP address and port that are meant, if they lie behind this wall."""
        match address:
            case (str(host), int(port), *_) if port in self._ports:
                places = _places_of(host, port, else_none=True) & self._places
                # A name may stand for addresses of both families; a literal address for IPv4 inside IPv6.
                fitting = [place for place in places if (":" in place[0]) == (family == socket.AF_INET6)]
                return next(iter(fitting or (places if family == socket.AF_INET6 else ())), None)
        return None

    def meet(self, sock: socket.socket, place: tuple[str, int]) -> int:
        """What comes of a new connection: an error number, or 0 if the kernel may try."""
        with self._lock:
            if self._over.is_set():
                return 0
            self._counts["connects_met"] += 1
            if not self._blackhole:
                return errno.ECONNREFUSED
            # What it sends is not understood over there, and what would come back is not heard.
            silence(sock, place[0])
            return 0

    # --- those that are there -----------------------------------------------------------------

    def _look(self) -> None:
        while not self._over.wait(_LOOK_EVERY_S):
            self._cut()

    def _cut(self) -> None:
        for sock in tcp_sockets():
            peer = peer_of(sock)
            if peer in self._places:
                assert peer is not None
                with self._lock:
                    if not self._over.is_set():
                        self._cut_one(sock, peer[0])

    def _cut_one(self, sock: socket.socket, ip: str) -> None:
        if not self._blackhole:
            self._counts["connections_cut"] += 1
            reset(sock)
            return
        inode = os.fstat(sock.fileno()).st_ino
        if inode not in self._kept:
            self._counts["connections_cut"] += 1
            self._kept[inode] = sock.dup()
        try:
            silence(sock, ip)
        except OSError:
            # The kernel keeps room for only so many keys: this one goes on, and is told of.
            self._counts["connections_missed"] += 1

    def look_again(self) -> None:
        """Another wall has let connections speak that lie behind this one, too."""
        if self._blackhole:
            self._cut()

    def _let_all_speak(self) -> None:
        ips = {ip for ip, _ in self._places}
        for kept in self._kept.values():
            with kept:
                _let_speak(kept, ips)
        self._kept.clear()
        # Those that are still trying to connect.
        for sock in tcp_sockets():
            _let_speak(sock, ips)


def _let_speak(sock: socket.socket, ips: set[str]) -> None:
    for ip in ips:
        if sock.family == socket.AF_INET6 or ":" not in ip:
            let_speak(sock, ip)


def _places_of(host: str, port: int, *, else_none: bool = False) -> set[tuple[str, int]]:
    try:
        return {(plain_ip(host), port)}
    except ValueError:
        pass  # It is a name.
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        if else_none:
            return set()  # Whoever connects will be told.
        raise TargetError(f"{host} has no address: {error}") from None
    return {(plain_ip(str(address[0])), port) for *_, address in found}


class _Gate:
    """The two methods of socket.socket that are replaced while a wall stands."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._walls: tuple[Wall, ...] = ()
        self._before: dict[str, Any] = {}
        """What the class itself had under each name; nothing where it has it from its base."""
        self._passes: dict[str, Callable[..., Any]] = {}
        self._is_there = False

    def add(self, wall: Wall) -> None:
        with self._lock:
            self._walls = (*self._walls, wall)
            if not self._is_there:
                for name, method in _METHODS.items():
                    self._before[name] = vars(socket.socket).get(name)
                    self._passes[name] = getattr(socket.socket, name)
                    setattr(socket.socket, name, method)
                self._is_there = True

    def remove(self, wall: Wall) -> None:
        with self._lock:
            self._walls = tuple(each for each in self._walls if each is not wall)
            if not self._walls:
                self._take_away()

    def look_again(self) -> None:
        for wall in self._walls:
            wall.look_again()

    def met(self, sock: socket.socket, address: object) -> tuple[int, object]:
        """An error number or 0, and the address to go to."""
        for wall in self._walls:
            if sock.type == socket.SOCK_STREAM and (place := wall.place_of(sock.family, address)) is not None:
                problem = wall.meet(sock, place)
                assert isinstance(address, tuple)
                # The kernel must go to the very address that was silenced, and not ask for it once more.
                host = place[0] if sock.family == socket.AF_INET or ":" in place[0] else f"::ffff:{place[0]}"
                return problem, (host, *address[1:])
        return 0, address

    def pass_on(self, name: str, sock: socket.socket, address: object) -> Any:
        return self._passes[name](sock, address)

    def clear(self) -> None:
        """In a forked child, where nobody would ever end them."""
        self._lock = threading.Lock()
        self._walls = ()
        self._take_away()

    def _take_away(self) -> None:
        # Where somebody else has put a method over ours, ours must stay: it lets everything pass.
        if not self._is_there or any(vars(socket.socket)[name] is not _METHODS[name] for name in _METHODS):
            return
        for name, before in self._before.items():
            if before is None:
                delattr(socket.socket, name)
            else:
                setattr(socket.socket, name, before)
        self._is_there = False


def _connect(self: socket.socket, address: Any) -> None:
    problem, address = _gate.met(self, address)
    if problem:
        raise OSError(problem, os.strerror(problem))
    _gate.pass_on("connect", self, address)


def _connect_ex(self: socket.socket, address: Any) -> int:
    problem, address = _gate.met(self, address)
    return problem or int(_gate.pass_on("connect_ex", self, address))


_METHODS: dict[str, Callable[..., Any]] = {"connect": _connect, "connect_ex": _connect_ex}
_gate = _Gate()
os.register_at_fork(after_in_child=_gate.clear)
