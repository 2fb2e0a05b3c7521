"""The filter chain: exact values, and properties over random chains and live changes."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from faultkit.faults.events import Close, Data, Eof, Event, Reset
from faultkit.faults.fault import FOREVER, StreamFault, StreamFilter
from faultkit.faults.stream.bandwidth import Bandwidth
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.jitter import Jitter
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.packet_loss import PacketLoss
from faultkit.faults.stream.reset import Reset as ResetFault
from faultkit.faults.stream.slicer import Slicer
from faultkit.faults.stream.slow_close import SlowClose
from faultkit.proxy.filter_chain import FilterChain
from faultkit.testing import open_filter, payload_of

HALF_SECOND = Latency(mean_ms=500, per="operation")


def lane_of(*faults: StreamFault, at: float = 0.0) -> FilterChain[StreamFault]:
    lane: FilterChain[StreamFault] = FilterChain()
    restage(lane, faults, at)
    return lane


def restage(lane: FilterChain[StreamFault], faults: Sequence[StreamFault], at: float) -> list[Event]:
    def open_at(fault: StreamFault) -> StreamFilter:
        return open_filter(fault, at=at)

    return lane.rebind(faults, open_at, at)


def test_a_lane_without_faults_gives_what_it_is_fed() -> None:
    lane = lane_of()
    lane.feed(Data(1.0, b"x"))
    assert lane.advance(1.0) == [Data(1.0, b"x")]
    assert lane.idle


def test_an_event_of_the_future_waits_even_where_nothing_acts() -> None:
    lane = lane_of()
    lane.feed(Data(3.0, b"x"))
    assert lane.advance(2.9) == []
    assert not lane.idle
    assert lane.next_at() == 3.0
    assert lane.advance(3.0) == [Data(3.0, b"x")]


def test_delays_of_two_rules_add_up() -> None:
    lane = lane_of(HALF_SECOND, Latency(mean_ms=250, per="operation"))
    lane.feed(Data(1.0, b"x"))
    assert lane.advance(1.74) == []
    assert lane.next_at() == 1.75
    assert lane.advance(1.75) == [Data(1.75, b"x")]


def test_a_late_advance_gives_the_due_time_and_not_the_present() -> None:
    lane = lane_of(HALF_SECOND, Latency(mean_ms=250, per="operation"))
    lane.feed(Data(1.0, b"x"))
    assert lane.advance(9.0) == [Data(1.75, b"x")]


def test_a_removed_rule_lets_go_at_once_and_in_order() -> None:
    lane = lane_of(HALF_SECOND)
    lane.feed(Data(1.0, b"a"))
    lane.feed(Data(1.1, b"b"))
    assert lane.advance(1.2) == []
    assert restage(lane, (), 1.2) == []
    assert lane.advance(1.2) == [Data(1.2, b"a"), Data(1.2, b"b")]
    assert lane.held_bytes == 0


def test_what_another_rule_holds_back_stays_when_a_rule_is_removed() -> None:
    slow = Latency(mean_ms=2000, per="operation")
    lane = lane_of(HALF_SECOND, slow)
    lane.feed(Data(0.0, b"past the first"))
    lane.feed(Data(1.0, b"in the first"))
    assert lane.advance(1.0) == []
    restage(lane, (slow,), 1.0)
    assert lane.advance(2.4) == []
    assert lane.advance(2.5) == [Data(2.5, b"past the first")]
    assert lane.advance(3.0) == [Data(3.0, b"in the first")]


def test_a_rule_that_stays_keeps_its_state() -> None:
    once = Latency(mean_ms=500, per="connection")
    lane = lane_of(once)
    lane.feed(Data(0.0, b"a"))
    assert lane.advance(0.5) == [Data(0.5, b"a")]
    restage(lane, (once, SlowClose()), 1.0)
    lane.feed(Data(1.0, b"b"))
    assert lane.advance(1.0) == [Data(1.0, b"b")]


def test_a_stall_pushes_back_and_gives_everything_when_removed() -> None:
    lane = lane_of(Blackhole())
    lane.feed(Data(0.0, b"kept"))
    assert lane.advance(0.0) == []
    assert lane.ready_at() == FOREVER
    lane.feed(Eof(0.0))
    assert lane.advance(99.0) == []
    restage(lane, (), 100.0)
    assert lane.advance(100.0) == [Data(100.0, b"kept"), Eof(100.0)]


def test_a_wake_comes_in_its_place_among_the_events() -> None:
    lane = lane_of(ResetFault(after_ms=1000))
    lane.feed(Data(0.5, b"before"))
    assert lane.advance(5.0) == [Data(0.5, b"before"), Reset(1.0)]


def test_bytes_held_are_counted() -> None:
    lane = lane_of(HALF_SECOND)
    lane.feed(Data(0.0, b"12345"))
    lane.advance(0.0)
    assert lane.held_bytes == 5
    lane.advance(1.0)
    assert lane.held_bytes == 0


HARMLESS: tuple[StreamFault, ...] = (
    HALF_SECOND,
    Latency(distribution="uniform", max_ms=300, per="operation"),
    Latency(distribution="pareto-normal", mean_ms=20, stddev_ms=10, shape=2, scale_ms=5),
    Jitter(amplitude_ms=200, frequency_hz=7),
    Bandwidth(rate=2000),
    Bandwidth(rate=50, unit="KBps", burst_bytes=3000),
    PacketLoss(rate=0.3, segment_bytes=100),
    PacketLoss(model="five-state"),
    Slicer(average_bytes=7, variation_bytes=3, delay_us=500),
    SlowClose(delay_ms=300),
    Blackhole(),
)

steps = st.lists(
    st.one_of(
        st.binary(max_size=300),
        st.floats(0, 1.5),
        st.lists(st.sampled_from(HARMLESS), unique_by=id, max_size=4),
    ),
    max_size=40,
)


@given(steps)
def test_no_chain_and_no_live_change_loses_reorders_or_hastens_a_byte(steps: list[object]) -> None:
    """Bytes are fed, time passes, rules change: the stream comes out complete, in order, never early."""
    lane: FilterChain[StreamFault] = FilterChain()
    now, sent = 0.0, b""
    out: list[Event] = []
    for step in steps:
        match step:
            case bytes():
                lane.feed(Data(now, step))
                sent += step
            case float():
                now += step
            case list():
                out += restage(lane, step, now)
        out += lane.advance(now)
        assert all(event.at <= now for event in out)
    lane.feed(Eof(now))
    out += lane.advance(now)
    out += restage(lane, (), now)
    out += lane.advance(now)
    assert payload_of(out) == sent
    assert isinstance(out[-1], Eof)
    assert sum(isinstance(event, Eof | Close | Reset) for event in out) == 1
    assert all(before.at <= after.at for before, after in pairwise(out))
    assert lane.held_bytes == 0
    assert lane.idle


@given(
    st.lists(st.sampled_from(HARMLESS[:-1]), unique_by=id, min_size=1, max_size=4),
    st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=300)), max_size=10),
)
def test_without_changes_each_byte_comes_out_no_sooner_than_it_went_in(
    faults: list[StreamFault], sends: list[tuple[float, bytes]]
) -> None:
    lane = lane_of(*faults)
    now = 0.0
    arrived: list[float] = []
    for pause, payload in sends:
        now += pause
        lane.feed(Data(now, payload))
        arrived += [now] * len(payload)
    released = [event.at for event in lane.advance(1e9) if isinstance(event, Data) for _ in event.payload]
    assert len(released) == len(arrived)
    assert all(out >= came for out, came in zip(released, arrived, strict=True))
