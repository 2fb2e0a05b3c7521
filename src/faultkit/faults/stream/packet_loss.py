"""Packet loss as TCP shows it: a lost segment costs the time of its retransmission, never bytes.

Each chunk is cut into virtual segments, numbered along the stream. A lost one, and all behind it, waits
for a fast retransmit (one round trip, if at least three segments follow it) or for the retransmission
timer, which doubles with each further loss. A retransmission comes late enough to meet the channel at
its long-run loss.

A sender also slows down: TCP halves its window at each loss, so that on average at most sqrt(3/2)/sqrt(loss)
segments are under way in a round trip (Mathis, Semke, Mahdavi and Ott, "The Macroscopic Behavior of the TCP
Congestion Avoidance Algorithm", 1997). Bytes pass at that rate; one window, or the initial one of ten
segments (RFC 6928) where that is larger, passes at once after an idle time, so that small messages are not
slowed down.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from faultkit.faults.events import Data, Event, moved
from faultkit.faults.fault import Stream, StreamFault, StreamFilter, setting
from faultkit.faults.loss_chain import FIVE_STATE, LossChain, LossWalk, gilbert_elliott, independent
from faultkit.faults.stream.bandwidth import Bandwidth

_MAX_RTO_MS = 120_000.0
_MAX_LOSSES = 16
"""Most losses of one segment: the first sending and 15 retries, as on Linux (924.6 s). The next try
passes."""
_INITIAL_WINDOW = 10
"""Segments that TCP sends at first (RFC 6928)."""
_LEAST_BPS, _MOST_BPS = 1.0, 1e12
"""Rates outside of this are not worth a limit."""
_FOLLOWERS = 3
"""Later segments whose duplicate acknowledgements start a fast retransmit (RFC 5681 §3.2)."""


@dataclass(frozen=True)
class PacketLoss(StreamFault):
    kind: ClassVar[str] = "packet_loss"
    summary: ClassVar[str] = "Segments are lost, which costs the time of their retransmission."

    model: Literal["random", "gilbert-elliott", "five-state"] = setting(
        "random",
        "How losses come: by `rate` and `burst_length`, by a two-state channel, or by a fixed chain of "
        "five states that loses 20.4 %.",
        choices=("random", "gilbert-elliott", "five-state"),
    )
    rate: float = setting(
        0.05,
        "Share of segments lost (random). With 0 the fault does nothing, with 1 hardly a byte passes.",
        minimum=0,
        maximum=1,
    )
    burst_length: float = setting(
        1.0, "Mean number of losses in a row (random); 1 makes losses independent.", minimum=1, maximum=1e6
    )
    good_to_bad: float = setting(
        0.01, "Chance to turn bad, a segment (gilbert-elliott).", minimum=0, maximum=1
    )
    bad_to_good: float = setting(
        0.25, "Chance to turn good, a segment (gilbert-elliott).", minimum=0, maximum=1
    )
    good_loss: float = setting(0.0, "Loss while good (gilbert-elliott).", minimum=0, maximum=1)
    bad_loss: float = setting(1.0, "Loss while bad (gilbert-elliott).", minimum=0, maximum=1)
    segment_bytes: int = setting(1448, "Size of a virtual segment.", unit="bytes", minimum=1)
    rto_ms: float = setting(
        200.0, "First retransmission timer; it doubles.", unit="ms", minimum=0, maximum=_MAX_RTO_MS
    )
    rtt_ms: float = setting(
        40.0,
        "Cost of a fast retransmit, and round trip of `bulk`, which is not limited with 0.",
        unit="ms",
        minimum=0,
    )
    bulk: Literal["tcp", "unlimited"] = setting(
        "tcp",
        "Limit bulk transfers to what TCP reaches at this loss, or let them pass as they come.",
        choices=("tcp", "unlimited"),
    )

    def check(self) -> None:
        most = self.burst_length / (self.burst_length + 1)
        if self.model == "random" and self.burst_length > 1 and self.rate > most:
            # Two bursts are at least one segment apart.
            raise ValueError(
                f"rate: expected at most {most:g} with burst_length {self.burst_length:g}, got {self.rate:g}"
            )

    def caveat(self) -> str | None:
        loss = self.chain().mean_loss
        if not loss:
            return "the loss is 0, so that the fault does nothing"
        if loss == 1:
            held_s = self.cost_ms(_MAX_LOSSES, fast=False) / 1000
            return (
                f"every segment is lost, so that each is held for {held_s:.1f} s; blackhole lets nothing pass"
            )
        if not self.rtt_ms:
            return "with rtt_ms 0, fast retransmits take no time, and bulk transfers have no limit"
        return None

    def chain(self) -> LossChain:
        if self.model == "five-state":
            return FIVE_STATE
        if self.model == "gilbert-elliott":
            return gilbert_elliott(self.good_to_bad, self.bad_to_good, self.good_loss, self.bad_loss)
        if self.burst_length == 1:
            return independent(self.rate)
        bad_to_good = 1 / self.burst_length
        good_to_bad = min(1.0, bad_to_good * self.rate / (1 - self.rate))
        return gilbert_elliott(good_to_bad, bad_to_good, good_loss=0.0, bad_loss=1.0)

    def cost_ms(self, losses: int, *, fast: bool) -> float:
        """Return the delay caused by `losses` losses of the same segment."""
        timers = [min(self.rto_ms * 2.0**doublings, _MAX_RTO_MS) for doublings in range(losses)]
        return sum(timers[1:], self.rtt_ms if fast else timers[0])

    @property
    def window_segments(self) -> float:
        """The mean congestion window at this loss; infinite without loss."""
        loss = self.chain().mean_loss
        return math.sqrt(1.5 / loss) if loss else math.inf

    def line(self) -> Bandwidth | None:
        """Return the line that bulk transfers are limited to; None if they are not."""
        window = self.window_segments
        if self.bulk == "unlimited" or math.isinf(window) or not self.rtt_ms:
            return None
        window_bytes = window * self.segment_bytes
        burst = math.ceil(max(window_bytes, _INITIAL_WINDOW * self.segment_bytes))
        if not _LEAST_BPS <= (rate_bps := window_bytes / (self.rtt_ms / 1000)) <= _MOST_BPS:
            return None
        return Bandwidth(rate=rate_bps, burst_bytes=burst)

    @property
    def least_delay_ms(self) -> float | None:
        return min(self.rtt_ms, self.rto_ms)

    def open(self, stream: Stream) -> StreamFilter:
        return _PacketLossFilter(self, stream)


class _PacketLossFilter(StreamFilter):
    __slots__ = ("_again", "_fault", "_last_at", "_line", "_mean_loss", "_note", "_segments", "_walk")

    def __init__(self, fault: PacketLoss, stream: Stream) -> None:
        super().__init__()
        self._fault = fault
        chain = fault.chain()
        self._walk = LossWalk(chain, stream.rng)
        self._mean_loss = chain.mean_loss
        self._again = stream.rng.child("again")
        self._note = stream.note
        self._last_at = stream.at
        self._segments = 0
        line = fault.line()
        self._line: StreamFilter | None = None
        if line is not None:
            self._line = line.open(Stream(stream.at, stream.rng.child("line"), _no_note, {}))
            # A window at a time: whether a retransmit is fast depends on the segments that follow.
            self.read_size = min(self.read_size, max(line.burst_bytes, self._line.read_size))

    def feed(self, event: Event) -> Iterable[Event]:
        pieces = self._late(event)
        line = self._line
        if line is None:
            return pieces
        paced = [given for piece in pieces for given in line.feed(piece)]
        self.ready_at = line.ready_at
        return paced

    def _late(self, event: Event) -> list[Event]:
        """Return the event in pieces, each at the time at which its segments have arrived."""
        release_at = max(event.at, self._last_at)
        pieces: list[Event] = []
        if isinstance(event, Data):
            payload, begin, size = event.payload, 0, self._fault.segment_bytes
            first = self._segments
            self._segments += -(-len(payload) // size)
            for segment in self._walk.lost_before(self._segments):
                due_at = event.at + self._cost_s(segment)
                offset = (segment - first) * size
                if due_at > release_at:
                    if offset > begin:
                        pieces.append(Data(release_at, payload[begin:offset]))
                    begin, release_at = offset, due_at
            if begin:
                event = Data(release_at, payload[begin:])
        self._last_at = release_at
        pieces.append(moved(event, release_at))
        return pieces

    def _cost_s(self, segment: int) -> float:
        losses = 1 + min(self._again.gap(1 - self._mean_loss), _MAX_LOSSES - 1)
        fast = self._segments - 1 - segment >= _FOLLOWERS
        cost_ms = self._fault.cost_ms(losses, fast=fast)
        self._note("loss_ms", cost_ms)
        return cost_ms / 1000


def _no_note(effect: str, value: float) -> None:
    """Do nothing: what the line delays is a part of the loss."""
