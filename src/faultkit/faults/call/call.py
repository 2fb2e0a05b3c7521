"""The values between a call-level fault and its interpreter: the call and the verdict. No wire, no clock.

A fault decides about a call before the server is asked, in one verdict: whether the
server is asked at all, how late, and which timed frames the client gets in place of the reply.
`faultkit.mcp.interpreter` executes verdicts, so a fault means the same in front of any server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from faultkit.base.rng import Rng
from faultkit.faults.fault import Fault, Level

Transport: TypeAlias = Literal["stdio", "http"]
Era: TypeAlias = Literal["legacy", "modern"]
"""`legacy`: protocol versions up to 2025-11-25, with sessions; `modern`: 2026-07-28, without."""

TRANSPORTS: tuple[Transport, ...] = ("stdio", "http")
ERAS: tuple[Era, ...] = ("legacy", "modern")

Message: TypeAlias = dict[str, Any]
"""A JSON-RPC message as parsed."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request of a client."""

    method: str
    """Such as `tools/call`."""
    name: str
    """Of the tool or prompt, or the URI of the resource, that it is about; empty if it is about none."""
    params: Mapping[str, Any]
    id: str | int
    server: str = ""
    transport: Transport = "stdio"
    era: Era = "legacy"
    ordinal: int = 0
    """How many calls the rule has covered before this one."""
    nth: int = 0
    """How many of those had the same method and name. It does not hang on how calls of other names fall in
    between."""


@dataclass(frozen=True, slots=True)
class Send:
    """A whole frame: a line of stdio, an event of an SSE stream, or the body of an HTTP answer."""

    message: Message | bytes
    """Bytes stand in place of the JSON text and need not be JSON."""
    after_s: float = 0.0
    """Since the frame before it was over (a Drip or a KeepAlive takes its time); of the first, since the
    reply came or, if none was asked for, since the verdict."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The first part of a frame, and then nothing more of it: a line that ends in its middle, an event or
    a body whose connection closes before its end."""

    message: Message | bytes
    share: float = 0.5
    after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Drip:
    """A whole frame, a few bytes at a time."""

    message: Message | bytes
    chunk_bytes: int
    every_s: float
    after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """Comments of an SSE stream, which keep the connection alive and carry no message."""

    every_s: float
    for_s: float
    after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class EndStream:
    """The answer of this call ends in good order, with what it has by then. Over HTTP only."""

    after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Disconnect:
    """The connection ends: by FIN or by RST over HTTP, by closing the pipes over stdio."""

    reset: bool = False
    after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Status:
    """An HTTP answer of its own."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: Message | bytes = b""
    after_s: float = 0.0


Frame: TypeAlias = Send | Cut | Drip | KeepAlive | EndStream | Disconnect | Status

Rewrite: TypeAlias = Callable[[Message | None], tuple[Frame, ...]]
"""From the reply, or None if the server was not asked, to what the client gets."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The treatment of one call. By default the call passes unchanged."""

    delay_s: float = 0.0
    """Wait so long before the server is asked."""
    ask: bool = True
    """The server gets the call, and may act on it."""
    frames: Rewrite | None = None
    """None: the reply as it came, byte for byte."""
    ignores_cancel: bool = False
    """True if the verdict is executed to its end though the client has cancelled the call."""
    overtaken_by: int = 0
    """Number of later replies of the session that go out before this one."""
    freezes_session: bool = False
    """True if nothing of the session is answered from now on."""
    effect: str = ""
    """What was injected, for recordings and counters: `delay_ms`, `hang` … Empty: nothing is, this time."""
    amount: float | None = None
    marker: str = ""
    """A text that stands nowhere but in what this verdict made: where it turns up, the fault has spread."""

    @property
    def idle(self) -> bool:
        """True if the call passes unchanged and its reply is not read."""
        return self == Verdict()


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a fault may use to decide: its random numbers, and a memory that the calls of a rule share."""

    rng: Rng
    memory: dict[str, Any]
    output_schema: Mapping[str, Any] | None = None
    """What the tool says of its structured results, if it is known."""


@dataclass(frozen=True)
class CallFault(Fault):
    """A fault that acts on one call."""

    level: ClassVar[Level] = "call"
    main: ClassVar[str] = ""
    """The setting that the short form names first: `500` in `slow:500`."""
    methods: ClassVar[tuple[str, ...]] = ("tools/call",)
    """What it acts on where the rule names no method."""
    only: ClassVar[tuple[str, ...]] = ()
    """The only methods that it makes sense for; any method if there are none."""
    transports: ClassVar[tuple[Transport, ...]] = TRANSPORTS
    eras: ClassVar[tuple[Era, ...]] = ERAS
    instead: ClassVar[str] = ""
    """What to use where this fault makes no sense: the end of an error message."""

    def fits(self, transport: Transport, era: Era) -> bool:
        """Return whether the fault makes sense on this transport and in this protocol era."""
        return transport in self.transports and era in self.eras

    def fitting_methods(self) -> tuple[str, ...]:
        """Return the methods that it is limited to, with these settings; none means any method."""
        return self.only

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        raise NotImplementedError
