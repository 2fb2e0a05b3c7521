"""The API of statistics, with calls of known times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from faultkit.base.times import now_us, time_text
from tests.audit.rows import NOON_US, entry
from tests.web.served import AUDIT, PORTAL, Served, served

SERIES = f"{AUDIT}/timeseries"
BREAKDOWN = f"{AUDIT}/breakdown"
MINUTE_US = 60_000_000
# A whole minute, so that a bucket begins there.
START_US = NOON_US - NOON_US % MINUTE_US
NOTHING = {
    "count": 0,
    "errors": 0,
    "error_rate": 0.0,
    "avg_duration_ms": 0.0,
    "p50_duration_ms": 0.0,
    "p95_duration_ms": 0.0,
    "p99_duration_ms": 0.0,
}


@pytest.fixture(scope="module")
def log() -> Iterator[Served]:
    """Yield a server with four calls in the first minute, none in the second, and one in the third."""
    with served() as running:
        running.store.append(
            [entry(n, at_us=START_US + n, duration_ms=float(n), success=n != 4) for n in range(1, 5)]
            + [
                entry(
                    9, at_us=START_US + 2 * MINUTE_US, duration_ms=7.5, tool_name="slow", user_subject="bob"
                )
            ]
        )
        yield running


def between(minutes: int) -> dict[str, str]:
    return {"from": time_text(START_US), "to": time_text(START_US + minutes * MINUTE_US)}


def test_a_series_has_a_point_for_each_bucket(log: Served) -> None:
    found = log.json(SERIES, bucket="1m", **between(3))
    assert (found["bucket"], found["bucket_s"]) == ("1m", 60)
    assert [point["time"] for point in found["points"]] == [
        time_text(START_US + minute * MINUTE_US) for minute in range(3)
    ]
    first, second, third = found["points"]
    assert first == {
        "time": time_text(START_US),
        "count": 4,
        "errors": 1,
        "error_rate": 0.25,
        "avg_duration_ms": 2.5,
        "p50_duration_ms": 2.5,
        "p95_duration_ms": 4.0,
        "p99_duration_ms": 4.0,
    }
    assert second == {"time": second["time"], **NOTHING}
    assert (third["count"], third["p99_duration_ms"]) == (1, 7.5)


def test_a_series_can_be_filtered(log: Served) -> None:
    found = log.json(SERIES, bucket="1m", tool="slow", **between(3))
    assert [point["count"] for point in found["points"]] == [0, 0, 1]


@pytest.mark.parametrize(
    ("span", "bucket"), [("1m", "1s"), ("1h", "30s"), ("1d", "15m"), ("7d", "2h"), ("30d", "6h")]
)
def test_the_server_chooses_buckets_that_can_be_drawn(log: Served, span: str, bucket: str) -> None:
    found = log.json(SERIES, **{"from": span})
    assert found["bucket"] == bucket
    assert 60 <= len(found["points"]) <= 121


@pytest.mark.parametrize("at", ["1900-01-01T00:00:00Z", "9998-12-31T23:59:59.999999Z"])
def test_there_are_series_at_the_ends_of_time(log: Served, at: str) -> None:
    assert len(log.json(SERIES, to=at, bucket="30d")["points"]) <= 2


def test_by_default_a_series_is_of_the_last_hour(log: Served) -> None:
    before_us = now_us()
    found = log.json(SERIES)
    assert time_text(before_us) <= found["to"] <= time_text(now_us())
    assert len(found["points"]) == 121


def test_a_breakdown_has_the_most_frequent_first(log: Served) -> None:
    found = log.json(BREAKDOWN)
    assert (found["by"], found["total"], found["others"]) == ("tool", 5, 0)
    assert [(item["key"], item["count"], item["errors"]) for item in found["items"]] == [
        ("echo", 4, 1),
        ("slow", 1, 0),
    ]
    assert found["items"][0]["p50_duration_ms"] == 2.5


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        ("user", ["", "bob"]),
        ("success", ["true", "false"]),
        ("auth_type", ["anonymous"]),
        ("source", ["mcp"]),
        ("category", [""]),
        ("session", [""]),
        ("key", [""]),
    ],
)
def test_calls_can_be_grouped_by_a_column(log: Served, by: str, keys: list[str]) -> None:
    assert [item["key"] for item in log.json(BREAKDOWN, by=by)["items"]] == keys


def test_what_a_breakdown_does_not_list_is_counted(log: Served) -> None:
    found = log.json(BREAKDOWN, limit="1", success="true")
    assert ([item["key"] for item in found["items"]], found["total"], found["others"]) == (["echo"], 4, 1)


def test_a_dashboard_is_of_the_last_hour_and_has_the_newest_calls(log: Served) -> None:
    empty = log.json(f"{PORTAL}/dashboard")
    assert empty["stats"] == NOTHING | {
        "total": 0,
        "unique_subjects": 0,
        "unique_tools": 0,
        "refusals": 0,
        "calls_per_s": 0.0,
    }
    assert [row["duration_ms"] for row in empty["recent"]] == [7.5, 4.0, 3.0, 2.0, 1.0]
    with served() as running:
        at_us = now_us() - 1_000_000
        running.store.append(
            [entry(n, at_us=at_us, duration_ms=float(n), success=n < 19) for n in range(1, 20)]
        )
        running.store.append([entry(20, at_us=at_us, duration_ms=20.0, tool_name="slow", user_subject="bob")])
        running.store.append([entry(21, at_us=at_us - 3_600_000_000)])
        found = running.json(f"{PORTAL}/dashboard", window="10m")
        assert found["window"] == "10m"
        assert found["stats"] == {
            "total": 20,
            "count": 20,
            "errors": 1,
            "error_rate": 0.05,
            "avg_duration_ms": 10.5,
            "p50_duration_ms": 10.5,
            "p95_duration_ms": 19.95,
            "p99_duration_ms": 20.0,
            "unique_subjects": 1,
            "unique_tools": 2,
            "refusals": 0,
            "calls_per_s": round(20 / 600, 6),
        }
        assert len(found["recent"]) == 20
        assert running.json(f"{PORTAL}/dashboard", tool="slow")["stats"]["total"] == 1


BAD: tuple[tuple[str, dict[str, str], str], ...] = (
    (
        SERIES,
        {"bucket": "0.5s"},
        'bucket: expected 4s to 30d, so that there are at most 1000 points, got "0.5s"',
    ),
    (SERIES, {"bucket": "1s", "from": "1d"}, "bucket: expected 1m 27s to 30d"),
    (SERIES, {"bucket": "-1s"}, "bucket: expected a duration such as"),
    (SERIES, {"from": "31d"}, "from: expected at most 30d before `to`, got more"),
    (SERIES, {"from": "2999-01-01T00:00:00Z"}, "from: expected a time in the past"),
    (SERIES, {"limit": "5"}, "limit: expected one of the filters tool,"),
    (BREAKDOWN, {"by": "colour"}, "by: expected one of tool, user, success,"),
    (BREAKDOWN, {"limit": "0"}, "limit: expected a whole number from 1 to 1000"),
    (f"{PORTAL}/dashboard", {"window": "31d"}, 'window: expected 1s to 30d, got "31d"'),
    (f"{PORTAL}/dashboard", {"window": "soon"}, "window: expected a duration such as"),
    (f"{PORTAL}/dashboard", {"from": "1h"}, "from: expected one of the filters tool,"),
)


@pytest.mark.parametrize(("path", "parameters", "problem"), BAD)
def test_a_bad_parameter_is_an_error_that_names_it(
    log: Served, path: str, parameters: dict[str, Any], problem: str
) -> None:
    answer = log.get(path, **parameters)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(problem)
