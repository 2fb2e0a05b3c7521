"""Names that were nearly right, and text that no output or encoding takes."""

from __future__ import annotations

import json

import pytest

from faultkit.base.text import close_names, did_you_mean, escaped_json, has_utf8, with_utf8

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


@pytest.mark.parametrize("text", ["a\x9b31m", "\u2028", "\u202e", "\ufeff", "\ud800", "é😀\x85"])
def test_json_has_escapes_for_what_controls_a_terminal(text: str) -> None:
    written = escaped_json(json.dumps([text], ensure_ascii=False))
    assert json.loads(written) == [text]
    assert written.isprintable()
    assert escaped_json('["é😀"]') == '["é😀"]'


@pytest.mark.parametrize(
    ("text", "fits", "instead"),
    [("a", True, "a"), ("é😀", True, "é😀"), ("a\ud800b", False, "a\ufffdb"), ("\udcff", False, "\ufffd")],
)
def test_half_of_a_surrogate_pair_has_no_utf_8(text: str, fits: bool, instead: str) -> None:
    assert (has_utf8(text), with_utf8(text)) == (fits, instead)
