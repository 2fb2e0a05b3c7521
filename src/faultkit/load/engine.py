"""The HTTP load engine: sends a request when it is told to, and keeps what was measured of each.

One thread, one loop. It owns the name's addresses, the pool of kept connections, the deadlines and
the columns of samples. When to ask is not known here: an `Asker` calls `ask` and hears when it is over.
"""

from __future__ import annotations

import traceback

from faultkit.base.errors import RunError
from faultkit.load.connection import Asker, Connection
from faultkit.load.failure import Failure
from faultkit.load.recorder import Recorder
from faultkit.load.route import Route
from faultkit.load.samples import Samples
from faultkit.proxy.dial import Resolver, literal_address
from faultkit.proxy.eventloop import Loop
from faultkit.proxy.sockets import Address

_PAUSE_S = 0.01
"""For an asker who found this machine out of descriptors or ports."""


class Engine:
    """Times in samples count from `begin_at`, an instant of the loop's clock."""

    def __init__(self, route: Route, loop: Loop, begin_at: float) -> None:
        self.route = route
        self.loop = loop
        self.pending: dict[Connection, None] = {}
        """Under way, in the order of their starts, which is that of their deadlines."""
        self.errors = 0
        self.dropped = 0
        """Never sent: too many were under way, or this machine had nothing left to connect with."""
        self._taken = 0
        self._recorder = Recorder(begin_at)
        self._add_kept = self._recorder.adder_of_kept()
        self._clock = loop.clock
        self._idle: list[Connection] = []
        """The one used last is used next, so that the others may grow old and close."""
        self._resolver = Resolver(loop)
        literal = literal_address(route.endpoint.host, route.endpoint.port)
        self._addresses: list[Address] = [literal] if literal else []
        """Empty: the name must be resolved first."""
        self._unresolved: list[Connection] = []
        self._finishing = False
        self._defect: Exception | None = None
        loop.on_defect = self._break
        loop.call_at(loop.clock() + route.timeout_s, self._expire)

    @property
    def started(self) -> int:
        """Requests that are over or under way."""
        return self._taken + len(self._recorder) + len(self.pending)

    def run(self) -> None:
        """Until the loop is stopped. After a defect of ours it raises RunError: no figure may come of it."""
        self.loop.run()
        if self._defect is not None:
            failed = RunError("the load engine failed; the log says where")
            failed.add_note("".join(traceback.format_exception(self._defect)))
            raise failed from self._defect

    def close(self) -> None:
        """Ends every connection. Requests that are under way are not measured."""
        for connection in [*self.pending, *self._idle]:
            connection.close()
        self._resolver.close()

    def finish(self) -> None:
        """Nobody asks any more: the loop stops when nothing is under way."""
        self._finishing = True
        self._stop_if_done()

    def ask(self, asker: Asker, intended: float | None) -> None:
        """Send a request now. It was meant for the instant `intended`; None: for whenever it starts."""
        idle = self._idle
        while idle:
            connection = idle.pop()
            if connection.fd >= 0:
                self.pending[connection] = None
                connection.ask(asker, intended)
                return
        now = self._clock()
        connection = Connection(self, asker, now if intended is None else intended, now)
        self.pending[connection] = None
        self._connect(connection)

    def take_samples(self) -> Samples:
        """What was measured since the last time."""
        taken = self._recorder.take()
        self._taken += len(taken)
        self._add_kept = self._recorder.adder_of_kept()
        return taken

    # --- for connections ----------------------------------------------------------------------

    def answered(self, connection: Connection, now: float) -> None:
        status = connection.answer.status
        if status >= 500:
            self.errors += 1
            trouble = connection.answer.trouble
            self._recorder.add(connection, now, 0 if trouble else status, trouble or Failure.STATUS)
        elif connection.kept:
            self._add_kept(connection, now, status)
        else:
            self._recorder.add(connection, now, status, Failure.NONE)
        del self.pending[connection]
        if connection.idle:
            connection.kept = True
            self._idle.append(connection)
        connection.asker.over(now)
        if self._finishing:
            self._stop_if_done()

    def failed(self, connection: Connection, now: float, failure: Failure) -> None:
        self.errors += 1
        self._recorder.add(connection, now, 0, failure)
        del self.pending[connection]
        # Not at once: what fails at once would never let the loop have its turn.
        self.loop.again.append(lambda: connection.asker.over(self._clock()))
        if self._finishing:
            self._stop_if_done()

    def crossed(self, connection: Connection) -> None:
        """The same request, with its own start and deadline, on a connection of its own."""
        fresh = Connection(self, connection.asker, connection.intended, connection.started)
        del self.pending[connection]
        self.pending[fresh] = None
        # It stands behind requests that started later, where `_expire` would find it too late.
        self.loop.call_at(fresh.started + self.route.timeout_s, lambda at: self._expire_one(fresh))
        self._connect(fresh)

    def starved(self, connection: Connection) -> None:
        self.dropped += 1
        del self.pending[connection]
        self.loop.call_at(self._clock() + _PAUSE_S, lambda at: connection.asker.over(self._clock()))
        if self._finishing:
            self._stop_if_done()

    def arrived_at(self, address: Address) -> None:
        if self._addresses[0] is not address:
            self._addresses.remove(address)
            self._addresses.insert(0, address)

    def _break(self, error: Exception) -> None:
        """The first defect counts: others may follow from it."""
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
            self._resolver.resolve(endpoint.host, endpoint.port, self._resolved)

    def _resolved(self, found: list[Address] | str) -> None:
        now = self._clock()
        waiting, self._unresolved = self._unresolved, []
        self._addresses = found if isinstance(found, list) else []
        for connection in waiting:
            if connection not in self.pending:
                continue  # It waited for too long.
            if self._addresses:
                connection.dns_s = now - connection.started
                connection.dial(self._addresses)
            else:
                self.failed(connection, now, Failure.DNS)

    def _expire(self, at: float) -> None:
        """Fail what has waited long enough; then sleep until the next one will have."""
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
        self.loop.call_at(due, self._expire)

    def _expire_one(self, connection: Connection) -> None:
        if connection in self.pending and connection.started + self.route.timeout_s <= self._clock():
            self._time_out(connection)

    def _time_out(self, connection: Connection) -> None:
        connection.close()
        self.failed(connection, self._clock(), Failure.TIMEOUT)
