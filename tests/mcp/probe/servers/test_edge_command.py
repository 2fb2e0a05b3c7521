"""`fault edge`: output, report and exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from faultkit.cli.main import invoke
from tests.mcp.probe.servers.odd_server_places import on_pipes

GOOD = ("--", *on_pipes().command)
LAX = ("--", *on_pipes("takes any envelope").command)
CARELESS = ("--", *on_pipes("takes any arguments").command)


def test_a_table_says_what_came_of_each_probe(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["edge", "--only", "EDGE-009", "--only", "edge-006", *GOOD]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines() == [
        "✓ EDGE-009  MUST    passed          A malformed envelope is answered with -32600",
        "            3 messages, each answered with error -32600",
        "– EDGE-006  SHOULD  not applicable  A call beyond the server's own limit ends in a clean error",
        "            name a tool that takes longer than the server allows with --slow",
        "1 passed, 1 not applicable. Tools called: none.",
    ]


def test_a_must_that_failed_fails_the_run_and_is_told_as_json_and_markdown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    report = tmp_path / "edge.md"
    assert invoke(["edge", "--json", "--report", str(report), "--only", "EDGE-009", *LAX]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["summary"] == {"passed": 0, "failed": 1, "not applicable": 0, "inconclusive": 0}
    (result,) = document["results"]
    assert (result["id"], result["level"], result["verdict"]) == ("EDGE-009", "MUST", "failed")
    assert result["evidence"][0] == {
        "sent": '{"id":"e1","method":"ping"}',
        "came": '{"jsonrpc":"2.0","id":"e1","result":{}}',
    }
    text = report.read_text("utf-8")
    assert "| EDGE-009 | MUST | failed |" in text
    assert '| `{"id":"e1","method":"ping"}` |' in text


def test_a_should_that_failed_fails_the_run_only_if_it_is_strict(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["edge", "--only", "EDGE-103", *CARELESS]) == 0
    assert invoke(["edge", "--strict", "--only", "EDGE-103", *CARELESS]) == 1
    assert capsys.readouterr().out.count("✗ EDGE-103  SHOULD  failed ") == 2


@pytest.mark.parametrize(
    ("args", "code", "problem"),
    [
        ((), 2, "expected a command behind -- or --url URL, got neither"),
        (("--slow", "x={", *GOOD), 2, '--slow: expected a JSON object behind "x=", got "{"'),
        (("--slow", "=", *GOOD), 2, '--slow: expected TOOL or TOOL={JSON}, got "="'),
        (("--header", "a: b", *GOOD), 2, "--header: expected --url URL beside it"),
        (("--report", "edge.txt", *GOOD), 2, 'edge.txt: expected a file that ends in .md, got ".txt"'),
        (("--timeout", "0", *GOOD), 2, '--timeout: expected more than 0, got "0"'),
        (("--", "no-such-server"), 3, "cannot start no-such-server: there is no such program"),
        (("--url", "http://127.0.0.1:9/mcp"), 3, "cannot reach http://127.0.0.1:9/mcp: "),
    ],
)
def test_wrong_input_and_no_target_are_one_line(
    args: tuple[str, ...], code: int, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["edge", *args]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {problem}")
    assert err.count("\n") == 1
