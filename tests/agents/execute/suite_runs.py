"""Suites for tests of the runner, which are written to a folder and run in this process."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from faultkit.agents.suite.results import ResultRow, SuiteResults
from faultkit.agents.suite.run_options import RunOptions, Selection, select
from faultkit.agents.suite_file import load_suite
from faultkit.agents.suite_runner import run_suites

TOOLS = """
mock_server:
  tools:
    - { name: search, response: found, annotations: { readOnlyHint: true } }
    - { name: grep, response: found otherwise, annotations: { readOnlyHint: true } }
    - { name: order, response: ordered }
    - { name: orders, response: one order, annotations: { readOnlyHint: true } }
"""
HEAD = """
servers:
  shop: { mock: tools.yml }
faults:
  - { name: hung, target: { tool: search }, kind: hang }
  - { name: back, target: { tool: search }, kind: recover_after, failures: 1 }
  - { name: rare, spec: "hang%0.5@search" }
"""


def write(folder: Path, body: str, name: str = "suite.yml") -> Path:
    (folder / "tools.yml").write_text(TOOLS)
    suite = folder / name
    suite.write_text(body)
    return suite


def run(suite: Path, selection: Selection | None = None, **options: Any) -> SuiteResults:
    return asyncio.run(
        run_suites(select([load_suite(suite)], selection or Selection()), RunOptions(**options))
    )


def row(results: SuiteResults, name: str) -> ResultRow:
    (found,) = [row for row in results.rows if row.name == name]
    return found


def verdicts(results: SuiteResults) -> dict[str, str]:
    return {row.name: row.verdict for row in results.rows}


def program(folder: Path, name: str, code: str) -> str:
    """Return the command of a test server, as YAML."""
    file = folder / name
    file.write_text(code)
    return f'["{sys.executable}", "{file}"]'


SERVER = """
import json, os, sys, time
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method = message["method"]
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s"}}
    elif method == "tools/list":
        LISTING
        result = {"tools": [{"name": "search", "inputSchema": {"type": "object"}}]}
    else:
        CALLING
        result = {"content": [{"type": "text", "text": os.getcwd()}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def server_code(listing: str = "pass", calling: str = "pass") -> str:
    return SERVER.replace("LISTING", listing).replace("CALLING", calling)
