"""Which answers are like those without a fault."""

from __future__ import annotations

from collections import Counter

import pytest

from faultkit.code.proof.healthy_answers import Answer, Answers, HealthyAnswers, Unlike


def answers(*texts: str, status: int = 200) -> Answers:
    """Return answers with these bodies; digits are what varies in them."""
    return Counter(
        Answer(status, text, "".join(each for each in text if not each.isdigit()), len(text), text)
        for text in texts
    )


def healthy(before: list[Answers], after: list[Answers] | None = None) -> HealthyAnswers:
    return HealthyAnswers({"before": before, "after": after or []})


@pytest.mark.parametrize(
    ("before", "after", "count"),
    [
        ([answers("a1", "a1")], answers("a1"), 0),
        ([answers("a1", "a1")], answers("a1", "a2", "b"), 2),
        ([answers("a1", "a2")], answers("a1", "a3", "b"), 1),
        ([answers("a1"), answers("a2")], answers("a3", "b"), 1),
        ([answers("a", "b"), answers("b")], answers("a", "b"), 0),
        ([answers("a", "b"), answers("b")], answers("c"), 1),
        ([answers("a1")], answers("a1", status=201), 1),
        ([answers("a"), answers("b")], answers("c"), 0),
        ([answers("a", "b", "c", "d")], answers("e"), 0),
        ([answers(), answers("a")], answers("b"), 1),
        ([answers()], answers("b"), 0),
    ],
    ids=[
        "the same", "others", "numbers vary within a process", "numbers vary between processes", "a choice",
        "none of a choice", "another status", "all varies between processes", "all varies", "one knows",
        "unknown",
    ],
)  # fmt: skip
def test_what_varies_in_the_old_version_is_no_change(
    before: list[Answers], after: Answers, count: int
) -> None:
    assert healthy(before).changed(after).count == count


def test_under_a_fault_answers_of_either_version_without_one_are_usual() -> None:
    known = healthy([answers("old")], [answers("new")])
    given = answers("old", "new", "other")
    assert known.unlike("after", given) == Unlike(1, "`other` instead of `old`")
    assert known.unlike("before", given).count == 2


def test_answers_are_described_by_their_beginnings() -> None:
    def text_of(body: str) -> str:
        return answers(body).most_common(1)[0][0].text

    assert text_of("") == "an empty body (200)"
    assert text_of('{"a":\n  1}') == '`{"a": 1}`'
    assert text_of("x" * 61) == f"`{'x' * 60}…`"
