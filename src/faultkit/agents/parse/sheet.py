"""One suite file as it was read: plain data, where things stand in it, and the mistakes found in it. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import yaml

from faultkit.agents.model import Place
from faultkit.agents.parse.secrets import Secrets
from faultkit.base.documents.shape import joined
from faultkit.base.documents.yaml_text import Document, read_document, read_documents
from faultkit.base.errors import InputError
from faultkit.mcp.mock.plain import plain

_WHAT = "a suite"
T = TypeVar("T", covariant=True)
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_BARE_VARIABLE = re.compile(r"(?<![\"'])\$\{")


@dataclass(slots=True)
class Sheet:
    file: str
    value: Any
    document: Document | None
    """None: YAML cannot say where things stand."""
    secrets: Secrets
    problems: list[InputError] = field(default_factory=list)
    """With paths within the file."""
    refused: set[str] = field(default_factory=set)
    """Paths of what is no JSON, and reads as nothing."""
    used: set[str] = field(default_factory=set)
    """The names of all variables in it."""
    _bare: frozenset[str] | None = None

    def line_of(self, path: str) -> int:
        return 1 if self.document is None else self.document.line_of(path)

    def place(self, path: str) -> Place:
        return Place(self.file, self.line_of(path))

    def note(self, path: str, problem: str) -> None:
        self.problems.append(InputError(path, problem))

    def placed(self) -> list[InputError]:
        """The mistakes in the order of their lines, with the file and the line of each."""
        told: set[str] = set()
        found: list[InputError] = []
        for error in sorted(self.problems, key=lambda error: self.line_of(error.path)):
            # What reads as nothing for want of a JSON is wrong once.
            if error.path not in self.refused or error.path not in told:
                found.append(self._placed(error))
            told.add(error.path)
        return found

    def _placed(self, error: InputError) -> InputError:
        line = "" if self.document is None else f"line {self.line_of(error.path)}"
        where = ": ".join(filter(None, (self.file, line, error.path)))
        return InputError(where, self.secrets.hidden(error.problem, f"{self.file}:{error.path}"))

    def is_bare(self, path: str) -> bool:
        """Whether the text there was written without quotes, so that what stands for it has a type."""
        if self._bare is None:
            root = None if self.document is None else self.document.root
            self._bare = frozenset() if root is None else frozenset(_bare_paths(root, ""))
        return path in self._bare


@dataclass(frozen=True)
class Found(Generic[T]):
    """Something of a suite, and where it stands."""

    value: T
    path: str
    sheet: Sheet
    written: object = None
    """As the file has it, where that has more than one form."""
    is_sound: bool = True
    """False: something of it is wrong, and it stands here for its name alone."""

    def note(self, path: str, problem: str) -> None:
        """`path`: below this."""
        self.sheet.problems.append(InputError(path, problem).within(self.path))


def read_sheet(text: str, file: str, secrets: Secrets) -> Sheet:
    """InputError, with its place, if the text is no YAML and no JSON, or has no suite."""
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
    sheet = Sheet(file, None, document, secrets)
    sheet.value = _plain(value, "", sheet)
    return sheet


def _plain(value: object, path: str, sheet: Sheet) -> Any:
    """As JSON has it. What JSON has not is noted where it stands, and hides no other mistake."""
    try:
        return plain(value, path)
    except InputError as error:
        if isinstance(value, list):
            return [_plain(each, f"{path}[{index}]", sheet) for index, each in enumerate(value)]
        if isinstance(value, Mapping) and error.path != path:
            return {
                name: _plain(each, joined(path, key), sheet)
                for key, each in value.items()
                for name in plain({key: None}, path)
            }
        sheet.refused.add(error.path)
        sheet.problems.append(error)
        return None


def _json(text: str, file: str) -> object:
    value = read_document(text, file, _WHAT)
    # JSON can write what has no UTF-8; YAML is refused by whoever reads it.
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
    """A variable in flow style reads as a mapping to YAML: what it says then helps nobody."""
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
            yield from _bare_paths(each, joined(path, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for index, each in enumerate(node.value):
            yield from _bare_paths(each, f"{path}[{index}]")
