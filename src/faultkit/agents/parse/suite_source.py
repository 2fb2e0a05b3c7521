"""One suite file as it was read: plain data with lines, the mistakes found in it, and its secrets. Pure.

Values of environment variables are kept out of errors: an error names the variable in place of its value.
A name does not show whether a variable is a secret, so all of them are treated as secrets. Values of few
characters are hidden only where they were filled in: elsewhere they are parts of words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import yaml

from faultkit.agents.suite.definition import Place
from faultkit.base.documents.checks import join_path
from faultkit.base.documents.json_data import to_json_data
from faultkit.base.documents.yaml_text import Document, read_document, read_documents
from faultkit.base.errors import InputError

_WHAT = "a suite"
T = TypeVar("T", covariant=True)
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_BARE_VARIABLE = re.compile(r"(?<![\"'])\$\{")


_FEW = 4
"""A value of fewer characters is hidden only where it was filled in."""
_CUT = "…"


@dataclass(slots=True)
class Secrets:
    """Values of environment variables that were filled in, to be hidden in errors."""

    _values: dict[str, str] = field(default_factory=dict)
    """The values by the names of their variables."""
    _places: dict[str, set[str]] = field(default_factory=dict)
    """The variables that were filled in, by the file and path of the text."""

    def keep(self, name: str, value: str, place: str) -> None:
        if value:
            self._values[name] = value
            self._places.setdefault(place, set()).add(name)

    def hidden(self, text: str, place: str = "") -> str:
        """Return the text without the values; where one was filled in, without parts of it too."""
        for name, value in sorted(self._values.items(), key=lambda pair: -len(pair[1])):
            for form in _forms(value):
                if len(form) >= _FEW:
                    text = text.replace(form, f"${{{name}}}")
                    text = _without_beginning(text, form, name)
        for name in sorted(self._places.get(place, ())):
            text = _without_parts(text, self._values[name], name)
        return text


def _forms(value: str) -> list[str]:
    """Return the value as it is and as errors quote it, longest first."""
    quoted = (json.dumps(value), json.dumps(value, ensure_ascii=False), repr(value))
    return sorted({value, *(form[1:-1] for form in quoted)}, key=len, reverse=True)


def _without_beginning(text: str, value: str, name: str) -> str:
    """Hide the beginning of a value in front of a cut: errors cut long texts."""
    pieces = text.split(_CUT)
    for index, piece in enumerate(pieces[:-1]):
        length = next((n for n in range(len(value), _FEW - 1, -1) if piece.endswith(value[:n])), 0)
        if length:
            pieces[index] = f"{piece[:-length]}${{{name}}}"
    return _CUT.join(pieces)


def _without_parts(text: str, value: str, name: str) -> str:
    """Hide the longest pieces of the value in the text, down to a few characters."""
    least = min(_FEW, len(value))
    begin = 0
    shown = f"${{{name}}}"
    while begin < len(text):
        end = begin + least
        if end <= len(text) and text[begin:end] in value and not text.startswith(shown, begin):
            while end < len(text) and text[begin : end + 1] in value:
                end += 1
            text = f"{text[:begin]}{shown}{text[end:]}"
        begin += len(shown) if text.startswith(shown, begin) else 1
    return text


@dataclass(slots=True)
class SourceFile:
    """A suite file: its data, the lines of things in it, and the mistakes found so far."""

    file: str
    value: Any
    document: Document | None
    """None: the lines are unknown, because YAML cannot read the text."""
    secrets: Secrets
    problems: list[InputError] = field(default_factory=list)
    """The mistakes, with paths within the file."""
    refused: set[str] = field(default_factory=set)
    """Paths of values that JSON does not have; they are read as null."""
    used: set[str] = field(default_factory=set)
    """The names of all variables that are used in it."""
    _bare: frozenset[str] | None = None

    def line_of(self, path: str) -> int:
        return 1 if self.document is None else self.document.line_of(path)

    def place(self, path: str) -> Place:
        return Place(self.file, self.line_of(path))

    def note(self, path: str, problem: str) -> None:
        self.problems.append(InputError(path, problem))

    def placed(self) -> list[InputError]:
        """Return the mistakes in the order of their lines, with the file and the line of each."""
        reported: set[str] = set()
        found: list[InputError] = []
        for error in sorted(self.problems, key=lambda error: self.line_of(error.path)):
            # A value that JSON does not have is reported once, not again as a missing value.
            if error.path not in self.refused or error.path not in reported:
                found.append(self._placed(error))
            reported.add(error.path)
        return found

    def _placed(self, error: InputError) -> InputError:
        line = "" if self.document is None else f"line {self.line_of(error.path)}"
        where = ": ".join(filter(None, (self.file, line, error.path)))
        return InputError(where, self.secrets.hidden(error.problem, f"{self.file}:{error.path}"))

    def is_bare(self, path: str) -> bool:
        """Return whether the text was written without quotes, so that its variable keeps its type."""
        if self._bare is None:
            root = None if self.document is None else self.document.root
            self._bare = frozenset() if root is None else frozenset(_bare_paths(root, ""))
        return path in self._bare


@dataclass(frozen=True)
class Located(Generic[T]):
    """A part of a suite, and its place."""

    value: T
    path: str
    source: SourceFile
    written: object = None
    """The data in the file, where the format has more than one form."""
    is_sound: bool = True
    """False: it has a mistake, and only its name may be used."""

    def note(self, path: str, problem: str) -> None:
        """Report a mistake at a path below this part."""
        self.source.problems.append(InputError(path, problem).within(self.path))


def read_source(text: str, file: str, secrets: Secrets) -> SourceFile:
    """Return the file of a text. Raises InputError if the text is empty, or neither YAML nor JSON."""
    is_json = text.lstrip()[:1] in ("{", "[")
    value = _json(text, file) if is_json else None
    documents = _documents(text, file, is_json=is_json)
    if len(documents) > 1:
        line = documents[1].line_of("")
        raise InputError(f"{file}: line {line}", f"expected one document, got {len(documents)}")
    document = documents[0] if documents else None
    if document is not None and not is_json:
        value = document.value
    if value is None:
        raise InputError(file, "expected a suite, got an empty file")
    source = SourceFile(file, None, document, secrets)
    source.value = _json_data(value, "", source)
    return source


def _json_data(value: object, path: str, source: SourceFile) -> Any:
    """Return the data as JSON has it. Values that JSON does not have are reported and become null."""
    try:
        return to_json_data(value, path)
    except InputError as error:
        if isinstance(value, list):
            return [_json_data(each, f"{path}[{index}]", source) for index, each in enumerate(value)]
        if isinstance(value, Mapping) and error.path != path:
            return {
                name: _json_data(each, join_path(path, key), source)
                for key, each in value.items()
                for name in to_json_data({key: None}, path)
            }
        source.refused.add(error.path)
        source.problems.append(error)
        return None


def _json(text: str, file: str) -> object:
    value = read_document(text, file, _WHAT)
    # JSON escapes can write half of a surrogate pair. The YAML reader refuses it by itself.
    if _HALF_PAIR.search(json.dumps(value, ensure_ascii=False, default=str)):
        raise InputError(file, "expected text, got half of a surrogate pair, which has no UTF-8")
    return value


def _documents(text: str, file: str, *, is_json: bool) -> list[Document]:
    try:
        # To JSON a tab is a blank; to YAML it is a mistake.
        return list(read_documents(text.replace("\t", " ") if is_json else text, file, _WHAT))
    except InputError as error:
        if is_json:
            return []
        raise InputError(error.path, f"{error.problem}{_hint(text, error.problem)}") from None


def _hint(text: str, problem: str) -> str:
    """Return a hint for the error of a variable in flow style, which YAML reads as a mapping."""
    found = re.match(r"line (\d+)", problem)
    lines = text.splitlines()
    line = lines[int(found[1]) - 1] if found and int(found[1]) <= len(lines) else ""
    return " (within [ ] and { }, ${…} needs quotes)" if _BARE_VARIABLE.search(line) else ""


def _bare_paths(node: yaml.Node, path: str) -> Iterator[str]:
    if isinstance(node, yaml.ScalarNode):
        if node.style is None and "${" in node.value:
            yield path
    elif isinstance(node, yaml.MappingNode):
        for key, each in node.value:
            yield from _bare_paths(each, join_path(path, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for index, each in enumerate(node.value):
            yield from _bare_paths(each, f"{path}[{index}]")
