"""The scripted cases that were run against the original: the same outcome, except where that one is wrong.

Each row of the table is a suite. Comments explain the differences, which docs/suites.md lists.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from faultkit.agents.suite.results import ResultRow
from faultkit.agents.suite.run_options import RunOptions, Selection, select
from faultkit.agents.suite_file import load_suite
from faultkit.agents.suite_runner import run_suites
from faultkit.base.errors import InputError

TOOLS = """
mock_server:
  tools:
    - { name: search, response: found }
    - { name: grep, response: found otherwise }
"""
SUITE = """
servers:
  faulty: { mock: tools.yml }
faults:
  - { name: broken, target: { %(target)s }, %(fault)s }
agents:
  - name: a
    servers: [faulty]
    max_turns: 4
    agent: { script: [%(script)s], say: "%(say)s" }
    %(inject)s
    recovery: { %(recovery)s }
"""
ONCE = "{ call: search, retry: { attempts: 1 }, goes_on: true }"
TWICE = "{ call: search, retry: { attempts: 2 }, goes_on: true }"
THRICE = "{ call: search, retry: { attempts: 3 }, goes_on: true }"
OTHER = "{ call: search, fallback: { call: grep } }"
FOREVER = "{ call: search, retry: { attempts: 0 } }"
HANG = "kind: hang"


@dataclass(frozen=True)
class Case:
    verdict: str
    recovery_ms: int | None
    detections: int
    fault: str = HANG
    script: str = ONCE
    recovery: str = "max_detection_ms: 3000, max_recovery_ms: 5000"
    target: str = "tool: search"
    say: str = "Here it is."
    inject: str = "inject: [broken]"
    limit: str = ""


CASES = {
    "hang, and a reply after one": Case("passed", 3000, 1),
    "hang, two tries, too long": Case("failed", 6000, 2, script=TWICE, limit="max_recovery_ms"),
    "hang, two tries, no limit": Case("passed", 6000, 2, script=TWICE, recovery="max_detection_ms: 3000"),
    # The original counts 0 ms, which would hide a delay that the caller waits for.
    "slow below the budget": Case("passed", 1000, 0, "kind: slow, delay_ms: 1000"),
    "slow at the budget": Case("passed", 3000, 1, "kind: slow, delay_ms: 3000"),
    "slow beyond the budget": Case("passed", 3000, 1, "kind: slow, delay_ms: 9000"),
    "back after one, one retry": Case("passed", 3000, 1, "kind: recover_after, failures: 1", TWICE),
    "back after two, two retries": Case(
        "failed", 6000, 2, "kind: recover_after, failures: 2", THRICE, limit="max_recovery_ms"
    ),
    "another tool": Case("passed", 3000, 1, script=OTHER),
    "an empty last word": Case("failed", None, 1, say=" ", limit="recovered"),
    "no patience at all": Case("passed", 0, 1, recovery="max_detection_ms: 0"),
    "wedged is as hang": Case("passed", 3000, 1, "kind: wedged"),
    "a server as target": Case("passed", 3000, 1, target="server: faulty"),
    "server and tool as target": Case("passed", 3000, 1, target="server: faulty, tool: search"),
    # The original passes with 0 detections.
    "a fault that is never met": Case("not_exercised", None, 0, script="{ call: grep }"),
    # The original ends the whole run here, without a report.
    "a loop until the turns are used up": Case("failed", None, 4, script=FOREVER, limit="recovered"),
}
REFUSED = {
    # The original passes all of these with 0 detections.
    "a tool that is not there": (Case("", None, 0, target="tool: serach"), "did you mean 'search'"),
    "a server that is not there": (Case("", None, 0, target="server: fualty"), "fualty"),
    "a gate without a fault": (Case("", None, 0, inject=""), "inject"),
}


def write(folder: Path, case: Case) -> Path:
    (folder / "tools.yml").write_text(TOOLS)
    suite = folder / "suite.yml"
    suite.write_text(SUITE % vars(case))
    return suite


def recovery_row(suite: Path) -> ResultRow:
    results = asyncio.run(run_suites(select([load_suite(suite)], Selection()), RunOptions()))
    (row,) = [row for row in results.rows if row.name == "a (recovery)"]
    return row


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_verdict_the_time_and_the_detections(tmp_path: Path, case: Case) -> None:
    row = recovery_row(write(tmp_path, case))
    gate = row.runs[0].gate
    assert gate is not None
    found = (row.verdict, gate.report.time_to_recovery_ms, gate.detections, row.limit)
    assert found == (case.verdict, case.recovery_ms, case.detections, case.limit), row.message
    assert row.rule == "EDGE-006"


@pytest.mark.parametrize(("case", "says"), REFUSED.values(), ids=REFUSED)
def test_what_could_never_be_met_is_refused_before_anything_runs(
    tmp_path: Path, case: Case, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        load_suite(write(tmp_path, case))
