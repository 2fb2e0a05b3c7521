"""`fault serve` under load: each call is a row, in order; if it is killed, its log has no gaps."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import pytest
from bench.audit_load import fill, kill

from faultkit.audit.writer import MOST_BEHIND

FAULT = [sys.executable, "-m", "faultkit"]


def place(kind: str, folder: Path, request: pytest.FixtureRequest) -> str:
    url: str = str(folder / "audit.db") if kind == "sqlite" else request.getfixturevalue("postgres").url
    return url


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.parametrize(
    "calls", [2_000, pytest.param(50_000, marks=pytest.mark.thorough)], ids=["some", "fifty thousand"]
)
def test_rows_are_as_many_as_calls_and_in_their_order(
    kind: str, calls: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    filled = fill(FAULT, place(kind, tmp_path, request), calls, tmp_path)
    assert len(filled.log.numbers) == calls
    assert filled.holds
    said = (tmp_path / "serve.log").read_text("utf-8")
    assert f"audit: {calls} rows written to " in said
    assert "lost" not in said


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.thorough)])
def test_a_server_that_is_killed_loses_its_last_moments_only_and_tears_nothing(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    where = place(kind, tmp_path, request)
    # Several intervals after the first rows, so that a slow writer would lose many.
    killed = kill(FAULT, where, 2.5, tmp_path)
    if kind == "sqlite":
        with sqlite3.connect(where) as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        database.close()
    assert not killed.is_torn
    assert killed.rows > 0
    assert killed.owed <= MOST_BEHIND
