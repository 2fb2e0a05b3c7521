"""How a program ended and what it printed last, in words. Pure.

For reports on programs under test. It does not know how they were run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from faultkit.base.text import escaped_line

_NAMES_AN_ERROR = re.compile(r"[\w.]*(?:Error|Exception)\b")
_MOST_CHARACTERS = 200
"""Length to which the last line of the output is cut."""


def ended_how(code: int) -> str:
    """Return how a process ended, in words."""
    return f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"


def last_words(exit_code: int | None, stdout: str, stderr: str) -> str:
    """Return the last line of the output, or of the errors if the client failed or printed nothing.

    Of the errors it is the last line that names one, if there is any: Node.js prints its stack and its
    version after it."""
    texts: Sequence[str] = (stdout, stderr) if exit_code == 0 else (stderr, stdout)
    for text in texts:
        # Strip the frame that Python draws around the traceback of an exception group.
        lines = [line.strip(" \t|+-") for line in text.splitlines()]
        readable = [line for line in lines if any(sign.isalnum() for sign in line)]
        if exit_code != 0:
            readable = [line for line in readable if _NAMES_AN_ERROR.match(line)] or readable
        if readable:
            # What a client prints must not control the terminal that shows it.
            return escaped_line(readable[-1])[:_MOST_CHARACTERS]
    return ""
