from __future__ import annotations

import json
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.address import Endpoint
from faultkit.base.errors import InputError
from faultkit.load.expectation import Expectation
from faultkit.load.load import Load, Target, instants, planned_requests, turns
from faultkit.load.split import VERSION, LoadPlan, Segment, segment_from_json, segment_to_json, split

PLAN = LoadPlan(
    Target("POST", "http://a/", (("X-Key", "v"),), b"\x00\xff", 2.0, proxy=Endpoint("127.0.0.1", 3180)),
    Load(10.0, 50.0, spacing="poisson", seed="7/checkout/0"),
    Expectation(200, 300.0),
)


def segment() -> Segment:
    return split(PLAN, ["one", "two", "three"])[1]


def test_a_plan_is_split_into_shares_with_a_token_each() -> None:
    parts = split(PLAN, ["one", "two"])
    assert [(part.share, part.of, part.token, part.seed) for part in parts] == [
        (0, 2, "one", "7/checkout/0"),
        (1, 2, "two", "7/checkout/0"),
    ]
    assert {part.digest for part in parts} == {PLAN.digest}
    assert replace(PLAN, load=replace(PLAN.load, seed=8)).digest != PLAN.digest


def test_tokens_must_be_different() -> None:
    for tokens in ([], ["same", "same"]):
        with pytest.raises(InputError, match="tokens: expected different ones, at least 1"):
            split(PLAN, tokens)


def test_a_segment_is_the_same_after_its_way_to_another_machine() -> None:
    assert segment_from_json(segment_to_json(segment())) == segment()


def test_a_segment_does_not_show_what_is_secret() -> None:
    assert "X-Key" not in repr(segment())
    assert "two" not in repr(segment())


def test_another_version_refuses_a_segment_whatever_else_it_holds() -> None:
    with pytest.raises(
        InputError, match=rf"version: expected a segment of faultkit {VERSION}, got one of 9\.9"
    ):
        segment_from_json('{"version": "9.9", "form": "unknown"}')
    with pytest.raises(InputError, match="version"):
        replace(segment(), version="0.0.1/1").check()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"digest": "0" * 64}, "digest: expected [0-9a-f]{64}, that of its plan, got 0000"),
        ({"share": 3}, "share: expected 0 or more and less than 3, got 3"),
        ({"plan": {}}, "segment: expected a whole segment, got a damaged one"),
        ({"share": None}, "segment: expected a whole segment, got a damaged one"),
    ],
)
def test_a_damaged_segment_is_refused(change: dict[str, object], problem: str) -> None:
    document = json.loads(segment_to_json(segment()))
    with pytest.raises(InputError, match=problem):
        segment_from_json(json.dumps({**document, **change}))


def test_a_segment_whose_plan_was_changed_is_refused() -> None:
    document = json.loads(segment_to_json(segment()))
    document["plan"]["load"]["rate_rps"] = 5000.0
    with pytest.raises(InputError, match="digest: expected"):
        segment_from_json(json.dumps(document))


@pytest.mark.parametrize("text", ["", "hello", "[]", "{}", "null"])
def test_what_is_no_segment_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="segment: expected a segment as JSON"):
        segment_from_json(text)


@given(
    st.floats(0.5, 3.0),
    st.floats(1.0, 60.0),
    st.sampled_from(("even", "poisson")),
    st.integers(1, 7),
    st.integers(1, 9),
)
def test_segments_together_are_the_schedule_and_each_knows_how_much_it_plans(
    duration_s: float, rate_rps: float, spacing: Literal["even", "poisson"], parts: int, clients: int
) -> None:
    load = Load(duration_s, rate_rps, spacing=spacing, seed=3)
    shares = [list(instants(load, share, parts)) for share in range(parts)]
    assert sorted(at for share in shares for at in share) == list(instants(load))
    assert [len(share) for share in shares] == [planned_requests(load, i, parts) for i in range(parts)]
    paced = replace(load, model="closed", clients=clients)
    turned = [list(turns(paced, share, parts)) for share in range(parts)]
    assert [len(share) for share in turned] == [planned_requests(paced, i, parts) for i in range(parts)]
    assert planned_requests(replace(paced, rate_rps=None)) is None


@pytest.mark.parametrize(
    ("line", "got"), [("{", "a text that is no JSON"), ("{}", "JSON that is no segment"), ("7", "JSON that")]
)
def test_what_is_no_segment_is_refused_with_the_reason(line: str, got: str) -> None:
    with pytest.raises(InputError, match=f"segment: expected a segment as JSON, got {got}"):
        segment_from_json(line)
