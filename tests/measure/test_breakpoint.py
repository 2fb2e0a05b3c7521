"""A real search of the demo service, whose breaking point follows from the fault by arithmetic."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from faultkit.cli.main import invoke
from tests.demo.test_demo import demo


def test_the_bracket_holds_the_probability_at_which_the_objective_breaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the fault no answer is an error, so half of them are at a probability of a half."""
    monkeypatch.chdir(tmp_path)
    with demo() as service:
        words = [f"http://{service.endpoint}/", "--vary", "faults.http_error.probability=0..1"]
        words += ["--slo", "error:50:50%", "--budget", "3000", "--rps", "300", "--no-ui", "--fail-below", "0"]
        for seed in ("5", "6", "7"):
            code = invoke(["breakpoint", *words, "--seed", seed, "--report", "report.html"])
            if code != 6:  # On a machine that is too busy, the result is inconclusive and never wrong.
                break
    assert code == 0, capsys.readouterr().err
    item = json.loads((tmp_path / "results.json").read_text("utf-8"))["scenarios"][0]["items"][0]
    found = item["search"]
    assert found["outcome"] == "found"
    assert found["held"] <= 0.5 <= found["broken"]
    assert (found["held"], found["broken"]) != (0, 1)
    assert sum(level["requests"] for level in found["levels"]) <= found["requests"] <= 3000
    # The fault acted as often as there were errors, and the proxies are gone.
    assert item["faults"][0]["injected"] == item["run"]["errors"] > 0
    assert "Your SLO breaks" in (tmp_path / "report.html").read_text("utf-8")


MAP = """
title: Errors and resets
items:
  - call: {method: GET, url: "http://%s/"}
    context:
      faults:
        - {type: http_error, probability: 0}
        - {type: reset, probability: 0}
      strategy:
        mode: search
        vary:
          - {setting: faults.http_error.probability, from: 0, to: 1, precision: 1}
          - {setting: faults.reset.probability, from: 0, to: 1, precision: 0.5}
        budget: 1000
        rps: 400
      slo:
        - {type: error, objective: 25, threshold: 75}
"""


def test_a_map_of_two_faults_is_what_their_probabilities_multiply_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A request is good if neither fault meets it, and 25 % must be."""
    monkeypatch.chdir(tmp_path)
    with demo() as service:
        (tmp_path / "map.yaml").write_text(MAP % service.endpoint)
        for seed in ("5", "6", "7"):
            code = invoke(["breakpoint", "map.yaml", "--no-ui", "--seed", seed, "--report", "report.html"])
            if code != 6:
                break
    assert code == 0, capsys.readouterr().err
    found = json.loads((tmp_path / "results.json").read_text("utf-8"))["scenarios"][0]["items"][0]["frontier"]
    assert found["outcome"] == "found"
    assert (found["first"]["values"], found["second"]["values"]) == ([0, 1], [0, 0.5, 1])
    for pair in found["pairs"]:
        good = (1 - pair["first"]) * (1 - pair["second"])
        assert pair["decision"] == ("held" if good > 0.25 else "broken"), pair
    assert found["requests"] <= 1000
    assert "Your SLO breaks between 0 and 1 of http_error.probability" in (
        tmp_path / "report.html"
    ).read_text("utf-8")
