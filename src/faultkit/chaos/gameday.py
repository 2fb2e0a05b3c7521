"""Several experiments: a game day, which runs all of them and sums them up, and a monkey, which picks.

What an experiment is and how it runs is not known here: anything that has a name and gives a result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from faultkit.base.errors import InputError
from faultkit.base.rng import Rng
from faultkit.base.times import now_us, time_text
from faultkit.chaos.outcome import EXIT_CODE, ExperimentResult, Outcome


class Runnable(Protocol):
    @property
    def name(self) -> str: ...

    def run(self) -> ExperimentResult: ...


@dataclass(frozen=True, slots=True)
class Planned:
    """An experiment, and how to run it."""

    name: str
    run: Callable[[], Awaitable[ExperimentResult]]


@dataclass(slots=True)
class GameDay:
    """In order, or side by side. One that fails in whatever way does not keep the others from running."""

    title: str
    planned: list[Planned] = field(default_factory=list)
    results: list[ExperimentResult] = field(default_factory=list)
    started_at: str = ""

    def add(self, name: str, run: Callable[[], Awaitable[ExperimentResult]]) -> GameDay:
        if any(each.name == name for each in self.planned):
            raise InputError("experiment_name", f'"{name}" is in this game day already')
        self.planned.append(Planned(name, run))
        return self

    async def run_all(
        self,
        *,
        parallel: bool = False,
        until: Callable[[ExperimentResult], bool] = lambda result: False,
    ) -> list[ExperimentResult]:
        """`until`: in order, the first result for which it is true is the last."""
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
        """The gravest: something that is still broken first."""
        return max((EXIT_CODE[result.outcome] for result in self.results), default=0)

    def report(self) -> str:
        return summary(self.title, self.results, [each.name for each in self.planned], self.started_at)


async def _result(planned: Planned) -> ExperimentResult:
    started_at = time_text(now_us())
    try:
        return await planned.run()
    except InputError as error:
        return _without_run(planned.name, Outcome.INVALID, str(error), started_at)
    except Exception as error:
        return _without_run(planned.name, Outcome.ABORTED, f"{type(error).__name__}: {error}", started_at)


def _without_run(name: str, outcome: Outcome, error: str, started_at: str) -> ExperimentResult:
    return ExperimentResult(name, False, False, False, 0.0, error, started_at, outcome)


_SAYS = {
    Outcome.HELD: "the steady state held",
    Outcome.DEVIATED: "the steady state deviated",
    Outcome.INVALID: "it could not be run as it is written",
    Outcome.GATE_NOT_MET: "the system was not in its steady state to begin with",
    Outcome.ABORTED: "it did not come to its end",
    Outcome.ROLLBACK_FAILED: "**something is still broken: its rollback failed**",
}


def summary(
    title: str, results: Sequence[ExperimentResult], planned: Sequence[str], started_at: str = ""
) -> str:
    """In Markdown."""
    held = sum(result.success for result in results)
    lines = [f"# Game day: {_inline(title)}", ""]
    if started_at:
        lines += [f"Started {started_at}.", ""]
    lines += [f"{len(results)} of {len(planned)} experiments run, {held} passed.", ""]
    lines += ["| experiment | outcome | before | after | rollback | seconds |", "|---|---|---|---|---|---|"]
    for result in results:
        cells = (
            _inline(result.experiment_name),
            str(result.outcome),
            _yes(result.steady_state_before),
            _yes(result.steady_state_after),
            "ok" if result.rollback_ok else "FAILED",
            f"{result.duration_seconds:.1f}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    left = [name for name in planned if name not in {result.experiment_name for result in results}]
    for result in results:
        lines += ["", f"## {_inline(result.experiment_name)}", "", f"{_sentence(_SAYS[result.outcome])}."]
        if result.error is not None:
            lines += ["", f"> {_inline(result.error)}"]
    if left:
        lines += ["", f"Not run: {', '.join(_inline(name) for name in left)}."]
    return "\n".join(lines) + "\n"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _inline(text: str) -> str:
    """On one line, and without what Markdown would take for its own."""
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


class ChaosMonkey:
    """Experiments of plain functions, all of them or one by chance. Its results are only ever added to."""

    def __init__(self, seed: int | str = 0, most_kept: int = 1000) -> None:
        self.results: list[ExperimentResult] = []
        """The newest so many."""
        self.total_runs = 0
        self._experiments: dict[str, Runnable] = {}
        self._rng = Rng.keyed(seed, "chaos-monkey")
        self._most_kept = most_kept

    def add(self, experiment: Runnable) -> None:
        if experiment.name in self._experiments:
            raise InputError("experiment_name", f'"{experiment.name}" is registered already')
        self._experiments[experiment.name] = experiment

    def run(self, name: str) -> ExperimentResult:
        if name not in self._experiments:
            known = ", ".join(self._experiments) or "none"
            raise InputError("experiment_name", f'unknown experiment "{name}"; there are {known}')
        result = self._experiments[name].run()
        self.total_runs += 1
        self.results = [*self.results, result][-self._most_kept :]
        return result

    def run_all(self) -> list[ExperimentResult]:
        return [self.run(name) for name in self._experiments]

    def run_random(self) -> ExperimentResult | None:
        """None if there is nothing to pick from."""
        if not self._experiments:
            return None
        return self.run(list(self._experiments)[self._rng.below(len(self._experiments))])
