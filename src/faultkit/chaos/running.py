"""One experiment or a game day of them, from the first to the last, for a program that waits for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from faultkit.chaos.catalog import Day
from faultkit.chaos.experiment.file import AnyExperiment
from faultkit.chaos.experiment.journal import OURS, Event
from faultkit.chaos.gameday import GameDay
from faultkit.chaos.outcome import ExperimentResult, Outcome, result_document
from faultkit.chaos.session import ChaosSession


@dataclass(frozen=True, slots=True)
class Finished:
    game_day: GameDay
    journals: tuple[Mapping[str, Any], ...]
    """In the order of the results. Of one that could not be begun, only the part that is ours."""


def run_day(
    session: ChaosSession,
    day: Day,
    *,
    stop: threading.Event,
    on_event: Callable[[str, Event], None] = lambda name, event: None,
    seed: int | str | None = None,
    dry_run: bool = False,
) -> Finished:
    """Blocks. `stop` rolls back what runs and begins no other; `on_event` gets the experiment's name, too."""
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
        journals.get(result.experiment_name) or {OURS: result_document(result)} for result in results
    ]
    return Finished(game_day, tuple(documents))
