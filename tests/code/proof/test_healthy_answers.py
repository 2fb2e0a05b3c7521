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


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (Answer(200, "b", "b", 3, "abd"), "`abd` instead of `abc`"),
        (Answer(201, "a", "a", 3, "abc"), "`abc` (status 201) instead of `abc` (status 200)"),
        (
            Answer(200, "a", "a", 3, "abc", "Text/HTML"),
            "`abc` (text/html) instead of `abc` (no Content-Type)",
        ),
        (Answer(204, "", "", 0, ""), "an empty body (204) (status 204) instead of `abc` (status 200)"),
    ],
)
def test_two_answers_are_told_by_what_differs(given: Answer, text: str) -> None:
    assert given.instead_of(Answer(200, "a", "a", 3, "abc")) == text


def test_long_answers_are_told_by_where_they_part_or_by_their_lengths() -> None:
    known = "x" * 70 + "0123456789" * 3
    long = Answer(200, "a", "a", 5000, known)
    cut = Answer(200, "b", "b", 80, known[:80])
    assert cut.instead_of(long) == f"`…{known[60:80]}` instead of `…{known[60:]}…`"
    later = Answer(200, "c", "c", 300, known)
    assert later.instead_of(long) == f"`{'x' * 60}…` (300 bytes) instead of `{'x' * 60}…` (5000 bytes)"
    assert long._replace(digest="d").instead_of(long) == f"`{'x' * 60}…` with another end"


def test_another_type_or_charset_of_an_answer_is_a_change() -> None:
    def typed(content_type: str) -> Answers:
        return Counter([Answer(200, "a", "a", 3, "abc", content_type)])

    known = healthy([typed("application/json; Charset=UTF-8; boundary=1")])
    assert known.changed(typed("Application/JSON;charset=utf-8; boundary=2")).count == 0
    assert known.changed(typed("application/json")).count == 1
    assert known.changed(typed("text/html; charset=utf-8")) == Unlike(
        1, "`abc` (text/html;charset=utf-8) instead of `abc` (application/json;charset=utf-8)"
    )
