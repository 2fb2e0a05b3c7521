"""Configuration files of MCP hosts, rewritten so that their servers run behind the gateway, and back. Pure.

Only the entries of servers change: all other bytes stay, with comments and trailing commas, which some hosts
allow. A rewritten entry keeps its former text under `_faultkit`, so that unwrapping restores the file to the
byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from faultkit.base.documents.jsonc import JsoncValue, dumps_like, kind_of, parse_jsonc, replace_spans
from faultkit.base.errors import InputError
from faultkit.mcp.targets import Target
from faultkit.plan import Plan

MARK = "_faultkit"
"""Member of a rewritten entry that keeps the former text."""
HEADERS_VARIABLE = "FAULT_GATEWAY_HEADERS"
_SERVER_PATHS = (("mcpServers",), ("servers",), ("mcp", "servers"))
_HTTP_KEYS = ("url", "headers", "type", "transport")


@dataclass(frozen=True, slots=True)
class Wrapping:
    """The gateway command that each server is put behind."""

    program: tuple[str, ...] = ("fault",)
    faults: tuple[str, ...] = ()
    plan_file: str | None = None
    plan: Plan = Plan()  # noqa: RUF009
    """Rules of `faults` and `plan_file`, to know which apply to which server."""
    seed: str | None = None
    record: str | None = None
    """Folder for a recording of each server."""


@dataclass(frozen=True, slots=True)
class WrapResult:
    """A rewritten configuration."""

    text: str
    names: tuple[str, ...]
    """Servers whose entries changed."""
    notes: tuple[str, ...]
    was_untouched: bool
    """True if no server was behind the gateway before."""


@dataclass(frozen=True, slots=True)
class _ServerEntry:
    """The entry of one server, with its place in the text."""

    name: str
    begin: int
    end: int
    text: str
    value: dict[str, Any]


def wrap_servers(text: str, wrapping: Wrapping, only: Iterable[str] = ()) -> WrapResult:
    """Return the configuration with its servers behind the gateway; wrapped ones are wrapped anew."""
    changes, notes = [], []
    for entry in _chosen_entries(text, only):
        former = _former_text(entry)
        value = entry.value if former is None else _parse_object(former, f"{entry.name}.{MARK}").plain
        try:
            wrapped = _gateway_entry(entry.name, value, wrapping)
        except ValueError as why:
            notes.append(f"{entry.name}: left as it is, {why}")
            continue
        was = entry.text if former is None else former
        changes.append((entry, dumps_like({**wrapped, MARK: {"was": was}}, text, entry.begin, was)))
    return _rewrite(text, changes, notes)


def unwrap_servers(text: str, only: Iterable[str] = ()) -> WrapResult:
    """Return the configuration as it was before wrapping, to the byte."""
    wrapped = [entry for entry in _chosen_entries(text, only) if MARK in entry.value]
    return _rewrite(text, [(entry, _checked_former_text(entry)) for entry in wrapped], [])


def check_servers(text: str, plan: Plan) -> None:
    """Raise InputError for a rule that names a server which the configuration does not have."""
    names = [entry.name for entry in _entries(text)]
    for index, rule in enumerate(plan.rules):
        if rule.match.server is not None:
            target = Target("match.server", "server", rule.match.server)
            if not target.is_among(names):
                raise InputError(f"rules[{index}].{target.path}", target.missed(names))


@contextmanager
def errors_in(file: str) -> Iterator[None]:
    """Add the file's name to errors about its content; those about options and rules stay as they are."""
    try:
        yield
    except InputError as error:
        if error.path.startswith(("--", "rules[")):
            raise
        raise InputError(f"{file}: {error.path}" if error.path else file, error.problem) from None


def _rewrite(text: str, changes: list[tuple[_ServerEntry, str]], notes: list[str]) -> WrapResult:
    names = tuple(entry.name for entry, new in changes if new != entry.text)
    was_untouched = all(_former_text(entry) is None for entry in _entries(text))
    text = replace_spans(text, [(entry.begin, entry.end, new) for entry, new in changes])
    return WrapResult(text, names, tuple(notes), was_untouched)


def _chosen_entries(text: str, only: Iterable[str]) -> list[_ServerEntry]:
    entries = _entries(text)
    wanted = tuple(only)
    known = [entry.name for entry in entries]
    for name in wanted:
        if name not in known:
            raise InputError("--only", f'there is no server "{name}" (servers: {", ".join(known) or "none"})')
    return [entry for entry in entries if not wanted or entry.name in wanted]


def _entries(text: str) -> list[_ServerEntry]:
    document = _parse_object(text, "")
    found = []
    homes = [
        (".".join(home), servers)
        for home in _SERVER_PATHS
        if (servers := _value_at(document, home)) is not None
    ]
    if not homes:
        raise InputError("", 'expected an object "mcpServers" or "servers", got neither')
    for path, servers in homes:
        if not isinstance(servers.plain, dict):
            raise InputError(path, f"expected an object of servers, got {kind_of(servers.plain)}")
        for name, each in ((member.key, member.value) for member in servers.members):
            if not isinstance(each.plain, dict):
                raise InputError(f"{path}.{name}", f"expected an object, got {kind_of(each.plain)}")
            found.append(_ServerEntry(name, each.start, each.end, text[each.start : each.end], each.plain))
    return found


def _value_at(document: JsoncValue, home: tuple[str, ...]) -> JsoncValue | None:
    found: JsoncValue | None = document
    for key in home:
        found = None if found is None else found.get(key)
    return found


def _parse_object(text: str, path: str) -> JsoncValue:
    try:
        # Rewriting would lose a duplicate key.
        value = parse_jsonc(text, once=True)
    except ValueError as error:
        raise InputError(path, str(error)) from None
    if not isinstance(value.plain, dict):
        raise InputError(path, f"expected an object, got {kind_of(value.plain)}")
    return value


def _former_text(entry: _ServerEntry) -> str | None:
    mark = entry.value.get(MARK)
    was = mark.get("was") if isinstance(mark, dict) else None
    return was if isinstance(was, str) else None


def _checked_former_text(entry: _ServerEntry) -> str:
    """Return the former text. Raises InputError if it was edited and is not an entry any more."""
    former, path = _former_text(entry), f"{entry.name}.{MARK}.was"
    if former is None:
        raise InputError(path, "expected the text of the entry as it was, got none")
    _parse_object(former, path)
    return former


def _gateway_entry(name: str, value: dict[str, Any], wrapping: Wrapping) -> dict[str, Any]:
    """Return the entry of a gateway in front of a server. Raises ValueError if there cannot be one."""
    program, *words = wrapping.program
    words += ["gateway", "--name", name, *_flags(name, wrapping)]
    command, url = value.get("command"), value.get("url")
    if isinstance(command, str) and command:
        args = value.get("args", [])
        if not isinstance(args, list) or not all(isinstance(word, str) for word in args):
            raise ValueError("its args are not a list of texts")
        changed = {"command": program, "args": [*words, "--", command, *args]}
        # Keys stay in their order.
        return {key: changed.get(key, value[key]) for key in value} | changed
    if isinstance(url, str) and url:
        kind = value.get("type", value.get("transport", "http"))
        if kind not in ("http", "streamable-http", "streamableHttp"):
            raise ValueError(f'transport "{kind}" is not supported (use streamable HTTP or stdio)')
        rest = {key: kept for key, kept in value.items() if key not in _HTTP_KEYS}
        changed = {"command": program, "args": [*words, "--upstream", url, "--front", "stdio"]}
        return {"type": "stdio", **changed, **rest, **_environment(value, rest)}
    raise ValueError("it has neither a command nor a url")


def _environment(value: dict[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    """Return headers as an environment variable: they are often secret, and command lines are public."""
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
