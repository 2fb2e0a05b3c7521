"""What a fault is: a frozen value with settings, and the level at which it acts.

A fault knows its own settings and nothing else: where it acts and when is said by the rule that
carries it (`faultkit.plan`). No fault sleeps, reads, writes or rolls dice that are not given to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, TypeAlias, get_type_hints

from faultkit.base.rng import Rng
from faultkit.faults.events import Event
from faultkit.faults.settings import Setting as Setting
from faultkit.faults.settings import checked, flag_of
from faultkit.faults.settings import setting as setting

FOREVER = math.inf

Level: TypeAlias = Literal["stream", "connection", "name", "http", "call"]
"""Where a fault acts: bytes of a stream, a connection at its start, a name to resolve, an HTTP request, a
call of a protocol such as MCP."""


_types: dict[type, dict[str, Any]] = {}
"""Annotations are texts; reading them is slow enough to do it once a class."""


@dataclass(frozen=True)
class Fault:
    """Base of every fault. Subclasses are frozen dataclasses whose fields are made by `setting`."""

    kind: ClassVar[str]
    level: ClassVar[Level]
    summary: ClassVar[str]
    """One sentence for `fault faults` and the docs."""
    flag: ClassVar[str | None] = None
    """The command-line name where it is not the kind with hyphens."""
    env: ClassVar[str | None] = None
    """The stem of its environment variables where it is not derived from the flag."""

    def __post_init__(self) -> None:
        types = self.types()
        for name, fact in self.settings().items():
            object.__setattr__(self, name, checked(name, types[name], fact, getattr(self, name)))
        self.check()

    def check(self) -> None:
        """Rules between fields. Raise ValueError("field: expected …, got …")."""

    @property
    def least_delay_ms(self) -> float | None:
        """The least delay that these settings usually ask for: an error of the clock weighs against it. None
        if they ask for none."""
        return None

    @classmethod
    def settings(cls) -> dict[str, Setting]:
        return {f.name: f.metadata["setting"] for f in fields(cls)}

    @classmethod
    def types(cls) -> dict[str, Any]:
        """The type of each setting, as the annotations say."""
        if cls not in _types:
            _types[cls] = get_type_hints(cls)
        return _types[cls]

    @classmethod
    def flag_name(cls) -> str:
        """The command-line name of the fault: `packet-loss` in `--with-packet-loss`."""
        return cls.flag or cls.kind.replace("_", "-")

    @classmethod
    def flag_of(cls, name: str) -> str:
        """The command-line name of one setting below the fault's: `mean` in `--latency-mean`."""
        return flag_of(name, cls.settings()[name])

    @classmethod
    def env_name(cls) -> str:
        """The stem of the fault's environment variables: `FAULT_LATENCY`."""
        return cls.env or "FAULT_" + cls.flag_name().replace("-", "_").upper()

    @classmethod
    def env_of(cls, name: str) -> str:
        """The environment variable of one setting."""
        own = cls.settings()[name].env
        return own or f"{cls.env_name()}_{cls.flag_of(name).replace('-', '_').upper()}"


@dataclass(frozen=True, slots=True)
class Stream:
    """What a filter is given when it opens on one direction of one connection."""

    at: float
    """When the filter begins: at the connection's start, or later on a live connection."""
    rng: Rng
    note: Callable[[str, float], None]
    """Tells what was injected: an effect such as `delay_ms` and its value. Feeds counters and `--json`."""
    shared: dict[str, Any]
    """State common to all connections of the proxy, for this rule and direction (a shared rate, say)."""


class StreamFilter:
    """One fault at work on one direction of one connection. This base lets everything pass.

    Laws, checked for every fault in the table by `faultkit.testing`:
    the `at` of what comes out never decreases and is never before the `at` of what went in;
    bytes keep their order and are all there, unless the fault `loses_bytes`;
    an end that goes in lets an end come out, unless the fault `withholds_end`;
    after Close or Reset nothing comes out, after Eof only those two.
    In return, what is fed never goes back in time, and no event at or after `wake_at` is fed before
    `wake` was called.
    """

    __slots__ = ("blind", "read_size", "ready_at", "wake_at")

    def __init__(self) -> None:
        self.wake_at: float = FOREVER
        """When `wake` wants to be called, whether or not anything arrives."""
        self.ready_at: float = 0.0
        """No input is wanted before this instant: this is how a filter pushes back. FOREVER stalls."""
        self.read_size: int = 262144
        """How many bytes it likes to be fed at a time."""
        self.blind: bool = False
        """It asks for nothing but the size of payloads and passes them on: they may stay in the kernel."""

    def feed(self, event: Event) -> Iterable[Event]:
        """What becomes of one event."""
        return (event,)

    def wake(self, at: float) -> Iterable[Event]:
        """Called once `wake_at` has come. It must move `wake_at`."""
        self.wake_at = FOREVER
        return ()

    def finish(self, at: float) -> Iterable[Event]:
        """The rule is taken off a live stream: whatever is still held inside comes out."""
        return ()


@dataclass(frozen=True)
class StreamFault(Fault):
    """A fault that acts on the bytes of one direction."""

    level: ClassVar[Level] = "stream"
    lossy: ClassVar[bool] = False
    """True if it may alter, drop or cut bytes; `loses_bytes` tells it of one value."""

    @property
    def loses_bytes(self) -> bool:
        """True if it may alter, drop or cut bytes with these settings."""
        return self.lossy

    @property
    def shares_memory(self) -> bool:
        """True if connections act on each other through `Stream.shared` with these settings."""
        return False

    @property
    def withholds_end(self) -> bool:
        """True if it may keep Eof, Close and Reset from passing for as long as it acts."""
        return False

    def open(self, stream: Stream) -> StreamFilter:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Admission:
    """What becomes of a new connection."""

    refuse: bool = False
    delay_s: float = 0.0


@dataclass(frozen=True)
class ConnectionFault(Fault):
    """A fault that acts once, when a client connects."""

    level: ClassVar[Level] = "connection"

    def admit(self, rng: Rng) -> Admission:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Resolution:
    """What becomes of a name to resolve."""

    fail: bool = False
    delay_s: float = 0.0


@dataclass(frozen=True)
class NameFault(Fault):
    """A fault that acts when the proxy resolves an upstream name."""

    level: ClassVar[Level] = "name"

    def resolve(self, rng: Rng) -> Resolution:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class HttpVerdict:
    """What becomes of one HTTP request. With neither field set, it goes on as it is."""

    delay_s: float = 0.0
    """Wait so long before the request goes to the upstream (or before it is answered here)."""
    status: int | None = None
    """Answer with this status instead of the upstream's."""
    body: str | None = None
    call_upstream: bool = False
    """The upstream gets the request all the same; its answer is thrown away."""


@dataclass(frozen=True)
class HttpFault(Fault):
    """A fault that acts on a request where HTTP is understood."""

    level: ClassVar[Level] = "http"

    def judge(self, rng: Rng) -> HttpVerdict:
        raise NotImplementedError
