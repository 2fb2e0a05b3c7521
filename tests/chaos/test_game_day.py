"""Game days and monkeys: several experiments, whatever the outcome of each."""

from __future__ import annotations

import asyncio

import pytest

from faultkit.base.errors import InputError
from faultkit.chaos.experiment.experiment_model import ExperimentResult, Outcome
from faultkit.chaos.experiment.function_experiment import ChaosExperiment, SteadyStateHypothesis
from faultkit.chaos.game_day import ChaosMonkey, GameDay, summary


def result(name: str, outcome: Outcome = Outcome.HELD, error: str | None = None) -> ExperimentResult:
    held = outcome is Outcome.HELD
    ok = outcome is not Outcome.ROLLBACK_FAILED
    return ExperimentResult(name, held, True, held, 1.25, error, "2026-02-05T10:00:00Z", outcome, ok)


def gives(name: str, outcome: Outcome = Outcome.HELD, log: list[str] | None = None):  # type: ignore[no-untyped-def]
    async def run() -> ExperimentResult:
        if log is not None:
            log.append(f"{name} begins")
            await asyncio.sleep(0)
            log.append(f"{name} ends")
        return result(name, outcome)

    return run


def test_experiments_run_in_order_or_side_by_side() -> None:
    for parallel, order in (
        (False, ["a begins", "a ends", "b begins", "b ends"]),
        (True, ["a begins", "b begins", "a ends", "b ends"]),
    ):
        log: list[str] = []
        day = GameDay("day").add("a", gives("a", log=log)).add("b", gives("b", log=log))
        results = asyncio.run(day.run_all(parallel=parallel))
        assert (log, [each.experiment_name for each in results]) == (order, ["a", "b"])
        assert day.exit_code == 0


def test_one_that_raises_does_not_keep_the_others_from_running() -> None:
    async def broken() -> ExperimentResult:
        raise RuntimeError("a bug")

    async def wrong() -> ExperimentResult:
        raise InputError("name", "expected a text, got nothing")

    day = GameDay("day").add("broken", broken).add("wrong", wrong).add("c", gives("c"))
    results = asyncio.run(day.run_all())
    assert [each.outcome for each in results] == [Outcome.ABORTED, Outcome.INVALID, Outcome.HELD]
    assert [each.error for each in results] == [
        "RuntimeError: a bug",
        "name: expected a text, got nothing",
        None,
    ]
    assert day.exit_code == 4


def test_a_day_may_end_with_the_first_that_leaves_something_broken() -> None:
    day = GameDay("day").add("a", gives("a", Outcome.ROLLBACK_FAILED)).add("b", gives("b"))
    asyncio.run(day.run_all(until=lambda each: not each.rollback_ok))
    assert (len(day.results), day.exit_code) == (1, 5)
    assert "1 of 2 experiments run, 0 passed." in day.report()
    assert "Not run: b." in day.report()


def test_a_name_is_taken_once() -> None:
    day = GameDay("day").add("a", gives("a"))
    with pytest.raises(InputError, match='"a" is in this game day already'):
        day.add("a", gives("a"))


def test_the_summary_is_markdown_that_names_cannot_break() -> None:
    text = summary("a | b", [result("x|y", Outcome.DEVIATED), result("z", error="no\n<b>")], ["x|y", "z"])
    assert text == (
        "# Game day: a \\| b\n\n"
        "2 of 2 experiments run, 1 passed.\n\n"
        "| experiment | outcome | before | after | rollback | seconds |\n"
        "|---|---|---|---|---|---|\n"
        "| x\\|y | deviated | yes | no | ok | 1.2 |\n"
        "| z | held | yes | yes | ok | 1.2 |\n\n"
        "## x\\|y\n\nThe steady state deviated.\n\n"
        "## z\n\nThe steady state held.\n\n> no &lt;b>\n"
    )


def named(name: str) -> ChaosExperiment:
    return ChaosExperiment(name, SteadyStateHypothesis("steady", lambda: True), lambda: None)


def test_a_monkey_picks_by_its_seed_and_forgets_nothing_but_the_oldest() -> None:
    assert ChaosMonkey().run_random() is None

    def picks(seed: int) -> list[str]:
        monkey = ChaosMonkey(seed)
        for name in "abcdef":
            monkey.add(named(name))
        for _ in range(20):
            monkey.run_random()
        return [each.experiment_name for each in monkey.results]

    assert picks(1) == picks(1) != picks(2)
    assert len(set(picks(1))) > 2
    monkey = ChaosMonkey(most_kept=3)
    monkey.add(named("a"))
    monkey.add(named("b"))
    monkey.run_all()
    monkey.run_all()
    assert ([each.experiment_name for each in monkey.results], monkey.total_runs) == (["b", "a", "b"], 4)
    with pytest.raises(InputError, match="registered already"):
        monkey.add(named("a"))
    with pytest.raises(InputError, match='unknown experiment "z"; there are a, b'):
        monkey.run("z")
