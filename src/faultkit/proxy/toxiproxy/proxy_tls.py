"""The `tls` block of a proxy: TLS towards its clients, and to its upstream unless that is switched off.

    "tls": {"cert": "cert.pem", "key": "key.pem", "clientCA": "ca.pem", "upstream": true,
            "verifyUpstream": true, "upstreamCA": "ca.pem", "upstreamCert": "…", "upstreamKey": "…"}

All keys may be missing; without `cert` and `key`, the local authority signs. Files are those of the server's
machine. The original has no TLS: users have asked for it since 2020.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, fields, replace

from faultkit.base.address import LOOPBACK_NAMES
from faultkit.base.certificates import add_certificate, check_authorities
from faultkit.base.errors import InputError
from faultkit.proxy.data_plane import ListenerTls, ProxySpec
from faultkit.proxy.toxiproxy import request_fields
from faultkit.proxy.toxiproxy.request_fields import bad_body

_KEYS = {
    "cert": "cert",
    "key": "key",
    "client_ca": "clientCA",
    "upstream": "upstream",
    "verify_upstream": "verifyUpstream",
    "upstream_ca": "upstreamCA",
    "upstream_cert": "upstreamCert",
    "upstream_key": "upstreamKey",
}
"""The fields, as they are written in JSON."""


@dataclass(frozen=True, slots=True)
class WantedTls:
    """A `tls` block as a client requested it. An empty text stands for a file that is not given."""

    cert: str = ""
    key: str = ""
    client_ca: str = ""
    upstream: bool = True
    """Speak TLS to the upstream, too."""
    verify_upstream: bool = True
    upstream_ca: str = ""
    upstream_cert: str = ""
    upstream_key: str = ""

    def document(self) -> dict[str, object]:
        """Return the block; only what was given."""
        usual = WantedTls()
        return {
            _KEYS[field.name]: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != getattr(usual, field.name)
        }

    def secured(self, spec: ProxySpec) -> ProxySpec:
        """Return the proxy with this TLS."""
        assert spec.upstream is not None
        names = (*LOOPBACK_NAMES, spec.listen.host, spec.upstream.host)
        listener = ListenerTls(
            names=tuple(dict.fromkeys(name for name in names if name not in ("0.0.0.0", "::"))),
            cert=self.cert or None,
            key=self.key or None,
            client_ca=self.client_ca or None,
            protocols=(),  # The bytes are not read here, so any protocol will do.
        )
        return replace(
            spec,
            client_tls=listener,
            tls=self.upstream,
            verify=self.verify_upstream and (self.upstream_ca or True),
            identity=(self.upstream_cert, self.upstream_key) if self.upstream_cert else None,
        )


def wanted_tls(document: object, before: WantedTls | None) -> WantedTls | None:
    """Return the `tls` block of a proxy; `before` if the request has none. Raises Refusal for files that do
    not fit."""
    if document is None:
        return before
    given = request_fields.mapping(document, "tls")
    values: dict[str, object] = {}
    for field in fields(WantedTls):
        key = _KEYS[field.name].lower()
        if isinstance(field.default, bool):
            values[field.name] = request_fields.switch(given, key, field.default)
        else:
            values[field.name] = request_fields.text(given, key)
    wanted = WantedTls(**values)  # type: ignore[arg-type]
    try:
        _check(wanted)
    except InputError as error:
        raise bad_body(error) from None
    return wanted


def _check(wanted: WantedTls) -> None:
    for side, cert, key in (
        ("", wanted.cert, wanted.key),
        ("upstream", wanted.upstream_cert, wanted.upstream_key),
    ):
        paths = (f"tls.{side}Cert", f"tls.{side}Key") if side else ("tls.cert", "tls.key")
        if bool(cert) != bool(key):
            given, missing = paths if cert else paths[::-1]
            raise InputError(given, f"expected {missing} beside it, got none")
        if cert:
            role = ssl.PROTOCOL_TLS_CLIENT if side else ssl.PROTOCOL_TLS_SERVER
            add_certificate(ssl.SSLContext(role), cert, key, paths)
    for path, file in (("tls.clientCA", wanted.client_ca), ("tls.upstreamCA", wanted.upstream_ca)):
        if file:
            check_authorities(file, path)
