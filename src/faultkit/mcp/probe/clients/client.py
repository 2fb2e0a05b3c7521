"""The client program: where it finds its server, and what it leaves behind."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from faultkit.agents.kinds.program import Program
from faultkit.base.http.listening import LOOPBACK

NAME = "faultkit"
"""Of the server, in the config."""
SERVER, URL, CONFIG = "{server}", "{url}", "{config}"
_NO_PROXY = ("NO_PROXY", "no_proxy")
_PROCESSES = Path("/proc")


class ClientProgram(Program):
    """One can look at what is left of its process group before that is ended too, by `ended`."""

    async def exited(self) -> None:
        await self._exited.wait()

    @property
    def left(self) -> int:
        """How many processes of its group are running."""
        return 0 if self._transport is None else _running_in_group(self._transport.get_pid())


def argv_of(command: Sequence[str], values: Mapping[str, Sequence[str]]) -> list[str]:
    """With what stands for the server filled in. A word that is a placeholder becomes the words of its value,
    one within a longer word becomes one text, quoted as a shell wants it."""
    argv: list[str] = []
    for word in command:
        if word in values:
            argv += values[word]
            continue
        for sign, value in values.items():
            word = word.replace(sign, shlex.join(value))
        argv.append(word)
    return argv


def environment_of(folder: Path, *, url: str = "", command: Sequence[str] = ()) -> tuple[dict[str, str], str]:
    """The client's environment, and its config file."""
    server: Mapping[str, object] = {"type": "http", "url": url}
    if not url:
        server = {"command": command[0], "args": list(command[1:])}
    config = folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {NAME: server}}, indent=2) + "\n", "utf-8")
    told = {"FAULT_MCP_CONFIG": str(config)}
    if url:
        told["FAULT_MCP_URL"] = url
    # A proxy of the user's cannot reach our loopback.
    for variable in _NO_PROXY:
        told[variable] = ",".join(part for part in (os.environ.get(variable, ""), *LOOPBACK) if part)
    return {**os.environ, **told}, str(config)


def _running_in_group(group: int) -> int:
    """Processes of it that have not ended; where the system does not tell them apart, none."""
    count = 0
    for stat in _PROCESSES.glob("[0-9]*/stat"):
        try:
            state, _, its_group = stat.read_text("latin-1").rpartition(")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        count += int(its_group) == group and state not in "ZX"
    return count
