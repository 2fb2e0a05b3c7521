"""YAML and JSON text as plain data, with the line of each path; and YAML data as JSON has it.

Stricter than YAML: a key that is given twice is an error, because one of the two would be lost, and so are
aliases that expand to very many values. The module knows neither the format of the data nor the file.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import yaml

from faultkit.base.documents.checks import join_path, shown
from faultkit.base.documents.yaml_loader import (
    HALF_PAIR,
    MERGE_TAG,
    YamlLoader,
    nodes_of,
    problem_of,
    read_tolerantly,
    refusal,
)
from faultkit.base.errors import InputError
from faultkit.base.text import has_utf8

MOST_VALUES = 1_000_000
"""The most values of one document, with all aliases expanded."""


@dataclass(frozen=True, slots=True)
class Document:
    """One of the documents of a YAML text."""

    value: object
    number: int
    """The number of the document from 1; empty documents count too."""
    root: yaml.Node

    def line_of(self, path: str) -> int:
        """Return the line, from 1, of a path, or of its nearest parent that exists."""
        return _line_of(self.root, path) + 1


def read_document(text: str, source: str, what: str = "a plan") -> object:
    """Return the data of JSON or YAML text, JSON first: YAML 1.1 reads `1e2` and tabs differently."""
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except InputError as error:
        # Read again as YAML, because its error has a line.
        _read_yaml(_without_tabs(text), source, what)
        raise error.at(source) from None
    except (ValueError, RecursionError):
        return _read_yaml(text, source, what)


def line_in(text: str, path: str) -> int | None:
    """Return the line of a path in the first document of a text; None if YAML cannot read the text."""
    try:
        first = next(nodes_of(YamlLoader, _without_tabs(text)), None)
    except (yaml.YAMLError, RecursionError):
        return None
    return None if first is None else _line_of(first[1], path) + 1


def placed(error: InputError, text: str, source: str) -> InputError:
    """Return the same error with the file and the line of its path in that text."""
    line = line_in(text, error.path)
    place = source if line is None else f"{source}: line {line}"
    return error.at(f"{place}: {error.path}" if error.path else place)


def _without_tabs(text: str) -> str:
    """Replace tabs, which JSON allows between values and YAML refuses."""
    return text.replace("\t", " ")


def read_documents(text: str, source: str, what: str) -> Iterator[Document]:
    """Yield the documents of a YAML text that have content. Raises at the first error in the YAML."""
    with _told_as_input_errors(text, source, what):
        for number, (loader, node) in enumerate(nodes_of(YamlLoader, text), 1):
            _inspect(node)
            value = loader.construct_document(node)
            if value is not None:
                yield Document(value, number, node)


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        count = Counter(key for key, _ in pairs)
        twice = next(key for key, _ in pairs if count[key] > 1)
        raise InputError("", f"key {shown(twice)} is given twice")
    return found


def _read_yaml(text: str, source: str, what: str) -> object:
    with _told_as_input_errors(text, source, what):
        return read_tolerantly(text, _single_value)


def _single_value(text: str) -> object:
    loader = YamlLoader(text)
    node = loader.get_single_node()
    if node is None:
        return None
    _inspect(node)
    return loader.construct_document(node)


@contextmanager
def _told_as_input_errors(text: str, source: str, what: str) -> Iterator[None]:
    try:
        yield
    except yaml.MarkedYAMLError as error:
        raise InputError(source, problem_of(error, text)) from None
    except yaml.YAMLError as error:
        raise InputError(source, f"expected YAML, got {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise InputError(source, f"expected {what}, got YAML that is nested too deeply") from None


def _inspect(root: yaml.Node) -> None:
    """Refuse documents that are too big before values are built, because merges copy values."""
    if _weight(root, {}) > MOST_VALUES:
        raise refusal(f"expected at most {MOST_VALUES} values with all aliases written out", root)


def _weight(node: yaml.Node, known: dict[int, int | None]) -> int:
    """Return the number of values of a node with its aliases expanded. Each node is visited once."""
    if isinstance(node, yaml.ScalarNode):
        if not has_utf8(node.value):
            raise refusal(HALF_PAIR, node)
        return 1
    if id(node) in known:
        weight = known[id(node)]
        if weight is None:
            raise refusal("an alias stands for something that it is part of", node)
        return weight
    known[id(node)] = None
    if isinstance(node, yaml.MappingNode):
        _reject_repeated_keys(node)
        children = [child for pair in node.value for child in pair]
    else:
        children = node.value
    weight = 1
    for child in children:
        # Most nodes are plain texts, which have no surrogates: counted here, they cost no call.
        is_plain = type(child) is yaml.ScalarNode and child.value.isascii()
        weight += 1 if is_plain else _weight(child, known)
    known[id(node)] = weight
    return weight


def _reject_repeated_keys(node: yaml.MappingNode) -> None:
    seen: set[tuple[str, str]] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag == MERGE_TAG:
            continue
        if (key.tag, key.value) in seen:
            raise refusal(f"key {shown(key.value)} is given twice", key)
        seen.add((key.tag, key.value))


def _line_of(node: yaml.Node, path: str) -> int:
    line: int = node.start_mark.line
    while path:
        step = _step(node, path)
        if step is None:
            break
        node, line, path = step
    return line


def _step(node: yaml.Node, path: str) -> tuple[yaml.Node, int, str] | None:
    """Return the first child on the path, its line, and the rest of the path."""
    if isinstance(node, yaml.MappingNode):
        # Merged keys come first and may be overridden: the last one counts.
        for key, value in reversed(node.value):
            name = join_path("", key.value) if isinstance(key, yaml.ScalarNode) else None
            if name and path.startswith(name) and path[len(name) : len(name) + 1] in ("", ".", "["):
                return value, key.start_mark.line, path[len(name) :].removeprefix(".")
    if isinstance(node, yaml.SequenceNode):
        index, bracket, rest = path.removeprefix("[").partition("]")
        if bracket and index.isdecimal() and int(index) < len(node.value):
            child = node.value[int(index)]
            return child, child.start_mark.line, rest.removeprefix(".")
    return None


# --- YAML data as JSON has it -----------------------------------------------------------------
#
# YAML has more than JSON: dates, keys that are not text, sets, bytes. Values with an obvious form in JSON are
# converted; the others are refused when the document is read, not when a client asks for them.


def to_json_data(value: object, path: str = "") -> Any:
    """Return YAML data as JSON has it. Raises InputError with the path of a value that JSON does not have."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(path, f"expected a number that JSON has, got {value}")
        return value
    if (day := _date_text(value)) is not None:
        return day
    if isinstance(value, Mapping):
        return {_key(key, path): to_json_data(each, join_path(path, key)) for key, each in value.items()}
    if isinstance(value, list):
        return [to_json_data(each, f"{path}[{index}]") for index, each in enumerate(value)]
    raise InputError(path, f"expected what JSON has, got {_kind(value)}")


def _key(key: object, path: str) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool | int | float | None):
        # As JSON would write it: `404: not found` is a key like any other.
        return shown(key) if key is not None else "null"
    if (day := _date_text(key)) is not None:
        return day
    raise InputError(path, f"expected texts as keys, got {_kind(key)}")


def _date_text(value: object) -> str | None:
    """Return the text of a date or a time, as YAML writes it; None for other values."""
    written = getattr(value, "isoformat", None)
    return str(written()) if callable(written) else None


def _kind(value: object) -> str:
    return _KINDS.get(type(value), type(value).__name__)


_KINDS: dict[type, str] = {set: "a set", bytes: "bytes", tuple: "a list"}
