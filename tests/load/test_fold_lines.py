"""Folds on their way: merged in any order they give the report of one machine, and damage never a figure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from zlib import crc32

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from faultkit.base.errors import RunError
from faultkit.load.expectation import Expectation
from faultkit.load.fold import Counts, Fold, Folder, SegmentEnd
from faultkit.load.fold_lines import LineReader, LineWriter, WorkerLost
from faultkit.load.load import Load, Target
from faultkit.load.samples import Sample, Samples
from faultkit.load.slo import Slo
from faultkit.load.split import LoadPlan, Segment, split
from faultkit.load.tally import Tally
from faultkit.proxy.data_plane import LatenessSummary, Snapshot
from faultkit.scenario.item_report import item_report
from faultkit.scenario.measure import Measurements
from faultkit.scenario.report.report_model import Report, ScenarioReport
from faultkit.scenario.report.results_document import to_json
from faultkit.scenario.scenario_model import HttpCall, LoadStrategy, ScenarioItem
from tests.load.rows import row
from tests.load.test_tally import ROWS

EXPECT = Expectation(200, 900.0)
LOAD = Load(30.0, 4.0)
SLOS = (
    Slo("latency", "p90", 90, 800.0),
    Slo("availability", "each 5 s", 75, 2000.0, window_s=5.0),
    Slo("error", "errors", 60, 30.0),
)


def segments(count: int) -> list[Segment]:
    plan = LoadPlan(Target("GET", "http://a/"), LOAD, EXPECT)
    return split(plan, [f"token {number}" for number in range(count)])


def lines_of(segment: Segment, rows: list[Sample], cuts: list[int], limit: int) -> list[str]:
    """Return what a worker sends for these requests, in pieces that end at the cuts."""
    writer, folder = LineWriter(segment), Folder(EXPECT, limit)
    lines = []
    ends = sorted({min(cut, len(rows)) for cut in cuts} | {len(rows)})
    start = 0
    for end in ends:
        folder.add(Counts(end, 0, 0, dropped=end // 3, starved=end // 5), Samples.of(rows[start:end]))
        lines.append(writer.fold(folder.take()))
        start = end
    return [*lines, writer.end(SegmentEnd(31.0, False))]


def merged(workers: list[Iterator[Fold]], order: list[int], limit: int) -> Tally:
    """Merge the folds of all workers, in turns that `order` chooses."""
    tally, latest, left = Tally(limit=limit), {}, dict(enumerate(workers))
    step = 0
    while left:
        number = list(left)[order[step % len(order)] % len(left)]
        step += 1
        fold = next(left[number], None)
        if fold is None:
            del left[number]
            continue
        tally.merge(fold.tally)
        latest[number] = fold.counts
    tally.dropped = sum(each.dropped for each in latest.values())
    tally.starved = sum(each.starved for each in latest.values())
    return tally


def report_of(tally: Tally) -> str:
    item = ScenarioItem(
        HttpCall("GET", "http://a/"), strategy=LoadStrategy(LOAD, 1, 4.0), slos=SLOS, expect=EXPECT
    )
    measured = Measurements(tally, faults_s=31.0)
    after = Snapshot((), (), {}, LatenessSummary(), 0, 0)
    ran = item_report(item, measured, after, gates=(), started_at="", routes=(), cut_short=None)
    return to_json(Report("faultkit", "", "", 7, (ScenarioReport("one", None, None, 1, (ran,)),)))


@given(
    st.lists(ROWS, min_size=1, max_size=5),
    st.lists(st.integers(0, 30), max_size=6),
    st.lists(st.integers(0, 10), min_size=1, max_size=10),
    st.sampled_from((0, 7, 40, 1_000_000)),
)
def test_folds_merged_in_any_order_give_the_report_of_one_machine_to_the_byte(
    shares: list[list[Sample]], cuts: list[int], order: list[int], limit: int
) -> None:
    workers = []
    for segment, rows in zip(segments(len(shares)), shares, strict=True):
        reader = LineReader(segment)
        messages = [reader.read(line) for line in lines_of(segment, rows, cuts, limit)]
        assert messages[-1] == SegmentEnd(31.0, False)
        workers.append(iter([each for each in messages if isinstance(each, Fold)]))
    rows = [each for share in shares for each in share]
    one = Tally(limit=limit)
    one.add(Samples.of(rows))
    one.misses.add(EXPECT, rows)
    one.dropped = sum(len(share) // 3 for share in shares)
    one.starved = sum(len(share) // 5 for share in shares)
    assert report_of(merged(workers, order, limit)) == report_of(one)


def test_a_worker_stops_sending_single_requests_once_there_are_too_many() -> None:
    folder = Folder(EXPECT, limit=3)
    exact = []
    for number in range(5):
        folder.add(Counts(number, 0, 0, 0), Samples.of([row(float(number))]))
        exact.append(folder.take().tally.exact)
    assert exact == [True, True, True, False, False]


def sent(rows: int = 4) -> tuple[LineReader, list[str]]:
    (segment,) = segments(1)
    given = [row(float(number)) for number in range(rows)]
    return LineReader(segment), lines_of(segment, given, [1, 2, 3], 1000)


def changed(line: str, **fields: object) -> str:
    """Return a line with other fields and a right checksum."""
    text = json.dumps({**json.loads(line.partition(" ")[2]), **fields})
    return f"{crc32(text.encode()):08x} {text}"


def test_a_line_that_comes_twice_counts_once_and_the_worker_is_lost() -> None:
    reader, lines = sent()
    reader.read(lines[0])
    reader.read(lines[1])
    with pytest.raises(WorkerLost, match="its report 2 came twice"):
        reader.read(lines[1])


def test_a_line_that_is_missing_is_noticed() -> None:
    reader, lines = sent()
    reader.read(lines[0])
    with pytest.raises(WorkerLost, match="its report 2 did not come"):
        reader.read(lines[2])


@given(st.data())
def test_no_damage_passes_for_a_figure(data: st.DataObject) -> None:
    reader, lines = sent()
    at = data.draw(st.integers(0, len(lines[0]) - 1))
    other = data.draw(st.characters(min_codepoint=32, max_codepoint=126))
    damaged = lines[0][:at] + other + lines[0][at + 1 :]
    assume(damaged != lines[0])
    with pytest.raises(WorkerLost, match="its report 1 came damaged"):
        reader.read(damaged)


@pytest.mark.parametrize(
    "text", ["", "\n", "hello", "00000000 {}", "00000000", "zz {}", '+af73c42 {"n": 1}', "ï¿½"]
)
def test_what_is_no_line_is_damage(text: str) -> None:
    with pytest.raises(WorkerLost, match="came damaged"):
        sent()[0].read(text)


def test_a_line_of_another_segment_is_refused() -> None:
    reader, lines = sent()
    for field in ("token", "digest"):
        with pytest.raises(WorkerLost, match="it sent a report of another segment"):
            reader.read(changed(lines[0], **{field: "other"}))


@pytest.mark.parametrize(
    "fields",
    [{"kind": "gossip"}, {"tally": {}}, {"counts": {"started": 1}}, {"tally": None}, {"number": "0"}],
)
def test_a_line_of_another_form_is_refused(fields: dict[str, object]) -> None:
    reader, lines = sent()
    with pytest.raises(WorkerLost, match="its report 1 cannot be read"):
        reader.read(changed(lines[0], **fields))


def test_an_end_that_counts_other_requests_is_refused() -> None:
    reader, lines = sent()
    for line in lines[:-1]:
        reader.read(line)
    with pytest.raises(WorkerLost, match="it reports 5 requests, and 4 came"):
        reader.read(changed(lines[-1], requests=5))


@pytest.mark.parametrize(("lost", "kind"), [(True, WorkerLost), (False, RunError)])
def test_a_failure_of_the_worker_arrives_with_its_notes(lost: bool, kind: type[RunError]) -> None:
    (segment,) = segments(1)
    error = RunError("the load engine failed")
    error.add_note("Traceback: here")
    with pytest.raises(RunError) as caught:
        LineReader(segment).read(LineWriter(segment).failed(error, lost=lost))
    assert (type(caught.value), str(caught.value)) == (kind, "the load engine failed")
    assert caught.value.__notes__ == ["Traceback: here"]
