from __future__ import annotations

import pytest

from faultkit.base.rng import Rng
from faultkit.faults.connection.dns import Dns
from faultkit.faults.fault import Resolution


@pytest.mark.parametrize(
    ("fault", "resolution"),
    [
        (Dns(), Resolution(fail=True, delay_s=0.0)),
        (Dns(delay_ms=5000), Resolution(fail=True, delay_s=5.0)),
        (Dns(outcome="resolve", delay_ms=200), Resolution(fail=False, delay_s=0.2)),
    ],
)
def test_names_fail_or_resolve_after_the_delay(fault: Dns, resolution: Resolution) -> None:
    assert fault.resolve(Rng.keyed(0)) == resolution
