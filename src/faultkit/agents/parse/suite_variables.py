"""The variables of a suite file: its own, those of the files that it imports, then the environment. Pure.

A text that is one variable, written without quotes, becomes the value with its type: a number stays a number.
`$${` stands for `${`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from faultkit.agents.parse.suite_source import SourceFile
from faultkit.base.documents.checks import join_path, shown
from faultkit.base.documents.variables import NAME, Variables

CONFIG_DIR = "CONFIG_DIR"
"""The variable that stands for the folder of the file that names it."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What variables stand for in one file."""

    variables: Mapping[str, Any]
    env: Mapping[str, str]
    config_dir: str


def read_variables(
    declared: object, scope: Scope, source: SourceFile, chosen: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the variables of the scope and those that the file declares, each with those above it filled in.

    Variables that were `chosen` from outside take precedence over those of the file."""
    found = {**scope.variables, **chosen}
    if declared is None:
        return found
    if not isinstance(declared, Mapping):
        source.note("variables", f"expected a mapping of names to values, got {shown(declared)}")
        return found
    for name, value in declared.items():
        path = join_path("variables", name)
        if not re.fullmatch(NAME, name) or name == CONFIG_DIR:
            source.note(path, "expected a name of letters, digits and underscores that is not taken")
        if name not in chosen:
            found[name] = fill(value, Scope(found, scope.env, scope.config_dir), source, path)
    return found


def fill(value: Any, scope: Scope, source: SourceFile, path: str = "") -> Any:
    """Return the same data with its variables filled in. Values of the environment are kept as secrets."""

    def on_use(name: str, where: str, from_env: str | None) -> None:
        source.used.add(name)
        if from_env is not None:
            source.secrets.keep(name, from_env, f"{source.file}:{where}")

    variables = Variables(
        {**scope.variables, CONFIG_DIR: scope.config_dir},
        scope.env,
        source.problems,
        escape="$${",
        keeps_type=source.is_bare,
        on_use=on_use,
    )
    return variables.fill(value, path)
