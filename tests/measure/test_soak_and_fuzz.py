"""Short runs of `make soak` and `make fuzz`, from fixed seeds.

Each run asserts what is left at its end: live connections, sockets, descriptors, threads, child processes.
"""

from __future__ import annotations

import pytest

from tests.fuzz.fuzz_budget import Budget
from tests.fuzz.fuzz_parts import PARTS
from tests.soak.soak_runs import RUNS, seconds_of

SECONDS = 6.0
SEED = "ci"
FUZZED = [name for name in PARTS if name != "mock and gateway"]
"""The rest is tests/mcp/fuzz/test_fuzz.py."""


@pytest.mark.parametrize("name", RUNS)
def test_nothing_is_left_after_mixed_traffic(name: str) -> None:
    RUNS[name](seconds_of(name, SECONDS), f"{SEED}-{name}")


@pytest.mark.parametrize(
    "name",
    # Connections of the proxies that are left half-way end with their time limits, a minute later.
    [pytest.param(name, marks=pytest.mark.thorough) if name == "proxies" else name for name in FUZZED],
)
def test_no_input_breaks_what_reads_it(name: str) -> None:
    budget = Budget(f"{SEED}-{name}", SECONDS / len(FUZZED))
    PARTS[name](budget)
    assert budget.inputs > 0


def test_the_same_seed_makes_the_same_inputs() -> None:
    one, other = Budget("x", 1.0), Budget("x", 1.0)
    assert [one.rng.random() for _ in range(5)] == [other.rng.random() for _ in range(5)]
