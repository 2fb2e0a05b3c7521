"""`${NAME}` and `${NAME:-otherwise}` in the texts of a suite: its own variables, then the environment. Pure.

A text that is nothing but one variable, written without quotes, gets what the variable stands for with its
type: a number stays a number. `$${` is `${`. Keys stay as they are.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from faultkit.agents.parse.sheet import Sheet
from faultkit.base.documents.shape import joined, shown

CONFIG_DIR = "CONFIG_DIR"
"""The folder of the file that names it."""
NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_VARIABLE = re.compile(rf"\$(\$\{{)|\$\{{({NAME})(?::-([^}}]*))?\}}")


@dataclass(frozen=True, slots=True)
class Scope:
    """What variables stand for in one file."""

    variables: Mapping[str, Any]
    env: Mapping[str, str]
    config_dir: str


def read_variables(given: object, scope: Scope, sheet: Sheet, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the scope and those that a file declares, each with the ones above it filled in. What was
    `chosen` from outside goes before what a file says."""
    found = {**scope.variables, **chosen}
    if given is None:
        return found
    if not isinstance(given, Mapping):
        sheet.note("variables", f"expected a mapping of names to values, got {shown(given)}")
        return found
    for name, value in given.items():
        path = joined("variables", name)
        if not re.fullmatch(NAME, name) or name == CONFIG_DIR:
            sheet.note(path, "expected a name of letters, digits and underscores that is not taken")
        if name not in chosen:
            found[name] = filled(value, Scope(found, scope.env, scope.config_dir), sheet, path)
    return found


def filled(value: Any, scope: Scope, sheet: Sheet, path: str = "") -> Any:
    if isinstance(value, str):
        return _filled(value, scope, sheet, path) if "${" in value else value
    if isinstance(value, Mapping):
        return {key: filled(each, scope, sheet, joined(path, key)) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, scope, sheet, f"{path}[{index}]") for index, each in enumerate(value)]
    return value


def _filled(text: str, scope: Scope, sheet: Sheet, path: str) -> Any:
    whole = _VARIABLE.fullmatch(text)
    if whole is not None and whole[2] is not None:
        found = _value(whole, scope, sheet, path)
        if isinstance(found, list | Mapping):
            return found
        return _typed(found) if sheet.is_bare(path) else _written(found)

    def one(match: re.Match[str]) -> str:
        if match[1] is not None:
            return "${"
        found = _value(match, scope, sheet, path)
        if isinstance(found, list | Mapping):
            sheet.note(
                path, f"expected {match[2]} to be a text or a number within a text, got {shown(found)}"
            )
        return _written(found)

    return _VARIABLE.sub(one, text)


def _value(match: re.Match[str], scope: Scope, sheet: Sheet, path: str) -> Any:
    name, otherwise = match[2], match[3]
    sheet.used.add(name)
    if name == CONFIG_DIR:
        return scope.config_dir
    if name in scope.variables:
        return scope.variables[name]
    found = scope.env.get(name)
    # As a shell has it: what is set to nothing counts as not set where there is something else.
    if not found and otherwise is not None:
        return otherwise
    if found is None:
        sheet.note(path, f"expected the variable {name} to be set, or ${{{name}:-otherwise}}")
        return match[0]
    sheet.secrets.keep(name, found, f"{sheet.file}:{path}")
    return found


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _typed(value: Any) -> Any:
    """As YAML would have read it in that place."""
    if not isinstance(value, str):
        return value
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        return value
    if isinstance(read, float) and not math.isfinite(read):
        return value
    return value if isinstance(read, str | list | dict) else read
