"""A search that cannot go on returns what it has."""

from __future__ import annotations

import pytest

from faultkit.load.search.breaking_point import find_breaking_point
from faultkit.load.search.scale import Scale
from faultkit.load.search.search_values import BreakingPoint, Goal, Measured, SearchEnded


def test_a_search_that_is_ended_keeps_its_levels_and_says_why() -> None:
    search = find_breaking_point(Scale(0.0, 1000.0), [Goal(0.95, 300.0)], 5000)
    block = next(search)
    times = [100.0 + number % 7 for number in range(block.requests)]
    block = search.send(Measured((times,), block.requests))
    with pytest.raises(StopIteration) as end:
        search.throw(SearchEnded("It was stopped."))
    found = end.value.value
    assert isinstance(found, BreakingPoint)
    assert (found.outcome, found.reason, found.broken) == ("inconclusive", "It was stopped.", None)
    assert found.held == block.held
    assert [level.requests for level in found.levels] == [len(times)]
