"""The calls of a recording, as the suites trace them: what a client called, which faults it met, what it got.

The lines of the file are given to a `WireObserver` in their order and at their times, as the gateway would
have done while it ran. All sessions of a recording count as one agent: a client that lost its connection
opens another session and goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from faultkit.agents.execute.virtual_toolbox import METHOD, is_permanent
from faultkit.agents.execute.wire_observer import InjectedFault, WireFacts, WireObserver
from faultkit.agents.recovery.trace import TracedCall
from faultkit.base.errors import InputError
from faultkit.base.files import read_text
from faultkit.mcp.gateway.recorder import Side
from faultkit.mcp.recorded_lines import frame_of, read_lines, verdict_of
from faultkit.mcp.wire.message import Id, encode, is_id, read

_LIST = "tools/list"


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call of a tool in a recording."""

    number: int
    """Its place among the calls of the recording, from 1."""
    facts: WireFacts
    is_listed: bool | None
    """Whether the client's last list of tools has this one; None before the first list."""
    is_hidden: bool
    """The server's last list has the tool, and a fault left it out for the client."""

    @property
    def traced(self) -> TracedCall:
        return self.facts.traced


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """What a recording shows."""

    source: str
    calls: tuple[RecordedCall, ...]
    """In the order of their start."""
    rules: Mapping[str, str]
    """Kinds of faults by the names of their rules: the declared ones, and those that acted."""
    met: frozenset[str]
    """Names of the rules that acted on a request."""
    tools: frozenset[str]
    """Names of the tools that were listed or called."""
    sessions: int
    """Sessions with calls of tools."""
    duration_ms: float
    warnings: tuple[str, ...] = ()


def load_recorded_run(path: str) -> RecordedRun:
    """Read a recording from a file. Raises InputError."""
    text = read_text(path)
    if not text.strip():
        raise InputError(path, "expected a recording of `fault gateway --record`, got an empty file")
    return read_recorded_run(text, path)


def read_recorded_run(text: str, source: str = "recording") -> RecordedRun:
    """Read a recording, which may be empty. Raises InputError with the line of a mistake."""
    lines, warnings = read_lines(text, source)
    reader = _Reader()
    for line in lines:
        reader.take(line)
    facts = reader.observer.facts(None)
    calls = tuple(
        RecordedCall(number, each, *listed)
        for number, (each, listed) in enumerate(zip(facts, reader.listings, strict=True), 1)
    )
    met = {call.traced.fault for call in calls if call.traced.fault}
    return RecordedRun(
        source,
        calls,
        reader.rules,
        frozenset(met | set(reader.observer.met_elsewhere)),
        frozenset(reader.tools | {call.traced.tool for call in calls}),
        len(reader.sessions),
        reader.now_ms,
        tuple(warnings),
    )


@dataclass(slots=True)
class _ListRequest:
    """An open request for a list of tools."""

    is_first_page: bool
    is_rewritten: bool = False
    """A fault decides what the client gets."""


@dataclass(slots=True)
class _Reader:
    """Gives the lines of a recording to an observer, and follows the lists that the client gets."""

    now_ms: float = 0.0
    rules: dict[str, str] = field(default_factory=dict)
    tools: set[str] = field(default_factory=set)
    """Names in all lists that the server sent or the client got."""
    sessions: set[str] = field(default_factory=set)
    listings: list[tuple[bool | None, bool]] = field(default_factory=list)
    """Whether the tool was listed and whether it was hidden, for each call in the order of their start."""
    observer: WireObserver = field(init=False)
    _listed: set[str] | None = None
    _served: set[str] = field(default_factory=set)
    """Names in the server's last list, whatever the client got of it."""
    _lists: dict[tuple[str, Id], _ListRequest] = field(default_factory=dict)
    _last_injected: dict[str, Id] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.observer = WireObserver("", lambda: self.now_ms)

    def take(self, line: Mapping[str, Any]) -> None:
        at_s = line.get("t")
        if isinstance(at_s, int | float):
            self.now_ms = max(self.now_ms, at_s * 1000)
        session = str(line.get("session", ""))
        if "inject" in line:
            self._take_injection(line, session)
        elif isinstance(rules := line.get("rules"), list):
            named = (each for each in rules if isinstance(each, dict))
            self.rules.update((str(each.get("name")), str(each.get("fault"))) for each in named)
        elif "frame" in line:
            self._take_frame(line, session)
        elif is_id(closed := line.get("closed")):
            self.observer.closed(session, closed)
        else:
            message = line.get("message", [])
            for each in message if isinstance(message, list) else [message]:
                if isinstance(each, dict):
                    self._take_message(each, session, cast(Side, line["from"]))

    def _take_injection(self, line: Mapping[str, Any], session: str) -> None:
        name, kind, id = str(line["inject"]), str(line.get("fault", "")), line.get("id")
        self.rules.setdefault(name, kind)
        if not is_id(id):
            return
        verdict = verdict_of(line)
        self._last_injected[session] = id
        if (asked := self._lists.get((session, id))) is not None:
            asked.is_rewritten = verdict.frames is not None
        fault = InjectedFault(name, is_permanent(kind, line.get("lasts") is not False, verdict))
        self.observer.met(session, id, str(line.get("method", METHOD)), fault, verdict)

    def _take_frame(self, line: Mapping[str, Any], session: str) -> None:
        message = line.get("message")
        own = message.get("id") if isinstance(message, dict) else None
        # Recordings of earlier versions lack the id of a frame.
        id = line.get("id", own if is_id(own) else self._last_injected.get(session))
        frame = frame_of(line)
        if frame is None or not is_id(id):
            return
        self.observer.sent(session, id, frame)
        if isinstance(message, dict):
            self._learn_list(message, session, id, is_rewritten=True)

    def _take_message(self, message: dict[str, Any], session: str, side: Side) -> None:
        incoming = read(encode(message))
        if side == "client" and incoming.kind == "request" and incoming.id is not None:
            if incoming.method == METHOD:
                self.sessions.add(session)
                name = str(incoming.params.get("name", ""))
                is_listed = None if self._listed is None else name in self._listed
                self.listings.append((is_listed, is_listed is False and name in self._served))
            elif incoming.method == _LIST:
                self._lists[session, incoming.id] = _ListRequest("cursor" not in incoming.params)
        elif side == "server" and incoming.kind == "response" and incoming.id is not None:
            self._learn_list(message, session, incoming.id, is_rewritten=False)
        self.observer.message(session, side, incoming)

    def _learn_list(self, message: dict[str, Any], session: str, id: Id, *, is_rewritten: bool) -> None:
        """Take the list of tools that the client gets by this message."""
        asked = self._lists.get((session, id))
        result = message.get("result")
        tools = result.get("tools") if isinstance(result, dict) else None
        if asked is None or not isinstance(tools, list):
            return
        names = {str(tool.get("name")) for tool in tools if isinstance(tool, dict)}
        self.tools |= names
        if not is_rewritten:
            self._served = names if asked.is_first_page else self._served | names
        if asked.is_rewritten == is_rewritten:
            self._listed = names if asked.is_first_page or self._listed is None else self._listed | names
