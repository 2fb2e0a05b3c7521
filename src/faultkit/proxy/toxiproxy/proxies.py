"""Proxies as the API has them: what a body asks for, and where its addresses lead. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from faultkit.base.address import LOOPBACK, Endpoint, parse_endpoint
from faultkit.base.errors import InputError
from faultkit.proxy.toxiproxy import body as fields
from faultkit.proxy.toxiproxy.refusals import Refusal, bad_body, missing_field

ANY_PORT = "localhost:0"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A proxy as somebody wants it. The texts are kept, because the API gives them back."""

    name: str
    listen: str
    upstream: str
    enabled: bool

    def listen_endpoint(self) -> Endpoint:
        endpoint = _endpoint(self.listen, "listen")
        # One address, whatever order the machine's host file has: clients look for proxies on 127.0.0.1.
        return Endpoint(LOOPBACK, endpoint.port) if endpoint.host == "localhost" else endpoint

    def upstream_endpoint(self) -> Endpoint:
        upstream = _endpoint(self.upstream, "upstream")
        if not upstream.port:
            raise bad_body(f"upstream: expected a port from 1 to 65535 in {self.upstream!r}, got 0")
        return upstream


def new_proxy(document: object) -> Wanted:
    given = fields.mapping(document)
    for name in ("name", "upstream"):
        if not fields.text(given, name):
            raise missing_field(name)
    return _wanted(given, fields.text(given, "name"), ANY_PORT, "", True)


def updated_proxy(before: Wanted, document: object) -> Wanted:
    """What the body leaves out stays as it is; a proxy keeps its name."""
    given = fields.mapping(document)
    return _wanted(given, before.name, before.listen, before.upstream, before.enabled)


def populated_proxies(document: object) -> list[Wanted]:
    """All that a list asks for, checked before anything is touched."""
    if not isinstance(document, list):
        raise bad_body("body: expected a list of proxies")
    wanted: list[Wanted] = []
    for position, item in enumerate(document, 1):
        try:
            proxy = new_proxy(item)
        except Refusal as refusal:
            raise Refusal(refusal.status, f"{refusal.message} at proxy {position}") from None
        if any(proxy.name == other.name for other in wanted):
            raise bad_body(f"name at proxy {position}: expected each name once, got {proxy.name!r} again")
        wanted.append(proxy)
    return wanted


def _wanted(given: Mapping[str, object], name: str, listen: str, upstream: str, enabled: bool) -> Wanted:
    wanted = Wanted(
        name,
        fields.text(given, "listen") or listen,
        fields.text(given, "upstream") or upstream,
        fields.switch(given, "enabled", enabled),
    )
    wanted.listen_endpoint()
    wanted.upstream_endpoint()
    return wanted


def _endpoint(text: str, name: str) -> Endpoint:
    try:
        return parse_endpoint(text, path=name)
    except InputError as error:
        raise bad_body(error) from None
