"""What the data plane tells: plain values for the live view, `--tail` and `--json`.

Fields that differ between two runs of the same plan are only `at`, the byte counts that a peer
decides, and times; everything that a fault decided is the same for the same seed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from faultkit.plan import Flow


@dataclass(frozen=True, slots=True)
class Happening:
    event: ClassVar[str]

    at: float
    """Seconds on the monotonic clock."""
    proxy: str

    def as_dict(self) -> dict[str, Any]:
        return {"event": self.event, **asdict(self)}


@dataclass(frozen=True, slots=True)
class Opened(Happening):
    event: ClassVar[str] = "opened"

    connection: int
    client: str


@dataclass(frozen=True, slots=True)
class Closed(Happening):
    event: ClassVar[str] = "closed"

    connection: int
    how: str
    """`end` (both sides finished), `close`, `reset`, `refused`, or `abandoned` (nobody reads the rest)."""
    to_upstream_bytes: int
    to_client_bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class DialFailed(Happening):
    event: ClassVar[str] = "dial_failed"

    connection: int
    upstream: str
    why: str


@dataclass(frozen=True, slots=True)
class Injected(Happening):
    """A fault did something: `n` counts from 0 within this rule, connection and flow."""

    event: ClassVar[str] = "injected"

    connection: int | None
    """None where it acted on the port itself."""
    flow: Flow | None
    rule: str
    fault: str
    n: int
    effect: str
    value: float


@dataclass(frozen=True, slots=True)
class Requested(Happening):
    """An HTTP request was seen where HTTP is understood."""

    event: ClassVar[str] = "request"

    connection: int
    method: str
    target: str
    injected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RulesChanged(Happening):
    """The rules that act are now these (a schedule's edge, or a new plan)."""

    event: ClassVar[str] = "rules"

    active: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trouble(Happening):
    """The proxy met a limit of the machine and goes on: out of descriptors, for example."""

    event: ClassVar[str] = "trouble"

    what: str
