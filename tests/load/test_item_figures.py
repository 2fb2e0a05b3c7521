"""Figures of streams and MCP calls: any split and order of merging gives the same figures."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from faultkit.load.item_figures import FigureRecorder, ItemFigures, merged
from faultkit.load.item_summary import mcp_summary, stream_summary
from faultkit.load.response import FAILURES, Failure

STREAM = st.tuples(
    st.floats(0, 5000, allow_nan=False),
    st.sampled_from([Failure.NONE, *FAILURES]),
    st.lists(st.floats(0, 30, allow_nan=False), max_size=4),
    st.integers(0, 3),
)


def figures_of(streams: list[tuple[float, Failure, list[float], int]]) -> ItemFigures:
    recorder = FigureRecorder("stream", begin_at=100.0)
    for at, failure, gaps, _ in streams:
        slot = recorder.slot_at(100.0 + at)
        slot.failures[failure] += 1
        slot.early_ends += failure is Failure.EARLY_END
        recorder.add_time("first_event", 100.0 + at, at / 7)
        recorder.figures.events += len(gaps) + 1
        slot.begun += 1
        for gap in gaps:
            recorder.add_time("gaps", 100.0 + at, gap)
    return recorder.take()


@given(st.lists(STREAM, max_size=12), st.randoms(use_true_random=False))
def test_parts_merge_to_the_whole_in_any_order(
    streams: list[tuple[float, Failure, list[float], int]], order: object
) -> None:
    parts = [figures_of([each for each in streams if each[3] == worker]) for worker in range(4)]
    order.shuffle(parts)  # type: ignore[attr-defined]
    total: ItemFigures | None = None
    for part in parts:
        total = merged(total, part)
    assert total is not None
    whole = figures_of(streams)
    while whole.slot_s < total.slot_s:
        whole._widen()
    assert total == whole
    assert stream_summary(total, 9.0) == stream_summary(whole, 9.0)


def test_slots_widen_in_a_long_run() -> None:
    figures = ItemFigures("mcp")
    figures.slot_at(0.0).failures[0] += 1
    figures.slot_at(719.9).failures[0] += 1
    assert (figures.slot_s, len(figures.slots)) == (1, 2)
    figures.slot_at(720.0).failures[0] += 1
    assert (figures.slot_s, len(figures.slots)) == (2, 3)
    assert [slot.failures[0] for slot in figures.grouped(360.0, 2)] == [1, 2]


def test_errors_of_mcp_calls_are_counted_by_level() -> None:
    figures = ItemFigures("mcp", sessions=3, restarts=1)
    figures.slot_at(0.0).failures.update([0, 0, Failure.RPC_ERROR, Failure.TOOL_ERROR, Failure.TOOL_ERROR])
    figures.slot_at(1.0).failures.update([Failure.EXITED, Failure.TIMEOUT, Failure.INVALID_REPLY])
    summary = mcp_summary(figures)
    assert summary is not None
    assert summary.levels == {"transport": 2, "protocol": 2, "tool": 2}
    assert (summary.sessions, summary.restarts) == (3, 1)
    assert stream_summary(figures, 1.0) is None
