"""Text for terminals and Markdown: a line or table row for each result, reasons of failures, a summary."""

from __future__ import annotations

import re

import pytest

from faultkit.agents.report.suite_text import (
    escaped,
    render_markdown,
    render_pretty,
    render_quiet,
    row_line,
    row_lines,
    summary_lines,
)
from faultkit.agents.suite.results import ResultRow
from tests.agents.report.samples import (
    ALL,
    CUT_SHORT,
    EMPTY,
    ENEMY,
    ERROR,
    FAILED,
    FALLING_BACK,
    GOOD,
    HOSTILE,
    INCONCLUSIVE,
    NOT_EXERCISED,
    PASSED,
    SKIPPED,
    TOOL_FAILED,
    TOOL_PASSED,
    results,
)

LINES: list[tuple[ResultRow, str]] = [
    (TOOL_PASSED, "✓ passed        lists files"),
    (
        PASSED,
        "✓ passed        retrying (recovery): recovered in 3040 ms (virtual) after 1 detection(s); "
        "detection budget 3000 ms",
    ),
    (NOT_EXERCISED, "○ not exercised never calls (recovery): no call met an injected fault"),
    (INCONCLUSIVE, "? inconclusive  a stub (recovery): stub: a canned reply shows nothing"),
    (ERROR, "! error         dies at start: server files: it ended with code 3"),
    (SKIPPED, "– skipped       left out: needs a paid key"),
]


@pytest.mark.parametrize(("row", "line"), LINES, ids=[row.name for row, _ in LINES])
def test_a_row_is_one_line(row: ResultRow, line: str) -> None:
    assert row_line(row) == line


def test_what_fails_has_its_reasons_below_it() -> None:
    assert row_lines(FAILED)[1:] == [
        "                at suites/search.yml:30",
        "                limit max_recovery_ms",
        "                3 calls, 2 detections, 2 retries, path retry, ended by reply",
    ]
    assert row_lines(TOOL_FAILED)[1:] == [
        "                at suites/search.yml:120",
        "                limit result.content[0].text",
        "                | - 8080",
        "                | + none",
    ]
    assert len(row_lines(PASSED)) == 1


def test_all_of_it_is_files_rows_and_a_sum() -> None:
    assert render_pretty(results(TOOL_PASSED, SKIPPED)) == (
        "suites/search.yml\n"
        "✓ passed        lists files\n"
        "– skipped       left out: needs a paid key\n"
        "\n"
        "2 tests: 1 passed, 1 skipped (virtual time, seed 7)\n"
    )


def test_the_sum_names_each_verdict_and_how_long_it_took() -> None:
    assert summary_lines(ALL) == [
        "11 tests: 3 passed, 4 failed, 1 not exercised, 1 inconclusive, 1 error, 1 skipped in 321 ms "
        "(virtual time, seed 7)"
    ]
    assert summary_lines(EMPTY) == ["0 tests (virtual time, seed 0)"]


def test_what_could_not_be_run_stands_above_the_sum() -> None:
    assert summary_lines(CUT_SHORT) == [
        "suites/none.yml: server files: no such program",
        "the run was interrupted: tests that are missing here were not run",
        "1 test: 1 passed (virtual time, seed 7)",
    ]


def test_quiet_says_nothing_if_nothing_fails() -> None:
    assert render_quiet(GOOD) == ""


def test_quiet_has_one_line_for_each_failure() -> None:
    assert render_quiet(results(PASSED, NOT_EXERCISED, ERROR)) == (
        "suites/search.yml:60: not exercised: never calls (recovery): no call met an injected fault\n"
        "suites/search.yml:90: error: dies at start: server files: it ended with code 3\n"
    )
    assert render_quiet(CUT_SHORT) == (
        "suites/none.yml: error: server files: no such program\n"
        "the run was interrupted: tests that are missing here were not run\n"
    )


def test_hostile_text_steers_no_terminal_and_makes_no_line() -> None:
    for text in (render_pretty(ENEMY), render_quiet(ENEMY)):
        assert all(line.isprintable() for line in text.split("\n"))
    assert "\n" not in row_line(HOSTILE)


# Markdown


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
