"""The declaration of a tool as plain values, and the services that tools share. Nothing here knows MCP.

A tool function is `def f(call: ToolCall) -> ToolResult`. It runs in a thread of its own, checks
`call.cancelled` where it waits, and raises FaultkitError for what a caller should read.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from faultkit.agent_tools.load_limits import LoadLimits

if TYPE_CHECKING:
    from faultkit.chaos.session import ChaosSession, ChaosSettings
    from faultkit.code.advice.advisor import Advisor
    from faultkit.llm.language_model import LanguageModel
    from faultkit.llm.model_settings import LlmSettings

REQUIRED: Final[Any] = object()
"""The default of an argument that has none."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: its schema, and how it is read."""

    name: str
    schema: Mapping[str, Any]
    """JSON schema with a description, and with the default if there is one."""
    read: Callable[[Any], Any]
    """Converts what a client sent; raises ValueError("expected …, got …") or an InputError."""
    default: Any = REQUIRED
    """Used as it is, not read, if nothing, null or an empty text was sent."""
    example: str = ""
    """JSON text that is shown in the error for a wrong value."""
    path_of: str = ""
    """`a file`, `a folder` or `a file or folder` if its value is a path, which a server may limit to its
    root folder."""


@dataclass(frozen=True, slots=True)
class Hints:
    """The annotations of a tool in MCP."""

    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool


READS = Hints(read_only=True, destructive=False, idempotent=True, open_world=False)
"""Hints of a tool that reads on this machine and changes nothing."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool, as clients see it, and where its function is."""

    name: str
    title: str
    description: str
    """For a model: when to use it, with which values, and what comes back."""
    arguments: tuple[Argument, ...]
    output: Mapping[str, Any]
    """JSON schema of the structured content: always an object."""
    hints: Hints
    """The hints without a configured language model or vector database."""
    run: str
    """`faultkit.agent_tools.code_functions:list_names`: imported when called."""
    may_reach_out: bool = False
    """True if it asks a configured language model or vector database, and is open world then."""
    ignored: tuple[str, ...] = ()
    """Argument names that are accepted and ignored; any other unknown name is an error."""
    rules: Mapping[str, Any] = field(default_factory=dict)
    """Additional keys of the arguments' JSON schema, such as a dependency between two arguments."""
    failure: Callable[[Mapping[str, Any], str], dict[str, Any]] | None = None
    """Makes the structured content of an error from the arguments and the text. None: errors are text
    only."""


@dataclass(slots=True)
class ToolCall:
    """One call of a tool."""

    values: Mapping[str, Any]
    """The arguments, read, with defaults filled in."""
    services: Services
    cancelled: threading.Event
    progress: Callable[[float, float | None, str], None]
    """Reports progress: done, total (None: unknown), and a short text. Any thread may call it, at any
    rate."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool returns."""

    text: str
    structured: dict[str, Any]


# --- services --------------------------------------------------------------------------------------


_VECTOR_SERVER = "QDRANT_URL"
MOST_REPORTS = 20
IMPORT_LOCK = threading.RLock()
"""Held while a tool's code is imported.

Python locks each module separately. If one thread imports a package while another imports a module of it,
each can hold the lock that the other needs; Python then gives one of them a partially initialised module."""


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A report that clients can read as a resource."""

    id: str
    """A number from 1 on, never used twice."""
    title: str
    markdown: str
    document: dict[str, Any]
    """The report as JSON."""


class RecentReports:
    """The last reports of a server, in memory. Thread-safe."""

    def __init__(self, most: int = MOST_REPORTS) -> None:
        self._most = most
        self._count = 0
        self._kept: dict[str, StoredReport] = {}
        self._lock = threading.Lock()

    def add(self, title: str, markdown: str, document: dict[str, Any]) -> StoredReport:
        """Keep a report, and drop the oldest if there are too many."""
        with self._lock:
            self._count += 1
            stored = StoredReport(str(self._count), title, markdown, document)
            self._kept[stored.id] = stored
            while len(self._kept) > self._most:
                del self._kept[next(iter(self._kept))]
            return stored

    def get(self, id: str) -> StoredReport | None:
        """Return a report by its id, None if it is not kept."""
        with self._lock:
            return self._kept.get(id)

    def all(self) -> tuple[StoredReport, ...]:
        """Return all reports, the newest first."""
        with self._lock:
            return tuple(reversed(self._kept.values()))


@dataclass(slots=True)
class Services:
    """What the tools of one server share: model, chaos session, limits, last reports. Thread-safe.

    The model and the chaos session are made when they are needed first, because their imports take long."""

    llm: LlmSettings | None = None
    """Settings of the language model; None: the offline rules answer."""
    index_dir: str | None = None
    """Folder of the indexes; None: the user's cache folder."""
    limits: LoadLimits = field(default_factory=LoadLimits)
    reports: RecentReports = field(default_factory=RecentReports)
    root: str | None = None
    """The folder in which all paths of arguments must be; None: any path is allowed."""
    may_run_code: bool = True
    """False if clients may not have code run that they name."""
    passed_variables: frozenset[str] = frozenset()
    """Environment variables that code which is run gets although their names mean secrets."""
    indexed: str | None = None
    """The folder that was indexed last: code related to a snippet is searched there."""
    chaos: Callable[[], ChaosSettings] | None = None
    """Returns the settings of chaos, called by the first chaos tool. None: settings of the environment."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _model: LanguageModel | None = None
    _chaos: ChaosSession | None = None

    @property
    def reaches_out(self) -> bool:
        """True if code may be sent to another machine, for advice or for an index."""
        return self.llm is not None or bool(os.environ.get(_VECTOR_SERVER, "").strip())

    def model(self) -> LanguageModel | None:
        """Return the model of all calls, made at the first, because its libraries take long to import."""
        if self.llm is None:
            return None
        with self._lock:
            if self._model is None:
                with IMPORT_LOCK:
                    from faultkit.llm.language_model import LanguageModel

                self._model = LanguageModel(self.llm)
            return self._model

    def advisor(self, near: str | None = None) -> Advisor:
        """Return an advisor. `near`: a file or folder of the project; without it, the one indexed last."""
        with IMPORT_LOCK:
            from faultkit.code.advice.advisor import Advisor

        model, place = self.model(), near or self.indexed
        if model is None or place is None:
            return Advisor(model)
        with IMPORT_LOCK:
            from faultkit.code.advice.project_context import project_search

        return Advisor(model, context=project_search(place, model, index_dir=self.index_dir))

    def chaos_session(self) -> ChaosSession:
        """Return the chaos session of all calls, opened at the first."""
        with self._lock:
            if self._chaos is None:
                with IMPORT_LOCK:
                    from faultkit.chaos.session import ChaosSession, usual_settings

                settings = usual_settings(os.environ) if self.chaos is None else self.chaos()
                self._chaos = ChaosSession(settings)
            return self._chaos

    def close(self) -> None:
        """Close the chaos session and the model."""
        with self._lock:
            if self._chaos is not None:
                self._chaos.close()
            self._chaos = None
            if self._model is not None:
                self._model.close()
            self._model = None
