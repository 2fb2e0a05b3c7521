"""Two hundred cases with hangs of minutes take seconds, and the same seed gives the same bytes."""

from __future__ import annotations

import json
from pathlib import Path

from faultkit.agents.kinds.scripted import SHIPPED
from faultkit.agents.report.suite_json import render_json
from faultkit.agents.selection import Selection, select
from faultkit.agents.suite.results import Results
from faultkit.agents.suite.run_options import Options
from faultkit.agents.suite_file import load_suite
from faultkit.agents.suite_runner import run_suites_blocking
from tests.agents.execute.written import TOOLS
from tests.agents.report.declared_times import without_times

CASES = 200
FAULTS = ("hang%0.5@search", "slow:240000@search", "recover-after:2@search", "rate_limit%0.7@search")
HOURS_MS = 3_600_000


def generated(folder: Path) -> Path:
    (folder / "tools.yml").write_text(TOOLS)
    kinds = [kind for kind in SHIPPED if kind != "looping"]
    lines = ["servers: { shop: { mock: tools.yml } }", "faults:"]
    lines += [f'  - {{ name: f{number}, spec: "{spec}" }}' for number, spec in enumerate(FAULTS)]
    lines.append("agents:")
    lines += [
        f"  - {{ name: case {n}, agent: {kinds[n % len(kinds)]}, inject: [f{n % len(FAULTS)}], "
        "allow_unhit: true, recovery: { max_detection_ms: 180000 } }"
        for n in range(CASES)
    ]
    suite = folder / "generated.yml"
    suite.write_text("\n".join(lines) + "\n")
    return suite


def done(suite: Path, seed: int) -> Results:
    return run_suites_blocking(
        select([load_suite(suite)], Selection()), Options(seed=seed, parallel=8)
    ).results


def test_hangs_of_minutes_take_no_time_and_one_seed_gives_one_report(tmp_path: Path) -> None:
    suite = generated(tmp_path)
    first, second, other = done(suite, 7), done(suite, 7), done(suite, 8)
    waited_ms = sum(run.trace.calls[-1].end_ms or 0.0 for row in first.rows for run in row.runs)
    assert len(first.rows) == 2 * CASES
    assert waited_ms > 5 * HOURS_MS
    assert first.duration_ms is not None
    # Hours, a thousand times faster at least: a bound that no busy machine comes near.
    assert first.duration_ms < waited_ms / 1000
    reports = [json.loads(render_json(results)) for results in (first, second, other)]
    left = [json.dumps(without_times(report), sort_keys=False).encode() for report in reports]
    assert left[0] == left[1]
    assert left[0] != left[2]
    assert reports[0]["declared_time_fields"] == [
        ".generated_at",
        ".summary.duration_ms",
        ".tests[].duration_ms",
    ]
