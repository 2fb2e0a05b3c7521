"""Experiments from files: one file, the experiments of a folder by their names, and game days.

Experiments are in the short form, or in the format of Chaos Toolkit, which only its own library checks. Every
error has its file, and its line if that is known. A game day is a file that names several experiments; the
keys are in GAME_DAY.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from faultkit.base.documents.checks import advice, shown
from faultkit.base.documents.key_tables import Key, KeyTable
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import SWITCH_SCHEMA, TEXT_SCHEMA, switch
from faultkit.base.documents.yaml_text import line_in, placed, read_document, read_documents
from faultkit.base.errors import InputError
from faultkit.base.files import read_text
from faultkit.chaos.experiment.experiment_keys import parse_experiment
from faultkit.chaos.experiment.experiment_model import Experiment, ToolkitExperiment

AnyExperiment: TypeAlias = Experiment | ToolkitExperiment
USUAL_FOLDER = "chaos"
PATTERNS = ("*.yaml", "*.yml", "*.json")
_A_LIST = "a list of files or names"


# --- one experiment --------------------------------------------------------------------------------


def load_experiment(path: str | os.PathLike[str], env: Mapping[str, str] | None = None) -> AnyExperiment:
    """Return the experiment of a file. Raises the first error of `validate`."""
    experiment, problems = read_experiment(read_text(path), os.fspath(path), env)
    if problems:
        raise problems[0]
    assert experiment is not None
    return experiment


def validate(path: str | os.PathLike[str], env: Mapping[str, str] | None = None) -> list[InputError]:
    """Return everything that is wrong with a file, in order of its lines."""
    try:
        return read_experiment(read_text(path), os.fspath(path), env)[1]
    except InputError as error:
        return [error]


def read_experiment(
    text: str, source: str, env: Mapping[str, str] | None = None
) -> tuple[AnyExperiment | None, list[InputError]]:
    """Return the experiment of a text, if it is valid, and everything that is wrong with it."""
    try:
        value = _read_value(text, source)
    except InputError as error:
        return None, [error]
    file = Path(source)
    if isinstance(value, Mapping) and "title" in value and "name" not in value:
        return ToolkitExperiment(str(value["title"]), file, value), []
    problems: list[InputError] = []
    experiment = parse_experiment(value, os.environ if env is None else env, problems, file)
    problems.sort(key=lambda error: line_in(text, error.path) or 0)
    return experiment, [placed(error, text, source) for error in problems]


def _read_value(text: str, source: str) -> object:
    try:
        documents = list(read_documents(text, source, "an experiment"))
    except InputError:
        # JSON may contain tabs, which YAML refuses. For text that is neither, this raises YAML's error.
        return read_document(text, source, "an experiment")
    if len(documents) != 1:
        got = "a file without one" if not documents else f"{len(documents)} documents"
        raise InputError(source, f"expected one experiment, got {got}")
    try:
        json.loads(text)
    except ValueError:
        return documents[0].value
    # JSON is read as JSON, because YAML reads some of it in another way.
    return read_document(text, source, "an experiment")


# --- a folder --------------------------------------------------------------------------------------


class UnknownExperiment(InputError):
    """No experiment of a folder has a name. `broken`: the errors of its files, one of which may have it."""

    def __init__(self, path: str, problem: str, broken: tuple[InputError, ...]) -> None:
        super().__init__(path, problem)
        self.broken = broken


class RepeatedName(InputError):
    """Two files of a folder hold experiments of the same name."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """The experiments and game days of a folder."""

    folder: Path
    experiments: Mapping[str, AnyExperiment] = field(default_factory=dict)
    days: Mapping[str, Path] = field(default_factory=dict)
    """Files of game days, by title."""
    problems: tuple[InputError, ...] = ()
    """Errors of files that are neither an experiment nor a game day."""

    def experiment(self, name: str) -> AnyExperiment:
        """Return an experiment by its name. Raises InputError with the nearest names."""
        if name in self.experiments:
            return self.experiments[name]
        hint = (
            advice(name, list(self.experiments)) if self.experiments else f"there are none in {self.folder}"
        )
        if self.days:
            hint += f"; game days: {', '.join(self.days)}"
        broken = f" (and {self.problems[0]})" if self.problems else ""
        problem = f"unknown experiment {shown(name)}; {hint}{broken}"
        raise UnknownExperiment("experiment_name", problem, self.problems)


def read_catalog(folder: str | os.PathLike[str], env: Mapping[str, str] | None = None) -> Catalog:
    """Return the experiments of a folder; none if it does not exist. If two files have the same name, the
    second is a problem."""
    experiments: dict[str, AnyExperiment] = {}
    days: dict[str, Path] = {}
    problems: list[InputError] = []
    for file in files_of(folder):
        try:
            if (title := _day_title(file)) is not None:
                days[title] = file
                continue
            experiment = load_experiment(file, env)
        except InputError as error:
            problems.append(error)
            continue
        if experiment.name in experiments:
            other = experiments[experiment.name].file
            problem = f'expected a name that no other experiment has, got "{experiment.name}" as in {other}'
            key = "title" if isinstance(experiment, ToolkitExperiment) else "name"
            problems.append(placed(RepeatedName(key, problem), read_text(file), str(file)))
        else:
            experiments[experiment.name] = experiment
    return Catalog(Path(folder), experiments, days, tuple(problems))


def files_of(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the files of a folder that may be experiments."""
    return sorted(
        {file for pattern in PATTERNS for file in Path(folder).glob(pattern) if os.path.isfile(file)}
    )


def find_runnable(
    given: str, folder: str | os.PathLike[str], env: Mapping[str, str] | None = None
) -> AnyExperiment | GameDayFile:
    """Return an experiment or game day by the path of its file, or by its name in the folder."""
    file = Path(given)
    if os.path.isfile(file):
        return load_day(file, env) if is_day(file) else load_experiment(file, env)
    if file.suffix in {Path(pattern).suffix for pattern in PATTERNS}:
        raise InputError(given, "expected a file that is there")
    catalog = read_catalog(folder, env)
    if given not in catalog.experiments:
        # A game day has a title, which is seldom a word to type; the name of its file is.
        named = {file.stem: file for file in catalog.days.values()} | dict(catalog.days)
        if given in named:
            return load_day(named[given], env)
    return catalog.experiment(given)


# --- game days -------------------------------------------------------------------------------------


def _read_title(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError("", f"expected a title, got {shown(value)}")
    return value.strip()


def _read_list(value: object) -> list[object]:
    if not isinstance(value, list) or not value:
        raise InputError("", f"expected {_A_LIST}, got {shown(value)}")
    return value


GAME_DAY = KeyTable(
    Key("gameday", _read_title, TEXT_SCHEMA, "", "The title.", "a title"),
    Key(
        "experiments",
        _read_list,
        {"type": "array", "items": TEXT_SCHEMA},
        (),
        "The experiments: files beside this one, or names of experiments in its folder.",
        _A_LIST,
    ),
    Key("together", switch, SWITCH_SCHEMA, False, "Whether all run at the same time."),
    Key("stop", switch, SWITCH_SCHEMA, False, "Whether the first that does not hold is the last."),
    has_nulls=False,
)


@dataclass(frozen=True, slots=True)
class GameDayFile:
    """A game day as its file describes it."""

    title: str
    experiments: tuple[AnyExperiment, ...]
    together: bool = False
    stop: bool = False
    file: Path | None = None


def is_day(file: Path) -> bool:
    """Return whether a file is a game day. Raises InputError if it cannot be read."""
    return _day_title(file) is not None


def _day_title(file: Path) -> str | None:
    """Return the title of a game day, None for another file. Other mistakes are left to `load_day`."""
    text = read_text(file)
    if "gameday" not in text:
        return None
    document = read_document(text, str(file))
    if not isinstance(document, Mapping) or "gameday" not in document:
        return None
    try:
        return _read_title(document["gameday"])
    except InputError as error:
        raise error.within("gameday") from None


def load_day(file: Path, env: Mapping[str, str] | None = None) -> GameDayFile:
    """Return the game day of a file. Raises InputError with the file and the place."""
    text = read_text(file)
    document = read_document(text, str(file))
    try:
        reader = MappingReader(document, GAME_DAY)
        title, listed = reader.take("gameday"), reader.take("experiments")
        together, stop = reader.take("together"), reader.take("stop")
    except InputError as error:
        raise placed(error, text, str(file)) from None
    has_names = any(_file_beside(file, each) is None for each in listed)
    catalog = read_catalog(file.parent, env) if has_names else Catalog(file.parent)

    def experiment_of(each: object, path: str) -> AnyExperiment:
        if (beside := _file_beside(file, each)) is not None:
            return load_experiment(beside, env)  # Its errors have the place in that file.
        try:
            if not isinstance(each, str):
                problem = f"expected a file or the name of an experiment, got {shown(each)}"
                raise InputError("", problem)
            return catalog.experiment(each)
        except InputError as error:
            raise placed(error.at(path), text, str(file)) from None

    experiments = tuple(experiment_of(each, f"experiments[{index}]") for index, each in enumerate(listed))
    try:
        refuse_repeats(experiments)
    except InputError as error:
        raise placed(error, text, str(file)) from None
    return GameDayFile(title, experiments, together, stop, file)


def refuse_repeats(experiments: Iterable[AnyExperiment]) -> None:
    """Raise InputError if an experiment is listed twice."""
    names: set[str] = set()
    for each in experiments:
        if each.name in names:
            raise InputError("experiments", f'expected each of them once, got "{each.name}" twice')
        names.add(each.name)


def _file_beside(day: Path, given: object) -> Path | None:
    found = day.parent / given if isinstance(given, str) and given else None
    return found if found is not None and os.path.isfile(found) else None
