"""Workers of a Dask cluster: the places `dask:N`, `dask://HOST:PORT` and `tls://HOST:PORT`.

Each segment is an actor on one worker of the cluster, and all traffic goes by Dask's own connections. Dask
runs tasks of a dead worker again elsewhere. That cannot happen to a segment: an actor begins only when the
coordinator says so, which it says once, to the worker that was ready; a worker's process refuses a token that
it has seen; and an actor ends if no call of its coordinator comes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from faultkit.base.errors import FaultkitError, InputError, RunError
from faultkit.base.installation import require_extra
from faultkit.base.signals import ignore_signals
from faultkit.load.fold import SegmentEnd
from faultkit.load.part_lines import WorkerLost
from faultkit.load.places import Machine, SegmentWorker
from faultkit.load.segment_host import SegmentHost
from faultkit.load.split import VERSION, Part, segment_to_json
from faultkit.load.work import work_of

_CONNECT_S = 10.0
_READY_S = 60.0
_ANSWER_S = 10.0
"""Seconds that a worker may take for an answer."""
_SILENT_S = 15.0
"""Seconds in which a worker, which has a line each second, must send one."""
_LOOK_S = 1.0
"""Seconds after which a worker that has not answered is asked about."""
_POLL_S = 0.5
_MARGIN_S = 1.0
_CLOSE_S = 5.0
_END_S = 30.0
"""Seconds in which a cluster made for a run must end."""
_FEWER = "the cluster has fewer workers than before"


@contextlib.contextmanager
def local_cluster(size: int) -> Iterator[DaskPlace]:
    """Start a cluster of `size` processes on this machine, and end it afterwards."""
    require_extra("dist", "--on dask")
    from distributed import LocalCluster

    with quiet_logs() as quiet:
        try:
            started = LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=size,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                memory_limit=0,
                silence_logs=logging.CRITICAL,
            )
        except (OSError, RuntimeError) as error:
            raise _not_started("its processes", error) from None
        try:
            with _client_of_own(started) as client:
                try:
                    # A Ctrl-C in the terminal reaches them, too. It is for this process, which ends them.
                    client.run(ignore_signals, (signal.SIGINT, signal.SIGHUP))
                except (OSError, RuntimeError) as error:
                    raise _not_started("its workers", error) from None
                yield DaskPlace(client, size)
        finally:
            try:
                started.close(timeout=_END_S)
            except Exception:  # Its processes end with this one. They must not hide the result.
                quiet.pop_all()


def _not_started(who: str, error: Exception, limit_s: float | None = None) -> RunError:
    return RunError(f"the Dask cluster did not start: {who}: {_why(error, limit_s)}")


def _why(error: Exception, limit_s: float | None = None) -> str:
    """Return the reason of an error; timeouts of Dask have no text. `limit_s`: None for Dask's own limit."""
    if not isinstance(error, TimeoutError) or str(error):
        return _first_line(error)
    if limit_s is not None:
        return f"no answer within {limit_s:g} s"
    from distributed.config import config

    limit = config["distributed"]["comm"]["timeouts"]["connect"]
    return f"no answer within {limit} (distributed.comm.timeouts.connect)"


@contextlib.contextmanager
def remote_cluster(address: str) -> Iterator[DaskPlace]:
    """Connect to a scheduler, such as `tcp://10.0.0.5:8786`. TLS is set up by Dask's own configuration."""
    require_extra("dist", "--on dask")
    with _client_at(address) as client:
        try:
            client.wait_for_workers(1, timeout=_CONNECT_S)
        except TimeoutError:
            got = f"a scheduler without any for {_CONNECT_S:g} s"
            raise InputError("--on", f"expected workers at {address}, got {got}") from None
        except (OSError, RuntimeError) as error:
            raise RunError(f"the scheduler of Dask does not answer: {_why(error)}") from None
        yield DaskPlace(client, len(_addresses(client)))


def _client_of_own(cluster: object) -> AbstractContextManager[Any]:
    """Connect to a cluster made for this run. Its processes have just started, so it gets more time."""
    return _client(cluster, _READY_S, lambda error: _not_started("its scheduler", error, _READY_S))


def _client_at(address: str) -> AbstractContextManager[Any]:
    def refused(error: Exception) -> InputError:
        why = _why(error, _CONNECT_S)
        return InputError("--on", f"expected a Dask scheduler at {address}, got none: {why}")

    return _client(address, _CONNECT_S, refused)


@contextlib.contextmanager
def _client(cluster: object, within_s: float, refused: Callable[[Exception], FaultkitError]) -> Iterator[Any]:
    from distributed import Client

    with quiet_logs() as quiet:
        try:
            client = Client(cluster, timeout=within_s)  # type: ignore[no-untyped-call]
        except (OSError, RuntimeError, ValueError, TypeError, ImportError) as error:
            raise refused(error) from None
        try:
            yield client
        finally:
            is_well = client.status == "running"
            try:
                client.close(timeout=_CLOSE_S)  # type: ignore[no-untyped-call]
            except Exception:  # A scheduler that is gone must not hide the result.
                is_well = False
            if not is_well:
                quiet.pop_all()  # What is left of Dask in this process goes on to complain, up to its end.


_LOGGERS = ("distributed", "distributed.client", "tornado.application", "asyncio")
"""Loggers that Dask gives a level of their own, and those of its event loop."""


def quiet_logs() -> contextlib.ExitStack:
    """Keep Dask's log out of the output: what is lost is in our report, without tracebacks. Leave what is
    returned, a context manager, to have the log as before."""
    before = contextlib.ExitStack()
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        before.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.CRITICAL)
    return before


@dataclass(frozen=True, slots=True)
class DaskPlace:
    """A Dask cluster that is connected."""

    client: Any
    size: int
    margin_s: float = _MARGIN_S

    def start(self, segments: Sequence[Part[Any]]) -> Sequence[SegmentWorker]:
        if self.client.status != "running":
            raise RunError("the scheduler of Dask is gone")
        addresses = _addresses(self.client)
        try:
            return [
                DaskWorker(self.client, segment, addresses[segment.share])
                if segment.share < len(addresses)
                else AbsentWorker(segment)
                for segment in segments
            ]
        except (OSError, RuntimeError) as error:
            raise RunError(f"the scheduler of Dask took no work: {_why(error)}") from None


def _addresses(client: Any) -> list[str]:
    """Return the addresses of all workers. Raises RunError if the scheduler does not answer."""
    try:
        return sorted(client.nthreads(callback_timeout=_ANSWER_S))
    except TimeoutError:
        raise RunError(f"the scheduler of Dask did not answer within {_ANSWER_S:g} s") from None
    except (OSError, RuntimeError) as error:
        raise RunError(f"the scheduler of Dask does not answer: {error}") from None


class AbsentWorker:
    """The stand-in for a worker that the cluster had when the run was planned, and has no more."""

    def __init__(self, segment: Part[Any]) -> None:
        self.name = f"worker {segment.share + 1} of {segment.of}"

    def ready(self) -> Machine:
        raise WorkerLost(_FEWER)

    def clock(self) -> float:
        raise WorkerLost(_FEWER)

    def run(self, begin_at: float, on_fold: Callable[[Any], None]) -> SegmentEnd:
        raise WorkerLost(_FEWER)

    def interrupt(self) -> None:
        """Do nothing: there is none."""

    def close(self) -> None:
        """Do nothing: there is none."""


class DaskWorker:
    """A segment on one worker of a cluster."""

    def __init__(self, client: Any, segment: Part[Any], address: str) -> None:
        self.name = f"worker {segment.share + 1} of {segment.of} ({address})"
        self._client = client
        self._address = address
        self._lines = work_of(segment.plan.kind).reader(segment)
        self._actor: Any = None
        self._stop = threading.Event()
        self._closed = threading.Event()
        self._future = client.submit(
            SegmentActor,
            segment_to_json(segment),
            key=f"faultkit-segment-{segment.share}-{segment.token[:8]}",
            workers=[address],
            allow_other_workers=False,
            retries=0,
            pure=False,
            actor=True,
        )

    def ready(self) -> Machine:
        try:
            self._actor = self._answer(self._future, _READY_S)
        except InputError as error:
            raise error.within(self.name) from None
        except (ImportError, AttributeError) as error:
            raise InputError(self.name, f"expected faultkit {VERSION} there, got none: {error}") from None
        except FaultkitError:
            raise
        except (Exception, CancelledError) as error:
            raise _lost(error) from None
        return Machine.parse(str(self._call("machine")))

    def clock(self) -> float:
        return float(self._call("clock"))

    def run(self, begin_at: float, on_fold: Callable[[Any], None]) -> SegmentEnd:
        self._call("begin", begin_at)
        came_at = time.monotonic()
        told = False
        while not self._closed.is_set():
            if self._stop.is_set() and not told:
                told = True
                self._call("stop")
            lines = self._call("take")
            for line in lines:
                message = self._lines.read(line)
                if isinstance(message, SegmentEnd):
                    return message
                on_fold(message)
            if lines:
                came_at = time.monotonic()
            elif time.monotonic() > came_at + _SILENT_S:
                raise WorkerLost(f"it sent nothing for {_SILENT_S:g} s")
            self._closed.wait(_POLL_S)
        raise WorkerLost("it was closed")

    def interrupt(self) -> None:
        self._stop.set()

    def close(self) -> None:
        self._closed.set()
        actor, self._actor = self._actor, None
        with contextlib.suppress(Exception, CancelledError):
            if actor is not None and self._client.status == "running":
                actor.close().result(timeout=_CLOSE_S)
        with contextlib.suppress(Exception, CancelledError):
            self._future.release()

    def _call(self, method: str, *args: object) -> Any:
        actor = self._actor
        if actor is None:
            raise WorkerLost("it was closed")
        try:
            return self._answer(getattr(actor, method)(*args), _ANSWER_S)
        except WorkerLost:
            self._actor = None  # Nothing more comes of it, and Dask would wait.
            raise
        except FaultkitError:
            raise
        except (Exception, CancelledError) as error:
            self._actor = None
            raise _lost(error) from None

    def _answer(self, answer: Any, limit_s: float) -> Any:
        """Wait for an answer, and look now and then whether one can still come."""
        deadline = time.monotonic() + limit_s
        silent = "it"
        while time.monotonic() < deadline:
            with contextlib.suppress(TimeoutError):
                return answer.result(timeout=_LOOK_S)
            if self._closed.is_set():
                raise WorkerLost("it was closed")
            if self._client.status != "running":
                raise WorkerLost("the scheduler of Dask is gone")
            try:
                if self._address not in self._client.nthreads(callback_timeout=_LOOK_S):
                    raise WorkerLost("it is no longer in the cluster")
                silent = "it"
            except TimeoutError:
                silent = "the scheduler of Dask"
        raise WorkerLost(f"{silent} did not answer within {limit_s:g} s")


def _lost(error: BaseException) -> WorkerLost:
    return WorkerLost(f"Dask reports: {_first_line(error)}")


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


class SegmentActor:
    """A segment in the process of a Dask worker. Its methods run in the event loop, so they must not wait."""

    def __init__(self, written: str) -> None:
        self._host = SegmentHost(written)

    async def machine(self) -> str:
        return self._host.machine

    async def clock(self) -> float:
        self._host.renew_lease()
        return self._host.clock()

    async def begin(self, begin_at: float) -> None:
        self._host.renew_lease()
        self._host.begin(begin_at)

    async def take(self) -> list[str]:
        self._host.renew_lease()
        return self._host.take()

    async def stop(self) -> None:
        self._host.renew_lease()
        self._host.stop()

    async def close(self) -> None:
        await asyncio.to_thread(self._host.close)
