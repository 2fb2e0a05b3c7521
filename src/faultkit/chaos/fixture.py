"""The pytest plugin of chaos: the fixture `chaos`, a fault registry that is emptied when its test ends.

    def test_a_fallback(chaos):
        chaos.register(ChaosFault("db", "error", probability=1))

Each test has dice of its own, keyed by the test and by a seed of the whole run. A failing test shows the
seed: `pytest --chaos-seed N` repeats it. pytest imports this file wherever Faultkit is installed, so it
imports nothing else before it is used.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from faultkit.chaos.named_faults.fault_registry import FaultRegistry

_SEED = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --chaos-seed."""
    group = parser.getgroup("faultkit")
    group.addoption(
        "--chaos-seed", metavar="SEED", help="repeat what the chaos fixture rolled in another run"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed of the run."""
    given = config.getoption("--chaos-seed", default=None)
    config.stash[_SEED] = str(secrets.randbits(32) if given is None else given)


@pytest.fixture
def chaos(request: pytest.FixtureRequest) -> Iterator[FaultRegistry]:
    """Yield a fault registry for one test."""
    from faultkit.chaos.named_faults.fault_registry import FaultRegistry

    seed = request.config.stash[_SEED]
    request.node.add_report_section("call", "chaos", f"repeat with: pytest --chaos-seed {seed}")
    with FaultRegistry(f"{seed}:{request.node.nodeid}") as registry:
        yield registry
