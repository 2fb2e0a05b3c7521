"""YAML and JSON text as plain data, and the lines where things stand in it.

Stricter than YAML asks: a key that is given twice is an error, because one of the two would be lost, and so
are aliases that make a small text vast. What the data mean, and where the text came from, is not known here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import yaml

from faultkit.base.documents.shape import joined, shown
from faultkit.base.errors import InputError

MOST_VALUES = 1_000_000
"""Of one document, with each alias counted as what it stands for."""
_MERGE_TAG = "tag:yaml.org,2002:merge"
_BOOL_TAG = "tag:yaml.org,2002:bool"
_HALF_PAIR = re.compile("[\ud800-\udfff]")


class _Loader(yaml.SafeLoader):
    """As YAML 1.2 has it, only `true` and `false` are truth values: `on: data` is about a key named `on`."""

    yaml_implicit_resolvers = {  # noqa: RUF012 (the name and the kind of the base)
        first: [(tag, pattern) for tag, pattern in resolvers if tag != _BOOL_TAG]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


_Loader.add_implicit_resolver(_BOOL_TAG, re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"), list("tTfF"))


@dataclass(frozen=True, slots=True)
class Document:
    """One of the documents of a YAML text."""

    value: object
    number: int
    """Counted from 1; documents without content count, too."""
    root: yaml.Node

    def line_of(self, path: str) -> int:
        """The line, from 1, of what the path names, or of the nearest thing around it that was written."""
        return _line_of(self.root, path) + 1


def read_document(text: str, source: str, what: str = "a plan") -> object:
    """What JSON or YAML text says. JSON goes first: YAML 1.1 reads some of it in another way (1e2, tabs)."""
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except InputError as error:
        # Read as YAML, a mistake has a line, too.
        _read_yaml(_without_tabs(text), source, what)
        raise InputError(source, error.problem) from None
    except (ValueError, RecursionError):
        return _read_yaml(text, source, what)


def line_in(text: str, path: str) -> int | None:
    """The line, from 1, of what the path names in the first document of a text that could be read, as
    `Document.line_of` says it; None where YAML cannot say it."""
    loader = _Loader(_without_tabs(text))
    try:
        node = loader.get_node() if loader.check_node() else None
    except (yaml.YAMLError, RecursionError):
        return None
    return None if node is None else _line_of(node, path) + 1


def placed(error: InputError, text: str, source: str) -> InputError:
    """The same error with the file and the line of what its path names in that text."""
    line = line_in(text, error.path)
    place = source if line is None else f"{source}: line {line}"
    return InputError(f"{place}: {error.path}" if error.path else place, error.problem)


def _without_tabs(text: str) -> str:
    """To JSON a tab is a blank, and stands nowhere else; to YAML it is a mistake."""
    return text.replace("\t", " ")


def read_documents(text: str, source: str, what: str) -> Iterator[Document]:
    """The documents of a YAML text that have content. An error ends them: what is behind it is not known."""
    with _told_as_input_errors(source, what):
        loader = _Loader(text)
        number = 0
        while loader.check_node():
            number += 1
            node = loader.get_node()
            assert node is not None, "check_node says that there is one"
            _inspect(node)
            value = loader.construct_document(node)
            if value is not None:
                yield Document(value, number, node)


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for place, (key, _) in enumerate(pairs) if key in dict(pairs[:place]))
        raise InputError("", f"key {shown(twice)} is given twice")
    return found


def _read_yaml(text: str, source: str, what: str) -> object:
    with _told_as_input_errors(source, what):
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _inspect(node)
        return loader.construct_document(node)


@contextmanager
def _told_as_input_errors(source: str, what: str) -> Iterator[None]:
    try:
        yield
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise InputError(source, f"{where}{error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise InputError(source, f"expected YAML, got {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise InputError(source, f"expected {what}, got YAML that is nested too deeply") from None
    except ValueError as error:
        # For example a date such as 2024-13-45, or a number with thousands of digits.
        raise InputError(source, f"expected YAML, got a bad value: {error}") from None


def _inspect(root: yaml.Node) -> None:
    """Before values are made: merges copy what they merge, so a vast document must not get that far."""
    if _weight(root, {}) > MOST_VALUES:
        raise _refusal(f"expected at most {MOST_VALUES} values with all aliases written out", root)


def _weight(node: yaml.Node, known: dict[int, int | None]) -> int:
    """How many values it stands for. Each node is looked at once, however often it is pointed at."""
    if isinstance(node, yaml.ScalarNode):
        if _HALF_PAIR.search(node.value):
            raise _refusal("expected text, got half of a surrogate pair, which has no UTF-8", node)
        return 1
    if id(node) in known:
        weight = known[id(node)]
        if weight is None:
            raise _refusal("an alias stands for something that it is part of", node)
        return weight
    known[id(node)] = None
    if isinstance(node, yaml.MappingNode):
        _reject_repeated_keys(node)
        children = [child for pair in node.value for child in pair]
    else:
        children = node.value
    weight = 1 + sum(_weight(child, known) for child in children)
    known[id(node)] = weight
    return weight


def _reject_repeated_keys(node: yaml.MappingNode) -> None:
    seen: set[tuple[str, str]] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE_TAG:
            continue
        if (key.tag, key.value) in seen:
            raise _refusal(f"key {shown(key.value)} is given twice", key)
        seen.add((key.tag, key.value))


def _refusal(problem: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def _line_of(node: yaml.Node, path: str) -> int:
    line: int = node.start_mark.line
    while path:
        step = _step(node, path)
        if step is None:
            break
        node, line, path = step
    return line


def _step(node: yaml.Node, path: str) -> tuple[yaml.Node, int, str] | None:
    """The child that the path begins with, its line, and the rest of the path."""
    if isinstance(node, yaml.MappingNode):
        # Merged keys stand first and may be overridden: the last one holds.
        for key, value in reversed(node.value):
            name = joined("", key.value) if isinstance(key, yaml.ScalarNode) else None
            if name and path.startswith(name) and path[len(name) : len(name) + 1] in ("", ".", "["):
                return value, key.start_mark.line, path[len(name) :].removeprefix(".")
    if isinstance(node, yaml.SequenceNode):
        index, bracket, rest = path.removeprefix("[").partition("]")
        if bracket and index.isdecimal() and int(index) < len(node.value):
            child = node.value[int(index)]
            return child, child.start_mark.line, rest.removeprefix(".")
    return None
