"""Plans from YAML text and files. The only part of the package that reads anything.

Stricter than YAML asks: a key that is given twice is an error, because one of the two would be lost.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import yaml

from faultkit.errors import InputError
from faultkit.plan.parse import parse_plan
from faultkit.plan.plan import Plan
from faultkit.plan.shape import shown

_MERGE_TAG = "tag:yaml.org,2002:merge"


def load_plan(path: str | os.PathLike[str]) -> Plan:
    source = os.fspath(path)
    try:
        text = Path(source).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(source, f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError as error:
        raise InputError(source, f"expected UTF-8 text, got byte {error.object[error.start]:#04x}") from None
    return read_plan(text, source)


def read_plan(text: str, source: str = "plan") -> Plan:
    """A plan from YAML (or JSON) text; errors begin with `source`."""
    document = read_document(text, source)
    try:
        return parse_plan(document)
    except InputError as error:
        raise InputError(f"{source}: {error.path}" if error.path else source, error.problem) from None


class _Loader(yaml.SafeLoader):
    """SafeLoader that minds keys given twice."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._checked: set[int] = set()

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        # Flattening writes merged keys into the node, and they may be overridden: look only before it.
        if id(node) not in self._checked:
            self._checked.add(id(node))
            _reject_repeated_keys(node)
        super().flatten_mapping(node)


def _reject_repeated_keys(node: yaml.MappingNode) -> None:
    seen: set[tuple[str, str]] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE_TAG:
            continue
        if (key.tag, key.value) in seen:
            raise yaml.constructor.ConstructorError(
                None, None, f"key {shown(key.value)} is given twice", key.start_mark
            )
        seen.add((key.tag, key.value))


def read_document(text: str, source: str) -> object:
    """What JSON or YAML text says. JSON goes first: YAML 1.1 reads some of it in another way (1e2, tabs)."""
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except InputError as error:
        raise InputError(source, error.problem) from None
    except (ValueError, RecursionError):
        return _read_yaml(text, source)


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for place, (key, _) in enumerate(pairs) if key in dict(pairs[:place]))
        raise InputError("", f"key {shown(twice)} is given twice")
    return found


def _read_yaml(text: str, source: str) -> object:
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise InputError(source, f"{where}{error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise InputError(source, f"expected YAML, got {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise InputError(source, "expected a plan, got YAML that is nested too deeply") from None
    except ValueError as error:
        # For example a date such as 2024-13-45, or a number with thousands of digits.
        raise InputError(source, f"expected YAML, got a bad value: {error}") from None
