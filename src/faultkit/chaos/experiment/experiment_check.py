"""Everything that is wrong with a file of an experiment, found without running it: `fault chaos validate`.

The same checks as before a run: functions, programs and scenario files must be there, and the limits must
allow the experiment. What only the moment of the run decides is not checked: the environment, and whether a
process that gets a signal is there. A variable need not be set; what depends on its value is not checked.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from faultkit.base.documents.variables import UnsetVariable
from faultkit.base.documents.yaml_text import placed
from faultkit.base.errors import InputError
from faultkit.base.files import read_text
from faultkit.chaos.experiment.experiment_file import UnknownExperiment, load_day, read_experiment
from faultkit.chaos.experiment.experiment_model import ToolkitExperiment
from faultkit.chaos.experiment.preflight import problems_of
from faultkit.chaos.safety.chaos_limits import Limits


@dataclass(frozen=True, slots=True)
class FileCheck:
    """The result for one file."""

    problems: list[InputError] = field(default_factory=list)
    unset: tuple[str, ...] = ()
    """Variables that are not set, so that their values could not be checked."""


def check_file(path: Path, env: Mapping[str, str], limits: Limits) -> FileCheck:
    """Return everything that is wrong with the file of an experiment."""
    source = os.fspath(path)
    try:
        text = read_text(path)
    except InputError as error:
        return FileCheck([error])
    _, problems = read_experiment(text, source, env)
    unset = tuple(dict.fromkeys(each.name for each in problems if isinstance(each, UnsetVariable)))
    experiment, problems = read_experiment(text, source, {**env, **{name: f"${{{name}}}" for name in unset}})
    if isinstance(experiment, ToolkitExperiment):
        from faultkit.base.installation import require_extra
        from faultkit.chaos.experiment.toolkit_process import why_toolkit_refuses

        require_extra("toolkit", f'the Chaos Toolkit experiment "{experiment.name}"')
        why = why_toolkit_refuses(source)
        problems = [] if why is None else [InputError(source, why)]
    elif experiment is not None:
        problems = [placed(error, text, source) for error in problems_of(experiment, limits)]
    marks = [f"${{{name}}}" for name in unset]
    return FileCheck([each for each in problems if not any(mark in each.problem for mark in marks)], unset)


def check_day(path: Path, env: Mapping[str, str]) -> FileCheck:
    """Return what is wrong with the file of a game day: its keys, and that its experiments can be read."""
    unset: dict[str, str] = {}
    while True:
        try:
            load_day(path, {**env, **unset})
        except InputError as error:
            name = _unset_variable(error)
            if name is not None and name not in unset:
                unset[name] = f"${{{name}}}"
                continue
            is_about_unset = any(mark in error.problem for mark in unset.values())
            return FileCheck([] if is_about_unset else [error], tuple(unset))
        return FileCheck([], tuple(unset))


def _unset_variable(error: InputError) -> str | None:
    """Return the variable that must be set before the rest can be checked, if that is the error."""
    causes = error.broken if isinstance(error, UnknownExperiment) else (error,)
    return next((each.name for each in causes if isinstance(each, UnsetVariable)), None)
