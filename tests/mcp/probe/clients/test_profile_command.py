"""`fault profile`: output, report and exit code."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from faultkit.cli.main import invoke

SCRIPT = str(Path(__file__).with_name("small_client.py"))


def client(way: str) -> tuple[str, ...]:
    return ("--", sys.executable, "-I", SCRIPT, way, "{url}")


def test_a_profile_is_printed_as_a_table_and_written_as_markdown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    report = tmp_path / "profile.md"
    assert invoke(["profile", "--fault", "tool_error", "--report", str(report), *client("plain")]) == 0
    _, row, summary = capsys.readouterr().out.splitlines()
    assert row.split() == ["✗", "tool_error", "failed", "(1)", "1", "1", "session"]
    assert summary == "1 fault over http, legacy era: 1 failed."
    assert "| `tool_error` | failed (1) | 1 |  |  |  | 1 session |  |" in report.read_text("utf-8")


def test_a_profile_is_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["profile", "--json", "--fault", "slow:10", *client("plain")]) == 0
    document = json.loads(capsys.readouterr().out)
    (row,) = document["faults"]
    assert (document["transport"], document["era"]) == ("http", "legacy")
    assert (row["fault"], row["outcome"], row["calls"], row["leaks"]) == ("slow:10", "answered", 1, [])
    assert document["control"]["outcome"] == "answered"


def test_a_control_run_that_fails_is_told_and_ends_with_4(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["profile", "--fault", "hang", *client("failing")]) == 4
    out, err = capsys.readouterr()
    assert "? hang" in out
    assert err.startswith("note: the control run failed, so no fault can be judged: the client ended")


@pytest.mark.parametrize(
    ("args", "code", "problem"),
    [
        ((), 2, "expected the command of the client after --, got none"),
        (("--fault", "hnag", *client("plain")), 2, '--fault "hnag": unknown fault'),
        (("--timeout", "x", *client("plain")), 2, "--timeout: expected a duration"),
        (("--", "no-such-client"), 3, "cannot start no-such-client: there is no such program"),
    ],
)
def test_wrong_input_and_no_target_are_one_line(
    args: tuple[str, ...], code: int, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["profile", *args]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {problem}")
    assert err.count("\n") == 1
