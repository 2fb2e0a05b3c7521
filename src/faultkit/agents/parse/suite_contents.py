"""The contents of suite files: the keys of a file, and the contents of several files merged into one suite.

Names must be unique in the suite, and every server and fault that a test names must exist. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from faultkit.agents.parse.suite_faults import parse_faults, written_at
from faultkit.agents.parse.suite_servers import SuiteFolder, parse_providers, parse_servers
from faultkit.agents.parse.suite_source import Located, SourceFile
from faultkit.agents.parse.suite_targets import inventories, missed_by, missing_tools, problems_of
from faultkit.agents.parse.suite_tests import parse_agent_test, parse_tool_test
from faultkit.agents.parse.suite_values import UNSUPPORTED_IN_SUITES
from faultkit.agents.suite.definition import (
    AgentTest,
    CustomProvider,
    Suite,
    SuiteFault,
    SuiteServer,
    ToolTest,
)
from faultkit.base.documents.checks import advice, shown
from faultkit.base.documents.key_tables import Key, KeyTable, Schema
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.seeds import read_seed
from faultkit.base.documents.values import TEXT_SCHEMA, line
from faultkit.base.documents.variables import NAME
from faultkit.mcp.targets import Inventory

Named = TypeVar("Named", SuiteServer, SuiteFault, CustomProvider)


def _named_schema(definition: str) -> Schema:
    """Return the JSON Schema of entries by their names, or of a list of entries that have a name."""
    entry = {"$ref": f"#/$defs/{definition}"}
    return {
        "anyOf": [
            {"type": "object", "additionalProperties": {**entry, "not": {"required": ["name"]}}},
            {"type": "array", "items": {**entry, "required": ["name"]}},
        ]
    }


SUITE = KeyTable(
    Key("servers", schema=_named_schema("server"), help="The MCP servers, by name."),
    Key("server", schema={"$ref": "#/$defs/server"}, help="The only one of the suite."),
    Key("default_server", line, TEXT_SCHEMA, "", "The one of tests that name none."),
    Key("faults", schema={"type": "array", "items": {"$ref": "#/$defs/fault"}}, help="What tests inject."),
    Key("agents", schema={"type": "array", "items": {"$ref": "#/$defs/agent-test"}}, help="Tests of agents."),
    Key(
        "tools",
        schema={"type": "array", "items": {"$ref": "#/$defs/tool-test"}},
        help="Tests of single calls.",
    ),
    Key(
        "providers",
        schema=_named_schema("provider"),
        help="Endpoints of models that have the API of OpenAI, by name.",
    ),
    Key(
        "variables",
        schema={"type": "object", "propertyNames": {"pattern": f"^{NAME}$"}},
        help="Each is written as ${NAME}; the environment comes after them.",
    ),
    Key(
        "imports",
        schema={"anyOf": [TEXT_SCHEMA, {"type": "array", "items": TEXT_SCHEMA}]},
        help="Files whose parts belong to this suite; named from its folder.",
    ),
    Key(
        "seed",
        read_seed,
        {"anyOf": [{"type": "integer", "minimum": 0}, TEXT_SCHEMA], "default": 0},
        0,
        "Same seed and suite: same faults.",
    ),
    help="Servers, what to break of them, and tests of agents and tools that meet it.",
    unsupported=UNSUPPORTED_IN_SUITES,
)


@dataclass(frozen=True, slots=True)
class FileContents:
    """The parts of a suite that one file has, before they are checked against those of other files."""

    source: SourceFile
    servers: list[Located[SuiteServer]]
    faults: list[Located[SuiteFault]]
    agents: list[Located[AgentTest]]
    tools: list[Located[ToolTest]]
    providers: list[Located[CustomProvider]]
    variables: Mapping[str, Any]
    default_server: str
    seed: int | str


def parse_contents(
    document: object,
    source: SourceFile,
    variables: Mapping[str, Any],
    folder: SuiteFolder,
    imported: Iterable[FileContents],
) -> FileContents:
    """Return what one file gives to a suite. The variables of the document are filled in already."""
    reader = MappingReader(document, SUITE, "", source.problems)
    providers = parse_providers(reader, source)
    all_providers = [found.value for contents in imported for found in contents.providers]
    all_providers += [found.value for found in providers]
    return FileContents(
        source,
        parse_servers(reader, source, folder),
        parse_faults(reader.each("faults", "faults"), source),
        [
            Located(test, path, source)
            for path, value in reader.each("agents", "tests of agents")
            for test in parse_agent_test(value, path, source, all_providers, folder)
        ],
        [
            Located(parse_tool_test(value, path, source), path, source)
            for path, value in reader.each("tools", "tests of tools")
        ],
        providers,
        variables,
        reader.take("default_server"),
        reader.take("seed"),
    )


def merge_suite(contents: Sequence[FileContents], files: Iterable[str]) -> Suite:
    """Return the suite of these files, its own file first. Mistakes are reported in their files."""
    root = contents[0]
    servers = _once([found for each in contents for found in each.servers], "server")
    faults = _once([found for each in contents for found in each.faults], "fault")
    providers = _once([found for each in contents for found in each.providers], "provider")
    has = inventories([found.value for found in servers])
    usual = _usual_server(root, servers)
    agents = [_with_servers(found, usual) for each in contents for found in each.agents]
    tools = [_with_server(found, usual) for each in contents for found in each.tools]
    tests: list[Located[AgentTest | ToolTest]] = [*agents, *tools]
    _check_names(tests)
    sound = _sound_faults(faults, has)
    for found in tests:
        _check_injected(found, faults, sound, has)
        for path, problem in missing_tools(found.value, has):
            found.note(path, problem)
    return Suite(
        root.source.file,
        tuple(found.value for found in servers),
        tuple(found.value for found in faults),
        tuple(found.value for found in agents),
        tuple(found.value for found in tools),
        tuple(found.value for found in providers),
        root.seed,
        tuple(files),
        frozenset(name for each in contents for name in each.source.used),
    )


def _once(found: list[Located[Named]], what: str) -> list[Located[Named]]:
    first: dict[str, Located[Named]] = {}
    for each in found:
        name = each.value.name
        if name in first:
            each.note("name" if _has_name(each) else "", _taken(what, name, first[name], each))
        elif name:
            first[name] = each
    return list(first.values())


def _has_name(found: Located[object]) -> bool:
    return isinstance(found.written, Mapping) and "name" in found.written


def _taken(what: str, name: str, first: Located[object], again: Located[object]) -> str:
    line = first.source.line_of(first.path)
    place = f"line {line}" if first.source is again.source else f"{first.source.file}: line {line}"
    return f"expected a name that no {what} before it has, got {shown(name)} again ({place} has it)"


def _check_names(tests: Sequence[Located[AgentTest | ToolTest]]) -> None:
    """Report tests of the same name: reports and filters identify a test by its name."""
    first: dict[str, Located[AgentTest | ToolTest]] = {}
    for found in tests:
        name = found.value.name
        if name in first:
            found.note("name", _taken("test", name, first[name], found))
        elif name:
            first[name] = found


def _usual_server(root: FileContents, servers: Sequence[Located[SuiteServer]]) -> str:
    """Return the server of tests that name none; empty if the suite has no such server."""
    names = [found.value.name for found in servers]
    chosen = root.default_server
    if chosen and chosen not in names:
        root.source.note("default_server", _no_server(chosen, names))
        return ""
    return chosen or (names[0] if len(names) == 1 else "")


def _with_servers(found: Located[AgentTest], usual: str) -> Located[AgentTest]:
    if found.value.servers:
        return found
    if not usual:
        found.note("servers", "expected at least one server: this suite has no default_server")
    return replace(found, value=replace(found.value, servers=(usual,) if usual else ()))


def _with_server(found: Located[ToolTest], usual: str) -> Located[ToolTest]:
    if found.value.server:
        return found
    if not usual:
        found.note("server", "expected a server: this suite has no default_server")
    return replace(found, value=replace(found.value, server=usual))


def _no_server(name: str, names: Iterable[str]) -> str:
    known = tuple(names)
    return f"no server is named {shown(name)}; {advice(name, known) if known else 'the suite has none'}"


def _sound_faults(faults: Sequence[Located[SuiteFault]], has: Mapping[str, Inventory]) -> set[str]:
    """Return the names of the faults whose targets exist."""
    sound = set()
    for found in faults:
        if not found.is_sound:
            continue
        before = len(found.source.problems)
        for error in problems_of(found.value, has):
            found.note(written_at(error.path, found.written), error.problem)
        if len(found.source.problems) == before:
            sound.add(found.value.name)
    return sound


def _check_injected(
    found: Located[AgentTest | ToolTest],
    faults: Sequence[Located[SuiteFault]],
    sound: set[str],
    has: Mapping[str, Inventory],
) -> None:
    test = found.value
    known = {fault.value.name: fault.value for fault in faults}
    missing = [name for name in _servers_of(test) if name and name not in has]
    for name in missing:
        found.note("servers" if isinstance(test, AgentTest) else "server", _no_server(name, has))
    for index, name in enumerate(test.inject):
        path = f"inject[{index}]"
        if name not in known:
            declare = "declare it under `faults:`" if not known else advice(name, tuple(known))
            found.note(path, f"no fault is named {shown(name)}; {declare}")
        elif name in sound and not missing and not test.allow_unhit:
            problem = missed_by(known[name], test, has)
            if problem is not None:
                found.note(path, f"{shown(name)} would never be met: {problem}")


def _servers_of(test: AgentTest | ToolTest) -> tuple[str, ...]:
    return test.servers if isinstance(test, AgentTest) else (test.server,)
