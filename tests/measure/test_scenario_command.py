"""The real `fault scenario`, as a process: exit codes, reports, interruption."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from faultkit.base.process_identity import descendants_of, is_same_process
from faultkit.cli.main import invoke
from faultkit.scenario.report.report_files import read_report
from tests.load.servers import OK, read_request
from tests.load.servers import serving as load_server
from tests.proxy.origin import serving
from tests.terminals import on_terminal

PATIENCE_S = 60.0
QUIET = {name: value for name, value in os.environ.items() if not name.startswith("FAULT_")}

SCENARIO = """
title: one
items:
  - call: {method: GET, url: "http://%s/x", timeout: 3000}
    context:
      faults: [%s]
      strategy: %s
      slo: [{type: error, title: few errors, objective: 99, threshold: 1}]
    expect: {%s}
"""
SLOW = "{type: latency, mean: 120, stddev: 0}"
BROKEN = "{type: httperror, status_code: 503}"
LOAD = "{mode: load, duration: 500ms, clients: 2, rps: 20}"
SINGLE = "{mode: single}"


def fault(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "faultkit", "scenario", *args],
        cwd=folder,
        env=QUIET,
        text=True,
        capture_output=True,
        timeout=PATIENCE_S,
    )


def said(folder: Path, *args: str) -> tuple[int, str, str]:
    """Run `fault` in this process, for tests that do not examine the process itself."""
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        for name in os.environ.keys() - QUIET.keys():
            patched.delenv(name)
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = invoke(["scenario", *args])
    return code, out.getvalue(), err.getvalue()


def write(folder: Path, *parts: object) -> None:
    (folder / "a.yaml").write_text(SCENARIO % parts, "utf-8")


def results(folder: Path) -> Any:
    return json.loads((folder / "results.json").read_text("utf-8"))


def test_a_passing_run_ends_with_0_and_writes_its_reports(tmp_path: Path) -> None:
    with serving() as origin:
        write(tmp_path, origin.endpoint, BROKEN, SINGLE, "status: 503")
        names = ["r.md", "r.html", "r.xml", "r.txt", "r.yaml"]
        ran = fault(tmp_path, "run", "-s", "a.yaml", *(f"--report={name}" for name in names), "--seed", "7")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("Scenarios Report")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, "a.yaml", "results.json"])
    assert (tmp_path / "r.md").read_text("utf-8").startswith("# Scenarios Report\n")
    assert read_report(tmp_path / "r.yaml") == read_report(tmp_path / "results.json")
    suites = ElementTree.parse(tmp_path / "r.xml").getroot()
    assert suites.tag == "testsuites"


def test_a_gate_that_was_missed_ends_with_1_and_the_table_shows_the_truth(tmp_path: Path) -> None:
    with serving() as origin:
        write(tmp_path, origin.endpoint, BROKEN, LOAD, "all_slo_are_valid: true")
        ran = fault(tmp_path, "run", "a.yaml", "--no-baseline")
    assert ran.returncode == 1
    (item,) = results(tmp_path)["scenarios"][0]["items"]
    assert item["verdict"] != "passed"
    assert (item["run"]["errors"], item["run"]["requests"]) == (20, 20)
    assert 'SLO "few errors" was missed' in item["reasons"]
    assert "| few errors | ❌ |" in (tmp_path / "report.md").read_text("utf-8")


def test_a_missed_slo_without_a_gate_is_shown_and_does_not_fail(tmp_path: Path) -> None:
    with serving() as origin:
        write(tmp_path, origin.endpoint, BROKEN, SINGLE, "status: 503")
        ran = fault(tmp_path, "run", "a.yaml")
    assert ran.returncode == 0, ran.stderr
    assert "| few errors | ❌ |" in (tmp_path / "report.md").read_text("utf-8")


def test_answers_that_prove_nothing_end_with_6_and_are_an_error_of_their_own_kind(tmp_path: Path) -> None:
    with serving() as origin:
        origin.status = 401
        write(tmp_path, origin.endpoint, SLOW, SINGLE, "")
        ran = fault(tmp_path, "run", "a.yaml", "--report", "r.xml", "--retry-inconclusive", "2")
    assert ran.returncode == 6, ran.stderr
    assert len(origin.seen) == 3
    assert "one (try 3 of 3): GET" in ran.stderr
    (item,) = results(tmp_path)["scenarios"][0]["items"]
    assert item["verdict"] == "inconclusive"
    assert "Try 1 was inconclusive: no answer was 2xx or 3xx (status 401: 1)" in item["warnings"]
    (error,) = ElementTree.parse(tmp_path / "r.xml").iter("error")
    assert error.get("type") == "inconclusive"


def test_what_failed_is_not_run_again(tmp_path: Path) -> None:
    with serving() as origin:
        origin.status = 401
        write(tmp_path, origin.endpoint, SLOW, SINGLE, "status: 200")
        ran = fault(tmp_path, "run", "a.yaml", "--retry-inconclusive", "2")
    assert (ran.returncode, len(origin.seen)) == (1, 1)


def test_json_is_all_that_stands_on_stdout(tmp_path: Path) -> None:
    with serving() as origin:
        write(tmp_path, origin.endpoint, SLOW, SINGLE, "status: 200")
        ran = fault(tmp_path, "run", "a.yaml", "--json", "--seed", "x", "--slo", "latency:95:100ms")
    assert ran.returncode == 1
    document = json.loads(ran.stdout)
    assert document == results(tmp_path)
    assert document["seed"] == "x"
    assert [slo["passed"] for slo in document["scenarios"][0]["items"][0]["slos"]] == [True, False]


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (("run", "missing.yaml"), "missing.yaml: cannot be read: no such file or directory"),
        (("run",), "--scenario: expected a file or a folder, got none"),
        (("run", "a.yaml", "--report", "r.docx"), "r.docx: expected a file that ends in .md"),
        (("run", "a.yaml", "--result", "r.md"), "r.md: expected a file that ends in .json"),
        (("run", "a.yaml", "--slo", "latency:95:200"), "--slo: threshold: expected a duration with its unit"),
        (("run", "a.yaml", "--report", "no/where.md"), "no/where.md: expected a folder that exists"),
        (("run", "a.yaml", "--proxy-address", "x:y"), "--proxy-address: expected"),
        (("run", "a.yaml", "--on", "ray:4"), "--on: expected local:N, dask:N, dask://HOST:PORT, tls://"),
        (
            ("run", "a.yaml", "--on", "local:2", "--workers", "2"),
            "--workers: expected none beside --on local",
        ),
        (("run", "a.yaml", "--dry-run"), "--dry-run: expected --on kubernetes beside it, got none"),
        (
            ("run", "a.yaml", "--on", "kubernetes:2", "--dry-run", "--json"),
            "--json: expected none beside --dry-run",
        ),
        (("run", "a.yaml", "--pods", "p.yaml"), "--pods: expected --on kubernetes beside it, got none"),
        (
            ("run", "a.yaml", "--on", "local:2", "--pods", "p.yaml"),
            "--pods: expected --on kubernetes beside it, got --on local:2",
        ),
        (("run", "a.yaml", "--on", "kubernetes:2", "--pods", "p.yaml"), "p.yaml: "),
        (("validate", "a.yaml"), "a.yaml: line 5: items[0].call.method: expected"),
        (("review", "none.json"), "RESULTS: expected a file that `fault scenario run` wrote"),
        (("generate",), "--spec-file: expected either --spec-file or --spec-url, got neither"),
        (("generate", "--spec-file", "none.yaml"), "none.yaml: cannot be read"),
    ],
)
def test_wrong_input_is_one_line_and_ends_with_2(
    tmp_path: Path, args: tuple[str, ...], complaint: str
) -> None:
    (tmp_path / "a.yaml").write_text(
        "title: a\n\nitems:\n  - call:\n      method: 7\n      url: http://a.test\n"
    )
    code, out, err = said(tmp_path, *args)
    assert (code, out) == (2, "")
    assert complaint in err
    assert all(line.startswith("error: ") for line in err.splitlines())
    assert [path.name for path in tmp_path.iterdir()] == ["a.yaml"]


@pytest.mark.parametrize(
    ("strategy", "on", "complaint"),
    [
        (SINGLE, "dask:2", "expected a scenario with a load to split, got single and repeated calls only"),
        (
            LOAD,
            "dask://127.0.0.1:{port}",
            "expected a Dask scheduler at tcp://127.0.0.1:{port}, got none",
        ),
        (
            LOAD,
            "tls://127.0.0.1:{port}",
            "expected a Dask scheduler at tls://127.0.0.1:{port}, got none",
        ),
    ],
)
def test_a_load_that_cannot_be_sent_from_there_is_refused_before_anything_runs(
    tmp_path: Path,
    closed_port: int,
    monkeypatch: pytest.MonkeyPatch,
    strategy: str,
    on: str,
    complaint: str,
) -> None:
    monkeypatch.setattr("faultkit.load.dask_place._CONNECT_S", 0.3)
    write(tmp_path, "127.0.0.1:9", SLOW, strategy, "")
    code, out, err = said(tmp_path, "run", "a.yaml", "--on", on.format(port=closed_port))
    assert (code, out) == (2, "")
    assert f"error: --on: {complaint.format(port=closed_port)}" in err
    assert [path.name for path in tmp_path.iterdir()] == ["a.yaml"]


def test_a_target_that_is_not_there_ends_with_3_and_leaves_a_partial_report(
    tmp_path: Path, closed_port: int
) -> None:
    write(tmp_path, f"127.0.0.1:{closed_port}", SLOW, SINGLE, "status: 200")
    ran = fault(tmp_path, "run", "a.yaml")
    assert ran.returncode == 3
    assert f"error: cannot reach 127.0.0.1:{closed_port}: Connection refused" in ran.stderr
    assert results(tmp_path)["partial"] is not None


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_interrupted_run_writes_its_partial_report_and_ends_with_the_code_of_the_signal(
    tmp_path: Path, number: int, code: int
) -> None:
    with serving() as origin:
        write(
            tmp_path, origin.endpoint, SLOW, "{mode: load, duration: 60s, clients: 1, rps: 20}", "status: 200"
        )
        with subprocess.Popen(
            [sys.executable, "-m", "faultkit", "scenario", "run", "a.yaml", "--no-baseline"],
            cwd=tmp_path,
            env=QUIET,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as process:
            deadline = time.monotonic() + PATIENCE_S
            while len(origin.seen) < 3:
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.01)
            process.send_signal(number)
            process.communicate(timeout=PATIENCE_S)
    assert process.returncode == code
    document = results(tmp_path)
    (item,) = document["scenarios"][0]["items"]
    assert (document["partial"], item["verdict"]) == ("it was stopped", "unfinished")
    assert item["run"]["requests"] >= 1
    assert "Unfinished" in (tmp_path / "report.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("moment", "request_number"),
    [
        ("the end of an item", 40),
        pytest.param("the middle", 15, marks=pytest.mark.thorough),
        pytest.param("the start", 0, marks=pytest.mark.thorough),
    ],
)
def test_a_coordinator_that_is_killed_leaves_no_worker_and_no_fault(
    tmp_path: Path, closed_port: int, moment: str, request_number: int
) -> None:
    """Two loads of 20 requests belong to an item; the last of the second is not answered before the kill."""
    came, killed = threading.Semaphore(0), threading.Event()
    seen: list[int] = []

    def serve(connection: socket.socket, number: int) -> None:
        while read_request(connection):
            seen.append(number)
            if len(seen) >= request_number > 0:
                came.release()
                killed.wait(PATIENCE_S)
            connection.sendall(OK)

    def wait_until(holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < deadline, moment
            time.sleep(0.05)

    with load_server(serve) as endpoint:
        load = "{mode: load, duration: 1s, clients: 2, rps: 20}"
        write(tmp_path, endpoint, SLOW, load, "status: 200")
        words = ("--on", "local:2", "--proxy-address", f"127.0.0.1:{closed_port}")
        with subprocess.Popen(
            [sys.executable, "-m", "faultkit", "scenario", "run", "a.yaml", *words],
            cwd=tmp_path,
            env=QUIET,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            if request_number:
                assert came.acquire(timeout=PATIENCE_S)
            else:
                wait_until(lambda: len(descendants_of(process.pid)) == 3)  # A proxy and two workers.
            family = descendants_of(process.pid)
            process.kill()
        killed.set()
        assert len(family) == 3
        wait_until(lambda: not any(is_same_process(*each) for each in family.items()))
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", closed_port)):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["a.yaml"]


@pytest.mark.parametrize("args", [(), ("--no-ui",)])
def test_a_terminal_that_goes_away_costs_no_report(tmp_path: Path, args: tuple[str, ...]) -> None:
    with serving() as origin:
        write(
            tmp_path, origin.endpoint, SLOW, "{mode: load, duration: 60s, clients: 1, rps: 20}", "status: 200"
        )
        run = [sys.executable, "-m", "faultkit", "scenario", "run", "a.yaml", "--no-baseline", *args]
        with on_terminal(run, tmp_path) as terminal:
            deadline = time.monotonic() + PATIENCE_S
            while len(origin.seen) < 10:
                assert time.monotonic() < deadline, terminal.shown
                terminal.read()
            assert terminal.hang_up() == 129
    assert results(tmp_path)["partial"] == "it was stopped"
    assert "Unfinished" in (tmp_path / "report.md").read_text("utf-8")


def test_valid_files_are_counted(tmp_path: Path) -> None:
    write(tmp_path, "a.test", SLOW, LOAD, "status: 200")
    ran = fault(tmp_path, "validate", "-s", ".")
    assert (ran.returncode, ran.stdout) == (0, "valid: 1 scenario, 1 item\n")
    _, out, _ = said(tmp_path, "validate", ".", "--json")
    assert json.loads(out) == {"valid": True, "problems": []}


def test_the_schema_is_json(tmp_path: Path) -> None:
    assert json.loads(said(tmp_path, "schema")[1])["$schema"].startswith("https://json-schema.org/")


def test_results_can_be_reviewed(tmp_path: Path) -> None:
    with serving() as origin:
        write(tmp_path, origin.endpoint, BROKEN, LOAD, "all_slo_are_valid: true")
        fault(tmp_path, "run", "a.yaml", "--no-baseline", "--seed", "7")
    ran = fault(tmp_path, "review", "results.json")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("#")
    assert json.loads(said(tmp_path, "review", "--json")[1])
    assert said(tmp_path, "review", "--report", "review.md")[0] == 0
    assert (tmp_path / "review.md").read_text("utf-8") == ran.stdout.removesuffix("\n")
