"""The fields of a direction, and the handlers that the loop calls.

`PureFields` is the Python version; `_native.c` has the other, with the same fields and handlers, which moves
bytes without leaving C in the most common cases. `DirectionFields` is the one of the two that is used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from faultkit.faults.events import Event
from faultkit.faults.fault import FOREVER
from faultkit.proxy.active_plan import ActiveStreamRule
from faultkit.proxy.event_loop import READABLE
from faultkit.proxy.filter_chain import FilterChain
from faultkit.proxy.native import native
from faultkit.proxy.pipes import Parcel, PipeQueue
from faultkit.proxy.proxy_state import LinkServices
from faultkit.proxy.sockets import NO_SOCKET

Ending: TypeAlias = Literal["eof", "close", "reset"]


class Mode(Enum):
    """How a direction moves bytes; see the table in `direction`."""

    COPY = "copy"
    SPLICE = "splice"
    CHAIN = "chain"
    SHUT = "shut"


COPY, SPLICE, CHAIN, SHUT = Mode.COPY, Mode.SPLICE, Mode.CHAIN, Mode.SHUT


class PureFields:
    """What a direction knows."""

    __slots__ = (
        "_direct",
        "_link",
        "_queued",
        "_reported_bytes",
        "_services",
        "_timer_at",
        "big_reads",
        "end_sent",
        "ending",
        "far_chain",
        "gate",
        "mode",
        "moved",
        "near_chain",
        "out",
        "out_bytes",
        "paced_at",
        "pipe_queue",
        "readable",
        "source",
        "straight",
        "target",
        "whole",
        "writable",
    )

    def __init__(self, link: Any, services: LinkServices, source: int, target: int) -> None:
        self._link: Any = link
        self._services = services
        self.source = source
        self.target = target
        self.mode: Mode = COPY
        self.readable = False
        self.writable = target != NO_SOCKET
        self.ending = 0
        """ENDED or FAILED once the source has hung up: then a short read does not mean that it is drained."""
        self.end_sent = False
        """The end of this direction has been passed on to the target."""
        self.moved = 0
        """Bytes that the target has taken."""
        self.big_reads = 0
        """Large reads in a row."""
        self.out: deque[bytes | memoryview | Parcel | Ending] | None = None
        """What has left the chains and waits for the target to take it; None if nothing does."""
        self.out_bytes = 0
        self.pipe_queue: PipeQueue | None = None
        """Bulk bytes in kernel pipes; in CHAIN mode each is described by a parcel in a chain or in `out`."""
        self.near_chain: FilterChain[ActiveStreamRule] | None = None
        self.far_chain: FilterChain[ActiveStreamRule] | None = None
        """The filters between a protocol layer and the target; None where there is no layer."""
        self.gate: Callable[[Event], None] | None = None
        """Takes what is read instead of the near chain, and feeds it to the chain itself."""
        self.straight: Callable[[bytes], bytes] | None = None
        """What the layer does to bytes, if that is all that it does; raises Irregular where it is more."""
        self.whole: Callable[[bytes, float], float | None] | None = None
        """Asked what becomes of bytes that were read at a time: returns from when on they pass as they are,
        FOREVER if the layer has taken them and does something else, None if it is to be fed."""
        self.paced_at = FOREVER
        """When a filter was ready for more bytes than had been read: they count as arrived at that time."""
        self._timer_at = FOREVER
        self._queued = False
        """True if it has yielded, and continues in the next round of the loop."""
        self._direct = services.has_direct_clock
        """True if the handlers of `DirectionFields` may read the clock and the sockets by themselves."""
        self._reported_bytes = 0
        """Bytes of this direction that the plane's budget counts."""

    def pump(self) -> None:
        """Move what can be moved now."""
        raise NotImplementedError

    def ready(self, flags: int) -> None:
        """Handle an event of the source socket."""
        if flags == READABLE:  # By far the most common.
            self.readable = True
            self.pump()
        else:
            self._link.socket_event(self, flags)

    def _timer_due(self, at: float) -> None:
        if at == self._timer_at:
            self._timer_at = FOREVER
            if self.mode is not SHUT:
                self.pump()


if TYPE_CHECKING or native is None:
    DirectionFields = PureFields
else:
    DirectionFields = native.DirectionFields
