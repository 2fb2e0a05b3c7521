"""MCP hosts: where their configuration files are, where servers are in them, the form of an entry. Pure.

One row per host, for `fault agent install`, which adds an entry of Faultkit's own server, and `fault gateway
wrap`, which rewrites all entries. Files are read and written elsewhere.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Literal, TypeAlias

from faultkit.base.documents.jsonc import read_jsonc, remove_member, set_member
from faultkit.base.errors import InputError
from faultkit.base.text import did_you_mean
from faultkit.mcp.hosts.toml_text import read_toml, toml_table, with_table, without_table

Scope: TypeAlias = Literal["user", "project"]
Format: TypeAlias = Literal["json", "toml"]
NAME = "fault"
"""Default name of the server in a configuration."""
BACKUP_SUFFIX = ".before-fault"
"""Added to the name of a file for the copy that is made before it is changed."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")


@dataclass(frozen=True, slots=True)
class Host:
    """An MCP host: where its configuration is, and the form of an entry."""

    name: str
    title: str
    user: str
    """Path of the user's file, with a place of `Places` in braces."""
    project: str | None = None
    """Path of the file within a project; None if the host has none."""
    key: str = "mcpServers"
    also: tuple[tuple[str, ...], ...] = ()
    """Paths to more servers in its files, in which `*` stands for any key."""
    format: Format = "json"
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Members of an entry besides the command."""
    variable: str | None = None
    """Form in which a value refers to a variable of the host's environment; None if there is none."""
    forwards: bool = False
    """True if entries have a list `env_vars` of variables to pass on."""
    then: str = "restart it"
    """What the user has to do for the change to take effect."""
    adds_by: str | None = None
    """The host's own command for adding a server, up to the server's name."""


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
            # `claude mcp add` puts servers there unless it is given a scope.
            also=(("projects", "*", "mcpServers"),),
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
            also=(("mcp", "servers"),),
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
            # It reads `.github/mcp.json` as well.
            ".mcp.json",
            extra={"type": "stdio", "tools": ("*",)},
            then="start a new session, and look at /mcp show",
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of this user on this machine."""

    platform: str
    """Value of `sys.platform`."""
    home: str
    env: Mapping[str, str]

    def fill(self, template: str) -> str:
        """Return a path of `Host.user` with its place filled in."""
        return template.format(
            home=self.home,
            config=self._config(),
            zed=f"{self._config()}/Zed" if self.platform == "win32" else f"{self._xdg()}/zed",
            codex=self.env.get("CODEX_HOME") or f"{self.home}/.codex",
            copilot=self.env.get("COPILOT_HOME") or f"{self.home}/.copilot",
        )

    def _config(self) -> str:
        if self.platform == "darwin":
            return f"{self.home}/Library/Application Support"
        if self.platform == "win32":
            return self.env.get("APPDATA") or f"{self.home}/AppData/Roaming"
        return self._xdg()

    def _xdg(self) -> str:
        return self.env.get("XDG_CONFIG_HOME") or f"{self.home}/.config"


def server_homes(format: Format) -> tuple[tuple[str, ...], ...]:
    """Return the paths to servers in files of a format, in which `*` stands for any key."""
    hosts = [host for host in HOSTS.values() if host.format == format]
    return tuple(dict.fromkeys(home for host in hosts for home in ((host.key,), *host.also)))


def format_of(file: str) -> Format:
    """Return the format of a configuration file, by the ending of its name."""
    return "toml" if PurePath(file).suffix.lower() == ".toml" else "json"


def host_named(name: str) -> Host:
    """Return a host by its name. Raises InputError for a name that is not in `HOSTS`."""
    host = HOSTS.get(name.strip().lower())
    if host is None:
        hint = did_you_mean(name.lower(), HOSTS)
        raise InputError("CLIENT", f'expected one of {", ".join(HOSTS)}, got "{name}"{hint}')
    return host


def config_path(host: Host, scope: Scope, places: Places, project: str) -> str:
    """Return the path of the file that holds the entry."""
    if scope == "user":
        return str(PurePath(places.fill(host.user)))
    if host.project is None:
        raise InputError("--scope", f"expected user, since {host.title} has no file in projects, got project")
    return str(PurePath(project) / host.project)


def entry_of(host: Host, command: Sequence[str], env: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the entry with which a host starts `command`.

    A variable without a value is taken from the host's own environment, if the host supports that."""
    for name in env:
        if not _VARIABLE.fullmatch(name):
            raise InputError("--env", f'expected NAME=VALUE or NAME, got "{name}"')
    passed = [name for name, value in env.items() if value is None]
    if passed and not host.forwards and host.variable is None:
        raise InputError(
            "--env",
            f"expected {passed[0]}=VALUE, since {host.title} cannot take it from its environment, got none",
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
    """Return the name of an entry. Raises InputError if some host would not accept it."""
    if not _NAME.fullmatch(name):
        raise InputError("--name", f'expected letters, digits, "-" and "_", got "{name}"')
    return name


def adding_command(host: Host, scope: Scope, name: str, entry: Mapping[str, Any]) -> str | None:
    """Return the host's own command line that adds the entry; None if there is none that adds all of it."""
    if host.adds_by is None or entry.get("env"):
        return None
    words = shlex.split(host.adds_by.format(scope=scope))
    return shlex.join([*words, name, "--", entry["command"], *entry["args"]])


def variables_of(words: Iterable[str]) -> dict[str, str | None]:
    """Return the variables of NAME=VALUE and NAME; the value of the latter is None."""
    pairs = (word.partition("=") for word in words)
    return {name: value if has_value else None for name, has_value, value in pairs}


def fragment(host: Host, name: str, entry: Mapping[str, Any]) -> str:
    """Return the entry with the text around it, for pasting."""
    if host.format == "toml":
        return toml_table((host.key, name), entry)
    return json.dumps({host.key: {name: entry}}, indent=2, ensure_ascii=False) + "\n"


def with_entry(host: Host, text: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return the file's text with the entry set; members that the user added to it, and all other text, stay.

    Raises ValueError if the text cannot be parsed or changed."""
    there = _entry_there(host, text, name)
    wanted = _merged(there or {}, entry)
    if there == wanted:
        return text
    if host.format == "toml":
        return with_table(text, (host.key, name), wanted)
    if there is None:
        return set_member(text, (host.key, name), wanted)
    for key, value in wanted.items():
        if there.get(key) != value:
            text = set_member(text, (host.key, name, key), value)
    return text


def without_entry(host: Host, text: str, name: str) -> str:
    """Return the file's text without the entry."""
    if _entry_there(host, text, name) is None:
        return text
    take_away = without_table if host.format == "toml" else remove_member
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
