"""From a connection whose request is over to a row of samples. It is done for every request: hence the haste.

Most rows are of answers on kept connections, where four columns say nothing. Those are left behind in
such rows, and filled up when a row comes that has something to say there.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from math import nan
from typing import TypeAlias

from faultkit.load.connection import Connection
from faultkit.load.failure import Failure
from faultkit.load.samples import Samples

AddKept: TypeAlias = Callable[[Connection, float, int], None]

_NAN = array("d", [nan])
_NO_FAILURE = array("B", [Failure.NONE])


class Recorder:
    """Times are counted from `begin_at`."""

    def __init__(self, begin_at: float) -> None:
        self._begin_at = begin_at
        self._samples = Samples()
        self._add_kept = self.adder_of_kept()

    def __len__(self) -> int:
        return len(self._samples.total_s)

    def adder_of_kept(self) -> AddKept:
        """A function that adds an answer that came on a kept connection; good until the next `take`."""
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
        """Any outcome of any request."""
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
        """What was added since the last time."""
        self._fill_up()
        taken, self._samples = self._samples, Samples()
        self._add_kept = self.adder_of_kept()
        return taken

    def _fill_up(self) -> None:
        samples = self._samples
        missing = len(self) - len(samples.failure)
        if missing:
            samples.failure.extend(_NO_FAILURE * missing)
            for column in (samples.dns_s, samples.connect_s, samples.tls_s):
                column.extend(_NAN * missing)
