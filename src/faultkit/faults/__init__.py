"""The vocabulary: every fault there is, in the order in which users see them.

Adding a fault is one file here, one test file, and one row in this table. YAML, command-line flags,
schemas, help and docs follow from the row. Faults of calls have a table of their own, `faults.call.table`:
a proxy carries out the ones, a mock or a gateway the others.
"""

from __future__ import annotations

from faultkit.faults.call.table import CALL_FAULTS
from faultkit.faults.connection.dns import Dns
from faultkit.faults.connection.refuse import Refuse
from faultkit.faults.connection.slow_accept import SlowAccept
from faultkit.faults.fault import Fault
from faultkit.faults.http.http_delay import HttpDelay
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.bandwidth import Bandwidth
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.corrupt import Corrupt
from faultkit.faults.stream.half_open import HalfOpen
from faultkit.faults.stream.jitter import Jitter
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.limit_data import LimitData
from faultkit.faults.stream.packet_loss import PacketLoss
from faultkit.faults.stream.reset import Reset
from faultkit.faults.stream.slicer import Slicer
from faultkit.faults.stream.slow_close import SlowClose
from faultkit.faults.stream.timeout import Timeout

NETWORK_FAULTS: dict[str, type[Fault]] = {
    fault.kind: fault
    for fault in (
        Latency,
        Jitter,
        Bandwidth,
        PacketLoss,
        Blackhole,
        Reset,
        HalfOpen,
        SlowClose,
        LimitData,
        Slicer,
        Timeout,
        Corrupt,
        Refuse,
        SlowAccept,
        Dns,
        HttpError,
        HttpDelay,
    )
}
"""Those that a proxy carries out, on streams, connections, names and HTTP requests."""

FAULTS: dict[str, type[Fault]] = {**NETWORK_FAULTS, **CALL_FAULTS}

__all__ = ["CALL_FAULTS", "FAULTS", "NETWORK_FAULTS"]
