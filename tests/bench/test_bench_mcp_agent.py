"""The arithmetic of the benchmark of `fault agent tool`, and one real start of each server."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.mcp_agent import BARE, OURS, Pace, Start, ratio, rows, session, subjects_in
from bench.relays import find_fault


def test_the_ratio_is_taken_round_by_round() -> None:
    # Where both are slow, neither is to blame: medians of each alone would say 2.
    starts = {
        OURS: [Start(1, 2, 100, 4), Start(1, 2, 240, 4), Start(1, 2, 1100, 4)],
        BARE: [Start(1, 2, 100, 2), Start(1, 2, 120, 2), Start(1, 2, 1000, 2)],
    }
    assert ratio(starts, lambda start: start.called_ms) == pytest.approx(1.1)
    table = rows(starts, {OURS: Pace(50, 90), BARE: Pace(100, 100)})
    assert table[2] == ["… and first call [ms]", "240", "120", "1.10 ×"]
    assert [row[-1] for row in table] == ["1.00 ×", "1.00 ×", "1.10 ×", "2.00 ×", "0.50 ×", "0.90 ×"]


def test_both_servers_are_started_and_asked_the_same(tmp_path: Path) -> None:
    fault = find_fault()
    assert fault is not None
    for subject in subjects_in(tmp_path, fault):
        with session(subject) as opened:
            start = opened.start()
            pace = opened.pace(0.05)
        assert 0 < start.initialized_ms < start.listed_ms < start.called_ms
        assert min(start.cpu_ms, pace.one_by_one_per_s, pace.many_per_s) > 0
