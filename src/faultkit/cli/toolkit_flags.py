"""The flags of `chaos run` that `fault chaos run` takes for files of Chaos Toolkit, with their meanings."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from faultkit.base.errors import InputError
from faultkit.cli.shared_options import add_options

if TYPE_CHECKING:
    from faultkit.chaos.experiment.experiment_file import AnyExperiment

F = TypeVar("F", bound=Callable[..., Any])
VAR_FILE_KEYS = ("configuration", "secrets")
_HYPOTHESIS = (
    "default",
    "before-method-only",
    "after-method-only",
    "during-method-only",
    "continuously",
    "skip",
)
_OPTIONS = (
    click.option(
        "--var",
        "variables",
        multiple=True,
        metavar="NAME[:TYPE]=VALUE",
        help="Chaos Toolkit: value of the configuration; TYPE is str, int, float, bool, bytes or json.",
    ),
    click.option(
        "--var-file",
        "var_files",
        multiple=True,
        metavar="FILE",
        help="Chaos Toolkit: configuration and secrets (YAML, JSON), or variables (.env). Repeatable.",
    ),
    click.option(
        "--control-file",
        "control_files",
        multiple=True,
        metavar="FILE",
        help="Chaos Toolkit: controls of all experiments, as YAML or JSON. Repeatable.",
    ),
    click.option(
        "--settings",
        metavar="FILE",
        help="Chaos Toolkit: settings to use in place of ~/.chaostoolkit/settings.yaml.",
    ),
    click.option(
        "--hypothesis-strategy",
        type=click.Choice(_HYPOTHESIS),
        help="Chaos Toolkit: when the hypothesis is checked.",
    ),
    click.option(
        "--hypothesis-frequency",
        "frequency_s",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="Chaos Toolkit: interval of a hypothesis that is checked during the method; by default 1.",
    ),
    click.option(
        "--fail-fast",
        is_flag=True,
        help="Chaos Toolkit: end the method when such a hypothesis is not met.",
    ),
    click.option(
        "--rollback-strategy",
        type=click.Choice(("default", "always", "never", "deviated")),
        help="Chaos Toolkit: when rollbacks are played; default means always.",
    ),
    click.option(
        "--dry",
        type=click.Choice(("probes", "actions", "activities", "pause")),
        help="Chaos Toolkit: what to leave out; activities are both. --dry-run changes nothing in any case.",
    ),
)
_FILES = ("var_files", "control_files")
_NAMES = (
    "variables",
    "var_files",
    "control_files",
    "settings",
    "hypothesis_strategy",
    "frequency_s",
    "fail_fast",
    "rollback_strategy",
    "dry",
)


def toolkit_options(function: F) -> F:
    """Add the options to a command, which receives those that were given as one argument, `toolkit`."""

    @functools.wraps(function)
    def collected(*args: Any, **kwargs: Any) -> Any:
        values = {name: kwargs.pop(name) for name in _NAMES}
        given = {name: value for name, value in values.items() if value not in (None, False, ())}
        return function(*args, toolkit=given, **kwargs)

    return add_options(collected, *_OPTIONS)  # type: ignore[return-value]


def with_toolkit_flags(
    experiments: Sequence[AnyExperiment], given: dict[str, Any]
) -> tuple[AnyExperiment, ...]:
    """Return the experiments, those of Chaos Toolkit with the flags. Raises InputError if there are none."""
    from faultkit.chaos.experiment.experiment_model import ToolkitExperiment, ToolkitFlags

    if not given:
        return tuple(experiments)
    if not any(isinstance(each, ToolkitExperiment) for each in experiments):
        flag = _flag(next(iter(given)))
        raise InputError(flag, "expected an experiment in the format of Chaos Toolkit, got none")
    frequency_s = given.get("frequency_s")
    if frequency_s is not None and not math.isfinite(frequency_s):
        raise InputError(_flag("frequency_s"), f"expected a number of seconds above 0, got {frequency_s}")
    for text in given.get("variables", ()):
        if not text.partition("=")[0] or "=" not in text:
            raise InputError("--var", f'expected NAME=VALUE or NAME:TYPE=VALUE, got "{text}"')
    texts: dict[str, Any] = {
        name: tuple((path, _checked_text(name, path)) for path in given.get(name, ())) for name in _FILES
    }
    settings = given.get("settings")
    if settings is not None:
        _checked_text("settings", settings)
    rest = {name: value for name, value in given.items() if name not in (*_FILES, "settings")}
    flags = ToolkitFlags(**rest, **texts)
    return tuple(
        replace(each, flags=flags, settings=settings) if isinstance(each, ToolkitExperiment) else each
        for each in experiments
    )


def _flag(name: str) -> str:
    return {
        "variables": "--var",
        "var_files": "--var-file",
        "control_files": "--control-file",
        "frequency_s": "--hypothesis-frequency",
    }.get(name, f"--{name.replace('_', '-')}")


def _checked_text(name: str, path: str) -> str:
    """Return the text of a file. The library logs a file that it cannot read, and goes on without it."""
    from faultkit.base.documents.yaml_text import read_document
    from faultkit.base.files import read_text

    flag = _flag(name)
    try:
        text = read_text(path)
        if Path(path).suffix in (".yaml", ".yml", ".json"):
            document = read_document(text, path)
            if document is not None and not isinstance(document, dict):
                raise InputError(path, "expected a mapping")
            _check_document(name, path, document or {})
        elif name != "var_files":
            raise InputError(path, "expected a file that ends in .yaml, .yml or .json")
        else:
            for number, line in enumerate(text.splitlines(), 1):
                if line.strip() and not line.strip().startswith("#") and "=" not in line:
                    raise InputError(f"{path}: line {number}", f'expected NAME=VALUE, got "{line.strip()}"')
    except InputError as error:
        raise error.at(f"{flag}: {error.path}") from None
    return text


def _check_document(name: str, path: str, document: dict[str, Any]) -> None:
    """Refuse values that are no mappings, where the library fails without saying which."""
    from faultkit.base.documents.checks import shown

    parts = {
        "var_files": VAR_FILE_KEYS,
        "control_files": tuple(document),
        "settings": ("runtime", "controls"),
    }
    for key in parts[name]:
        value = document.get(key, {})
        if value is None and key == "runtime":
            continue
        if not isinstance(value, dict):
            raise InputError(f"{path}: {key}", f"expected a mapping, got {shown(value)}")
        provider = value.get("provider", {}) if name == "control_files" else {}
        if not isinstance(provider, dict) or (provider and not isinstance(provider.get("type"), str)):
            raise InputError(
                f"{path}: {key}.provider", f"expected a mapping with a type, got {shown(provider)}"
            )
