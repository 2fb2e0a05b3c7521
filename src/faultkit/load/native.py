"""Whether the compiled steps of a request (`_native.c`) are used, or the same in Python.

They are where the extension was built, unless FAULTKIT_PURE is set (`faultkit.proxy.native`). They serve
plain HTTP on the loop of Linux; TLS, tunnels, HEAD, event streams and MCP take the steps in Python. An answer
that does not come in one piece, or that has anything unusual in its head, goes to the reader in Python.

    compiled                      in Python
    ----------------------------  -------------------------------------------------
    _native.ConnectionFields      connection_fields.PureFields
    _native.Exchange              Engine.answered, Recorder.adder_of_kept
    _native.scan_response         response.ResponseReader, for the most common heads
"""

from __future__ import annotations

import time
from typing import Any, Final, Protocol

from faultkit.load.route import Route
from faultkit.proxy.event_loop import Loop
from faultkit.proxy.native import load_native

native = load_native("faultkit.load._native", revision=1)

EXCHANGE_COLUMNS: Final = (
    "intended",
    "started",
    "total_s",
    "first_byte_s",
    "dns_s",
    "connect_s",
    "received",
    "status",
)
"""The columns of samples that `Exchange.take` returns, as bytes."""


class Exchange(Protocol):
    """What the connections of an engine share in C. Its length is the number of responses in it."""

    begin_at: float
    """The instant that times are counted from."""
    place: bytes | None
    """The packed address to connect to; None for one that only Python can use."""

    def __len__(self) -> int: ...

    def take(self) -> tuple[bytes, ...]:
        """Return the columns since the last call, as bytes."""

    def repeat(self, requesters: type, until: float, /) -> None:
        """Let requesters of this class ask again as soon as they are answered, until an instant."""


def new_exchange(
    owner: Any, route: Route, loop: Loop, pending: dict[Any, None], idle: list[Any]
) -> Exchange | None:
    """Return what the connections of an engine share in C; None if they take every step in Python."""
    is_plain = not route.tunnel and route.tls_host is None and not route.head_only
    is_measured = route.stream is not None or route.llm is not None
    if native is None or not is_plain or is_measured or loop.clock is not time.monotonic:
        return None
    if loop.poller.direct_epoll() is None:
        return None
    exchange: Exchange = native.Exchange(owner, route.request, pending, idle, loop.handlers, loop.poller.add)
    return exchange
