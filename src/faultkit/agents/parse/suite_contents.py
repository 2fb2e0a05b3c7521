"""The contents of suite files: the keys of a file, several files merged into one suite, and the JSON Schema.

Names must be unique in the suite, and every server and fault that a test names must exist. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from faultkit.agents.parse.suite_agents import PLANNED_CALL, agent_schema
from faultkit.agents.parse.suite_breakpoints import with_breakpoint
from faultkit.agents.parse.suite_expectations import MATCHER
from faultkit.agents.parse.suite_faults import (
    CALL_TARGET,
    FAULT_SPEC,
    MODEL_TARGET,
    SUITE_FAULTS,
    fault_table,
    parse_faults,
    written_at,
)
from faultkit.agents.parse.suite_servers import PROVIDER, SERVER, SuiteFolder, parse_providers, parse_servers
from faultkit.agents.parse.suite_source import LocatedPart, SuiteSource
from faultkit.agents.parse.suite_targets import inventories, missed_by, missing_tools, target_problems
from faultkit.agents.parse.suite_tests import (
    AGENT_TEST,
    BUDGET,
    TOOL_TEST,
    parse_agent_test,
    parse_tool_test,
)
from faultkit.agents.parse.suite_values import LANES, UNSUPPORTED_IN_SUITES
from faultkit.agents.suite.definition import (
    AgentTest,
    CustomProvider,
    Suite,
    SuiteFault,
    SuiteServer,
    SuiteTest,
    ToolTest,
    UnrunLane,
)
from faultkit.base.documents.checks import advice, shown
from faultkit.base.documents.key_tables import Key, KeyTable, Schema, chosen_by, schema_of
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import TEXT_SCHEMA, line, read_seed
from faultkit.base.documents.variables import NAME
from faultkit.mcp.fault_specs import ALIASES, FORM
from faultkit.mcp.targets import Inventory
from faultkit.plan import plan_schema

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
    Key("server", schema={"$ref": "#/$defs/server"}, help="The only server of the suite."),
    Key("default_server", line, TEXT_SCHEMA, "", "The server of tests that name none."),
    Key(
        "faults",
        schema={"type": "array", "items": {"$ref": "#/$defs/fault"}},
        help="The faults that tests inject.",
    ),
    Key("agents", schema={"type": "array", "items": {"$ref": "#/$defs/agent-test"}}, help="Tests of agents."),
    Key(
        "tools",
        schema={"type": "array", "items": {"$ref": "#/$defs/tool-test"}},
        help="Tests of single calls.",
    ),
    Key(
        "providers",
        schema=_named_schema("provider"),
        help="Servers of models with the API of OpenAI, by name.",
    ),
    Key(
        "variables",
        schema={"type": "object", "propertyNames": {"pattern": f"^{NAME}$"}},
        help="Values for ${NAME}; other names are read from the environment.",
    ),
    Key(
        "imports",
        schema={"anyOf": [TEXT_SCHEMA, {"type": "array", "items": TEXT_SCHEMA}]},
        help="Files whose contents belong to this suite, relative to its folder.",
    ),
    Key(
        "seed",
        read_seed,
        {"anyOf": [{"type": "integer", "minimum": 0}, TEXT_SCHEMA], "default": 0},
        0,
        "Seed of random numbers: with the same seed, the same faults act.",
    ),
    Key("budget", schema=BUDGET),
    *(Key(name, schema={}, help=f"Of mcptest; loaded and not run: {hint}.") for name, hint in LANES.items()),
    help="Servers, faults, and tests of agents and tools that meet the faults.",
    unsupported=UNSUPPORTED_IN_SUITES,
)


@dataclass(frozen=True, slots=True)
class FileContents:
    """The parts of a suite in one file, before they are checked against those of other files."""

    source: SuiteSource
    servers: list[LocatedPart[SuiteServer]]
    faults: list[LocatedPart[SuiteFault]]
    agents: list[LocatedPart[AgentTest]]
    tools: list[LocatedPart[ToolTest]]
    providers: list[LocatedPart[CustomProvider]]
    variables: Mapping[str, Any]
    default_server: str
    seed: int | str
    unrun_lanes: tuple[UnrunLane, ...]
    most_usd: float | None


def parse_contents(
    document: object,
    source: SuiteSource,
    variables: Mapping[str, Any],
    folder: SuiteFolder,
    imported: Iterable[FileContents],
) -> FileContents:
    """Return the contents of one file. The variables of the document must be filled in already."""
    reader = MappingReader(document, SUITE, "", source.problems)
    providers = parse_providers(reader, source)
    all_providers = [found.value for contents in imported for found in contents.providers]
    all_providers += [found.value for found in providers]
    budget = reader.inner("budget")
    per_test, per_suite = (
        None if (cents := budget.take(key)) is None else cents / 100 for key in BUDGET.names
    )
    return FileContents(
        source,
        parse_servers(reader, source, folder),
        parse_faults(reader.each("faults", "faults"), source),
        [
            LocatedPart(test, path, source, value)
            for path, value in reader.each("agents", "tests of agents")
            for test in parse_agent_test(value, path, source, all_providers, folder, per_test)
        ],
        [
            LocatedPart(parse_tool_test(value, path, source), path, source)
            for path, value in reader.each("tools", "tests of tools")
        ],
        providers,
        variables,
        reader.take("default_server"),
        reader.take("seed"),
        tuple(
            UnrunLane(name, f"not run: {hint}", source.place(name))
            for name, hint in LANES.items()
            if name in reader.given
        ),
        per_suite,
    )


def merge_suite(contents: Sequence[FileContents], files: Iterable[str]) -> Suite:
    """Return the suite of these files, of which the first is its own. Mistakes are added to their files."""
    root = contents[0]
    servers = _unique([found for each in contents for found in each.servers], "server")
    faults = _unique([found for each in contents for found in each.faults], "fault")
    providers = _unique([found for each in contents for found in each.providers], "provider")
    has = inventories([found.value for found in servers])
    default = _default_server(root, servers)
    known = [found.value for found in faults if found.is_sound]
    agents = [
        with_breakpoint(_with_servers(found, default), known) for each in contents for found in each.agents
    ]
    tools = [_with_server(found, default) for each in contents for found in each.tools]
    tests: list[LocatedPart[SuiteTest]] = [*agents, *tools]
    _check_names(tests)
    sound = _sound_faults(faults, has)
    for found in tests:
        _check_references(found, faults, sound, has)
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
        frozenset(name for each in contents for name in each.source.used_variables),
        tuple(lane for each in contents for lane in each.unrun_lanes),
        root.most_usd,
    )


def _unique(found: list[LocatedPart[Named]], what: str) -> list[LocatedPart[Named]]:
    """Return the parts without those whose name an earlier one has, which are reported."""
    first: dict[str, LocatedPart[Named]] = {}
    for each in found:
        name = each.value.name
        if name in first:
            has_name = isinstance(each.written, Mapping) and "name" in each.written
            each.note("name" if has_name else "", _name_is_taken(what, first[name], each))
        elif name:
            first[name] = each
    return list(first.values())


def _name_is_taken(what: str, first: LocatedPart[Any], again: LocatedPart[Any]) -> str:
    """Return the error message for a name that occurs twice."""
    line = first.source.line_of(first.path)
    place = f"line {line}" if first.source is again.source else f"{first.source.file}: line {line}"
    return (
        f"expected a name that no {what} before it has, got {shown(first.value.name)} again ({place} has it)"
    )


def _check_names(tests: Sequence[LocatedPart[SuiteTest]]) -> None:
    """Report tests of the same name: reports and filters identify a test by its name."""
    first: dict[str, LocatedPart[SuiteTest]] = {}
    for found in tests:
        name = found.value.name
        if name in first:
            found.note("name", _name_is_taken("test", first[name], found))
        elif name:
            first[name] = found


def _default_server(root: FileContents, servers: Sequence[LocatedPart[SuiteServer]]) -> str:
    """Return the server of tests that name none; empty if the suite has no such server."""
    names = [found.value.name for found in servers]
    chosen = root.default_server
    if chosen and chosen not in names:
        root.source.note("default_server", _no_server(chosen, names))
        return ""
    return chosen or (names[0] if len(names) == 1 else "")


def _with_servers(found: LocatedPart[AgentTest], default: str) -> LocatedPart[AgentTest]:
    if found.value.servers:
        return found
    if not default:
        found.note("servers", "expected at least one server: this suite has no default_server")
    return replace(found, value=replace(found.value, servers=(default,) if default else ()))


def _with_server(found: LocatedPart[ToolTest], default: str) -> LocatedPart[ToolTest]:
    if found.value.server:
        return found
    if not default:
        found.note("server", "expected a server: this suite has no default_server")
    return replace(found, value=replace(found.value, server=default))


def _no_server(name: str, names: Iterable[str]) -> str:
    known = tuple(names)
    return f"no server is named {shown(name)}; {advice(name, known) if known else 'the suite has none'}"


def _sound_faults(faults: Sequence[LocatedPart[SuiteFault]], has: Mapping[str, Inventory]) -> set[str]:
    """Return the names of the faults whose targets exist."""
    sound = set()
    for found in faults:
        if not found.is_sound:
            continue
        before = len(found.source.problems)
        for error in target_problems(found.value, has):
            found.note(written_at(error.path, found.written), error.problem)
        if len(found.source.problems) == before:
            sound.add(found.value.name)
    return sound


def _check_references(
    found: LocatedPart[SuiteTest],
    faults: Sequence[LocatedPart[SuiteFault]],
    sound: set[str],
    has: Mapping[str, Inventory],
) -> None:
    """Report servers and faults that a test names and the suite does not have, or that it cannot meet."""
    test = found.value
    known = {fault.value.name: fault.value for fault in faults}
    missing = [name for name in test.server_names if name and name not in has]
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


# The JSON Schema (draft 2020-12) for editors, from the tables of keys
#
# It accepts everything that the parser accepts, except variables in place of a list or mapping. It leaves
# mistakes to the parser that only other parts of a suite or its servers show: a name that is not declared, a
# missing tool.


_VARIABLE: Schema = {"type": "string", "pattern": rf"^\$\{{{NAME}(:-[^}}]*)?\}}$"}
_SCALARS = {"integer", "number", "boolean"}
_LITERAL_KEYWORDS = ("if", "not", "enum", "const", "default", "required", "examples")


def suite_schema() -> Schema:
    """Return the JSON Schema of suite files."""
    schema: Schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Faultkit suite",
        **schema_of(SUITE),
        "$defs": _definitions(),
    }
    filled: Schema = _with_variables(schema)
    return filled


def _definitions() -> Schema:
    shared: Any = plan_schema()["$defs"]
    kinds = {word: f"fault-{kind}" for kind in SUITE_FAULTS for word in (kind, kind.replace("_", "-"))}
    kinds |= {word: f"fault-{kind}" for word, kind in ALIASES.items()}
    return {
        "server": schema_of(SERVER),
        "provider": schema_of(PROVIDER),
        "fault": {
            "anyOf": [
                {**TEXT_SCHEMA, "description": FORM},
                schema_of(FAULT_SPEC),
                chosen_by("kind", kinds),
            ]
        },
        **{f"fault-{kind}": schema_of(fault_table(kind)) for kind in SUITE_FAULTS},
        **{f"with-{kind}": shared[f"with-{kind}"] for kind in SUITE_FAULTS},
        "target": schema_of(CALL_TARGET),
        "model-target": schema_of(MODEL_TARGET),
        "trigger": shared["trigger"],
        "schedule": shared["schedule"],
        "period": shared["period"],
        "agent": agent_schema(),
        "errand": schema_of(PLANNED_CALL),
        "agent-test": schema_of(AGENT_TEST),
        "tool-test": schema_of(TOOL_TEST),
        "matcher": schema_of(MATCHER),
    }


def _with_variables(schema: Any) -> Any:
    """Return the schema in which a variable may take the place of each number, boolean and word."""
    if isinstance(schema, list):
        return [_with_variables(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: each if key in _LITERAL_KEYWORDS else _with_variables(each) for key, each in schema.items()}
    types = schema.get("type")
    named = {types} if isinstance(types, str) else set(types) if isinstance(types, list) else set()
    if "string" not in named and (named & _SCALARS or isinstance(schema.get("enum"), list)):
        described = {key: inner.pop(key) for key in ("description", "default") if key in inner}
        return {**described, "anyOf": [inner, _VARIABLE]}
    return inner
