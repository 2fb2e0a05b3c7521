"""Descriptions: the original's forms to the letter, every fault of the table, and the timeline bar."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.faults import NETWORK_FAULTS
from faultkit.faults.connection.dns import Dns
from faultkit.faults.connection.refuse import Refuse
from faultkit.faults.fault import Fault, StreamFault
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.bandwidth import Bandwidth
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.jitter import Jitter
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.limit_data import LimitData
from faultkit.faults.stream.packet_loss import PacketLoss
from faultkit.plan import Direction, Match, Rule, Side, Trigger
from faultkit.scenario.report.fault_description import bar, describe, timeline
from faultkit.testing.strategies import faults


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (Jitter(amplitude_ms=150, frequency_hz=5), "Jitter: ➡️🖧Amplitude: 150.00ms, Frequence 5.00Hz"),
        (
            Latency(mean_ms=80, stddev_ms=5),
            "Latency: ➡️🖧, Per Read/Write Op.: false, Mean: 80.00 ms, Stddev: 5.00 ms",
        ),
        (
            Latency(distribution="uniform", per="operation", min_ms=10, max_ms=20.5),
            "Latency: ➡️🖧, Per Read/Write Op.: true, Distribution: uniform, Min: 10.00 ms, Max: 20.50 ms",
        ),
        (
            Latency(distribution="pareto", shape=1.5, scale_ms=20),
            "Latency: ➡️🖧, Per Read/Write Op.: false, Distribution: pareto, Shape: 1.50, Scale: 20.00 ms",
        ),
        (Bandwidth(rate=512, unit="KBps"), "Bandwidth: ➡️🖧, Rate: 512 KBps"),
        (Bandwidth(burst_bytes=10), "Bandwidth: ➡️🖧, Rate: 1000 Bps, Burst: 10 bytes"),
        (PacketLoss(rate=0.05), "Packet Loss: ➡️🖧, Model: random, Rate: 5%"),
        (PacketLoss(model="five-state"), "Packet Loss: ➡️🖧, Model: five-state"),
        (Blackhole(), "Blackhole: ➡️🖧, Mode: stall"),
        (LimitData(), "Limit Data: ➡️🖧, Bytes: 1024"),
        (Refuse(), "Refuse"),
        (Dns(), "DNS: Outcome: fail"),
        (HttpError(status=503, body="sorry\nno"), "HTTP Error: Status: 503, Body: sorry no"),
    ],
)
def test_a_fault_is_described_in_a_few_words(fault: Fault, text: str) -> None:
    assert describe(Rule("rule", fault), fault.kind) == text


@pytest.mark.parametrize(
    ("side", "direction", "glyph"),
    [
        ("server", "ingress", "➡️🖧"),
        ("server", "egress", "⬅️🖧"),
        ("server", "both", "↔️🖧"),
        ("client", "ingress", "🖥️⬅️"),
        ("client", "egress", "🖥️➡️"),
        ("client", "both", "🖥️↔️"),
    ],
)
def test_the_glyph_shows_side_and_direction(side: Side, direction: Direction, glyph: str) -> None:
    rule = Rule("rule", Blackhole(), match=Match(side=side, direction=direction))
    assert describe(rule, "blackhole") == f"Blackhole: {glyph}, Mode: stall"


def test_where_and_how_often_are_told_but_no_header_value() -> None:
    match = Match(method=("GET", "PUT"), path="/api/*", headers=(("Authorization", "Bearer s3cret"),))
    rule = Rule("rule", HttpError(), match=match, trigger=Trigger(0.05, first=9, after=2, every=3))
    assert describe(rule, "httperror") == (
        "HTTP Error: Status: 500, Method: GET, PUT, Path: /api/*, Headers: Authorization, "
        "Probability: 5%, After: 2, First: 9, Every: 3"
    )


def test_another_name_in_the_users_file_is_the_title() -> None:
    assert describe(Rule("rule", Refuse()), "no-service") == "No Service"


@pytest.mark.parametrize("kind", NETWORK_FAULTS)
@given(data=st.data())
def test_every_fault_of_the_table_has_a_description_of_one_line(kind: str, data: st.DataObject) -> None:
    fault = data.draw(faults(NETWORK_FAULTS[kind]))
    text = describe(Rule("rule", fault), kind)
    assert text.isprintable()
    assert text.split(":")[0].lower().replace(" ", "_") == kind
    assert ("🖧" in text) == isinstance(fault, StreamFault)


@pytest.mark.parametrize("kind", NETWORK_FAULTS)
def test_what_was_chosen_is_told(kind: str) -> None:
    fault = NETWORK_FAULTS[kind]()
    plain = describe(Rule("rule", fault), kind)
    for name, value in (("delay_ms", 77.5), ("after_bytes", 4321), ("timeout_ms", 77.5), ("rate", 0.775)):
        if name in NETWORK_FAULTS[kind].settings():
            assert describe(Rule("rule", replace(fault, **{name: value})), kind) != plain


@pytest.mark.parametrize(
    ("windows", "marks"),
    [
        (((0.0, 1.0),), "xxxxxxxxxx"),
        ((), ".........."),
        (((0.1, 0.25), (0.4, 0.55), (0.7, 0.85)), ".xx.xx.xx."),
        (((0.2, 0.1 + 0.2),), "..x......."),
        (((0.45, 0.451),), "....x....."),
        (((0.999, 1.0),), ".........x"),
        (((1.0, 1.2),), ".........x"),
        (((0.5, 0.5),), ".........."),
    ],
)
def test_the_bar_marks_each_tenth_in_which_the_fault_acted(
    windows: tuple[tuple[float, float], ...], marks: str
) -> None:
    assert bar(windows) == marks
    assert timeline(windows) == f"0% `{marks}` 100%"
