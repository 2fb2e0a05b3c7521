"""Delays that were measured, from text to percentiles: numbers, CSV, HdrHistogram logs, results.json.

A plan has percentiles only, so it can be sent anywhere and replayed. Where a file names samples,
`with_percentiles` replaces them by percentiles. Pure: the caller reads the file, and knows its folder.
"""

from __future__ import annotations

import base64
import csv
import json
import math
import struct
import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate
from typing import Any, TypeAlias

from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError

Counts: TypeAlias = Mapping[float, int]
"""How often each delay occurred."""

_MS: dict[str, float] = {"ms": 1.0, "s": 1000.0, "us": 0.001, "ns": 0.000001}
_PERCENTS = (
    *range(100),
    *(round(99 + step / 10, 1) for step in range(1, 10)),
    *(round(99.9 + step / 100, 2) for step in range(1, 10)),
    100,
)
"""Percentiles that are kept: each one, and the tail more finely."""
_MOST_BYTES = 1 << 26


def with_percentiles(rule: object, read: Callable[[str], str]) -> object:
    """Return the document of a rule, with percentiles in place of the file that `with.samples` names.

    `read` returns the text of a file. Raises InputError with the path `with.samples`."""
    if not isinstance(rule, Mapping) or not isinstance(rule.get("with"), Mapping):
        return rule
    return {**rule, "with": settings_with_percentiles(rule["with"], read, "with.samples")}


def settings_with_percentiles(
    settings: Mapping[str, object], read: Callable[[str], str], path: str = "samples"
) -> Mapping[str, object]:
    """Do the same for the settings of a fault."""
    name, unit = settings.get("samples"), settings.get("samples_unit", "ms")
    if not isinstance(name, str) or settings.get("percentiles") or unit not in _MS:
        return settings  # The fault says what is wrong, if anything is.
    try:
        percentiles = percentiles_of(read(name), str(unit))
    except InputError as error:
        raise InputError(path, f"{error.path or name}: {error.problem}") from None
    rest = {key: value for key, value in settings.items() if key not in ("samples", "samples_unit")}
    return {**rest, "percentiles": percentiles}


def percentiles_of(text: str, unit: str = "ms") -> dict[str, float]:
    """Return the percentiles in ms of the delays in a text, whose kind is found by its content."""
    if len(text) > _MOST_BYTES:
        raise InputError("", f"expected at most {_MOST_BYTES >> 20} MB, got {len(text) >> 20} MB")
    if text.lstrip()[:1] == "{":
        return _of_results(text)
    if "HISTF" in text:
        counts = _of_hdr_log(text)
    elif "," in text.partition("\n")[0]:
        return _percentiles(*_of_csv(text, unit))
    else:
        counts = Counter(_number(line.strip(), at) for at, line in _lines(text))
    return _percentiles(counts, unit)


def _percentiles(counts: Counts, unit: str) -> dict[str, float]:
    if not counts:
        raise InputError("", "expected at least one delay, got none")
    ordered = sorted(counts)
    ends = list(accumulate(counts[value] for value in ordered))

    def at(place: int) -> float:
        return ordered[bisect_right(ends, place)]

    found = {}
    for percent in _PERCENTS:
        exact = (ends[-1] - 1) * percent / 100
        low, high = at(math.floor(exact)), at(math.ceil(exact))
        found[f"p{percent:g}"] = round((low + (high - low) * (exact % 1)) * _MS[unit], 6)
    return found


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line


def _number(text: str, line: int, what: str = "a delay") -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise InputError("", f"line {line}: expected {what} of 0 or more, got {shown(text[:40])}")
    return value


# --- CSV ----------------------------------------------------------------------------------------

_COLUMNS: tuple[tuple[str, str | None], ...] = (
    ("latency_ms", "ms"),
    ("duration_ms", "ms"),
    ("response_ms", "ms"),
    ("ms", "ms"),
    ("latency_us", "us"),
    ("duration_us", "us"),
    ("us", "us"),
    ("latency_ns", "ns"),
    ("duration_ns", "ns"),
    ("ns", "ns"),
    ("latency_s", "s"),
    ("duration_s", "s"),
    ("seconds", "s"),
    ("elapsed", None),
    ("latency", None),
    ("duration", None),
    ("response_time", None),
    ("metric_value", None),
    ("value", None),
)
"""Columns that may hold delays, the first that is there counts; None: in the unit that the user names."""


def _of_csv(text: str, unit: str) -> tuple[Counts, str]:
    """Return the delays of a column, and their unit."""
    rows = csv.reader(text.splitlines())
    names = [name.strip().lower() for name in next(rows)]
    column, own_unit = next(((name, own) for name, own in _COLUMNS if name in names), (None, None))
    if column is None:
        known = ", ".join(name for name, _ in _COLUMNS)
        raise InputError("", f"line 1: expected a column named one of {known}, got {', '.join(names)}")
    place = names.index(column)
    # k6 writes all its metrics into one file.
    metric = names.index("metric_name") if column == "metric_value" and "metric_name" in names else None
    counts: Counter[float] = Counter()
    for row in rows:
        if not row or (metric is not None and row[metric : metric + 1] != ["http_req_duration"]):
            continue
        if len(row) <= place:
            raise InputError("", f"line {rows.line_num}: expected {len(names)} columns, got {len(row)}")
        counts[_number(row[place].strip(), rows.line_num, f"a delay in {column}")] += 1
    return counts, own_unit or unit


# --- results.json of a scenario ------------------------------------------------------------------


def _of_results(text: str) -> dict[str, float]:
    """Return the curve of the first item with requests: what the service took, without faults if measured."""
    try:
        document: Any = json.loads(text)
    except ValueError as error:
        raise InputError("", f"expected JSON, got {error}") from None
    try:
        for scenario in document["scenarios"]:
            for item in scenario["items"]:
                for run in (item["baseline"], item["run"]):
                    if run is not None and run["service"]["count"]:
                        return _of_curve(run["service"])
    except (KeyError, TypeError, ValueError):
        raise InputError("", "expected the results.json of fault scenario run, got other JSON") from None
    raise InputError("", "expected an item with requests, got none")


def _of_curve(service: Mapping[str, Any]) -> dict[str, float]:
    found = {"p0": float(service["min_ms"])}
    for percent, delay_ms in service["curve"]:
        if 0 < percent < 100:
            found[f"p{round(float(percent), 4):g}"] = float(delay_ms)
    return found | {"p100": float(service["max_ms"])}


# --- logs of HdrHistogram (https://github.com/HdrHistogram/HdrHistogram) --------------------------

_V2, _V2_COMPRESSED = 0x1C849303, 0x1C849304
_COOKIE_MASK = ~0xF0
_HEADER = struct.Struct(">iiiiqqd")
_MOST_COUNTS = 1 << 26


def _of_hdr_log(text: str) -> Counts:
    """Return the values of all intervals together."""
    total: Counter[float] = Counter()
    for number, line in _lines(text):
        encoded = line.rsplit(",", 1)[-1].strip()
        if not encoded.startswith("HISTF"):
            continue  # The legend.
        try:
            total.update(hdr_counts(base64.b64decode(encoded, validate=True)))
        except (ValueError, zlib.error, struct.error, IndexError) as error:
            problem = f"line {number}: expected a compressed V2 histogram, got {error}"
            raise InputError("", problem) from None
    return total


def hdr_counts(data: bytes) -> dict[float, int]:
    """Return the values of a compressed V2 histogram. Raises ValueError, zlib.error or struct.error."""
    cookie, length = struct.unpack_from(">ii", data)
    if cookie & _COOKIE_MASK != _V2_COMPRESSED:
        raise ValueError(f"cookie {cookie:#x}")
    inflater = zlib.decompressobj()
    payload = inflater.decompress(data[8 : 8 + length], _MOST_COUNTS)
    cookie, size, _, digits, lowest, _, ratio = _HEADER.unpack_from(payload)
    if cookie & _COOKIE_MASK != _V2 or not 0 <= digits <= 5 or lowest < 1:
        raise ValueError(f"cookie {cookie:#x}, {digits} digits")
    # As the library has it: sub-buckets keep the precision, each further bucket doubles the range.
    half_bits = max(1, math.ceil(math.log2(2 * 10**digits))) - 1
    unit_bits = int(math.log2(lowest))
    half = 1 << half_bits
    counts: dict[float, int] = {}
    index = 0
    for number in _zigzag_numbers(payload[_HEADER.size : _HEADER.size + size]):
        if number < 0:
            index -= number  # So many empty ones.
            continue
        if number:
            bucket, sub = (index >> half_bits) - 1, (index & (half - 1)) + half
            if bucket < 0:
                bucket, sub = 0, sub - half
            width = 1 << (bucket + unit_bits)
            counts[(sub * width + width // 2) * (ratio or 1.0)] = number
        index += 1
    return counts


def _zigzag_numbers(payload: bytes) -> Iterator[int]:
    """Yield numbers of at most nine bytes, seven bits each but for the ninth, with the sign in bit 0."""
    place = 0
    while place < len(payload):
        value = shift = 0
        for step in range(9):
            byte = payload[place]
            place += 1
            value |= (byte if step == 8 else byte & 0x7F) << shift
            shift += 7
            if step == 8 or not byte & 0x80:
                break
        yield (value >> 1) ^ -(value & 1)
