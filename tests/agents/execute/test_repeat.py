"""Many runs of one test: shares, intervals, and verdicts that wait for enough of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.agents.report.row_facts import share_figures
from tests.agents.execute.written import HEAD, row, run, verdicts, write

FLAKY = """
agents:
  - name: a
    agent: { script: [{ call: search, retry: { attempts: 2 } }], say_on_failure: " " }
    inject: [rare]
    recovery: { max_detection_ms: 3000 }
    %s
"""


def flaky(folder: Path, more: str = "") -> Path:
    return write(folder, HEAD + FLAKY % more)


def test_each_run_has_a_seed_of_its_own_and_runs_without_a_fault_say_nothing(tmp_path: Path) -> None:
    results = run(flaky(tmp_path), repeat=40)
    gate = row(results, "a (recovery)")
    share = gate.passed_share
    assert share is not None
    assert len({run.seed for run in gate.runs}) == 40
    hit = [run for run in gate.runs if run.metrics.fault_hit]
    passed = [run for run in hit if run.gate is not None and run.gate.verdict == "passed"]
    # Half of the calls hang: some runs meet nothing, some get through, some fail twice.
    assert 0 < len(passed) < len(hit) < 40
    assert (share.hits, share.total) == (len(passed), len(hit))
    assert gate.message.startswith(
        f"{len(passed)} of {len(hit)} runs passed ({40 - len(hit)} more met no fault); did not recover"
    )
    assert gate.verdict == "failed"
    again = row(run(flaky(tmp_path), repeat=40), "a (recovery)")
    assert again.message == gate.message
    assert row(run(flaky(tmp_path), repeat=40, seed="other"), "a (recovery)").message != gate.message


@pytest.mark.parametrize(
    ("rate", "verdict", "limit"),
    [(20, "passed", ""), (90, "failed", "min_pass_rate"), (60, "inconclusive", "min_pass_rate")],
)
def test_a_pass_rate_is_met_missed_or_open(tmp_path: Path, rate: int, verdict: str, limit: str) -> None:
    gate = row(run(flaky(tmp_path, f"min_pass_rate: {rate}"), repeat=40), "a (recovery)")
    share = gate.passed_share
    assert share is not None
    low, high = 100 * share.interval.low, 100 * share.interval.high
    # The interval is what decides: it lies above, below or across the rate.
    assert {"passed": low >= rate, "failed": high < rate, "inconclusive": low < rate <= high}[verdict]
    assert (gate.verdict, gate.limit) == (verdict, limit)
    assert f"wanted are {rate} %" in gate.message
    assert gate.fails is (verdict != "passed")


def test_ten_of_ten_are_too_few_for_ninety_percent_and_forty_are_enough(tmp_path: Path) -> None:
    body = """
agents:
  - name: a
    agent: retrying
    inject: [back]
    recovery: { max_detection_ms: 3000 }
    min_pass_rate: 90
    runs: %d
"""
    for runs, verdict in ((10, "inconclusive"), (40, "passed")):
        assert verdicts(run(write(tmp_path, HEAD + body % runs)))["a (recovery)"] == verdict


def test_pass_hat_k_falls_with_k(tmp_path: Path) -> None:
    share = row(run(flaky(tmp_path), repeat=40), "a (recovery)").passed_share
    assert share is not None
    in_a_row = list(share_figures(share)["pass_hat_k"].values())
    assert in_a_row[0] == share.value
    assert in_a_row == sorted(in_a_row, reverse=True)
    assert in_a_row[0] > in_a_row[1]


def test_if_no_run_met_the_fault_nothing_was_shown(tmp_path: Path) -> None:
    body = HEAD + FLAKY.replace("call: search", "call: grep") % ""
    assert verdicts(run(write(tmp_path, body), repeat=3))["a (recovery)"] == "not_exercised"
