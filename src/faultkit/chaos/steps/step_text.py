"""The work of a step in one line, for people: a command or a function with its arguments.

As in the file: values of variables, which may be secrets, are not filled in. Secrets that stand in the file
itself are masked by their names and shapes.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from faultkit.base.secret_names import is_secret_argument, is_secret_name
from faultkit.base.secrets import REDACTED, hide_secrets
from faultkit.base.text import one_line, shortened

_LONGEST = 200


def step_text(kind: str, written: Mapping[str, Any], says: str) -> str:
    """Return what a step does; `written` is the step as in its file, `says` the text without arguments."""
    given = written.get(kind)
    if kind == "process":
        command = given.get("command") if isinstance(given, Mapping) else given
        says = hide_secrets(f"run {_command_text(command)}")
    elif kind == "python" and isinstance(given, Mapping) and isinstance(given.get("arguments"), Mapping):
        arguments = (f"{name}={_value_text(name, value)}" for name, value in given["arguments"].items())
        says = f"{says}({', '.join(arguments)})"
    else:
        return says
    return shortened(one_line(says), _LONGEST)


def _command_text(command: object) -> str:
    if isinstance(command, str):
        return command
    parts = [str(part) for part in command] if isinstance(command, list | tuple) else []
    shown = [REDACTED if is_secret_argument(parts, index) else part for index, part in enumerate(parts)]
    return shown[0] if len(shown) == 1 else shlex.join(shown)


def _value_text(name: str, value: object) -> str:
    if is_secret_name(name):
        return REDACTED
    return hide_secrets(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
