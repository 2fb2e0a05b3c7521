"""`fault audit`, on a log with a few calls."""

from __future__ import annotations

import csv
import getpass
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from faultkit.audit.log_file import default_store
from faultkit.audit.store_factory import open_store
from faultkit.cli.main import invoke
from tests.audit.rows import NOON_US, entry

PATIENCE_S = 10.0


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "audit.db"
    with open_store(path) as store:
        store.append(
            [
                entry(1, tool_name="flaky", parameters='{"seed":"abc"}', user_subject="bob"),
                entry(2, success=False, error_category="timeout", error_message="it, \x1b[2Jbroke"),
                entry(3, duration_ms=0.5),
            ]
        )
    return str(path)


def said(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> tuple[str, str]:
    assert invoke(["audit", *args]) == code
    out, err = capsys.readouterr()
    return out, err


ID = "00000000-0000-7000-8000-00000000000"


def test_calls_are_listed_newest_first(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = said(capsys, "list", "--store", log)
    assert out == (
        f"{ID}3  2026-09-21T14:13:20.003  echo           ok              0.500 ms  \n"
        f"{ID}2  2026-09-21T14:13:20.002  echo           timeout         2.000 ms    it, \\x1b[2Jbroke\n"
        f"{ID}1  2026-09-21T14:13:20.001  flaky          ok              1.000 ms  bob\n"
    )
    assert err == ""


def test_rows_of_chaos_name_the_experiment_or_the_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = (
        ("chaos.run", '{"experiment_name":"kill\\u001b[2J","outcome":"held"}'),
        ("chaos.inject", '{"fault_name":"slow"}'),
        ("chaos.register", '{"fault_name":"slow","fault_type":"latency"}'),
        ("chaos.undo", '{"lease":"l","owner":"experiment kill","undo":"remove rule cut"}'),
        ("chaos.stop", "{}"),
    )
    with open_store(tmp_path / "audit.db") as store:
        for number, (name, given) in enumerate(rows):
            store.append([entry(number, tool_name=name, tool_group="chaos", parameters=given)])
    out, _ = said(capsys, "list", "--store", str(tmp_path / "audit.db"))
    named = [line.partition(" ms  ")[2] for line in reversed(out.splitlines())]
    assert named == ["kill\\x1b[2J (held)", "slow", "slow (latency)", "remove rule cut", ""]


def test_a_page_reports_that_there_are_more_calls(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = said(capsys, "list", "--store", log, "--limit", "1", "--offset", "1")
    assert "timeout" in out
    assert err == "1 of 3 calls; --limit and --offset show others\n"


FILTERS: tuple[tuple[tuple[str, ...], list[int]], ...] = (
    (("--tool", "flaky"), [1]),
    (("--user", "bob"), [1]),
    (("--session", "none"), []),
    (("--success",), [3, 1]),
    (("--failed",), [2]),
    (("--category", "timeout"), [2]),
    (("--from", "2026-09-21T14:13:20.002Z"), [3, 2]),
    (("--to", "2026-09-21T14:13:20.002Z"), [1]),
    (("--text", "BROKE"), [2]),
    (("--param", "seed=abc"), [1]),
    (("--param", "seed=abc", "--param", "n=1"), []),
    (("--has", "request_params", "--failed"), [2]),
    (("--has", "response_error"), []),
    (("--response", "isError=true"), []),
    (("--header", "User-Agent=curl"), []),
    (("--source", "mcp", "--auth-type", "anonymous", "--tool", "flaky"), [1]),
    (("--key", "ci"), []),
)


@pytest.mark.parametrize(("options", "expected"), FILTERS, ids=str)
def test_each_filter_can_be_given(
    log: str, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], expected: list[int]
) -> None:
    document = json.loads(said(capsys, "list", "--store", log, "--json", *options)[0])
    assert [int(event["id"][-12:]) for event in document["events"]] == expected
    assert (document["total"], document["limit"], document["offset"]) == (len(expected), 50, 0)
    lines = said(capsys, "export", "--store", log, *options)[0].splitlines()
    assert [int(json.loads(line)["id"][-12:]) for line in lines] == expected[::-1]


BAD: tuple[tuple[tuple[str, ...], str], ...] = (
    (("list", "--from", "soon"), "error: --from: expected a time such as"),
    (("list", "--success", "--failed"), "error: --failed: expected without --success, got both"),
    (("list", "--limit", "0"), "error: --limit: expected a whole number from 1 to 1000"),
    (("list", "--text", ""), "error: --text: expected a text, got nothing"),
    (("list", "--param", "seed"), 'error: --param: expected PATH=VALUE, got "seed"'),
    (("list", "--param", "a..b=1"), "error: --param.a..b: expected a path"),
    (("list", "--response", "isError"), 'error: --response: expected PATH=VALUE, got "isError"'),
    (("list", "--header", "=x"), "error: --header.: expected the name of a header"),
    (("list", "--header", "x"), 'error: --header: expected NAME=VALUE, got "x"'),
    (("list", "--auth-type", ""), "error: --auth-type: expected a text, got nothing"),
    (("stats", "--to", "x"), "error: --to: expected a time"),
    (("export", "--format", "xml"), "error: Invalid value for '--format'"),
    (("prune",), "error: Missing option '--older-than'"),
    (("prune", "--older-than", "x"), "error: --older-than: expected a time"),
    (("show", "absent"), "error: ID: expected the id of a call"),
)


@pytest.mark.parametrize(("args", "problem"), BAD, ids=str)
def test_bad_input_is_an_error_that_names_it(
    log: str, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], problem: str
) -> None:
    out, err = said(capsys, *args, "--store", log, code=2)
    assert out == ""
    assert err.startswith(problem)
    assert len(err.splitlines()) == 1


def test_a_log_that_is_not_there_is_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, err = said(capsys, "list", "--store", str(tmp_path / "none.db"), code=2)
    assert "there is no file" in err
    assert list(tmp_path.iterdir()) == []
    assert "only the process that writes memory:" in said(capsys, "list", "--store", "memory:", code=2)[1]


def test_one_call_is_shown_with_its_request_and_response(
    log: str, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(said(capsys, "show", entry(2).row.id, "--store", log)[0])
    assert document["error_message"] == "it, \x1b[2Jbroke"
    assert document["payload"]["request_params"] == {"n": 2}


def test_stats_tell_counts_and_times_by_tool(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said(capsys, "stats", "--store", log)
    assert [line.split() for line in out.splitlines()[1:]] == [
        ["echo", "2", "1", "50.0%", "1.250", "2.000", "2.000"],
        ["flaky", "1", "0", "0.0%", "1.000", "1.000", "1.000"],
        ["all", "3", "1", "33.3%", "1.000", "2.000", "2.000"],
        ["1000.0", "calls/s"],
    ]
    document = json.loads(said(capsys, "stats", "--store", log, "--json")[0])
    assert (document["calls"], document["errors"], document["calls_per_s"]) == (3, 1, 1000.0)
    assert document["tools"]["echo"]["p95_ms"] == 2.0
    assert document["last"] == "2026-09-21T14:13:20.003000Z"


def test_an_export_is_a_table_that_can_be_read_back(
    log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "calls.csv"
    out, _ = said(capsys, "export", "--store", log, "--format", "csv", "--output", str(path))
    assert out == ""
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))
    assert [row["seq"] for row in rows] == ["1", "2", "3"]
    assert rows[1]["error_message"] == "it, \x1b[2Jbroke"
    assert rows[1]["success"] == "false"
    assert rows[0]["timestamp"] == "2026-09-21T14:13:20.001000Z"
    assert json.loads(rows[0]["parameters"]) == {"seed": "abc"}


def test_pruning_removes_what_is_older(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    args = ("prune", "--store", log, "--older-than", "2026-09-21T14:13:20.003Z")
    assert said(capsys, *args)[0] == "2 calls removed\n"
    with open_store(log) as store:
        left, pruned = store.all()
    assert left.seq == 3
    assert (pruned.tool_name, pruned.source, pruned.user_subject) == (
        "audit.prune",
        "admin",
        getpass.getuser(),
    )
    assert pruned.parameters == '{"older_than":"2026-09-21T14:13:20.003000Z","rows":2}'


def test_the_log_of_the_server_is_read_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with open_store(default_store(os.environ)) as store:
        store.append([entry(1)])
    assert len(said(capsys, "list")[0].splitlines()) == 1


@pytest.mark.parametrize("options", [(), ("--json",)], ids=str)
def test_calls_are_shown_as_they_come(log: str, options: tuple[str, ...]) -> None:
    args = [sys.executable, "-m", "faultkit", "audit", "tail", "--store", log, "-n", "1", "--tool", "echo"]
    process = subprocess.Popen([*args, *options], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None

    def next_ms() -> float:
        assert process.stdout is not None
        line: Any = process.stdout.readline()
        return float(json.loads(line)["duration_ms"] if options else line.split()[4])

    try:
        assert next_ms() == 0.5
        with open_store(log) as store:
            for number in (10, 11, 12):
                store.append([entry(number), entry(number + 100, tool_name="chatty")])
                assert next_ms() == number
            # Began earlier than the other rows, but was written later.
            store.append([entry(4, at_us=NOON_US - 1)])
            assert next_ms() == 4
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_S)
