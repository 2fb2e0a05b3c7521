"""The parts of a suite as one: names are there once, and whatever a test names is there. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from faultkit.agents.model import AgentTest, Provider, Suite, SuiteFault, SuiteServer, ToolTest
from faultkit.agents.parse.faults import written_at
from faultkit.agents.parse.part import Part
from faultkit.agents.parse.sheet import Found
from faultkit.agents.parse.targets import inventories, missed_by, missing_tools, problems_of
from faultkit.base.documents.shape import advice, shown
from faultkit.mcp.targets import Inventory

Named = TypeVar("Named", SuiteServer, SuiteFault, Provider)


def joined_suite(parts: Sequence[Part], files: Iterable[str]) -> Suite:
    """The first part is the suite's own file. Mistakes are noted at the sheets of the parts."""
    root = parts[0]
    servers = _once([found for part in parts for found in part.servers], "server")
    faults = _once([found for part in parts for found in part.faults], "fault")
    providers = _once([found for part in parts for found in part.providers], "provider")
    has = inventories([found.value for found in servers])
    usual = _usual_server(root, servers)
    agents = [_with_servers(found, usual) for part in parts for found in part.agents]
    tools = [_with_server(found, usual) for part in parts for found in part.tools]
    tests: list[Found[AgentTest | ToolTest]] = [*agents, *tools]
    _check_names(tests)
    sound = _sound_faults(faults, has)
    for found in tests:
        _check_injected(found, faults, sound, has)
        for path, problem in missing_tools(found.value, has):
            found.note(path, problem)
    return Suite(
        root.sheet.file,
        tuple(found.value for found in servers),
        tuple(found.value for found in faults),
        tuple(found.value for found in agents),
        tuple(found.value for found in tools),
        tuple(found.value for found in providers),
        root.seed,
        tuple(files),
        frozenset(name for part in parts for name in part.sheet.used),
    )


def _once(found: list[Found[Named]], what: str) -> list[Found[Named]]:
    first: dict[str, Found[Named]] = {}
    for each in found:
        name = each.value.name
        if name in first:
            each.note("name" if _has_name(each) else "", _taken(what, name, first[name], each))
        elif name:
            first[name] = each
    return list(first.values())


def _has_name(found: Found[object]) -> bool:
    return isinstance(found.written, Mapping) and "name" in found.written


def _taken(what: str, name: str, first: Found[object], again: Found[object]) -> str:
    line = first.sheet.line_of(first.path)
    place = f"line {line}" if first.sheet is again.sheet else f"{first.sheet.file}: line {line}"
    return f"expected a name that no {what} before it has, got {shown(name)} again ({place} has it)"


def _check_names(tests: Sequence[Found[AgentTest | ToolTest]]) -> None:
    """Reports and filters know a test by its name, whatever it tests."""
    first: dict[str, Found[AgentTest | ToolTest]] = {}
    for found in tests:
        name = found.value.name
        if name in first:
            found.note("name", _taken("test", name, first[name], found))
        elif name:
            first[name] = found


def _usual_server(root: Part, servers: Sequence[Found[SuiteServer]]) -> str:
    """The one of tests that name none; empty if there is no one server to take."""
    names = [found.value.name for found in servers]
    chosen = root.default_server
    if chosen and chosen not in names:
        root.sheet.note("default_server", _no_server(chosen, names))
        return ""
    return chosen or (names[0] if len(names) == 1 else "")


def _with_servers(found: Found[AgentTest], usual: str) -> Found[AgentTest]:
    if found.value.servers:
        return found
    if not usual:
        found.note("servers", "expected at least one server: this suite has no default_server")
    return replace(found, value=replace(found.value, servers=(usual,) if usual else ()))


def _with_server(found: Found[ToolTest], usual: str) -> Found[ToolTest]:
    if found.value.server:
        return found
    if not usual:
        found.note("server", "expected a server: this suite has no default_server")
    return replace(found, value=replace(found.value, server=usual))


def _no_server(name: str, names: Iterable[str]) -> str:
    known = tuple(names)
    return f"no server is named {shown(name)}; {advice(name, known) if known else 'the suite has none'}"


def _sound_faults(faults: Sequence[Found[SuiteFault]], has: Mapping[str, Inventory]) -> set[str]:
    """The names of those whose targets are there."""
    sound = set()
    for found in faults:
        if not found.is_sound:
            continue
        before = len(found.sheet.problems)
        for error in problems_of(found.value, has):
            found.note(written_at(error.path, found.written), error.problem)
        if len(found.sheet.problems) == before:
            sound.add(found.value.name)
    return sound


def _check_injected(
    found: Found[AgentTest | ToolTest],
    faults: Sequence[Found[SuiteFault]],
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
