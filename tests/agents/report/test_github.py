"""Annotations as GitHub's runner takes them apart."""

from __future__ import annotations

import re

from faultkit.agents.report.ci_formats import command, render_github
from tests.agents.report.samples import ALL, CUT_SHORT, ENEMY, GOOD, HOSTILE, TOOL_FAILED, results

COMMAND = re.compile(r"::(?P<kind>\w+) (?P<properties>.*?)::(?P<message>.*)")
SIGNS = {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}


def read(line: str) -> tuple[str, dict[str, str], str]:
    """Up to the first `::`, then pairs between commas, and the escapes back again, percent signs last."""
    found = COMMAND.fullmatch(line)
    assert found, line
    pairs = (pair.partition("=") for pair in found["properties"].split(","))
    return found["kind"], {name: plain(value) for name, _, value in pairs}, plain(found["message"])


def plain(text: str) -> str:
    for sign, meant in SIGNS.items():
        text = text.replace(sign, meant)
    return text


def test_a_failing_row_is_an_error_at_its_line() -> None:
    assert render_github(results(TOOL_FAILED)) == (
        "::error file=suites/search.yml,line=120,title=failed%3A finds ports::"
        'result.content[0].text: expected to contain "8080", got "none"%0A- 8080%0A+ none\n'
        "1 test: 1 failed\n"
    )


def test_what_passes_is_counted_and_not_annotated() -> None:
    assert render_github(GOOD) == "2 tests: 2 passed\n"


def test_each_failing_row_has_one_line() -> None:
    lines = render_github(ALL).splitlines()
    found = [read(line) for line in lines[:-1]]
    assert [(kind, about["line"]) for kind, about, _ in found] == [
        ("error", line) for line in ("30", "40", "60", "70", "80", "90", "120")
    ]


def test_what_could_not_be_run_is_an_error_of_its_file() -> None:
    first, second, _ = render_github(CUT_SHORT).splitlines()
    assert read(first) == (
        "error",
        {"file": "suites/none.yml", "line": "1"},
        "server files: no such program",
    )
    assert read(second)[1] == {"title": "interrupted"}


def test_signs_of_the_command_are_escaped() -> None:
    line = command("error", "50% of\r\nit: a,b", file="a,b:c%0A.yml", line=3)
    assert line == "::error file=a%2Cb%3Ac%250A.yml,line=3::50%25 of%0D%0Ait: a,b"
    assert read(line) == ("error", {"file": "a,b:c%0A.yml", "line": "3"}, "50% of\r\nit: a,b")


def test_hostile_text_gives_no_command_of_its_own() -> None:
    lines = render_github(ENEMY).split("\n")
    assert len(lines) == 5
    assert [line.startswith("::error ") for line in lines] == [True, True, True, False, False]
    kind, about, message = read(lines[0])
    assert kind == "error"
    assert about["line"] == "1"
    assert about["file"].startswith("a,b:c%/</script>")
    assert message.count("\n") == HOSTILE.diff.count("\n") + 1
    assert not {char for char in lines[0] if char < " " or "\x7f" <= char <= "\x9f"}
