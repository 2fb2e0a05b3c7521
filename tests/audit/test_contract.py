"""The contract of stores, tested on memory, a SQLite file, and a real PostgreSQL server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from faultkit.audit.call_statistics import breakdown_of, series_of, stats_of, values_of
from faultkit.audit.filter import Filter, Param, parse_filter
from faultkit.audit.row import AuditEntry, AuditRow, Payload
from faultkit.audit.store import Store, StoreRefused
from faultkit.audit.store_factory import open_store
from faultkit.base.sample_statistics import percentiles
from tests.audit.rows import NOON_US, entry
from tests.postgres import Postgres

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
    assert store.get("absent") is None
    assert store.last_seq() == 0
    assert stats_of(store).all.calls == 0
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
    store.append([AuditEntry(row, said), AuditEntry(entry(1).row, None)])
    found = store.get("0199")
    assert found is not None
    assert found.payload == said
    assert found.row.seq == 1
    assert {name: getattr(found.row, name) for name in AuditRow._fields if name != "seq"} == {
        name: getattr(row, name) for name in AuditRow._fields if name != "seq"
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


def test_a_follower_gets_each_row_once_and_in_order(store: Store) -> None:
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
    ([("response.isError", "true")], [4]),
    ([("response.isError", "1")], []),
    ([("response.content.0.text", "a\u2028b")], [4]),
    ([("response.data.rate", "1")], [5]),
    ([("response.code", "-31002"), ("header.X-Team", "blue")], [5]),
    ([("header.user-agent", "curl/8")], [4]),
    ([("header.User-Agent", "5")], [5]),
    ([("header.user-agent", "CURL/8")], []),
    ([("has", "response_result")], [4]),
    ([("has", "response_error")], [5]),
    ([("has", "notifications"), ("has", "replayed_from")], [5]),
    ([("has", "request_params")], [3, 2, 1]),
    ([("source", "portal-replay")], [5]),
    ([("auth_type", "apikey"), ("key", "ci")], [4]),
    ([("success", "true"), ("limit", "1"), ("offset", "1")], [4]),
)


@pytest.mark.parametrize(("pairs", "expected"), FILTERED, ids=lambda value: str(value)[:60])
def test_a_filter_selects_the_rows_that_it_describes(
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
            AuditEntry(
                entry(4, parameters='{"n":1}', auth_type="apikey", api_key_name="ci").row,
                Payload(
                    response_result='{"isError":true,"content":[{"text":"a\u2028b"}]}',
                    request_headers='{"user-agent":"curl/8"}',
                ),
            ),
            AuditEntry(
                entry(5, parameters='{"n":true,"it\'s \\"odd\\" {,}":"yes"}', source="portal-replay").row,
                Payload(
                    response_error='{"code":-31002,"data":{"rate":1.0}}',
                    request_headers='{"user-agent":"5","x-team":"blue"}',
                    notifications='[{"method":"n"}]',
                    replayed_from="0198",
                ),
            ),
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


def test_statistics_are_by_tool_and_for_all_calls(store: Store) -> None:
    store.append([entry(n, duration_ms=float(n), success=n != 4) for n in range(1, 5)])
    store.append([entry(11, tool_name="slow", duration_ms=100.0)])
    stats = stats_of(store)
    assert (stats.all.calls, stats.all.errors, stats.all.mean_ms) == (5, 1, 22.0)
    assert [(each.key, each.calls, each.errors) for each in stats.tools] == [("echo", 4, 1), ("slow", 1, 0)]
    assert (stats.tools[0].p50_ms, stats.tools[0].p95_ms, stats.tools[0].p99_ms) == (2.5, 4.0, 4.0)
    assert stats.tools[0].error_rate == 0.25
    assert stats.calls_per_s == 400.0
    assert stats_of(store, Filter(tool="slow")).all.p99_ms == 100.0


def test_refusals_are_not_calls_and_are_counted_separately(store: Store) -> None:
    store.append([entry(1, duration_ms=8.0), entry(2, duration_ms=8.0)])
    store.append(
        [
            entry(
                n, tool_name="", success=False, duration_ms=0.0, source="door", parameters=f'{{"times":{n}}}'
            )
            for n in (10, 20)
        ]
    )
    stats = stats_of(store)
    assert (stats.all.calls, stats.all.errors, stats.all.p50_ms, stats.refusals) == (2, 0, 8.0, 30)
    assert [each.key for each in stats.tools] == ["echo"]
    assert stats_of(store, Filter(tool="echo")).refusals == 0
    assert sum(each.calls for each in series_of(store, 1000).values()) == 2
    assert breakdown_of(store, "success").total == 2
    assert store.events().total == 4


def test_a_text_is_found_in_whatever_case(store: Store) -> None:
    store.append([entry(1, error_message="un ÉTÉ 100% à ΣΊΣΥΦΟΣ"), entry(2, user_subject="été")])
    assert ids(store.events(Filter(q="été")).rows) == [2, 1]
    assert ids(store.events(Filter(q="É")).rows) == [2, 1]
    assert ids(store.events(Filter(q="0% À")).rows) == [1]


def test_a_breakdown_groups_calls_by_a_column(store: Store) -> None:
    store.append([entry(n, duration_ms=float(n), success=n != 4) for n in range(1, 5)])
    store.append([entry(11, tool_name="slow", duration_ms=100.0, user_subject="bob")])
    found = breakdown_of(store, "tool")
    assert [(each.key, each.calls, each.errors, each.mean_ms) for each in found.items] == [
        ("echo", 4, 1, 2.5),
        ("slow", 1, 0, 100.0),
    ]
    assert found.total == 5
    few = breakdown_of(store, "success", Filter(tool="echo"), limit=1)
    assert ([(each.key, each.calls) for each in few.items], few.total) == ([(True, 3)], 4)
    assert (stats_of(store).users, stats_of(store, Filter(tool="echo")).users) == (1, 0)
    assert values_of(store, "user", 10) == ("bob",)
    assert values_of(store, "tool", 1) == ("echo",)


def test_figures_over_time_are_of_buckets_that_begin_at_whole_multiples(store: Store) -> None:
    store.append([entry(n, at_us=at_us) for n, at_us in enumerate((0, 9, 10, 25, -1))])
    found = series_of(store, 10)
    assert {begin_us: each.calls for begin_us, each in found.items()} == {0: 2, 10: 1, 20: 1, -10: 1}
    assert list(series_of(store, 10, Filter(from_us=5, to_us=25))) == [0, 10]
    assert breakdown_of(store, "tool", Filter(to_us=-5)).items == ()


@pytest.mark.parametrize("count", [1, 2, 3, 19, 20, 99, 100, 101])
def test_percentiles_are_those_of_load_tests(store: Store, count: int) -> None:
    # Out of order, and some of them twice.
    times_ms = [float(n * 37 % count + n % 2) for n in range(count)]
    store.append([entry(n, duration_ms=time_ms) for n, time_ms in enumerate(times_ms)])
    whole = stats_of(store).all
    expected = percentiles(sorted(times_ms), (50, 95, 99))
    assert [whole.p50_ms, whole.p95_ms, whole.p99_ms] == pytest.approx(expected, rel=1e-12)


def test_pages_by_cursor_go_on_where_the_last_one_ended(store: Store) -> None:
    store.append([entry(n, at_us=NOON_US + n // 3) for n in range(8)])
    first = store.events(Filter(limit=4))
    last = first.rows[-1]
    store.append([entry(9)])
    second = store.events(Filter(limit=9, before=(last.at_us, last.seq)))
    assert (ids(first.rows), ids(second.rows)) == ([7, 6, 5, 4], [3, 2, 1, 0])
    assert second.total == 9


def test_rows_between_two_places_are_counted(store: Store) -> None:
    store.append([entry(n, success=n % 2 == 0) for n in range(10)])
    assert store.count(2, 7) == 5
    assert store.count(0, 100, Filter(success=True)) == 5


def test_rows_of_several_writers_become_visible_in_order(store: Store) -> None:
    """Readers of the live stream rely on these positions, and must not miss a row."""
    if store.name == "memory:":
        pytest.skip("a store in memory has one connection: no other writer is possible")

    def write(first: int) -> None:
        for number in range(first, first + 40):
            store.append([entry(number)])

    threads = [threading.Thread(target=write, args=(first,)) for first in (100, 200, 300)]
    for thread in threads:
        thread.start()
    seen: list[int] = []
    while any(thread.is_alive() for thread in threads) or not seen or store.last_seq() > seen[-1]:
        seen += [row.seq for row in store.after(seen[-1] if seen else 0)]
    assert len(seen) == 120


def test_pruning_removes_older_calls_with_their_payloads(store: Store) -> None:
    store.append([entry(number) for number in range(5)])
    assert store.prune(NOON_US + 3000) == 3
    assert ids(store.events().rows) == [4, 3]
    assert store.get(entry(0).row.id) is None
    # Inserting the same id again would fail if its payload had not been removed.
    store.append([AuditEntry(entry(0).row, Payload(request_params='{"new":1}'))])
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
    # Batches of two: a reader never sees half of one.
    assert all(total % 2 == 0 for total in totals)
    assert totals == sorted(totals)
    assert store.events().total == 200


def test_many_rows_come_back_in_order(store: Store) -> None:
    for first in range(0, 5_000, 1000):
        store.append([entry(number) for number in range(first, first + 1000)])
    assert ids(tuple(store.all())) == list(range(5_000))
    assert store.events().total == 5_000


def test_what_was_written_is_there_when_it_is_opened_again(tmp_path: Path, postgres: Postgres) -> None:
    for name in (str(tmp_path / "audit.db"), postgres.url):
        with open_store(name) as first:
            first.append([entry(1)])
        with open_store(name, create=False) as second:
            assert ids(second.events().rows) == [1]
