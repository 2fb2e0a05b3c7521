"""Names that were nearly right."""

from __future__ import annotations

from faultkit.base.text import close_names, did_you_mean

KNOWN = ("latency", "bandwidth", "jitter")


def test_the_most_similar_name_is_suggested() -> None:
    assert did_you_mean("latncy", KNOWN) == '; did you mean "latency"?'


def test_a_message_chooses_its_quotes() -> None:
    assert did_you_mean("latncy", KNOWN, "'") == "; did you mean 'latency'?"
    assert did_you_mean("latncy", KNOWN, "") == "; did you mean latency?"


def test_nothing_is_suggested_for_a_name_like_no_other() -> None:
    assert did_you_mean("zzz", KNOWN) == ""
    assert close_names("zzz", KNOWN) == []
    assert close_names("latency", ()) == []


def test_several_names_come_in_order_of_similarity() -> None:
    assert close_names("reset", iter(["preset", "rest", "reseat", "other"]), most=2) == ["reseat", "preset"]
