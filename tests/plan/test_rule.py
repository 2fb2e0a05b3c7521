"""Rule: that a fault and its conditions fit together."""

from __future__ import annotations

import pytest

from faultkit.faults.connection.refuse import Refuse
from faultkit.faults.fault import Fault
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.latency import Latency
from faultkit.plan.match import Match
from faultkit.plan.rule import Rule, fresh_name


@pytest.mark.parametrize(
    ("fault", "match"),
    [
        (Latency(), Match(proxy="db", side="client", direction="both")),
        (HttpError(), Match(method="GET", path="/*", headers=(("a", "*"),))),
        (Refuse(), Match(proxy="db")),
    ],
)
def test_a_fault_takes_the_conditions_of_its_level(fault: Fault, match: Match) -> None:
    assert Rule("any", fault, match).match == match


@pytest.mark.parametrize(
    ("fault", "match", "problem"),
    [
        (
            Latency(),
            Match(method="GET"),
            'match.method: expected only with faults of level http, got "latency", which is of level stream',
        ),
        (
            Latency(),
            Match(path="/"),
            'match.path: expected only with faults of level http, got "latency", which is of level stream',
        ),
        (
            Refuse(),
            Match(headers=(("a", "*"),)),
            "match.headers: expected only with faults of level http, "
            'got "refuse", which is of level connection',
        ),
        (
            Refuse(),
            Match(side="client"),
            'match.side: expected only with faults of level stream, got "refuse", '
            "which is of level connection",
        ),
        (
            HttpError(),
            Match(direction="both"),
            "match.direction: expected only with faults of level stream, "
            f'got "{HttpError.kind}", which is of level http',
        ),
    ],
)
def test_a_condition_that_the_fault_cannot_mind_is_refused(fault: Fault, match: Match, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        Rule("any", fault, match)
    assert str(caught.value) == problem


@pytest.mark.parametrize("name", ["", " a", "a ", "a\nb"])
def test_a_name_that_cannot_be_shown_on_one_line_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name: expected printable text without blanks around it"):
        Rule(name, Latency())


def test_a_fresh_name_counts_up_from_two() -> None:
    assert fresh_name("latency", set()) == "latency"
    assert fresh_name("latency", {"latency"}) == "latency-2"
    assert fresh_name("latency", {"latency", "latency-2"}) == "latency-3"
