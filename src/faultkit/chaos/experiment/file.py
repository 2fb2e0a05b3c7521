"""Experiments from files and folders, in our short form or as Chaos Toolkit has them.

Every error of the short form says in which file and line it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from faultkit.base.documents.shape import advice, shown
from faultkit.base.documents.yaml_text import Document, read_document, read_documents
from faultkit.base.errors import InputError
from faultkit.chaos.experiment.model import Experiment, ToolkitExperiment
from faultkit.chaos.experiment.parse import parse_experiment
from faultkit.plan.file import read_text

AnyExperiment: TypeAlias = Experiment | ToolkitExperiment
PATTERNS = ("*.yaml", "*.yml", "*.json")


def load_experiment(path: str | os.PathLike[str], env: Mapping[str, str] | None = None) -> AnyExperiment:
    """Raises the first error of `validate`."""
    experiment, problems = read_experiment(read_text(path), os.fspath(path), env)
    if problems:
        raise problems[0]
    assert experiment is not None
    return experiment


def validate(path: str | os.PathLike[str], env: Mapping[str, str] | None = None) -> list[InputError]:
    """Everything that is wrong with a file, in order of its lines."""
    try:
        return read_experiment(read_text(path), os.fspath(path), env)[1]
    except InputError as error:
        return [error]


def find_experiments(
    folder: str | os.PathLike[str], env: Mapping[str, str] | None = None
) -> tuple[dict[str, AnyExperiment], list[InputError]]:
    """The experiments of a folder by their names, and what is wrong with the others.

    A name that two files give is an error of the second."""
    found: dict[str, AnyExperiment] = {}
    problems: list[InputError] = []
    for file in sorted({file for pattern in PATTERNS for file in Path(folder).glob(pattern)}):
        try:
            experiment = load_experiment(file, env)
        except InputError as error:
            problems.append(error)
            continue
        if experiment.name in found:
            other = found[experiment.name].file
            problem = f'expected a name that no other experiment has, got "{experiment.name}" as in {other}'
            problems.append(placed(InputError("name", problem), file))
        else:
            found[experiment.name] = experiment
    return found, problems


def experiment_named(name: str, known: Mapping[str, AnyExperiment]) -> AnyExperiment:
    if name not in known:
        hint = advice(name, list(known)) if known else "there are none"
        raise InputError("experiment_name", f"unknown experiment {shown(name)}; {hint}")
    return known[name]


def read_experiment(
    text: str, source: str, env: Mapping[str, str] | None = None
) -> tuple[AnyExperiment | None, list[InputError]]:
    try:
        value, document = _read(text, source)
    except InputError as error:
        return None, [error]
    file = Path(source)
    if isinstance(value, Mapping) and "title" in value and "name" not in value:
        return ToolkitExperiment(str(value["title"]), file, value), []
    problems: list[InputError] = []
    experiment = parse_experiment(value, os.environ if env is None else env, problems, file)
    if document is not None:
        problems.sort(key=lambda error: document.line_of(error.path))
    return experiment, [_placed(error, source, document) for error in problems]


def _read(text: str, source: str) -> tuple[object, Document | None]:
    """What it says, and where: JSON as JSON, since YAML reads some of it in another way."""
    try:
        documents: Sequence[Document] = list(read_documents(text, source, "an experiment"))
    except InputError:
        # JSON may have tabs, for example. If it is none either, this says what is wrong.
        return read_document(text, source), None
    if len(documents) != 1:
        got = "a file without one" if not documents else f"{len(documents)} documents"
        raise InputError(source, f"expected one experiment, got {got}")
    try:
        json.loads(text)
    except ValueError:
        return documents[0].value, documents[0]
    return read_document(text, source), documents[0]


def placed(error: InputError, file: Path) -> InputError:
    """With the file, and the line as far as it can be told."""
    try:
        document = _read(read_text(file), str(file))[1]
    except InputError:
        document = None
    return _placed(error, str(file), document)


def _placed(error: InputError, source: str, document: Document | None) -> InputError:
    place = f"line {document.line_of(error.path)}" if document is not None else ""
    return InputError(": ".join(filter(None, (source, place, error.path))), error.problem)
