"""What a fault is: a frozen value with settings, and the level at which it acts.

HTTP faults are in `http_fault`, faults of calls in `call_fault`.

A fault has its settings and nothing else: the rule that carries it (`faultkit.plan`) decides where and when
it acts. No fault sleeps, reads, writes or draws random numbers that are not given to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, TypeAlias, get_type_hints

from faultkit.base.rng import Rng
from faultkit.faults.events import Event
from faultkit.faults.fault_settings import Setting as Setting
from faultkit.faults.fault_settings import checked
from faultkit.faults.fault_settings import setting as setting

FOREVER = math.inf

Level: TypeAlias = Literal["stream", "connection", "name", "tls", "http", "call", "llm"]
"""Where a fault acts: bytes of a stream, a connection at its start, a name to resolve, the TLS handshake with
a client, an HTTP request, a call of an MCP client, or a request to a model and its answer."""


_types: dict[type, dict[str, Any]] = {}
"""The types of each class's fields, cached because evaluating annotations is slow."""


@dataclass(frozen=True)
class Fault:
    """Base of every fault. Subclasses are frozen dataclasses whose fields are made by `setting`."""

    kind: ClassVar[str]
    level: ClassVar[Level]
    summary: ClassVar[str]
    """One sentence for `fault faults` and the docs."""
    flag: ClassVar[str | None] = None
    """Command-line name, if it is not the kind with hyphens; read by `flag_names`."""
    env: ClassVar[str | None] = None
    """Stem of the environment variables, if it is not derived from the flag; read by `flag_names`."""

    def __post_init__(self) -> None:
        types = self.types()
        for name, fact in self.settings().items():
            object.__setattr__(self, name, checked(name, types[name], fact, getattr(self, name)))
        self.check()

    def check(self) -> None:
        """Check rules between fields. Raises ValueError("field: expected …, got …")."""

    def caveat(self) -> str | None:
        """Return what these settings do that is hardly meant, for a warning; None if there is nothing."""
        return None

    @property
    def least_delay_ms(self) -> float | None:
        """Smallest delay that these settings usually ask for, in ms; None if they ask for none. A report
        compares the proxy's lateness with it."""
        return None

    @property
    def shares_memory(self) -> bool:
        """True if connections act on each other through the rule's memory with these settings."""
        return False

    @classmethod
    def settings(cls) -> dict[str, Setting]:
        """Return the facts of each setting, by name."""
        return {f.name: f.metadata["setting"] for f in fields(cls)}

    @classmethod
    def types(cls) -> dict[str, Any]:
        """Return the type of each setting, as annotated."""
        if cls not in _types:
            _types[cls] = get_type_hints(cls)
        return _types[cls]


@dataclass(frozen=True, slots=True)
class Stream:
    """What a filter gets when it opens on one direction of one connection."""

    at: float
    """When the filter begins: at the connection's start, or later on a live connection."""
    rng: Rng
    note: Callable[[str, float], None]
    """Records what was injected: an effect such as `delay_ms` and its value. Feeds counters and `--json`."""
    shared: dict[str, Any]
    """State common to all connections of the proxy, for this rule and direction (for example a shared
    rate)."""


class StreamFilter:
    """One fault at work on one direction of one connection. This base lets everything pass.

    Laws, checked for every fault in the table by `faultkit.testing`:
    the `at` of what comes out never decreases and is never before the `at` of what went in;
    bytes keep their order and are all there, unless the fault `loses_bytes`; none are added;
    an end that goes in lets an end come out, unless the fault `withholds_end`;
    after Close or Reset nothing comes out, after Eof only those two.
    In return, what is fed never goes back in time, and no event at or after `wake_at` is fed before
    `wake` was called.
    """

    __slots__ = ("blind", "read_size", "ready_at", "wake_at")

    def __init__(self) -> None:
        self.wake_at: float = FOREVER
        """Time at which `wake` is called, whether or not anything arrives."""
        self.ready_at: float = 0.0
        """Time before which no input is wanted: this is how a filter pushes back. FOREVER stalls."""
        self.read_size: int = 262144
        """Most bytes that it is fed at a time."""
        self.blind: bool = False
        """True if it uses only the size of payloads and passes them on: they may stay in the kernel."""

    def feed(self, event: Event) -> Iterable[Event]:
        """Take one event, and return what is to be passed on."""
        return (event,)

    def wake(self, at: float) -> Iterable[Event]:
        """Handle the instant `wake_at`. It must change `wake_at`."""
        self.wake_at = FOREVER
        return ()

    def finish(self, at: float) -> Iterable[Event]:
        """Return what is still held inside: the rule is removed from a live stream."""
        return ()


@dataclass(frozen=True)
class StreamFault(Fault):
    """A fault that acts on the bytes of one direction."""

    level: ClassVar[Level] = "stream"
    lossy: ClassVar[bool] = False
    """True if the fault may deliver other or fewer bytes than it received: it alters, drops or cuts them off.

    It is declared for the kind; `loses_bytes` is the same for one value with its settings. A fault that is
    not lossy delivers every byte, in order, however late, and the contract tests check that."""

    @property
    def loses_bytes(self) -> bool:
        """True if it may alter, drop or cut bytes with these settings."""
        return self.lossy

    @property
    def withholds_end(self) -> bool:
        """True if it may keep Eof, Close and Reset from passing for as long as it acts."""
        return False

    def open(self, stream: Stream) -> StreamFilter:
        """Return the filter for one stream."""
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
        """Return what becomes of a new connection."""
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
        """Return what becomes of a look-up."""
        raise NotImplementedError


HandshakeEnd: TypeAlias = Literal["alert", "close", "reset"]
CertificateFlaw: TypeAlias = Literal["expired", "self_signed", "wrong_host"]
TlsVersion: TypeAlias = Literal["1.0", "1.1", "1.2"]


@dataclass(frozen=True, slots=True)
class HandshakeVerdict:
    """What becomes of the TLS handshake with a client. By default it is done as usual."""

    delay_s: float = 0.0
    """Seconds before the ClientHello is answered."""
    end: HandshakeEnd | None = None
    """How the handshake fails; `alert` names the alert of RFC 8446 §6.2 by its number."""
    alert: int = 40
    flaw: CertificateFlaw | None = None
    """What is wrong with the certificate."""
    version: TlsVersion | None = None
    """The only version that is offered."""
    truncates: bool = False
    """The connection ends without close_notify (RFC 8446 §6.1)."""


@dataclass(frozen=True)
class TlsFault(Fault):
    """A fault that acts on TLS with a client, where the proxy is its server."""

    level: ClassVar[Level] = "tls"

    def shake(self, rng: Rng) -> HandshakeVerdict:
        """Return what becomes of a handshake."""
        raise NotImplementedError
