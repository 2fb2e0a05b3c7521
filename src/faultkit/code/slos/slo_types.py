"""Values of SLO suggestions: what a function does, and a suggested objective with its JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

EntryKind: TypeAlias = Literal["request", "stream", "message", "job", "function"]
"""What waits for the function: a client for a response, a client for the first byte, a queue, a
schedule, other code."""
WorkKind: TypeAlias = Literal[
    "cache", "file", "query", "write", "request", "send", "publish", "program", "model", "token", "wait"
]
"""`query` and `write` go to a database; `request` reads from another service over HTTP, `send` changes
something there; `publish` hands a message to a broker; `token` is the first token of a model; `wait` is
a sleep."""


@dataclass(frozen=True, slots=True)
class Entry:
    """How a function is called."""

    kind: EntryKind
    name: str
    """The name of the function; empty if it has none."""
    method: str = "ANY"
    path: str = ""
    """The path of the route as written; empty if it is not stated."""
    framework: str = ""
    line: int = 1

    @property
    def is_http(self) -> bool:
        return self.kind in ("request", "stream")


@dataclass(frozen=True, slots=True)
class Dependency:
    """A call that leaves the function's own code."""

    kind: WorkKind
    call: str
    """The call as written: `httpx.get`."""
    line: int
    times: int = 1
    """Number of sequential calls; an estimate where it depends on the input."""
    is_concurrent: bool = False
    is_soft: bool = False
    """Whether the function can answer without it."""
    timeout_s: float | None = None
    """Seconds; None if there is no timeout, or it is unknown."""
    timeout_is: Literal["given", "default", "missing", "unknown"] = "unknown"
    """Whether the code sets it, the library has a default, there is none, or it is unknown."""
    tries: int | None = 1
    """Number of tries; None if it is retried without end."""
    library: str = ""
    wait_s: float = 0.0
    """Seconds of a sleep."""


@dataclass(frozen=True, slots=True)
class FunctionProfile:
    """What a function does, as far as its objectives depend on it."""

    entry: Entry
    dependencies: tuple[Dependency, ...] = ()
    blocks_loop: int = 0
    """Line of a call that blocks the event loop; 0 if there is none."""
    takes_input: bool = False
    """Whether a client can send invalid input: a path with parameters, a body."""
    others: int = 0
    """Functions in the text that were not examined."""
    unread: str = ""
    """The title of the language, if only its words were examined."""
    broken_line: int = 0
    """The first line that does not parse; 0 if there is none."""


SloType: TypeAlias = Literal["latency", "availability", "error"]


@dataclass(frozen=True, slots=True)
class SuggestedSlo:
    """A suggested objective with its indicators."""

    type: SloType
    title: str
    objective: float
    """In percent, below 100."""
    explanation: str
    threshold: float
    unit: str
    window: str
    """`300s`."""
    prometheus: str
    """The indicator as a PromQL expression."""
    cloud_run: Mapping[str, Any]
    """The objective as a resource of Google's Cloud Monitoring."""

    def document(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "title": self.title,
            "objective": self.objective,
            "explanation": self.explanation,
            "threshold": self.threshold,
            "unit": self.unit,
            "window": self.window,
            "sli": {"prometheus": self.prometheus, "gcp/cloudrun": dict(self.cloud_run)},
        }
