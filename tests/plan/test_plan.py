"""Plan: unique names, a stable id, and a plain form that reads back as the same plan."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from faultkit.base.errors import InputError
from faultkit.faults import FAULTS
from faultkit.faults.call.hang import Hang
from faultkit.faults.call_fault import CallFault
from faultkit.faults.fault import Fault
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.latency import Latency
from faultkit.plan import (
    Match,
    Plan,
    Rule,
    Trigger,
    check_call_plan,
    check_network_plan,
    dump_plan,
    parse_plan,
    parse_schedule,
    read_plan,
)
from faultkit.proxy.plane import Plane

RULE = Rule(
    "slow-db",
    Latency(mean_ms=300),
    Match(proxy="db", direction="egress"),
    Trigger(probability=0.5, first=3, after=1, every=2),
    parse_schedule("start:10s,duration:30s"),
)


def test_a_dump_holds_what_differs_from_the_defaults() -> None:
    assert dump_plan(Plan((RULE, Rule("plain", Latency())), seed=42)) == {
        "seed": 42,
        "rules": [
            {
                "name": "slow-db",
                "fault": "latency",
                "with": {"mean_ms": 300.0},
                "match": {"proxy": "db", "direction": "egress"},
                "trigger": {"probability": 0.5, "first": 3, "after": 1, "every": 2},
                "schedule": "start:10s,duration:30s",
            },
            {"name": "plain", "fault": "latency"},
        ],
    }


def test_conditions_on_requests_are_dumped_as_plain_lists_and_mappings() -> None:
    match = Match(method=("GET", "PUT"), path="/a*", headers=(("X-B", "1"), ("X-A", "*")))
    assert dump_plan(Plan((Rule("e", HttpError(), match),)))["rules"] == [
        {
            "name": "e",
            "fault": HttpError.kind,
            "match": {"method": ["GET", "PUT"], "path": "/a*", "headers": {"X-B": "1", "X-A": "*"}},
        }
    ]


@pytest.mark.parametrize("seed", [-1, "", True])
def test_a_seed_is_a_natural_number_or_a_text(seed: Any) -> None:
    with pytest.raises(ValueError) as caught:
        Plan(seed=seed)
    assert str(caught.value) == (
        f"seed: expected a whole number of at least 0 or a text, got {json.dumps(seed)}"
    )


def test_two_rules_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError) as caught:
        Plan((RULE, Rule("other", Latency()), RULE))
    assert str(caught.value) == 'rules[2].name: expected a name that no rule before it has, got "slow-db"'


def test_the_digest_is_the_same_on_every_machine() -> None:
    canonical = (
        '{"rules":[{"fault":"latency","match":{"direction":"egress","proxy":"db"},"name":"slow-db",'
        '"schedule":"start:10s,duration:30s","trigger":{"after":1,"every":2,"first":3,"probability":0.5},'
        '"with":{"mean_ms":300.0}}],"seed":"42"}'
    )
    assert Plan((RULE,), seed=42).digest == sha256(canonical.encode()).hexdigest()[:12] == "994e3766540a"


def test_the_digest_tells_plans_apart_by_what_they_do() -> None:
    plans = [
        Plan(),
        Plan(seed=1),
        Plan((RULE,)),
        Plan((replace(RULE, name="other"),)),
        Plan((replace(RULE, fault=Latency()),)),
        Plan((replace(RULE, match=Match()),)),
        Plan((replace(RULE, trigger=Trigger()),)),
        Plan((replace(RULE, schedule=parse_schedule("")),)),
    ]
    assert len({plan.digest for plan in plans}) == len(plans)


def test_seeds_that_give_the_same_numbers_give_the_same_digest() -> None:
    assert Plan((RULE,), seed=7).digest == Plan((RULE,), seed="7").digest


words = st.text(st.characters(codec="ascii", min_codepoint=33, max_codepoint=126), min_size=1, max_size=8)
tokens = st.text(st.sampled_from("abcXYZ-_019"), min_size=1, max_size=6)
faults: st.SearchStrategy[Fault] = st.sampled_from([cls() for cls in FAULTS.values()]) | st.builds(
    Latency, mean_ms=st.floats(0, 1e6), per=st.sampled_from(["connection", "operation"])
)
triggers = st.builds(
    Trigger,
    probability=st.floats(0, 1),
    first=st.none() | st.integers(1, 9),
    after=st.integers(0, 9),
    every=st.integers(1, 9),
)
schedules = st.sampled_from(
    ["", "start:1s", "start:5%,duration:10%", "duration:1s,every:2s,times:3", "start:1s;start:9s,duration:1m"]
).map(parse_schedule)


@st.composite
def rules(draw: st.DrawFn, name: str) -> Rule:
    fault = draw(faults)
    fields: dict[str, Any] = {}
    if fault.level != "call":
        fields["proxy"] = draw(words)
    elif isinstance(fault, CallFault):
        fields["server"] = draw(st.none() | words)
        if "tools/call" in fault.methods:
            fields["tool"] = draw(st.none() | words)
    if fault.level == "stream":
        fields["side"] = draw(st.sampled_from(["client", "server"]))
        fields["direction"] = draw(st.sampled_from(["ingress", "egress", "both"]))
    if fault.level == "http":
        methods = st.lists(tokens, min_size=1, max_size=3).map(tuple)
        fields["method"] = draw(st.none() | tokens | methods)
        fields["path"] = draw(st.none() | words)
        pairs = st.lists(st.tuples(tokens, words), max_size=3, unique_by=lambda pair: pair[0].lower())
        fields["headers"] = tuple(draw(pairs))
    trigger = draw(triggers)
    if fault.level == "call":
        trigger = replace(trigger, burst=draw(st.integers(1, 1000)))
    return Rule(name, fault, Match(**fields), trigger, draw(schedules))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    names = draw(st.lists(words, max_size=3, unique=True))
    seed = draw(st.integers(0, 2**64) | words)
    return Plan(tuple(draw(rules(name)) for name in names), seed)


@settings(deadline=None)
@given(plans())
def test_a_dumped_plan_reads_back_as_itself(plan: Plan) -> None:
    assert parse_plan(dump_plan(plan)) == plan


@settings(deadline=None)
@given(plans())
def test_a_plan_survives_json_and_yaml(plan: Plan) -> None:
    dumped = dump_plan(plan)
    assert parse_plan(json.loads(json.dumps(dumped))) == plan
    assert read_plan(yaml.safe_dump(dumped, sort_keys=False)) == plan
    assert parse_plan(dumped).digest == plan.digest


# Plans for proxies and plans for calls: each is refused where it cannot be carried out.


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
