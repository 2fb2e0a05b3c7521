"""The server under test and what a probe may do with it.

`ProbedServer` opens the server in the era that it speaks and sends it well-formed requests. `ProbeSession` is
given to each probe: the server, the tools that may be called, and a record of everything that was sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from faultkit import __version__
from faultkit.base.errors import InputError, TargetError
from faultkit.faults.call_fault import Era
from faultkit.mcp.mcp_client import ServerAddress
from faultkit.mcp.probe.servers import judgements
from faultkit.mcp.probe.servers.probe_results import (
    Judgement,
    ProbeEvidence,
    ProbeOptions,
    ProbeResponse,
    inconclusive,
    not_applicable,
    shortened,
)
from faultkit.mcp.probe.servers.probe_wire import HttpWire, ProbeWire, StdioWire
from faultkit.mcp.probe.servers.tool_arguments import (
    Arguments,
    Given,
    Tool,
    is_read_only,
    ordinary_arguments,
    schema_problem,
)
from faultkit.mcp.wire.era import CAPABILITIES_KEY, NEWEST, NEWEST_LEGACY, SERVER_INFO_KEY, VERSION_KEY
from faultkit.mcp.wire.message import CANCELLED, Id, encode, notification_of

_MOST_EVIDENCE = 6
"""Messages of a probe that are kept as evidence."""
_MOST_CONTROLS = 4
"""Tools that a probe tries until one accepts an ordinary call."""
MakeArguments: TypeAlias = Callable[[Tool, Given], Arguments | None]


class ProbeSession:
    """The server, the tools that a probe may call, and the record of the probe that is running."""

    def __init__(
        self, at: ServerAddress, options: ProbeOptions, show: Callable[[str], None] = lambda line: None
    ) -> None:
        """`show` gets each line of a server process on its standard error."""
        self.at = at
        self._show = show
        self.options = options
        self.all_tools: Sequence[Tool] = ()
        self.tools: Sequence[Tool] = ()
        """The tools that may be called."""
        self.list_problem: Judgement | None = None
        """What is wrong with the list of the tools, if it could not be read."""
        self.slow: tuple[str, Arguments] | None = None
        """A call that takes longer than the time limit of the server."""
        self.restarts = 0
        self.invalid_lines: list[str] = []
        """The first lines on the stdout of the server that are no messages, shortened."""
        self.invalid_line_count = 0
        self._server: ProbedServer | None = None
        self._evidence: list[ProbeEvidence] = []
        self._called: list[str] = []
        self._controls: dict[bytes, ProbeResponse] = {}
        """The answers to ordinary calls, by what was called."""

    # --- the server ---------------------------------------------------------------------------

    @property
    def server(self) -> ProbedServer:
        assert self._server is not None
        return self._server

    async def connect(self) -> None:
        """Connect unless connected; raises TargetError if the server is unavailable."""
        if self._server is None:
            self._server = await self.open_another()

    async def open_another(self) -> ProbedServer:
        """Open one more connection; the caller closes it."""
        server = ProbedServer(
            self.at, self.options.wait_s, self.options.era, self._on_invalid_line, self._show
        )
        try:
            await server.open()
        except BaseException:
            await server.wire.stop()
            raise
        return server

    def _on_invalid_line(self, line: bytes) -> None:
        self.invalid_line_count += 1
        if len(self.invalid_lines) < _MOST_EVIDENCE:
            self.invalid_lines.append(shortened(line))

    async def disconnect(self) -> None:
        """Close the connection; the next probe gets a new one."""
        server, self._server = self._server, None
        if server is not None:
            await server.wire.stop()

    async def learn_tools(self) -> None:
        """List the tools; raises InputError for an option that names an unknown tool or arguments it does not
        take."""
        self.all_tools, response = await self.server.tools()
        if response is not None:
            listed = judgements.has_list(response, "tools/list", "tools")
            if listed.verdict == "failed":
                # An error is an answer: it fails the probe of the lists, and the others have no tool.
                self.list_problem = listed if response.problem else inconclusive(listed.why)
        by_name = {str(tool.get("name")): tool for tool in self.all_tools}
        slow = () if self.options.slow is None else (self.options.slow[0],)
        for flag, names in (
            ("--tool", self.options.tools),
            ("--slow", slow),
            ("--args", self.options.arguments),
        ):
            for name in names:
                if name not in by_name:
                    why = "" if self.list_problem is None else f": {self.list_problem.why}"
                    known = ", ".join(sorted(by_name)) or f"none{why}"
                    raise InputError(flag, f'expected a tool of the server, got "{name}" (tools: {known})')
        if self.options.tools:
            self.tools = [by_name[name] for name in self.options.tools]
        else:
            self.tools = [tool for tool in self.all_tools if is_read_only(tool)]
        if self.options.slow is not None:
            name, given = self.options.slow
            self.slow = name, _slow_arguments(by_name[name], given)
        for name, arguments in self.options.arguments.items():
            _check_arguments("--args", by_name[name], arguments)
            if by_name[name] not in self.tools:
                raise InputError("--args", f"{name} does not declare itself read-only: add --tool {name}")

    # --- the record ---------------------------------------------------------------------------

    def begin_record(self) -> None:
        """Start the record of the next probe."""
        self._evidence, self._called = [], []

    def record(self) -> tuple[tuple[ProbeEvidence, ...], tuple[str, ...]]:
        """Return the evidence and the called tools since `begin_record`."""
        return tuple(self._evidence), tuple(self._called)

    def note(self, evidence: ProbeEvidence) -> None:
        """Add to the evidence, unless there is enough of it."""
        if len(self._evidence) < _MOST_EVIDENCE and evidence not in self._evidence:
            self._evidence.append(evidence)

    # --- requests ------------------------------------------------------------------------------

    def candidates(self, make: MakeArguments) -> Iterator[tuple[str, Arguments]]:
        """Return the tools that may be called and for which `make` gives arguments, and these."""
        for tool in self.tools:
            name = str(tool.get("name"))
            arguments = make(tool, self.options.arguments.get(name))
            if arguments is not None:
                yield name, arguments

    async def choose(
        self, make: MakeArguments, ordinary: MakeArguments, what: str
    ) -> tuple[str, Arguments, ProbeResponse] | Judgement:
        """Return a tool that accepts an ordinary call, its arguments by `make`, and the answer to that call.

        A tool that refuses everything shows nothing, so without one there is only a judgement. `what`
        completes "no tool that may be called …"."""
        problem: Judgement | None = None
        for number, (name, arguments) in enumerate(self.candidates(make)):
            if number == _MOST_CONTROLS:
                break
            tool = next(each for each in self.tools if each.get("name") == name)
            usual = ordinary(tool, self.options.arguments.get(name))
            if usual is None:
                continue
            control = await self._control(name, usual)
            if control.kind == "result":
                return name, arguments, control
            problem = problem or judgements.control_refused(name, control)
            if control.problem:
                return judgements.control_refused(name, control)
        return problem or self.no_tool(what)

    def no_tool(self, what: str) -> Judgement:
        """Return the judgement if there is no tool to call; `what` says what it would have to be."""
        if self.list_problem is not None:
            return self.list_problem
        if not self.all_tools:
            return not_applicable("the server has no tools")
        if not self.tools:
            return not_applicable("no tool declares itself read-only: name one with --tool")
        return not_applicable(f"no tool that may be called {what}")

    async def _control(self, tool: str, arguments: Arguments) -> ProbeResponse:
        """Make an ordinary call, once for all probes; one without an answer is made again."""
        key = encode([tool, arguments])
        known = self._controls.get(key)
        if known is not None:
            return self._recorded(known)
        response = await self.call(tool, arguments)
        if not response.problem:
            self._controls[key] = response
        return response

    async def ask(self, method: str, params: Mapping[str, Any], id: Id | None = None) -> ProbeResponse:
        return self._recorded(await self.server.ask(method, params, id))

    async def ask_raw(self, raw: bytes, id: Id | None) -> ProbeResponse:
        return self._recorded(await self.server.ask_raw(raw, id))

    async def call(self, tool: str, arguments: Mapping[str, Any], id: Id | None = None) -> ProbeResponse:
        """Call a tool, and record that it was called."""
        self._called.append(tool)
        return await self.ask("tools/call", {"name": tool, "arguments": dict(arguments)}, id)

    def _recorded(self, response: ProbeResponse) -> ProbeResponse:
        self.note(response.evidence)
        return response


def _slow_arguments(tool: Tool, given: Mapping[str, object] | None) -> Arguments:
    arguments = ordinary_arguments(tool) if given is None else dict(given)
    if arguments is None:
        raise InputError("--slow", f"expected {tool.get('name')}={{JSON}}: its arguments cannot be made up")
    _check_arguments("--slow", tool, arguments)
    return arguments


def _check_arguments(flag: str, tool: Tool, arguments: Mapping[str, Any]) -> None:
    if problem := schema_problem(tool, arguments):
        raise InputError(flag, f"expected arguments that its schema allows, got {problem}")


_INFO = {"name": "faultkit-edge", "version": __version__}
_META = {VERSION_KEY: NEWEST, CAPABILITIES_KEY: {}}
_MOST_PAGES = 100
_OPENING_FACTOR, _LEAST_OPENING_S = 3, 5.0


def opening_s(wait_s: float) -> float:
    """Return how long to wait for the first answer: a server that is starting may take longer than
    `wait_s`."""
    return max(_OPENING_FACTOR * wait_s, _LEAST_OPENING_S)


class ProbedServer:
    """One connection to the server under test."""

    def __init__(
        self,
        at: ServerAddress,
        wait_s: float,
        era: Era | None,
        on_invalid_line: Callable[[bytes], None],
        show: Callable[[str], None],
    ) -> None:
        self._at = at
        self._only_era = era
        self._wait_s = wait_s
        self._request_count = 0
        self.wire: ProbeWire = (
            HttpWire(at.url, at.headers) if at.url else StdioWire(at.command, at.env, on_invalid_line, show)
        )
        self.era: Era = "legacy"
        self.capabilities: Mapping[str, Any] = {}
        self.info: Mapping[str, Any] = {}
        self.opening_problem = ""
        """What is wrong with the first answer, although it can be used; empty if nothing is."""

    async def open(self) -> None:
        """Connect and negotiate the era; raises TargetError if the server is unavailable or speaks
        neither."""
        await self.wire.start()
        if self._only_era == "modern":
            self.era = "modern"
            opened = await self.wire.exchange(*self.request("server/discover", {}), opening_s(self._wait_s))
            await self._use_discovered(opened, opened)
            return
        hello = {"protocolVersion": NEWEST_LEGACY, "capabilities": {}, "clientInfo": _INFO}
        opened = await self.wire.exchange(*self.request("initialize", hello), opening_s(self._wait_s))
        if opened.result is not None:
            version = opened.result.get("protocolVersion")
            self.wire.version = version if isinstance(version, str) else None
            self._learn(opened, opened.result, opened.result.get("serverInfo"))
            await self.wire.notify(notification_of("notifications/initialized", {}))
            return
        self.era = "modern"
        is_over = opened.is_lost or self._only_era == "legacy"
        found = ProbeResponse(b"") if is_over else await self.ask("server/discover", {})
        await self._use_discovered(found, opened)

    async def _use_discovered(self, found: ProbeResponse, first: ProbeResponse) -> None:
        """Use the answer to `server/discover`; raise TargetError with the first answer if it is none."""
        if found.result is None:
            await self.wire.stop()
            raise TargetError(f"{self._at}: the server does not initialize: {first.evidence.came}")
        meta = found.result.get("_meta")
        info = meta.get(SERVER_INFO_KEY) if isinstance(meta, Mapping) else None
        self._learn(found, found.result, info)

    def _learn(self, opened: ProbeResponse, result: Mapping[str, Any], info: object) -> None:
        self.opening_problem = opened.problem
        capabilities = result.get("capabilities")
        self.capabilities = capabilities if isinstance(capabilities, Mapping) else {}
        self.info = info if isinstance(info, Mapping) else {}

    def request(self, method: str, params: Mapping[str, Any], id: Id | None = None) -> tuple[bytes, Id]:
        """Return a request in the form of the server's era, and its id."""
        if id is None:
            self._request_count += 1
            id = self._request_count
        more = {"_meta": _META} if self.era == "modern" else {}
        return encode({"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, **more}}), id

    async def ask(self, method: str, params: Mapping[str, Any], id: Id | None = None) -> ProbeResponse:
        return await self.wire.exchange(*self.request(method, params, id), self._wait_s)

    async def ask_raw(self, raw: bytes, id: Id | None) -> ProbeResponse:
        return await self.wire.exchange(raw, id, self._wait_s)

    async def cancel(self, id: Id) -> None:
        """Notify the server that a request is cancelled."""
        await self.wire.notify(notification_of(CANCELLED, {"requestId": id}))

    @property
    def always_served(self) -> str:
        """A method that every server of its era answers."""
        return "ping" if self.era == "legacy" else "server/discover"

    async def check_alive(self) -> ProbeResponse:
        """Send a request that every server answers."""
        return await self.ask(self.always_served, {})

    async def tools(self) -> tuple[list[Mapping[str, Any]], ProbeResponse | None]:
        """Return the tools of all pages, and the last answer; None if the server has no tools."""
        found: list[Mapping[str, Any]] = []
        cursor: object = None
        response: ProbeResponse | None = None
        for _ in range(_MOST_PAGES if "tools" in self.capabilities else 0):
            response = await self.ask("tools/list", {} if cursor is None else {"cursor": cursor})
            result = response.result or {}
            listed = result.get("tools")
            found += (
                [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else []
            )
            cursor = result.get("nextCursor")
            if cursor is None:
                break
        return found, response
