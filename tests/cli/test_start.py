"""What commands import before they serve: the times and the memory are those of `bench/start.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "examples" / "tools.yml"
HEAVY = (
    *("anthropic", "httpx", "jsonschema", "mcp", "numpy", "openai", "re2", "rich", "sqlalchemy", "starlette"),
    *("tomlkit", "tree_sitter", "uvicorn", "faultkit.faults.call"),
)
"""What none of these commands needs: modules, with all below them."""

LINES = {
    "--help": ("asyncio", "dataclasses", "logging", "ssl", "yaml", "faultkit.faults"),
    "run --no-ui --no-check --duration 1ms --disable-http-proxy --proxy 0=127.0.0.1:1": (
        "asyncio",
        "ssl",
        "yaml",
        "faultkit.faults.call_fault",
    ),
    f"mock --tools-from {TOOLS}": ("httptools", "faultkit.faults.stream"),
    "review --help": ("asyncio", "ssl", "yaml", "faultkit.code.proof", "faultkit.load", "faultkit.proxy"),
}


@pytest.mark.parametrize(("line", "others"), LINES.items(), ids=lambda value: str(value).split()[0])
def test_a_command_imports_nothing_that_it_does_not_use(line: str, others: tuple[str, ...]) -> None:
    code = f"""
import sys
from faultkit.cli.main import invoke
code = invoke({line.split()!r})
found = [name for name in {(*HEAVY, *others)!r} if name in sys.modules]
print(code, found, file=sys.stderr)
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.stderr.splitlines()[-1] == "0 []", done.stderr
