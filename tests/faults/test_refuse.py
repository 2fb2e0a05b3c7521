from __future__ import annotations

from faultkit.faults.connection.refuse import Refuse
from faultkit.faults.fault import Admission
from faultkit.rng import Rng


def test_every_connection_is_turned_away() -> None:
    assert Refuse().admit(Rng.keyed(0)) == Admission(refuse=True, delay_s=0.0)
