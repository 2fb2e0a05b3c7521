from __future__ import annotations

from faultkit.base.rng import Rng
from faultkit.faults.connection.refuse import Refuse
from faultkit.faults.fault import Admission


def test_every_connection_is_turned_away() -> None:
    assert Refuse().admit(Rng.keyed(0)) == Admission(refuse=True, delay_s=0.0)
