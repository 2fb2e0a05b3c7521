"""The faults of a proof."""

from __future__ import annotations

from faultkit.code.proof.fault_cases import fault_cases


def test_each_fault_has_one_rule_and_the_first_case_has_none() -> None:
    found = {case.name: [rule.fault.kind for rule in case.rules] for case in fault_cases(2000.0)}
    assert found == {
        "healthy": [],
        "blackhole": ["blackhole"],
        "latency of 2 s": ["latency"],
        "bursts of 503": ["http_error"],
        "30 % of 503": ["http_error"],
        "bursts of resets": ["reset"],
        "slow stream": ["slicer"],
    }
