"""Leases: which plan is in force at each instant."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from faultkit.faults.connection.refuse import Refuse
from faultkit.plan import Plan, Rule
from faultkit.proxy.control.leases import Leases


def plan(*names: str, seed: int = 0) -> Plan:
    return Plan(tuple(rule(name) for name in names), seed)


def rule(name: str) -> Rule:
    return Rule(name, Refuse())


def names(leases: Leases) -> str:
    return " ".join(each.name for each in leases.plan.rules)


def test_the_first_plan_never_expires() -> None:
    leases = Leases.of(plan("a"))
    assert leases.next_expiry == math.inf
    assert leases.at(1e18) is leases


def test_a_plan_gives_way_to_the_one_before_when_its_time_is_over() -> None:
    leases = Leases.of(plan("a", seed=1)).replaced(plan("b", seed=2), until=10)
    assert (names(leases.at(9.999)), leases.plan.seed) == ("b", 2)
    assert (names(leases.at(10)), leases.at(10).plan.seed) == ("a", 1)


def test_a_plan_that_expires_below_another_one_does_not_come_back() -> None:
    leases = Leases.of(plan("a")).replaced(plan("b"), until=10).replaced(plan("c"), until=5)
    assert [names(leases.at(t)) for t in (4, 5, 10)] == ["c", "b", "a"]
    longer = Leases.of(plan("a")).replaced(plan("b"), until=10).replaced(plan("c"), until=20)
    assert [names(longer.at(t)) for t in (10, 19, 20)] == ["c", "c", "a"]
    assert len(longer.plans) == 2


def test_a_plan_without_an_end_replaces_all_before_it() -> None:
    leases = Leases.of(plan("a")).replaced(plan("b"), until=10).replaced(plan("c"))
    assert len(leases.plans) == 1
    assert names(leases.at(1e18)) == "c"


def test_an_added_rule_goes_when_its_time_is_over_and_the_others_stay() -> None:
    leases = Leases.of(plan("a")).added(rule("b"), until=10).added(rule("c"))
    assert leases.until == {"a": math.inf, "b": 10, "c": math.inf}
    assert [names(leases.at(t)) for t in (9, 10)] == ["a b c", "a c"]


def test_a_rule_that_was_added_to_a_plan_goes_with_it() -> None:
    leases = Leases.of(plan("a")).replaced(plan("b"), until=10).added(rule("c"), until=20)
    assert leases.until == {"b": 10, "c": 10}
    assert names(leases.at(10)) == "a"


def test_a_removed_rule_is_gone() -> None:
    leases = Leases.of(plan("a", "b")).removed("a")
    assert names(leases) == "b"


@given(st.lists(st.floats(1, 1000)), st.floats(0, 2000))
def test_whatever_is_put_on_top_something_holds_and_nothing_is_past_its_time(
    untils: list[float], now: float
) -> None:
    leases = Leases.of(plan("base"))
    for index, until in enumerate(untils):
        leases = leases.replaced(plan(f"r{index}"), until).added(rule("extra"), until + 1)
    later = leases.at(now)
    assert later.next_expiry > now
    assert later.plan.rules
    # Each plan outlives the one above it, so the stack stays as small as it can be.
    times = [plan.until for plan in leases.plans]
    assert times == sorted(times, reverse=True)
    assert len(set(times)) == len(times)


def test_the_plan_of_a_run_is_on_top_until_its_lease_ends_and_nothing_below_is_lost() -> None:
    before = Leases.of(plan("a")).replaced(plan("b"), until=10)
    leases = before.held("run", plan("c"), until=15)
    assert (names(leases), leases.holder, leases.next_expiry) == ("c", "run", 10)
    assert leases.ended() == before
    assert [names(leases.at(t)) for t in (9, 14, 15)] == ["c", "c", "a"]
    assert leases.at(15).holder == ""
    assert before.ended() is before


def test_a_run_changes_its_plan_and_renews_its_lease() -> None:
    leases = Leases.of(plan("a")).held("run", plan(), until=15).held("run", plan("c"), until=20)
    assert (names(leases), len(leases.plans)) == ("c", 2)
    assert [names(leases.extended(30).at(t)) for t in (20, 29, 30)] == ["c", "c", "a"]


def test_rules_below_a_lease_can_be_removed_and_renewed() -> None:
    leases = Leases.of(plan("a", "b")).added(rule("c"), until=10).held("run", plan("a"), until=15)
    assert names(leases.removed("a")) == "a"
    assert names(leases.removed("a").ended()) == "b c"
    assert names(leases.renewed("c", 40).at(39)) == "a b c"
    assert names(leases.added(rule("d")).ended()) == "a b c d"
