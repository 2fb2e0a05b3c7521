"""Targets of pass-through, and the verdicts on figures."""

from __future__ import annotations

from bench.checks import Check
from bench.fault_cells import drift
from bench.injections import FAULTS
from bench.machine import Machine
from bench.mcp_cells import Target as ServeTarget
from bench.proxy import CELLS, Result, medians, verdict_table
from bench.relays import RELAYS
from bench.summary import summary_table
from bench.targets import TARGETS, Target, judge

RATIO = Target("CPU per GB, × haproxy", "bulk", "cpu_s_per_gb", "haproxy", 1.3)
PLAIN = Target("KB per idle connection", "idle", "kb", None, 3.0)


def _figures(ours: float, peer: float) -> dict[str, dict[str, dict[str, float]]]:
    return {"bulk": {"faultkit": {"cpu_s_per_gb": ours}, "haproxy": {"cpu_s_per_gb": peer}}}


def test_a_ratio_at_its_limit_passes_and_above_it_misses() -> None:
    assert [(v.figure, v.word) for v in judge(_figures(0.13, 0.1), (RATIO,))] == [(1.3, "PASS")]
    assert [(v.figure, v.word) for v in judge(_figures(0.14, 0.1), (RATIO,))] == [(0.14 / 0.1, "MISS")]


def test_a_figure_of_our_own_needs_no_peer() -> None:
    (verdict,) = judge({"idle": {"faultkit": {"kb": 1.5}}}, (PLAIN,))
    assert (verdict.figure, verdict.word) == (1.5, "PASS")


def test_what_was_not_measured_is_neither_passed_nor_missed() -> None:
    figures = {"bulk": {"faultkit": {"cpu_s_per_gb": 0.1}}}
    assert [v.word for v in judge(figures, (RATIO, PLAIN))] == ["not measured", "not measured"]


def test_a_peer_may_be_compared_by_difference_and_in_another_cell() -> None:
    figures = {
        "rtt": {"faultkit": {"p50_us": 77.0}, "haproxy": {"p50_us": 70.0}},
        "http-delay-64": {"faultkit": {"cpu_us": 50.0}},
        "latency-64": {"faultkit": {"cpu_us": 20.0}},
    }
    targets = (
        Target("", "rtt", "p50_us", "haproxy", 5.0, compare="difference"),
        Target("", "http-delay-64", "cpu_us", "faultkit", 2.5, beside="latency-64"),
    )
    assert [(v.figure, v.word) for v in judge(figures, targets)] == [(7.0, "MISS"), (2.5, "PASS")]


def test_every_cell_has_a_name_of_its_own_and_a_fault_that_exists() -> None:
    assert len({cell.name for cell in CELLS}) == len(CELLS)
    assert {cell.fault for cell in CELLS} == set(FAULTS)


def test_every_target_names_a_cell_a_metric_and_a_peer_that_exist() -> None:
    columns = {cell.name: {metric for metric, _ in cell.columns} for cell in CELLS}
    names = {kind.name for kind in RELAYS} | {None}
    for target in TARGETS:
        assert target.metric in columns[target.cell]
        assert target.metric in columns[target.beside or target.cell]
        assert target.peer in names


def test_medians_are_taken_over_rounds_and_skip_relays_without_any() -> None:
    rounds = [{"per_s": 1.0}, {"per_s": 9.0}, {"per_s": 3.0}]
    assert medians({"connect": {"nginx": rounds, "haproxy": []}}) == {"connect": {"nginx": {"per_s": 3.0}}}


def test_the_verdict_table_shows_only_cells_that_ran() -> None:
    result = Result(Machine(2, "Linux 6.1", "3.11.7", 1024), rounds=3, relays=["faultkit", "haproxy"])
    result.figures = _figures(0.2, 0.1)
    head, rows = verdict_table(result)
    assert list(head) == ["target", "limit", "faultkit", "verdict"]
    assert [list(row) for row in rows] == [["CPU per GB, × haproxy", "≤ 1.1", "2.00", "MISS"]]


def test_a_relay_that_falls_behind_is_later_at_the_end() -> None:
    assert drift([100.0] * 8) == 0.0
    assert drift([100.0, 100.0, 150.0, 300.0, 400.0, 500.0, 900.0, 900.0]) == 800.0
    assert drift([5.0]) == 0.0


def test_all_targets_of_a_run_are_in_one_table() -> None:
    late = Check("Latency", "median", "1 ms", "1 ms", "µs", 70.0, allowed=(None, 80.0))
    told = Check("Latency", "mean", "1 ms", "1 ms", "µs", 70.0, judged=False)
    calls = ServeTarget("calls/s", "serve", "ours", "per_s", None, 6)
    head, rows = summary_table(
        judge(_figures(0.14, 0.1), (RATIO,)), [late, told], [("mcp", [(calls, 7.0, "PASS")])]
    )
    assert head == ["target", "limit", "reached", "verdict"]
    assert rows == [
        ["proxy: CPU per GB, × haproxy", "≤ 1.3", "1.40", "MISS"],
        ["fidelity: Latency: median", "≤ 80 µs", "70.0 µs", "PASS"],
        ["mcp: calls/s", "≥ 6", "7.00", "PASS"],
    ]
