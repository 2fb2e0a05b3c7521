"""Side and direction, as users say them, and the flow that they mean."""

from __future__ import annotations

import pytest

from faultkit.plan.flow import Direction, Flow, Side, flows


@pytest.mark.parametrize(
    ("side", "direction", "expected"),
    [
        ("server", "ingress", ("to_client",)),
        ("server", "egress", ("to_upstream",)),
        ("client", "ingress", ("to_upstream",)),
        ("client", "egress", ("to_client",)),
        ("server", "both", ("to_upstream", "to_client")),
        ("client", "both", ("to_upstream", "to_client")),
    ],
)
def test_side_and_direction_name_flows(side: Side, direction: Direction, expected: tuple[Flow, ...]) -> None:
    assert flows(side, direction) == expected
