"""The interface of a data plane, wherever it runs: in a thread, in a process, or in several.

`ProxySpec` describes a proxy to open, `DataPlane` is the Protocol that every plane fulfils, `Snapshot` is its
state at one instant, and `Lateness` its injection error: how late bytes were released. All but the Protocol
are plain data. This module knows no socket.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol, TypeVar

from faultkit.base.address import LOOPBACK_NAMES, Endpoint, ProxyMap, Speaks, UpstreamSet, Verify
from faultkit.plan import Plan, Rule
from faultkit.proxy.ledger import LedgerLine, merged_lines
from faultkit.proxy.plane_events import PlaneEvent


@dataclass(frozen=True, slots=True)
class Worker:
    """The place of a plane among those that listen on the same ports."""

    index: int = 0
    count: int = 1

    def number(self, ordinal: int) -> int:
        """Return the number of this plane's `ordinal`-th connection or request: no other worker has it."""
        return self.index + ordinal * self.count


ALONE = Worker()


HTTP_1 = ("http/1.1",)
ANY_HTTP = ("h2", "http/1.1")
"""The names of protocols in ALPN (RFC 7301)."""


@dataclass(frozen=True, slots=True)
class ListenerTls:
    """TLS towards clients, by files; no secret is in it."""

    authority: str = ""
    """Folder of the local authority, which is made there if it is missing; by default the user's. It signs a
    certificate for each name that clients ask for, unless `cert` is given."""
    names: tuple[str, ...] = ()
    """The names of the listener itself, for clients that ask for none."""
    cert: str | None = None
    """PEM files of the user's certificate and its key, in place of the authority's."""
    key: str | None = None
    client_ca: str | None = None
    """PEM file of the authorities of the clients' certificates: then every client must show one."""
    protocols: tuple[str, ...] = ANY_HTTP
    """Those that a client may choose by ALPN, if the upstream agrees; none: whatever it speaks is passed on.
    An upstream without TLS cannot agree, so the last that the client offers is taken."""


@dataclass(frozen=True, slots=True)
class ProxySpec:
    """A proxy to open, as the command line, a file or an API describes it."""

    name: str
    listen: Endpoint
    """Port 0 takes any free port."""
    upstream: Endpoint | None = None
    """None makes it an HTTP forward proxy: each request or CONNECT names its destination."""
    tls: bool = False
    """True: TLS to the upstream."""
    speaks: Speaks = "tcp"
    """With `http`, faults may act on single requests; with `psql`, the upstream is asked for TLS first."""
    rewrite_host: bool = False
    """Replace the Host header by the upstream's name."""
    broken: UpstreamSet | None = None
    """The upstreams of a forward proxy on which rules act; None: all of them."""
    connect_timeout_s: float = 10.0
    verify: Verify = True
    """Which certificates of the upstream are trusted."""
    identity: tuple[str, str] | None = None
    """PEM files of the certificate and key that are shown to upstreams which ask for them."""
    client_tls: ListenerTls | None = None
    """TLS towards clients; None: clear text. Of a forward proxy: inside the tunnels that it intercepts."""
    intercept: UpstreamSet | None = None
    """The hosts whose CONNECT tunnels a forward proxy opens: it speaks TLS on both sides of them."""
    record: str | None = None
    """File to which exchanges with models are appended; see `llm_recorder`."""

    @property
    def spares_hosts(self) -> bool:
        """Whether it is a forward proxy with hosts on which no rule may act."""
        return self.upstream is None and self.broken is not None and not self.broken.covers_all

    @classmethod
    def of_map(cls, name: str, given: ProxyMap) -> ProxySpec:
        """Return the spec of an entry of `--proxy`."""
        spec = cls(name, given.listen, given.upstream, given.tls, given.speaks, given.rewrite_host)
        if not given.client_tls:
            return spec
        protocols = ANY_HTTP if given.speaks == "http" else ()
        return replace(spec, client_tls=ListenerTls(names=_names_of(given), protocols=protocols))


def _names_of(given: ProxyMap) -> tuple[str, ...]:
    """Return the names by which clients may know a map: they reach it here, or take it for its upstream."""
    own = () if given.listen.host in ("0.0.0.0", "::") else (given.listen.host,)
    return tuple(dict.fromkeys((*LOOPBACK_NAMES, *own, given.upstream.host)))


# --- lateness: the injection error -----------------------------------------------------------


_SUB = 16
"""Buckets per doubling: a value is known to within 1/16."""
MOST_RECENT = 256
"""Releases that are kept until they are counted."""


@dataclass(frozen=True, slots=True)
class LatenessSummary:
    """Figures of a `Lateness`, in microseconds; all zero if nothing was released."""

    count: int = 0
    p50_us: float = 0.0
    p99_us: float = 0.0
    max_us: float = 0.0
    early: int = 0
    """Releases before their time: always 0, and counted so that tests can check it."""


class Lateness:
    """A histogram of how late bytes were released.

    Every release of a path with faults is recorded, so that a report can show when the machine was too busy
    for its figures to mean anything. Buckets grow with the value, and recording appends to a list, which is
    counted when it is full or a figure is asked for. Histograms of several processes add up exactly."""

    __slots__ = ("_buckets", "_count", "_early", "_max_us", "recent")

    def __init__(self) -> None:
        self._buckets = [0] * (_SUB * 40)
        self._count = 0
        self._max_us = 0.0
        self._early = 0
        self.recent: list[float] = []
        """Releases that are not counted yet, in seconds. Compiled code appends to it."""

    def record(self, seconds: float) -> None:
        """Keep one release."""
        self.recent.append(seconds)
        if len(self.recent) >= MOST_RECENT:
            self.count()

    def count(self) -> None:
        """Count what was recorded since the last time."""
        recent, self.recent = self.recent, []
        buckets, largest = self._buckets, self._max_us
        for seconds in recent:
            micros = seconds * 1e6
            if micros < 0:
                self._early += 1
                micros = 0.0
            if micros > largest:
                largest = micros
            whole = int(micros)
            buckets[whole if whole < _SUB else _bucket(whole)] += 1
        self._max_us = largest
        self._count += len(recent)

    def add(self, other: Lateness) -> None:
        """Add the releases that another histogram has counted."""
        other.count()
        self._buckets = [own + its for own, its in zip(self._buckets, other._buckets, strict=True)]
        self._count += other._count
        self._early += other._early
        self._max_us = max(self._max_us, other._max_us)

    def copy(self) -> Lateness:
        """Return an independent copy."""
        same = Lateness()
        same.add(self)
        return same

    def counts(self) -> list[tuple[int, int]]:
        """Return the buckets that are not empty, as pairs of index and count."""
        self.count()
        return [(index, count) for index, count in enumerate(self._buckets) if count]

    @classmethod
    def of_counts(cls, counts: Iterable[tuple[int, int]], max_us: float, early: int) -> Lateness:
        """Return the histogram with these `counts`. Raises IndexError for a bucket that is none."""
        made = cls()
        for index, count in counts:
            made._buckets[index] = count
        made._count = sum(made._buckets)
        made._max_us, made._early = max_us, early
        return made

    def since(self, before: Lateness) -> Lateness:
        """Return the releases after those that an earlier copy has counted. If the greatest value is older,
        the upper edge of the last bucket takes its place."""
        self.count()
        before.count()
        counts = zip(self._buckets, before._buckets, strict=True)
        new = [(index, now - then) for index, (now, then) in enumerate(counts) if now > then]
        max_us = self._max_us
        if max_us == before._max_us:
            max_us = min(max_us, _upper_edge(new[-1][0])) if new else 0.0
        return Lateness.of_counts(new, max_us, self._early - before._early)

    def share_above(self, limit_us: float) -> float:
        """Return the share of releases later than `limit_us`, without those in the bucket of the limit."""
        self.count()
        if not self._count:
            return 0.0
        return sum(self._buckets[_bucket(int(limit_us)) + 1 :]) / self._count

    def summary(self) -> LatenessSummary:
        """Return the figures for a snapshot."""
        self.count()
        return LatenessSummary(
            self._count, self._percentile(0.50), self._percentile(0.99), self._max_us, self._early
        )

    def _percentile(self, share: float) -> float:
        if not self._count:
            return 0.0
        wanted = share * self._count
        seen = 0
        for index, count in enumerate(self._buckets):
            seen += count
            if count and seen >= wanted:
                return min(_upper_edge(index), self._max_us)
        return self._max_us


def _bucket(micros: int) -> int:
    """Return the bucket of a value: exact below 16 µs, above it sixteen buckets for each doubling."""
    if micros < _SUB:
        return micros
    shift = micros.bit_length() - 5
    return min(_SUB * (shift + 1) + (micros >> shift) - _SUB, _SUB * 40 - 1)


def _upper_edge(index: int) -> float:
    if index < _SUB:
        return float(index + 1)
    shift = index // _SUB - 1
    return float((index % _SUB + _SUB + 1) << shift)


# --- the plane -------------------------------------------------------------------------------


Self = TypeVar("Self")


class FaultPlane(Protocol):
    """A plane as a measured run needs it, on this machine or another: proxies that are open, and their plan.
    Any thread may call."""

    @property
    def change_s(self) -> float:
        """Seconds that a change of the plan may take; 0 on this machine."""

    def set_plan(self, plan: Plan, total_s: float | None = None, origin: float | None = None) -> None:
        """Put another plan to work, at once and on live connections too. Rules that stay keep their memory;
        schedules of new ones count from `origin`. A plan that is refused has changed nothing."""

    def snapshot(self) -> Snapshot:
        """Return the counters of this instant."""

    def measured(self) -> tuple[Snapshot, Lateness]:
        """Return a snapshot, and the histogram behind its lateness."""


class DataPlane(FaultPlane, Protocol):
    """Proxies and the plan that acts on them.

    After `close`, all methods but `take_events` and `close` raise RunError."""

    observed: bool
    """Whether an event is recorded for every connection and injection; counters are always kept."""

    def __enter__(self: Self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...

    def start(self) -> None:
        """Begin to serve."""

    def close(self) -> None:
        """Close every connection and every port."""

    def open_proxy(self, spec: ProxySpec, enabled: bool = True) -> Endpoint:
        """Listen, and return where. Raises TargetError if the port is not available; nothing has changed
        then."""

    def close_proxy(self, name: str) -> None:
        """Close the proxy's port and connections."""

    def set_enabled(self, name: str, enabled: bool) -> None:
        """Enable a proxy, or make it refuse new connections and drop the old ones."""

    @property
    def plan(self) -> Plan:
        """The present plan."""

    def check_rule(self, rule: Rule) -> None:
        """Raise InputError for a rule that no plan for this plane may have."""

    def take_events(self) -> list[PlaneEvent]:
        """Return the events since the last call, in order."""

    def check(self) -> None:
        """Raise RunError if the plane has ended: it serves nothing any more."""


@dataclass(frozen=True, slots=True)
class ProxyCounts:
    """The counters of one proxy."""

    name: str
    listen: Endpoint
    upstream: Endpoint | None
    accepted: int
    live: int
    to_upstream_bytes: int
    to_client_bytes: int
    requests: int
    """HTTP requests, where HTTP is understood."""
    injected: int
    """Injections. A rule that shuts the port counts once each time, because the kernel refuses the clients
    then."""
    dial_failures: int
    """Connections whose upstream could not be reached, without those that a fault made fail."""
    own_answers: int = 0
    """Requests among them that the forward proxy answered itself, by 502 or 504."""
    shortages: int = 0
    """Connections without an upstream because this machine had no descriptor left."""
    ledger: tuple[LedgerLine, ...] = ()
    """What the upstream did for requests whose answers a rule may hide."""
    untouched: int = 0
    """Requests and answers that LLM rules could not read, and that passed as they were."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a data plane at one instant."""

    proxies: tuple[ProxyCounts, ...]
    acting: tuple[str, ...]
    """Names of the rules that act now."""
    injected: dict[str, int]
    """How often each rule has acted, by name."""
    lateness: LatenessSummary
    held_bytes: int
    """Bytes that faults hold back."""
    dropped_happenings: int
    """Events that were not recorded, because too many waited to be taken."""


def snapshot_document(snapshot: Snapshot) -> dict[str, Any]:
    """Return a snapshot as plain data for JSON; addresses become text."""
    document = asdict(snapshot)
    for proxy, counts in zip(document["proxies"], snapshot.proxies, strict=True):
        proxy["listen"] = str(counts.listen)
        proxy["upstream"] = None if counts.upstream is None else str(counts.upstream)
    return document


def merge_measured(parts: Sequence[tuple[Snapshot, Lateness]]) -> tuple[Snapshot, Lateness]:
    """Add up the counters of planes that share their proxies, by the proxies' names.

    Percentiles cannot be added, so each part brings its histogram. The planes have one plan, so the rules
    that act in the first act in all."""
    proxies: dict[str, ProxyCounts] = {}
    injected: Counter[str] = Counter()
    lateness = Lateness()
    for snapshot, its_lateness in parts:
        for counts in snapshot.proxies:
            known = proxies.get(counts.name)
            proxies[counts.name] = counts if known is None else _sum(known, counts)
        injected.update(snapshot.injected)
        lateness.add(its_lateness)
    merged = Snapshot(
        tuple(proxies.values()),
        parts[0][0].acting,
        dict(injected),
        lateness.summary(),
        sum(snapshot.held_bytes for snapshot, _ in parts),
        sum(snapshot.dropped_happenings for snapshot, _ in parts),
    )
    return merged, lateness


def _sum(one: ProxyCounts, other: ProxyCounts) -> ProxyCounts:
    return replace(
        one,
        accepted=one.accepted + other.accepted,
        live=one.live + other.live,
        to_upstream_bytes=one.to_upstream_bytes + other.to_upstream_bytes,
        to_client_bytes=one.to_client_bytes + other.to_client_bytes,
        requests=one.requests + other.requests,
        injected=one.injected + other.injected,
        dial_failures=one.dial_failures + other.dial_failures,
        own_answers=one.own_answers + other.own_answers,
        shortages=one.shortages + other.shortages,
        ledger=merged_lines((*one.ledger, *other.ledger)),
        untouched=one.untouched + other.untouched,
    )
