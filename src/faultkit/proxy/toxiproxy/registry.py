"""The proxies and toxics of a Toxiproxy server, and how they are applied to the plane.

Any thread may call a `Registry`; one lock makes each call atomic. The plan of the plane is always derived
from all toxics; the plane itself finds out which rules have changed.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from faultkit.base.address import LOOPBACK, Endpoint, parse_endpoint
from faultkit.base.documents.checks import shown
from faultkit.base.errors import FaultkitError, InputError
from faultkit.plan import Plan
from faultkit.proxy.data_plane import ProxySpec, Snapshot
from faultkit.proxy.plane import Plane
from faultkit.proxy.toxiproxy import request_fields as fields
from faultkit.proxy.toxiproxy.proxy_tls import WantedTls, wanted_tls
from faultkit.proxy.toxiproxy.request_fields import (
    Refusal,
    bad_body,
    missing_field,
    proxy_exists,
    proxy_not_found,
    toxic_exists,
    toxic_not_found,
)
from faultkit.proxy.toxiproxy.toxics import Toxic, in_list_order, new_toxic, rule_of, updated_toxic

ANY_PORT = "localhost:0"


@dataclass(frozen=True, slots=True)
class WantedProxy:
    """A proxy as a client requested it. The texts are kept, because the API returns them."""

    name: str
    listen: str
    upstream: str
    enabled: bool
    tls: WantedTls | None = None
    """None: bytes pass as they are, TLS of others included."""

    def listen_endpoint(self) -> Endpoint:
        """Return where to listen."""
        endpoint = _endpoint(self.listen, "listen")
        # One address, whatever order the machine's host file has: clients look for proxies on 127.0.0.1.
        return Endpoint(LOOPBACK, endpoint.port) if endpoint.host == "localhost" else endpoint

    def upstream_endpoint(self) -> Endpoint:
        """Return where to connect to. Raises Refusal for port 0."""
        upstream = _endpoint(self.upstream, "upstream")
        if not upstream.port:
            raise bad_body(f"upstream: expected a port from 1 to 65535 in {self.upstream!r}, got 0")
        return upstream


def new_proxy(document: object) -> WantedProxy:
    """Return the proxy that a request body describes."""
    given = fields.mapping(document)
    for name in ("name", "upstream"):
        if not fields.text(given, name):
            raise missing_field(name)
    return _wanted(given, WantedProxy(fields.text(given, "name"), ANY_PORT, "", True))


def updated_proxy(before: WantedProxy, document: object) -> WantedProxy:
    """Return `before` with the values that a request body has; the name cannot change."""
    return _wanted(fields.mapping(document), before)


def populated_proxies(document: object) -> list[WantedProxy]:
    """Return the proxies of the body of `/populate`. All are checked before any of them is opened."""
    if not isinstance(document, list):
        raise bad_body("body: expected a list of proxies")
    wanted: list[WantedProxy] = []
    for position, item in enumerate(document, 1):
        try:
            proxy = new_proxy(item)
        except Refusal as refusal:
            raise Refusal(refusal.status, f"{refusal.message} at proxy {position}") from None
        if any(proxy.name == other.name for other in wanted):
            raise bad_body(f"name at proxy {position}: expected each name once, got {proxy.name!r} again")
        wanted.append(proxy)
    return wanted


def configured_toxics(document: list[object]) -> list[list[Toxic]]:
    """Return the toxics of each proxy of a configuration file; the proxies have been read already."""
    found: list[list[Toxic]] = []
    for position, item in enumerate(document, 1):
        given = fields.mapping(item).get("toxics", [])
        if not isinstance(given, list):
            raise bad_body(f"toxics at proxy {position}: expected a list of toxics, got {shown(given)}")
        toxics: list[Toxic] = []
        for place, each in enumerate(given, 1):
            where = f"at toxic {place} of proxy {position}"
            try:
                toxic = new_toxic(each)
            except Refusal as refusal:
                raise Refusal(refusal.status, f"{refusal.message} {where}") from None
            if any(toxic.name == other.name for other in toxics):
                raise bad_body(f"name {where}: expected each name once, got {toxic.name!r} again")
            toxics.append(toxic)
        found.append(toxics)
    return found


def _wanted(given: Mapping[str, object], before: WantedProxy) -> WantedProxy:
    wanted = WantedProxy(
        before.name,
        fields.text(given, "listen") or before.listen,
        fields.text(given, "upstream") or before.upstream,
        fields.switch(given, "enabled", before.enabled),
        wanted_tls(given.get("tls"), before.tls),
    )
    wanted.listen_endpoint()
    wanted.upstream_endpoint()
    return wanted


def _endpoint(text: str, name: str) -> Endpoint:
    try:
        return parse_endpoint(text, path=name)
    except InputError as error:
        raise bad_body(error) from None


Document = dict[str, object]


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes that have passed through a proxy with these addresses since the server started."""

    proxy: str
    listener: str
    upstream: str
    to_upstream_bytes: int
    to_client_bytes: int


@dataclass(slots=True)
class _Entry:
    wanted: WantedProxy
    bound: Endpoint | None = None
    """The address it has bound, even while it is disabled; None if it has no port."""
    toxics: list[Toxic] = field(default_factory=list)

    @property
    def listen(self) -> str:
        return self.wanted.listen if self.bound is None else str(self.bound)

    def document(self) -> Document:
        return {
            "name": self.wanted.name,
            "listen": self.listen,
            "upstream": self.wanted.upstream,
            "enabled": self.wanted.enabled,
            **({} if self.wanted.tls is None else {"tls": self.wanted.tls.document()}),
            "toxics": [toxic.document() for toxic in in_list_order(self.toxics)],
        }


MOST_PAST = 1000
"""Closed ports whose bytes are kept for the metrics."""


class Registry:
    """The state of the server. Documents are those of Toxiproxy's API; errors are `Refusal`s."""

    def __init__(self, plane: Plane, seed: int | str) -> None:
        self._plane = plane
        self._seed = seed
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}
        self._past: dict[tuple[str, str, str], tuple[int, int]] = {}
        """Bytes of ports that have been closed, by name, listener and upstream: the latest MOST_PAST."""
        plane.set_plan(Plan((), seed))

    # --- proxies ------------------------------------------------------------------------------

    def proxies(self) -> Document:
        with self._lock:
            return {name: entry.document() for name, entry in self._entries.items()}

    def proxy(self, name: str) -> Document:
        with self._lock:
            return self._entry(name).document()

    def add_proxy(self, document: object) -> Document:
        with self._lock:
            wanted = new_proxy(document)
            if wanted.name in self._entries:
                raise proxy_exists()
            return self._add(wanted).document()

    def update_proxy(self, name: str, document: object) -> Document:
        with self._lock:
            entry = self._entry(name)
            current = replace(entry.wanted, listen=entry.listen)
            wanted = updated_proxy(current, document)
            if self._is_same(entry, wanted):
                self._set_enabled(entry, wanted.enabled)
            else:
                self._move(entry, wanted)
            return entry.document()

    def delete_proxy(self, name: str) -> None:
        with self._lock:
            self._give_port_back(self._entry(name))
            del self._entries[name]
            self._apply()

    def populate(self, document: object) -> list[Document]:
        """Create or replace these proxies. One with the same addresses is kept, with its toxics."""
        with self._lock:
            return [self._add_or_replace(wanted).document() for wanted in populated_proxies(document)]

    def configure(self, document: object) -> list[Document]:
        """Open the proxies of a configuration file, with their toxics, which act from the first connection.

        `/populate` takes the same proxies without their toxics, because clients send whole objects back."""
        with self._lock:
            proxies = populated_proxies(document)
            assert isinstance(document, list)
            opened = []
            for wanted, toxics in zip(proxies, configured_toxics(document), strict=True):
                entry = self._entries[wanted.name] = _Entry(replace(wanted, enabled=False), toxics=toxics)
                self._apply()
                self._set_enabled(entry, wanted.enabled)
                opened.append(entry.document())
            return opened

    def reset(self) -> None:
        """Enable all proxies and remove all toxics."""
        with self._lock:
            for entry in self._entries.values():
                entry.toxics.clear()
            self._apply()
            for entry in self._entries.values():
                self._set_enabled(entry, True)

    # --- toxics -------------------------------------------------------------------------------

    def toxics(self, proxy: str) -> list[Document]:
        with self._lock:
            return [toxic.document() for toxic in in_list_order(self._entry(proxy).toxics)]

    def toxic(self, proxy: str, name: str) -> Document:
        with self._lock:
            entry = self._entry(proxy)
            return entry.toxics[_place(entry, name)].document()

    def add_toxic(self, proxy: str, document: object) -> Document:
        with self._lock:
            entry = self._entry(proxy)
            toxic = new_toxic(document)
            if any(toxic.name == other.name for other in entry.toxics):
                raise toxic_exists()
            entry.toxics.append(toxic)
            self._apply()
            return toxic.document()

    def update_toxic(self, proxy: str, name: str, document: object) -> Document:
        with self._lock:
            entry = self._entry(proxy)
            place = _place(entry, name)
            entry.toxics[place] = toxic = updated_toxic(entry.toxics[place], document)
            self._apply()
            return toxic.document()

    def delete_toxic(self, proxy: str, name: str) -> None:
        with self._lock:
            entry = self._entry(proxy)
            del entry.toxics[_place(entry, name)]
            self._apply()

    # --- figures ------------------------------------------------------------------------------

    def traffic(self) -> list[Traffic]:
        """Return the byte counters. They never decrease, whatever is disabled, moved or deleted; those of a
        port that was closed MOST_PAST ports ago are gone."""
        with self._lock:
            sums = dict(self._past)
            for counts in self._plane.snapshot().proxies:
                entry = self._entries[counts.name]
                _count(sums, entry, counts.to_upstream_bytes, counts.to_client_bytes)
            return [Traffic(*labels, *moved) for labels, moved in sums.items()]

    # --- with the lock held -------------------------------------------------------------------

    def _entry(self, name: str) -> _Entry:
        if name not in self._entries:
            raise proxy_not_found()
        return self._entries[name]

    def _add(self, wanted: WantedProxy) -> _Entry:
        entry = _Entry(replace(wanted, enabled=False))
        self._set_enabled(entry, wanted.enabled)
        self._entries[wanted.name] = entry
        return entry

    def _add_or_replace(self, wanted: WantedProxy) -> _Entry:
        entry = self._entries.get(wanted.name)
        if entry is None:
            return self._add(wanted)
        if self._is_same(entry, wanted):
            self._set_enabled(entry, wanted.enabled)
            return entry
        toxics, entry.toxics = entry.toxics, []
        self._apply()
        try:
            self._move(entry, wanted)
        except Refusal:
            entry.toxics = toxics
            self._apply()
            raise
        return entry

    def _is_same(self, entry: _Entry, wanted: WantedProxy) -> bool:
        """Return whether the proxy has these addresses and TLS; port 0 matches any port."""
        if entry.wanted.tls != wanted.tls:
            return False
        if entry.wanted.upstream_endpoint() != wanted.upstream_endpoint():
            return False
        asked = wanted.listen_endpoint()
        if asked == entry.wanted.listen_endpoint():
            return True
        return entry.bound is not None and asked in (entry.bound, Endpoint(entry.bound.host, 0))

    def _move(self, entry: _Entry, wanted: WantedProxy) -> None:
        """Change the addresses: connections end, toxics stay. If the port is taken, nothing changes."""
        before, bound = entry.wanted, entry.bound
        self._give_port_back(entry)
        entry.wanted = replace(wanted, enabled=False)
        try:
            self._set_enabled(entry, wanted.enabled)
        except Refusal:
            entry.wanted = replace(before, enabled=False, listen=str(bound) if bound else before.listen)
            self._set_enabled(entry, before.enabled)
            raise

    def _set_enabled(self, entry: _Entry, enabled: bool) -> None:
        if enabled == entry.wanted.enabled:
            return
        if enabled and entry.bound is None:
            self._take_port(entry)
        else:
            if enabled:
                self._check_port_is_free(entry)
            self._plane.set_enabled(entry.wanted.name, enabled)
        entry.wanted = replace(entry.wanted, enabled=enabled)

    def _take_port(self, entry: _Entry) -> None:
        wanted = entry.wanted
        spec = ProxySpec(wanted.name, wanted.listen_endpoint(), wanted.upstream_endpoint())
        if wanted.tls is not None:
            spec = wanted.tls.secured(spec)
        try:
            entry.bound = self._plane.open_proxy(spec)
        except FaultkitError as error:
            raise Refusal(500, str(error)) from None
        except ImportError as error:
            from faultkit.base.installation import explain_import

            missing = explain_import(error, "a proxy with tls")
            if missing is None:
                raise
            raise Refusal(500, str(missing)) from None

    def _check_port_is_free(self, entry: _Entry) -> None:
        """Raise Refusal if another proxy listens on the port of a disabled one.

        A disabled proxy keeps its port, but the kernel lets another socket of this process listen there."""
        for other in self._entries.values():
            if other is not entry and other.bound == entry.bound and other.wanted.enabled:
                raise Refusal(500, f"{entry.wanted.name}: cannot listen on {entry.bound}: in use")

    def _give_port_back(self, entry: _Entry) -> None:
        if entry.bound is None:
            return
        name = entry.wanted.name
        for counts in self._plane.call(lambda: self._last_snapshot(name)).proxies:
            if counts.name == name:
                self._remember(entry, counts.to_upstream_bytes, counts.to_client_bytes)
        entry.bound = None

    def _remember(self, entry: _Entry, to_upstream: int, to_client: int) -> None:
        """Keep the bytes of a closed port, within bounds: suites make and delete proxies by the thousand."""
        if to_upstream or to_client:
            _count(self._past, entry, to_upstream, to_client)
        while len(self._past) > MOST_PAST:
            del self._past[next(iter(self._past))]

    def _last_snapshot(self, name: str) -> Snapshot:
        """Count and close in one turn of the plane's loop, so that no byte passes in between."""
        snapshot = self._plane.snapshot()
        self._plane.close_proxy(name)
        return snapshot

    def _apply(self) -> None:
        rules = (rule_of(name, toxic) for name, entry in self._entries.items() for toxic in entry.toxics)
        self._plane.set_plan(Plan(tuple(rule for rule in rules if rule is not None), self._seed))


def _place(entry: _Entry, toxic_name: str) -> int:
    for place, toxic in enumerate(entry.toxics):
        if toxic.name == toxic_name:
            return place
    raise toxic_not_found()


def _count(
    sums: dict[tuple[str, str, str], tuple[int, int]], entry: _Entry, to_upstream: int, to_client: int
) -> None:
    labels = (entry.wanted.name, entry.listen, entry.wanted.upstream)
    before = sums.get(labels, (0, 0))
    sums[labels] = (before[0] + to_upstream, before[1] + to_client)
