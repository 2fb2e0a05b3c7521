"""Windows: activity on a time line, against a reckoning that looks at each instant."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultkit.plan.windows import ALWAYS, MOST_INTERVALS, Wave, Windows, merge

SECOND = 1_000_000


def wave(start: int, duration: int | None = None, every: int | None = None, times: int | None = None) -> Wave:
    return Wave(
        start * SECOND,
        None if duration is None else duration * SECOND,
        None if every is None else every * SECOND,
        times,
    )


def holds(one: Wave, now: int) -> bool:
    """The meaning of a wave, spelled out: is `now` (whole seconds) inside any of its intervals?"""
    since = now * SECOND - one.start_us
    if since < 0:
        return False
    if one.duration_us is None:
        return True
    if one.every_us is None:
        return since < one.duration_us
    turn, within = divmod(since, one.every_us)
    return within < one.duration_us and (one.times is None or turn < one.times)


def test_always_is_active_from_the_start_and_never_changes() -> None:
    assert [ALWAYS.active(t) for t in (0, 1.5, 1e6)] == [True, True, True]
    assert ALWAYS.activation(1e6) == 1
    assert ALWAYS.next_change(0) == math.inf


def test_an_interval_holds_its_first_instant_and_not_its_last() -> None:
    windows = merge([wave(10, 5)])
    assert [windows.active(t) for t in (9.999999, 10, 14.999999, 15)] == [False, True, True, False]
    assert [windows.next_change(t) for t in (0, 10, 15)] == [10, 15, math.inf]
    assert [windows.activation(t) for t in (0, 10, 100)] == [0, 1, 1]


def test_intervals_that_touch_are_one_activation() -> None:
    windows = merge([wave(0, 5), wave(5, 5), wave(20, 1)])
    assert windows.next_change(0) == 10
    assert windows.activation(19) == 1
    assert windows.activation(20) == 2


def test_a_repeat_has_no_end_and_keeps_exact_time() -> None:
    windows = merge([Wave(0, 100_000, 300_000)])
    late = 30_000_000.0
    assert windows.active(late)
    assert windows.activation(late) == 100_000_001
    assert windows.next_change(late) == 30_000_000.1
    assert windows.next_change(30_000_000.1) == 30_000_000.3


def test_repeats_that_fill_each_others_gaps_never_change() -> None:
    windows = merge([wave(0, 5, 10), wave(5, 5, 10)])
    assert windows.next_change(0) == math.inf
    assert windows.activation(12345) == 1


def test_a_repeat_without_a_gap_is_one_interval() -> None:
    assert merge([Wave(0, 100_000, 100_000, 7)]) == merge([Wave(0, 700_000)])
    assert merge([wave(3, 2, 2)]) == merge([wave(3)])


def test_no_waves_at_all_are_never_active() -> None:
    windows = merge([])
    assert not windows.active(0)
    assert windows.next_change(0) == math.inf


def test_more_intervals_than_can_be_held_are_refused() -> None:
    beats = [Wave(0, 1, 1_000_003), Wave(0, 1, 999_983)]
    with pytest.raises(ValueError) as caught:
        merge(beats)
    assert str(caught.value) == (
        f"expected at most {MOST_INTERVALS} separate intervals, got more: repeat less often"
    )


small = st.integers(0, 12)
lengths = st.integers(1, 6)


@st.composite
def waves(draw: st.DrawFn) -> Wave:
    start, kind = draw(small), draw(st.sampled_from(["endless", "once", "forever", "counted"]))
    if kind == "endless":
        return wave(start)
    duration = draw(lengths)
    if kind == "once":
        return wave(start, duration)
    every = duration + draw(st.integers(0, 4))
    return wave(start, duration, every, draw(st.integers(1, 4)) if kind == "counted" else None)


@settings(deadline=None)
@given(st.lists(waves(), max_size=4))
def test_a_union_agrees_with_looking_at_every_instant(several: list[Wave]) -> None:
    windows = merge(several)
    span = 200
    states = [any(holds(one, now) for one in several) for now in range(span)]
    rises = 0
    for now in range(span):
        rises += states[now] and (now == 0 or not states[now - 1])
        assert windows.active(now) is states[now]
        assert windows.active(now + 0.5) is states[now]
        assert windows.activation(now) == rises


@settings(deadline=None)
@given(st.lists(waves(), max_size=4))
def test_the_next_change_is_the_first_instant_that_differs(several: list[Wave]) -> None:
    windows = merge(several)
    # Beats are at most 10 s: what does not change within lcm(1..10) s past the last start never will.
    span = 2520 + 40
    states = [any(holds(one, now) for one in several) for now in range(span)]
    for now in range(0, 40, 3):
        changes = (later for later in range(now + 1, span) if states[later] is not states[now])
        assert windows.next_change(now) == next(changes, math.inf)


@settings(deadline=None)
@given(st.lists(waves(), max_size=4), st.floats(0, 1e6))
def test_stepping_from_change_to_change_always_flips_and_moves_on(several: list[Wave], t: float) -> None:
    windows: Windows = merge(several)
    for _ in range(5):
        later = windows.next_change(t)
        if later == math.inf:
            break
        assert later > t
        assert windows.active(later) is not windows.active(t)
        t = later
