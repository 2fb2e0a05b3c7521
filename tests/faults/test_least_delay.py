from __future__ import annotations

import pytest

from faultkit.faults import FAULTS
from faultkit.faults.connection.dns import Dns
from faultkit.faults.connection.slow_accept import SlowAccept
from faultkit.faults.fault import Fault
from faultkit.faults.http.http_delay import HttpDelay
from faultkit.faults.llm.slow_first_token import SlowFirstToken
from faultkit.faults.llm.token_stall import TokenStall
from faultkit.faults.stream.jitter import Jitter
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.packet_loss import PacketLoss
from faultkit.faults.stream.slicer import Slicer
from faultkit.faults.stream.slow_close import SlowClose
from faultkit.faults.tls.tls_slow_handshake import TlsSlowHandshake
from faultkit.faults.websocket.ws_delay import WsDelay


@pytest.mark.parametrize(
    ("fault", "least_ms"),
    [
        (Latency(mean_ms=250), 250),
        (Latency(distribution="uniform", min_ms=30, max_ms=90), 30),
        (Latency(distribution="uniform", max_ms=5), 0),
        (Latency(distribution="pareto", scale_ms=7, shape=2), 7),
        (Latency(distribution="pareto-normal", mean_ms=20, scale_ms=7, shape=2), 27),
        (Jitter(amplitude_ms=100), 0),
        (PacketLoss(rtt_ms=40, rto_ms=200), 40),
        (SlowClose(delay_ms=300), 300),
        (Slicer(delay_us=500), 0.5),
        (Slicer(), None),
        (SlowAccept(delay_ms=300), 300),
        (Dns(delay_ms=80), 80),
        (Dns(), None),
        (HttpDelay(delay_ms=120), 120),
        (WsDelay(delay_ms=120), 120),
        (TlsSlowHandshake(delay_ms=90), 90),
        (SlowFirstToken(delay_ms=900), 900),
        (TokenStall(stall_ms=700), 700),
    ],
)
def test_the_least_delay_is_that_of_the_settings_in_force(fault: Fault, least_ms: float | None) -> None:
    assert fault.least_delay_ms == least_ms


def test_every_other_fault_asks_for_no_delay() -> None:
    asking = {kind for kind, fault in FAULTS.items() if fault.least_delay_ms is not Fault.least_delay_ms}
    assert asking == {
        "latency",
        "jitter",
        "packet_loss",
        "slow_close",
        "slicer",
        "slow_accept",
        "dns",
        "http_delay",
        "http_slow_headers",
        "http_drip",
        "slow_first_token",
        "token_stall",
        "slow",
        "tls_slow_handshake",
        "ws_delay",
    }
