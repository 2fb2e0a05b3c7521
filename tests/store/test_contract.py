"""What every store promises: one in memory, a SQLite file, and a real PostgreSQL server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faultkit.store.filter import Filter, Param, parse_filter
from faultkit.store.opening import open_store
from faultkit.store.row import AuditRow, Entry, Payload
from faultkit.store.store import Store, StoreRefused
from tests.store.rows import NOON_US, entry

KINDS = ("memory", "sqlite", "postgres")


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "postgres":
        name = request.getfixturevalue("postgres").url
    else:
        name = {"memory": "memory:", "sqlite": str(tmp_path / "audit.db")}[request.param]
    with open_store(name) as opened:
        yield opened


def ids(rows: tuple[AuditRow, ...]) -> list[int]:
    return [int(row.id[-12:]) for row in rows]


def test_an_empty_store_has_nothing(store: Store) -> None:
    assert store.events().rows == ()
    assert store.events().total == 0
    assert store.get("nobody") is None
    assert store.last_seq() == 0
    assert store.stats().all.calls == 0
    assert store.prune(NOON_US) == 0
    store.append([])
    assert list(store.all()) == []


def test_a_row_comes_back_as_it_went_in(store: Store) -> None:
    row = AuditRow(
        id="0199",
        at_us=2**53 + 1,
        duration_ms=0.1 + 0.2,
        tool_name="écho ☃ 𝄞",
        success=False,
        tool_group="identity",
        request_id='"a"',
        session_id="s",
        user_subject="alice",
        user_email="a@example.org",
        auth_type="apikey",
        api_key_name="ci",
        parameters='{"b":1,"a":[true,null,"\\n"]}',
        error_message="it broke\n'; DROP TABLE audit_events; --",
        error_category="timeout",
        request_chars=2**40,
        response_chars=7,
        content_blocks=3,
        transport="stdio",
        source="portal-replay",
        remote_addr="127.0.0.1:5",
        forwarded_for="10.0.0.1",
        user_agent="test/1",
        era="modern",
    )
    said = Payload("tools/call", '{"z":1,"a":2}', 13, False, "{}", None, '{"code":-1}', 2**33, True, "0198")
    store.append([Entry(row, said), Entry(entry(1).row, None)])
    found = store.get("0199")
    assert found is not None
    assert found.payload == said
    assert found.row.seq == 1
    assert {name: getattr(found.row, name) for name in AuditRow.__slots__ if name != "seq"} == {
        name: getattr(row, name) for name in AuditRow.__slots__ if name != "seq"
    }
    other = store.get(entry(1).row.id)
    assert other is not None
    assert other.payload is None


def test_newest_come_first_and_pages_cut_what_the_total_counts(store: Store) -> None:
    store.append([entry(number) for number in range(10)])
    page = store.events(Filter(limit=3, offset=2))
    assert ids(page.rows) == [7, 6, 5]
    assert page.total == 10
    assert store.events(Filter(offset=100)).rows == ()


def test_calls_of_the_same_moment_are_in_the_order_of_their_writing(store: Store) -> None:
    store.append([entry(number, at_us=NOON_US) for number in (3, 1, 2)])
    assert ids(store.events().rows) == [2, 1, 3]
    assert ids(store.after(0)) == [3, 1, 2]


def test_whoever_follows_gets_each_row_once_and_in_order(store: Store) -> None:
    store.append([entry(number) for number in (5, 4)])
    first = store.after(0)
    store.append([entry(number) for number in (3, 9)])
    assert ids(first) == [5, 4]
    assert ids(store.after(first[-1].seq)) == [3, 9]
    assert store.last_seq() == store.after(0)[-1].seq


def test_a_place_is_not_given_twice_when_the_newest_rows_are_gone(store: Store) -> None:
    store.append([entry(1), entry(2)])
    before = store.last_seq()
    assert store.prune(NOON_US + 10_000_000) == 2
    store.append([entry(3)])
    assert store.last_seq() > before


def test_writing_the_same_rows_again_changes_nothing(store: Store) -> None:
    store.append([entry(1), entry(2)])
    store.append([entry(2, tool_name="other"), entry(3)])
    assert ids(store.after(0)) == [1, 2, 3]
    assert [row.tool_name for row in store.after(0)] == ["echo"] * 3


def test_a_batch_is_written_whole_or_not_at_all(store: Store) -> None:
    broken = entry(2, tool_name=None)
    with pytest.raises(StoreRefused):
        store.append([entry(1), broken, entry(3)])
    assert store.events().total == 0


FILTERED: tuple[tuple[list[tuple[str, str]], list[int]], ...] = (
    ([], [5, 4, 3, 2, 1]),
    ([("tool", "flaky")], [2, 1]),
    ([("tool", "FLAKY")], []),
    ([("user", "bob")], [3]),
    ([("session", "s1")], [1]),
    ([("success", "true")], [5, 4, 2]),
    ([("success", "false")], [3, 1]),
    ([("category", "timeout")], [3]),
    ([("from", "2026-09-21T14:13:20.003Z")], [5, 4, 3]),
    ([("to", "2026-09-21T14:13:20.003Z")], [2, 1]),
    ([("from", "2026-09-21T16:13:20.002+02:00"), ("to", "2026-09-21T14:13:20.004")], [3, 2]),
    ([("q", "FLAK")], [2, 1]),
    ([("q", "100%")], [3]),
    ([("q", "_")], []),
    ([("q", "bo")], [3]),
    ([("param.seed", "abc")], [1]),
    ([("param.seed", "5")], []),
    ([("param.seed", '"5"')], [2]),
    ([("param.n", "1")], [4]),
    ([("param.n", "1.0")], [4]),
    ([("param.n", "true")], [5]),
    ([("param.deep.list.1.name", "x y")], [3]),
    ([("param.deep.list.9.name", "x y")], []),
    ([("param.deep.no", "null")], [3]),
    ([("param.missing", "null")], []),
    ([('param.it\'s "odd" {,}', "yes")], [5]),
    ([("param.n", "1"), ("tool", "flaky")], []),
    ([("success", "true"), ("limit", "1"), ("offset", "1")], [4]),
)


@pytest.mark.parametrize(("pairs", "expected"), FILTERED, ids=lambda value: str(value)[:60])
def test_a_filter_lets_through_what_it_says(
    store: Store, pairs: list[tuple[str, str]], expected: list[int]
) -> None:
    store.append(
        [
            entry(1, tool_name="flaky", success=False, session_id="s1", parameters='{"seed":"abc"}'),
            entry(2, tool_name="flaky", parameters='{"seed":"5"}'),
            entry(
                3,
                success=False,
                user_subject="bob",
                error_message="100% broken",
                error_category="timeout",
                parameters='{"deep":{"list":[1,{"name":"x y"}],"no":null}}',
            ),
            entry(4, parameters='{"n":1}'),
            entry(5, parameters='{"n":true,"it\'s \\"odd\\" {,}":"yes"}'),
        ]
    )
    wanted = parse_filter(pairs, NOON_US)
    page = store.events(wanted)
    assert ids(page.rows) == expected
    if wanted.limit == Filter().limit:
        assert page.total == len(expected)
        assert sorted(ids(tuple(store.all(wanted)))) == sorted(expected)


def test_params_of_a_call_without_any_hold_nothing(store: Store) -> None:
    store.append([entry(1, parameters=None)])
    assert store.events(Filter(params=(Param(("a",), None),))).total == 0


def test_stats_are_told_by_tool_and_for_all(store: Store) -> None:
    store.append([entry(n, duration_ms=float(n), success=n != 4) for n in range(1, 5)])
    store.append([entry(11, tool_name="slow", duration_ms=100.0)])
    stats = store.stats()
    assert (stats.all.calls, stats.all.errors, stats.all.mean_ms) == (5, 1, 22.0)
    assert [(each.tool, each.calls, each.errors) for each in stats.tools] == [("echo", 4, 1), ("slow", 1, 0)]
    assert (stats.tools[0].p50_ms, stats.tools[0].p95_ms, stats.tools[0].p99_ms) == (2.5, 4.0, 4.0)
    assert stats.tools[0].error_rate == 0.25
    assert stats.calls_per_s == 400.0
    assert store.stats(Filter(tool="slow")).all.p99_ms == 100.0


def test_pruning_takes_older_calls_and_what_was_said_in_them(store: Store) -> None:
    store.append([entry(number) for number in range(5)])
    assert store.prune(NOON_US + 3000) == 3
    assert ids(store.events().rows) == [4, 3]
    assert store.get(entry(0).row.id) is None
    # The same id again would meet a payload that had stayed behind.
    store.append([Entry(entry(0).row, Payload(request_params='{"new":1}'))])
    found = store.get(entry(0).row.id)
    assert found is not None
    assert found.payload is not None
    assert found.payload.request_params == '{"new":1}'


def test_one_thread_reads_while_another_writes(store: Store) -> None:
    troubles: list[BaseException] = []

    def write() -> None:
        try:
            for number in range(100):
                store.append([entry(number * 2), entry(number * 2 + 1)])
        except BaseException as error:
            troubles.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    totals: list[int] = []
    while thread.is_alive():
        totals.append(store.events(Filter(limit=1)).total)
    thread.join()
    assert troubles == []
    # Batches of two, never half of one.
    assert all(total % 2 == 0 for total in totals)
    assert totals == sorted(totals)
    assert store.events().total == 200


def test_many_rows_come_back_in_order(store: Store) -> None:
    for first in range(0, 5_000, 1000):
        store.append([entry(number) for number in range(first, first + 1000)])
    assert ids(tuple(store.all())) == list(range(5_000))
    assert store.events().total == 5_000


def test_what_was_written_is_there_when_it_is_opened_again(tmp_path: Path, postgres: Any) -> None:
    for name in (str(tmp_path / "audit.db"), postgres.url):
        with open_store(name) as first:
            first.append([entry(1)])
        with open_store(name, create=False) as second:
            assert ids(second.events().rows) == [1]
