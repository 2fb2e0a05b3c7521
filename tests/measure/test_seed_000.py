"""The client scripts of the original's document, run as printed there.

Each with the library for which it was written, in a network of its own: no key, no internet, and the upstream
of the demo app on this machine.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.seed_000.running import HAS_CLIENTS, Play, Ran, run_all, texts_of, why_no_stage
from tests.e2e.seed_000.stage import APP_URL, UPSTREAM_URL

pytestmark = pytest.mark.skipif(
    not HAS_CLIENTS, reason="run `sh tests/e2e/seed_000/install.sh` to run the scripts of the seed"
)

FILE = "{here}/app/app.py"
FUNCTION = (FILE, "index", "python")
APP_AND_UPSTREAM = (APP_URL, UPSTREAM_URL)
EXTRACT_REPAIR = (
    "main(args.source_dir, args.verbose)",
    "main(args.source_dir, args.func_name, args.verbose)",
)
JITTER_REPAIR = ("args.amplitude, args.frequency)", "args.amplitude, args.frequency, args.verbose)")

CODE_PLAYS = {
    "index": Play("fault_index_source_code.py", ("--verbose", "{here}/app")),
    "names": Play("fault_list_function_names.py", (FILE,)),
    "extract": Play("fault_extract_code_block.py", (FILE, "index")),
    "extract repaired": Play("fault_extract_code_block.py", (FILE, "index"), EXTRACT_REPAIR),
    "score reliability": Play("fault_score_reliability.py", FUNCTION),
    "suggest reliability": Play("fault_suggest_better_function_reliability.py", (*FUNCTION, "0.9")),
    "slo": Play("fault_suggest_service_level_objectives_slo.py", FUNCTION),
    "e2e": Play("e2e.py", ("--llm", "openai")),
}
TWIN_PLAYS = {
    "score performance": Play("fault_score_performance.py", FUNCTION),
    "suggest performance": Play("fault_suggest_better_function_performance.py", (*FUNCTION, "0.9")),
}
"""The same lines as those about reliability, except for one word."""
IMPACT_PLAYS = {
    "blackhole": Play("inject-blackhole.py", APP_AND_UPSTREAM, with_app=True),
    "latency": Play("inject-latency.py", (*APP_AND_UPSTREAM, "300"), with_app=True),
    "packet loss": Play("inject-packet-loss.py", APP_AND_UPSTREAM, with_app=True),
    "bandwidth": Play("inject-bandwidth.py", (*APP_AND_UPSTREAM, "1024"), with_app=True),
    "jitter": Play("inject-jitter.py", (*APP_AND_UPSTREAM, "50", "3")),
    "jitter repaired": Play("inject-jitter.py", (*APP_AND_UPSTREAM, "50", "3"), JITTER_REPAIR, with_app=True),
}


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    return run_all(CODE_PLAYS, tmp_path_factory.mktemp("code"), at_once=2)


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    return run_all(TWIN_PLAYS, tmp_path_factory.mktemp("twins"), at_once=2)


each_kind = pytest.mark.parametrize(
    ("kind", "plays"),
    [("reliability", "code"), pytest.param("performance", "twins", marks=pytest.mark.thorough)],
)


@pytest.fixture(scope="module")
def impact(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    """Run the scripts in parallel: they wait most of the time."""
    if why := why_no_stage():
        pytest.skip(why)
    return run_all(IMPACT_PLAYS, tmp_path_factory.mktemp("impact"), at_once=len(IMPACT_PLAYS))


def answer_of(ran: Ran) -> str:
    assert (ran.code, "Traceback" in ran.errors) == (0, False), ran.errors
    [text] = texts_of(ran.out)
    return text


# About code


def test_the_index_script_ends_with_done_and_writes_the_named_log(code: dict[str, Ran]) -> None:
    assert answer_of(code["index"]) == "done"
    assert "fault_index_source_code: done in" in (code["index"].folder / "fault.log").read_text()


def test_the_names_script_ends_with_an_array_of_names(code: dict[str, Ran]) -> None:
    assert json.loads(answer_of(code["names"])) == ["index"]


def test_the_extract_script_fails_by_a_call_of_its_own_and_works_with_that_call_repaired(
    code: dict[str, Ran],
) -> None:
    failed = code["extract"]
    assert failed.code == 1
    assert "TypeError: main() missing 1 required positional argument: 'verbose'" in failed.errors
    found = json.loads(answer_of(code["extract repaired"]))
    assert list(found) == ["full", "body"]
    assert found["full"].splitlines()[:2] == ['@app.get("/")', "def index():"]
    assert found["body"].startswith('return httpx.get(f"{UPSTREAM_URL}/todos/1"')


@each_kind
def test_the_score_scripts_end_with_an_explanation_and_a_score(
    request: pytest.FixtureRequest, kind: str, plays: str
) -> None:
    found = json.loads(answer_of(request.getfixturevalue(plays)[f"score {kind}"]))
    assert list(found)[:2] == ["explanation", "score"]
    assert 0.0 <= found["score"] < 1.0
    assert "httpx.get" in found["explanation"] or "HTTP" in found["explanation"]
    assert (found["engine"], found["model"]) == ("rules", None)


@each_kind
def test_the_suggest_scripts_end_with_a_diff_block_that_applies(
    request: pytest.FixtureRequest, code: dict[str, Ran], kind: str, plays: str, tmp_path: Path
) -> None:
    ran = request.getfixturevalue(plays)[f"suggest {kind}"]
    found = re.fullmatch(r"```diff\n(.*)```", answer_of(ran), re.DOTALL)
    assert found is not None
    snippet = json.loads(answer_of(code["extract repaired"]))["full"]
    assert applied(found[1], tmp_path / "snippet.py", snippet) != snippet


def test_the_slo_script_ends_with_an_array_of_the_documented_shape(code: dict[str, Ran]) -> None:
    found = json.loads(answer_of(code["slo"]))
    assert {each["type"] for each in found} == {"latency", "availability", "error"}
    for each in found:
        # The keys of the document; ours follow.
        assert list(each)[:8] == [
            *("type", "title", "objective", "explanation", "threshold", "unit", "window", "sli"),
        ]
        assert 0 <= each["objective"] < 100
        assert list(each["sli"]) == ["prometheus", "gcp/cloudrun"]
        # The document has handler="index", the function's name, which is a label of no exporter.
        assert 'http_route="/"' in each["sli"]["prometheus"]
        run = each["sli"]["gcp/cloudrun"]
        assert list(run) == ["displayName", "goal", "calendarPeriod", "serviceLevelIndicator"]
        assert run["goal"] == pytest.approx(each["objective"] / 100)
        window = run["serviceLevelIndicator"]["windowsBased"]
        assert window["windowPeriod"] == each["window"] == "300s"
        assert window["goodTotalRatioThreshold"]["threshold"] == pytest.approx(each["objective"] / 100)


def test_the_e2e_script_prints_score_explanation_dependencies_and_a_diff_that_applies(
    code: dict[str, Ran], tmp_path: Path
) -> None:
    ran = code["e2e"]
    assert (ran.code, "Traceback" in ran.errors) == (0, False), ran.errors
    printed = re.fullmatch(
        r"Score (0\.\d+)\nExplanation (.+)\nDependencies (\[.+\])\nProposed changes\n(.+)", ran.out, re.DOTALL
    )
    assert printed is not None, ran.out
    score, explanation, dependencies, diff = printed.groups()
    assert 0.0 < float(score) <= 0.5
    assert "without a timeout" in explanation
    assert "'tenacity'" in dependencies
    before = (ran.folder / "app" / "app.py").read_text()
    after = applied(diff.removesuffix("\n"), tmp_path / "app.py", before)
    compile(after, "app.py", "exec")
    assert "timeout=" in after
    assert (ran.folder / ".cache" / "faultkit").is_dir(), "the index went elsewhere"


def applied(diff: str, path: Path, before: str) -> str:
    """Apply a patch with git, as a reader of the document would."""
    path.write_text(before)
    command = ["git", "apply", "--verbose", "-"]
    done = subprocess.run(command, input=diff, cwd=path.parent, capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr
    return path.read_text()


# About a running app

REPORT = r"""# Scenarios Report
Start: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{9} UTC
End: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{9} UTC
## Scenario: Evaluating runtime performance of http://localhost:9090  \(items: 1\)
### 🎯 `GET` http://localhost:9090 \| (?P<verdict>\w+)
\*\*Call\*\*:
- Method: `GET`
- Timeout: (?P<timeout>\d+)ms
- Headers: -
- Body\?: No
\*\*Strategy\*\*: load for 10s with (?P<clients>\d) clients @ (?P<rps>\d) RPS
\*\*Faults Applied\*\*:
\| Type \| Timeline \| Description \|
\|------\|----------\|-------------\|
\| (?P<fault>\w+) \| 0% `xxxxxxxxxx` 100% \| (?P<description>.+) \|
\*\*Run Overview\*\*:
\| Num. Requests \| Num. Errors \| Min. Response Time \| Max Response Time \| Mean Latency \(ms\) \| Expectation Failures \| Total Time \|
\|[-|]+\|
\| (?P<requests>\d+) \| (?P<errors>\d+) \((?P<errors_percent>[\d.]+)%\) \| (?P<min_ms>[\d.]+) \| (?P<max_ms>[\d.]+) \| (?P<mean_ms>[\d.]+) \| 0 \| .+ \|
\| Latency Percentile \| Latency \(ms\) \| Num. Requests \(% of total\) \|
\| p25 \| [\d.]+ \| \d+ \([\d.]+%\) \|
\| p50 \| (?P<p50_ms>[\d.]+) \| \d+ \([\d.]+%\) \|
\| p75 \| [\d.]+ \| \d+ \([\d.]+%\) \|
\| p95 \| [\d.]+ \| \d+ \([\d.]+%\) \|
\| p99 \| (?P<p99_ms>[\d.]+) \| \d+ \([\d.]+%\) \|
\| SLO       \| Pass\? \| Objective \| Margin \| Num. Requests Over Threshold \(% of total\) \|
\| 99% @ 350ms \| (?P<slo_99>.+) \| 99% < 350ms \| .+ \| \d+ \([\d.]+%\) \|
\| 95% @ 200ms \| (?P<slo_95>.+) \| 95% < 200ms \| .+ \| \d+ \([\d.]+%\) \|
---
"""  # noqa: E501
"""The lines of the document's sample; our output may have more in between."""


def read_report(text: str, lines: Sequence[str] = tuple(REPORT.splitlines())) -> dict[str, str]:
    found: dict[str, str] = {}
    given: Iterator[str] = iter(text.splitlines())
    for wanted in lines:
        line = next((match for each in given if (match := re.fullmatch(wanted, each))), None)
        assert line is not None, f"no line {wanted} after what came before it in:\n{text}"
        found.update(line.groupdict())
    return found


def report_of(ran: Ran) -> dict[str, Any]:
    assert (ran.code, "Traceback" in ran.errors) == (0, False), ran.errors
    found = read_report(ran.out)
    if found["verdict"] == "Inconclusive":
        # On a busy machine the run may be inconclusive: that is no failure of the tool.
        assert re.search(r"\*\*Reasons\*\*:\n\n(- .+ more than \d+ ms late.*\n)+", ran.out), ran.out
    else:
        # The verdict is on the objectives, whose table has a row for each.
        assert found["verdict"] == ("Failed" if "| ❌ |" in ran.out else "Passed"), ran.out
    # Every call of the app reached the upstream through the port that the script names.
    assert set(ran.asked) == {("/todos/1", "jsonplaceholder.typicode.com")}
    assert "- proxy: 127.0.0.1:34000 → localhost:443" in ran.out
    return {name: float(value) if re.fullmatch(r"[\d.]+", value) else value for name, value in found.items()}


@pytest.mark.slow
def test_the_latency_script_ends_with_a_report_of_calls_that_took_longer(impact: dict[str, Ran]) -> None:
    found = report_of(impact["latency"])
    assert (found["fault"], found["timeout"], found["clients"], found["rps"]) == ("latency", 10000, 1, 3)
    assert (found["requests"], found["errors"], len(impact["latency"].asked)) == (30, 0, 60)
    assert found["min_ms"] >= 300
    assert (found["slo_95"], "Mean: 300.00 ms" in found["description"]) == ("❌", True)


@pytest.mark.slow
def test_the_blackhole_script_ends_with_a_report_of_calls_that_all_failed(impact: dict[str, Ran]) -> None:
    found = report_of(impact["blackhole"])
    assert (found["fault"], found["timeout"]) == ("blackhole", 5000)
    assert (found["requests"], found["errors"], found["errors_percent"]) == (30, 30, 100)
    # The blackhole released nothing: the upstream received the requests of the baseline only.
    assert len(impact["blackhole"].asked) == 30
    assert (found["slo_99"], found["slo_95"]) == ("❌", "❌")


@pytest.mark.slow
def test_the_packet_loss_script_ends_with_a_report(impact: dict[str, Ran]) -> None:
    found = report_of(impact["packet loss"])
    assert (found["fault"], found["requests"], found["errors"]) == ("packetloss", 30, 0)
    assert len(impact["packet loss"].asked) == 60
    # A packet that is lost is sent again after a fifth of a second.
    assert found["max_ms"] >= 200


@pytest.mark.slow
def test_the_bandwidth_script_ends_with_a_report_of_bytes_a_second(impact: dict[str, Ran]) -> None:
    found = report_of(impact["bandwidth"])
    assert (found["fault"], found["clients"], found["rps"]) == ("bandwidth", 5, 2)
    assert (found["requests"], found["errors"], len(impact["bandwidth"].asked)) == (100, 0, 200)
    assert "Rate: 1024 Bps" in found["description"]
    # The TLS handshake and the request are more than 500 bytes, at 1024 a second.
    assert found["p50_ms"] >= 500


@pytest.mark.slow
def test_the_jitter_script_fails_by_a_call_of_its_own_and_works_with_that_call_repaired(
    impact: dict[str, Ran],
) -> None:
    failed = impact["jitter"]
    assert failed.code == 1
    assert "TypeError: main() missing 1 required positional argument: 'verbose'" in failed.errors
    found = report_of(impact["jitter repaired"])
    assert (found["fault"], found["requests"], found["errors"]) == ("jitter", 30, 0)
    assert len(impact["jitter repaired"].asked) == 60
    assert "Amplitude: 50.00ms, Frequence 3.00Hz" in found["description"]
