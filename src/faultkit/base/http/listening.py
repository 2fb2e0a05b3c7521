"""Where a server of ours listens: who may call it there, how that is written, and why it cannot."""

from __future__ import annotations

import errno
import os
import socket

from faultkit.base.errors import TargetError

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def allowed_hosts(host: str) -> tuple[str, ...] | None:
    """Names that a request may call us by: on loopback those of loopback, elsewhere any."""
    return LOOPBACK if host in LOOPBACK else None


def shown_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def cannot_listen(host: str, port: int, error: OSError) -> TargetError:
    return TargetError(f"cannot listen on {shown_host(host)}:{port}: {_why(error)}")


def _why(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "the port is taken"
    if isinstance(error, socket.gaierror) or error.errno is None:
        return (error.strerror or str(error)).lower()
    # asyncio has words of its own around what the system says.
    return os.strerror(error.errno).lower()
