"""Several workers: their numbers and sums, and rules that they cannot share."""

from __future__ import annotations

import pickle
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.address import Endpoint, parse_endpoint
from faultkit.base.errors import InputError
from faultkit.base.rng import Rng
from faultkit.faults import NETWORK_FAULTS
from faultkit.faults.events import Data
from faultkit.faults.fault import Fault, Stream, StreamFault
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.bandwidth import Bandwidth
from faultkit.faults.stream.latency import Latency
from faultkit.plan import Match, Plan, Rule, Trigger, parse_schedule
from faultkit.proxy.data_plane import Lateness, ProxyCounts, ProxySpec, Snapshot, Worker, merge_measured
from faultkit.proxy.plane_events import Injected, Opened
from faultkit.proxy.remote import MOST_WORKERS, Planes
from tests.proxy.origin import serving
from tests.proxy.wires import LOOPBACK, connect, plan_of, read_exactly

DRAWN = Latency(mean_ms=2, stddev_ms=1)
MANY = 24
SPANNING = (
    (Rule("r", DRAWN, trigger=Trigger(first=3)), "trigger.first", "since each counts for itself, got 3"),
    (Rule("r", DRAWN, trigger=Trigger(after=2)), "trigger.after", "since each counts for itself, got 2"),
    (Rule("r", DRAWN, trigger=Trigger(every=2)), "trigger.every", "since each counts for itself, got 2"),
    (Rule("r", Bandwidth(scope="proxy")), "with", "with more than one worker, got scope proxy"),
)
"""Rules whose memory spans connections, and the error for each."""


def lateness_of(seconds: list[float]) -> Lateness:
    lateness = Lateness()
    for one in seconds:
        lateness.record(one)
    return lateness


late = st.lists(st.floats(min_value=-0.001, max_value=1000))


@given(late, late)
def test_lateness_adds_up_to_what_one_process_would_have_seen(ours: list[float], its: list[float]) -> None:
    total = lateness_of(ours)
    total.add(pickle.loads(pickle.dumps(lateness_of(its))))
    assert total.summary() == lateness_of(ours + its).summary()


def test_a_copy_of_lateness_goes_its_own_way() -> None:
    lateness = lateness_of([0.001])
    copy = lateness.copy()
    lateness.record(0.002)
    assert (copy.summary().count, lateness.summary().count) == (1, 2)


@given(
    st.lists(st.floats(0, 1), max_size=30), st.lists(st.floats(0, 1), max_size=30), st.lists(st.floats(0, 1))
)
def test_lateness_since_a_copy_is_that_of_the_releases_after_it(
    before: list[float], after: list[float], more: list[float]
) -> None:
    copy = lateness_of(before)
    # Over the wire and back, as from another machine.
    summary = lateness_of(before + after).summary()
    now = Lateness.of_counts(lateness_of(before + after).counts(), summary.max_us, summary.early)
    assert now.summary() == summary
    since, alone = now.since(copy), lateness_of(after)
    assert since.counts() == alone.counts()
    assert since.summary().max_us >= alone.summary().max_us
    assert [since.share_above(limit) for limit in more] == [alone.share_above(limit) for limit in more]
    if after and max(after) > max(before, default=0.0):
        assert since.summary() == alone.summary()


def test_snapshots_add_up_by_the_names_of_proxies_and_rules() -> None:
    here, there = Endpoint(LOOPBACK, 1), Endpoint(LOOPBACK, 2)
    one, two = lateness_of([0.001] * 99), lateness_of([1.0] * 99)
    first = Snapshot(
        (
            ProxyCounts("db", here, there, 1, 2, 3, 4, 5, 6, 7, 8),
            ProxyCounts("web", there, None, 1, 1, 1, 1, 1, 1, 1, 1),
        ),
        ("slow",),
        {"slow": 1, "idle": 0},
        one.summary(),
        100,
        1,
    )
    second = Snapshot(
        (
            ProxyCounts("db", here, there, 10, 20, 30, 40, 50, 60, 70, 80),
            ProxyCounts("web", there, None, 1, 1, 1, 1, 1, 1, 1, 1),
        ),
        ("slow",),
        {"slow": 2, "idle": 0},
        two.summary(),
        200,
        2,
    )
    merged, lateness = merge_measured([(first, one), (second, two)])
    assert lateness.counts() == lateness_of([0.001] * 99 + [1.0] * 99).counts()
    assert merged == Snapshot(
        (
            ProxyCounts("db", here, there, 11, 22, 33, 44, 55, 66, 77, 88),
            ProxyCounts("web", there, None, 2, 2, 2, 2, 2, 2, 2, 2),
        ),
        ("slow",),
        {"slow": 3, "idle": 0},
        lateness_of([0.001] * 99 + [1.0] * 99).summary(),
        300,
        3,
    )


@given(st.integers(1, 8), st.integers(1, 50))
def test_workers_number_what_is_theirs_and_leave_no_gap(count: int, each: int) -> None:
    numbers = [Worker(index, count).number(n) for index in range(count) for n in range(each)]
    assert sorted(numbers) == list(range(count * each))


def test_what_a_connection_meets_follows_from_its_number_whoever_serves_it(echo: Endpoint) -> None:
    with ExitStack() as stack:
        planes = Planes(plan_of(DRAWN), workers=2, observed=True)
        with planes:
            proxy = planes.open_proxy(ProxySpec("db", Endpoint(LOOPBACK, 0), echo))
            for _ in range(MANY):
                client = stack.enter_context(connect(proxy))
                client.sendall(b"x")
                read_exactly(client, 1)
            shares = [plane.snapshot().proxies[0].accepted for plane in planes._planes]
        told = planes.take_events()
    assert [event.at for event in told] == sorted(event.at for event in told)
    expected = {*range(0, 2 * shares[0], 2), *range(1, 2 * shares[1], 2)}
    assert {event.connection for event in told if isinstance(event, Opened)} == expected
    delays = {
        number: DRAWN.draw_ms(Rng.keyed(7, "0-latency", "db", number, "to_client")) for number in expected
    }
    injected = {h.connection: h.value for h in told if isinstance(h, Injected)}
    assert injected == pytest.approx(delays)


def test_requests_have_numbers_of_their_own_too() -> None:
    with serving() as origin, ExitStack() as stack:
        planes = Planes(plan_of(HttpError(status=418), match=Match()), workers=2, observed=True)
        with planes:
            spec = ProxySpec("web", Endpoint(LOOPBACK, 0), origin.endpoint, speaks="http")
            proxy = planes.open_proxy(spec)
            for _ in range(MANY):
                client = stack.enter_context(connect(proxy))
                client.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                assert client.recv(4096).startswith(b"HTTP/1.1 418")
            assert planes.snapshot().proxies[0].requests == MANY
        numbers = [h.n for h in planes.take_events() if isinstance(h, Injected)]
    assert len(set(numbers)) == MANY


@pytest.mark.parametrize(("rule", "path", "problem"), SPANNING, ids=lambda value: str(value)[:20])
def test_rules_whose_memory_spans_connections_are_refused(rule: Rule, path: str, problem: str) -> None:
    plain = Rule("plain", DRAWN)
    with pytest.raises(InputError) as caught:
        Planes(Plan((plain, rule)), workers=2)
    assert caught.value.path == f"rules[1].{path}"
    assert caught.value.problem.endswith(problem)


def test_such_rules_are_refused_while_it_runs_and_nothing_changes() -> None:
    before = plan_of(DRAWN)
    with Planes(before, workers=2) as planes:
        for rule, path, _ in SPANNING:
            with pytest.raises(InputError, match=rf"^rules\[0\]\.{path}: "):
                planes.set_plan(Plan((rule,)))
            with pytest.raises(InputError, match=f"^{path}: "):
                planes.check_rule(rule)
        assert planes.plan == before
        assert [plane.snapshot().acting for plane in planes._planes] == [("0-latency",)] * 2


def test_one_worker_alone_may_have_any_rule() -> None:
    rules = tuple(
        Rule(str(number), rule.fault, rule.match, rule.trigger) for number, (rule, *_) in enumerate(SPANNING)
    )
    with Planes(Plan(rules), workers=1) as planes:
        assert planes.snapshot().acting == ("0", "1", "2", "3")


@pytest.mark.parametrize("workers", [0, -1, MOST_WORKERS + 1])
def test_workers_have_bounds(workers: int) -> None:
    with pytest.raises(InputError, match=f"^workers: expected 1 to 64, got {workers}$"):
        Planes(workers=workers)


class Watched(dict[str, Any]):
    touched = False

    def get(self, *args: Any) -> Any:
        self.touched = True
        return super().get(*args)

    def __getitem__(self, key: str) -> Any:
        self.touched = True
        return super().__getitem__(key)

    def __setitem__(self, key: str, value: Any) -> None:
        self.touched = True
        super().__setitem__(key, value)

    def setdefault(self, *args: Any) -> Any:
        self.touched = True
        return super().setdefault(*args)


STREAM_FAULTS = (
    *(kind() for kind in NETWORK_FAULTS.values() if issubclass(kind, StreamFault)),
    Bandwidth(scope="proxy"),
)


@pytest.mark.parametrize("fault", STREAM_FAULTS, ids=lambda fault: fault.kind)
def test_a_fault_says_whether_its_connections_share_memory(fault: StreamFault) -> None:
    shared = Watched()
    stream = Stream(0.0, Rng.keyed("watched"), lambda effect, value: None, shared)
    list(fault.open(stream).feed(Data(0.0, b"payload")))
    assert shared.touched == fault.shares_memory


@pytest.mark.parametrize("kind", NETWORK_FAULTS.values(), ids=NETWORK_FAULTS)
def test_every_fault_can_travel_to_another_process(kind: type[Fault]) -> None:
    schedule = parse_schedule("start:1s,duration:2s,every:5s;start:80%")
    plan = Plan((Rule("r", kind(), Match(proxy="a*"), Trigger(probability=0.5), schedule),), "blue")
    assert pickle.loads(pickle.dumps(plan)) == plan


def test_specs_can_travel_to_another_process() -> None:
    spec = ProxySpec("db", parse_endpoint("[::1]:80"), None, True, "http", True)
    assert pickle.loads(pickle.dumps(spec)) == spec
