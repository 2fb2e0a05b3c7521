"""`fault test --on`: what is refused before anything runs, and what Kubernetes would get."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from faultkit.cli.main import invoke
from tests.agents.execute.suite_runs import HEAD, write

SUITE = (
    HEAD
    + """
agents:
  - { name: a, agent: retrying, inject: [back], recovery: { max_detection_ms: 3000 } }
  - { name: b, agent: naive, inject: [back] }
"""
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path, SUITE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--on", "nowhere"], "--on: expected local:N, dask:N, dask://HOST:PORT, tls://HOST:PORT or"),
        (["--on", "local:0"], "--on: expected 1 to 64 workers"),
        (["--on", "local:3"], "one of its runs), got local:3 for 2 cases"),
        (["--on", "local:2", "--filter", "a"], "got local:2 for 1 case"),
        (["--on", "kubernetes:3"], "got kubernetes:3 for 2 cases"),
        (["--on", "local:2", "--record"], "--record: expected none beside --on local:2"),
        (["--on", "local:2", "--update-snapshots"], "--update-snapshots: expected none beside --on"),
        (["--on", "local:2", "--bail"], "--bail: expected none beside --on local:2"),
        (["--on", "local:2", "--max-cost", "1"], "--max-cost: expected none beside --on local:2"),
        (["--on", "local:2", "--watch"], "--watch: expected none beside --on local:2"),
        (["--on", "local:2", "--collect-only"], "--collect-only: expected none beside --on local:2"),
        (["--on", "local:2", "--dry-run"], "--dry-run: expected --on kubernetes beside it, got local:2"),
        (["--dry-run"], "--dry-run: expected --on kubernetes beside it, got none"),
        (["--on", "kubernetes:2", "--dry-run", "--json"], "--json: expected none beside --dry-run"),
        (
            ["--on", "kubernetes:2", "--dry-run", "--reporter", "junit=a.xml"],
            "--reporter: expected none beside --dry-run",
        ),
        (["--pods", "pods.yaml"], "--pods: expected --on kubernetes beside it, got none"),
        (["--on", "local:2", "--pods", "x"], "--pods: expected --on kubernetes beside it, got --on local:2"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(
    here: Path, capsys: pytest.CaptureFixture[str], args: list[str], says: str
) -> None:
    assert invoke(["test", "suite.yml", *args]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert says in said.err


def test_a_limit_of_money_for_all_runs_cannot_be_split(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = (
        SUITE.replace("agent: naive", "model: claude-sonnet-4-5, prompt: go")
        + "budget: { per_suite_usd_cents: 5 }\n"
    )
    write(here, body)
    assert invoke(["test", "suite.yml", "--on", "local:2", "--allow-stub-provider"]) == 2
    said = capsys.readouterr().err
    assert "expected a suite without budget.per_suite_usd_cents, got one in suite.yml" in said


def test_a_dry_run_prints_the_job_and_runs_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "pods.yaml").write_text("namespace: agents\n")
    args = ["--on", "kubernetes:2", "--pods", "pods.yaml", "--dry-run", "--timeout", "20s"]
    assert invoke(["test", "suite.yml", *args]) == 0
    job = yaml.safe_load(capsys.readouterr().out)
    assert (job["kind"], job["metadata"]["namespace"]) == ("Job", "agents")
    for part in (job, job["spec"]["template"]):
        assert part["metadata"]["labels"]["app.kubernetes.io/component"] == "suite-worker"
    assert (job["spec"]["completions"], job["spec"]["backoffLimitPerIndex"]) == (2, 0)
    # 120 s to start, 20 s to connect, one round of tests of 25 s, 60 s more.
    assert job["spec"]["activeDeadlineSeconds"] == 225
    assert not (here / ".fault_cache").exists()


@pytest.mark.parametrize("host", ["127.0.0.1:9", "shop.localhost", "0.0.0.0:9"])
def test_a_dry_run_refuses_servers_that_pods_cannot_reach(
    here: Path, capsys: pytest.CaptureFixture[str], host: str
) -> None:
    tools = "".join(f"  - {{ name: {name}, server: s, tool: search }}\n" for name in "ab")
    write(here, f'servers: {{ s: {{ url: "http://{host}/mcp" }} }}\ntools:\n{tools}')
    assert invoke(["test", "suite.yml", "--on", "kubernetes:2", "--dry-run"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"--on: expected servers that pods can reach, got http://{host}/mcp, which is of this" in said.err
