"""`fault breakpoint`: mistakes in its flags, its exit codes, and the comparison with an earlier run."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from faultkit.cli.main import invoke
from faultkit.scenario import scenario_run
from faultkit.scenario.asked_search import AskedSearch, search_of_url
from faultkit.scenario.report.frontier_model import FrontierPair, FrontierReport
from faultkit.scenario.report.report_files import write_report
from faultkit.scenario.report.report_model import Report
from faultkit.scenario.report.search_model import SearchReport
from faultkit.scenario.scenario_model import SearchStrategy
from faultkit.scenario.scenario_run import RunOutcome
from faultkit.scenario.search_report import judge_search
from tests.scenario.report import test_frontier_reports as frontiers
from tests.scenario.report.test_search_reports import FOUND, LOWER, SENTENCE, report_of

URL = "http://127.0.0.1:9/"
SEARCH = [URL, "--vary", "faults.latency.mean=0..1000ms", "--slo", "latency:95:300ms"]

LOSS = ["--vary", "faults.packet_loss.rate=0..40%"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([URL], "--vary: expected SETTING=FROM..TO"),
        (SEARCH[:3], "error: --slo: expected an objective that can break"),
        ([*SEARCH, "--budget", "2s"], "error: --budget: expected at least"),
        ([*SEARCH, "--vary", "faults.nope.x=0..1"], 'error: --vary: unknown fault "nope"'),
        ([*SEARCH, "--slo", "latency:95:300ms@5s"], "--slo: expected an objective without a window"),
        ([*SEARCH, "--fail-below", "3s"], "--fail-below: expected a value of the range"),
        ([*SEARCH, "--report", "report.doc"], "report.doc"),
        ([*SEARCH, "--baseline", "missing.json"], "missing.json: cannot be read"),
        (["missing.yaml"], "missing.yaml"),
        ([*SEARCH, *LOSS, *LOSS], "--vary: expected one setting or two, got 3"),
        ([*SEARCH, *LOSS, "--fail-below", "5"], "--fail-below: expected none with two settings"),
        ([*SEARCH, *LOSS, "--budget", "20s"], "which 81 pairs take if all goes well, got 20s"),
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


MAP = [URL, "--vary", "faults.latency.mean=0..200ms", "--vary", "faults.packet_loss.rate=0..0.3"]
MAP += ["--slo", "latency:90:300ms"]


@pytest.mark.parametrize(
    ("before", "now", "code", "sentence"),
    [
        (frontiers.FOUND, frontiers.LOWER, 1, "Worse than the baseline: 1 pair that held is broken"),
        (frontiers.LOWER, frontiers.FOUND, 0, "Better than the baseline: 1 pair that was broken holds"),
    ],
)
def test_a_map_is_compared_with_one_of_the_same_pairs(
    before: FrontierReport,
    now: FrontierReport,
    code: int,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_report(frontiers.report_of(_nine(before)), "earlier.json")
    outcome = RunOutcome(frontiers.report_of(_nine(now)))
    monkeypatch.setattr(scenario_run, "run_scenarios", lambda *args, **kwargs: outcome)
    assert invoke(["breakpoint", *MAP, "--baseline", "earlier.json"]) == code
    assert sentence in capsys.readouterr().err


def _nine(frontier: FrontierReport) -> FrontierReport:
    """Return a map with the values that the command has: the pairs that it lacks are undecided."""
    strategy = search_of_url(URL, AskedSearch((MAP[2], MAP[4]))).items[0].strategy
    assert isinstance(strategy, SearchStrategy)
    assert strategy.grid is not None
    known = {(pair.first, pair.second): pair for pair in frontier.pairs}
    open_pair = FrontierPair(0.0, 0.0, "undecided", 0, 0, None, None, None, None)
    pairs = tuple(
        known.get((first, second), replace(open_pair, first=first, second=second))
        for first, second in product(strategy.grid.first, strategy.grid.second)
    )
    return replace(
        frontier,
        first=replace(frontier.first, values=strategy.grid.first),
        second=replace(frontier.second, values=strategy.grid.second),
        pairs=pairs,
    )


def test_a_map_is_not_compared_with_another_one(capsys: pytest.CaptureFixture[str]) -> None:
    write_report(frontiers.report_of(frontiers.FOUND), "earlier.json")
    assert invoke(["breakpoint", *MAP, "--baseline", "earlier.json"]) == 2
    shown = capsys.readouterr().err
    assert "faults.latency.mean (0..200 in 9) and faults.packet_loss.rate (0..0.3 in 9), got" in shown
    assert "faults.latency.mean (0..200 in 3) and faults.packet_loss.rate (0..0.3 in 4) in earlier" in shown
