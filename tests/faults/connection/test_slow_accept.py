from __future__ import annotations

from faultkit.base.rng import Rng
from faultkit.faults.connection.slow_accept import SlowAccept
from faultkit.faults.fault import Admission


def test_a_connection_waits_and_is_then_served() -> None:
    assert SlowAccept(delay_ms=250).admit(Rng.keyed(0)) == Admission(refuse=False, delay_s=0.25)
