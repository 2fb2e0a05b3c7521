"""Reads scenarios from files and folders. Every error names its file, document and line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from faultkit.base.documents.yaml_text import Document, read_documents
from faultkit.base.errors import InputError
from faultkit.base.files import read_text
from faultkit.scenario.scenario_keys import parse_scenario
from faultkit.scenario.scenario_model import Scenario

_ENDINGS = (".yaml", ".yml")


def load_scenarios(path: str | os.PathLike[str]) -> list[Scenario]:
    """Return the scenarios of a file, or of all YAML files of a folder and its subfolders, by name.

    Raises the first error of `validate`."""
    scenarios, problems = read_scenario_files(path)
    if problems:
        raise problems[0]
    return scenarios


def validate(path: str | os.PathLike[str]) -> list[InputError]:
    """Return every mistake in a file or folder, in order of files and documents."""
    return read_scenario_files(path)[1]


def read_scenarios(
    text: str, source: str = "scenario", folder: str | None = None
) -> tuple[list[Scenario], list[InputError]]:
    """Return the valid scenarios of a YAML text, and every mistake of the others.

    folder: where files of samples are that faults name; without it, they are a mistake"""
    documents: list[Document] = []
    broken: list[InputError] = []
    try:
        # One by one, so that the documents before a mistake in the YAML itself are still read.
        for document in read_documents(text, source, "a scenario"):
            documents.append(document)
    except InputError as error:
        broken.append(error)
    if not documents and not broken:
        broken.append(InputError(source, "expected a scenario, got a file without one"))
    scenarios: list[Scenario] = []
    problems: list[InputError] = []
    for document in documents:
        found: list[InputError] = []
        value = document.value if folder is None else _with_samples(document.value, folder, found)
        scenario = parse_scenario(value, found, source, document.number)
        if found:
            scenario = None
        if scenario is not None:
            scenarios.append(scenario)
        found.sort(key=lambda error: document.line_of(error.path))
        problems.extend(_error_at(error, source, document, alone=len(documents) == 1) for error in found)
    return scenarios, problems + broken


def _with_samples(document: object, folder: str, problems: list[InputError]) -> object:
    """Return a scenario with percentiles in place of the files of samples that its faults name.

    What is no scenario stays as it is: the parser says what is wrong with it."""
    if not isinstance(document, Mapping) or not isinstance(document.get("items"), list):
        return document
    items: list[object] = []
    for index, item in enumerate(document["items"]):
        context = item.get("context") if isinstance(item, Mapping) else None
        faults = context.get("faults") if isinstance(context, Mapping) else None
        if (
            context
            and isinstance(faults, list)
            and any(isinstance(each, Mapping) and "samples" in each for each in faults)
        ):
            path = f"items[{index}].context.faults"
            faults = [
                _read_samples(each, folder, f"{path}[{at}]", problems) for at, each in enumerate(faults)
            ]
            item = {**item, "context": {**context, "faults": faults}}
        items.append(item)
    return {**document, "items": items}


def _read_samples(fault: object, folder: str, path: str, problems: list[InputError]) -> object:
    if not isinstance(fault, Mapping) or "samples" not in fault:
        return fault
    # Imported here, because most scenarios have no such file.
    from faultkit.plan.delay_samples import settings_with_percentiles

    try:
        return settings_with_percentiles(fault, lambda name: read_text(os.path.join(folder, name)))
    except InputError as error:
        problems.append(error.within(path))
        return {
            key: value
            for key, value in fault.items()
            if key not in ("samples", "samples_unit", "distribution")
        }


def _error_at(error: InputError, source: str, document: Document, *, alone: bool) -> InputError:
    place = f"line {document.line_of(error.path)}"
    if not alone:
        place = f"document {document.number}, {place}"
    return error.at(": ".join(filter(None, (source, place, error.path))))


def read_scenario_files(path: str | os.PathLike[str]) -> tuple[list[Scenario], list[InputError]]:
    """Return the valid scenarios of a file or folder, and every mistake of the others."""
    scenarios: list[Scenario] = []
    problems: list[InputError] = []
    try:
        for file in _files(path):
            try:
                found, invalid = read_scenarios(read_text(file), file, os.path.dirname(file))
            except InputError as error:
                found, invalid = [], [error]
            scenarios += found
            problems += invalid
    except InputError as error:
        problems.append(error)
    return scenarios, problems


def _files(path: str | os.PathLike[str]) -> list[str]:
    """Return the file itself, or the YAML files of a folder without hidden ones."""
    if not os.path.isdir(path):
        return [os.fspath(path)]
    found: list[Path] = []
    for folder, below, names in os.walk(path):
        below[:] = [name for name in below if not name.startswith(".")]
        found += (
            Path(folder) / name for name in names if name.endswith(_ENDINGS) and not name.startswith(".")
        )
    if not found:
        raise InputError(os.fspath(path), "expected YAML files (*.yaml, *.yml), got a folder without any")
    return [str(file) for file in sorted(found)]
