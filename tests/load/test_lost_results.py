"""Results that come damaged, twice or not at all: what is sure counts, and the worker is named."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from faultkit.base.errors import RunError
from faultkit.load.expectation import Expectation
from faultkit.load.fold import Counts, Fold, Folder, SegmentEnd
from faultkit.load.fold_lines import LineReader, LineWriter
from faultkit.load.load import Load, Target, instants
from faultkit.load.places import Machine, SegmentWorker
from faultkit.load.samples import Samples
from faultkit.load.split import Segment
from faultkit.load.workers import run_load
from tests.load.rows import row

Change = Callable[[list[str]], list[str]]
LOAD = Load(10.0, 4.0)
TARGET = Target("GET", "http://127.0.0.1/")


class Replayed:
    """A worker that sends its whole segment at once, in one fold a second, as its transport changes them."""

    def __init__(self, segment: Segment, change: Change) -> None:
        self.name = f"worker {segment.share}"
        self._segment = segment
        self._change = change

    def ready(self) -> Machine:
        return Machine.here()

    def clock(self) -> float:
        raise AssertionError("it has the clock of this process")

    def run(self, begin_at: float, on_fold: Callable[[Fold], None]) -> SegmentEnd:
        reader = LineReader(self._segment)
        for line in self._change(self._lines()):
            message = reader.read(line)
            if isinstance(message, SegmentEnd):
                return message
            on_fold(message)
        raise RunError("there was no end")

    def _lines(self) -> list[str]:
        writer, folder = LineWriter(self._segment), Folder(Expectation(), 1000)
        lines = []
        for at in instants(LOAD, self._segment.share, self._segment.of):
            folder.add(Counts(1, 0, 0, 0), Samples.of([row(at)]))
            lines.append(writer.fold(folder.take()))
        return [*lines, writer.end(SegmentEnd(10.0, False))]

    def interrupt(self) -> None: ...

    def close(self) -> None: ...


class Transport:
    """A place of two workers, of which the second has a bad line."""

    size, margin_s = 2, 0.0

    def __init__(self, change: Change) -> None:
        self._changes: list[Change] = [lambda lines: lines, change]

    def start(self, segments: Sequence[Segment]) -> Sequence[SegmentWorker]:
        return [Replayed(segment, self._changes[segment.share]) for segment in segments]


@pytest.mark.parametrize(
    ("change", "measured", "why"),
    [
        (lambda lines: [*lines[:3], lines[2], *lines[3:]], 3, "its report 3 came twice"),
        (lambda lines: [*lines[:3], *lines[4:]], 3, "its report 4 did not come"),
        (
            lambda lines: [*lines[:5], lines[5].replace("1", "2", 1), *lines[6:]],
            5,
            "its report 6 came damaged",
        ),
        (lambda lines: [lines[0][:50], *lines[1:]], 0, "its report 1 came damaged"),
    ],
)
def test_a_bad_line_makes_the_run_degraded_and_no_figure_wrong(
    change: Change, measured: int, why: str
) -> None:
    result = run_load(TARGET, LOAD, on=Transport(change))
    (lost,) = result.lost
    assert (lost.name, lost.why, lost.planned, lost.measured) == ("worker 1", why, 20, measured)
    assert (result.tally.requests, result.tally.lost) == (20 + measured, 20 - measured)
    kept = [*instants(LOAD, 0, 2), *list(instants(LOAD, 1, 2))[:measured]]
    assert sorted(result.tally.samples.intended) == sorted(kept)


def test_a_transport_that_changes_nothing_loses_nothing() -> None:
    result = run_load(TARGET, LOAD, on=Transport(lambda lines: lines))
    assert (result.lost, result.tally.requests, result.tally.lost) == ((), 40, 0)


def test_a_defect_of_a_worker_ends_the_run_with_its_error() -> None:
    with pytest.raises(RunError, match="there was no end"):
        run_load(TARGET, LOAD, on=Transport(lambda lines: lines[:-1]))
