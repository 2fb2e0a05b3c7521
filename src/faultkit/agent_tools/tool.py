"""What a tool is: plain values that say its name, arguments, result and function. Nothing here knows MCP.

A tool function is `def f(call: ToolCall) -> ToolResult`. It runs in a thread of its own, looks at
`call.cancelled` where it waits, and raises FaultkitError for what a caller should read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from faultkit.agent_tools.services import Services

REQUIRED: Final[Any] = object()
"""The default of an argument that has none."""


@dataclass(frozen=True, slots=True)
class Argument:
    name: str
    schema: Mapping[str, Any]
    """JSON schema with a description, and with a default where there is one to tell."""
    read: Callable[[Any], Any]
    """From what came to what the core takes; raises ValueError("expected …, got …") or an InputError."""
    default: Any = REQUIRED
    """As the core takes it: it is not read. Taken if nothing, null or an empty text came."""
    example: str = ""
    """As it is written in JSON: shown where something else came."""


@dataclass(frozen=True, slots=True)
class Hints:
    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool


READS = Hints(read_only=True, destructive=False, idempotent=True, open_world=False)
"""Looks at what is on this machine, and changes nothing."""


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    title: str
    description: str
    """For a model: when to use it, with which values, and what comes back."""
    arguments: tuple[Argument, ...]
    output: Mapping[str, Any]
    """JSON schema of the structured content: always an object."""
    hints: Hints
    """As they are with neither a language model nor a vector database configured."""
    run: str
    """`faultkit.agent_tools.tools.functions:list_names`: imported when called."""
    may_reach_out: bool = False
    """Asks a language model or a vector database if one is configured, and is open world then."""
    ignored: tuple[str, ...] = ()
    """Names that callers may send although nothing is done with them; any other unknown name is an error."""
    rules: Mapping[str, Any] = field(default_factory=dict)
    """More of the JSON schema of the arguments, such as what one of them asks of another."""
    failure: Callable[[Mapping[str, Any], str], dict[str, Any]] | None = None
    """The structured content of an error, from what came and the text. Without it, an error is text alone."""


@dataclass(slots=True)
class ToolCall:
    values: Mapping[str, Any]
    """Read and complete: defaults are filled in."""
    services: Services
    cancelled: threading.Event
    progress: Callable[[float, float | None, str], None]
    """Done, of how much (None: unknown), and a few words. From any thread, as often as one likes."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    text: str
    structured: dict[str, Any]
