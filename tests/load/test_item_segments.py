"""Segments of MCP loads and of event streams: targets and figures go to other machines and back whole."""

from __future__ import annotations

from dataclasses import replace

import pytest

from faultkit.base.address import Endpoint
from faultkit.load.fold import Counts, Fold
from faultkit.load.fold_lines import LineReader, LineWriter
from faultkit.load.item_figures import ItemFigures
from faultkit.load.load import AnyTarget, Load, McpTarget, StreamUntil, Target
from faultkit.load.response import Failure
from faultkit.load.samples import Sample, Samples
from faultkit.load.split import LoadPlan, segment_from_json, segment_to_json, split
from faultkit.load.tally import Tally


def test_figures_of_streams_go_through_lines_unchanged() -> None:
    figures = ItemFigures("stream", events=5, sessions=1, restarts=1, tokens=7)
    slot = figures.slot_at(3.0)
    slot.failures.update([Failure.NONE, Failure.EARLY_END])
    slot.begun = 2
    slot.early_ends = 1
    slot.first_event.record_all([0.25])
    slot.no_event.record_all([0.5])
    slot.gaps.record_all([0.01, 0.02, 0.02])
    slot.refusals = 3
    slot.token_time.record_all([0.03])
    tally = Tally()
    tally.add(replace(Samples.of([Sample(3.0, 3.0, 0.5)]), figures=figures))
    segment = split(LoadPlan(Target("GET", "http://a/"), Load(1.0, 1.0)), ["t"])[0]
    line = LineWriter(segment).fold(Fold(Counts(1, 0, 0, 0), tally))
    read = LineReader(segment).read(line)
    assert isinstance(read, Fold)
    assert read.tally.requests == 1
    assert read.tally.figures == figures


@pytest.mark.parametrize(
    "target",
    [
        Target("GET", "http://a/", stream=StreamUntil(events=3, time_s=2.0, data="end")),
        Target("POST", "http://a/v1/messages", body=b'{"model": "m", "messages": []}', llm=True),
        McpTarget("add", '{"a": 1}', command=("x", "y"), env=(("A", "b"),), cwd="/", era="modern"),
        McpTarget(
            "add", http=Target("POST", "http://a/", (("X", "y"),), proxy=Endpoint("h", 1)), timeout_s=2.0
        ),
    ],
)
def test_targets_that_are_more_than_a_request_go_to_workers_whole(target: AnyTarget) -> None:
    plan = LoadPlan(target, Load(1.0, 5.0, clients=3))
    (segment,) = split(plan, ["t"])
    assert segment_from_json(segment_to_json(segment)) == segment
    assert plan.most_parts == (3 if isinstance(target, McpTarget) else 1000)
