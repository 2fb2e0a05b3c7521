"""Several experiments: a game day, which runs all of them and sums them up, and a monkey, which picks one.

GameDay and ChaosMonkey run anything that has a name and returns a result. `run_game_day` runs the experiments
of a game day's file in a session.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from faultkit.base.errors import InputError
from faultkit.base.rng import Rng
from faultkit.base.times import now_us, time_text
from faultkit.chaos.experiment.experiment_file import AnyExperiment, GameDayFile
from faultkit.chaos.experiment.experiment_model import (
    EXIT_CODE,
    FAULTKIT_KEY,
    SEVERITY,
    Event,
    ExperimentResult,
    Outcome,
    result_document,
)
from faultkit.chaos.report.journal_report import OUTCOMES
from faultkit.chaos.session import ChaosSession
from faultkit.report import markdown


class Runnable(Protocol):
    """An experiment that ChaosMonkey can run."""

    @property
    def name(self) -> str: ...

    def run(self) -> ExperimentResult: ...


@dataclass(frozen=True, slots=True)
class PlannedExperiment:
    """An experiment by its name, and how to run it."""

    name: str
    run: Callable[[], Awaitable[ExperimentResult]]


@dataclass(slots=True)
class GameDay:
    """Experiments that run in order or in parallel. One that fails does not keep the others from running."""

    title: str
    planned: list[PlannedExperiment] = field(default_factory=list)
    results: list[ExperimentResult] = field(default_factory=list)
    started_at: str = ""

    def add(self, name: str, run: Callable[[], Awaitable[ExperimentResult]]) -> GameDay:
        """Plan an experiment. Raises InputError if its name is planned already."""
        if any(each.name == name for each in self.planned):
            raise InputError("experiment_name", f'"{name}" is in this game day already')
        self.planned.append(PlannedExperiment(name, run))
        return self

    async def run_all(
        self,
        *,
        parallel: bool = False,
        until: Callable[[ExperimentResult], bool] = lambda result: False,
    ) -> list[ExperimentResult]:
        """Run all experiments. In order, the first result for which `until` returns true is the last."""
        self.started_at = time_text(now_us())
        self.results = []
        if parallel:
            self.results = list(await asyncio.gather(*(_result(each) for each in self.planned)))
            return self.results
        for each in self.planned:
            self.results.append(await _result(each))
            if until(self.results[-1]):
                break
        return self.results

    @property
    def exit_code(self) -> int:
        """The exit code of the most serious outcome."""
        outcomes = [result.outcome for result in self.results]
        return EXIT_CODE[max(outcomes, key=SEVERITY.index, default=Outcome.HELD)]

    def report(self) -> str:
        """Return the summary in Markdown."""
        return summary(self.title, self.results, [each.name for each in self.planned], self.started_at)


async def _result(planned: PlannedExperiment) -> ExperimentResult:
    started_at = time_text(now_us())
    try:
        return await planned.run()
    except InputError as error:
        outcome, problem = Outcome.INVALID, str(error)
    except Exception as error:
        outcome, problem = Outcome.ABORTED, f"{type(error).__name__}: {error}"
    return ExperimentResult(planned.name, False, False, False, 0.0, problem, started_at, outcome)


def summary(
    title: str, results: Sequence[ExperimentResult], planned: Sequence[str], started_at: str = ""
) -> str:
    """Return the results of a game day in Markdown."""
    held = sum(result.outcome is Outcome.HELD for result in results)
    lines = [f"# Game day: {_escaped(title)}", ""]
    if started_at:
        lines += [f"Started {started_at}.", ""]
    lines += [f"{len(results)} of {len(planned)} experiments run, {held} passed.", ""]
    rows = [
        (
            _escaped(result.experiment_name),
            str(result.outcome),
            "yes" if result.steady_state_before else "no",
            "yes" if result.steady_state_after else "no",
            "ok" if result.rollback_ok else "FAILED",
            f"{result.duration_seconds:.1f}",
        )
        for result in results
    ]
    lines += markdown.table_lines(("experiment", "outcome", "before", "after", "rollback", "seconds"), rows)
    for result in results:
        lines += ["", f"## {_escaped(result.experiment_name)}", "", f"{OUTCOMES[result.outcome]}."]
        if result.error is not None:
            lines += ["", f"> {_escaped(result.error)}"]
    not_run = [name for name in planned if name not in {result.experiment_name for result in results}]
    if not_run:
        lines += ["", f"Not run: {', '.join(map(_escaped, not_run))}."]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return markdown.escape(text, "\\|", "<")


class ChaosMonkey:
    """Runs experiments made of functions: all of them, or one by chance."""

    def __init__(self, seed: int | str = 0, most_kept: int = 1000) -> None:
        self.results: list[ExperimentResult] = []
        """The newest results, at most `most_kept`."""
        self.total_runs = 0
        self._experiments: dict[str, Runnable] = {}
        self._rng = Rng.keyed(seed, "chaos-monkey")
        self._most_kept = most_kept

    def add(self, experiment: Runnable) -> None:
        """Register an experiment. Raises InputError if its name is registered already."""
        if experiment.name in self._experiments:
            raise InputError("experiment_name", f'"{experiment.name}" is registered already')
        self._experiments[experiment.name] = experiment

    def run(self, name: str) -> ExperimentResult:
        """Run one experiment by its name."""
        if name not in self._experiments:
            known = ", ".join(self._experiments) or "none"
            raise InputError("experiment_name", f'unknown experiment "{name}"; there are {known}')
        result = self._experiments[name].run()
        self.total_runs += 1
        self.results = [*self.results, result][-self._most_kept :]
        return result

    def run_all(self) -> list[ExperimentResult]:
        """Run all experiments, in the order of registration."""
        return [self.run(name) for name in self._experiments]

    def run_random(self) -> ExperimentResult | None:
        """Run an experiment chosen by the seed; return None if there are none."""
        if not self._experiments:
            return None
        return self.run(list(self._experiments)[self._rng.below(len(self._experiments))])


# --- a game day of experiment files ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GameDayRun:
    """A finished game day."""

    game_day: GameDay
    journals: tuple[Mapping[str, Any], ...]
    """In the order of the results. An experiment that could not start has only the `faultkit` part."""


def run_game_day(
    session: ChaosSession,
    day: GameDayFile,
    *,
    stop: threading.Event,
    on_event: Callable[[str, Event], None] = lambda name, event: None,
    seed: int | str | None = None,
    dry_run: bool = False,
) -> GameDayRun:
    """Run the experiments of a game day and wait for their end.

    `stop` rolls the current experiment back and starts no other. `on_event` gets the experiment's name,
    too."""
    game_day = GameDay(day.title)
    journals: dict[str, Mapping[str, Any]] = {}

    def add(experiment: AnyExperiment) -> None:
        async def run() -> ExperimentResult:
            journal = await session.run(
                experiment,
                on_event=lambda event: on_event(experiment.name, event),
                seed=seed,
                dry_run=dry_run,
                stop=stop,
            )
            journals[experiment.name] = journal.document
            return journal.result

        game_day.add(experiment.name, run)

    for each in day.experiments:
        add(each)

    def is_last(result: ExperimentResult) -> bool:
        return stop.is_set() or (day.stop and result.outcome is not Outcome.HELD)

    results = asyncio.run(game_day.run_all(parallel=day.together, until=is_last))
    documents = [
        journals.get(result.experiment_name) or {FAULTKIT_KEY: result_document(result)} for result in results
    ]
    return GameDayRun(game_day, tuple(documents))
