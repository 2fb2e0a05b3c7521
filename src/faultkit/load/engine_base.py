"""What all load engines share: the requests under way, their deadlines, counts and samples.

A load model (`load_models`) calls `ask` on an engine, and its `over` is called when the request is over.

Deadlines need one timer for all requests: all have the same time-out, and `pending` keeps them in the order
of their starts, so only the oldest has to be looked at (`_expire`).

The hot path is a response on a kept connection. It appends six numbers through bound methods of the columns
(`Recorder.adder_of_kept`); the columns that only new connections fill are extended later, in one call.
"""

from __future__ import annotations

import traceback
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable
from math import nan
from typing import Generic, Protocol, TypeAlias, TypeVar

from faultkit.base.errors import RunError
from faultkit.load.item_figures import FigureRecorder
from faultkit.load.native import EXCHANGE_COLUMNS, Exchange
from faultkit.load.response import Failure
from faultkit.load.samples import Samples
from faultkit.proxy.event_loop import Loop


class Requester(Protocol):
    """The sender of a request: a load model."""

    def over(self, now: float) -> None:
        """Called when the request was answered, has failed or could not be sent. `now` is the present."""


class MeasuredRequest(Protocol):
    """A request, with what is measured of it. Times are instants of the loop's clock, or seconds."""

    intended: float
    started: float
    first_byte: float
    received: int
    kept: bool
    """True if an earlier request used the connection, so that the three below belong to that one."""
    dns_s: float
    connect_s: float
    tls_s: float


R = TypeVar("R", bound=MeasuredRequest)


class LoadEngine(ABC, Generic[R]):
    """Sends requests for load models. Times in samples count from `begin_at`, an instant of the loop's
    clock."""

    def __init__(self, loop: Loop, begin_at: float, timeout_s: float) -> None:
        self.loop = loop
        self.pending: dict[R, None] = {}
        """Requests under way, in the order of their starts, which is that of their deadlines."""
        self.errors = 0
        self.dropped = 0
        """Requests that were never sent: too many were under way, or no descriptor or port was left."""
        self.starved_count = 0
        """Those for the second reason."""
        self._timeout_s = timeout_s
        self._taken = 0
        self.exchange: Exchange | None = None
        """What its connections share in C; None where every step is Python."""
        self._recorder = Recorder(begin_at)
        self._add_kept = self._recorder.adder_of_kept()
        self._clock = loop.clock
        self._figures: FigureRecorder | None = None
        """Set by engines that measure more than requests."""
        self._finishing = False
        self._defect: Exception | None = None
        loop.on_defect = self._break
        loop.call_at(loop.clock() + timeout_s, self._expire, None)

    @abstractmethod
    def ask(self, requester: Requester, intended: float | None) -> None:
        """Send a request now. `intended` is the instant it was scheduled for; None means its start."""

    @abstractmethod
    def close(self) -> None:
        """Close everything. Requests that are under way are not measured."""

    @abstractmethod
    def _time_out(self, request: R) -> None:
        """Give up a request whose time is over."""

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

    def begin(self, begin_at: float) -> None:
        """Count times from this instant; nothing has been measured yet."""
        self._recorder = Recorder(begin_at, self.exchange)
        self._add_kept = self._recorder.adder_of_kept()
        if self._figures is not None:
            self._figures.begin_at = begin_at

    def finish(self) -> None:
        """Stop the loop when nothing is under way any more."""
        self._finishing = True
        self._stop_if_done()

    def take_samples(self) -> Samples:
        """Return the samples since the last call."""
        taken = self._recorder.take()
        self._taken += len(taken)
        self._add_kept = self._recorder.adder_of_kept()
        if self._figures is not None:
            taken.figures = self._figures.take()
        return taken

    def _break(self, error: Exception) -> None:
        """Keep the first defect, because others may follow from it, and stop."""
        self._defect = self._defect or error
        self.loop.stop()

    def _stop_if_done(self) -> None:
        if not self.pending:
            self.loop.stop()

    def _expire(self, at: float) -> None:
        """Fail the requests that have timed out, and sleep until the next deadline."""
        now = self._clock()
        timeout_s = self._timeout_s
        due = now + timeout_s
        expired = []
        for request in self.pending:
            if request.started + timeout_s > now:
                due = request.started + timeout_s
                break
            expired.append(request)
        for request in expired:
            self._time_out(request)
        self.loop.call_at(due, self._expire, None)


AddKept: TypeAlias = Callable[[MeasuredRequest, float, int], None]

_NAN = array("d", [nan])
_NO_FAILURE = array("B", [Failure.NONE])


class Recorder:
    """The columns of samples that are being filled. Their times are counted from `begin_at`.

    exchange: where compiled code leaves responses, to be added in their order"""

    def __init__(self, begin_at: float, exchange: Exchange | None = None) -> None:
        self._begin_at = begin_at
        self._exchange = exchange
        if exchange is not None:
            exchange.begin_at = begin_at
        self._samples = Samples()
        self._add_kept = self.adder_of_kept()

    def __len__(self) -> int:
        return len(self._samples.total_s) + (0 if self._exchange is None else len(self._exchange))

    def adder_of_kept(self) -> AddKept:
        """Return a function that adds a response on a kept connection; valid until the next `take`."""
        samples, begin_at, exchange = self._samples, self._begin_at, self._exchange
        add_intended, add_started = samples.intended.append, samples.started.append
        add_total, add_first_byte = samples.total_s.append, samples.first_byte_s.append
        add_status, add_received = samples.status.append, samples.received.append

        def add(request: MeasuredRequest, now: float, status: int) -> None:
            if exchange:
                self._fill_up()
            started = request.started
            add_intended(request.intended - begin_at)
            add_started(started - begin_at)
            add_total(now - started)
            add_first_byte(request.first_byte - started)
            add_status(status)
            add_received(request.received)

        return add

    def add(self, request: MeasuredRequest, now: float, status: int, failure: Failure) -> None:
        """Add any outcome of any request."""
        samples = self._samples
        self._fill_up()
        fresh = not request.kept
        samples.dns_s.append(request.dns_s if fresh else nan)
        samples.connect_s.append(request.connect_s if fresh else nan)
        samples.tls_s.append(request.tls_s if fresh else nan)
        samples.failure.append(failure)
        if not request.received:
            request.first_byte = nan
        self._add_kept(request, now, status)

    def take(self) -> Samples:
        """Return the samples since the last call, with columns of equal length."""
        self._fill_up()
        taken, self._samples = self._samples, Samples()
        self._add_kept = self.adder_of_kept()
        return taken

    def _fill_up(self) -> None:
        """Extend the columns that `adder_of_kept` leaves out, and add what compiled code has measured."""
        samples = self._samples
        missing = len(samples.total_s) - len(samples.failure)
        if missing:
            samples.failure.extend(_NO_FAILURE * missing)
            for column in (samples.dns_s, samples.connect_s, samples.tls_s):
                column.extend(_NAN * missing)
        if self._exchange:
            count = len(self._exchange)
            for name, values in zip(EXCHANGE_COLUMNS, self._exchange.take(), strict=True):
                getattr(samples, name).frombytes(values)
            samples.failure.extend(_NO_FAILURE * count)
            samples.tls_s.extend(_NAN * count)
