"""Schedules: text, mappings and lists in, windows out."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultkit.base.errors import InputError
from faultkit.plan.schedule import GRAMMAR, Percent, Period, Schedule, Seconds, parse_schedule


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
    """The instants at which the schedule goes on and off, from the first on."""
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
