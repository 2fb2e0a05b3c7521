"""`${NAME}` and `${NAME:-otherwise}` in the texts of a document, the one implementation. Pure.

A name stands for a value of the document's own, else for an environment variable. `otherwise` is used as a
shell does it: also for an environment variable that is set to nothing. Keys are left as they are. The
`${args.city}` of a mock's answers is another thing: a path into the arguments of each call, see
`faultkit.mcp.mock.expressions`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from faultkit.base.documents.checks import join_path, shown
from faultkit.base.errors import InputError

NAME = r"[A-Za-z_][A-Za-z0-9_]*"


class UnsetVariable(InputError):
    """A document needs a variable that is not set."""

    def __init__(self, path: str, name: str) -> None:
        super().__init__(path, f"expected the variable {name} to be set, or ${{{name}:-otherwise}}")
        self.name = name


class Variables:
    """What names stand for. Mistakes are added to `problems` with their paths.

    `escape` is the text that stands for itself without its first character: `$$` for a dollar sign, or `$${`
    where single dollar signs need no escape."""

    def __init__(
        self,
        values: Mapping[str, Any],
        env: Mapping[str, str],
        problems: list[InputError],
        *,
        escape: str = "$$",
        keeps_type: Callable[[str], bool] = lambda path: False,
        on_use: Callable[[str, str, str | None], None] = lambda name, path, value: None,
    ) -> None:
        self._values = values
        self._env = env
        self._problems = problems
        self._escape = escape
        self._keeps_type = keeps_type
        """Whether a text at a path that is one variable becomes the value with its type."""
        self._on_use = on_use
        """Called with each name that is used, its path, and its value if that came from the environment."""
        self._pattern = re.compile(rf"(?P<escape>{re.escape(escape)})|\$\{{({NAME})(?::-([^}}]*))?\}}")

    def fill(self, value: Any, path: str = "") -> Any:
        """Return the same data with the variables of all its texts filled in."""
        if isinstance(value, str):
            return self._fill_text(value, path) if "$" in value else value
        if isinstance(value, Mapping):
            return {key: self.fill(each, join_path(path, key)) for key, each in value.items()}
        if isinstance(value, list):
            return [self.fill(each, f"{path}[{index}]") for index, each in enumerate(value)]
        return value

    def _fill_text(self, text: str, path: str) -> Any:
        alone = self._pattern.fullmatch(text)
        if alone is not None and alone["escape"] is None:
            found = self._value(alone, path)
            if isinstance(found, list | Mapping):
                return found
            return _typed(found) if self._keeps_type(path) else _as_text(found)

        def replacement(match: re.Match[str]) -> str:
            if match["escape"] is not None:
                return self._escape[1:]
            found = self._value(match, path)
            if isinstance(found, list | Mapping):
                problem = f"expected {match[2]} to be a text or a number within a text, got {shown(found)}"
                self._problems.append(InputError(path, problem))
            return _as_text(found)

        return self._pattern.sub(replacement, text)

    def _value(self, match: re.Match[str], path: str) -> Any:
        name, otherwise = match[2], match[3]
        if name in self._values:
            self._on_use(name, path, None)
            return self._values[name]
        found = self._env.get(name)
        if not found and otherwise is not None:
            self._on_use(name, path, None)
            return otherwise
        self._on_use(name, path, found)
        if found is None:
            self._problems.append(UnsetVariable(path, name))
            return match[0]
        return found


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _typed(value: Any) -> Any:
    """Return the value of a text as YAML would have read it in that place."""
    if not isinstance(value, str):
        return value
    try:
        data = json.loads(value)
    except (ValueError, RecursionError):
        return value
    if isinstance(data, str | list | dict) or (isinstance(data, float) and not math.isfinite(data)):
        return value
    return data
