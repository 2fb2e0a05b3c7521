"""A plan for a proxy and a plan for calls: each is refused by who cannot carry it out."""

from __future__ import annotations

import pytest

from faultkit.base.errors import InputError
from faultkit.faults.call.hang import Hang
from faultkit.faults.stream.latency import Latency
from faultkit.plan import Plan, Rule, check_call_plan, check_network_plan, parse_plan
from faultkit.proxy.plane import Plane

NETWORK = Plan((Rule("slow", Latency()),))
CALLS = Plan((Rule("hang", Hang()),))
MIXED = Plan((*NETWORK.rules, *CALLS.rules))


def test_a_plan_goes_to_who_carries_it_out() -> None:
    check_network_plan(NETWORK)
    check_call_plan(CALLS)
    check_network_plan(Plan())
    check_call_plan(Plan())


def test_a_proxy_refuses_calls_and_says_who_takes_them() -> None:
    with pytest.raises(InputError) as caught:
        check_network_plan(MIXED)
    assert str(caught.value) == (
        'rules[1].fault: expected a fault of the network, got "hang", which acts on calls: '
        "use fault gateway or fault mock"
    )


def test_a_gateway_refuses_the_network_and_says_who_takes_it() -> None:
    with pytest.raises(InputError) as caught:
        check_call_plan(MIXED)
    assert str(caught.value) == (
        'rules[0].fault: expected a fault of calls, got "latency", which acts on the network: use fault run'
    )


def test_a_plane_refuses_calls_when_it_is_made_and_when_its_plan_is_set() -> None:
    with pytest.raises(InputError, match="use fault gateway or fault mock"):
        Plane(CALLS)
    with Plane(NETWORK) as plane:
        with pytest.raises(InputError, match="use fault gateway or fault mock"):
            plane.set_plan(MIXED)
        assert plane.plan == NETWORK


def test_a_rule_of_calls_is_parsed_with_its_target_and_burst() -> None:
    document = {
        "rules": [
            {
                "fault": "hang",
                "match": {"server": "db", "tool": "search"},
                "trigger": {"burst": 5, "probability": 0.1},
            }
        ]
    }
    (rule,) = parse_plan(document).rules
    assert (rule.match.server, rule.match.tool, rule.trigger.burst) == ("db", "search", 5)
    with pytest.raises(InputError) as caught:
        parse_plan({"rules": [{"fault": "hang", "trigger": {"burst": 1.5}}]})
    assert str(caught.value) == "rules[0].trigger.burst: expected a whole number of at least 1, got 1.5"
