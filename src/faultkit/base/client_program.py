"""A client program under test: its command, its environment, its process, and what it printed last.

It knows neither the protocol that the client speaks nor the server that it talks to.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from faultkit.base.address import LOOPBACK_NAMES
from faultkit.base.external_program import Program
from faultkit.base.text import escaped_line

_NO_PROXY = ("NO_PROXY", "no_proxy")
_PROC = Path("/proc")
_MOST_CHARACTERS = 200
"""Length to which the last line of the output is cut."""


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


def ended_how(code: int) -> str:
    """Return how a process ended, in words."""
    return f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"


def last_words(exit_code: int | None, stdout: str, stderr: str) -> str:
    """Return the last line of the output, or of the errors if the client failed or printed nothing."""
    texts: Sequence[str] = (stdout, stderr) if exit_code == 0 else (stderr, stdout)
    for text in texts:
        # Strip the frame that Python draws around the traceback of an exception group.
        lines = [line.strip(" \t|+-") for line in text.splitlines()]
        readable = [line for line in lines if any(sign.isalnum() for sign in line)]
        if readable:
            # What a client prints must not control the terminal that shows it.
            return escaped_line(readable[-1])[:_MOST_CHARACTERS]
    return ""


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
