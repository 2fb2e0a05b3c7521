"""Whether a command can be started at all, said before anything is."""

from __future__ import annotations

import os
import shutil

from faultkit.base.errors import InputError, TargetError


def check_program(name: str) -> None:
    """TargetError with what stands in the way."""
    if not name.strip():
        raise InputError("", f'expected a program behind --, got "{name}"')
    if shutil.which(name) is None:
        raise TargetError(f"cannot start {name}: {_why(name)}")


def _why(name: str) -> str:
    if os.path.isdir(name):
        return "it is a directory"
    if not os.path.isfile(name):
        return "there is no such program"
    if os.path.dirname(name):
        return "it is a file that may not be executed"
    return "it is no program on the path, only a file here: name what runs it, such as python, before it"
