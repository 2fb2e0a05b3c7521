"""The experiments of a folder by their names, and game days: files that name several of them.

gameday: Black Friday
experiments: [kill-cache.yaml, slow-database]     files beside it, or names of experiments beside it
together: false                                   side by side?
stop: false                                       end with the first that does not hold?
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from faultkit.base.documents.checks import advice, reject_unknown_keys, shown
from faultkit.base.documents.yaml_text import read_document
from faultkit.base.errors import InputError
from faultkit.base.files import read_text
from faultkit.chaos.experiment.experiment_file import PATTERNS, AnyExperiment, load_experiment, placed
from faultkit.chaos.experiment.experiment_model import ToolkitExperiment

USUAL_FOLDER = "chaos"
DAY_KEYS = ("gameday", "experiments", "together", "stop")


@dataclass(frozen=True, slots=True)
class GameDayFile:
    """A game day as its file describes it."""

    title: str
    experiments: tuple[AnyExperiment, ...]
    together: bool = False
    stop: bool = False
    file: Path | None = None


Runnable: TypeAlias = AnyExperiment | GameDayFile


@dataclass(frozen=True, slots=True)
class Catalog:
    """The experiments and game days of a folder."""

    folder: Path
    experiments: Mapping[str, AnyExperiment] = field(default_factory=dict)
    days: Mapping[str, Path] = field(default_factory=dict)
    """Files of game days, by title."""
    problems: tuple[InputError, ...] = ()
    """What is wrong with files that are neither an experiment nor a game day."""

    def experiment(self, name: str) -> AnyExperiment:
        """Return an experiment by its name. Raises InputError with the nearest names."""
        if name in self.experiments:
            return self.experiments[name]
        hint = (
            advice(name, list(self.experiments)) if self.experiments else f"there are none in {self.folder}"
        )
        broken = f" (and {self.problems[0]})" if self.problems else ""
        raise InputError("experiment_name", f"unknown experiment {shown(name)}; {hint}{broken}")


def read_catalog(folder: str | os.PathLike[str], env: Mapping[str, str] | None = None) -> Catalog:
    """Return the experiments of a folder; none if it does not exist. If two files have the same name, the
    second is a problem."""
    found: dict[str, AnyExperiment] = {}
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
        if experiment.name in found:
            other = found[experiment.name].file
            problem = f'expected a name that no other experiment has, got "{experiment.name}" as in {other}'
            key = "title" if isinstance(experiment, ToolkitExperiment) else "name"
            problems.append(placed(InputError(key, problem), file))
        else:
            found[experiment.name] = experiment
    return Catalog(Path(folder), found, days, tuple(problems))


def files_of(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the files of a folder that may be experiments."""
    return sorted({file for pattern in PATTERNS for file in Path(folder).glob(pattern) if file.is_file()})


def find_runnable(
    given: str, folder: str | os.PathLike[str], env: Mapping[str, str] | None = None
) -> Runnable:
    """Return an experiment or game day by the path of its file, or by its name in the folder."""
    file = Path(given)
    if file.is_file():
        return load_day(file, env) if is_day(file) else load_experiment(file, env)
    if file.suffix in {Path(pattern).suffix for pattern in PATTERNS}:
        raise InputError(given, "expected a file that is there")
    catalog = read_catalog(folder, env)
    if given in catalog.days and given not in catalog.experiments:
        return load_day(catalog.days[given], env)
    return catalog.experiment(given)


def is_day(file: Path) -> bool:
    """Return whether a file is a game day. Raises InputError if it cannot be read."""
    return _day_title(file) is not None


def load_day(file: Path, env: Mapping[str, str] | None = None) -> GameDayFile:
    """Return the game day of a file. Raises InputError with the file and the place."""
    document = read_document(read_text(file), str(file))
    try:
        if not isinstance(document, Mapping):
            raise InputError("", f"expected a mapping, got {shown(document)}")
        reject_unknown_keys(document, DAY_KEYS, "")
        title = _title(document.get("gameday"))
        listed = document.get("experiments")
        if not isinstance(listed, list) or not listed:
            raise InputError("experiments", f"expected a list of files or names, got {shown(listed)}")
        switches = {key: _switch(document.get(key, False), key) for key in ("together", "stop")}
    except InputError as error:
        raise placed(error, file) from None
    beside = read_catalog(file.parent, env) if any(not _file(file, each) for each in listed) else None
    experiments = tuple(
        _one(each, f"experiments[{index}]", file, beside, env) for index, each in enumerate(listed)
    )
    try:
        refuse_repeats(experiments)
    except InputError as error:
        raise placed(error, file) from None
    return GameDayFile(title, experiments, switches["together"], switches["stop"], file)


def refuse_repeats(experiments: Iterable[AnyExperiment]) -> None:
    """Raise InputError if an experiment is listed twice."""
    seen: set[str] = set()
    for each in experiments:
        if each.name in seen:
            raise InputError("experiments", f'expected each of them once, got "{each.name}" twice')
        seen.add(each.name)


def _one(
    given: object, path: str, day: Path, beside: Catalog | None, env: Mapping[str, str] | None
) -> AnyExperiment:
    if (file := _file(day, given)) is not None:
        return load_experiment(file, env)
    if not isinstance(given, str) or beside is None:
        problem = f"expected a file or the name of an experiment, got {shown(given)}"
        raise placed(InputError(path, problem), day)
    try:
        return beside.experiment(given)
    except InputError as error:
        raise placed(InputError(path, error.problem), day) from None


def _file(day: Path, given: object) -> Path | None:
    found = day.parent / given if isinstance(given, str) and given else None
    return found if found is not None and found.is_file() else None


def _day_title(file: Path) -> str | None:
    """Return the title of a game day, None for another file. Other mistakes are left to `load_day`."""
    text = read_text(file)
    if "gameday" not in text:
        return None
    document = read_document(text, str(file))
    return _title(document["gameday"]) if isinstance(document, Mapping) and "gameday" in document else None


def _title(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError("gameday", f"expected a title, got {shown(value)}")
    return value.strip()


def _switch(value: object, path: str) -> bool:
    if not isinstance(value, bool):
        raise InputError(path, f"expected true or false, got {shown(value)}")
    return value
