"""The HTTP load engine: sends requests and records what was measured of each.

One thread, one event loop. It owns the name's addresses, the pool of kept connections, the deadlines and the
columns of samples. A load model (`load_models`) decides when to send: it calls `ask`, and its `over` is
called when the request is over.

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

Deadlines need one timer for all requests: all have the same time-out, and `pending` keeps them in the order
of their starts, so only the oldest has to be looked at (`_expire`). A crossed request is out of that order
and has a timer of its own.

The hot path is a response on a kept connection. It appends six numbers through bound methods of the columns
(`Recorder.adder_of_kept`); the columns that only new connections fill are extended later, in one call.
"""

from __future__ import annotations

import traceback
from array import array
from collections.abc import Callable
from math import nan
from typing import TypeAlias

from faultkit.base.errors import RunError
from faultkit.load.connection import Connection, Requester
from faultkit.load.response import Failure
from faultkit.load.route import Route
from faultkit.load.samples import Samples
from faultkit.proxy.dial import Resolver, literal_address
from faultkit.proxy.event_loop import Loop
from faultkit.proxy.sockets import Address

_PAUSE_S = 0.01
"""Pause of a load model after this machine ran out of descriptors or ports."""


class Engine:
    """Sends requests over one route. Times in samples count from `begin_at`, an instant of the loop's
    clock."""

    def __init__(self, route: Route, loop: Loop, begin_at: float) -> None:
        self.route = route
        self.loop = loop
        self.pending: dict[Connection, None] = {}
        """Connections with a request under way, in the order of their starts, which is that of their
        deadlines."""
        self.errors = 0
        self.dropped = 0
        """Requests that were never sent: too many were under way, or no descriptor or port was left."""
        self.starved_count = 0
        """Those for the second reason."""
        self._taken = 0
        self._recorder = Recorder(begin_at)
        self._add_kept = self._recorder.adder_of_kept()
        self._clock = loop.clock
        self._idle: list[Connection] = []
        """Kept connections. The one used last is used next, so that servers can close those not needed."""
        self._resolver = Resolver(loop)
        literal = literal_address(route.endpoint.host, route.endpoint.port)
        self._addresses: list[Address] = [literal] if literal else []
        """Empty until the name is resolved."""
        self._unresolved: list[Connection] = []
        self._finishing = False
        self._defect: Exception | None = None
        loop.on_defect = self._break
        loop.call_at(loop.clock() + route.timeout_s, self._expire, None)

    @property
    def started(self) -> int:
        """Requests that are over or under way."""
        return self._taken + len(self._recorder) + len(self.pending)

    def run(self) -> None:
        """Run until the loop is stopped. Raises RunError after a defect: its figures would be wrong."""
        self.loop.run()
        if self._defect is not None:
            failed = RunError("the load engine failed; the log says where")
            failed.add_note("".join(traceback.format_exception(self._defect)))
            raise failed from self._defect

    def close(self) -> None:
        """Close every connection. Requests that are under way are not measured."""
        for connection in [*self.pending, *self._idle]:
            connection.close()
        self._resolver.close()

    def finish(self) -> None:
        """Stop the loop when nothing is under way any more."""
        self._finishing = True
        self._stop_if_done()

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

    def take_samples(self) -> Samples:
        """Return the samples since the last call."""
        taken = self._recorder.take()
        self._taken += len(taken)
        self._add_kept = self._recorder.adder_of_kept()
        return taken

    # --- for connections ----------------------------------------------------------------------

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
        self.loop.call_at(fresh.started + self.route.timeout_s, lambda at: self._expire_one(fresh), None)
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

    def _break(self, error: Exception) -> None:
        """Keep the first defect, because others may follow from it, and stop."""
        self._defect = self._defect or error
        self.loop.stop()

    def _stop_if_done(self) -> None:
        if not self.pending:
            self.loop.stop()

    # --- names and deadlines ------------------------------------------------------------------

    def _connect(self, connection: Connection) -> None:
        if self._addresses:
            connection.dial(self._addresses)
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
            if connection not in self.pending:
                continue  # It has timed out.
            if self._addresses:
                connection.dns_s = now - connection.started
                connection.dial(self._addresses)
            else:
                self.failed(connection, now, Failure.DNS)

    def _expire(self, at: float) -> None:
        """Fail the requests that have timed out, and sleep until the next deadline."""
        now = self._clock()
        timeout_s = self.route.timeout_s
        due = now + timeout_s
        expired = []
        for connection in self.pending:
            if connection.started + timeout_s > now:
                due = connection.started + timeout_s
                break
            expired.append(connection)
        for connection in expired:
            self._time_out(connection)
        self.loop.call_at(due, self._expire, None)

    def _expire_one(self, connection: Connection) -> None:
        if connection in self.pending and connection.started + self.route.timeout_s <= self._clock():
            self._time_out(connection)

    def _time_out(self, connection: Connection) -> None:
        connection.close()
        self.failed(connection, self._clock(), Failure.TIMEOUT)


AddKept: TypeAlias = Callable[[Connection, float, int], None]

_NAN = array("d", [nan])
_NO_FAILURE = array("B", [Failure.NONE])


class Recorder:
    """The columns of samples that are being filled. Their times are counted from `begin_at`."""

    def __init__(self, begin_at: float) -> None:
        self._begin_at = begin_at
        self._samples = Samples()
        self._add_kept = self.adder_of_kept()

    def __len__(self) -> int:
        return len(self._samples.total_s)

    def adder_of_kept(self) -> AddKept:
        """Return a function that adds a response on a kept connection; valid until the next `take`."""
        samples, begin_at = self._samples, self._begin_at
        add_intended, add_started = samples.intended.append, samples.started.append
        add_total, add_first_byte = samples.total_s.append, samples.first_byte_s.append
        add_status, add_received = samples.status.append, samples.received.append

        def add(connection: Connection, now: float, status: int) -> None:
            started = connection.started
            add_intended(connection.intended - begin_at)
            add_started(started - begin_at)
            add_total(now - started)
            add_first_byte(connection.first_byte - started)
            add_status(status)
            add_received(connection.received)

        return add

    def add(self, connection: Connection, now: float, status: int, failure: Failure) -> None:
        """Add any outcome of any request."""
        samples = self._samples
        self._fill_up()
        fresh = not connection.kept
        samples.dns_s.append(connection.dns_s if fresh else nan)
        samples.connect_s.append(connection.connect_s if fresh else nan)
        samples.tls_s.append(connection.tls_s if fresh else nan)
        samples.failure.append(failure)
        if not connection.received:
            connection.first_byte = nan
        self._add_kept(connection, now, status)

    def take(self) -> Samples:
        """Return the samples since the last call, with columns of equal length."""
        self._fill_up()
        taken, self._samples = self._samples, Samples()
        self._add_kept = self.adder_of_kept()
        return taken

    def _fill_up(self) -> None:
        """Extend the columns that `adder_of_kept` leaves out."""
        samples = self._samples
        missing = len(self) - len(samples.failure)
        if missing:
            samples.failure.extend(_NO_FAILURE * missing)
            for column in (samples.dns_s, samples.connect_s, samples.tls_s):
                column.extend(_NAN * missing)
