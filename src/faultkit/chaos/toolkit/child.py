"""`python -m faultkit.chaos.toolkit.child`: runs an experiment with chaostoolkit-lib, and tells what happens.

It does what `chaos run` does, in the same order, so that files, extensions, controls and settings mean the
same. It decides nothing: outcomes, time limits and what becomes of a hanging rollback are its parent's.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import json
import logging
import os
import signal
import sys
import threading
import uuid
from collections.abc import Callable
from typing import Any

from chaoslib.activity import execute_activity
from chaoslib.configuration import load_configuration, load_dynamic_configuration
from chaoslib.control import controls, initialize_controls, initialize_global_controls, load_global_controls
from chaoslib.exceptions import ChaosException
from chaoslib.experiment import ensure_experiment_is_valid, run_experiment
from chaoslib.loader import load_experiment
from chaoslib.run import EventHandlerRegistry, RunEventHandler
from chaoslib.secret import load_secrets
from chaoslib.settings import CHAOSTOOLKIT_CONFIG_PATH, load_settings
from chaoslib.types import Schedule, Strategy

from faultkit.chaos.toolkit.messages import TOLD_FD_VARIABLE
from faultkit.chaos.toolkit.strategies import HYPOTHESIS_STRATEGIES, strategies_of


class Teller:
    """The way back to the parent."""

    def __init__(self, descriptor: int) -> None:
        # What the experiment starts must not keep it open, or the parent would wait for that.
        os.set_inheritable(descriptor, False)
        self._file = os.fdopen(descriptor, "w", encoding="utf-8")

    def tell(self, kind: str, **data: Any) -> None:
        # A parent that is gone is no reason to leave the rollbacks undone.
        with contextlib.suppress(OSError, ValueError):
            self._file.write(json.dumps({"kind": kind, **data}, default=encoded) + "\n")
            self._file.flush()


def encoded(value: object) -> str:
    """What JSON does not know, as Chaos Toolkit writes it, and the rest in words: no journal is lost."""
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    if isinstance(value, decimal.Decimal | uuid.UUID):
        return str(value)
    return repr(value)


class _Log(logging.Handler):
    def __init__(self, teller: Teller) -> None:
        super().__init__(logging.INFO)
        self._teller = teller

    def emit(self, record: logging.LogRecord) -> None:
        self._teller.tell("said", level=record.levelname.lower(), text=record.getMessage())


class _Watcher(RunEventHandler):  # type: ignore[misc]
    """Tells what the library tells its handlers."""

    def __init__(self, teller: Teller) -> None:
        self._tell = teller.tell
        self._phase = "gate"
        self._rollback = -1

    def start_hypothesis_before(self, experiment: Any) -> None:
        self._phase = "gate"
        self._tell("phase", phase="gate")

    def hypothesis_before_completed(self, experiment: Any, state: Any, journal: Any) -> None:
        self._tell("state", phase="gate", met=_is_met(state))

    def start_method(self, experiment: Any) -> None:
        self._phase = "method"
        self._tell("phase", phase="method")

    def continuous_hypothesis_iteration(self, iteration_index: int, state: Any) -> None:
        self._tell("state", phase="during", met=_is_met(state))

    def start_hypothesis_after(self, experiment: Any) -> None:
        self._phase = "recheck"
        self._tell("phase", phase="recheck")

    def hypothesis_after_completed(self, experiment: Any, state: Any, journal: Any) -> None:
        self._tell("state", phase="recheck", met=_is_met(state))

    def start_rollbacks(self, experiment: Any) -> None:
        self._phase = "rollback"
        self._tell("rollbacks_began")

    def rollbacks_completed(self, experiment: Any, journal: Any) -> None:
        self._tell("rollbacks_ended")

    def start_activity(self, activity: Any) -> None:
        if self._phase == "rollback":
            self._rollback += 1
            self._tell("rollback_began", index=self._rollback, name=activity.get("name"))
            return
        behind = bool(activity.get("background"))
        self._tell("activity_began", name=activity["name"], type=activity["type"], background=behind)

    def activity_completed(self, activity: Any, run: Any) -> None:
        data = {
            "name": activity.get("name"),
            "type": activity.get("type"),
            "status": run.get("status"),
            "duration_s": run.get("duration"),
            "why": _why(run),
        }
        if self._phase == "rollback":
            self._tell("rollback_ended", index=self._rollback, **data)
        else:
            self._tell("activity_ended", phase=self._phase, **data)


def _is_met(state: Any) -> bool | None:
    return None if state is None else bool(state["steady_state_met"])


def _why(run: Any) -> str | None:
    lines = run.get("exception")
    return str(lines[-1]).strip() if lines else None


class Lifeline:
    """Our stdin: orders come by it, and its end says that the parent is gone, by whatever death."""

    def __init__(self) -> None:
        # The functions of the experiment get a stdin that holds nothing.
        self._file = os.fdopen(os.dup(0), "rb", buffering=0)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def line(self) -> bytes:
        line = self._file.readline()
        if not line:
            sys.exit(1)
        return line

    def watch(self) -> None:
        threading.Thread(target=self._end_with_parent, name="fault-lifeline", daemon=True).start()

    def _end_with_parent(self) -> None:
        self._file.read(1)
        # Whoever finds the lease plays the rollbacks. Here the method must not go on.
        os.killpg(0, signal.SIGKILL)


def main() -> None:
    teller = Teller(int(os.environ.pop(TOLD_FD_VARIABLE)))
    lifeline = Lifeline()
    order = json.loads(lifeline.line())
    logger = logging.getLogger("chaostoolkit")
    logger.setLevel(logging.INFO)
    logger.addHandler(_Log(teller))
    logger.propagate = False
    settings = load_settings(order["settings"] or CHAOSTOOLKIT_CONFIG_PATH) or {}
    try:
        load_global_controls(settings)
        experiment = order["content"] or load_experiment(order["file"], settings)
        # The one-line reason is what users see, and a bad file may fail the library in any way.
        ensure_experiment_is_valid(experiment)
        hypothesis, rollbacks = strategies_of(experiment, settings)
    except ChaosException as error:
        teller.tell("invalid", why=str(error))
        return
    except Exception as error:
        teller.tell("invalid", why=f"{type(error).__name__}: {error}")
        return
    played = len(experiment.get("rollbacks") or [])
    teller.tell("valid", hypothesis=hypothesis, rollbacks=rollbacks, count=played, experiment=experiment)
    lifeline.line()  # By now it is written down how to undo what comes.
    lifeline.watch()
    _DOES[order["do"]](teller, order, experiment, settings, hypothesis, rollbacks)


def _validate(*given: Any) -> None:
    """It was, on the way here."""


def _run(teller: Teller, order: Any, experiment: Any, settings: Any, hypothesis: str, rollbacks: str) -> None:
    experiment["dry"] = None
    runtime = settings.setdefault("runtime", {})
    runtime.setdefault("hypothesis", {})["strategy"] = hypothesis
    runtime.setdefault("rollbacks", {})["strategy"] = rollbacks
    strategy = Strategy.from_string(HYPOTHESIS_STRATEGIES[hypothesis])
    _play(teller, order, experiment, settings, strategy)


def _gate(teller: Teller, order: Any, experiment: Any, settings: Any, *strategies: str) -> None:
    """Looks and touches nothing: without method and rollbacks."""
    bare = {**experiment, "method": [], "rollbacks": [], "dry": None}
    settings.setdefault("runtime", {}).setdefault("rollbacks", {})["strategy"] = "never"
    _play(teller, order, bare, settings, Strategy.BEFORE_METHOD)


def _play(teller: Teller, order: Any, experiment: Any, settings: Any, strategy: Strategy) -> None:
    journal = run_experiment(
        experiment,
        settings=settings,
        strategy=strategy,
        schedule=Schedule(order["frequency_s"], order["fail_fast"], order["fail_fast_ratio"]),
        experiment_vars=(order["variables"], {}),
        event_handlers=[_Watcher(teller)],
    )
    teller.tell("journal", journal=journal)


def _rollbacks(teller: Teller, order: Any, experiment: Any, settings: Any, *strategies: str) -> None:
    """In the order of the file, from `first` on: what is before it was played, or is known not to end."""
    config = load_configuration(experiment.get("configuration", {}), order["variables"])
    secrets = load_secrets(experiment.get("secrets", {}), config, {})
    config = load_dynamic_configuration(config, secrets)
    registry = EventHandlerRegistry()
    initialize_global_controls(experiment, config, secrets, settings, event_registry=registry)
    initialize_controls(experiment, config, secrets, event_registry=registry)
    runs: list[Any] = []
    with controls(
        level="rollback", experiment=experiment, context=experiment, configuration=config, secrets=secrets
    ) as control:
        for index, activity in list(enumerate(experiment.get("rollbacks", [])))[order["first"] :]:
            name = activity.get("name") or activity.get("ref")
            teller.tell("rollback_began", index=index, name=name)
            try:
                run = execute_activity(experiment, activity, config, secrets, None, registry, runs)
                why = _why(run)
            except Exception as error:
                run, why = {"status": "failed"}, f"{type(error).__name__}: {error}"
            teller.tell("rollback_ended", index=index, name=name, status=run["status"], why=why, run=run)
        control.with_state(runs)
    teller.tell("rollbacks_ended")


_DOES: dict[str, Callable[..., None]] = {
    "validate": _validate,
    "run": _run,
    "gate": _gate,
    "rollbacks": _rollbacks,
}

if __name__ == "__main__":
    main()
