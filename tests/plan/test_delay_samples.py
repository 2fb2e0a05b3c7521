"""Measured delays, from files to percentiles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from faultkit.base.errors import InputError
from faultkit.faults.stream.latency import Latency
from faultkit.plan import load_plan
from faultkit.plan.delay_samples import percentiles_of

HDR = (
    "HISTFAAAAHN4nJNpmSzMwMCUxQABTFCaEURcm7yEwf4DROA4I9NRRqaZjEyJQGjKpA+F0kziTKJomJ+JEwi5wSR+mhkJsqLwyOUzMUIR"
    "I1YmrSVYmJiYWMAIicIUoZkEGwsQgglsDNpLcIEADxcXCo0hgFeCBQDUVxL/"
)
"""Of the reference library: the values 100, 200 … 100,000, with two digits."""
RESULTS = {"count": 3, "min_ms": 1, "max_ms": 9, "curve": [[0, 1], [50, 5], [99.9, 8], [100, 9]]}


def test_lines_of_numbers() -> None:
    found = percentiles_of("# measured\n10\n30\n\n20\n")
    assert (found["p0"], found["p50"], found["p75"], found["p100"]) == (10, 20, 25, 30)
    assert percentiles_of("0.5\n", "s")["p99"] == 500


def test_a_column_of_csv() -> None:
    assert percentiles_of("at,latency_us,status\n1,1500,200\n2,2500,200\n")["p50"] == 2
    k6 = "metric_name,timestamp,metric_value\nhttp_reqs,1,1\nhttp_req_duration,1,40\n"
    assert percentiles_of(k6)["p50"] == 40


def test_a_log_of_hdr_histogram() -> None:
    log = f'#[Histogram log]\n"StartTimestamp","Interval_Length"\n0.1,1.0,0.1,{HDR}\n'
    found = percentiles_of(log, "us")
    assert found["p50"] == pytest.approx(50, rel=0.01)
    assert found["p99"] == pytest.approx(99, rel=0.01)


def test_results_of_a_scenario() -> None:
    item = {"baseline": None, "run": {"service": RESULTS}}
    found = percentiles_of(json.dumps({"scenarios": [{"items": [item]}]}))
    assert found == {"p0": 1, "p50": 5, "p99.9": 8, "p100": 9}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1\nabc\n", 'line 2: expected a delay of 0 or more, got "abc"'),
        ("1\n-2\n", 'line 2: expected a delay of 0 or more, got "-2"'),
        ("# nothing\n", "expected at least one delay, got none"),
        ("ms,x\n1,2\nfast,3\n", 'line 3: expected a delay in ms of 0 or more, got "fast"'),
        ("{}", "expected the results.json of fault scenario run, got other JSON"),
        ('{"scenarios": []}', "expected an item with requests, got none"),
    ],
)
def test_a_bad_file_names_the_line_and_what_was_expected(text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        percentiles_of(text)
    assert caught.value.problem == problem


def test_a_bad_column_or_histogram_is_named() -> None:
    with pytest.raises(InputError, match=r"line 1: expected a column named one of latency_ms, .* got a, b"):
        percentiles_of("a,b\n1,2\n")
    with pytest.raises(InputError, match="line 1: expected a compressed V2 histogram, got "):
        percentiles_of("0.1,1.0,0.1,HISTFAAA\n")


def test_a_plan_file_reads_samples_beside_it(tmp_path: Path) -> None:
    (tmp_path / "delays.txt").write_text("10\n20\n")
    plan = tmp_path / "plan.yaml"
    plan.write_text("rules:\n- fault: latency\n  with: {distribution: table, samples: delays.txt}\n")
    (rule,) = load_plan(plan).rules
    assert isinstance(rule.fault, Latency)
    assert dict(rule.fault.percentiles)["p50"] == 15
    (tmp_path / "delays.txt").write_text("10\nx\n")
    with pytest.raises(InputError, match=r"samples: .*line 2: expected a delay"):
        load_plan(plan)
