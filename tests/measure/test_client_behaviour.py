"""docs/client-behaviour.md is current: part of it is measured again with the real client of the SDK."""

from __future__ import annotations

import asyncio
import runpy
from pathlib import Path

import pytest

from faultkit.faults import CALL_FAULTS
from tests.mcp.faults.call_places import EVERYWHERE
from tests.mcp.faults.clients.case_run import observe_all
from tests.mcp.faults.clients.cases import ALL, CASES
from tests.mcp.faults.clients.client_libraries import Sdk

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "client-behaviour.md"
AGAIN = "run `python docs/generate_client_behaviour.py`"
PROMPT = (
    "hang",
    "tool_error",
    "protocol_error",
    "http_status",
    "malformed_json",
    "mistyped_id",
    "duplicate_reply",
    "truncated_reply",
    "stream_end",
    "disconnect",
    "tcp_reset",
    "empty_result",
    "corrupt_value",
    "header_mismatch",
    "unsupported_version",
    "unknown_result_type",
    "stale_cache_hints",
)
"""Faults whose effect on a client does not depend on speed, except through a long timeout."""


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text("utf-8")


@pytest.mark.filterwarnings("default")
def test_the_page_matches_the_current_client_of_the_sdk(page: str) -> None:
    generator = runpy.run_path(str(DOCS / "generate_client_behaviour.py"))
    found = asyncio.run(observe_all(Sdk(), [(case, place) for case, place in ALL if case.kind in PROMPT]))
    section = page.partition("\n## mcp\n")[2].partition("\n## ")[0]
    rows = [row for case in CASES if case.kind in PROMPT for row in generator["rows_of"](case, found)]
    assert rows
    assert [row for row in rows if row not in section] == [], AGAIN


def test_the_page_names_the_versions_of_the_clients(page: str) -> None:
    assert f"\n## mcp\n\n{Sdk().versions()}; Python " in page, AGAIN


@pytest.mark.parametrize("kind", CALL_FAULTS)
def test_every_fault_is_on_the_page_wherever_it_fits(kind: str, page: str) -> None:
    fault = CALL_FAULTS[kind]()
    fitting = {place for place in EVERYWHERE if fault.fits(place.transport, place.era)}
    assert {place for case, place in ALL if case.kind == kind} >= fitting
    assert all(f"| `{case.spec}` |" in page for case in CASES if case.kind == kind), AGAIN
