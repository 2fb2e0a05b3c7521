"""The first bytes of a connection, which show whether it is HTTP/2.

The client decides, by its preface (RFC 9113 §3.4). A server of HTTP/2 may be faster: it sends SETTINGS as
soon as it is connected. They are for the proxy if the client speaks HTTP/2, so they wait for its first bytes.
"""

from __future__ import annotations

from faultkit.faults.events import Data, Event
from faultkit.proxy.http import HTTP_2_PREFACE

_SETTINGS = b"\x04\x00\x00\x00\x00\x00"
"""Type, flags and stream of the frame that a server sends first, after three bytes of length."""


class FirstBytes:
    """Finds out whether a client speaks HTTP/2."""

    __slots__ = ("_opening", "are_http_2", "held")

    def __init__(self) -> None:
        self._opening = b""
        self.are_http_2: bool | None = None
        """None until enough bytes of the client have come."""
        self.held: list[Event] = []
        """What the upstream has sent meanwhile."""

    def from_client(self, event: Event) -> list[Event]:
        """Take an event of the client, and return what can be read: nothing while it may be either."""
        opening = self._opening
        if isinstance(event, Data):
            opening += event.payload
            if len(opening) < len(HTTP_2_PREFACE) and HTTP_2_PREFACE.startswith(opening):
                self._opening = opening
                return []
            event = Data(event.at, opening)
        self.are_http_2 = opening.startswith(HTTP_2_PREFACE)
        if isinstance(event, Data) or not opening:
            return [event]
        return [Data(event.at, opening), event]

    def from_upstream(self, event: Event) -> list[Event]:
        """Take an event of the upstream, and return what can be passed on."""
        if isinstance(event, Data) and (self.held or _may_be_settings(event.payload)):
            self.held.append(event)
            return []
        held, self.held = self.held, []
        return [*held, event]


def _may_be_settings(payload: bytes) -> bool:
    start = payload[3:9]
    return start == _SETTINGS[: len(start)]
