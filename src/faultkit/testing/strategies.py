"""Hypothesis strategies for faults, made from their settings, and for streams.

It needs `hypothesis`, so `faultkit.testing` does not import it.
"""

from __future__ import annotations

from itertools import accumulate
from types import NoneType
from typing import Any, get_args

from hypothesis import reject
from hypothesis import strategies as st

from faultkit.faults.events import Close, Data, Eof, Event, Reset
from faultkit.faults.fault import Fault, Setting
from faultkit.faults.fault_settings import MAPPINGS, Numbers

_MOST = 1_000_000
"""Upper bound of numbers whose setting has none."""


_NAME = st.text("abcXYZ-", min_size=1, max_size=8)
_PERCENTILE = st.integers(0, 100).map(lambda rank: f"p{rank}")


@st.composite
def faults(draw: st.DrawFn, cls: type[Fault]) -> Fault:
    """Return a strategy of faults of this class, with any settings that it accepts."""
    types = cls.types()
    values = {name: draw(_values(types[name], fact)) for name, fact in cls.settings().items()}
    if "percentiles" in values:
        # Drawn freely, hardly any would fit together.
        delays = sorted(values["percentiles"].values()) or [1.0]
        names = sorted(values["percentiles"], key=lambda name: int(name[1:])) or ["p50"]
        is_table = values["distribution"] == "table"
        values["percentiles"] = dict(zip(names, delays, strict=True)) if is_table else {}
        values["samples"] = None
    try:
        return cls(**values)
    except ValueError:
        reject()


@st.composite
def streams(draw: st.DrawFn) -> list[Event]:
    """Return a strategy of streams: chunks in order of time, and in some of them an end."""
    payloads = draw(st.lists(st.binary(min_size=1, max_size=64), max_size=6))
    repeats = st.sampled_from((1, 1, 40))
    times = list(accumulate(draw(st.floats(0, 2)) for _ in range(len(payloads) + 1)))
    chunks: list[Event] = [
        Data(at, payload * draw(repeats)) for at, payload in zip(times, payloads, strict=False)
    ]
    end = draw(st.sampled_from((None, Eof, Close, Reset)))
    return chunks if end is None else [*chunks, end(times[-1])]


def _values(type_: object, fact: Setting) -> st.SearchStrategy[Any]:
    if type_ in MAPPINGS:
        name, value = (_PERCENTILE, st.floats(0, 5)) if type_ == Numbers else (_NAME, _NAME)
        return st.dictionaries(name, value, max_size=2)
    plain = [each for each in get_args(type_) if each is not NoneType]
    if len(plain) == 1 and len(plain) < len(get_args(type_)):
        return st.none() | _values(plain[0], fact)
    if fact.choices or fact.examples:
        return st.sampled_from(fact.choices or fact.examples)
    lowest = fact.above if fact.minimum is None else fact.minimum
    highest = min(_MOST, _MOST if fact.maximum is None else fact.maximum)
    if type_ is float:
        return st.floats(lowest, highest, exclude_min=fact.above is not None)
    if type_ is int:
        return st.integers(int(lowest or 0), int(highest))
    if type_ is bool:
        return st.booleans()
    return st.text()
