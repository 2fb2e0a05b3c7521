from __future__ import annotations

import math
from itertools import groupby, pairwise

import pytest

from faultkit.base.rng import Rng
from faultkit.faults.events import Data, Eof, Event
from faultkit.faults.fault import Stream
from faultkit.faults.loss_chain import FIVE_STATE, LossChain, LossWalk, gilbert_elliott, independent
from faultkit.faults.stream.packet_loss import PacketLoss
from faultkit.testing import run_filter

SEGMENT = 1448


class CountingRng(Rng):
    """Counts how many numbers are drawn."""

    __slots__ = ("draws",)

    def __init__(self, key: str, word1: int, word2: int) -> None:
        super().__init__(key, word1, word2)
        self.draws = 0

    def uint64(self) -> int:
        self.draws += 1
        return super().uint64()


def lost_segments(chain: LossChain, segments: int, seed: str = "loss") -> list[int]:
    return LossWalk(chain, Rng.keyed(seed)).lost_before(segments)


def first_lost(fault: PacketLoss) -> int:
    return LossWalk(fault.chain(), Rng.keyed(0)).lost_before(10_000)[0]


def test_nothing_is_delayed_or_cut_when_nothing_is_lost() -> None:
    events: list[Event] = [Data(1.0, b"x" * 65_536), Data(1.0, b"y" * 65_536), Eof(2.0)]
    assert run_filter(PacketLoss(rate=0), *events) == events


@pytest.mark.parametrize(
    ("losses", "fast", "cost_ms"),
    [
        (1, False, 200),
        (1, True, 40),
        (2, False, 600),
        (2, True, 440),
        (3, False, 1400),
        (16, False, 924_600),
    ],
)
def test_the_timer_doubles_with_each_loss_and_is_capped(losses: int, fast: bool, cost_ms: float) -> None:
    assert PacketLoss().cost_ms(losses, fast=fast) == cost_ms


def test_a_lost_segment_and_all_behind_it_wait_and_those_before_do_not() -> None:
    fault = PacketLoss(rate=0.02, rtt_ms=30)
    lost = first_lost(fault)
    payload = bytes(1) * SEGMENT * (lost + 4)
    notes: list[tuple[str, float]] = []
    out = run_filter(fault, Data(1.0, payload), Data(1.01, b"next"), Eof(1.02), notes=notes)
    assert out == [
        Data(1.0, bytes(lost * SEGMENT)),
        Data(1.03, bytes(4 * SEGMENT)),
        Data(1.03, b"next"),
        Eof(1.03),
    ]
    assert notes == [("loss_ms", 30.0)]


def test_with_fewer_than_three_segments_behind_it_a_loss_costs_the_timer() -> None:
    fault = PacketLoss(rate=0.02)
    lost = first_lost(fault)
    out = run_filter(fault, Data(1.0, bytes(SEGMENT * (lost + 3))))
    assert out == [Data(1.0, bytes(lost * SEGMENT)), Data(1.2, bytes(3 * SEGMENT))]


def test_small_chunks_are_a_segment_each() -> None:
    fault = PacketLoss(rate=0.02)
    lost = first_lost(fault)
    out = run_filter(fault, *(Data(float(number), b"ping") for number in range(lost + 2)))
    assert [number for number, event in enumerate(out) if event.at > number] == [lost]
    assert out[lost].at == lost + 0.2


def test_what_is_lost_does_not_depend_on_how_the_walk_is_cut() -> None:
    for chain in (independent(0.05), gilbert_elliott(0.02, 0.3, 0.01, 0.8), FIVE_STATE):
        walk = LossWalk(chain, Rng.keyed("loss"))
        stepwise = [segment for limit in range(2001) for segment in walk.lost_before(limit)]
        assert stepwise == lost_segments(chain, 2000)
        assert all(before < after for before, after in pairwise(stepwise))


def test_a_rate_of_1_loses_each_segment_as_often_as_linux_tries() -> None:
    notes: list[tuple[str, float]] = []
    run_filter(PacketLoss(rate=1), Data(0.0, b"x"), notes=notes)
    assert notes == [("loss_ms", 924_600.0)]


@pytest.mark.parametrize("rate", [0.005, 0.05, 0.5])
def test_independent_losses_come_at_the_rate(rate: float) -> None:
    segments = 100_000
    lost = lost_segments(PacketLoss(rate=rate).chain(), segments)
    assert len(lost) / segments == pytest.approx(rate, abs=4 * math.sqrt(rate * (1 - rate) / segments))
    again = sum(after == before + 1 for before, after in pairwise(lost)) / len(lost)
    assert again == pytest.approx(rate, abs=4 * math.sqrt(rate * (1 - rate) / len(lost)))


def runs(lost: list[int]) -> list[int]:
    """Lengths of the runs of losses in a row."""
    return [len(list(run)) for _, run in groupby(enumerate(lost), key=lambda pair: pair[1] - pair[0])]


@pytest.mark.parametrize(("rate", "burst_length"), [(0.05, 4.0), (0.2, 10.0)])
def test_bursts_keep_the_rate_and_have_the_length_asked_for(rate: float, burst_length: float) -> None:
    segments = 400_000
    lost = lost_segments(PacketLoss(rate=rate, burst_length=burst_length).chain(), segments)
    lengths = runs(lost)
    # A run's length is geometric: its spread is about its mean.
    assert sum(lengths) / len(lengths) == pytest.approx(burst_length, rel=4 / math.sqrt(len(lengths)))
    gaps = [after - before - 1 for before, after in pairwise(lost) if after > before + 1]
    mean_gap = burst_length * (1 - rate) / rate
    assert sum(gaps) / len(gaps) == pytest.approx(mean_gap, rel=4 / math.sqrt(len(gaps)))
    # Losses come in bursts, so the count of independent events is that of the bursts.
    assert len(lost) / segments == pytest.approx(rate, rel=6 / math.sqrt(len(lengths)))


def test_gilbert_elliott_has_the_closed_forms_of_netem() -> None:
    p, r, bad_loss, good_loss = 0.02, 0.1, 0.7, 0.01
    chain = gilbert_elliott(p, r, good_loss, bad_loss)
    bad_share = p / (p + r)
    assert chain.start == pytest.approx((1 - bad_share, bad_share))
    assert chain.mean_loss == pytest.approx(bad_share * bad_loss + (1 - bad_share) * good_loss)
    segments = 400_000
    share = len(lost_segments(chain, segments)) / segments
    # Neighbours share their state: the variance of a mean grows by (1 + c) / (1 - c), c = 1 - p - r.
    spread = math.sqrt(0.25 / segments * (2 - p - r) / (p + r))
    assert share == pytest.approx(chain.mean_loss, abs=4 * spread)


def test_the_first_segment_of_a_channel_is_lost_as_often_as_any_other() -> None:
    chain = PacketLoss(rate=0.2, burst_length=20).chain()
    connections = 5000
    lost = sum(bool(lost_segments(chain, 1, seed=f"connection {number}")) for number in range(connections))
    assert lost / connections == pytest.approx(0.2, abs=4 * math.sqrt(0.16 / connections))


def test_the_five_states_are_in_balance_at_a_loss_of_20_percent() -> None:
    balance = [6 / 28, 12 / 28, 6 / 28, 3 / 28, 1 / 28]
    after = [sum(balance[a] * FIVE_STATE.moves[a][b] for a in range(5)) for b in range(5)]
    assert after == pytest.approx(balance)
    assert sum(map(math.prod, zip(balance, FIVE_STATE.loss, strict=True))) == pytest.approx(
        FIVE_STATE.mean_loss
    )
    segments = 400_000
    share = len(lost_segments(FIVE_STATE, segments)) / segments
    # The chain moves slowly, which makes the standard error about 0.003 here.
    assert share == pytest.approx(0.2036, abs=0.01)


@pytest.mark.parametrize(("segments", "chance"), [(1, 0.105), (3, 0.288), (10, 0.649)])
def test_short_connections_on_five_states_lose_as_often_as_with_the_original(
    segments: int, chance: float
) -> None:
    connections = 4000
    hit = sum(bool(lost_segments(FIVE_STATE, segments, seed=f"{number}")) for number in range(connections))
    assert hit / connections == pytest.approx(chance, abs=4 * math.sqrt(chance * (1 - chance) / connections))


def test_a_gigabyte_costs_a_draw_a_loss_and_not_a_draw_a_segment() -> None:
    rng = CountingRng("gigabyte", 1, 2)
    notes: list[float] = []
    fault = PacketLoss(rate=0.001, bulk="unlimited")
    filter = fault.open(Stream(at=0.0, rng=rng, note=lambda _, value: notes.append(value), shared={}))
    chunk = bytes(SEGMENT * 690)
    pieces = sum(len(list(filter.feed(Data(float(number), chunk)))) for number in range(1000))
    assert 550 < len(notes) < 850
    assert rng.draws == len(notes) + 1
    assert pieces <= 1000 + len(notes)


def test_a_channel_that_hardly_ever_loses_is_not_walked_ahead() -> None:
    chain = gilbert_elliott(0.5, 0.5, 0.0, 1e-15)
    rng = CountingRng("walk", 1, 2)
    assert LossWalk(chain, rng).lost_before(10) == []
    assert rng.draws < 40


def test_bursts_that_leave_no_room_between_them_are_refused() -> None:
    with pytest.raises(ValueError) as caught:
        PacketLoss(rate=0.8, burst_length=3)
    assert str(caught.value) == "rate: expected at most 0.75 with burst_length 3, got 0.8"


# --- bulk: no faster than TCP would be --------------------------------------------------------


def sent_in_s(fault: PacketLoss, total: int) -> float:
    """Send `total` bytes as fast as the filter takes them; return when the last one arrives."""
    filter = fault.open(Stream(at=0.0, rng=Rng.keyed("bulk"), note=lambda effect, value: None, shared={}))
    now, last_at, received = 0.0, 0.0, 0
    while total:
        now = max(now, filter.ready_at)
        size = min(total, filter.read_size)
        total -= size
        for event in filter.feed(Data(now, bytes(size))):
            assert isinstance(event, Data)
            assert event.at >= last_at
            last_at = event.at
            received += len(event.payload)
    return last_at


@pytest.mark.parametrize(
    ("rate", "rtt_ms", "rate_bps"), [(0.01, 40, 443_358), (0.05, 40, 198_276), (0.01, 100, 177_343)]
)
def test_bulk_passes_at_the_rate_of_the_formula_of_mathis(rate: float, rtt_ms: float, rate_bps: int) -> None:
    fault = PacketLoss(rate=rate, rtt_ms=rtt_ms)
    line = fault.line()
    assert line is not None
    assert round(line.rate_bps) == rate_bps == round(SEGMENT * math.sqrt(1.5 / rate) / (rtt_ms / 1000))
    total = 10_000_000
    least_s = (total - line.burst_bytes) / rate_bps
    assert least_s <= sent_in_s(fault, total) <= 2 * least_s, "timeouts come on top"


def test_the_initial_window_passes_at_once_after_an_idle_time() -> None:
    fault = PacketLoss(rate=0.001, rtt_ms=1000, rto_ms=0)
    size = first_lost(fault) * SEGMENT
    assert size > 20 * SEGMENT
    window = b"x" * (10 * SEGMENT)
    assert run_filter(fault, Data(1.0, window), Data(9.0, window)) == [Data(1.0, window), Data(9.0, window)]


@pytest.mark.parametrize(
    "fault", [PacketLoss(rate=0), PacketLoss(bulk="unlimited"), PacketLoss(rtt_ms=0)], ids=repr
)
def test_bulk_is_not_limited_without_loss_without_a_round_trip_or_if_told_so(fault: PacketLoss) -> None:
    assert fault.line() is None
