"""The loop that moves bytes: the proxy's, and the load engine's. It knows neither."""

from faultkit.proxy.eventloop.loop import Loop
from faultkit.proxy.eventloop.poller import (
    ENDED,
    FAILED,
    READABLE,
    WRITABLE,
    EpollPoller,
    Poller,
    SelectorsPoller,
    new_poller,
    sharpen_timers,
)

__all__ = [
    "ENDED",
    "FAILED",
    "READABLE",
    "WRITABLE",
    "EpollPoller",
    "Loop",
    "Poller",
    "SelectorsPoller",
    "new_poller",
    "sharpen_timers",
]
