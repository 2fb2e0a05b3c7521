"""The servers of an OpenAPI document, with their variables filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from faultkit.base.address import SCHEMES, parse_endpoint
from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError
from faultkit.scenario.openapi.openapi_document import Source

DEFAULT = "http://localhost"
_VARIABLE = re.compile(r"\{([^{}]*)\}")


def base_url(source: Source, *levels: object) -> str:
    """Return the first http(s) server of the innermost level that has any, without a closing slash.

    Levels go from the operation outward. A relative URL is resolved against the URL of the document, or
    against `http://localhost` if the document is a file."""
    for servers in levels:
        found = servers if isinstance(servers, list) else []
        urls = [_filled(server, source) for server in found if isinstance(server, Mapping)]
        usable = [url for url in (_absolute(url, source) for url in urls) if url is not None]
        if usable:
            return usable[0]
    home = source.location if source.is_url else DEFAULT
    parts = urlsplit(home)
    return _clean(f"{parts.scheme}://{parts.netloc}", source)


def checked_base(url: str, path: str) -> str:
    """Return the base URL that the user gave. Raises InputError if it is not an http or https URL."""
    try:
        parts = urlsplit(url.strip())
        fits = parts.scheme in ("http", "https") and parts.hostname and not (parts.query or parts.fragment)
    except ValueError:
        fits = False
    if not fits:
        raise InputError(path, f"expected an http or https URL such as {DEFAULT}:8080, got {shown(url)}")
    return _clean(url.strip(), Source(path))


def origin(base: str) -> str:
    """Return the scheme, host and port of a base URL."""
    parts = urlsplit(base)
    return f"{parts.scheme}://{parts.netloc}"


def _filled(server: Mapping[str, Any], source: Source) -> str:
    url = server.get("url")
    if not isinstance(url, str):
        raise InputError(source.shown, f"servers: expected a url, got {shown(url)}")
    variables = server.get("variables")
    variables = variables if isinstance(variables, Mapping) else {}

    def value_of(match: re.Match[str]) -> str:
        variable = variables.get(match[1])
        variable = variable if isinstance(variable, Mapping) else {}
        choices = variable.get("enum")
        value = variable.get("default", choices[0] if isinstance(choices, list) and choices else None)
        if value is None:
            name = shown(match[1])
            raise InputError(source.shown, f"servers: the variable {name} of {shown(url)} has no default")
        return str(value)

    return _VARIABLE.sub(value_of, url.strip())


def _absolute(url: str, source: Source) -> str | None:
    """Return the URL of a server; None for other protocols than HTTP."""
    try:
        joined = urljoin(source.location if source.is_url else f"{DEFAULT}/", url)
        parts = urlsplit(joined)
    except ValueError:
        raise InputError(source.shown, f"expected a server's URL, got {shown(url)}") from None
    return _clean(joined, source) if parts.scheme in ("http", "https") and parts.hostname else None


def _clean(url: str, source: Source) -> str:
    """Return the URL without user, query and closing slash. Raises InputError without a valid host."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        parse_endpoint(host, SCHEMES[parts.scheme].port)
    except (ValueError, InputError):
        raise InputError(source.shown, f"expected a server's URL, got {shown(url)}") from None
    path = quote(parts.path, safe="/:@!$&'()*+,;=~%").rstrip("/")
    return urlunsplit((parts.scheme, host, path, "", ""))
