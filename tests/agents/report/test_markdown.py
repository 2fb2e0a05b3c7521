"""Markdown of results: tables that do not break, and reasons below them."""

from __future__ import annotations

import re

from faultkit.agents.report.suite_text import escaped, render_markdown
from tests.agents.report.samples import (
    ALL,
    CUT_SHORT,
    ENEMY,
    FALLING_BACK,
    GOOD,
    SKIPPED,
    TOOL_FAILED,
    results,
)


def test_a_small_report_to_the_letter() -> None:
    assert render_markdown(results(FALLING_BACK, SKIPPED, TOOL_FAILED)) == (
        "# Suites\n"
        "\n"
        "**3 tests: 1 passed, 1 failed, 1 skipped** (virtual time, seed 7)\n"
        "\n"
        "## suites/search.yml\n"
        "\n"
        "|  | test | recovery (ms) | detections | retries | path | calls |\n"
        "|---|---|---:|---:|---:|---|---:|\n"
        "| ✓ passed | falling back (recovery) | 3120 | 1 | 0 | other\\_tool | 3 |\n"
        "| – skipped | left out | - | - | - | - | - |\n"
        "| ✕ failed | finds ports | - | - | - | - | - |\n"
        "\n"
        "## What failed\n"
        "\n"
        "### ✕ finds ports\n"
        "\n"
        'result.content\\[0\\].text: expected to contain "8080", got "none"\n'
        "\n"
        "verdict failed · at suites/search.yml:120 · limit result.content\\[0\\].text\n"
        "\n"
        "```diff\n"
        "- 8080\n"
        "+ none\n"
        "```\n"
    )


def test_every_failing_row_has_a_heading_of_its_own() -> None:
    assert len(re.findall(r"^### ", render_markdown(ALL), re.MULTILINE)) == 7
    assert "## What failed" not in render_markdown(GOOD)


def test_what_could_not_be_run_is_quoted_at_the_top() -> None:
    text = render_markdown(CUT_SHORT)
    assert "> **Interrupted**: the run was interrupted: tests that are missing here were not run\n" in text
    assert "> **suites/none.yml**: server files: no such program\n" in text


def test_signs_of_markdown_and_html_are_escaped() -> None:
    assert escaped("a|b `c` *d* <e> [f](g) &amp; \\ x\ny") == (
        "a\\|b \\`c\\` \\*d\\* &lt;e&gt; \\[f\\](g) &amp;amp; \\\\ x y"
    )


def test_hostile_text_breaks_no_table_and_no_fence() -> None:
    text = render_markdown(ENEMY)
    rows = [line for line in text.split("\n") if line.startswith("| ")]
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows] == [8, 8, 8]
    assert "<img" not in text.partition("````diff")[0]
    fenced = text.partition("````diff\n")[2].partition("\n````\n")
    assert fenced[0].startswith("```\n</script>")
    assert fenced[2] == ""
    assert not {char for char in text if not char.isprintable()} - {"\n", "\u200b"}
