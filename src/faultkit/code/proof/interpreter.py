"""The interpreter of a project: the one in which the packages of its service are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from faultkit.base.errors import InputError

_ENVIRONMENT_FOLDERS = (".venv", "venv")
_TOOLS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("poetry.lock", ("poetry", "env", "info", "--executable")),
    ("Pipfile", ("pipenv", "--py")),
    ("pdm.lock", ("pdm", "info", "--python")),
)
"""Files of tools that keep environments elsewhere, and the command that prints a project's interpreter."""
_TOOL_S = 20.0


def interpreter_of(file: Path, given: str | None, env: Mapping[str, str]) -> str:
    """Return the interpreter that runs a Python file.

    It is the given one, a path or a name on the PATH; or that of the virtual environment of its project:
    `.venv` or `venv` beside the file or above it, UV_PROJECT_ENVIRONMENT, or what poetry, pipenv or pdm
    name; or that of VIRTUAL_ENV or CONDA_PREFIX; or that of this process."""
    if given is not None:
        return os.path.abspath(given) if os.path.dirname(given) else given
    return next(_interpreters(file, env), sys.executable)


def check_interpreter(given: str) -> None:
    """Raise InputError if a path, or a name on the PATH, is no program."""
    if shutil.which(given) is None:
        raise InputError("--python", f'expected an interpreter, a path or a name on the PATH, got "{given}"')


def _interpreters(file: Path, env: Mapping[str, str]) -> Iterator[str]:
    folder = file.absolute().parent
    above = (folder, *folder.parents)
    places = [each / name for each in above for name in _ENVIRONMENT_FOLDERS]
    if env.get("UV_PROJECT_ENVIRONMENT"):
        # A relative one is beside the project's pyproject.toml.
        root = next((each for each in above if (each / "pyproject.toml").exists()), folder)
        places.insert(0, root / env["UV_PROJECT_ENVIRONMENT"])
    yield from _in_environments(places)
    for each in above:
        for name, command in _TOOLS:
            if (each / name).exists():
                yield from _told_by(command, each, env)
    yield from _in_environments(
        [Path(env[name]) for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if env.get(name)]
    )


def _in_environments(places: list[Path]) -> Iterator[str]:
    # Not resolved: a link to the system's interpreter stands for the environment that it is in.
    found = (place / "bin" / "python" for place in places)
    return (str(each) for each in found if os.access(each, os.X_OK))


def _told_by(command: tuple[str, ...], folder: Path, env: Mapping[str, str]) -> Iterator[str]:
    """Yield the interpreter that a tool prints, if the tool is there and knows one."""
    program = shutil.which(command[0], path=env.get("PATH"))
    if program is None:
        return
    try:
        seen = subprocess.run(
            [program, *command[1:]],
            cwd=folder,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TOOL_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return
    path = seen.stdout.strip().splitlines()[-1:]
    if seen.returncode == 0 and path and os.access(path[0], os.X_OK):
        yield path[0]
