"""The event loop of the proxy and of the load engine. It knows neither."""

from faultkit.proxy.eventloop.loop import Loop, OnFailure
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
    "OnFailure",
    "Poller",
    "SelectorsPoller",
    "new_poller",
    "sharpen_timers",
]
