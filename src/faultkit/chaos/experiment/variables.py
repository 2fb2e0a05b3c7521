"""`${NAME}` and `${NAME:-otherwise}` in the texts of a document, from the environment. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from faultkit.base.documents.shape import joined
from faultkit.base.errors import InputError

_VARIABLE = re.compile(r"\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def filled(value: Any, env: Mapping[str, str], problems: list[InputError], path: str = "") -> Any:
    """The same document with its variables filled in. `$$` is a dollar sign. Keys stay as they are."""
    if isinstance(value, str):
        return _filled(value, env, problems, path)
    if isinstance(value, Mapping):
        return {key: filled(each, env, problems, joined(path, key)) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, env, problems, f"{path}[{index}]") for index, each in enumerate(value)]
    return value


def _filled(text: str, env: Mapping[str, str], problems: list[InputError], path: str) -> str:
    def one(match: re.Match[str]) -> str:
        name, otherwise = match[1], match[2]
        if name is None:
            return "$"
        # As a shell has it: what is set to nothing counts as not set where there is something else.
        found = env.get(name) or otherwise if otherwise is not None else env.get(name)
        if found is None:
            problem = f"expected the variable {name} to be set, or ${{{name}:-otherwise}}"
            problems.append(InputError(path, problem))
            return match[0]
        return found

    return _VARIABLE.sub(one, text)
