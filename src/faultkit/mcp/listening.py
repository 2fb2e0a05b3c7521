"""Where a server of ours listens: who may call it there, how that is written, and why it cannot."""

from __future__ import annotations

from faultkit.errors import TargetError

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def allowed_hosts(host: str) -> tuple[str, ...] | None:
    """Names that a request may call us by: on loopback those of loopback, elsewhere any."""
    return LOOPBACK if host in LOOPBACK else None


def shown_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def cannot_listen(host: str, port: int, error: OSError) -> TargetError:
    why = "the port is taken" if error.errno == 98 else (error.strerror or str(error)).lower()
    return TargetError(f"cannot listen on {shown_host(host)}:{port}: {why}")
