"""One request and its answer: what waits to be sent on either leg, and since when it may go."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from faultkit.faults.http2_fault import Http2Effect
from faultkit.proxy.http2.answer_path import AnswerPath
from faultkit.proxy.http2.grpc import Field, MessageCounter, is_grpc, timeout_s
from faultkit.proxy.http2.items import Chunk, Item
from faultkit.proxy.http2.leg import Fields

_OVERHEAD = 32
"""Bytes that a field counts beside its name and value (RFC 9113 §6.5.2)."""


class RequestFields:
    """The header fields of a request, as rules match them."""

    def __init__(self, fields: Fields) -> None:
        self.fields = fields

    @cached_property
    def _by_name(self) -> dict[bytes, bytes]:
        return dict(self.fields)

    @property
    def method(self) -> str:
        return self._by_name.get(b":method", b"").decode("latin-1")

    @property
    def target(self) -> str:
        """The path with its query; the authority for CONNECT."""
        found = self._by_name.get(b":path") or self.authority
        return found.decode("latin-1")

    @property
    def authority(self) -> bytes:
        return self._by_name.get(b":authority") or self._by_name.get(b"host", b"")

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The fields without pseudo-header fields, and `host` in any case (RFC 9113 §8.3.1)."""
        fields = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in self.fields
            if not name.startswith(b":") and name != b"host"
        ]
        return [("host", self.authority.decode("latin-1")), *fields]

    @cached_property
    def is_grpc(self) -> bool:
        return is_grpc(self._by_name.get(b"content-type", b""))

    @property
    def grpc_timeout_s(self) -> float:
        """Seconds that the call may take; infinity if it has no deadline."""
        return timeout_s(self._by_name.get(b"grpc-timeout", b""))

    @property
    def size(self) -> int:
        return sum(len(name) + len(value) + _OVERHEAD for name, value in self.fields)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of our own."""

    fields: tuple[Field, ...]
    body: bytes = b""


class Lane:
    """What waits to be sent on one leg."""

    __slots__ = ("armed_at", "done", "is_full", "items", "most", "passed")

    def __init__(self) -> None:
        self.items: deque[Item] = deque()
        self.passed = 0
        """Bytes of the body that have been sent."""
        self.most: int | None = None
        """Bytes of the body that may be sent; None for all."""
        self.is_full = False
        """So much was sent, and there is more."""
        self.done = False
        """The last item has been sent, or none will be."""
        self.armed_at = 0.0
        """The latest time for which a timer was set."""

    @property
    def credit(self) -> int:
        """Bytes of its sender's window that the items hold."""
        return sum(item.credit for item in self.items if isinstance(item, Chunk))

    def bring_all_forward(self, now: float) -> None:
        """Let all that waits be sent now."""
        self.items = deque(replace(item, at=min(now, item.at)) for item in self.items)


class Stream:
    """A stream of the client, and the one of the upstream that belongs to it.

    Class attributes are the usual values; only what differs is kept in the object."""

    upstream_id: int | None = None
    """None until the request has been sent."""
    request_ended = False
    """The client has sent all of its request."""
    swallows = False
    """What the client still sends is dropped: the upstream gets no request, or no more of it."""
    deaf = False
    """What the upstream still sends is dropped."""
    answer: Answer | None = None
    """What the client gets in place of the upstream's answer."""
    answer_at = 0.0
    effect: Http2Effect | None = None
    rule: Hashable = None
    """The rule that the effect belongs to."""
    number = 0
    """Requests of its connection before it."""
    path: AnswerPath | None = None
    """The filters of the answer, if rules act on it."""
    seen_down = 0
    """Bytes of the upstream's body that have come."""

    def __init__(self, client_id: int, request: RequestFields) -> None:
        self.client_id = client_id
        self.request = request
        self.up = Lane()
        self.down = Lane()
        self.delays: Mapping[Any, float] = {}
        self.note: Callable[[str, float], None] = _ignore
        self.messages = MessageCounter()
        """The messages of the upstream's body."""

    @property
    def is_over(self) -> bool:
        """True if nothing more is to be sent on either leg."""
        return self.up.done and self.down.done and not self.up.items and not self.down.items

    @property
    def has_more(self) -> bool:
        """True if something of an answer waits to be sent."""
        return bool(self.down.items or (self.path is not None and self.path.backlog))

    def bring_forward(self, by_s: float, now: float) -> None:
        """Take `by_s` off what is still to come, but nothing comes before now."""
        for lane in (self.up, self.down):
            lane.items = deque(
                replace(item, at=max(now, item.at - by_s)) if item.at > now else item for item in lane.items
            )
        self.answer_at = max(now, self.answer_at - by_s)


def _ignore(effect: str, value: float) -> None:
    """Record nothing."""
