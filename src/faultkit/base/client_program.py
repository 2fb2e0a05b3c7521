"""A client program under test: its command, its environment and its process.

It knows neither the protocol that the client speaks nor the server that it talks to.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from faultkit.base.address import LOOPBACK_NAMES
from faultkit.base.external_program import Program

_NO_PROXY = ("NO_PROXY", "no_proxy")
_PROC = Path("/proc")


class ClientProgram(Program):
    """A client whose process group can be inspected after its exit and before `ended` kills what is left of
    it."""

    async def exited(self) -> None:
        """Wait until the process has exited; its children may still run."""
        await self._exited.wait()

    @property
    def left(self) -> int:
        """The number of running processes in its group."""
        return 0 if self._transport is None else _running_in_group(self._transport.get_pid())


def argv_of(command: Sequence[str], values: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the command with its placeholders filled in.

    A word that is a placeholder becomes the words of its value; within a longer word it becomes one text,
    quoted for a shell.
    """
    argv: list[str] = []
    for word in command:
        if word in values:
            argv += values[word]
            continue
        for sign, value in values.items():
            word = word.replace(sign, shlex.join(value))
        argv.append(word)
    return argv


def loopback_variables() -> dict[str, str]:
    """Return the variables with which a client reaches this machine's loopback: an HTTP proxy of the user
    cannot."""
    return {
        variable: ",".join(part for part in (os.environ.get(variable, ""), *LOOPBACK_NAMES) if part)
        for variable in _NO_PROXY
    }


def _running_in_group(group: int) -> int:
    """Count the processes of a group that have not ended; 0 on systems without /proc."""
    count = 0
    for stat in _PROC.glob("[0-9]*/stat"):
        try:
            state, _, its_group = stat.read_text("latin-1").rpartition(")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        count += int(its_group) == group and state not in "ZX"
    return count
