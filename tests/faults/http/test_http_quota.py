from __future__ import annotations

import pytest

from faultkit.base.rng import Rng
from faultkit.faults.http.http_quota import HttpQuota
from faultkit.faults.http_fault import HttpVerdict, RequestContext

PASS = HttpVerdict()


def over(retry_after_s: int, **more: object) -> HttpVerdict:
    verdict = HttpVerdict(status=429, headers=(("Retry-After", str(retry_after_s)),), fault="http_quota")
    return verdict if not more else HttpVerdict(**{**_fields(verdict), **more})  # type: ignore[arg-type]


def _fields(verdict: HttpVerdict) -> dict[str, object]:
    return {name: getattr(verdict, name) for name in ("status", "headers", "fault")}


def verdicts(fault: HttpQuota, *times: float) -> list[HttpVerdict]:
    memory: dict[str, object] = {}
    return [fault.judge(RequestContext(at, Rng.keyed(0), memory)) for at in times]


@pytest.mark.parametrize(
    ("fault", "times", "expected"),
    [
        (HttpQuota(requests=2), (0.0, 1.0, 2.0, 59.5), [PASS, PASS, over(58), over(1)]),
        # The window begins with its first request, and a new one when it is over.
        (HttpQuota(requests=1, window_s=10), (5.0, 14.9, 15.0, 16.0), [PASS, over(1), PASS, over(9)]),
        (HttpQuota(requests=0, retry_after_s=30), (0.0,), [over(30)]),
        (
            HttpQuota(requests=0, status=503, body="later", window_s=2),
            (0.0,),
            [over(2, status=503, body="later")],
        ),
    ],
)
def test_requests_over_the_quota_are_answered(
    fault: HttpQuota, times: tuple[float, ...], expected: list[HttpVerdict]
) -> None:
    assert verdicts(fault, *times) == expected


def test_workers_cannot_share_it() -> None:
    assert HttpQuota().shares_memory
