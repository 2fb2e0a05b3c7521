"""The same files with `chaos run` and with Faultkit: the same effects and journal, and the matching outcome.

Intended differences are in DIFFERENCES here, and in the table of docs/chaos-toolkit.md.
"""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from faultkit.chaos.experiment.experiment_model import EXIT_CODE
from tests.chaos.stage import Stage
from tests.chaos.toolkit.conftest import Shop
from tests.chaos.toolkit.documents import CASES

VOLATILE = ("start", "end", "duration", "Date")
EXPECTED: dict[str, tuple[int, str]] = {
    "held": (0, "held"),
    "deviated": (1, "deviated"),
    "every-tolerance": (0, "held"),
    "gate-out-of-tolerance": (0, "gate_not_met"),
    "gate-raises": (1, "gate_not_met"),
    "after-raises": (1, "deviated"),
    "failed-action": (0, "held"),
    "only-failed-actions": (0, "not_exercised"),
    "empty-method": (0, "not_exercised"),
    "only-probes": (0, "not_exercised"),
    "failed-rollback": (0, "rollback_failed"),
    "processes": (0, "held"),
    "http": (0, "not_exercised"),
    "configuration-and-secrets": (0, "held"),
    "controls": (0, "held"),
    "controls-that-add": (0, "held"),
    "rollbacks-that-say-no": (0, "rollback_failed"),
    "background-and-pauses": (0, "held"),
    "no-hypothesis": (0, "not_checked"),
    "before-method-only": (0, "not_checked"),
    "after-method-only": (1, "deviated"),
    "during-method-only": (0, "deviated"),
    "continuously": (0, "held"),
    "skip": (0, "not_checked"),
    "rollbacks-always": (1, "deviated"),
    "rollbacks-never": (1, "deviated"),
    "rollbacks-deviated": (1, "deviated"),
    "rollbacks-deviated-but-held": (0, "held"),
}
"""The exit code of `chaos run`, and the outcome of Faultkit."""
DIFFERENCES = {
    "gate-out-of-tolerance",
    "failed-rollback",
    "during-method-only",
    "rollbacks-that-say-no",
    "no-hypothesis",
    "before-method-only",
    "skip",
    "http",
    "only-failed-actions",
    "empty-method",
    "only-probes",
}
"""Cases in which `chaos run` exits with 0 although the outcome is not `held`."""


def chaos_run(shop: Shop, file: Path, *more: str) -> tuple[int, dict[str, Any]]:
    """Run `chaos run` in this process, with more flags; return its exit code and its journal."""
    journal = shop.folder / "theirs.json"
    flags = ["--no-version-check", "--no-log-file", "--settings", str(shop.settings)]
    logger = logging.getLogger("chaostoolkit")
    before = logger.handlers[:]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Warnings of Chaos Toolkit itself.
            from chaostoolkit.cli import cli

            ended = CliRunner().invoke(cli, [*flags, "run", *more, "--journal-path", str(journal), str(file)])
    finally:
        logger.handlers[:] = before
    return ended.exit_code, json.loads(journal.read_text())


def settled(value: Any, key: str = "") -> Any:
    """Return a journal without times, and without the number of repeated checks, which depends on time."""
    if isinstance(value, dict):
        return {name: settled(each, name) for name, each in value.items() if name not in VOLATILE}
    if key == "during":
        return sorted({json.dumps(settled(each), sort_keys=True) for each in value})
    if key == "exception":
        return [re.sub(r"0x[0-9a-f]+", "0x", str(each)) for each in value]
    return [settled(each) for each in value] if isinstance(value, list) else value


def compare(shop: Shop, stage: Stage, name: str) -> None:
    document = CASES[name]
    their_code, outcome = EXPECTED[name]
    code, theirs = chaos_run(shop, shop.file(document))
    their_state, their_log = shop.state, shop.log
    shop.begin()
    journal = stage.run(shop.experiment(document))
    ours = dict(journal.document)
    assert ours.pop("faultkit")["outcome"] == outcome == journal.result.outcome
    assert (code, journal.result.exit_code) == (their_code, EXIT_CODE[journal.result.outcome])
    assert (shop.state, sorted(shop.log)) == (their_state, sorted(their_log))
    assert settled(ours) == settled(theirs)
    assert (bool(code) != bool(journal.result.exit_code)) == (name in DIFFERENCES)


QUICK = (
    "every-tolerance",
    "deviated",
    "controls",
    "controls-that-add",
    "configuration-and-secrets",
    "http",
    "rollbacks-that-say-no",
    "skip",
)


@pytest.mark.parametrize("name", QUICK)
def test_a_file_runs_as_chaos_run_runs_it(shop: Shop, stage: Stage, name: str) -> None:
    compare(shop, stage, name)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in CASES if name not in QUICK])
def test_every_other_file_runs_as_chaos_run_runs_it(shop: Shop, stage: Stage, name: str) -> None:
    compare(shop, stage, name)


def test_the_program_itself_says_the_same(shop: Shop, stage: Stage) -> None:
    """Run the real command once, to prove that `chaos_run` above does the same."""
    file = shop.file(CASES["deviated"])
    command: list[str | Path] = [Path(sys.executable).parent / "chaos", "--no-version-check", "--no-log-file"]
    command += ["--settings", shop.settings, "run", "--journal-path", shop.folder / "theirs.json", file]
    ended = subprocess.run(command, capture_output=True, timeout=60, cwd=shop.folder)
    theirs = json.loads((shop.folder / "theirs.json").read_text())
    code, in_process = chaos_run(shop, file)
    assert (ended.returncode, code) == (1, 1)
    assert settled(theirs) == settled(in_process)


def test_every_case_has_its_row() -> None:
    assert set(EXPECTED) == set(CASES)
