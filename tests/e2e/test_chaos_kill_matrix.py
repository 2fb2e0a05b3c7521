"""kill -9 of each process in each phase: nothing stays broken, and `fault chaos recover` reports it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from examples.chaos.kill_matrix import PHASES, VICTIMS, Rig, play

ALWAYS = {
    ("runner", "method"),
    ("runner", "rollback"),
    ("guardian", "method"),
    ("proxy", "recheck"),
    ("SIGINT", "during"),
    ("SIGTERM", "rollback"),
    ("runner and guardian", "method"),
}
CASES = [
    pytest.param(victim, phase, marks=() if (victim, phase) in ALWAYS else pytest.mark.thorough)
    for victim in VICTIMS
    for phase in PHASES
]


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    made = Rig(tmp_path_factory.mktemp("kill-matrix"))
    yield made
    made.close()


@pytest.mark.parametrize(("victim", "phase"), CASES)
def test_nothing_stays_broken_and_recover_reports_it(rig: Rig, victim: str, phase: str) -> None:
    told = play(rig, victim, phase)
    assert told.problems == [], told
