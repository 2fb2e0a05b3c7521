"""A URL of HTTP, taken apart into where to connect and what to ask for there. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urljoin, urlsplit

from faultkit.base.errors import InputError

_PORTS = {"http": 80, "https": 443}
_PRINTED = re.compile(r"[!-~]*")


@dataclass(frozen=True, slots=True)
class Address:
    scheme: str
    host: str
    port: int
    authority: str
    """Host and port as they were written, for the header that repeats them."""
    target: str
    """Path and query."""

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    def redirected(self, target: str, location: str) -> Address | None:
        """Where an answer to a request for `target` sends its client; None if that is no URL of HTTP."""
        try:
            return parse_url(urljoin(f"{self.scheme}://{self.authority}{target}", location))
        except (InputError, ValueError):
            return None


def parse_url(url: str) -> Address:
    """InputError if nobody could be asked for it."""
    parts = _split(url)
    if _PRINTED.fullmatch(url) is None:
        raise InputError(
            "upstream",
            'expected a URL of ASCII and without blanks ("%20" for a blank, "xn--…" for a host), '
            f'got "{url}"',
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    port = parts.port or _PORTS[parts.scheme]
    return Address(parts.scheme, parts.hostname or "", port, parts.netloc.rpartition("@")[2], path)


def _split(url: str) -> SplitResult:
    wrong = InputError("upstream", f'expected a URL such as http://127.0.0.1:8000/mcp, got "{url}"')
    try:
        parts = urlsplit(url)
        # Asked here, since it is looked at only when asked.
        port = parts.port
    except ValueError as error:
        raise InputError("upstream", f"{wrong.problem} ({str(error).lower()})") from None
    if parts.scheme not in _PORTS or not parts.hostname or port == 0:
        raise wrong
    return parts


def check_no_user(url: str) -> None:
    """InputError for one that says who asks: it is shown in places where a password must not be."""
    if "@" in urlsplit(url).netloc:
        raise InputError(
            "upstream",
            "expected a URL without user and password, got one with them; send them with "
            '--header "Authorization: Basic …", or in FAULT_GATEWAY_HEADERS, which others cannot see',
        )
