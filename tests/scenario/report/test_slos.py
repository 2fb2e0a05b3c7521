from __future__ import annotations

import pytest

from faultkit.load.slo import Slo, SloResult
from faultkit.scenario.report.wording import slo_measured

LATENCY = Slo("latency", "", 95, 200)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (SloResult(LATENCY, True, 150.0, 50.0, 0, 200), "p95 150 ms"),
        (SloResult(LATENCY, False, None, None, 20, 200), "p95 without answer"),
        (SloResult(LATENCY, None, None, None, 0, 0), "nothing to judge"),
        (SloResult(Slo("error", "", 99, 1), False, 2.5, -1.5, 5, 200), "2.5 % errors"),
    ],
)
def test_what_was_measured_is_said_in_a_few_words(result: SloResult, said: str) -> None:
    assert slo_measured(result) == said
