"""The check before a run: whether upstreams can be reached, and agree to TLS where it is asked for."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Iterable

from faultkit.base.address import Endpoint, Speaks, Verify
from faultkit.base.errors import TargetError
from faultkit.base.network import why_unreachable
from faultkit.proxy.data_plane import ProxySpec

LONGEST_CHECK_S = 5.0
"""Longest wait for all upstreams together, in seconds."""
_NOT_TRUSTED = "the certificate is not trusted"


def advised(why: str) -> str:
    """Return why an upstream cannot be used, with the flags that may help."""
    return f"{why} (--cacert names an authority, --insecure checks none)" if _NOT_TRUSTED in why else why


def check_upstreams(maps: Iterable[ProxySpec], timeout_s: float) -> None:
    """Raise TargetError for the first upstream, in their order, that cannot be reached or used."""
    wanted = tuple((spec, spec.upstream) for spec in maps if spec.upstream is not None)
    limit_s = min(timeout_s, LONGEST_CHECK_S)
    answers: queue.SimpleQueue[tuple[int, str | None]] = queue.SimpleQueue()

    def check(index: int, spec: ProxySpec, upstream: Endpoint) -> None:
        answers.put((index, _why_unusable(spec, upstream, limit_s)))

    for index, (spec, upstream) in enumerate(wanted):
        threading.Thread(target=check, args=(index, spec, upstream), name="fault-check", daemon=True).start()
    verdicts: dict[int, str | None] = {}
    deadline = time.monotonic() + limit_s
    with contextlib.suppress(queue.Empty):
        while len(verdicts) < len(wanted):
            index, why = answers.get(timeout=max(0.0, deadline - time.monotonic()))
            verdicts[index] = why
    for index, (spec, upstream) in enumerate(wanted):
        why = verdicts.get(index, f"no answer within {limit_s:g} s")
        if why is not None:
            raise TargetError(f"{spec.name}: cannot reach {upstream}: {why} (--no-check skips this test)")


def _why_unusable(spec: ProxySpec, upstream: Endpoint, timeout_s: float) -> str | None:
    verify = spec.verify if spec.tls else None
    return why_unusable(upstream, timeout_s, verify, spec.speaks, spec.identity)


def why_unusable(
    upstream: Endpoint,
    timeout_s: float,
    verify: Verify | None = None,
    speaks: Speaks = "tcp",
    identity: tuple[str, str] | None = None,
) -> str | None:
    """Connect to the upstream as the proxy will, and close; return None, or why that failed.

    verify:   which certificates are trusted; None: without TLS
    identity: files of the certificate and key that it is shown"""

    def shake_hands(connection: socket.socket) -> str | None:
        assert verify is not None
        # Imported here, so that a run of plain TCP never loads TLS.
        import ssl

        from faultkit.base.certificates import add_certificate, client_context, why_handshake_failed
        from faultkit.proxy.postgres_start import SSL_REQUEST, why_no_tls

        if speaks == "psql":
            connection.sendall(SSL_REQUEST)
            if (why := why_no_tls(connection.recv(100))) is not None:
                return why
        try:
            # Not the shared context: in a long-lived process, its authorities may be out of date.
            context = client_context(verify)
            if identity is not None:
                add_certificate(context, *identity)
            with context.wrap_socket(connection, server_hostname=upstream.host):
                return None
        except ssl.SSLError as error:
            return advised(why_handshake_failed(error))

    return why_unreachable(upstream, timeout_s, None if verify is None else shake_hands)
