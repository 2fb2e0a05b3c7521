"""Call faults: the call that a fault decides about, and its verdict. No wire, no clock.

A fault decides about a call before the server is asked, in one verdict: whether the server is asked at all,
how late, and which timed frames the client gets in place of the reply. `faultkit.mcp.interpreter` executes
verdicts, so a fault has the same meaning in front of any server.
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
    """Name of the tool or prompt, or URI of the resource; empty for other methods."""
    params: Mapping[str, Any]
    id: str | int
    server: str = ""
    transport: Transport = "stdio"
    era: Era = "legacy"
    ordinal: int = 0
    """Number of calls that the rule has covered before this one."""
    nth: int = 0
    """Number of those with the same method and name, so calls of other names in between do not count."""


@dataclass(frozen=True, slots=True)
class Send:
    """A complete frame: a line of stdio, an event of an SSE stream, or the body of an HTTP response."""

    message: Message | bytes
    """Bytes are sent in place of the JSON text and need not be JSON."""
    after_s: float = 0.0
    """Seconds since the end of the frame before it (a Drip or a KeepAlive takes time). For the first frame:
    since the reply came or, if the server was not asked, since the verdict."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The first part of a frame, without the rest: a line that ends in its middle, or an event or a body
    whose connection closes before its end."""

    message: Message | bytes
    share: float = 0.5
    after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Drip:
    """A complete frame, a few bytes at a time."""

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
    """The regular end of the response to this call, with what it contains by then. Over HTTP only."""

    after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Disconnect:
    """The end of the connection: by FIN or by RST over HTTP, by closing the pipes over stdio."""

    reset: bool = False
    after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Status:
    """An HTTP response without a JSON-RPC reply."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: Message | bytes = b""
    after_s: float = 0.0


Frame: TypeAlias = Send | Cut | Drip | KeepAlive | EndStream | Disconnect | Status

Rewrite: TypeAlias = Callable[[Message | None], tuple[Frame, ...]]
"""Maps the reply (None if the server was not asked) to what the client gets."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The treatment of one call. By default the call passes unchanged."""

    delay_s: float = 0.0
    """Seconds to wait before the server is asked."""
    ask: bool = True
    """True if the server gets the call, and may act on it."""
    frames: Rewrite | None = None
    """None: the reply as it came, byte for byte."""
    ignores_cancel: bool = False
    """True if the verdict is executed to its end though the client has cancelled the call."""
    overtaken_by: int = 0
    """Number of later replies of the session that go out before this one."""
    overtaken_for_s: float | None = None
    """Longest time that the reply waits for them; None: as long as the interpreter lets it."""
    freezes_session: bool = False
    """True if nothing of the session is answered from now on."""
    effect: str = ""
    """Name of what was injected, for recordings and counters: `delay_ms`, `hang` … Empty: nothing this
    time."""
    amount: float | None = None
    marker: str = ""
    """A text that occurs only in what this verdict created: where else it is found, the fault has spread."""
    is_marker_optional: bool = False
    """True if a model can do what the reply asks for without repeating `marker`."""

    @property
    def idle(self) -> bool:
        """True if the call passes unchanged and its reply is not read."""
        return self == Verdict()

    @property
    def only_rewrites(self) -> bool:
        """True if it changes nothing but the server's reply, which may have nothing to change."""
        waits = self.delay_s > 0 or self.overtaken_by > 0 or self.freezes_session
        return self.ask and self.frames is not None and not waits


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a fault may use to decide: random numbers, and a memory that the calls of a rule share."""

    rng: Rng
    memory: dict[str, Any]
    output_schema: Mapping[str, Any] | None = None
    """The tool's schema of its structured results, if it is known."""


@dataclass(frozen=True)
class CallFault(Fault):
    """A fault that acts on one call."""

    level: ClassVar[Level] = "call"
    main: ClassVar[str] = ""
    """The setting whose value follows the kind in a spec: `500` in `slow:500`."""
    methods: ClassVar[tuple[str, ...]] = ("tools/call",)
    """The methods that it acts on if the rule names none."""
    only: ClassVar[tuple[str, ...]] = ()
    """The only methods that it makes sense for; empty means any method."""
    transports: ClassVar[tuple[Transport, ...]] = TRANSPORTS
    eras: ClassVar[tuple[Era, ...]] = ERAS
    instead: ClassVar[str] = ""
    """What to use where this fault makes no sense: the end of an error message."""

    def fits(self, transport: Transport, era: Era) -> bool:
        """Return whether the fault makes sense on this transport and in this protocol era."""
        return transport in self.transports and era in self.eras

    def fitting_methods(self) -> tuple[str, ...]:
        """Return the methods that it is limited to with these settings; an empty tuple means any method."""
        return self.only

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        """Return what becomes of a call."""
        raise NotImplementedError
