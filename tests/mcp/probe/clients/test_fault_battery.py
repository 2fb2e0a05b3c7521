"""The battery has every fault of calls, wherever it fits."""

from __future__ import annotations

import pytest

from faultkit.faults import CALL_FAULTS
from faultkit.faults.call_fault import ERAS, TRANSPORTS, Era, Transport
from faultkit.mcp.probe.clients.fault_battery import BATTERY, fitting, kind_of


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("era", ERAS)
def test_every_fault_is_in_the_battery_of_each_place_that_it_fits(transport: Transport, era: Era) -> None:
    there = {kind_of(spec) for spec in fitting(BATTERY, transport, era)}
    assert there == {kind for kind, fault in CALL_FAULTS.items() if fault().fits(transport, era)}


def test_no_fault_is_there_twice() -> None:
    assert len(set(BATTERY)) == len(BATTERY)
