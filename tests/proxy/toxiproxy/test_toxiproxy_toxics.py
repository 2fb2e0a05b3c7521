"""Toxics and the rules that they become: tables of exact values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.faults.fault import StreamFault
from faultkit.faults.stream.bandwidth import Bandwidth
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.limit_data import LimitData
from faultkit.faults.stream.packet_loss import PacketLoss
from faultkit.faults.stream.slicer import Slicer
from faultkit.faults.stream.slow_close import SlowClose
from faultkit.faults.stream.timeout import Timeout
from faultkit.plan import Match, Plan, Rule, Trigger, dump_plan
from faultkit.proxy.toxiproxy.request_fields import Refusal
from faultkit.proxy.toxiproxy.toxics import (
    TOXIC_TYPES,
    JitteredLatency,
    ResetPeer,
    Toxic,
    in_list_order,
    new_toxic,
    rule_of,
    updated_toxic,
)


def fixed(delay: float) -> Latency:
    return Latency(per="operation", mean_ms=delay)


def uniform(low: float, high: float) -> Latency:
    return Latency(distribution="uniform", per="operation", min_ms=low, max_ms=high)


def lossy(good_to_bad: float, bad_to_good: float) -> PacketLoss:
    return PacketLoss(
        model="gilbert-elliott",
        good_to_bad=good_to_bad,
        bad_to_good=bad_to_good,
        good_loss=0.0,
        bad_loss=1.0,
    )


@pytest.mark.parametrize(
    ("type_name", "attributes", "fault"),
    [
        ("latency", {"latency": 100}, fixed(100)),
        ("latency", {"latency": 100, "jitter": 20}, uniform(80, 120)),
        ("latency", {"latency": 100, "jitter": -20}, fixed(100)),
        ("latency", {"latency": -5}, fixed(0)),
        ("latency", {}, fixed(0)),
        (
            "latency",
            {"latency": 10, "jitter": 30},
            JitteredLatency(distribution="uniform", per="operation", max_ms=40, low_ms=-20),
        ),
        ("bandwidth", {"rate": 64}, Bandwidth(rate=64, unit="KBps")),
        ("bandwidth", {"rate": 2**63 - 1}, Bandwidth(rate=1e12, unit="KBps")),
        ("bandwidth", {"rate": 0}, Blackhole(mode="stall")),
        ("bandwidth", {}, Blackhole(mode="stall")),
        ("slow_close", {"delay": 250}, SlowClose(delay_ms=250)),
        ("slow_close", {}, SlowClose(delay_ms=0)),
        ("timeout", {"timeout": 3000}, Timeout(timeout_ms=3000)),
        ("timeout", {}, Timeout(timeout_ms=0)),
        ("reset_peer", {"timeout": 50}, ResetPeer(after_ms=50, on="data")),
        ("reset_peer", {}, ResetPeer(after_ms=0, on="data")),
        (
            "slicer",
            {"average_size": 64, "size_variation": 8, "delay": 10},
            Slicer(average_bytes=64, variation_bytes=8, delay_us=10),
        ),
        ("slicer", {}, Slicer(average_bytes=1, variation_bytes=0, delay_us=0)),
        ("limit_data", {"bytes": 1000}, LimitData(bytes=1000)),
        ("limit_data", {}, LimitData(bytes=0)),
        ("packet_loss", {"loss_rate": 0.25}, lossy(0.25, 0.75)),
        ("packet_loss", {"loss_rate": 0.25, "correlation": 0.5}, lossy(0.25, 0.25)),
        ("packet_loss", {"loss_rate": 7, "correlation": 7}, lossy(1.0, 0.0)),
        ("packet_loss", {}, lossy(0.0, 1.0)),
        ("noop", {}, None),
    ],
)
def test_a_toxic_becomes_a_fault(
    type_name: str, attributes: dict[str, float], fault: StreamFault | None
) -> None:
    assert new_toxic({"type": type_name, "attributes": attributes}).fault() == fault


@pytest.mark.parametrize(
    ("type_name", "names"),
    [
        ("latency", ["latency", "jitter"]),
        ("bandwidth", ["rate"]),
        ("slow_close", ["delay"]),
        ("timeout", ["timeout"]),
        ("reset_peer", ["timeout"]),
        ("slicer", ["average_size", "size_variation", "delay"]),
        ("limit_data", ["bytes"]),
        ("packet_loss", ["loss_rate", "correlation"]),
        ("noop", []),
    ],
)
def test_every_attribute_is_given_back_and_is_0_where_it_was_left_out(
    type_name: str, names: list[str]
) -> None:
    assert new_toxic({"type": type_name}).document() == {
        "name": f"{type_name}_downstream",
        "type": type_name,
        "stream": "downstream",
        "toxicity": 1.0,
        "attributes": dict.fromkeys(names, 0),
    }


def test_the_table_has_every_type_of_the_original() -> None:
    assert set(TOXIC_TYPES) == {
        "latency",
        "bandwidth",
        "slow_close",
        "timeout",
        "reset_peer",
        "slicer",
        "limit_data",
        "packet_loss",
        "noop",
    }


@pytest.mark.parametrize(
    ("document", "status", "message"),
    [
        (
            {"type": "latency", "stream": "sideways"},
            400,
            "stream was invalid, can be either upstream or downstream",
        ),
        ({"type": "latency", "stream": ""}, 400, "stream was invalid, can be either upstream or downstream"),
        ({"type": "earthquake"}, 400, "invalid toxic type"),
        ({}, 400, "invalid toxic type"),
        ({"type": 5}, 400, "bad request body: type: expected a text, got 5"),
        (["latency"], 400, "bad request body: body: expected an object, got a list"),
        ({"type": "noop", "toxicity": "1"}, 400, 'bad request body: toxicity: expected a number, got "1"'),
        ({"type": "noop", "toxicity": True}, 400, "bad request body: toxicity: expected a number, got true"),
        (
            {"type": "latency", "attributes": {"latency": 1.5}},
            400,
            "bad request body: latency: expected a whole number, got 1.5",
        ),
        (
            {"type": "latency", "attributes": {"latency": "1s"}},
            400,
            'bad request body: latency: expected a number, got "1s"',
        ),
        (
            {"type": "latency", "attributes": {"latency": 2**63}},
            400,
            "bad request body: latency: expected a whole number, got 9223372036854775808",
        ),
        (
            {"type": "latency", "attributes": [1]},
            400,
            "bad request body: attributes: expected an object, got a list",
        ),
        (
            {"type": "bandwidth", "attributes": {"rate": -1}},
            400,
            "bad request body: rate: expected at least 0, got -1",
        ),
    ],
)
def test_a_wrong_toxic_is_refused_with_the_reason(document: object, status: int, message: str) -> None:
    with pytest.raises(Refusal) as refused:
        new_toxic(document)
    assert refused.value.document() == {"error": message, "title": message, "status": status}


def test_null_is_as_good_as_nothing_and_unknown_keys_are_ignored() -> None:
    document = {
        "type": "latency",
        "name": None,
        "stream": None,
        "toxicity": None,
        "attributes": {"latency": 100.0, "jitter": None, "colour": "red"},
        "colour": "red",
    }
    assert new_toxic(document) == Toxic(
        "latency_downstream", "latency", "downstream", 1.0, {"latency": 100, "jitter": 0}
    )


def test_a_stream_may_be_written_in_capitals() -> None:
    assert new_toxic({"type": "noop", "stream": "UPSTREAM"}).name == "noop_upstream"


def test_an_update_changes_what_it_names_and_nothing_else() -> None:
    toxic = new_toxic({"type": "latency", "name": "slow", "attributes": {"latency": 100, "jitter": 9}})
    changed = updated_toxic(
        toxic,
        {"name": "x", "type": "noop", "stream": "upstream", "toxicity": 0.5, "attributes": {"jitter": 1}},
    )
    assert changed == Toxic("slow", "latency", "downstream", 0.5, {"latency": 100, "jitter": 1})
    assert updated_toxic(changed, {}) == changed


@pytest.mark.parametrize(("stream", "side"), [("upstream", "client"), ("downstream", "server")])
def test_the_rule_of_a_toxic_reads_from_the_socket_where_the_stream_begins(stream: str, side: str) -> None:
    toxic = new_toxic({"type": "timeout", "stream": stream, "toxicity": 0.25})
    rule = rule_of("db", toxic)
    assert rule is not None
    assert rule == Rule(
        f"db/timeout_{stream}",
        Timeout(timeout_ms=0),
        Match.only("db", rule.match.side, "ingress"),
        Trigger(probability=0.25),
    )
    assert rule.match.side == side


@pytest.mark.parametrize(("given", "probability"), [(1, 1.0), (7, 1.0), (0.5, 0.5)])
def test_toxicity_is_a_probability(given: float, probability: float) -> None:
    rule = rule_of("p", new_toxic({"type": "timeout", "toxicity": given}))
    assert rule is not None
    assert rule.trigger == Trigger(probability=probability)


@pytest.mark.parametrize(
    "document", [{"type": "timeout", "toxicity": 0}, {"type": "timeout", "toxicity": -1}, {"type": "noop"}]
)
def test_what_can_do_nothing_has_no_rule(document: object) -> None:
    assert rule_of("p", new_toxic(document)) is None


@given(st.lists(st.tuples(st.text(min_size=1), st.text(min_size=1)), unique=True, max_size=8))
def test_rules_have_names_of_their_own_and_cover_only_their_proxy(names: list[tuple[str, str]]) -> None:
    rules = []
    for proxy, toxic in names:
        rule = rule_of(proxy, new_toxic({"type": "timeout", "name": toxic}))
        assert rule is not None
        assert [other for other, _ in names if rule.match.covers_proxy(other)] == [
            other for other, _ in names if other == proxy
        ]
        rules.append(rule)
    assert len(Plan(tuple(rules)).rules) == len(names)


def test_plans_of_toxics_can_be_dumped() -> None:
    rules = [
        rule_of("p", new_toxic({"type": name, "attributes": {"latency": 1, "jitter": 2}}))
        for name in TOXIC_TYPES
    ]
    kinds = [rule["fault"] for rule in dump_plan(Plan(tuple(rule for rule in rules if rule)))["rules"]]  # type: ignore[attr-defined]
    assert kinds == [
        "latency",
        "blackhole",
        "slow_close",
        "timeout",
        "reset",
        "slicer",
        "limit_data",
        "packet_loss",
    ]


def test_lists_have_upstream_first_and_keep_the_order_of_each_chain() -> None:
    toxics = [
        new_toxic({"type": "noop", "name": name, "stream": stream})
        for name, stream in (("a", "downstream"), ("b", "upstream"), ("c", "downstream"), ("d", "upstream"))
    ]
    assert [toxic.name for toxic in in_list_order(toxics)] == ["b", "d", "a", "c"]
