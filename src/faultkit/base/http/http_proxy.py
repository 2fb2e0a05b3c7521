"""The HTTP proxy that the environment names for a URL, and the tunnel through it for HTTPS."""

from __future__ import annotations

import asyncio
import base64
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

from faultkit.base.address import url_host
from faultkit.base.errors import InputError
from faultkit.base.http.http_url import HttpUrl, parse_url

_MOST_HEAD = 64 * 1024


@dataclass(frozen=True, slots=True)
class HttpProxy:
    """A proxy that speaks plain HTTP."""

    host: str
    port: int
    authorization: str = ""
    """Value of Proxy-Authorization; empty if the proxy's URL has no user."""


def parse_proxy(written: str) -> HttpProxy:
    """Parse the address of a proxy, with or without `http://`. Raises InputError."""
    url = written if "://" in written else f"http://{written}"
    parts = urlsplit(url)
    if parts.scheme != "http":
        raise InputError("proxy", f"expected a URL that begins with http://, got {parts.scheme}://…")
    try:
        address = parse_url(url)
    except InputError:
        # Not shown: it may hold a password.
        raise InputError("proxy", "expected an address such as http://127.0.0.1:3180") from None
    if parts.username is None:
        return HttpProxy(address.host, address.port)
    user = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
    return HttpProxy(address.host, address.port, f"Basic {base64.b64encode(user).decode()}")


def environment_proxy(url: HttpUrl, proxies: Mapping[str, str] | None = None) -> HttpProxy | None:
    """Return the proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names, unless NO_PROXY names the host.

    proxies: the names in lower case without `_proxy`; by default those of the environment"""
    found = dict(getproxies_environment() if proxies is None else proxies)
    written = found.get(url.scheme) or found.get("all")
    # `urllib` compares both the host and the host with its port.
    if not written or proxy_bypass_environment(f"{url_host(url.host)}:{url.port}", found):
        return None
    return parse_proxy(written)


async def open_tunnel(proxy: HttpProxy, url: HttpUrl) -> socket.socket:
    """Return a socket on which the origin of a URL answers, through the proxy (RFC 9110 §9.3.6).

    Raises OSError if the proxy cannot be reached or refuses."""
    loop = asyncio.get_running_loop()
    tunnel = await _connect(proxy)
    target = f"{url_host(url.host)}:{url.port}"
    login = f"proxy-authorization: {proxy.authorization}\r\n" if proxy.authorization else ""
    try:
        await loop.sock_sendall(
            tunnel, f"CONNECT {target} HTTP/1.1\r\nhost: {target}\r\n{login}\r\n".encode()
        )
        head = bytearray()
        # The origin of a TLS connection waits for the client, so nothing comes after the head.
        while b"\r\n\r\n" not in head:
            part = await loop.sock_recv(tunnel, 4096)
            if not part or len(head) > _MOST_HEAD:
                raise ConnectionResetError("the proxy closed the connection before it answered CONNECT")
            head += part
        status = head.split(b"\r\n", 1)[0].split(b" ")[1:2]
        if not status or not status[0].startswith(b"2"):
            answer = status[0].decode("latin-1") if status else "without a status"
            raise ConnectionRefusedError(f"the proxy answered {answer} to CONNECT {target}")
    except BaseException:
        tunnel.close()
        raise
    return tunnel


async def _connect(proxy: HttpProxy) -> socket.socket:
    loop = asyncio.get_running_loop()
    problem: OSError = ConnectionRefusedError(f"the proxy {proxy.host} has no address")
    for family, kind, protocol, _, address in await loop.getaddrinfo(
        proxy.host, proxy.port, type=socket.SOCK_STREAM
    ):
        tunnel = socket.socket(family, kind, protocol)
        tunnel.setblocking(False)
        try:
            await loop.sock_connect(tunnel, address)
            return tunnel
        except OSError as error:
            tunnel.close()
            problem = error
        except BaseException:
            tunnel.close()
            raise
    raise problem
