"""What the result of an impact run tells beside its figures."""

from __future__ import annotations

from dataclasses import replace

from faultkit.agent_tools.impact.impact_run import advice_of, structured_of
from faultkit.scenario.impact import Impact
from tests.scenario.report.examples import FAILED, LOAD, SLOW

ASKED = Impact("http://localhost:9090/", (SLOW,))
SOUND = LOAD.items[0]
MISSED = replace(SOUND, slos=(SOUND.slos[0], *FAILED.items[0].slos))


def test_a_sound_run_that_keeps_its_objectives_needs_no_word() -> None:
    assert advice_of(SOUND, ASKED) == ()


def test_passed_is_not_to_be_taken_for_kept_objectives() -> None:
    assert advice_of(MISSED, ASKED) == (
        "Passed means that the run was sound. Missed under the fault: errors < 1%, 99% good (2 of 3 "
        "objectives).",
    )
    assert advice_of(replace(MISSED, verdict="inconclusive"), ASKED) == ()


def test_a_service_that_fails_without_a_fault_is_a_warning() -> None:
    failing = replace(SOUND, baseline=FAILED.items[0].run)
    (warning, *_) = structured_of(failing, (), "", {}, "1")["warnings"]
    assert warning.startswith("Without any fault: 12 of 160 requests (7.5 %) failed")
