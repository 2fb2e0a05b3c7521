"""Configuration files of MCP hosts, rewritten so that their servers run behind the gateway, and back. Pure.

Only the entries of servers change: all other bytes stay, with comments and trailing commas, which some hosts
allow. A rewritten entry keeps its former text, so that unwrapping restores the file to the byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from faultkit.base.documents.jsonc import replace_spans
from faultkit.base.errors import InputError
from faultkit.mcp.gateway.gateway_run import HEADERS_VARIABLE
from faultkit.mcp.hosts.host_configs import Format
from faultkit.mcp.hosts.server_entries import (
    MARK,
    URL_KEYS,
    ServerEntry,
    entry_value,
    marked_text,
    server_entries,
    url_of,
)
from faultkit.mcp.targets import Target
from faultkit.plan import Plan

_HTTP_KEYS = (*URL_KEYS, "headers", "http_headers", "type", "transport")
_OWN_LOGIN = ("bearer_token_env_var", "env_http_headers", "scopes", "oauth_resource")
"""Keys of Codex for servers that it logs in to, or whose headers it takes from its environment."""


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
class Selection:
    """Which servers of a file are rewritten."""

    only: tuple[str, ...] = ()
    """Their names; empty: all."""
    project: str | None = None
    """The project that they belong to; None: all of the file, with those of all projects."""


_ALL = Selection()


@dataclass(frozen=True, slots=True)
class WrapResult:
    """A rewritten configuration."""

    text: str
    names: tuple[str, ...]
    """Servers whose entries changed."""
    notes: tuple[str, ...]
    was_untouched: bool
    """True if no server was behind the gateway before."""


def wrap_servers(
    text: str, wrapping: Wrapping, selection: Selection = _ALL, format: Format = "json"
) -> WrapResult:
    """Return the configuration with its servers behind the gateway; wrapped ones are wrapped anew."""
    entries = server_entries(text, format)
    changes, notes = [], []
    for entry in _chosen(entries, selection):
        value = entry.value if entry.was is None else entry_value(entry.was, entry, format)
        try:
            if entry.why_fixed is not None:
                raise ValueError(entry.why_fixed)
            wrapped = _gateway_entry(entry.name, value, wrapping, format)
        except ValueError as why:
            notes.append(f"{entry.label}: left as it is, {why}")
            continue
        changes.append((entry, marked_text(entry, wrapped, text, format)))
    return _rewrite(text, entries, changes, notes)


def unwrap_servers(text: str, selection: Selection = _ALL, format: Format = "json") -> WrapResult:
    """Return the configuration as it was before wrapping, to the byte."""
    entries = server_entries(text, format)
    wrapped = [entry for entry in _chosen(entries, selection) if entry.is_marked]
    return _rewrite(text, entries, [(entry, _checked_former_text(entry, format)) for entry in wrapped], [])


def check_servers(text: str, plan: Plan, format: Format = "json") -> None:
    """Raise InputError for a rule that names a server which the configuration does not have."""
    names = [entry.name for entry in server_entries(text, format)]
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
        raise error.at(f"{file}: {error.path}" if error.path else file) from None


def _rewrite(
    text: str, entries: list[ServerEntry], changes: list[tuple[ServerEntry, str]], notes: list[str]
) -> WrapResult:
    names = tuple(entry.label for entry, new in changes if new != entry.text)
    was_untouched = all(entry.was is None for entry in entries)
    text = replace_spans(text, [(entry.begin, entry.end, new) for entry, new in changes])
    return WrapResult(text, names, tuple(notes), was_untouched)


def _chosen(entries: list[ServerEntry], selection: Selection) -> list[ServerEntry]:
    if selection.project is not None:
        projects = dict.fromkeys(entry.project for entry in entries if entry.project is not None)
        if selection.project not in projects:
            listed = ", ".join(projects) or "none"
            problem = f"expected a project that has servers (projects: {listed}), got {selection.project}"
            raise InputError("--project", problem)
        entries = [entry for entry in entries if entry.project == selection.project]
    known = dict.fromkeys(entry.name for entry in entries)
    for name in selection.only:
        if name not in known:
            raise InputError("--only", f'there is no server "{name}" (servers: {", ".join(known) or "none"})')
    return [entry for entry in entries if not selection.only or entry.name in selection.only]


def _checked_former_text(entry: ServerEntry, format: Format) -> str:
    """Return the former text. Raises InputError if it was edited and is not an entry any more."""
    if entry.was is None:
        raise InputError(f"{entry.name}.{MARK}.was", "expected the text of the entry as it was, got none")
    entry_value(entry.was, entry, format)
    return entry.was


def _gateway_entry(name: str, value: dict[str, Any], wrapping: Wrapping, format: Format) -> dict[str, Any]:
    """Return the entry of a gateway in front of a server. Raises ValueError if there cannot be one."""
    program, *words = wrapping.program
    words += ["gateway", "--name", name, *_flags(name, wrapping)]
    command, url = value.get("command"), url_of(value)
    if isinstance(command, str) and command:
        changed = {"command": program, "args": [*words, "--", command, *_arguments(value)]}
        # Keys stay in their order.
        return {key: changed.get(key, value[key]) for key in value} | changed
    if isinstance(command, dict) and isinstance(path := command.get("path"), str) and path:
        # The older form of Zed.
        inner = {"path": program, "args": [*words, "--", path, *_arguments(command)]}
        return {**value, "command": {**command, **inner}}
    if url:
        kind = value.get("type", value.get("transport", "http"))
        if kind not in ("http", "streamable-http", "streamableHttp"):
            raise ValueError(f'transport "{kind}" is not supported (use streamable HTTP or stdio)')
        if own := next((key for key in _OWN_LOGIN if key in value), None):
            raise ValueError(f"its {own} needs the client: run a gateway over HTTP in front of it")
        rest = {key: kept for key, kept in value.items() if key not in _HTTP_KEYS}
        kind_key = {"type": "stdio"} if format == "json" else {}
        changed = {"command": program, "args": [*words, "--upstream", url, "--front", "stdio"]}
        return {**kind_key, **changed, **rest, **_environment(value, rest)}
    raise ValueError("it has neither a command nor a url")


def _arguments(value: dict[str, Any]) -> list[str]:
    args = value.get("args", [])
    if not isinstance(args, list) or not all(isinstance(word, str) for word in args):
        raise ValueError("its args are not a list of texts")
    return args


def _environment(value: dict[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    """Return headers as an environment variable: they are often secret, and command lines are public."""
    headers = value.get("headers", value.get("http_headers"))
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
