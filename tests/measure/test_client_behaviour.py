"""docs/client-behaviour.md is what clients do: part of it is run anew, with the real client of the SDK."""

from __future__ import annotations

import asyncio
import runpy
from pathlib import Path

import pytest

from faultkit.faults import CALL_FAULTS
from tests.mcp.faults.clients.cases import ALL, CASES
from tests.mcp.faults.clients.peers import Sdk
from tests.mcp.faults.clients.run import observe_all
from tests.mcp.faults.place import EVERYWHERE

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
"""What a client does with these does not hang on how fast anything is, but for a timeout that is far off."""


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text("utf-8")


@pytest.mark.filterwarnings("default")
def test_the_page_says_what_the_client_of_the_sdk_does_today(page: str) -> None:
    generator = runpy.run_path(str(DOCS / "generate_client_behaviour.py"))
    found = asyncio.run(observe_all(Sdk(), [(case, place) for case, place in ALL if case.kind in PROMPT]))
    section = page.partition("\n## mcp\n")[2].partition("\n## ")[0]
    rows = [row for case in CASES if case.kind in PROMPT for row in generator["rows_of"](case, found)]
    assert rows
    assert [row for row in rows if row not in section] == [], AGAIN


def test_the_page_tells_with_which_client_it_was_made(page: str) -> None:
    assert f"\n## mcp\n\n{Sdk().versions()}; Python " in page, AGAIN


@pytest.mark.parametrize("kind", CALL_FAULTS)
def test_every_fault_is_on_the_page_wherever_it_fits(kind: str, page: str) -> None:
    fault = CALL_FAULTS[kind]()
    fitting = {place for place in EVERYWHERE if fault.fits(place.transport, place.era)}
    assert {place for case, place in ALL if case.kind == kind} >= fitting
    assert all(f"| `{case.spec}` |" in page for case in CASES if case.kind == kind), AGAIN
