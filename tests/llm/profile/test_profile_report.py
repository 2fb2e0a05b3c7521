"""A profile in every format."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

from faultkit.llm.profile.judging import CaseResult, Defect
from faultkit.llm.profile.profile_report import to_html, to_json, to_junit, to_markdown, to_text
from faultkit.llm.profile.profile_run import LlmProfile

ROWS = (
    CaseResult("auth", "coped", "it ended with exit code 1 and said why: 401", (), 1, 1, 0, (), "401", 120),
    CaseResult(
        "clean_end",
        "defect",
        "took half an answer for a whole one: half | of <it>",
        (Defect("took half an answer for a whole one", "half | of <it>"),),
        0,
        1,
        last_words="half\x1b",
        elapsed_ms=90,
    ),
    CaseResult("no_usage", "not exercised", "the client asks for nothing that the fault acts on"),
)
PROFILE = LlmProfile("python app.py", "openai", True, 15, 7, ROWS, "", ("left out: unknown_tool",))


def test_text_has_a_line_and_a_reason_for_each_case() -> None:
    assert to_text(PROFILE).splitlines() == [
        "✓ auth       coped  (1 request, 120 ms)",
        "             it ended with exit code 1 and said why: 401",
        "✗ clean_end  took half an answer for a whole one  (1 request, 90 ms)",
        "             half | of <it>",
        "– no_usage   not exercised",
        "             the client asks for nothing that the fault acts on",
        "3 cases over openai, streamed: 1 coped, 1 defect, 1 not exercised.",
    ]


def test_json_has_everything() -> None:
    document = json.loads(to_json(PROFILE))
    assert document["summary"] == {"coped": 1, "defect": 1, "not exercised": 1, "inconclusive": 0}
    assert document["cases"][1]["defects"][0]["evidence"] == "half | of <it>"
    assert document["notes"] == ["left out: unknown_tool"]


def test_markdown_and_html_escape_what_the_client_printed() -> None:
    assert "| `clean_end` | took half an answer for a whole one | 1 | 90 ms | half \\| of &lt;it&gt; |" in (
        to_markdown(PROFILE)
    )
    page = to_html(PROFILE)
    assert "half | of &lt;it&gt;" in page
    assert "Defects" in page
    assert "<it>" not in page


def test_junit_has_failures_for_defects_and_skips_what_was_not_judged() -> None:
    suite = ET.fromstring(to_junit(PROFILE))[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")


def test_the_verdict_of_a_profile() -> None:
    assert PROFILE.has_defects
    coped = replace(PROFILE, rows=ROWS[:1])
    assert (coped.has_defects, coped.is_conclusive) == (False, True)
    assert not replace(PROFILE, rows=(ROWS[0], ROWS[2])).is_conclusive
