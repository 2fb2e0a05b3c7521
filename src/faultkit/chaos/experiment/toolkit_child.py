"""Runs an experiment with chaostoolkit-lib in a process of its own, and reports what happens.

It does what `chaos run` does, in the same order, so that files, extensions, controls and settings mean the
same. It decides nothing: outcomes, time limits and hanging rollbacks are the parent's concern.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import json
import logging
import os
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from chaoslib import convert_vars, merge_vars
from chaoslib.activity import execute_activity
from chaoslib.configuration import load_configuration, load_dynamic_configuration
from chaoslib.control import controls, initialize_controls, initialize_global_controls, load_global_controls
from chaoslib.control.python import import_control
from chaoslib.exceptions import ChaosException
from chaoslib.experiment import ensure_experiment_is_valid, run_experiment
from chaoslib.loader import load_experiment
from chaoslib.run import EventHandlerRegistry, RunEventHandler
from chaoslib.secret import load_secrets
from chaoslib.settings import CHAOSTOOLKIT_CONFIG_PATH, load_settings
from chaoslib.types import Dry, Schedule, Strategy

from faultkit.base.documents.yaml_text import read_document
from faultkit.base.errors import InputError
from faultkit.base.process_group import kill_own_group
from faultkit.chaos.experiment.toolkit_process import MESSAGES_FD_VARIABLE
from faultkit.chaos.experiment.toolkit_verdict import activity_failure, name_of, why_of
from faultkit.chaos.steps.fault_settings import measured_text

HYPOTHESIS_STRATEGIES: Mapping[str, str] = {
    "default": "default",
    "before-method-only": "before-method-only",
    "after-method-only": "after-method-only",
    "during-method-only": "during-method-only",
    "continuously": "continuously",
    "continously": "continuously",
    "continuous": "continuously",
    "skip": "skip",
}
"""The strategies by the names that may be written, with the names of the library."""
ROLLBACK_STRATEGIES: Mapping[str, str] = {
    "default": "always",
    "always": "always",
    "never": "never",
    "deviated": "deviated",
}
"""The strategies by the names that may be written, with what is done. One differs from Chaos Toolkit: its
`default`, which plays no rollbacks after a failure or an interruption, means `always` here."""


def strategies_of(
    experiment: Mapping[str, Any],
    settings: Mapping[str, Any],
    flags: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[str, str]:
    """Return the strategies of hypothesis and rollbacks. Raises ValueError for an unknown name."""
    strategies = []
    for key, flag, known in (
        ("hypothesis", "hypothesis_strategy", HYPOTHESIS_STRATEGIES),
        ("rollbacks", "rollback_strategy", ROLLBACK_STRATEGIES),
    ):
        # As in `chaos run`: the `runtime` of an experiment replaces that of the settings altogether.
        runtime = _mapping(experiment.get("runtime") or settings.get("runtime") or {}, "runtime")
        part = _mapping(runtime.get(key) or {}, f"runtime.{key}")
        written = flags.get(flag) or part.get("strategy", "default")
        if written not in known:
            raise ValueError(f"runtime.{key}.strategy: expected one of {', '.join(known)}, got {written!r}")
        strategies.append(known[written])
    return strategies[0], strategies[1]


def _mapping(value: Any, path: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(path, f"expected a mapping, got {value!r}")
    return value


class MessageWriter:
    """Writes messages to the parent."""

    def __init__(self, descriptor: int) -> None:
        # Not inheritable: a program that the experiment starts would keep it open, and the parent would wait.
        os.set_inheritable(descriptor, False)
        self._file = os.fdopen(descriptor, "w", encoding="utf-8")

    def write(self, kind: str, **data: Any) -> None:
        """Send a message. Errors are ignored: the rollbacks must run although the parent has died."""
        try:
            line = json.dumps({"kind": kind, **data}, default=encoded)
        except (TypeError, ValueError, RecursionError):
            line = json.dumps({"kind": kind, **_writable(data)}, default=encoded)
        with contextlib.suppress(OSError, ValueError):
            self._file.write(line + "\n")
            self._file.flush()


_DEEPEST = 100


def _writable(value: Any, above: tuple[int, ...] = ()) -> Any:
    """Return a copy that JSON can express: a control may add a loop, or a key that is no text."""
    if not isinstance(value, dict | list | tuple):
        return value
    if id(value) in above or len(above) > _DEEPEST:
        return "…"
    above = (*above, id(value))
    if isinstance(value, dict):
        return {str(key): _writable(each, above) for key, each in value.items()}
    return [_writable(each, above) for each in value]


def encoded(value: object) -> str:
    """Return a value that JSON cannot express as Chaos Toolkit writes it, any other as its repr."""
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    if isinstance(value, decimal.Decimal | uuid.UUID):
        return str(value)
    return repr(value)


class _LogForwarder(logging.Handler):
    def __init__(self, writer: MessageWriter) -> None:
        super().__init__(logging.INFO)
        self._writer = writer

    def emit(self, record: logging.LogRecord) -> None:
        self._writer.write("said", level=record.levelname.lower(), text=record.getMessage())


class _EventForwarder(RunEventHandler):  # type: ignore[misc]
    """Passes the events of the library on to the parent."""

    def __init__(self, writer: MessageWriter) -> None:
        self._write = writer.write
        self._phase = "gate"
        self._rollback = -1

    def start_hypothesis_before(self, experiment: Any) -> None:
        self._phase = "gate"
        self._write("phase", phase="gate")

    def hypothesis_before_completed(self, experiment: Any, state: Any, journal: Any) -> None:
        self._write("state", phase="gate", met=_is_met(state))

    def start_method(self, experiment: Any) -> None:
        self._phase = "method"
        self._write("phase", phase="method")

    def continuous_hypothesis_iteration(self, iteration_index: int, state: Any) -> None:
        self._write("state", phase="during", met=_is_met(state))

    def start_hypothesis_after(self, experiment: Any) -> None:
        self._phase = "recheck"
        self._write("phase", phase="recheck")

    def hypothesis_after_completed(self, experiment: Any, state: Any, journal: Any) -> None:
        self._write("state", phase="recheck", met=_is_met(state))

    def start_rollbacks(self, experiment: Any) -> None:
        self._phase = "rollback"
        self._write("rollbacks_began")

    def rollbacks_completed(self, experiment: Any, journal: Any) -> None:
        self._write("rollbacks_ended")

    def start_activity(self, activity: Any) -> None:
        if self._phase == "rollback":
            self._rollback += 1
            self._write("rollback_began", index=self._rollback, name=name_of(activity))
            return
        self._write(
            "activity_began",
            name=name_of(activity),
            type=activity.get("type"),
            background=bool(activity.get("background")),
        )

    def activity_completed(self, activity: Any, run: Any) -> None:
        name, duration_s = name_of(activity), run.get("duration")
        if self._phase == "rollback":
            self._write("rollback_ended", index=self._rollback, name=name, why=activity_failure(run))
            return
        self._write(
            "activity_ended",
            phase=self._phase,
            name=name,
            type=activity.get("type"),
            status=run.get("status"),
            duration_s=duration_s if isinstance(duration_s, int | float) else None,
            why=why_of(run),
            measured=measured_text(run.get("output")),
        )


def _is_met(state: Any) -> bool | None:
    return None if state is None else bool(state.get("steady_state_met"))


class ParentPipe:
    """The stdin of this process: it brings orders, and its end means that the parent has died, however."""

    def __init__(self) -> None:
        # The functions of the experiment get an empty stdin.
        self._file = os.fdopen(os.dup(0), "rb", buffering=0)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def line(self) -> bytes:
        """Return the next line; end this process if there is none."""
        line = self._file.readline()
        if not line:
            sys.exit(1)
        return line

    def watch(self) -> None:
        """End this process as soon as the parent dies."""
        threading.Thread(target=self._end_with_parent, name="fault-parent-watch", daemon=True).start()

    def _end_with_parent(self) -> None:
        self._file.read(1)
        # The guardian plays the rollbacks; the method must not continue beside them.
        kill_own_group()


@contextlib.contextmanager
def _files(texts: list[tuple[str, str]]) -> Iterator[list[str]]:
    """Yield the paths of files with these names and texts: the library reads files only."""
    with tempfile.TemporaryDirectory(prefix="fault-toolkit-") as folder:
        paths = []
        for number, (name, text) in enumerate(texts):
            path = os.path.join(folder, f"{number}{os.path.splitext(name)[1]}")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            paths.append(path)
        yield paths


_BOOLEANS = ("true", "false", "yes", "no", "1", "0")


def _variables(texts: list[str]) -> dict[str, Any]:
    """Return the values of `--var`. The library's error does not name the variable, and it takes every word
    that it does not know for true."""
    found: dict[str, Any] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name.partition(":")[2] == "bool" and value.lower() not in _BOOLEANS:
            raise InputError(f"--var {name}", f'expected true or false, yes or no, 1 or 0, got "{value}"')
        try:
            found.update(convert_vars([text]))
        except ValueError as error:
            raise InputError(f"--var {name}", str(error)) from None
    return found


def _check_controls(files: list[tuple[str, str]]) -> None:
    """Refuse a control whose module cannot be imported: the library goes on without it."""
    for path, text in files:
        written: Any = read_document(text, path) or {}
        for name, control in written.items():
            provider = control.get("provider") or {}
            if provider.get("type") == "python" and import_control(control) is None:
                module = provider["module"]
                problem = f'expected a module that can be imported, got "{module}"'
                raise InputError(f"--control-file: {path}: {name}.provider.module", problem)


def main() -> None:
    """Read one order, check the experiment, wait for the parent's permission, and carry the order out."""
    writer = MessageWriter(int(os.environ.pop(MESSAGES_FD_VARIABLE)))
    parent = ParentPipe()
    order = json.loads(parent.line())
    logger = logging.getLogger("chaostoolkit")
    logger.setLevel(logging.INFO)
    logger.addHandler(_LogForwarder(writer))
    logger.propagate = False
    settings = load_settings(order["settings"] or CHAOSTOOLKIT_CONFIG_PATH) or {}
    flags = order["flags"]
    try:
        if order["do"] != "rollbacks":  # These are played although a control is missing.
            _check_controls(flags["control_files"])
        with _files(flags["control_files"]) as control_files:
            load_global_controls(settings, control_files)
        with _files(flags["var_files"]) as var_files:
            order["variables"], order["secrets"] = merge_vars(_variables(flags["variables"]), var_files)
        experiment = order["content"] or load_experiment(order["file"], settings)
        # Users see the reason in one line. A bad file may make the library raise anything.
        ensure_experiment_is_valid(experiment)
        hypothesis, rollbacks = strategies_of(experiment, settings, flags)
    except (ChaosException, InputError) as error:
        writer.write("invalid", why=str(error))
        return
    except Exception as error:
        writer.write("invalid", why=f"{type(error).__name__}: {error}")
        return
    count = len(experiment.get("rollbacks") or [])
    writer.write("valid", hypothesis=hypothesis, rollbacks=rollbacks, count=count, experiment=experiment)
    parent.line()  # The parent has written down by now how to undo what follows.
    parent.watch()
    _ACTIONS[order["do"]](writer, order, experiment, settings, hypothesis, rollbacks)


def _run(
    writer: MessageWriter, order: Any, experiment: Any, settings: Any, hypothesis: str, rollbacks: str
) -> None:
    experiment["dry"] = Dry.from_string(order["flags"]["dry"])
    runtime = settings.setdefault("runtime", {})
    runtime.setdefault("hypothesis", {})["strategy"] = hypothesis
    runtime.setdefault("rollbacks", {})["strategy"] = rollbacks
    strategy = Strategy.from_string(hypothesis)
    _play(writer, order, experiment, settings, strategy)


def _gate(writer: MessageWriter, order: Any, experiment: Any, settings: Any, *strategies: str) -> None:
    """Check the hypothesis only, without method and rollbacks."""
    bare = {**experiment, "method": [], "rollbacks": [], "dry": None}
    settings.setdefault("runtime", {}).setdefault("rollbacks", {})["strategy"] = "never"
    _play(writer, order, bare, settings, Strategy.BEFORE_METHOD)


def _play(writer: MessageWriter, order: Any, experiment: Any, settings: Any, strategy: Strategy) -> None:
    flags = order["flags"]
    journal = run_experiment(
        experiment,
        settings=settings,
        strategy=strategy,
        schedule=Schedule(flags["frequency_s"], flags["fail_fast"]),
        experiment_vars=(order["variables"], order["secrets"]),
        event_handlers=[_EventForwarder(writer)],
    )
    if isinstance(journal.get("experiment"), dict):  # A control may have replaced it.
        journal["experiment"]["dry"] = flags["dry"]  # JSON has no member of the library's enumeration.
    writer.write("journal", journal=journal)


def _rollbacks(writer: MessageWriter, order: Any, experiment: Any, settings: Any, *strategies: str) -> None:
    """Play the rollbacks in the order of the file, from `first` on: earlier ones were played, or hang."""
    config = load_configuration(experiment.get("configuration", {}), order["variables"])
    secrets = load_secrets(experiment.get("secrets", {}), config, order["secrets"])
    config = load_dynamic_configuration(config, secrets)
    registry = EventHandlerRegistry()
    initialize_global_controls(experiment, config, secrets, settings, event_registry=registry)
    initialize_controls(experiment, config, secrets, event_registry=registry)
    runs: list[Any] = []
    dry = Dry.from_string(order["flags"]["dry"])
    with controls(
        level="rollback", experiment=experiment, context=experiment, configuration=config, secrets=secrets
    ) as control:
        for index, activity in list(enumerate(experiment.get("rollbacks", [])))[order["first"] :]:
            name = name_of(activity)
            writer.write("rollback_began", index=index, name=name)
            try:
                run = execute_activity(experiment, activity, config, secrets, dry, registry, runs)
                why = activity_failure(run)
            except Exception as error:
                why = f"{type(error).__name__}: {error}"
                run = {"activity": dict(activity), "status": "failed", "exception": [why]}
            writer.write("rollback_ended", index=index, name=name, why=why, run=run)
        control.with_state(runs)
    writer.write("rollbacks_ended")


_ACTIONS: dict[str, Callable[..., None]] = {
    "run": _run,
    "gate": _gate,
    "rollbacks": _rollbacks,
}

if __name__ == "__main__":
    main()
