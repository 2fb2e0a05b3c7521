"""The origin that a request is meant for (RFC 9112 §3.2), and heads rewritten for it.

Only what must change is changed: every other line of a head stays as it came.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from faultkit.base.address import url_host
from faultkit.proxy.http.heads import RequestHead

_DEFAULT_PORTS = {"http": 80, "https": 443}
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:@/?#\\\s,]+)(?::([0-9]{0,5}))?")
_ABSOLUTE = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://([^/?#]*)(.*)")
# RFC 9110 §7.6.1 has a proxy remove hop-by-hop fields. Only those that are meant for the proxy itself are
# removed here: Connection and Transfer-Encoding stay, because the proxy changes neither persistence nor
# framing.
_NOT_FOR_ORIGINS = (b"proxy-connection", b"proxy-authorization")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a request goes."""

    host: str
    port: int
    tls: bool = False

    def __str__(self) -> str:
        return f"{url_host(self.host)}:{self.port}"


def host_field(host: str, port: int, tls: bool) -> str:
    """Return the Host field of this origin: the port only where it is not the default (RFC 9110 §7.2)."""
    name = url_host(host)
    return name if port == _DEFAULT_PORTS["https" if tls else "http"] else f"{name}:{port}"


def origin_of(head: RequestHead) -> Origin:
    """Return the origin that a request to a forward proxy names. Raises ValueError if there is none."""
    if head.method == "CONNECT":
        host, port = _authority(head.target, None)
        return Origin(host, port)
    absolute = _ABSOLUTE.fullmatch(head.target)
    if absolute is None:
        host, port = _authority(_host_of(head), 80)
        return Origin(host, port, port == 443)
    scheme = absolute[1].lower()
    if scheme not in _DEFAULT_PORTS:
        raise ValueError(f"target: expected an http or https URL, got the scheme {scheme!r}")
    host, port = _authority(absolute[2], _DEFAULT_PORTS[scheme])
    return Origin(host, port, scheme == "https" or port == 443)


def for_origin(head: RequestHead) -> bytes:
    """Return the head of an absolute-form request in origin form, with Host from the target (RFC 9112
    §3.2.2), without the fields that were meant for the proxy."""
    absolute = _ABSOLUTE.fullmatch(head.target)
    if absolute is None:
        return _rewritten(head, None, None, _NOT_FOR_ORIGINS)
    _, authority, path = absolute.groups()
    if not path.startswith("/"):
        path = "*" if head.method == "OPTIONS" and not path else f"/{path}"
    return _rewritten(head, path, authority, _NOT_FOR_ORIGINS)


def with_host(head: RequestHead, host: str) -> bytes:
    """Return the head with its Host field set, or added where there was none."""
    return _rewritten(head, None, host, ())


def names_port(head: RequestHead, port: int) -> bool:
    """Return whether the Host field of a request has this port, or is missing or wrong."""
    parts = _AUTHORITY.fullmatch(head.header("host") or "")
    return parts is None or int(parts[2] or 80) == port


def _authority(text: str, default_port: int | None) -> tuple[str, int]:
    parts = _AUTHORITY.fullmatch(text)
    port = default_port if parts is None or not parts[2] else int(parts[2])
    if parts is None or port is None or not 0 < port < 65536:
        wanted = "host:port" if default_port is None else "host[:port]"
        raise ValueError(f"target: expected {wanted}, got {text[:80]!r}")
    return parts[1].strip("[]"), port


def _host_of(head: RequestHead) -> str:
    if head.target != "*" and not head.target.startswith("/"):
        raise ValueError(f"target: expected a URL or a path, got {head.target[:80]!r}")
    host = head.header("host")
    if not host:
        raise ValueError("Host: expected the origin of the request, got none")
    return host


def _rewritten(head: RequestHead, target: str | None, host: str | None, without: tuple[bytes, ...]) -> bytes:
    first, *rest = head.raw[:-4].split(b"\r\n")
    if target is not None:
        first = f"{head.method} {target} {head.version}".encode("latin-1")
    lines = [first]
    hosts = 0
    for line in rest:
        name = line.partition(b":")[0].rstrip(b" \t").lower()
        if name == b"host":
            hosts += 1
            if hosts > 1:
                raise ValueError("Host: expected one, got several")
            if host is not None:
                line = line.partition(b":")[0] + b": " + host.encode("latin-1")
        if name not in without:
            lines.append(line)
    if not hosts and host is not None:
        lines.insert(1, b"Host: " + host.encode("latin-1"))
    return b"\r\n".join(lines) + b"\r\n\r\n"
