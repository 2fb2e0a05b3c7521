"""Loads suites from files, with their imports and the manifests of their mocks.

Every error names a file and a line. The contents are parsed by `faultkit.agents.parse`, which reads no files.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from faultkit.agents.parse.suite_contents import FileContents, merge_suite, parse_contents
from faultkit.agents.parse.suite_servers import SuiteFolder
from faultkit.agents.parse.suite_source import (
    Secrets,
    SuiteSource,
    VariableScope,
    fill,
    read_source,
    read_variables,
)
from faultkit.agents.parse.suite_values import LANES
from faultkit.agents.suite.definition import Suite
from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError
from faultkit.base.files import read_text
from faultkit.mcp.mock.manifest import load_source
from faultkit.mcp.mock.mock_model import Manifest

if TYPE_CHECKING:
    from faultkit.mcp.mock.mock_recording import Recording


def load_suite(
    path: str | os.PathLike[str],
    *,
    env: Mapping[str, str] | None = None,
    variables: Mapping[str, Any] | None = None,
) -> Suite:
    """Load a suite. `variables` take precedence over those of the files.

    Raises one InputError with all mistakes, one on each line.
    """
    suite, problems = read_suite(path, env=env, variables=variables)
    if suite is None:
        raise InputError("", "\n".join(map(str, problems)))
    return suite


def read_suite(
    path: str | os.PathLike[str],
    *,
    env: Mapping[str, str] | None = None,
    variables: Mapping[str, Any] | None = None,
) -> tuple[Suite | None, list[InputError]]:
    """Return the suite, or all its mistakes. `env` defaults to the environment of this process."""
    loading = _Loading(os.environ if env is None else env, variables or {})
    file = os.fspath(path)
    try:
        _load(file, (), loading)
    except InputError as error:
        return None, [error]
    suite = merge_suite(loading.parts, loading.files)
    problems = [
        error for part in loading.parts for error in part.source.located_problems()
    ] + loading.unreadable
    return (None, problems) if problems else (suite, [])


def files_of_suite(
    path: str | os.PathLike[str],
    *,
    env: Mapping[str, str] | None = None,
    variables: Mapping[str, Any] | None = None,
) -> list[str]:
    """Return the files of a suite, as far as they can be found, even if the suite is invalid."""
    loading = _Loading(os.environ if env is None else env, variables or {})
    with suppress(InputError):
        _load(os.fspath(path), (), loading)
    return list(loading.tried)


@dataclass(slots=True)
class _Loading:
    """The state of loading one suite."""

    env: Mapping[str, str]
    chosen: Mapping[str, Any]
    secrets: Secrets = field(default_factory=Secrets)
    known: dict[str, FileContents | None] = field(default_factory=dict)
    """Parsed files by their real path; None while a file is being read."""
    sources: dict[str, Manifest | Recording] = field(default_factory=dict)
    """Manifests and recordings by their path."""
    unreadable: list[InputError] = field(default_factory=list)
    """Errors of files that could not be read at all."""
    order: list[str] = field(default_factory=list)
    """Real paths of the files, in the order in which they were found."""
    tried: dict[str, None] = field(default_factory=dict)
    """Every file that was looked for, found or not."""

    @property
    def parts(self) -> list[FileContents]:
        """The parsed files, the suite's own first."""
        return [part for real in self.order if (part := self.known.get(real)) is not None]

    @property
    def files(self) -> list[str]:
        """Paths of all files that were read."""
        return [part.source.file for part in self.parts] + list(self.sources)


def _load(file: str, chain: tuple[str, ...], loading: _Loading) -> FileContents:
    """Load a file and its imports. `chain` are the files that import it, the suite's own first."""
    real = os.path.realpath(file)
    loading.known[real] = None
    loading.order.append(real)
    loading.tried[file] = None
    source = read_source(read_text(file), file, loading.secrets)
    folder = os.path.dirname(file)
    document = source.value if isinstance(source.value, Mapping) else {}
    scope = VariableScope(loading.chosen, loading.env, os.path.abspath(folder))
    names = fill(document.get("imports"), scope, source, "imports")
    imported = _imports(names, folder, source, (*chain, file), loading)
    inherited = {name: value for part in imported for name, value in part.variables.items()}
    scope = VariableScope(inherited, loading.env, scope.config_dir)
    variables = read_variables(document.get("variables"), scope, source, loading.chosen)
    scope = VariableScope(variables, loading.env, scope.config_dir)
    body = {
        # What is not run needs no variables.
        key: value if key in ("imports", "variables", *LANES) else fill(value, scope, source, key)
        for key, value in document.items()
    }
    is_mapping = source.value is None or isinstance(source.value, Mapping)
    part = parse_contents(
        body if is_mapping else source.value, source, variables, _folder_of(folder, loading), imported
    )
    loading.known[real] = part
    return part


def _imports(
    names: object, folder: str, source: SuiteSource, chain: tuple[str, ...], loading: _Loading
) -> list[FileContents]:
    if names is None:
        return []
    if not isinstance(names, list):
        names = [names]
    parts: list[FileContents] = []
    for index, name in enumerate(names):
        path = f"imports[{index}]"
        if not isinstance(name, str) or not name:
            source.note(path, f"expected the name of a file, got {shown(name)}")
            continue
        part = _import(name, path, folder, source, chain, loading)
        if part is not None:
            parts.append(part)
    return parts


def _import(
    name: str, path: str, folder: str, source: SuiteSource, chain: tuple[str, ...], loading: _Loading
) -> FileContents | None:
    file = os.path.normpath(os.path.join(folder, name))
    real = os.path.realpath(file)
    if real in loading.known:
        part = loading.known[real]
        if part is None and real in map(os.path.realpath, chain):
            source.note(path, f"expected no circle, got {' → '.join((*chain, file))}")
        return part
    try:
        return _load(file, chain, loading)
    except InputError as error:
        if error.path == file and not os.path.isfile(file):
            source.note(path, f"{shown(name)} {error.problem}")
        else:
            loading.unreadable.append(error)
        return None


def _folder_of(folder: str, loading: _Loading) -> SuiteFolder:
    """Return the access to files in a folder, which reads each manifest once."""

    def path_of(name: str) -> str:
        return os.path.normpath(os.path.join(folder, name))

    def open_source(name: str) -> Manifest | Recording:
        file = path_of(name)
        loading.tried[file] = None
        if file not in loading.sources:
            try:
                loading.sources[file] = load_source(file)
            except InputError as error:
                raise InputError("", str(error)) from None
        return loading.sources[file]

    return SuiteFolder(path_of, open_source)
