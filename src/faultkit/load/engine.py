"""The HTTP load engine: sends requests and records what was measured of each.

One thread, one event loop. It owns the name's addresses and the pool of kept connections. A load model
(`load_models`) decides when to send: it calls `ask`, and its `over` is called when the request is over.

    load model ──ask──▶ Engine ──▶ Connection (new, or idle from the pool) ──▶ loop
    load model ◀──over── Engine ◀──answered, failed, crossed, starved── Connection

Each request ends in exactly one of four ways:

    answered    A response came; 500 to 599 counts as an error. The connection may return to the pool.
    failed      No response: refused, reset, timed out … It counts as an error.
    crossed     The server closed the idle connection while the request was on its way. It is sent again
                on a new connection and keeps its first start, so the detour is part of its time.
    starved     This machine has no descriptor or port left, or our own proxy on it reports that. It counts
                as dropped: the target did not fail.

A request is timed from its real start (`started`) and from its intended one (`intended`). The second is what
a user waits: a model that is late, or whose connections are all busy, must not make the target look fast.

Deadlines are in `engine_base`. A crossed request is out of their order and has a timer of its own.
"""

from __future__ import annotations

from faultkit.load.connection import Connection
from faultkit.load.engine_base import LoadEngine, Recorder, Requester
from faultkit.load.native import new_exchange
from faultkit.load.response import Failure, HeadResponseReader, ResponseReader
from faultkit.load.route import Route
from faultkit.proxy.dial import Resolver, literal_address
from faultkit.proxy.event_loop import Loop
from faultkit.proxy.sockets import Address, packed_address

_PAUSE_S = 0.01
"""Pause of a load model after this machine ran out of descriptors or ports."""


class Engine(LoadEngine[Connection]):
    """Sends requests over one route. Times in samples count from `begin_at`, an instant of the loop's
    clock."""

    def __init__(self, route: Route, loop: Loop, begin_at: float) -> None:
        super().__init__(loop, begin_at, route.timeout_s)
        self.route = route
        self._idle: list[Connection] = []
        """Kept connections. The one used last is used next, so that servers can close those not needed."""
        self._resolver = Resolver(loop)
        literal = literal_address(route.endpoint.host, route.endpoint.port)
        self._addresses: list[Address] = [literal] if literal else []
        """Empty until the name is resolved."""
        self._unresolved: list[Connection] = []
        if type(self) is Engine:  # Others measure more than a response and its time.
            self.exchange = new_exchange(self, route, loop, self.pending, self._idle)
        if self.exchange is not None:
            self._recorder = Recorder(begin_at, self.exchange)
            self._add_kept = self._recorder.adder_of_kept()
        self._nearest: Address | None = None
        """The address that `exchange` knows."""

    def close(self) -> None:
        """Close every connection. Requests that are under way are not measured."""
        for connection in [*self.pending, *self._idle]:
            connection.close()
        self._resolver.close()

    def ask(self, requester: Requester, intended: float | None) -> None:
        """Send a request now. `intended` is the instant it was scheduled for; None means its start."""
        idle = self._idle
        while idle:
            connection = idle.pop()
            if connection.fd >= 0:
                self.pending[connection] = None
                connection.ask(requester, intended)
                return
        now = self._clock()
        connection = Connection(self, requester, now if intended is None else intended, now)
        self.pending[connection] = None
        self._connect(connection)

    # --- for connections ----------------------------------------------------------------------

    def new_reader(self) -> ResponseReader:
        return HeadResponseReader() if self.route.head_only else ResponseReader()

    def answered(self, connection: Connection, now: float) -> None:
        """Record a response, and keep the connection if it is idle."""
        status = connection.answer.status
        if status >= 500:
            trouble = connection.answer.trouble
            if trouble is Failure.SHORTAGE:
                connection.close()
                self.starved(connection)
                return
            self.errors += 1
            self._recorder.add(connection, now, 0 if trouble else status, trouble or Failure.STATUS)
        elif connection.kept:
            self._add_kept(connection, now, status)
        else:
            self._recorder.add(connection, now, status, Failure.NONE)
        self._end(connection, now)

    def _end(self, connection: Connection, now: float) -> None:
        """End a request that was answered."""
        del self.pending[connection]
        if connection.idle:
            connection.kept = True
            self._idle.append(connection)
        connection.requester.over(now)
        if self._finishing:
            self._stop_if_done()

    def failed(self, connection: Connection, now: float, failure: Failure) -> None:
        """Record a request without a response."""
        if failure is Failure.SHORTAGE:
            self.starved(connection)
            return
        self.errors += 1
        self._recorder.add(connection, now, 0, failure)
        del self.pending[connection]
        # Not at once: requests that fail at once would keep the loop from its other work.
        self.loop.call_soon(lambda: connection.requester.over(self._clock()), None)
        if self._finishing:
            self._stop_if_done()

    def crossed(self, connection: Connection) -> None:
        """Send the same request again on a new connection, with its first start and deadline."""
        fresh = Connection(self, connection.requester, connection.intended, connection.started)
        del self.pending[connection]
        self.pending[fresh] = None
        # It is now behind requests that started later, where `_expire` would find it too late.
        self.loop.call_at(fresh.started + self._timeout_s, lambda at: self._expire_one(fresh), None)
        self._connect(fresh)

    def starved(self, connection: Connection) -> None:
        """Count a request that could not be sent as dropped."""
        self.dropped += 1
        self.starved_count += 1
        del self.pending[connection]
        self.loop.call_at(self._clock() + _PAUSE_S, lambda at: connection.requester.over(self._clock()), None)
        if self._finishing:
            self._stop_if_done()

    def arrived_at(self, address: Address) -> None:
        """Try this address first from now on."""
        if self._addresses[0] is not address:
            self._addresses.remove(address)
            self._addresses.insert(0, address)

    # --- names and deadlines ------------------------------------------------------------------

    def _connect(self, connection: Connection) -> None:
        if self._addresses:
            self._dial(connection)
            return
        self._unresolved.append(connection)
        if len(self._unresolved) == 1:
            endpoint = self.route.endpoint
            self._resolver.resolve(endpoint.host, endpoint.port, self._resolved, None)

    def _resolved(self, found: list[Address] | str) -> None:
        now = self._clock()
        waiting, self._unresolved = self._unresolved, []
        self._addresses = found if isinstance(found, list) else []
        for connection in waiting:
            if not self._is_wanted(connection):
                continue  # It has timed out.
            if self._addresses:
                connection.dns_s = now - connection.started
                self._dial(connection)
            else:
                self.failed(connection, now, Failure.DNS)

    def _dial(self, connection: Connection) -> None:
        nearest = self._addresses[0]
        if self._nearest is not nearest:
            self._nearest = nearest
            if self.exchange is not None:
                self.exchange.place = packed_address(nearest)
        connection.dial(self._addresses)

    def _is_wanted(self, connection: Connection) -> bool:
        return connection in self.pending

    def _expire_one(self, connection: Connection) -> None:
        if connection in self.pending and connection.started + self._timeout_s <= self._clock():
            self._time_out(connection)

    def _time_out(self, connection: Connection) -> None:
        connection.close()
        self.failed(connection, self._clock(), Failure.TIMEOUT)
