"""Failures to connect and to listen, described for users; tokens of servers. Addresses: `base.address`."""

from __future__ import annotations

import errno
import os
import secrets
import socket
from collections.abc import Callable

from faultkit.base.address import Endpoint, url_host
from faultkit.base.errors import TargetError


def why_unreachable(
    endpoint: Endpoint, timeout_s: float, further: Callable[[socket.socket], str | None] | None = None
) -> str | None:
    """Open one TCP connection and close it; return None, or why that failed, in a few words.

    further: a check of the open connection, which returns the same"""
    try:
        with socket.create_connection((endpoint.host, endpoint.port), timeout_s) as connection:
            return None if further is None else further(connection)
    except TimeoutError:
        return f"no answer within {timeout_s:g} s"
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        return f"the name cannot be resolved ({why})" if isinstance(error, socket.gaierror) else why


def cannot_listen(host: str, port: int, error: OSError) -> TargetError:
    """Return the error for an address that cannot be listened on."""
    if error.errno == errno.EADDRINUSE:
        why = "the port is taken"
    elif isinstance(error, socket.gaierror) or error.errno is None:
        why = (error.strerror or str(error)).lower()
    else:
        # asyncio wraps the system's message in its own words.
        why = os.strerror(error.errno).lower()
    return TargetError(f"cannot listen on {url_host(host)}:{port}: {why}")


def new_token() -> str:
    """Return a random bearer token for the callers of a server: 192 bits, which cannot be guessed."""
    return secrets.token_urlsafe(24)
