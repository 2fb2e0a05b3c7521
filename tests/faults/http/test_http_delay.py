from __future__ import annotations

from faultkit.base.rng import Rng
from faultkit.faults.http.http_delay import HttpDelay
from faultkit.faults.http_fault import HttpVerdict, RequestContext


def test_a_request_waits_and_goes_on() -> None:
    assert HttpDelay(delay_ms=750).judge(RequestContext(0.0, Rng.keyed(0))) == HttpVerdict(delay_s=0.75)
