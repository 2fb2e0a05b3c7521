"""Helpers that write suites to a folder and read them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

from faultkit.agents.suite.definition import Suite
from faultkit.agents.suite_file import load_suite, read_suite

TOOLS = """\
mock_server:
  tools:
    - {name: search, response: report 42}
    - {name: order, response: done}
"""
SERVERS = """\
servers:
  shop: {mock: tools.yml}
"""


def write(folder: Path, text: str, name: str = "suite.yml") -> Path:
    (folder / "tools.yml").write_text(TOOLS)
    file = folder / name
    file.write_text(dedent(text))
    return file


def suite_of(folder: Path, text: str, env: Mapping[str, str] | None = None, **more: Any) -> Suite:
    return load_suite(write(folder, text), env=env or {}, **more)


def problems_of(folder: Path, text: str, env: Mapping[str, str] | None = None) -> list[str]:
    """Return the mistakes without the folder."""
    _, problems = read_suite(write(folder, text), env=env or {})
    return [str(problem).replace(f"{folder}{os.sep}", "") for problem in problems]
