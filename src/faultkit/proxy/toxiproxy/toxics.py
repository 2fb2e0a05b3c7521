"""Toxics as the API has them, and the fault and rule that each becomes. Pure.

A toxic names a type, a stream and attributes; attributes that are left out are 0, as in the original.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias
from urllib.parse import quote

from faultkit.base.rng import Rng
from faultkit.faults.events import Close, Data, Event, moved
from faultkit.faults.events import Reset as ResetEvent
from faultkit.faults.fault import FOREVER, Stream, StreamFault, StreamFilter, setting
from faultkit.faults.stream.bandwidth import Bandwidth
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.limit_data import LimitData
from faultkit.faults.stream.packet_loss import PacketLoss
from faultkit.faults.stream.reset import Reset
from faultkit.faults.stream.slicer import Slicer
from faultkit.faults.stream.slow_close import SlowClose
from faultkit.faults.stream.timeout import Timeout
from faultkit.faults.stream_filters import CutFilter
from faultkit.plan import Match, Rule, Side, Trigger
from faultkit.proxy.toxiproxy import request_fields as fields
from faultkit.proxy.toxiproxy.request_fields import bad_body, invalid_stream, invalid_type

StreamName: TypeAlias = Literal["upstream", "downstream"]

_SIDES: dict[StreamName, Side] = {"upstream": "client", "downstream": "server"}
"""The side from which the bytes of a stream are read. The order is that of the API's lists."""

Attributes: TypeAlias = Mapping[str, float]

_MOST_KBPS = 10**12


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of a toxic type."""

    name: str
    is_whole: bool = True
    minimum: int | None = 0


@dataclass(frozen=True, slots=True)
class ToxicType:
    """A type of toxic: its attributes, and the fault that it becomes."""

    fault: Callable[[Attributes], StreamFault | None]
    """None where the toxic does nothing."""
    attributes: tuple[Attribute, ...] = ()


def _latency(given: Attributes) -> StreamFault:
    jitter = max(0, given["jitter"])
    low, high = given["latency"] - jitter, max(0, given["latency"] + jitter)
    if low == high or not high:
        return Latency(per="operation", mean_ms=high)
    if low >= 0:
        return Latency(distribution="uniform", per="operation", min_ms=low, max_ms=high)
    return JitteredLatency(distribution="uniform", per="operation", max_ms=high, low_ms=low)


def _bandwidth(given: Attributes) -> StreamFault:
    if not given["rate"]:
        return Blackhole(mode="stall")
    return Bandwidth(rate=min(given["rate"], _MOST_KBPS), unit="KBps")


def _slicer(given: Attributes) -> StreamFault:
    return Slicer(
        average_bytes=max(1, int(given["average_size"])),
        variation_bytes=max(0, int(given["size_variation"])),
        delay_us=max(0, given["delay"]),
    )


def _packet_loss(given: Attributes) -> StreamFault:
    rate = _share(given["loss_rate"])
    return PacketLoss(
        model="gilbert-elliott",
        good_to_bad=rate,
        bad_to_good=1 - min(1.0, rate + _share(given["correlation"])),
        good_loss=0.0,
        bad_loss=1.0,
    )


TOXIC_TYPES: dict[str, ToxicType] = {
    "latency": ToxicType(_latency, (Attribute("latency", minimum=None), Attribute("jitter", minimum=None))),
    "bandwidth": ToxicType(_bandwidth, (Attribute("rate"),)),
    "slow_close": ToxicType(lambda given: SlowClose(delay_ms=given["delay"]), (Attribute("delay"),)),
    "timeout": ToxicType(lambda given: Timeout(timeout_ms=given["timeout"]), (Attribute("timeout"),)),
    "reset_peer": ToxicType(
        lambda given: ResetPeer(after_ms=given["timeout"], on="data"), (Attribute("timeout"),)
    ),
    "slicer": ToxicType(
        _slicer,
        (
            Attribute("average_size", minimum=None),
            Attribute("size_variation", minimum=None),
            Attribute("delay", minimum=None),
        ),
    ),
    "limit_data": ToxicType(lambda given: LimitData(bytes=int(given["bytes"])), (Attribute("bytes"),)),
    "packet_loss": ToxicType(
        _packet_loss,
        (
            Attribute("loss_rate", is_whole=False, minimum=None),
            Attribute("correlation", is_whole=False, minimum=None),
        ),
    ),
    "noop": ToxicType(lambda given: None),
}


@dataclass(frozen=True, slots=True)
class Toxic:
    """A toxic of a proxy."""

    name: str
    type: str
    stream: StreamName
    toxicity: float
    attributes: Attributes

    def document(self) -> dict[str, object]:
        """Return the toxic as the API shows it."""
        return {
            "attributes": dict(self.attributes),
            "name": self.name,
            "type": self.type,
            "stream": self.stream,
            "toxicity": self.toxicity,
        }

    def fault(self) -> StreamFault | None:
        """Return the fault that it becomes; None if it does nothing."""
        return TOXIC_TYPES[self.type].fault(self.attributes)


def new_toxic(document: object) -> Toxic:
    """Return the toxic that a request body describes."""
    given = fields.mapping(document)
    type_name = fields.text(given, "type")
    stream_text = fields.text(given, "stream", "downstream")
    stream = next((name for name in _SIDES if name == stream_text.lower()), None)
    if stream is None:
        raise invalid_stream()
    if type_name not in TOXIC_TYPES:
        raise invalid_type()
    return Toxic(
        fields.text(given, "name") or f"{type_name}_{stream}",
        type_name,
        stream,
        fields.number(given, "toxicity", 1.0),
        _attributes(type_name, given, {}),
    )


def updated_toxic(toxic: Toxic, document: object) -> Toxic:
    """Return the toxic with the toxicity and attributes that a request body has."""
    given = fields.mapping(document)
    return replace(
        toxic,
        toxicity=fields.number(given, "toxicity", toxic.toxicity),
        attributes=_attributes(toxic.type, given, toxic.attributes),
    )


def _attributes(type_name: str, document: Mapping[str, object], before: Attributes) -> Attributes:
    given = fields.mapping(document.get("attributes"), "attributes")
    values: dict[str, float] = {}
    for attribute in TOXIC_TYPES[type_name].attributes:
        name = attribute.name
        old = before.get(name, 0)
        value = (
            fields.whole_number(given, name, int(old))
            if attribute.is_whole
            else fields.number(given, name, old)
        )
        if attribute.minimum is not None and value < attribute.minimum:
            raise bad_body(f"{name}: expected at least {attribute.minimum}, got {value}")
        values[name] = value
    return values


def in_list_order(toxics: list[Toxic]) -> list[Toxic]:
    """Return toxics in the order of the API's lists: upstream first, each stream in chain order."""
    return [toxic for stream in _SIDES for toxic in toxics if toxic.stream == stream]


def rule_of(proxy_name: str, toxic: Toxic) -> Rule | None:
    """Return the rule of a toxic; None if it has no effect."""
    probability = _share(toxic.toxicity)
    fault = toxic.fault()
    if fault is None or not probability:
        return None
    match = Match.only(proxy_name, _SIDES[toxic.stream], "ingress")
    # The name keys the random numbers, so a toxic that is updated hits the same connections as before.
    name = "/".join(quote(part, safe="", errors="surrogatepass") for part in (proxy_name, toxic.name))
    return Rule(name, fault, match, Trigger(probability=probability))


def _share(value: float) -> float:
    return min(1.0, max(0.0, float(value)))


@dataclass(frozen=True)
class JitteredLatency(Latency):
    """A uniform delay whose lower bound may lie below 0; draws below 0 are no delay."""

    low_ms: float = setting(0.0, "Lower bound; below 0 means a chance of no delay.", unit="ms")

    def draw_ms(self, rng: Rng) -> float:
        return max(0.0, rng.between(self.low_ms, self.max_ms))


@dataclass(frozen=True)
class ResetPeer(Reset):
    """A reset that lets nothing pass: the first bytes, or the end, start the timer of the RST."""

    @property
    def withholds_end(self) -> bool:
        return True

    def open(self, stream: Stream) -> StreamFilter:
        return _ResetPeerFilter(self, stream)


class _ResetPeerFilter(CutFilter):
    __slots__ = ("_after_s", "_held")

    def __init__(self, fault: ResetPeer, stream: Stream) -> None:
        super().__init__(stream)
        self._after_s = fault.after_ms / 1000
        self._held: list[Event] = []

    def feed(self, event: Event) -> Iterable[Event]:
        if self.is_over:
            return ()
        if isinstance(event, Close | ResetEvent):
            return super().feed(event)
        if not self._held:
            self.wake_at = event.at + self._after_s
            self.ready_at = FOREVER
        self._held.append(event)
        return self.wake(event.at) if event.at >= self.wake_at else ()

    def wake(self, at: float) -> Iterable[Event]:
        lost = sum(len(event.payload) for event in self._held if isinstance(event, Data))
        if lost:
            self.note("discarded_bytes", lost)
        self._held.clear()
        return (self.cut(ResetEvent(at)),)

    def finish(self, at: float) -> Iterable[Event]:
        return () if self.is_over else [moved(event, at) for event in self._held]
