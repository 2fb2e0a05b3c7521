"""One suite file: its data with lines, its variables, the mistakes found in it, and its secrets. Pure.

Values of environment variables are kept out of errors: an error names the variable in place of its value.
A name does not show whether a variable is a secret, so all of them are treated as secrets. Values of few
characters are hidden only in the text in which they were filled in: elsewhere they are parts of words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import yaml

from faultkit.agents.suite.definition import SourcePlace
from faultkit.base.documents.checks import join_path, shown
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import text
from faultkit.base.documents.variables import NAME, Variables
from faultkit.base.documents.yaml_text import Document, read_document, read_documents, to_json_data
from faultkit.base.errors import InputError
from faultkit.base.text import has_utf8

_NOUN = "a suite"
T = TypeVar("T", covariant=True)
_BARE_VARIABLE = re.compile(r"(?<![\"'])\$\{")


_SHORTEST_HIDDEN = 4
"""A value of fewer characters is hidden only in the text in which it was filled in."""
_CUT = "…"
"""The sign by which errors cut long texts."""


@dataclass(slots=True)
class Secrets:
    """Values of environment variables that were filled in, to be hidden in errors."""

    _values: dict[str, str] = field(default_factory=dict)
    """The values by the names of their variables."""
    _places: dict[str, set[str]] = field(default_factory=dict)
    """The variables that were filled in, by the file and path of the text."""

    def keep(self, name: str, value: str, place: str) -> None:
        """Keep the value of a variable that was filled in at a place: `FILE:PATH`."""
        if value:
            self._values[name] = value
            self._places.setdefault(place, set()).add(name)

    def hide(self, text: str, place: str = "") -> str:
        """Return a text with the names of variables for their values.

        At a place where a value was filled in, parts of the value are hidden too.
        """
        for name, value in sorted(self._values.items(), key=lambda pair: -len(pair[1])):
            for form in _forms(value):
                if len(form) >= _SHORTEST_HIDDEN:
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
    """Hide the beginning of a value in front of a cut."""
    pieces = text.split(_CUT)
    for index, piece in enumerate(pieces[:-1]):
        length = next(
            (n for n in range(len(value), _SHORTEST_HIDDEN - 1, -1) if piece.endswith(value[:n])), 0
        )
        if length:
            pieces[index] = f"{piece[:-length]}${{{name}}}"
    return _CUT.join(pieces)


def _without_parts(text: str, value: str, name: str) -> str:
    """Hide the longest pieces of the value in the text, down to a few characters."""
    least = min(_SHORTEST_HIDDEN, len(value))
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
class SuiteSource:
    """A suite file: its data, the lines of things in it, and the mistakes found so far."""

    file: str
    value: Any
    document: Document | None
    """None if YAML cannot read the text: the lines are unknown then."""
    secrets: Secrets
    problems: list[InputError] = field(default_factory=list)
    """The mistakes, with paths within the file."""
    refused: set[str] = field(default_factory=set)
    """Paths of values that JSON does not have; they are read as null."""
    used_variables: set[str] = field(default_factory=set)
    """Names of the variables that the file uses."""
    _bare: frozenset[str] | None = None

    def line_of(self, path: str) -> int:
        """Return the line of a value, counted from 1."""
        return 1 if self.document is None else self.document.line_of(path)

    def place(self, path: str) -> SourcePlace:
        """Return the file and line of a value."""
        return SourcePlace(self.file, self.line_of(path))

    def note(self, path: str, problem: str) -> None:
        """Report a mistake at a path of the file."""
        self.problems.append(InputError(path, problem))

    def located_problems(self) -> list[InputError]:
        """Return the mistakes in the order of their lines, with the file and the line of each."""
        reported: set[str] = set()
        found: list[InputError] = []
        for error in sorted(self.problems, key=lambda error: self.line_of(error.path)):
            # A value that JSON does not have is reported once, not again as a missing value.
            if error.path not in self.refused or error.path not in reported:
                line = "" if self.document is None else f"line {self.line_of(error.path)}"
                where = ": ".join(filter(None, (self.file, line, error.path)))
                problem = self.secrets.hide(error.problem, f"{self.file}:{error.path}")
                found.append(InputError(where, problem))
            reported.add(error.path)
        return found

    def is_bare(self, path: str) -> bool:
        """Return whether the text was written without quotes, so that its variable keeps its type."""
        if self._bare is None:
            root = None if self.document is None else self.document.root
            self._bare = frozenset() if root is None else frozenset(_bare_paths(root, ""))
        return path in self._bare


@dataclass(frozen=True)
class LocatedPart(Generic[T]):
    """A part of a suite, and its place in a file."""

    value: T
    path: str
    source: SuiteSource
    written: object = None
    """The data in the file, where the format has more than one form."""
    is_sound: bool = True
    """False: the part has a mistake, and only its name may be used."""

    def note(self, path: str, problem: str) -> None:
        """Report a mistake at a path below this part."""
        self.source.problems.append(InputError(path, problem).within(self.path))


def read_source(text: str, file: str, secrets: Secrets) -> SuiteSource:
    """Return the file of a text. Raises InputError if the text is empty, or neither YAML nor JSON."""
    is_json = text.lstrip()[:1] in ("{", "[")
    value = _read_json(text, file) if is_json else None
    documents = _read_yaml(text, file, is_json=is_json)
    if len(documents) > 1:
        line = documents[1].line_of("")
        raise InputError(f"{file}: line {line}", f"expected one document, got {len(documents)}")
    document = documents[0] if documents else None
    if document is not None and not is_json:
        value = document.value
    if value is None:
        raise InputError(file, "expected a suite, got an empty file")
    source = SuiteSource(file, None, document, secrets)
    source.value = _json_data(value, "", source)
    return source


def _json_data(value: object, path: str, source: SuiteSource) -> Any:
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


def _read_json(text: str, file: str) -> object:
    value = read_document(text, file, _NOUN)
    # JSON escapes can write half of a surrogate pair. The YAML reader refuses it by itself.
    if not has_utf8(json.dumps(value, ensure_ascii=False, default=str)):
        raise InputError(file, "expected text, got half of a surrogate pair, which has no UTF-8")
    return value


def _read_yaml(text: str, file: str, *, is_json: bool) -> list[Document]:
    try:
        # JSON is read as YAML for its lines. A tab is whitespace in JSON and a mistake in YAML.
        return list(read_documents(text.replace("\t", " ") if is_json else text, file, _NOUN))
    except InputError as error:
        if is_json:
            return []
        raise InputError(error.path, f"{error.problem}{_hint(text, error.problem)}") from None


def _hint(text: str, problem: str) -> str:
    """Return a hint for an unquoted variable within [ ] or { }, where YAML reads `{` as a mapping."""
    found = re.match(r"line (\d+)", problem)
    lines = text.splitlines()
    line = lines[int(found[1]) - 1] if found and int(found[1]) <= len(lines) else ""
    return " (within [ ] and { }, ${…} needs quotes)" if _BARE_VARIABLE.search(line) else ""


def _bare_paths(node: yaml.Node, path: str) -> Iterator[str]:
    """Yield the paths of texts with variables that are written without quotes."""
    if isinstance(node, yaml.ScalarNode):
        if not node.style and "${" in node.value:
            yield path
    elif isinstance(node, yaml.MappingNode):
        for key, each in node.value:
            yield from _bare_paths(each, join_path(path, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for index, each in enumerate(node.value):
            yield from _bare_paths(each, f"{path}[{index}]")


# Variables
#
# A variable is one of the file, else of the files that it imports, else of the environment. A text that is
# one variable, written without quotes, becomes the value with its type: a number stays a number. `$${` stands
# for `${`.


CONFIG_DIR = "CONFIG_DIR"
"""Variable whose value is the folder of the file that uses it."""


@dataclass(frozen=True, slots=True)
class VariableScope:
    """The values of variables in one file."""

    variables: Mapping[str, Any]
    env: Mapping[str, str]
    config_dir: str
    """Value of `${CONFIG_DIR}`."""


def read_variables(
    declared: object, scope: VariableScope, source: SuiteSource, chosen: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the variables of the scope and those that the file declares, each with those above it filled in.

    Variables `chosen` on the command line take precedence over those of the file.
    """
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
            within = VariableScope(found, scope.env, scope.config_dir)
            found[name] = (
                _from_env(value, within, source, path)
                if isinstance(value, Mapping) and "from_env" in value
                else fill(value, within, source, path)
            )
    return found


def _from_env(declared: Mapping[str, Any], scope: VariableScope, source: SuiteSource, path: str) -> Any:
    """Return the value of an environment variable, or the default beside its name: mcptest's form."""
    reader = MappingReader(declared, ("from_env", "default"), path, source.problems)
    name = reader.take("from_env", text, "")
    value = scope.env.get(name)
    if value:
        source.secrets.keep(name, value, f"{source.file}:{path}")
        return value
    if "default" not in reader.given and name:
        source.note(path, f"expected the variable {name} to be set, or a default")
    return fill(reader.given.get("default", ""), scope, source, join_path(path, "default"))


def fill(value: Any, scope: VariableScope, source: SuiteSource, path: str = "") -> Any:
    """Return the data with its variables filled in. Values of the environment are kept as secrets."""

    def on_use(name: str, where: str, from_env: str | None) -> None:
        source.used_variables.add(name)
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
