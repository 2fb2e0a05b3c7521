"""A worker that talks over its standard streams, as an engine of containers starts it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from io import StringIO
from itertools import count

import pytest

from faultkit.base.child_process import ChildEnded, ChildProcess
from faultkit.base.errors import InputError, RunError
from faultkit.base.network import new_token
from faultkit.load import segment_host, segment_stream
from faultkit.load.clock_offset import measure_offset
from faultkit.load.fold import Fold, SegmentEnd
from faultkit.load.fold_lines import WorkerLost
from faultkit.load.load import Load, Target, instants
from faultkit.load.places import Machine, SegmentWorker
from faultkit.load.segment_stream import serve
from faultkit.load.split import VERSION, LoadPlan, Segment, segment_to_json, split
from faultkit.load.stream_worker import StreamWorker
from faultkit.load.workers import run_load
from tests.load.servers import OK, PATIENCE_S, answering, serving, target_of

NOWHERE = Target("GET", "http://127.0.0.1:9/")
COMMAND = [sys.executable, "-m", "faultkit.load.segment_stream"]


class Programs:
    """A place that starts a program for each segment."""

    def __init__(self, size: int, on_start: Callable[[subprocess.Popen[str]], None] = lambda _: None) -> None:
        self.size = size
        self.margin_s = 0.3
        self.processes: list[subprocess.Popen[str]] = []
        self._on_start = on_start

    def start(self, segments: Sequence[Segment]) -> Sequence[SegmentWorker]:
        return [self._start(segment) for segment in segments]

    def _start(self, segment: Segment) -> SegmentWorker:
        process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdin is not None
        assert process.stdout is not None
        self.processes.append(process)
        self._on_start(process)
        name = f"pod {segment.share}"
        return StreamWorker(name, segment, process.stdout, process.stdin, lambda: self._end(process))

    @staticmethod
    def _end(process: subprocess.Popen[str]) -> None:
        process.wait(PATIENCE_S)
        assert process.stdout is not None
        process.stdout.close()


def test_workers_behind_streams_send_the_whole_schedule() -> None:
    load = Load(1.2, 50.0)
    place = Programs(2)
    with serving(answering(OK)) as server:
        result = run_load(target_of(server), load, on=place)
    rows = sorted(result.tally.samples)
    assert [row.intended for row in rows] == pytest.approx(list(instants(load)), abs=1e-6)
    assert (result.lost, result.cut_short, result.tally.lost) == ((), False, 0)
    assert [process.returncode for process in place.processes] == [0, 0]


def segment_line(**changes: object) -> str:
    plan = LoadPlan(NOWHERE, Load(1.0, 10.0))
    return json.dumps({**json.loads(segment_to_json(split(plan, ["token"])[0])), **changes})


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (segment_line(version="9.9"), f"expected a segment of faultkit {VERSION}, got one of 9.9"),
        (segment_line(digest="0"), "that of its plan, got 0"),
        ("hello", "expected a segment as JSON"),
        ("", "expected a segment as JSON"),
    ],
)
def test_a_segment_that_cannot_be_run_is_refused_with_exit_code_2(first: str, said: str) -> None:
    done = subprocess.run(
        COMMAND, input=f"{first}\n", capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 2
    assert done.stdout.startswith("refused ")
    assert said in json.loads(done.stdout.removeprefix("refused "))["problem"]


@pytest.mark.parametrize(
    ("word", "refused"),
    [
        ("begin x", {"path": "begin", "problem": 'expected a number of seconds, got "x"'}),
        ("begin nan", {"path": "begin", "problem": 'expected a number of seconds, got "nan"'}),
        (
            "begin",
            {"path": "input", "problem": 'expected clock, begin SECONDS, alive or stop, got "begin"'},
        ),
    ],
)
def test_a_word_that_cannot_be_read_is_refused(
    word: str, refused: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_stream, "SegmentHost", Idle)
    out = StringIO()
    assert serve(iter(["a segment", word]), out) == 2
    ready, said = out.getvalue().splitlines()
    assert (ready, json.loads(said.removeprefix("refused "))) == ("ready here", refused)


class Idle:
    """A host that has its segment."""

    machine = "here"

    def __init__(self, written: str) -> None: ...

    def renew_lease(self) -> None: ...

    def begin(self, begin_at: float) -> None: ...

    def close(self) -> None: ...


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["abc"], 'error: SECONDS: expected a number of seconds above 0, got "abc"\n'),
        (["0"], 'error: SECONDS: expected a number of seconds above 0, got "0"\n'),
        (["1", "2"], "error: SECONDS: expected one number at most, got 2 words\n"),
    ],
)
def test_a_command_line_that_cannot_be_read_is_an_error(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert segment_stream.main(words) == 2
    assert capsys.readouterr() == ("", said)


def test_a_refusal_is_an_error_that_names_the_worker() -> None:
    class Older(Programs):
        def _start(self, segment: Segment) -> SegmentWorker:
            return super()._start(replace(segment, version="9.9"))

    with pytest.raises(InputError, match=r"pod 0\.version: expected a segment of faultkit"):
        run_load(NOWHERE, Load(0.1, 10.0), on=Older(1))


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([""], "its output ended"),
        (["gossip\n"], 'it said "gossip" where "ready" was expected'),
        (["refused {\n"], 'it said "refused" where "ready" was expected'),
        (['refused {"path": "version"}\n'], 'it said "refused" where "ready" was expected'),
        (['failed {"text": "its sender was lost", "lost": true}\n'], "its sender was lost"),
    ],
)
def test_a_stream_that_says_something_else_is_a_lost_worker(lines: list[str], why: str) -> None:
    (segment,) = split(LoadPlan(NOWHERE, Load(1.0, 10.0)), ["token"])
    worker = StreamWorker("pod 0", segment, StringIO("".join(lines)), StringIO())
    with pytest.raises(WorkerLost, match=why):
        worker.ready()


def test_a_worker_that_could_not_get_ready_is_no_bad_input() -> None:
    (segment,) = split(LoadPlan(NOWHERE, Load(1.0, 10.0)), ["token"])
    said = 'failed {"text": "cannot start a process", "lost": false}\n'
    with pytest.raises(RunError, match=r"^pod 0: cannot start a process$"):
        StreamWorker("pod 0", segment, StringIO(said), StringIO()).ready()


def test_a_sender_that_ends_before_it_is_ready_is_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(child: ChildProcess) -> None:
        raise ChildEnded(child.name, "was ended by SIGKILL")

    monkeypatch.setattr(ChildProcess, "ready", ended)
    (segment,) = split(LoadPlan(NOWHERE, Load(1.0, 10.0)), [new_token()])
    out = StringIO()
    assert serve(iter([segment_to_json(segment)]), out) == 4
    with pytest.raises(WorkerLost, match=r"^its sender was lost: it was ended by SIGKILL$"):
        StreamWorker("pod 0", segment, StringIO(out.getvalue()), StringIO()).ready()


@pytest.mark.parametrize("said", ["ready 5\n", "clock soon\n", "clock\n"])
def test_an_answer_that_is_no_clock_is_a_lost_worker(said: str) -> None:
    (segment,) = split(LoadPlan(NOWHERE, Load(1.0, 10.0)), ["token"])
    with pytest.raises(WorkerLost, match="where its clock was expected"):
        StreamWorker("pod 0", segment, StringIO(said), StringIO()).clock()


def test_the_clock_of_a_worker_is_read_over_its_streams() -> None:
    (segment,) = split(LoadPlan(NOWHERE, Load(1.0, 10.0)), ["token"])
    (worker,) = (place := Programs(1)).start([segment])
    try:
        assert worker.ready() == Machine.here()
        # It is the same clock, so that the truth is known: 0.
        found = measure_offset(worker.clock, time.monotonic)
    finally:
        worker.close()
    assert abs(found.offset_s) <= found.uncertain_s + 1e-6
    assert place.processes[0].returncode == 0


class Elsewhere:
    """A worker on another machine, whose clock takes some time to be read."""

    name = "pod 0"

    def __init__(self, segment: Segment, read_s: float) -> None:
        self._read_s = read_s
        self.began_at: list[float] = []

    def ready(self) -> Machine:
        return Machine("another boot/", "another boot/")

    def clock(self) -> float:
        time.sleep(self._read_s)
        return time.monotonic() + 1000.0

    def run(self, begin_at: float, on_fold: Callable[[Fold], None]) -> SegmentEnd:
        self.began_at.append(begin_at)
        return SegmentEnd(1.0, False)

    def interrupt(self) -> None: ...

    def close(self) -> None: ...


class Far:
    """A place with one such worker."""

    size, margin_s = 1, 0.0

    def __init__(self, read_s: float = 0.0) -> None:
        self.read_s = read_s
        self.workers: list[Elsewhere] = []

    def start(self, segments: Sequence[Segment]) -> Sequence[SegmentWorker]:
        self.workers = [Elsewhere(segment, self.read_s) for segment in segments]
        return self.workers


REMOTE = Target("GET", "http://192.0.2.1/")


def test_a_run_begins_at_the_same_moment_on_the_clock_of_each_worker() -> None:
    far = Far()
    result = run_load(REMOTE, Load(1.0, 10.0), on=far)
    (began_at,) = far.workers[0].began_at
    assert began_at - result.started_at == pytest.approx(1000.0, abs=0.01)


def test_a_clock_that_cannot_be_read_well_enough_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faultkit.load.clock_offset.MOST", 6)
    with pytest.raises(InputError, match=r"pod 0: expected a clock that can be read to 10 ms, got \d+ ms"):
        run_load(REMOTE, Load(1.0, 10.0), on=Far(read_s=0.03))


def test_a_clock_that_is_set_while_it_is_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    times = count(1000.0, 50.0)
    monkeypatch.setattr(Elsewhere, "clock", lambda worker: next(times))
    with pytest.raises(
        InputError, match=r"^pod 0: expected a clock .* 10 ms, got one that was set meanwhile$"
    ):
        run_load(REMOTE, Load(1.0, 10.0), on=Far())


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "[::]"])
def test_another_machine_cannot_reach_an_address_that_means_this_one(host: str) -> None:
    with pytest.raises(InputError) as raised:
        run_load(Target("GET", f"http://{host}:9/"), Load(1.0, 10.0), on=Far())
    assert str(raised.value).startswith(f"pod 0: expected an address that it can reach, got {host}:9, which")


def test_a_segment_ends_though_its_input_stays_open_if_no_word_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_host, "LEASE_S", 0.5)
    monkeypatch.setattr(segment_stream, "FOLD_S", 0.05)  # The worker's own readings of lines renew nothing.
    (segment,) = split(LoadPlan(NOWHERE, Load(600.0, 10.0)), [new_token()])
    out = StringIO()

    def words() -> Iterator[str]:
        yield segment_to_json(segment)
        yield f"begin {time.monotonic()!r}"
        deadline = time.monotonic() + PATIENCE_S
        while '"kind":"failed"' not in out.getvalue():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    assert serve(words(), out) == 0
    assert "its sender was lost: it was closed" in out.getvalue()


def test_a_worker_whose_input_stays_open_without_a_segment_ends_by_itself() -> None:
    with subprocess.Popen(
        [*COMMAND, "0.1"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.wait(PATIENCE_S) == 4
        assert process.stderr is not None
        assert process.stderr.read() == "no segment came within 0.1 s\n"
