"""Suites from files, with what they import and what their mocks serve. Every error has its file and line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from faultkit.agents.model import Suite
from faultkit.agents.parse.join import joined_suite
from faultkit.agents.parse.part import Part, parse_part
from faultkit.agents.parse.secrets import Secrets
from faultkit.agents.parse.servers import Nearby
from faultkit.agents.parse.sheet import Sheet, read_sheet
from faultkit.agents.parse.variables import Scope, filled, read_variables
from faultkit.base.documents.shape import shown
from faultkit.base.errors import InputError
from faultkit.mcp.mock.file import load_source
from faultkit.mcp.mock.model import Manifest
from faultkit.plan.file import read_text

if TYPE_CHECKING:
    from faultkit.mcp.mock.recording import Recording


def load_suite(
    path: str | os.PathLike[str],
    *,
    env: Mapping[str, str] | None = None,
    variables: Mapping[str, Any] | None = None,
) -> Suite:
    """One InputError with all that is wrong, a line for each. `variables` go before those of the files."""
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
    """The suite, or everything that is wrong with it. `env`: that of this process if None."""
    loading = _Loading(os.environ if env is None else env, variables or {})
    file = os.fspath(path)
    try:
        _load(file, (), loading)
    except InputError as error:
        return None, [error]
    suite = joined_suite(loading.parts, loading.files)
    problems = [error for part in loading.parts for error in part.sheet.placed()] + loading.broken
    return (None, problems) if problems else (suite, [])


def files_of_suite(
    path: str | os.PathLike[str],
    *,
    env: Mapping[str, str] | None = None,
    variables: Mapping[str, Any] | None = None,
) -> list[str]:
    """All that it is read from, as far as that can be found: one that is wrong has files as well."""
    loading = _Loading(os.environ if env is None else env, variables or {})
    with suppress(InputError):
        _load(os.fspath(path), (), loading)
    return list(loading.tried)


@dataclass(slots=True)
class _Loading:
    """What has been read of one suite so far."""

    env: Mapping[str, str]
    chosen: Mapping[str, Any]
    secrets: Secrets = field(default_factory=Secrets)
    known: dict[str, Part | None] = field(default_factory=dict)
    """By the real path of the file; None: it is being read."""
    sources: dict[str, Manifest | Recording] = field(default_factory=dict)
    broken: list[InputError] = field(default_factory=list)
    """Files that could not be read at all."""
    order: list[str] = field(default_factory=list)
    tried: dict[str, None] = field(default_factory=dict)
    """Every file that was looked for, whatever came of it."""

    @property
    def parts(self) -> list[Part]:
        """The suite's own file first."""
        return [part for real in self.order if (part := self.known.get(real)) is not None]

    @property
    def files(self) -> list[str]:
        return [part.sheet.file for part in self.parts] + list(self.sources)


def _load(file: str, chain: tuple[str, ...], loading: _Loading) -> Part:
    real = os.path.realpath(file)
    loading.known[real] = None
    loading.order.append(real)
    loading.tried[file] = None
    sheet = read_sheet(read_text(file), file, loading.secrets)
    folder = os.path.dirname(file)
    document = sheet.value if isinstance(sheet.value, Mapping) else {}
    scope = Scope(loading.chosen, loading.env, os.path.abspath(folder))
    names = filled(document.get("imports"), scope, sheet, "imports")
    imported = _imports(names, folder, sheet, (*chain, file), loading)
    inherited = {name: value for part in imported for name, value in part.variables.items()}
    scope = Scope(inherited, loading.env, scope.config_dir)
    variables = read_variables(document.get("variables"), scope, sheet, loading.chosen)
    scope = Scope(variables, loading.env, scope.config_dir)
    body = {
        key: value if key in ("imports", "variables") else filled(value, scope, sheet, key)
        for key, value in document.items()
    }
    whole = body if sheet.value is None or isinstance(sheet.value, Mapping) else sheet.value
    part = parse_part(whole, sheet, variables, _nearby(folder, loading), imported)
    loading.known[real] = part
    return part


def _imports(
    names: object, folder: str, sheet: Sheet, chain: tuple[str, ...], loading: _Loading
) -> list[Part]:
    if names is None:
        return []
    if not isinstance(names, list):
        names = [names]
    parts: list[Part] = []
    for index, name in enumerate(names):
        path = f"imports[{index}]"
        if not isinstance(name, str) or not name:
            sheet.note(path, f"expected the name of a file, got {shown(name)}")
            continue
        part = _import(name, path, folder, sheet, chain, loading)
        if part is not None:
            parts.append(part)
    return parts


def _import(
    name: str, path: str, folder: str, sheet: Sheet, chain: tuple[str, ...], loading: _Loading
) -> Part | None:
    file = os.path.normpath(os.path.join(folder, name))
    real = os.path.realpath(file)
    if real in loading.known:
        part = loading.known[real]
        if part is None and real in map(os.path.realpath, chain):
            sheet.note(path, f"expected no circle, got {' → '.join((*chain, file))}")
        return part
    try:
        return _load(file, chain, loading)
    except InputError as error:
        if error.path == file and not os.path.isfile(file):
            sheet.note(path, f"{shown(name)} {error.problem}")
        else:
            loading.broken.append(error)
        return None


def _nearby(folder: str, loading: _Loading) -> Nearby:
    def path_of(name: str) -> str:
        return os.path.normpath(os.path.join(folder, name))

    def source(name: str) -> Manifest | Recording:
        file = path_of(name)
        loading.tried[file] = None
        if file not in loading.sources:
            try:
                loading.sources[file] = load_source(file)
            except InputError as error:
                raise InputError("", str(error)) from None
        return loading.sources[file]

    return Nearby(path_of, source)
