"""The plane of a running `fault run --control`, on this machine or another, held by the lease of one run.

A thread renews the lease. If this process dies or the network is cut, the lease ends by itself, and the plan
of before returns there. If it is lost while this process lives, every call raises `LeaseLost`: what the
faults did meanwhile is not known.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from faultkit import __version__
from faultkit.base.address import Endpoint, parse_endpoint
from faultkit.base.errors import FaultkitError, InputError, RunError, TargetError
from faultkit.base.network import new_token
from faultkit.plan import Plan, dump_plan
from faultkit.proxy.control.control_client import ControlClient, Unreachable
from faultkit.proxy.control.control_core import USUAL_LEASE_S
from faultkit.proxy.data_plane import Lateness, LatenessSummary, ProxyCounts, Snapshot
from faultkit.proxy.ledger import LedgerLine, lines_since

_RENEWALS = 3
"""Renewals in the time of one lease."""
_AGAIN_S = 1.0
"""Time between two attempts to renew, while they fail."""
_FAREWELL_S = 5.0
_LEAST_CHANGE_S = 0.05
_MOST_CHANGE_S = 5.0
_log = logging.getLogger(__name__)

Answer = TypeVar("Answer")


class LeaseLost(RunError):
    """The lease has ended, or the control API cannot be reached: the faults are not known to have acted."""


@dataclass(frozen=True, slots=True)
class OpenProxy:
    """A proxy that is open where the control API is."""

    name: str
    listen: Endpoint
    upstream: Endpoint | None
    """None for an HTTP forward proxy."""


class LeasedPlane:
    """A `FaultPlane` behind a control API. Use it as a context manager, and `item` for each measurement."""

    def __init__(self, client: ControlClient, ttl_s: float = USUAL_LEASE_S) -> None:
        self.client = client
        self.proxies: tuple[OpenProxy, ...] = ()
        """The proxies that were open when the lease was taken."""
        self.warnings: list[str] = []
        """What the control API said about the rules of the present item."""
        self._ttl_s = ttl_s
        self._id = ""
        self._until = 0.0
        """When the lease ends, at the earliest."""
        self._lost: str | None = None
        self._lock = threading.Lock()
        """Guards the two values above, which the thread that renews changes too."""
        self._ended = threading.Event()
        self._took_s: deque[float] = deque(maxlen=8)
        """How long the last requests took."""
        self._before = Snapshot((), (), {}, LatenessSummary(), 0, 0), Lateness()
        """The counters when the present item began."""

    def __enter__(self) -> LeasedPlane:
        self._take()
        return self

    def __exit__(self, *exc: object) -> None:
        self._end()

    @property
    def lost(self) -> str | None:
        """Why the lease is lost; None while it holds."""
        with self._lock:
            if self._lost is None and time.monotonic() >= self._until:
                self._lost = f"the lease at {self.client.url} could not be renewed in time"
            return self._lost

    @property
    def change_s(self) -> float:
        return min(_MOST_CHANGE_S, _LEAST_CHANGE_S + 3 * max(self._took_s, default=0.0))

    @contextlib.contextmanager
    def item(self) -> Iterator[LeasedPlane]:
        """Begin to measure: without rules, with counters from 0. Takes another lease if the last was lost."""
        if self.lost is not None:
            self._end()
            self._take()
        self.set_plan(Plan())
        self._before = self._counters()
        self.warnings = []
        try:
            yield self
        finally:
            # If that fails, the lease is lost, and the rules end with it.
            with contextlib.suppress(FaultkitError):
                self.set_plan(Plan())

    def set_plan(self, plan: Plan, total_s: float | None = None, origin: float | None = None) -> None:
        """Put another plan to work. Raises TargetError if it is refused there."""
        rules = tuple(replace(rule, schedule=rule.schedule.in_seconds(total_s)) for rule in plan.rules)
        document = dump_plan(Plan(rules, plan.seed))
        if not any(rule.schedule.periods for rule in rules):
            # The other end counts from the arrival of the request, so `origin` would be a little late there,
            # and the first call could escape. Rules that act always may act before it.
            origin = None
        sent = time.monotonic()
        try:
            answer = self._ask(
                lambda: self.client.change_lease(self._id, self._ttl_s, document, origin, self._ttl_s)
            )
        except InputError as error:
            raise TargetError(f"the rules are refused: {error}") from None
        self._renewed(sent)
        self.warnings += [text for text in answer.get("warnings", ()) if text not in self.warnings]

    def snapshot(self) -> Snapshot:
        return self.measured()[0]

    def measured(self) -> tuple[Snapshot, Lateness]:
        return _since(self._counters(), self._before)

    def _counters(self) -> tuple[Snapshot, Lateness]:
        status = self._ask(self.client.status)
        lease = status.get("lease")
        if lease is None or lease["id"] != self._id:
            raise self._lose(f"the lease at {self.client.url} has ended")
        return _read_counters(self.client.url, status)

    def _ask(self, request: Callable[[], Answer]) -> Answer:
        """Return the answer to a request under the lease. Raises LeaseLost."""
        if (lost := self.lost) is not None:
            raise LeaseLost(lost)
        began = time.monotonic()
        try:
            answer = request()
        except InputError as error:
            if error.path == "lease":
                raise self._lose(error.problem) from None
            raise
        except FaultkitError as error:
            raise self._lose(str(error)) from None
        self._took_s.append(time.monotonic() - began)
        return answer

    # --- the lease ------------------------------------------------------------------------------

    def _take(self) -> None:
        """Take the lease and begin to renew it. Raises TargetError if that is not possible."""
        url = self.client.url
        try:
            status = self.client.status()
        except RunError as error:
            raise TargetError(str(error)) from None
        version = status.get("version")
        if version != __version__:
            found = f"version {version}" if isinstance(version, str) else "an older one, without leases"
            raise TargetError(f"the control API at {url}: expected Faultkit {__version__}, got {found}")
        if "proxies" not in status:
            raise TargetError(f"the control API at {url}: expected that of `fault run`, got a gateway's")
        snapshot, _ = _read_counters(url, status)
        self.proxies = tuple(OpenProxy(each.name, each.listen, each.upstream) for each in snapshot.proxies)
        sent = time.monotonic()
        self._id = _new_id()
        try:
            self.client.take_lease(self._id, self._ttl_s)
        except (InputError, RunError) as error:  # Another run holds the plan, or no answer came.
            raise TargetError(error.problem if isinstance(error, InputError) else str(error)) from None
        with self._lock:
            self._lost = None
            self._until = sent + self._ttl_s
        self._ended = threading.Event()
        threading.Thread(
            target=self._keep, args=(self._id, self._ended), name="fault-lease", daemon=True
        ).start()

    def _keep(self, id: str, ended: threading.Event) -> None:
        """Renew the lease until it is ended or lost."""
        pause_s = self._ttl_s / _RENEWALS
        while not ended.wait(pause_s):
            sent = time.monotonic()
            trouble: FaultkitError | None = None
            try:
                self.client.change_lease(id, self._ttl_s, timeout_s=self._ttl_s / _RENEWALS)
            except FaultkitError as error:
                trouble = error
            if ended.is_set():
                return  # Meanwhile the plane may have another lease, which this is not about.
            if trouble is None:
                self._renewed(sent)
                pause_s = self._ttl_s / _RENEWALS
            elif isinstance(trouble, InputError):
                self._lose(trouble.problem)
            elif isinstance(trouble.__cause__, Unreachable) and trouble.__cause__.is_refused:
                self._lose(str(trouble))  # Its process has ended, and the lease with it.
            elif time.monotonic() >= self._until:
                self._lose(f"{trouble}; the lease of {self._ttl_s:g} s is over")
            else:
                pause_s = min(_AGAIN_S, self._ttl_s / _RENEWALS)

    def _renewed(self, sent: float) -> None:
        with self._lock:
            self._until = max(self._until, sent + self._ttl_s)

    def _lose(self, why: str) -> LeaseLost:
        """Note that the lease is lost, and renew it no longer, so that its rules end in any case."""
        with self._lock:
            self._lost = first = self._lost or why
        self._ended.set()
        return LeaseLost(first)

    def _end(self) -> None:
        self._ended.set()
        if not self._id:
            return
        id, self._id = self._id, ""
        try:
            self.client.end_lease(id, _FAREWELL_S)
        except InputError:
            pass  # It has ended already.
        except FaultkitError as error:
            _log.warning("the faults end by themselves within %g s: %s", self._ttl_s, error)


def _new_id() -> str:
    """Return an id that says whose lease it is."""
    host = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())[:40]
    return f"{host}-{os.getpid()}-{re.sub('[^A-Za-z0-9]', '', new_token())[:8]}"


# --- counters -----------------------------------------------------------------------------------


def _read_counters(url: str, status: Mapping[str, Any]) -> tuple[Snapshot, Lateness]:
    """Return the counters of a status. Raises RunError if they are not there."""
    try:
        late = LatenessSummary(**status["lateness"])
        proxies = tuple(
            ProxyCounts(
                **{
                    **each,
                    "listen": parse_endpoint(each["listen"]),
                    "upstream": None if each["upstream"] is None else parse_endpoint(each["upstream"]),
                    "ledger": tuple(LedgerLine(**line) for line in each.get("ledger", ())),
                }
            )
            for each in status["proxies"]
        )
        snapshot = Snapshot(
            proxies,
            tuple(status["acting"]),
            dict(status["injected"]),
            late,
            status["held_bytes"],
            status["dropped_happenings"],
        )
        counts = [(int(index), int(count)) for index, count in status["late_releases"]]
        return snapshot, Lateness.of_counts(counts, late.max_us, late.early)
    except (InputError, KeyError, TypeError, ValueError, IndexError) as error:
        raise RunError(f"the control API at {url}: its status cannot be read ({error})") from None


_COUNTERS = tuple(
    field.name
    for field in fields(ProxyCounts)
    if field.name not in ("name", "listen", "upstream", "live", "ledger")
)


def _since(now: tuple[Snapshot, Lateness], before: tuple[Snapshot, Lateness]) -> tuple[Snapshot, Lateness]:
    """Return the counters since `before`, as those of a plane that was started then."""
    old = {each.name: each for each in before[0].proxies}
    proxies = [
        replace(
            each,
            **{name: getattr(each, name) - getattr(old[each.name], name) for name in _COUNTERS},
            ledger=lines_since(each.ledger, old[each.name].ledger),
        )
        if each.name in old
        else each
        for each in now[0].proxies
    ]
    injected = {
        name: max(0, count - before[0].injected.get(name, 0)) for name, count in now[0].injected.items()
    }
    lateness = now[1].since(before[1])
    dropped = now[0].dropped_happenings - before[0].dropped_happenings
    return (
        replace(
            now[0],
            proxies=tuple(proxies),
            injected=injected,
            lateness=lateness.summary(),
            dropped_happenings=dropped,
        ),
        lateness,
    )
