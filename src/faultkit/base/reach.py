"""Is there anybody? One TCP connection, at once closed again."""

from __future__ import annotations

import socket

from faultkit.base.address import Endpoint


def why_unreachable(endpoint: Endpoint, timeout_s: float) -> str | None:
    """Why no connection can be had within this time, in a few words; None if one can."""
    try:
        with socket.create_connection((endpoint.host, endpoint.port), timeout_s):
            return None
    except TimeoutError:
        return f"no answer within {timeout_s:g} s"
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        return f"the name cannot be resolved ({why})" if isinstance(error, socket.gaierror) else why
