"""Config files of MCP clients, rewritten so that their servers run behind the gateway, and back. Pure.

Only the entries of servers are touched: everything else keeps its bytes, with comments and trailing commas,
as some clients allow them. An entry that was rewritten keeps its former text under `_faultkit`, so that the
file can always be turned back to what it was, to the byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from faultkit.base.documents.jsonc import Value, kind_of, parse_jsonc
from faultkit.base.errors import InputError
from faultkit.mcp.targets import Target
from faultkit.plan import Plan

MARK = "_faultkit"
HEADERS_VARIABLE = "FAULT_GATEWAY_HEADERS"
_HOMES = (("mcpServers",), ("servers",), ("mcp", "servers"))
_OF_HTTP = ("url", "headers", "type", "transport")


@dataclass(frozen=True, slots=True)
class Wrapping:
    """How the gateways are called."""

    program: tuple[str, ...] = ("fault",)
    faults: tuple[str, ...] = ()
    plan_file: str | None = None
    plan: Plan = Plan()  # noqa: RUF009
    """What `faults` and `plan_file` say, to know which rules are for which server."""
    seed: str | None = None
    record: str | None = None
    """A folder for a recording of each server."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    text: str
    names: tuple[str, ...]
    """Of the servers whose entries are others now than before."""
    notes: tuple[str, ...]
    was_untouched: bool
    """No server stood behind the gateway before."""


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    begin: int
    end: int
    text: str
    value: dict[str, Any]


def wrap(text: str, wrapping: Wrapping, only: Iterable[str] = ()) -> Rewritten:
    """The config with its servers behind the gateway; those that were there already, anew."""
    changes, notes = [], []
    for entry in _chosen(text, only):
        former = _former(entry)
        value = entry.value if former is None else _parsed(former, f"{entry.name}.{MARK}").plain
        try:
            wrapped = _behind(entry.name, value, wrapping)
        except ValueError as why:
            notes.append(f"{entry.name}: left as it is, {why}")
            continue
        was = entry.text if former is None else former
        changes.append((entry, _laid_out({**wrapped, MARK: {"was": was}}, text, entry, was)))
    return _rewritten(text, changes, notes)


def unwrap(text: str, only: Iterable[str] = ()) -> Rewritten:
    """The config as it was, to the byte."""
    wrapped = [entry for entry in _chosen(text, only) if MARK in entry.value]
    return _rewritten(text, [(entry, _whole_former(entry)) for entry in wrapped], [])


def check_servers(text: str, plan: Plan) -> None:
    """InputError for a rule that names a server which the config does not have."""
    names = [entry.name for entry in _entries(text)]
    for index, rule in enumerate(plan.rules):
        if rule.match.server is not None:
            target = Target("match.server", "server", rule.match.server)
            if not target.is_among(names):
                raise InputError(f"rules[{index}].{target.path}", target.missed(names))


def _rewritten(text: str, changes: list[tuple[_Entry, str]], notes: list[str]) -> Rewritten:
    names = tuple(entry.name for entry, new in changes if new != entry.text)
    was_untouched = all(_former(entry) is None for entry in _entries(text))
    for entry, new in sorted(changes, key=lambda change: change[0].begin, reverse=True):
        text = text[: entry.begin] + new + text[entry.end :]
    return Rewritten(text, names, tuple(notes), was_untouched)


def _chosen(text: str, only: Iterable[str]) -> list[_Entry]:
    entries = _entries(text)
    wanted = tuple(only)
    known = [entry.name for entry in entries]
    for name in wanted:
        if name not in known:
            raise InputError("--only", f'there is no server "{name}" (servers: {", ".join(known) or "none"})')
    return [entry for entry in entries if not wanted or entry.name in wanted]


def _entries(text: str) -> list[_Entry]:
    whole = _parsed(text, "")
    found = []
    homes = [(".".join(home), servers) for home in _HOMES if (servers := _at(whole, home)) is not None]
    if not homes:
        raise InputError("", 'expected an object "mcpServers" or "servers", got neither')
    for path, servers in homes:
        if not isinstance(servers.plain, dict):
            raise InputError(path, f"expected an object of servers, got {kind_of(servers.plain)}")
        for name, each in ((member.key, member.value) for member in servers.members):
            if not isinstance(each.plain, dict):
                raise InputError(f"{path}.{name}", f"expected an object, got {kind_of(each.plain)}")
            found.append(_Entry(name, each.start, each.end, text[each.start : each.end], each.plain))
    return found


def _at(whole: Value, home: tuple[str, ...]) -> Value | None:
    found: Value | None = whole
    for key in home:
        found = None if found is None else found.get(key)
    return found


def _parsed(text: str, path: str) -> Value:
    try:
        # A key that is there twice would be lost in what is written.
        value = parse_jsonc(text, once=True)
    except ValueError as error:
        raise InputError(path, str(error)) from None
    if not isinstance(value.plain, dict):
        raise InputError(path, f"expected an object, got {kind_of(value.plain)}")
    return value


def _former(entry: _Entry) -> str | None:
    mark = entry.value.get(MARK)
    was = mark.get("was") if isinstance(mark, dict) else None
    return was if isinstance(was, str) else None


def _whole_former(entry: _Entry) -> str:
    """InputError if it would not be an entry again: somebody has changed it."""
    former, path = _former(entry), f"{entry.name}.{MARK}.was"
    if former is None:
        raise InputError(path, "expected the text of the entry as it was, got none")
    _parsed(former, path)
    return former


def _behind(name: str, value: dict[str, Any], wrapping: Wrapping) -> dict[str, Any]:
    """The entry of the gateway in front of a server. ValueError if there can be none."""
    program, *words = wrapping.program
    words += ["gateway", "--name", name, *_flags(name, wrapping)]
    command, url = value.get("command"), value.get("url")
    if isinstance(command, str) and command:
        args = value.get("args", [])
        if not isinstance(args, list) or not all(isinstance(word, str) for word in args):
            raise ValueError("its args are not a list of texts")
        changed = {"command": program, "args": [*words, "--", command, *args]}
        # In the place that they had.
        return {key: changed.get(key, value[key]) for key in value} | changed
    if isinstance(url, str) and url:
        kind = value.get("type", value.get("transport", "http"))
        if kind not in ("http", "streamable-http", "streamableHttp"):
            raise ValueError(f'nobody here speaks "{kind}"')
        rest = {key: kept for key, kept in value.items() if key not in _OF_HTTP}
        changed = {"command": program, "args": [*words, "--upstream", url, "--front", "stdio"]}
        return {"type": "stdio", **changed, **rest, **_environment(value, rest)}
    raise ValueError("it has neither a command nor a url")


def _environment(value: dict[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    """Headers often are secrets, and everybody can see the arguments of a process."""
    headers = value.get("headers")
    if not isinstance(headers, dict) or not headers:
        return {}
    lines = "\n".join(f"{name}: {content}" for name, content in headers.items())
    env = rest.get("env")
    return {"env": {**(env if isinstance(env, dict) else {}), HEADERS_VARIABLE: lines}}


def _flags(name: str, wrapping: Wrapping) -> list[str]:
    words = [word for spec in wrapping.faults for word in ("--fault", spec)]
    if wrapping.plan_file is not None:
        words += ["--plan", wrapping.plan_file]
    globs = [rule.match.server for rule in wrapping.plan.rules]
    if any(glob is not None and not fnmatchcase(name, glob) for glob in globs):
        words.append("--shared-plan")
    if wrapping.seed is not None:
        words += ["--seed", wrapping.seed]
    if wrapping.record is not None:
        file = re.sub(r"[^\w.-]", "_", name)
        words += ["--record", f"{wrapping.record}/{file}-*.jsonl"]
    return words


def _laid_out(value: dict[str, Any], text: str, entry: _Entry, was: str) -> str:
    """As the file is laid out: in one line where the entry was, else with its own indent."""
    if "\n" not in was:
        return json.dumps(value, ensure_ascii=False)
    line = text[text.rfind("\n", 0, entry.begin) + 1 : entry.begin]
    base = line[: len(line) - len(line.lstrip())]
    inner = re.search(r"\n([ \t]*)\S", was)
    step = inner[1].removeprefix(base) if inner is not None and inner[1] != base else "  "
    return json.dumps(value, ensure_ascii=False, indent=step or "  ").replace("\n", "\n" + base)
