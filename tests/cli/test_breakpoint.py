"""`fault breakpoint`: mistakes in its flags, its exit codes, and the comparison with an earlier run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from faultkit.cli.main import invoke
from faultkit.scenario import scenario_run
from faultkit.scenario.report.report_files import write_report
from faultkit.scenario.report.report_model import Report
from faultkit.scenario.report.search_model import SearchReport
from faultkit.scenario.scenario_run import RunOutcome
from faultkit.scenario.search_report import judge_search
from tests.scenario.report.test_search_reports import FOUND, LOWER, SENTENCE, report_of

URL = "http://127.0.0.1:9/"
SEARCH = [URL, "--vary", "faults.latency.mean=0..1000ms", "--slo", "latency:95:300ms"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([URL], "--vary: expected SETTING=FROM..TO"),
        (SEARCH[:3], "context.slo: expected an objective that can break"),
        ([*SEARCH, "--budget", "2s"], "context.strategy.budget: expected at least"),
        ([*SEARCH, "--slo", "latency:95:300ms@5s"], "--slo: expected an objective without a window"),
        ([*SEARCH, "--fail-below", "3s"], "--fail-below: expected a value of the range"),
        ([*SEARCH, "--report", "report.doc"], "report.doc"),
        ([*SEARCH, "--baseline", "missing.json"], "missing.json: cannot be read"),
        (["missing.yaml"], "missing.yaml"),
    ],
)
def test_wrong_input_runs_nothing(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert invoke(["breakpoint", *words]) == 2
    assert problem in capsys.readouterr().err
    assert list(folder.iterdir()) == []


def test_a_service_that_cannot_be_reached_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["breakpoint", *SEARCH]) == 3
    shown = capsys.readouterr().err
    assert "searching faults.latency.mean in 0..1000 ms" in shown
    assert "cannot reach 127.0.0.1:9" in shown


def judged(search: SearchReport) -> Report:
    report = report_of(search)
    verdict, reasons = judge_search(search, ())
    items = (replace(report.items[0], verdict=verdict, reasons=reasons),)
    return replace(report, scenarios=(replace(report.scenarios[0], items=items),))


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[SearchReport]:
    """The result of the search, in place of a real one."""
    results = [FOUND]
    monkeypatch.setattr(scenario_run, "run_scenarios", lambda *args, **kwargs: RunOutcome(judged(results[0])))
    return results


def test_the_sentence_is_printed_and_reports_are_written(
    found: list[SearchReport], capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert invoke(["breakpoint", *SEARCH, "--report", "report.html"]) == 0
    assert SENTENCE in " ".join(capsys.readouterr().out.split())
    assert SENTENCE in (folder / "report.html").read_text()
    document = json.loads((folder / "results.json").read_text())
    assert document["scenarios"][0]["items"][0]["search"]["held"] == 176


def test_the_bound_that_is_shown_decides_the_exit_code(found: list[SearchReport]) -> None:
    found[0] = replace(FOUND, breaks_above=150.0)
    assert invoke(["breakpoint", *SEARCH]) == 0
    found[0] = replace(LOWER, breaks_above=150.0)
    assert invoke(["breakpoint", *SEARCH]) == 1
    found[0] = replace(FOUND, outcome="inconclusive", breaks_above=150.0)
    assert invoke(["breakpoint", *SEARCH]) == 6


@pytest.mark.parametrize(
    ("before", "now", "code", "sentence"),
    [
        (FOUND, LOWER, 1, "Worse than the baseline, which broke at about 182 ms."),
        (LOWER, FOUND, 0, "Better than the baseline, which broke at about 130 ms."),
        (FOUND, FOUND, 0, "No difference to the baseline is shown, which broke at about 182 ms."),
    ],
)
def test_a_result_that_is_worse_than_the_baseline_fails(
    before: SearchReport,
    now: SearchReport,
    code: int,
    sentence: str,
    found: list[SearchReport],
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_report(report_of(before), "results.json")
    found[0] = now
    assert invoke(["breakpoint", *SEARCH, "--baseline", "results.json"]) == code
    assert sentence in capsys.readouterr().err


def test_a_baseline_of_another_setting_is_an_error(
    found: list[SearchReport], capsys: pytest.CaptureFixture[str]
) -> None:
    write_report(report_of(replace(FOUND, setting="load.rps")), "earlier.json")
    assert invoke(["breakpoint", *SEARCH, "--baseline", "earlier.json"]) == 2
    assert "--baseline: expected searches of faults.latency.mean, got load.rps" in capsys.readouterr().err
