"""`fault edge`: output, report and exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from faultkit.cli.main import invoke
from tests.mcp.gateway.gateway_processes import FEATURES
from tests.mcp.probe.servers.odd_server_places import on_pipes

GOOD = ("--", *on_pipes().command)
LAX = ("--", *on_pipes("takes any envelope").command)
CARELESS = ("--", *on_pipes("takes any arguments").command)


def test_a_table_says_what_came_of_each_probe(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["edge", "--only", "EDGE-009", "--only", "edge-006", *GOOD]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines() == [
        "✓ EDGE-009  SHOULD  passed          A malformed envelope is answered with -32600",
        "            3 messages, each answered with error -32600",
        "– EDGE-006  SHOULD  not applicable  A call beyond the server's own limit ends in a clean error",
        "            name a tool that takes longer than the server allows with --slow",
        "1 passed, 1 not applicable. Tools called: none.",
    ]


def test_a_probe_that_failed_fails_a_strict_run_and_is_told_as_json_and_markdown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    report = tmp_path / "edge.md"
    assert invoke(["edge", "--strict", "--json", "--report", str(report), "--only", "EDGE-009", *LAX]) == 1
    out, err = capsys.readouterr()
    assert err == "The run failed: EDGE-009 failed.\n"
    document = json.loads(out)
    assert document["summary"] == {"passed": 0, "failed": 1, "not applicable": 0, "inconclusive": 0}
    (result,) = document["results"]
    assert (result["id"], result["level"], result["verdict"]) == ("EDGE-009", "SHOULD", "failed")
    assert (result["unanswered"], result["expected_failure"]) == (False, False)
    assert result["evidence"][0] == {
        "sent": '{"id":"e1","method":"ping"}',
        "came": '{"jsonrpc":"2.0","id":"e1","result":{}}',
    }
    text = report.read_text("utf-8")
    assert "| EDGE-009 | SHOULD | failed |" in text
    assert '| `{"id":"e1","method":"ping"}` |' in text


def test_a_should_that_failed_fails_the_run_only_if_it_is_strict(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["edge", "--only", "EDGE-103", *CARELESS]) == 0
    assert invoke(["edge", "--strict", "--only", "EDGE-103", *CARELESS]) == 1
    assert capsys.readouterr().out.count("✗ EDGE-103  SHOULD  failed ") == 2


def test_a_healthy_server_on_the_official_sdk_passes(capsys: pytest.CaptureFixture[str]) -> None:
    """The SDK ignores messages that are no requests, which no specification forbids."""
    assert invoke(["edge", "--timeout", "3s", "--only", "EDGE-009", "--", *FEATURES]) == 0
    assert "✗ EDGE-009  SHOULD  failed " in capsys.readouterr().out


@pytest.mark.parametrize("vice", ["forgets calls", "falls over Unicode"])
def test_a_server_that_ends_or_does_not_answer_fails_the_run_at_any_level(
    vice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    id = "EDGE-004" if vice == "forgets calls" else "EDGE-001"
    server = ("--timeout", "1s", "--only", id, "--", *on_pipes(vice).command)
    assert invoke(["edge", *server]) == 1
    out = capsys.readouterr().out
    assert f"✗ {id}  SHOULD  failed " in out
    assert out.endswith(f"The run failed: the server gave no valid reply in {id}.\n")


@pytest.mark.parametrize(
    ("vice", "id", "why"),
    [
        ("answers calls with two answers", "EDGE-003", "the reply has both a result and an error"),
        ("answers calls with null", "EDGE-001", "an ordinary call of say: the result of the reply is not an"),
        ("answers calls with null", "EDGE-003", "the result of the reply is not an object"),
        ("begins with two answers", "EDGE-005", "round 1 of 3: the reply has both a result and an error"),
    ],
)
def test_a_malformed_reply_to_a_valid_request_fails_the_run_at_any_level(
    vice: str, id: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["edge", "--only", id, "--", *on_pipes(vice).command]) == 1
    out = capsys.readouterr().out
    assert f"✗ {id}  SHOULD  failed " in out
    assert f"\n            {why}" in out
    assert out.endswith(f"The run failed: the server gave no valid reply in {id}.\n")


@pytest.mark.parametrize(
    ("vice", "why"),
    [
        (
            "cannot list",
            'the server announces tools, and tools/list is answered with error -32603: "no database"',
        ),
        ("lists nothing", 'tools/list: the result lacks a list "tools"'),
    ],
)
def test_a_server_that_cannot_list_the_tools_that_it_announces_fails_the_run(
    vice: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server = ("--", *on_pipes(vice).command)
    assert invoke(["edge", "--only", "EDGE-001", "--only", "EDGE-106", *server]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "? EDGE-001  SHOULD  inconclusive    Unicode in arguments arrives unchanged",
        f"            {why}",
        "✗ EDGE-106  MUST    failed          A list that the server announces can be read",
        f"            {why}",
        "1 failed, 1 inconclusive. Tools called: none.",
        "The run failed: EDGE-106 failed.",
    ]
    assert invoke(["edge", "--tool", "say", *server]) == 2
    assert f'got "say" (tools: none: {why})' in capsys.readouterr().err


def test_a_failure_that_is_expected_does_not_count_and_a_pass_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    known = ("edge", "--strict", "--only", "EDGE-103", "--expect-failure", "edge-103")
    assert invoke([*known, *CARELESS]) == 0
    out = capsys.readouterr().out
    assert "The run failed" not in out
    assert (
        "\n            as expected: the tool was run with arguments that its schema does not allow\n" in out
    )
    assert "1 failed (1 as expected). Tools called: " in out
    assert invoke([*known, *GOOD]) == 1
    assert capsys.readouterr().out.endswith(
        "The run failed: EDGE-103 passed, though --expect-failure says otherwise.\n"
    )


def test_an_expected_failure_that_the_run_did_not_show_is_noted(capsys: pytest.CaptureFixture[str]) -> None:
    known = ("--expect-failure", "edge-103", "--expect-failure", "EDGE-006")
    assert invoke(["edge", "--only", "EDGE-006", "--only", "EDGE-104", *known, *GOOD]) == 0
    unknown = "so it is unknown whether it still fails as --expect-failure says"
    notes = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note: ")]
    assert notes == [
        f"note: EDGE-103 was not run, {unknown}",
        f"note: EDGE-006 was not applicable, {unknown}",
    ]


def test_a_failure_that_was_expected_is_called_so_in_files(tmp_path: Path) -> None:
    page, junit = tmp_path / "edge.md", tmp_path / "edge.xml"
    for report in (page, junit):
        known = ("--strict", "--only", "EDGE-103", "--expect-failure", "EDGE-103", "--report", str(report))
        assert invoke(["edge", *known, *CARELESS]) == 0
    assert "| EDGE-103 | SHOULD | failed as expected |" in page.read_text("utf-8")
    root = ET.fromstring(junit.read_text("utf-8"))
    (skipped,) = root.iter("skipped")
    assert (skipped.text or "").startswith("failed as expected: the tool was run with arguments")
    (suite,) = root
    assert not suite.attrib["timestamp"].startswith("1970")


@pytest.mark.parametrize(("number", "code"), [(2, 130), (15, 143), (1, 129)])
def test_a_signal_ends_it_with_the_code_of_the_signal(number: int, code: int) -> None:
    server = on_pipes("hangs").command
    slow = ("--only", "EDGE-104", "--only", "EDGE-006", "--slow", "sleep", "--timeout", "60s")
    command = [sys.executable, "-m", "faultkit", "edge", *slow, "--", *server]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "EDGE-104" in process.stdout.readline()
        process.send_signal(number)
        process.stdout.read()
        assert process.wait(20) == code


def test_probes_can_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    ids = ("--only", "EDGE-009", "--only", "EDGE-104")
    assert invoke(["edge", *ids, "--skip", "edge-009", *GOOD]) == 0
    assert "EDGE-009" not in capsys.readouterr().out


def test_the_results_can_be_written_for_a_ci_system(tmp_path: Path) -> None:
    report = tmp_path / "edge.xml"
    ids = ("--only", "EDGE-006", "--only", "EDGE-103", "--only", "EDGE-104")
    assert invoke(["edge", "--strict", "--report", str(report), *ids, *CARELESS]) == 1
    root = ET.fromstring(report.read_text("utf-8"))
    (suite,) = root
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    (failure,) = root.iter("failure")
    assert failure.get("message") == "the tool was run with arguments that its schema does not allow"
    assert (failure.text or "").startswith('sent: {"jsonrpc":"2.0","id":')


@pytest.mark.parametrize(
    ("args", "code", "problem"),
    [
        ((), 2, "expected a command behind -- or --url URL, got neither"),
        (("--slow", "x={", *GOOD), 2, '--slow: expected a JSON object behind "x=", got "{"'),
        (("--slow", "=", *GOOD), 2, '--slow: expected TOOL or TOOL={JSON}, got "="'),
        (("--header", "a: b", *GOOD), 2, "--header: expected --url URL beside it"),
        (("--args", "say", *GOOD), 2, '--args: expected TOOL={JSON}, got "say"'),
        (("--args", "say=[]", *GOOD), 2, '--args: expected a JSON object behind "say=", got "[]"'),
        (
            ("--args", "say={}", "--args", "say={}", *GOOD),
            2,
            "--args: expected each tool once, got say twice",
        ),
        (("--skip", "EDGE-77", *GOOD), 2, '--skip: unknown probe "EDGE-77"'),
        (("--expect-failure", "x", *GOOD), 2, '--expect-failure: unknown probe "x"'),
        (("--only", "EDGE-001", "--skip", "EDGE-001", *GOOD), 2, "--skip: expected a probe that is left"),
        (("--report", "edge.txt", *GOOD), 2, 'edge.txt: expected a file that ends in .md, .xml, got ".txt"'),
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
