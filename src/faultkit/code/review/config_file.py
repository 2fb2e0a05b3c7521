"""The configuration of a review: `[tool.faultkit.review]` in pyproject.toml, or `[review]` in faultkit.toml.

faultkit.toml and a file of another name that a user names may have either table, but not both.

The nearest file at or above the reviewed path that has the table counts, up to the top of the repository.
Patterns of paths are relative to its folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from faultkit.base.documents.checks import join_path, sequence, shown
from faultkit.base.documents.key_tables import Key, KeyTable
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.toml_text import read_toml_document, toml_line_of
from faultkit.base.documents.values import choice, number, switch, text
from faultkit.base.errors import InputError
from faultkit.base.files import path_within, read_text
from faultkit.code.review.context import CONTEXT_NAMES, PRODUCTION
from faultkit.code.review.engine import ALL_RULES
from faultkit.code.review.path_patterns import check_pattern
from faultkit.code.review.selection import check_rule_name
from faultkit.code.rules.rule import SEVERITIES, Severity
from faultkit.code.source_files import repository_of

T = TypeVar("T")

OWN_FILE = "faultkit.toml"
PROJECT_FILE = "pyproject.toml"
_FILES = (OWN_FILE, PROJECT_FILE)
"""Names of files; the first one counts if a folder has both."""
_OWN_TABLE = ("review",)
_PROJECT_TABLE = ("tool", "faultkit", "review")


@dataclass(frozen=True, slots=True)
class ReviewConfig:
    """What a configuration file sets. None, or nothing in it: not set."""

    folder: str = field(default_factory=os.getcwd)
    """The absolute folder that patterns and paths are relative to."""
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    extend_exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    context: Mapping[str, str] = field(default_factory=dict)
    per_path_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    severity: Mapping[str, Severity] = field(default_factory=dict)
    min_severity: Severity | None = None
    min_confidence: float | None = None
    fail_on: Severity | None = None
    require_reason: bool = False
    baseline: str | None = None

    @property
    def baseline_path(self) -> str | None:
        """The absolute path of the baseline; None if none is set."""
        return None if self.baseline is None else os.path.realpath(os.path.join(self.folder, self.baseline))


def _several(read: Callable[[object], T], what: str) -> Callable[[object], tuple[T, ...]]:
    def read_all(value: object) -> tuple[T, ...]:
        found = []
        for index, each in enumerate(sequence(value, what, "")):
            try:
                found.append(read(each))
            except InputError as error:
                raise error.within(f"[{index}]") from None
        return tuple(found)

    return read_all


def _by(read_key: Callable[[object], str], read: Callable[[object], T]) -> Callable[[object], dict[str, T]]:
    def read_all(value: object) -> dict[str, T]:
        if not isinstance(value, Mapping):
            raise InputError("", f"expected a table, got {shown(value)}")
        found = {}
        for key, each in value.items():
            try:
                found[read_key(key)] = read(each)
            except InputError as error:
                raise error.within(join_path("", key)) from None
        return found

    return read_all


def _rule_name(value: object) -> str:
    return check_rule_name(value, ALL_RULES)


_rule_names = _several(_rule_name, "names of rules")
_patterns = _several(check_pattern, "patterns of paths")
_NAMES = {"type": "array", "items": {"type": "string"}}
_SEVERITY = {"enum": list(SEVERITIES)}

CONFIG_KEYS = KeyTable(
    Key("select", _rule_names, _NAMES, None, "Rules to run, instead of those that are on by default."),
    Key("extend-select", _rule_names, _NAMES, (), "Rules to run besides."),
    Key("ignore", _rule_names, _NAMES, (), "Rules not to run."),
    Key("exclude", _patterns, _NAMES, (), "Files to leave out, as in `.gitignore`; `--exclude` replaces it."),
    Key("extend-exclude", _patterns, _NAMES, (), "Files to leave out besides."),
    Key(
        "include",
        _several(choice(CONTEXT_NAMES), "names of contexts"),
        _NAMES,
        (),
        "Contexts to review like production code: `tests`, `scripts`, ….",
    ),
    Key(
        "context",
        _by(check_pattern, choice((*CONTEXT_NAMES, PRODUCTION))),
        {"type": "object"},
        {},
        'The context of files, by pattern: `"tools/**" = "scripts"`; `production` for none. The last '
        "one that fits counts.",
    ),
    Key(
        "per-path-ignores",
        _by(check_pattern, _rule_names),
        {"type": "object"},
        {},
        'Rules not to run on some files: `"app/admin/**" = ["FK-P"]`.',
    ),
    Key(
        "severity",
        _by(_rule_name, choice(SEVERITIES)),
        {"type": "object"},
        {},
        'Severities of rules: `"FK-R001" = "low"`.',
    ),
    Key("min-severity", choice(SEVERITIES), _SEVERITY, None, "Omit findings below this severity."),
    Key(
        "min-confidence",
        number("a number from 0 to 1", lambda value: 0 <= value <= 1),
        {"type": "number"},
        None,
        "Omit findings below this confidence, from 0 to 1; by default 0.8, with `--ask-model` 0.5.",
    ),
    Key(
        "fail-on", choice(SEVERITIES), _SEVERITY, None, "Exit with 1 on a finding of this severity or higher."
    ),
    Key(
        "require-reason",
        switch,
        {"type": "boolean"},
        False,
        "Report suppressions without a reason (FK-S003).",
    ),
    Key(
        "baseline",
        text,
        {"type": "string"},
        None,
        "The file of `--baseline`; it is in the folder of this file, or below.",
    ),
    help="The configuration of `fault review`.",
    has_nulls=False,
)


def config_for(paths: Sequence[str]) -> ReviewConfig:
    """Return the configuration that counts for some paths together; an empty one if there is none."""
    try:
        common = os.path.commonpath([os.path.realpath(path) for path in paths])
    except ValueError as error:
        raise InputError("path", f"expected paths, got something else: {error}") from None
    return find_config(common) or ReviewConfig()


def find_config(path: str) -> ReviewConfig | None:
    """Return the configuration that counts for a path; None if there is none."""
    start = Path(os.path.realpath(path))
    folder = start if os.path.isdir(start) else start.parent
    top = repository_of(folder)
    for each in (folder, *folder.parents):
        for name in _FILES:
            # Of a folder that cannot be read, Path.is_file raises an error.
            if os.path.isfile(each / name):
                found = _config_in(str(each / name), os.path.relpath(each / name))
                if found is not None:
                    return found
        if each == top:
            break
    return None


def read_config(path: str) -> ReviewConfig:
    """Read a configuration file that a user names. Raises InputError if it has no table for a review."""
    found = _config_in(path, path)
    if found is None:
        tables = (_PROJECT_TABLE,) if _is_project_file(path) else (_OWN_TABLE, _PROJECT_TABLE)
        expected = " or ".join(f"[{'.'.join(each)}]" for each in tables)
        raise InputError(path, f"expected a table {expected}, found none")
    return found


def _is_project_file(path: str) -> bool:
    return os.path.basename(path) == PROJECT_FILE


def _table_of(path: str, document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the table of a review in a file. Raises InputError if there are two."""
    if _is_project_file(path):
        return _PROJECT_TABLE
    tool = document.get("tool")
    if not isinstance(tool, Mapping) or "faultkit" not in tool:
        return _OWN_TABLE
    if "review" in document:
        raise InputError("review", "expected [review] or [tool.faultkit.review], got both")
    return _PROJECT_TABLE


def _config_in(path: str, source: str) -> ReviewConfig | None:
    written = read_text(path)
    value: Any = read_toml_document(written, source)
    at = ""
    problems: list[InputError] = []
    try:
        table = _table_of(path, value)
    except InputError as error:
        raise InputError("", next(_placed([error], written, source))) from None
    for key in table:
        # Tables above ours belong to others, except those of this tool.
        if at == "tool.faultkit" or table == _OWN_TABLE:
            MappingReader(value, ("review",), at, problems)
        if not isinstance(value, Mapping) or key not in value:
            _raise_first(problems, written, source)
            return None
        value, at = value[key], join_path(at, key)
    reader = MappingReader(value, CONFIG_KEYS, at, problems)
    values = {name.replace("-", "_"): read for name, read in reader.values().items()}
    config = ReviewConfig(folder=str(Path(os.path.abspath(path)).parent), **values)
    problems += [error.within(at) for error in _contradictions(config)]
    _raise_first(problems, written, source)
    return config


def _contradictions(config: ReviewConfig) -> Iterator[InputError]:
    """Yield what is wrong with values that are right by themselves."""
    if config.select == () and not config.extend_select:
        yield InputError("select", "expected at least one rule, got an empty list")
    if config.baseline is not None:
        try:
            # The configuration of a foreign project must not name what is written elsewhere.
            path_within(os.path.join(config.folder, config.baseline), config.folder)
        except ValueError as error:
            yield InputError("baseline", f'{error}, got "{config.baseline}"')


def _raise_first(problems: list[InputError], written: str, source: str) -> None:
    """Raise what is wrong, all of it in one error, each with its line."""
    if problems:
        raise InputError("", "\n".join(dict.fromkeys(_placed(problems, written, source))))


def _placed(problems: list[InputError], written: str, source: str) -> Iterator[str]:
    for error in problems:
        line = toml_line_of(written, error.path)
        place = f"{source}: line {line}" if line is not None else source
        yield f"{place}: {error}"
