"""Timeouts on programs that are run and waited for."""

from __future__ import annotations

from faultkit.code.changes.python.codemod import Work, python_codemod
from faultkit.code.changes.python.keywords import add_keywords

TIMEOUT_S = 60.0
_RUNS = ("run", "call", "check_call", "check_output", "Popen.wait", "Popen.communicate")
_TABLE = {f"subprocess.{name}": ("timeout", str(TIMEOUT_S)) for name in _RUNS}


def _collect(work: Work) -> None:
    add_keywords(work, _TABLE)


CODEMOD = python_codemod(
    "subprocess-timeout", ("subprocess-without-timeout",), "give programs that are run a timeout", _collect
)
