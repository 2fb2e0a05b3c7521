"""HTTP URLs, split into the address to connect to and the request target. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urljoin, urlsplit

from faultkit.base.errors import InputError

_PORTS = {"http": 80, "https": 443}
_PRINTED = re.compile(r"[!-~]*")


@dataclass(frozen=True, slots=True)
class HttpUrl:
    """A parsed HTTP URL."""

    scheme: str
    host: str
    port: int
    authority: str
    """Host and port as written, for the Host header (RFC 9110 §7.2)."""
    target: str
    """Path and query, the origin-form of RFC 9112 §3.2.1."""

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    def redirected(self, target: str, location: str) -> HttpUrl | None:
        """Return the target of a redirect from `target` (RFC 9110 §10.2.2); None if it is not an HTTP URL."""
        try:
            return parse_url(urljoin(f"{self.scheme}://{self.authority}{target}", location))
        except (InputError, ValueError):
            return None


def parse_url(url: str) -> HttpUrl:
    """Parse an HTTP URL. Raises InputError."""
    parts = _split(url)
    if _PRINTED.fullmatch(url) is None:
        raise InputError(
            "upstream",
            'expected a URL of ASCII and without blanks ("%20" for a blank, "xn--…" for a host), '
            f'got "{url}"',
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    port = parts.port or _PORTS[parts.scheme]
    return HttpUrl(parts.scheme, parts.hostname or "", port, parts.netloc.rpartition("@")[2], path)


def _split(url: str) -> SplitResult:
    wrong = InputError("upstream", f'expected a URL such as http://127.0.0.1:8000/mcp, got "{url}"')
    try:
        parts = urlsplit(url)
        # Read here, because urlsplit validates the port only on access.
        port = parts.port
    except ValueError as error:
        raise InputError("upstream", f"{wrong.problem} ({str(error).lower()})") from None
    if parts.scheme not in _PORTS or not parts.hostname or port == 0:
        raise wrong
    return parts


def check_no_credentials(url: str) -> None:
    """Raise InputError for a URL with user or password, because URLs are shown in logs and messages."""
    if "@" in urlsplit(url).netloc:
        raise InputError(
            "upstream",
            "expected a URL without user and password, got one with them; send them with "
            '--header "Authorization: Basic …", or in FAULT_GATEWAY_HEADERS, which others cannot see',
        )
