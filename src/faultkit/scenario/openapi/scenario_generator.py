"""From an OpenAPI document to scenario files: which operations, which files, and writing them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError, RunError
from faultkit.base.text import did_you_mean, printable_line
from faultkit.scenario.openapi.openapi_document import Source, Spec, read_spec
from faultkit.scenario.openapi.operations import Operation, operations_of
from faultkit.scenario.openapi.templates import TEMPLATES, scenario_document

ONE_FILE = "scenarios.yaml"
SUFFIXES = (".yaml", ".yml")
_LONGEST_NAME = 100
_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@dataclass(frozen=True, slots=True)
class GeneratedFile:
    """A scenario file that is not written yet."""

    name: str
    """The name of the file, without a folder."""
    text: str
    operation_ids: tuple[str, ...]
    scenarios: int


def generate(
    source: Source, *, operations: Sequence[str] = (), server: str | None = None, split: bool = False
) -> list[GeneratedFile]:
    """Return one file with all scenarios or, with `split`, a file for each operation.

    `operations` selects by names or globs of the id, `METHOD /path` or `/path`; `server` is a base URL to use
    instead of the document's servers."""
    spec = read_spec(source)
    chosen = _chosen(operations_of(spec, server), operations, source)
    if not split:
        return [_file(ONE_FILE, spec, chosen)]
    taken: set[str] = set()
    return [_file(_file_name(operation, taken), spec, [operation]) for operation in chosen]


def is_one_file(path: Path) -> bool:
    """Return whether a path that the user gave means one file, not a folder."""
    return path.suffix.lower() in SUFFIXES and not path.is_dir()


def write_generated(files: Sequence[GeneratedFile], path: Path, *, force: bool = False) -> list[Path]:
    """Write to `path` itself if it has the extension of YAML, else into the folder `path`, which is created.

    Raises InputError before anything is written if one of the files exists, unless `force` is set."""
    if is_one_file(path):
        if len(files) != 1:
            raise InputError(str(path), f"expected a folder for {len(files)} files, got the name of a file")
        targets = [path]
    else:
        targets = [path / file.name for file in files]
    there = [target for target in targets if target.exists()]
    if there and not force:
        more = f" (and {len(there) - 1} more)" if len(there) > 1 else ""
        raise InputError(str(there[0]), f"is there already{more}; expected a new name, or to be forced")
    try:
        for target, file in zip(targets, files, strict=True):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(file.text, encoding="utf-8", newline="\n")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise RunError(f"{error.filename or path}: cannot be written: {reason}") from None
    return targets


def _chosen(found: list[Operation], wanted: Sequence[str], source: Source) -> list[Operation]:
    if not found:
        raise InputError(source.shown, "expected at least one operation under paths, got none")
    names = {operation.operation_id: _names(operation) for operation in found}
    for pattern in wanted:
        if not any(_is_meant(pattern, names[operation.operation_id]) for operation in found):
            guess = did_you_mean(pattern, names)
            raise InputError(
                "operations", f"expected an operation of the document, got {shown(pattern)}{guess}"
            )
    if not wanted:
        return found
    return [
        operation
        for operation in found
        if any(_is_meant(pattern, names[operation.operation_id]) for pattern in wanted)
    ]


def _names(operation: Operation) -> tuple[str, ...]:
    return operation.operation_id, f"{operation.method} {operation.path}", operation.path


def _is_meant(pattern: str, names: Iterable[str]) -> bool:
    return any(pattern == name or fnmatchcase(name, pattern) for name in names)


def _file(name: str, spec: Spec, operations: list[Operation]) -> GeneratedFile:
    documents = [scenario_document(template, operation) for operation in operations for template in TEMPLATES]
    text = yaml.dump_all(
        documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110, explicit_start=True
    )
    ids = tuple(operation.operation_id for operation in operations)
    return GeneratedFile(name, _header(spec, operations) + text, ids, len(documents))


def _header(spec: Spec, operations: list[Operation]) -> str:
    place = spec.source.shown if spec.source.is_url else Path(spec.source.location).name
    title = f" ({spec.title})" if spec.title else ""
    lines = [
        f"Made by `fault scenario generate` from {place}{title}.",
        f"Operations: {len(operations)}; each has {len(TEMPLATES)} scenarios.",
    ]
    placeholders = {name: what for each in operations for name, what in each.placeholders.items()}
    if placeholders:
        lines.append("Replace before running:")
        lines += [f"  {name}: {what}" for name, what in placeholders.items()]
    if any(urlsplit(operation.base).scheme == "https" for operation in operations):
        lines.append("The calls go to real servers: make sure that you may break them.")
    return "".join(f"# {_comment(line)}\n" for line in lines)


def _comment(text: str) -> str:
    """Return a comment on one line, with its indentation."""
    return " " * (len(text) - len(text.lstrip(" "))) + printable_line(text)


def _file_name(operation: Operation, taken: set[str]) -> str:
    """Return a file name that is safe on every file system: letters, digits and hyphens, in lower case."""
    words = re.sub(r"[^A-Za-z0-9._-]+", "-", operation.operation_id).strip("-._")[:_LONGEST_NAME]
    stem = words or "operation"
    fresh, number = stem, 1
    while fresh.lower() in taken:
        number += 1
        fresh = f"{stem}-{number}"
    taken.add(fresh.lower())
    return f"{fresh}.yaml"
