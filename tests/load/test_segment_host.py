"""A segment on another machine: it is run once, folded once a second, and ended with its coordinator."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from faultkit.base.errors import InputError
from faultkit.base.network import new_token
from faultkit.load import segment_host
from faultkit.load.fold import Fold, SegmentEnd
from faultkit.load.fold_lines import LineReader, WorkerLost
from faultkit.load.load import Load, Target
from faultkit.load.segment_host import SegmentHost
from faultkit.load.split import LoadPlan, Segment, segment_to_json, split
from tests.load.servers import OK, PATIENCE_S, answering, serving, target_of

NOWHERE = Target("GET", "http://127.0.0.1:9/")
AGAIN = "token: expected a segment that has not been run, got one that has"


def segment(target: Target = NOWHERE, load: Load = Load(0.3, 20.0)) -> Segment:  # noqa: B008
    return split(LoadPlan(target, load), [new_token()])[0]


def lines_until(host: SegmentHost, is_last: Callable[[str], bool]) -> list[str]:
    lines: list[str] = []
    deadline = time.monotonic() + PATIENCE_S
    while not lines or not is_last(lines[-1]):
        assert time.monotonic() < deadline
        lines += host.take(0.1)
    return lines


def test_a_process_takes_a_token_once() -> None:
    written = segment_to_json(segment())
    SegmentHost(written).close()
    with pytest.raises(InputError, match=AGAIN):
        SegmentHost(written)


def test_a_segment_is_begun_once_and_its_lines_are_all_of_it() -> None:
    with serving(answering(OK)) as server:
        given = segment(target_of(server))
        host = SegmentHost(segment_to_json(given))
        try:
            host.begin(host.clock() + 0.05)
            with pytest.raises(InputError, match=AGAIN):
                host.begin(host.clock())
            lines = lines_until(host, lambda line: '"kind":"end"' in line)
        finally:
            host.close()
    reader = LineReader(given)
    messages = [reader.read(line) for line in lines]
    folds = [each for each in messages if isinstance(each, Fold)]
    assert isinstance(messages[-1], SegmentEnd)
    assert sum(fold.tally.requests for fold in folds) == 6
    assert len(folds) <= 2


def test_a_sender_that_is_killed_is_reported_as_lost() -> None:
    given = segment(load=Load(600.0, 20.0))
    host = SegmentHost(segment_to_json(given))
    try:
        host.begin(host.clock())
        host._sender._process.kill()
        lines = lines_until(host, lambda line: '"kind":"failed"' in line)
    finally:
        host.close()
    reader = LineReader(given)
    with pytest.raises(WorkerLost, match="its sender was lost: it was ended by SIGKILL"):
        for line in lines:
            reader.read(line)


def test_a_segment_ends_if_the_coordinator_is_not_heard_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_host, "LEASE_S", 0.2)
    host = SegmentHost(segment_to_json(segment(load=Load(600.0, 20.0))))
    host.begin(host.clock())
    deadline = time.monotonic() + PATIENCE_S
    while host._sender._process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_segment_that_has_not_begun_waits_for_slower_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_host, "LEASE_S", 0.2)
    host = SegmentHost(segment_to_json(segment()))
    try:
        assert not host._closed.wait(1.5)
        monkeypatch.setattr(segment_host, "WAITING_S", 0.2)
        assert host._closed.wait(PATIENCE_S)
    finally:
        host.close()
