"""Events of a data plane: plain values for the live view, `--tail`, `--json` and `/events`.

Only `at`, times, and byte counts that a peer decides differ between two runs of the same plan; everything
that a fault decided is the same for the same seed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from faultkit.plan import Flow


@dataclass(frozen=True, slots=True)
class PlaneEvent:
    """What all events have."""

    event: ClassVar[str]

    at: float
    """Seconds on the monotonic clock."""
    proxy: str

    def as_dict(self) -> dict[str, Any]:
        """Return the event's name and fields."""
        return {"event": self.event, **asdict(self)}


@dataclass(frozen=True, slots=True)
class Opened(PlaneEvent):
    """A client was accepted."""

    event: ClassVar[str] = "opened"

    connection: int
    client: str


@dataclass(frozen=True, slots=True)
class Closed(PlaneEvent):
    """A connection ended."""

    event: ClassVar[str] = "closed"

    connection: int
    how: str
    """`end` (both sides finished), `close`, `reset`, `refused`, or `abandoned` (both ends left before all was
    read)."""
    to_upstream_bytes: int
    to_client_bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Directed(PlaneEvent):
    """A client of a forward proxy has named a host: it is now dialled, or a rule answers in its place."""

    event: ClassVar[str] = "directed"

    connection: int
    upstream: str
    spared: bool
    """No rule acts, because the host is not among those to be broken."""


@dataclass(frozen=True, slots=True)
class DialFailed(PlaneEvent):
    """The upstream could not be reached."""

    event: ClassVar[str] = "dial_failed"

    connection: int
    upstream: str
    why: str
    injected: bool = False
    """A rule made it fail: the upstream was not asked."""


@dataclass(frozen=True, slots=True)
class Injected(PlaneEvent):
    """A fault acted: `n` counts from 0 within this rule, connection and flow."""

    event: ClassVar[str] = "injected"

    connection: int | None
    """None if the fault acted on the port itself."""
    flow: Flow | None
    rule: str
    fault: str
    n: int
    effect: str
    value: float


@dataclass(frozen=True, slots=True)
class _OfRequest(PlaneEvent):
    """What events about a request have."""

    connection: int
    method: str
    target: str
    """As it was sent; outputs show `masked_target`."""

    @property
    def masked_target(self) -> str:
        """The target with its secrets masked."""
        return masked_target(self.target)

    def as_dict(self) -> dict[str, Any]:
        """Return the event's name and fields, with the target masked."""
        # `super()` without arguments fails in a dataclass with slots.
        return {**PlaneEvent.as_dict(self), "target": self.masked_target}


@dataclass(frozen=True, slots=True)
class Requested(_OfRequest):
    """An HTTP request arrived at a proxy that understands HTTP."""

    event: ClassVar[str] = "request"

    injected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Executed(_OfRequest):
    """The upstream has answered a request that a rule covers which may hide the answer."""

    event: ClassVar[str] = "executed"

    status: int
    delivered: bool
    """False if the client does not get the answer."""


def masked_target(target: str) -> str:
    """Return a request target with its secrets masked."""
    # Imported here, because it takes many milliseconds and most runs show no targets.
    from faultkit.base.secrets import mask_url

    return mask_url(_readable(target))


def _readable(target: str) -> str:
    """Return a target, which is read as Latin-1, as the UTF-8 that most clients mean."""
    if target.isascii():
        return target
    try:
        return target.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return target


@dataclass(frozen=True, slots=True)
class RulesChanged(PlaneEvent):
    """Other rules act than before: a schedule's window began or ended, or the plan changed."""

    event: ClassVar[str] = "rules"

    active: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trouble(PlaneEvent):
    """The proxy reached a limit of the machine and continues: out of descriptors, for example."""

    event: ClassVar[str] = "trouble"

    what: str


def event_document(event: PlaneEvent, began: float) -> dict[str, Any]:
    """Return an event as plain data for JSON; `t` is in seconds since `began`, to the microsecond."""
    document = event.as_dict()
    at = document.pop("at")
    return {"event": document.pop("event"), "t": round(at - began, 6), **document}
