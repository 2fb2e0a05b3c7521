"""Schedules: text, mappings and lists in, windows out."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultkit.base.errors import InputError
from faultkit.plan.schedule import (
    ALWAYS,
    GRAMMAR,
    MOST_INTERVALS,
    Percent,
    Period,
    Schedule,
    Seconds,
    Wave,
    Windows,
    merge,
    parse_schedule,
)


@pytest.mark.parametrize(
    ("value", "periods"),
    [
        ("", ()),
        ("  ", ()),
        ("start:10s", (Period(Seconds(10)),)),
        ("duration:30", (Period(duration=Seconds(30)),)),
        ("start:10s,duration:30s", (Period(Seconds(10), Seconds(30)),)),
        ("duration:30s, start:10s", (Period(Seconds(10), Seconds(30)),)),
        ("start:5%,duration:12.5%", (Period(Percent(5), Percent(12.5)),)),
        ("start:1h 30m,duration:250ms", (Period(Seconds(5400), Seconds(0.25)),)),
        ("start:30s;duration:3m", (Period(Seconds(30)), Period(duration=Seconds(180)))),
        ("duration:1s,every:10s,times:3", (Period(duration=Seconds(1), every=Seconds(10), times=3),)),
        ({"start": "10s", "duration": 2.5}, (Period(Seconds(10), Seconds(2.5)),)),
        ({}, (Period(),)),
        ([{"start": "50%"}, "duration:1s"], (Period(Percent(50)), Period(duration=Seconds(1)))),
        ([{"duration": 1, "every": 2, "times": 4}], (Period(Seconds(0), Seconds(1), Seconds(2), 4),)),
        ([], ()),
    ],
)
def test_a_schedule_is_read_from_text_mappings_and_lists(value: object, periods: tuple[Period, ...]) -> None:
    assert parse_schedule(value) == Schedule(periods)


DURATION = 'a duration such as "10s", "250ms", "1h 30m" or a number of seconds'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("soon", 'got "soon"'),
        ("begin:3s", 'got "begin:3s"'),
        ("start:1s;", 'got ""'),
        ("start:1s,,duration:1s", 'got ""'),
        ("start:1s,start:2s", 'got "start" twice in "start:1s,start:2s"'),
        ("start:abc", f'in "start:abc", start: expected {DURATION}, got "abc"'),
        ("start:", f'in "start:", start: expected {DURATION}, got ""'),
        ("start:-1s", f'in "start:-1s", start: expected {DURATION}, got "-1s"'),
        ("duration:0", 'in "duration:0", duration: expected more than 0, got "0s"'),
        ("duration:0%", 'in "duration:0%", duration: expected more than 0, got "0%"'),
        ("start:101%", 'in "start:101%", start: expected a percentage from 0% to 100%, got "101%"'),
        ("start:-1%", 'in "start:-1%", start: expected a percentage from 0% to 100%, got "-1%"'),
        ("start:nan%", 'in "start:nan%", start: expected a percentage from 0% to 100%, got "nan%"'),
        ("start:%", 'in "start:%", start: expected a percentage from 0% to 100%, got "%"'),
        (
            "every:5s",
            'in "every:5s", every: expected a duration beside it, got "every:5s" alone',
        ),
        (
            "duration:1s,every:0s",
            'in "duration:1s,every:0s", every: expected more than 0, got "0s"',
        ),
        (
            "duration:3s,every:2s",
            'in "duration:3s,every:2s", every: expected at least the duration ("3s"), got "2s"',
        ),
        (
            "duration:3%,every:2%",
            'in "duration:3%,every:2%", every: expected at least the duration ("3%"), got "2%"',
        ),
        (
            "duration:1s,times:2",
            'in "duration:1s,times:2", times: expected an every beside it, got "times:2" alone',
        ),
        (
            "duration:1s,every:2s,times:0",
            'in "duration:1s,every:2s,times:0", times: expected a whole number of at least 1, got 0',
        ),
        (
            "duration:1s,every:2s,times:1.5",
            'in "duration:1s,every:2s,times:1.5", times: expected a whole number of at least 1, got "1.5"',
        ),
    ],
)
def test_bad_text_is_answered_with_the_grammar_and_the_bad_piece(text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_schedule(text)
    assert str(caught.value) == f"schedule: expected {GRAMMAR}; {problem}"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "schedule: expected text, a mapping or a list of periods, got nothing"),
        (5, "schedule: expected text, a mapping or a list of periods, got 5"),
        (b"start:1s", "schedule: expected text, a mapping or a list of periods, got b'start:1s'"),
        ({"star": 5}, 'schedule.star: unknown key; did you mean "start"?'),
        ([{}, {"x": 5}], "schedule[1].x: unknown key; expected one of start, duration, every, times"),
        ([7], "schedule[0]: expected a period as text or a mapping, got 7"),
        ({"start": True}, "schedule.start: expected a duration or a percentage, got true"),
        ({"start": -1}, "schedule.start: expected a number of seconds of at least 0, got -1"),
        ({"start": math.nan}, "schedule.start: expected a number of seconds of at least 0, got nan"),
        ({"start": math.inf}, "schedule.start: expected a number of seconds of at least 0, got inf"),
        ([{"duration": 0}], 'schedule[0].duration: expected more than 0, got "0s"'),
        ({"times": "x"}, 'schedule.times: expected a whole number of at least 1, got "x"'),
        ({"times": True}, "schedule.times: expected a whole number of at least 1, got true"),
        (
            ["start:1s;start:2s"],
            f'schedule[0]: expected {GRAMMAR}; in "start:1s;start:2s", start: expected '
            f'{DURATION}, got "1s;start:2s"',
        ),
    ],
)
def test_a_bad_document_is_answered_with_the_path_of_what_is_wrong(value: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_schedule(value)
    assert str(caught.value) == message


def test_a_huge_number_of_seconds_is_refused_rather_than_overflowing() -> None:
    with pytest.raises(InputError, match=r"schedule\.start: expected a number of seconds"):
        parse_schedule({"start": 10**400})


@pytest.mark.parametrize(
    ("schedule", "text"),
    [
        (Schedule(), ""),
        (Schedule((Period(),)), "start:0s"),
        (Schedule((Period(Seconds(90)),)), "start:1m 30s"),
        (Schedule((Period(duration=Percent(12.5)),)), "duration:12.5%"),
        (Schedule((Period(Percent(0), Seconds(1)),)), "start:0%,duration:1s"),
        (
            Schedule((Period(Seconds(1)), Period(Seconds(0), Seconds(1), Seconds(2), 3))),
            "start:1s;duration:1s,every:2s,times:3",
        ),
    ],
)
def test_a_schedule_is_written_in_one_way(schedule: Schedule, text: str) -> None:
    assert str(schedule) == text


times = st.one_of(
    st.floats(0, 1e6).map(Seconds),
    st.floats(0, 100).map(Percent),
)


@st.composite
def periods(draw: st.DrawFn) -> Period:
    fields: dict[str, Any] = {"start": draw(times)}
    kind = draw(st.sampled_from(["endless", "once", "forever", "counted"]))
    if kind != "endless":
        fields["duration"] = draw(times.filter(lambda time: time.value > 0))
    if kind in ("forever", "counted"):
        least = fields["duration"]
        fields["every"] = draw(
            times.filter(
                lambda time: time.value > 0 and (type(time) is not type(least) or time.value >= least.value)
            )
        )
    if kind == "counted":
        fields["times"] = draw(st.integers(1, 10**9 - 1))
    return Period(**fields)


@settings(deadline=None)
@given(st.lists(periods(), max_size=4))
def test_a_written_schedule_reads_back_as_itself(several: list[Period]) -> None:
    schedule = Schedule(tuple(several))
    assert parse_schedule(str(schedule)) == schedule


def changes(text: str, total_s: float | None = None, count: int = 6) -> list[float]:
    """Return the instants at which the schedule begins and ceases to hold."""
    windows = parse_schedule(text).resolve(total_s)
    found = [0.0] if windows.active(0) else []
    t = 0.0
    while len(found) < count and (t := windows.next_change(t)) < math.inf:
        found.append(t)
    return found


@pytest.mark.parametrize(
    ("text", "total_s", "expected"),
    [
        ("", None, [0]),
        ("start:10s", None, [10]),
        ("start:10s,duration:5s", None, [10, 15]),
        ("start:5%,duration:10%", 200, [10, 30]),
        ("start:5%,duration:3s", 200, [10, 13]),
        ("start:1s,duration:2s;start:2s,duration:5s", None, [1, 7]),
        ("start:30s;duration:3m", 600, [0]),
        ("start:2s,duration:1s,every:10s", None, [2, 3, 12, 13, 22, 23]),
        ("start:2s,duration:1s,every:10s,times:2", None, [2, 3, 12, 13]),
        ("duration:10%,every:50%", 10, [0, 1, 5, 6, 10, 11]),
        ("duration:0.1s,every:0.1s,times:9", None, [0, 0.9]),
        ("start:100%", 60, [60]),
    ],
)
def test_periods_become_instants(text: str, total_s: float | None, expected: list[float]) -> None:
    assert changes(text, total_s) == expected


@pytest.mark.parametrize("text", ["start:5%", "duration:5%", "duration:1s,every:50%"])
def test_percentages_need_a_total_duration(text: str) -> None:
    assert parse_schedule(text).needs_total
    with pytest.raises(InputError) as caught:
        parse_schedule(text).resolve(None)
    assert str(caught.value) == "schedule: percentages need a total duration (--duration)"


def test_plain_durations_need_no_total() -> None:
    assert not parse_schedule("start:1s,duration:2s,every:3s").needs_total


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("duration:3s,every:10%", 'schedule: every: expected at least the duration ("3s"), got "10%"'),
        ("duration:1%", 'schedule: duration: expected at least 1 µs, got "1%"'),
        (
            "duration:1us,every:2us,times:200000",
            "schedule: expected at most 100000 separate intervals, got more: repeat less often",
        ),
    ],
)
def test_what_only_the_total_can_show_is_refused_when_it_is_known(text: str, message: str) -> None:
    total_s = 0.00001 if "1%" in text and "every" not in text else 10
    with pytest.raises(InputError) as caught:
        parse_schedule(text).resolve(total_s)
    assert str(caught.value) == message


# --- windows ---


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
