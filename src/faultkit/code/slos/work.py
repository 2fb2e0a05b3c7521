"""What a function does, as far as its objectives depend on it. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

EntryKind: TypeAlias = Literal["request", "stream", "message", "job", "function"]
"""Who waits for it: a client for an answer, a client for the first byte, a queue, a schedule, other code."""
WorkKind: TypeAlias = Literal[
    "cache", "file", "query", "write", "request", "send", "publish", "program", "model", "token", "wait"
]
"""`query` and `write` go to a database; `request` asks another service over HTTP, and `send` changes
something there; `publish` hands a message to a broker; `token` is the first that a model gives; `wait` is a
sleep."""


@dataclass(frozen=True, slots=True)
class Entry:
    kind: EntryKind
    name: str
    """Of the function; empty if it has none."""
    method: str = "ANY"
    path: str = ""
    """Of the route, as it is written in the code; empty if it is not told."""
    framework: str = ""
    line: int = 1

    @property
    def is_http(self) -> bool:
        return self.kind in ("request", "stream")


@dataclass(frozen=True, slots=True)
class Dependency:
    """A call that leaves the function's own work."""

    kind: WorkKind
    call: str
    """As written: `httpx.get`."""
    line: int
    times: int = 1
    """How often it is done one after the other; a guess where it depends on the input."""
    is_concurrent: bool = False
    is_soft: bool = False
    """The function has an answer without it."""
    timeout_s: float | None = None
    """None if there is none, or if the text does not tell."""
    timeout_is: Literal["given", "default", "missing", "unknown"] = "unknown"
    """Whether the code sets it, only the library does, nobody does, or the text does not tell."""
    tries: int | None = 1
    """None: again and again without an end."""
    library: str = ""
    wait_s: float = 0.0
    """Of a sleep."""


@dataclass(frozen=True, slots=True)
class Work:
    entry: Entry
    dependencies: tuple[Dependency, ...] = ()
    blocks_loop: int = 0
    """The line of a call that stops the event loop; 0 if there is none."""
    takes_input: bool = False
    """A client can get it wrong: a path with holes, a body."""
    others: int = 0
    """Functions in the text that were not looked at."""
    unread: str = ""
    """The title of the language, if only its words were looked at."""
    broken_line: int = 0
    """The first line that is no code of its language; 0 if there is none."""
