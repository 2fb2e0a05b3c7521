"""`fault run --workers`: what it asks for, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.cli.main import invoke
from faultkit.cli.run import command, job_of


def workers(*args: str) -> int:
    return job_of(command.make_context("run", list(args))).workers


def test_one_worker_unless_more_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert workers() == 1
    assert workers("--workers", "3") == 3
    monkeypatch.setenv("FAULT_WORKERS", "2")
    assert workers() == 2


def test_one_worker_may_have_any_rule() -> None:
    assert workers("--with-bandwidth", "--bandwidth-scope", "proxy") == 1


def complaint(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert invoke(["run", "--no-ui", *args]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    return shown.err


@pytest.mark.parametrize("count", ["0", "-1", "65"])
def test_workers_have_bounds(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert complaint(capsys, "--workers", count) == f"error: --workers: expected 1 to 64, got {count}\n"


def test_connections_of_several_workers_cannot_share_a_rate(capsys: pytest.CaptureFixture[str]) -> None:
    args = ("--workers", "2", "--with-bandwidth", "--bandwidth-scope", "proxy")
    assert complaint(capsys, *args) == (
        "error: --workers: expected 1 with the rule bandwidth: with: expected nothing that connections share "
        "with more than one worker, got scope proxy\n"
    )


def test_several_workers_cannot_count_together(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("rules: [{name: third, fault: reset, trigger: {every: 3}}]")
    assert complaint(capsys, "--workers", "2", "--plan", str(file)) == (
        "error: --workers: expected 1 with the rule third: trigger.every: expected none with more than one "
        "worker, since each counts for itself, got 3\n"
    )
