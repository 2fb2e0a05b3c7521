"""A route: the bytes of a request and where they are sent, derived once from a target for all requests.

Pure: it opens no connection. Targets from which no valid request can be made are refused here.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, unquote, urlsplit

from faultkit import __version__
from faultkit.base.address import Endpoint, Verify, parse_endpoint
from faultkit.base.errors import InputError
from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.dialect_table import read_request
from faultkit.load.load import StreamUntil, Target
from faultkit.proxy.http.request_target import host_field

_PORTS = {"http": 80, "https": 443}
_METHOD = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,32}", re.ASCII)
_FIELD_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_UNQUOTED = "/%:@!$&'()*+,;=~-._?[]"
_SAYS_ITS_LENGTH = ("POST", "PUT", "PATCH")
"""Methods that send Content-Length even without a body (RFC 9110 §8.6)."""


@dataclass(frozen=True, slots=True)
class Route:
    """Everything that a connection needs to send one request."""

    request: bytes
    """Head and body, as they go over the wire."""
    endpoint: Endpoint
    """Where connections go: the origin, or the proxy in front of it."""
    tunnel: bytes = b""
    """The CONNECT request for an HTTP proxy; empty without a tunnel."""
    tls_host: str | None = None
    """The name that the certificate must have; None: no TLS."""
    verify: Verify = True
    timeout_s: float = 30.0
    head_only: bool = False
    """True for HEAD: the response has no body, whatever its header fields are."""
    keep_alive: bool = True
    stream: StreamUntil | None = None
    """When the response, an event stream, is complete; None for any other response."""
    llm: LlmRequest | None = None
    """The request as one to a model, if its answer is measured token by token."""


def route_of(target: Target, keep_alive: bool = True) -> Route:
    """Return the route of a target. Raises InputError for one that cannot be requested."""
    if target.proxy and target.connect_to:
        raise InputError("proxy", "expected either a proxy or another place to connect to, got both")
    if not target.timeout_s > 0:
        raise InputError("timeout_s", f"expected more than 0 seconds, got {target.timeout_s}")
    if not _METHOD.fullmatch(target.method) or target.method.upper() == "CONNECT":
        raise InputError("method", f'expected an HTTP method such as GET, got "{target.method}"')
    url, origin = _split(target.url)
    tls = url.scheme == "https"
    host = host_field(origin.host, origin.port, tls)
    absolute = target.proxy is not None and not tls
    path = quote(url.path or "/", _UNQUOTED) + (f"?{quote(url.query, _UNQUOTED)}" if url.query else "")
    line = f"{target.method} {f'http://{host}' if absolute else ''}{path} HTTP/1.1"
    fields = [f"{name}: {value}" for name, value in _fields(target, url, host, keep_alive)]
    return Route(
        request="\r\n".join([line, *fields, "", ""]).encode("latin-1") + target.body,
        endpoint=target.connect_to or target.proxy or origin,
        tunnel=_connect_request(origin) if target.proxy and tls else b"",
        tls_host=origin.host if tls and not target.connect_to else None,
        verify=target.verify,
        timeout_s=target.timeout_s,
        head_only=target.method == "HEAD",
        keep_alive=keep_alive,
        stream=target.stream,
        llm=_llm_request(target, path) if target.llm else None,
    )


def _llm_request(target: Target, path: str) -> LlmRequest:
    found = read_request(path, target.body)
    if found is None:
        raise InputError(
            "llm",
            "expected a request to a model: a path such as /v1/chat/completions, /v1/responses, "
            "/v1/messages, /v1beta/models/NAME:streamGenerateContent or /api/chat, and the body "
            "of that API, got another",
        )
    return found


def _split(text: str) -> tuple[SplitResult, Endpoint]:
    """Return the parts of a URL, and its origin."""
    expected = 'expected a URL such as "http://localhost:8080/path"'
    if _CONTROL.search(text) or " " in text.partition("?")[0]:
        raise InputError("url", f"{expected}, got one with a space or a control character: {text!r}")
    try:
        url = urlsplit(text)
        port = url.port
        host = (url.hostname or "").encode("idna").decode("ascii") if ":" not in (url.hostname or "") else ""
    except (ValueError, UnicodeError) as error:
        raise InputError("url", f'{expected}, got "{text}" ({error})') from None
    if url.scheme not in _PORTS or not url.hostname:
        raise InputError("url", f'{expected}, got "{text}"')
    if port == 0:
        raise InputError("url", f'expected a port from 1 to 65535, got 0 in "{text}"')
    port = port or _PORTS[url.scheme]
    return url, parse_endpoint(f"{host or f'[{url.hostname}]'}:{port}", path="url")


def _fields(target: Target, url: SplitResult, host: str, keep_alive: bool) -> Iterator[tuple[str, str]]:
    """Yield the header fields. The user's fields replace the default ones, except Content-Length."""
    theirs = {_checked(name, value).lower() for name, value in target.headers}
    if "transfer-encoding" in theirs:
        raise InputError("headers.Transfer-Encoding", "expected none: bodies are sent with their length")
    accept = "*/*" if target.stream is None else "text/event-stream"
    ours = {"Host": host, "User-Agent": f"faultkit/{__version__}", "Accept": accept}
    if url.username is not None:
        pair = f"{unquote(url.username)}:{unquote(url.password or '')}"
        ours["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    if not keep_alive:
        ours["Connection"] = "close"
    yield from ((name, value) for name, value in ours.items() if name.lower() not in theirs)
    yield from ((name, value) for name, value in target.headers if name.lower() != "content-length")
    if target.body or target.method.upper() in _SAYS_ITS_LENGTH:
        yield "Content-Length", str(len(target.body))


def _checked(name: str, value: str) -> str:
    """Return the name. Raises InputError if the field cannot be sent as it is."""
    if not _FIELD_NAME.fullmatch(name):
        raise InputError("headers", f"expected the name of a header, got {name!r}")
    if _CONTROL.search(value):
        raise InputError(f"headers.{name}", "expected one line of text, got a control character in it")
    try:
        value.encode("latin-1")
    except UnicodeEncodeError:
        raise InputError(f"headers.{name}", "expected Latin-1 text, got other characters") from None
    return name


def _connect_request(origin: Endpoint) -> bytes:
    return (
        f"CONNECT {origin} HTTP/1.1\r\nHost: {origin}\r\nUser-Agent: faultkit/{__version__}\r\n\r\n"
    ).encode("ascii")
