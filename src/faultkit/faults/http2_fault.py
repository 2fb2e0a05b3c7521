"""What an HTTP/2 or gRPC fault is, and what it may decide about one request.

A request of HTTP/2 is first judged by the HTTP faults, which do not know the version. The faults here act
only where the client speaks HTTP/2, and decide by an effect, which `proxy/http2` carries out. Of several
rules that meet one request the first decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from faultkit.faults.http_fault import HttpFault, HttpVerdict

Way: TypeAlias = Literal["upload", "download"]
"""The way of a body: to the upstream, or to the client."""


@dataclass(frozen=True, slots=True)
class ResetStream:
    """End the stream by RST_STREAM."""

    code: int
    after_bytes: int | None = None
    """Bytes of the answer's content that the client gets first; None with `after_messages`, too: the upstream
    gets no request."""
    after_messages: int | None = None
    """gRPC messages of the answer that the client gets first."""


@dataclass(frozen=True, slots=True)
class SendGoaway:
    """Send GOAWAY to the client, and close its connection once the streams that it may keep have ended."""

    code: int
    debug: bytes
    answered: bool
    """Whether the request that meets the rule is still sent to the upstream."""


@dataclass(frozen=True, slots=True)
class WithholdWindow:
    """Pass so much of a body, and give its sender no more window."""

    way: Way
    after_bytes: int


@dataclass(frozen=True, slots=True)
class DropTrailers:
    """Let the answer end without its trailers, or, if `hangs`, never."""

    hangs: bool


@dataclass(frozen=True, slots=True)
class EndCall:
    """End a gRPC call with a status."""

    status: int
    message: str
    after_messages: int = 0
    """Messages of the answer that the client gets first. With 0 the upstream gets no request."""
    call_upstream: bool = False
    """With `after_messages` 0: the upstream gets the request nevertheless, and its answer is dropped."""


@dataclass(frozen=True, slots=True)
class ExceedDeadline:
    """Do not answer a gRPC call; after a time, if one is given, end it with DEADLINE_EXCEEDED."""

    after_s: float | None
    call_upstream: bool


Http2Effect: TypeAlias = ResetStream | SendGoaway | WithholdWindow | DropTrailers | EndCall | ExceedDeadline


@dataclass(frozen=True)
class Http2Fault(HttpFault):
    """A fault that acts on a request where the client speaks HTTP/2."""

    only_grpc: ClassVar[bool] = False
    """True if it acts on gRPC calls only (`content-type: application/grpc…`)."""

    def acts_on(self, request: object) -> bool:
        """Return whether the fault may act on a request of HTTP/2."""
        return not self.only_grpc or bool(getattr(request, "is_grpc", False))

    def judge(self, given: Any) -> HttpVerdict:
        """Return that the request passes as far as HTTP faults are concerned."""
        return HttpVerdict()

    def effect(self) -> Http2Effect:
        """Return what becomes of a request."""
        raise NotImplementedError
