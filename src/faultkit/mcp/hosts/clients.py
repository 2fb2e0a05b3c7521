"""MCP hosts that can start our server, and the entry that each wants in its configuration. Pure.

One row a host: where its file is, in which form, and how it names a variable of the environment. Reading and
writing files is not done here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import PurePath
from typing import Any, Literal, TypeAlias

from faultkit.base.documents.jsonc import read_jsonc
from faultkit.base.errors import InputError
from faultkit.mcp.hosts.jsonc_edit import with_member, without_member
from faultkit.mcp.hosts.toml_text import read_toml, toml_table, with_table, without_table

Scope: TypeAlias = Literal["user", "project"]
NAME = "fault"
"""What our server is called unless the user says otherwise."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")


@dataclass(frozen=True, slots=True)
class Host:
    name: str
    title: str
    user: str
    """The path of the user's file, from one of the places of `Places`."""
    project: str | None = None
    """The path in a project; None if the host has none."""
    key: str = "mcpServers"
    format: Literal["json", "toml"] = "json"
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What an entry has besides the command."""
    variable: str | None = None
    """How a value names a variable of the host's environment; None if it cannot, or has `env_vars`."""
    forwards: bool = False
    """Has a list `env_vars` of variables that are passed on."""
    then: str = "restart it"
    """What to do for the change to be seen."""
    adds_by: str | None = None
    """The host's own command, up to the name of the server."""


HOSTS: dict[str, Host] = {
    host.name: host
    for host in (
        Host(
            "cursor",
            "Cursor",
            "{home}/.cursor/mcp.json",
            ".cursor/mcp.json",
            variable="${{env:{name}}}",
            then="turn it on in its MCP settings",
        ),
        Host(
            "claude",
            "Claude Code",
            "{home}/.claude.json",
            ".mcp.json",
            extra={"type": "stdio"},
            variable="${{{name}}}",
            then="start a new session, and look at /mcp",
            adds_by="claude mcp add --scope {scope}",
        ),
        Host("claude-desktop", "Claude Desktop", "{config}/Claude/claude_desktop_config.json"),
        Host(
            "vscode",
            "VS Code",
            "{config}/Code/User/mcp.json",
            ".vscode/mcp.json",
            key="servers",
            extra={"type": "stdio"},
            variable="${{env:{name}}}",
            then="start it with `MCP: List Servers`",
        ),
        Host(
            "windsurf",
            "Windsurf",
            "{home}/.codeium/windsurf/mcp_config.json",
            variable="${{env:{name}}}",
            then="refresh its list of MCP servers",
        ),
        Host(
            "zed",
            "Zed",
            "{zed}/settings.json",
            ".zed/settings.json",
            key="context_servers",
            then="look at its list of MCP servers",
        ),
        Host(
            "codex",
            "Codex",
            "{codex}/config.toml",
            ".codex/config.toml",
            key="mcp_servers",
            format="toml",
            forwards=True,
            then="start a new session, and look at /mcp",
        ),
        Host(
            "gemini",
            "Gemini CLI",
            "{home}/.gemini/settings.json",
            ".gemini/settings.json",
            variable="${{{name}}}",
            then="start a new session, and look at /mcp",
        ),
        Host(
            "kiro",
            "Kiro",
            "{home}/.kiro/settings/mcp.json",
            ".kiro/settings/mcp.json",
            variable="${{{name}}}",
            then="look at its list of MCP servers",
        ),
        Host(
            "copilot",
            "GitHub Copilot CLI",
            "{copilot}/mcp-config.json",
            extra={"type": "stdio", "tools": ("*",)},
            then="start a new session, and look at /mcp show",
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Places:
    """Where this user on this machine keeps things."""

    platform: str
    """As `sys.platform` has it."""
    home: str
    env: Mapping[str, str]

    def fill(self, template: str) -> str:
        return template.format(
            home=self.home,
            config=self._config(),
            zed=self._zed(),
            codex=self.env.get("CODEX_HOME") or f"{self.home}/.codex",
            copilot=self.env.get("COPILOT_HOME") or f"{self.home}/.copilot",
        )

    def _config(self) -> str:
        if self.platform == "darwin":
            return f"{self.home}/Library/Application Support"
        if self.platform == "win32":
            return self.env.get("APPDATA") or f"{self.home}/AppData/Roaming"
        return self._xdg()

    def _zed(self) -> str:
        return f"{self._config()}/Zed" if self.platform == "win32" else f"{self._xdg()}/zed"

    def _xdg(self) -> str:
        return self.env.get("XDG_CONFIG_HOME") or f"{self.home}/.config"


def host_named(name: str) -> Host:
    host = HOSTS.get(name.strip().lower())
    if host is None:
        near = get_close_matches(name.lower(), HOSTS, n=1)
        hint = f'; did you mean "{near[0]}"?' if near else ""
        raise InputError("CLIENT", f'expected one of {", ".join(HOSTS)}, got "{name}"{hint}')
    return host


def config_path(host: Host, scope: Scope, places: Places, project: str) -> str:
    """Of the file that holds the entry."""
    if scope == "user":
        return str(PurePath(places.fill(host.user)))
    if host.project is None:
        raise InputError("--scope", f"expected user, since {host.title} has no file in projects, got project")
    return str(PurePath(project) / host.project)


def entry_of(host: Host, command: Sequence[str], env: Mapping[str, str | None]) -> dict[str, Any]:
    """What the host needs to start `command`. A variable without a value is taken from the host's own
    environment, if the host can do that."""
    for name in env:
        if not _VARIABLE.fullmatch(name):
            raise InputError("--env", f'expected NAME=VALUE or NAME, got "{name}"')
    passed = [name for name, value in env.items() if value is None]
    if passed and not host.forwards and host.variable is None:
        raise InputError(
            "--env", f"expected {passed[0]}=VALUE, since {host.title} cannot be told to look it up, got none"
        )
    extra = {key: list(value) if isinstance(value, tuple) else value for key, value in host.extra.items()}
    entry: dict[str, Any] = {**extra, "command": command[0], "args": list(command[1:])}
    values = {
        name: (host.variable or "").format(name=name) if value is None else value
        for name, value in env.items()
        if value is not None or not host.forwards
    }
    if values:
        entry["env"] = values
    if passed and host.forwards:
        entry["env_vars"] = passed
    return entry


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise InputError("--name", f'expected letters, digits, "-" and "_", got "{name}"')
    return name


def fragment(host: Host, name: str, entry: Mapping[str, Any]) -> str:
    """The entry with what has to stand around it, to be pasted."""
    if host.format == "toml":
        return toml_table((host.key, name), entry)
    return json.dumps({host.key: {name: entry}}, indent=2, ensure_ascii=False) + "\n"


def with_entry(host: Host, text: str, name: str, entry: Mapping[str, Any]) -> str:
    """The host's file with our entry. What a user added to it stays, and so does everything else; the same
    text if it is all there already. Raises ValueError if the text cannot be read or changed."""
    there = _entry_there(host, text, name)
    wanted = _merged(there or {}, entry)
    if there == wanted:
        return text
    if host.format == "toml":
        return with_table(text, (host.key, name), wanted)
    if there is None:
        return with_member(text, (host.key, name), wanted)
    for key, value in wanted.items():
        if there.get(key) != value:
            text = with_member(text, (host.key, name, key), value)
    return text


def without_entry(host: Host, text: str, name: str) -> str:
    """The host's file without our entry; the same text if it is not there."""
    if _entry_there(host, text, name) is None:
        return text
    take_away = without_table if host.format == "toml" else without_member
    return take_away(text, (host.key, name))


def _entry_there(host: Host, text: str, name: str) -> dict[str, Any] | None:
    whole = read_toml(text) if host.format == "toml" else read_jsonc(text)
    if not isinstance(whole, dict):
        raise ValueError("expected an object, got something else")
    entries = whole.get(host.key, {})
    if not isinstance(entries, dict):
        raise ValueError(f"expected {host.key} to hold entries by name, got something else")
    if name not in entries:
        return None
    there = entries[name]
    args = there.get("args") if isinstance(there, dict) else None
    if not isinstance(args, list) or "agent" not in args or "tool" not in args:
        raise ValueError(
            f"expected {host.key}.{name} to be an entry of ours, got one that starts something else: "
            "use another name with --name"
        )
    assert isinstance(there, dict)
    return there


def _merged(there: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**there, **entry}
    if isinstance(there.get("env"), dict) and "env" in entry:
        merged["env"] = {**there["env"], **entry["env"]}
    if isinstance(there.get("env_vars"), list) and "env_vars" in entry:
        merged["env_vars"] = [
            *there["env_vars"],
            *(x for x in entry["env_vars"] if x not in there["env_vars"]),
        ]
    return merged
