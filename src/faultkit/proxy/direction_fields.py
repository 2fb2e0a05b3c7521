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

Ending: TypeAlias = Literal["eof", "close", "reset"]


class Mode(Enum):
    """How a direction moves bytes; see the table in `direction`."""

    COPY = "copy"
    SPLICE = "splice"
    CHAIN = "chain"
    SHUT = "shut"


COPY, SPLICE, CHAIN, SHUT = Mode.COPY, Mode.SPLICE, Mode.CHAIN, Mode.SHUT


class PureFields:
    """What a direction knows. `DirectionOutput` and `Direction` say what each field means."""

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
        "target",
        "writable",
    )

    _direct: bool
    _link: Any
    _queued: bool
    _reported_bytes: int
    _services: LinkServices
    _timer_at: float
    big_reads: int
    end_sent: bool
    ending: int
    far_chain: FilterChain[ActiveStreamRule] | None
    gate: Callable[[Event], None] | None
    mode: Mode
    moved: int
    near_chain: FilterChain[ActiveStreamRule] | None
    out: deque[bytes | memoryview | Parcel | Ending] | None
    out_bytes: int
    paced_at: float
    pipe_queue: PipeQueue | None
    readable: bool
    source: int
    target: int
    writable: bool

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
