"""Schedule: during which periods of a run a rule acts; its text, and its place on a time line.

    schedule = period *( ";" period )
    period   = item *( "," item )         each key at most once, in any order
    item     = "start:" T                 default 0
             | "duration:" T              default: to the end of the run
             | "every:" T                 the period comes again each T
             | "times:" N                 … but N times in all
    T        = N "%" of the run's duration | a duration such as "1h 30m" | a number of seconds

Periods add up: the rule acts while at least one of them holds. No period at all means always.

`Windows` is a schedule on a concrete time line: it tells whether the rule acts at an instant. Its times are
whole microseconds since the run began, so that periods which touch do touch and repeats never drift. After
`steady_us` the line repeats itself each `cycle_us`, so repeats without end need no memory.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from faultkit.base.documents.checks import shown
from faultkit.base.documents.key_tables import Key, KeyTable, Schema
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.errors import InputError
from faultkit.base.units import LONGEST_S, format_duration, parse_duration

MOST_INTERVALS = 100_000


def to_us(seconds: float) -> int:
    """Convert seconds to whole microseconds."""
    return round(seconds * 1_000_000)


@dataclass(frozen=True, slots=True)
class Wave:
    """A period on the time line: active in [start, start + duration), and again each `every_us`.

    None means without end."""

    start_us: int = 0
    duration_us: int | None = None
    every_us: int | None = None
    times: int | None = None

    def intervals(self, horizon_us: int) -> Iterator[tuple[int, int]]:
        """Return the intervals that begin up to the horizon. Only for waves with a duration."""
        assert self.duration_us is not None
        for turn in range(self.turns(horizon_us)):
            begin_us = self.start_us + turn * (self.every_us or 0)
            yield begin_us, begin_us + self.duration_us

    def turns(self, horizon_us: int) -> int:
        if self.start_us > horizon_us:
            return 0
        if self.every_us is None:
            return 1
        turns = (horizon_us - self.start_us) // self.every_us + 1
        return turns if self.times is None else min(turns, self.times)

    @property
    def repeats_forever(self) -> bool:
        return self.every_us is not None and self.times is None

    @property
    def settled_us(self) -> int:
        """Time after which the wave is inactive for ever or repeats regularly."""
        if self.duration_us is None or self.repeats_forever:
            return self.start_us
        return self.start_us + ((self.times or 1) - 1) * (self.every_us or 0) + self.duration_us


@dataclass(frozen=True, slots=True)
class Windows:
    """When a rule is active: the instants at which it alternately begins and ceases to act."""

    edges_us: tuple[int, ...] = (0,)
    """Begins, ceases, begins … up to `steady_us + cycle_us`."""
    steady_us: int = 0
    cycle_us: int = 0
    """The edges after `steady_us` come again each `cycle_us`; 0 if there are none."""

    def active(self, t: float) -> bool:
        """Return whether the rule acts at `t`, in seconds since the run began."""
        return self._edges_until(t) % 2 == 1

    def activation(self, t: float) -> int:
        """Return how many times it has become active up to and including `t`."""
        return (self._edges_until(t) + 1) // 2

    def next_change(self, t: float) -> float:
        """Return the first time after `t` at which `active` changes; infinite if there is none."""
        folded_us, turns = self._fold(t)
        index = bisect_right(self.edges_us, folded_us)
        if index < len(self.edges_us):
            return (self.edges_us[index] + turns * self.cycle_us) / 1_000_000
        if self.cycle_us == 0:
            return math.inf
        first = self.edges_us[bisect_right(self.edges_us, self.steady_us)]
        return (first + (turns + 1) * self.cycle_us) / 1_000_000

    @property
    def first_s(self) -> float:
        """When the rule acts for the first time, in seconds since the run began; infinite if never."""
        return 0.0 if self.active(0.0) else self.next_change(0.0)

    def _fold(self, t: float) -> tuple[int, int]:
        """Return the time within the listed edges that corresponds to `t`, and the cycles between the two."""
        now_us = to_us(t)
        if self.cycle_us == 0 or now_us <= self.steady_us + self.cycle_us:
            return now_us, 0
        turns = (now_us - self.steady_us - 1) // self.cycle_us
        return now_us - turns * self.cycle_us, turns

    def _edges_until(self, t: float) -> int:
        folded_us, turns = self._fold(t)
        listed = bisect_right(self.edges_us, folded_us)
        if turns == 0:
            return listed
        return listed + turns * (len(self.edges_us) - bisect_right(self.edges_us, self.steady_us))


ALWAYS = Windows()


def merge(waves: Iterable[Wave]) -> Windows:
    """Return the union of waves. Raises ValueError if it would have too many intervals."""
    joined = [_without_gaps(wave) for wave in waves]
    endless_us = min((wave.start_us for wave in joined if wave.duration_us is None), default=None)
    bounded = [wave for wave in joined if wave.duration_us is not None]
    if endless_us is not None:
        steady_us, cycle_us = endless_us, 0
    else:
        steady_us = max((wave.settled_us for wave in bounded), default=0)
        repeats_us = [wave.every_us for wave in bounded if wave.repeats_forever and wave.every_us is not None]
        cycle_us = math.lcm(*repeats_us) if repeats_us else 0
    horizon_us = steady_us + cycle_us
    if sum(wave.turns(horizon_us) for wave in bounded) > MOST_INTERVALS:
        raise ValueError(f"expected at most {MOST_INTERVALS} separate intervals, got more: repeat less often")

    intervals = sorted(interval for wave in bounded for interval in wave.intervals(horizon_us))
    edges_us: list[int] = []
    for begin_us, end_us in intervals:
        if edges_us and begin_us <= edges_us[-1]:
            edges_us[-1] = max(edges_us[-1], end_us)
        else:
            edges_us += (begin_us, end_us)
    if endless_us is not None:
        edges_us = _until(edges_us, endless_us)
    else:
        edges_us = [edge_us for edge_us in edges_us if edge_us <= horizon_us]
    # Repeating periods together may leave no gap: then nothing changes any more, and there is no cycle.
    if bisect_right(edges_us, steady_us) == len(edges_us):
        cycle_us = 0
    return Windows(tuple(edges_us), steady_us, cycle_us)


def _until(edges_us: list[int], endless_us: int) -> list[int]:
    """Return the edges before a wave that never ends, and the edge at which that wave begins."""
    before = edges_us[: bisect_right(edges_us, endless_us)]
    if before and before[-1] == endless_us:
        # A period ends or begins at this instant: either way the rule acts from here on.
        before.pop()
    return before if len(before) % 2 else [*before, endless_us]


def _without_gaps(wave: Wave) -> Wave:
    """Return one long interval for a period that is as long as its repeat."""
    if wave.every_us is None or wave.duration_us is None or wave.duration_us < wave.every_us:
        return wave
    length_us = None if wave.times is None else (wave.times - 1) * wave.every_us + wave.duration_us
    return Wave(wave.start_us, length_us)


# --- schedules as users write them -----------------------------------------------------------

GRAMMAR = (
    'periods joined by ";", each of start:T, duration:T, every:T, times:N joined by ",", '
    'where T is "10s", "50%" or a number of seconds'
)


@dataclass(frozen=True, slots=True)
class Seconds:
    """A time since the start of the run."""

    value: float

    def __post_init__(self) -> None:
        if not 0 <= self.value <= LONGEST_S:
            raise ValueError(f"expected a number of seconds of at least 0, got {shown(self.value)}")

    def __str__(self) -> str:
        return format_duration(self.value)

    def resolve_us(self, total_s: float | None) -> int:
        return to_us(self.value)


@dataclass(frozen=True, slots=True)
class Percent:
    """A share of the run's total duration."""

    value: float

    def __post_init__(self) -> None:
        if not 0 <= self.value <= 100:
            raise ValueError(f'expected a percentage from 0% to 100%, got "{self}"')

    def __str__(self) -> str:
        return f"{Decimal(repr(float(self.value))):f}".removesuffix(".0") + "%"

    def resolve_us(self, total_s: float | None) -> int:
        if total_s is None:
            raise ValueError("percentages need a total duration (--duration)")
        return to_us(total_s * self.value / 100)


Time: TypeAlias = Seconds | Percent


@dataclass(frozen=True, slots=True)
class Period:
    """One period of a schedule, which may repeat."""

    start: Time = Seconds(0)
    duration: Time | None = None
    every: Time | None = None
    times: int | None = None
    """How often it holds in all, the first time included."""

    def __post_init__(self) -> None:
        for name, value in (("duration", self.duration), ("every", self.every)):
            if value is not None and value.value == 0:
                raise ValueError(f'{name}: expected more than 0, got "{value}"')
        if self.every is not None and self.duration is None:
            raise ValueError(f'every: expected a duration beside it, got "every:{self.every}" alone')
        if self.times is not None and self.times < 1:
            raise ValueError(f"times: expected a whole number of at least 1, got {shown(self.times)}")
        if self.times is not None and self.every is None:
            raise ValueError(f'times: expected an every beside it, got "times:{self.times}" alone')
        if (
            self.every is not None
            and self.duration is not None
            and type(self.every) is type(self.duration)
            and self.every.value < self.duration.value
        ):
            raise ValueError(_too_dense(self.every, self.duration))

    def __str__(self) -> str:
        given = {key: getattr(self, key) for key in PERIOD.names}
        items = [f"{key}:{value}" for key, value in given.items() if value is not None]
        if self.start == Seconds(0) and len(items) > 1:
            del items[0]
        return ",".join(items)

    def in_seconds(self, total_s: float | None) -> Period:
        """Return the same period with shares of `total_s` as seconds."""

        def seconds(time: Time) -> Seconds:
            return Seconds(time.resolve_us(total_s) / 1_000_000) if isinstance(time, Percent) else time

        return Period(
            seconds(self.start),
            None if self.duration is None else seconds(self.duration),
            None if self.every is None else seconds(self.every),
            self.times,
        )

    def resolve(self, total_s: float | None) -> Wave:
        wave = Wave(
            self.start.resolve_us(total_s),
            None if self.duration is None else self.duration.resolve_us(total_s),
            None if self.every is None else self.every.resolve_us(total_s),
            self.times,
        )
        if wave.duration_us == 0:
            raise ValueError(f'duration: expected at least 1 µs, got "{self.duration}"')
        if wave.every_us is not None and wave.duration_us is not None and wave.every_us < wave.duration_us:
            raise ValueError(_too_dense(self.every, self.duration))
        return wave


def _too_dense(every: Time | None, duration: Time | None) -> str:
    return f'every: expected at least the duration ("{duration}"), got "{every}"'


@dataclass(frozen=True, slots=True)
class Schedule:
    """The periods during which a rule acts; none means always."""

    periods: tuple[Period, ...] = ()

    @property
    def lasts(self) -> bool:
        """True if the schedule, once active, stays so to the end of the run."""
        return not self.periods or any(
            period.duration is None and period.every is None for period in self.periods
        )

    @property
    def needs_total(self) -> bool:
        """True if it has shares of the run, so that the run must have a duration."""
        return any(isinstance(time, Percent) for p in self.periods for time in (p.start, p.duration, p.every))

    def __str__(self) -> str:
        return ";".join(map(str, self.periods))

    def in_seconds(self, total_s: float | None) -> Schedule:
        """Return the same schedule with shares of a run of `total_s` as seconds."""
        return Schedule(tuple(period.in_seconds(total_s) for period in self.periods))

    def resolve(self, total_s: float | None = None) -> Windows:
        """Return the schedule on a run of `total_s` seconds (None: a run without a known end)."""
        if not self.periods:
            return ALWAYS
        try:
            return merge(period.resolve(total_s) for period in self.periods)
        except ValueError as error:
            raise InputError("schedule", str(error)) from None


def parse_schedule(value: object) -> Schedule:
    """Return the schedule of a text, of a mapping with the same keys, or of a list of either."""
    if isinstance(value, str):
        return Schedule(tuple(_parse_period(piece) for piece in value.split(";")) if value.strip() else ())
    if isinstance(value, Mapping):
        return Schedule((_parse_mapping(value, "schedule"),))
    if isinstance(value, list | tuple):
        return Schedule(tuple(_parse_element(element, f"schedule[{i}]") for i, element in enumerate(value)))
    raise InputError("schedule", f"expected text, a mapping or a list of periods, got {shown(value)}")


def _parse_period(piece: str) -> Period:
    given: dict[str, str] = {}
    for item in piece.split(","):
        key, colon, rest = (part.strip() for part in item.partition(":"))
        if not colon or key not in PERIOD:
            raise _bad_piece(f"got {shown(item.strip())}")
        if key in given:
            raise _bad_piece(f'got "{key}" twice in {shown(piece.strip())}')
        given[key] = rest
    try:
        return _period(given)
    except ValueError as error:
        raise _bad_piece(f"in {shown(piece.strip())}, {error}") from None


def _bad_piece(problem: str) -> InputError:
    return InputError("schedule", f"expected {GRAMMAR}; {problem}")


def _parse_element(element: object, path: str) -> Period:
    if isinstance(element, Mapping):
        return _parse_mapping(element, path)
    if not isinstance(element, str):
        raise InputError(path, f"expected a period as text or a mapping, got {shown(element)}")
    try:
        return _parse_period(element)
    except InputError as error:
        raise error.at(path) from None


def _parse_mapping(value: Mapping[object, object], path: str) -> Period:
    given = MappingReader(value, PERIOD, path).given
    try:
        return _period(given)
    except ValueError as error:
        field, _, problem = str(error).partition(": ")
        raise InputError(f"{path}.{field}", problem) from None


def _period(given: Mapping[str, object]) -> Period:
    """Return a period from its keys, as text or data. Raises ValueError that begins with the key at fault."""
    values = {}
    for key in PERIOD:
        if key.name in given:
            assert key.read is not None
            try:
                values[key.name] = key.read(given[key.name])
            except ValueError as error:
                raise ValueError(f"{key.name}: {error}") from None
    return Period(**values)


def parse_time(value: object) -> Time:
    """Return the time of `50%`, a duration, or a number of seconds."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Seconds(value)
    if not isinstance(value, str):
        raise ValueError(f"expected a duration or a percentage, got {shown(value)}")
    text = value.strip()
    if not text.endswith("%"):
        return Seconds(parse_duration(text))
    try:
        return Percent(float(text[:-1]))
    except ValueError:
        raise ValueError(f"expected a percentage from 0% to 100%, got {shown(value)}") from None


def _parse_times(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 9:
        return int(value)
    raise ValueError(f"expected a whole number of at least 1, got {shown(value)}")


_TIME: Schema = {"type": ["string", "number"], "minimum": 0}
_FORM = 'A duration such as "10s", a share of the run such as "50%", or a number of seconds.'

PERIOD = KeyTable(
    Key("start", parse_time, {**_TIME, "default": 0}, help=f"When the period begins. {_FORM}"),
    Key("duration", parse_time, _TIME, help=f"How long it holds; by default to the end. {_FORM}"),
    Key("every", parse_time, _TIME, help=f"The time from one beginning to the next. {_FORM}"),
    Key("times", _parse_times, {"type": "integer", "minimum": 1}, help="How often it holds in all."),
    rules={"dependentRequired": {"every": ["duration"], "times": ["every"]}},
    has_nulls=False,
)
"""The keys of one period, in its text as in a mapping. Their readers raise ValueError."""
