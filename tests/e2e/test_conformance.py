"""The official conformance suite gives the same result through the gateway as directly, check by check, and
the mock of the examples passes it.

`tests/mcp/conformance/install.sh` installs it, in two versions: the stable line tests the legacy era, and the
newer one version 2026-07-28.
"""

from __future__ import annotations

import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.mcp.gateway.gateway_processes import FAULT, FEATURES, listening
from tests.mcp.node import NODE, PACKAGES, REASON, has_package

PATIENCE_S = 120.0
MOCK = [*FAULT, "mock", "--tools-from", "examples/conformance.yml", "--front", "http", "--port", "0"]
ASKING = (
    "basic-elicitation",
    "capability-check",
    "multi-round",
    "multiple-input-requests",
    "non-tool-request",
    "request-state",
    "tampered-state",
)
GATEWAY = [*FAULT, "gateway", "--front", "http", "--port", "0", "--no-token"]
ERAS = {
    "legacy": ("conformance", ["--suite", "all"]),
    "modern": ("conformance-modern", ["--suite", "all", "--spec-version", "2026-07-28"]),
}

Checks: TypeAlias = dict[str, list[tuple[str, str]]]
"""Return the checks of each scenario by name, with their results."""

# How a stdio server would frame a reply over HTTP is unknown: the gateway answers with a JSON body unless a
# message precedes the reply, so the suite's checks of streams do not apply. The gateway accepts blanks around
# a header's value, unlike the SDK's server.
OF_FRAMING = {
    "server-sse-priming-event",
    "server-sse-retry-field",
    "server-sse-streams-functional",
    "sep-2243-server-accepts-whitespace-header-value",
}


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not has_package("conformance-modern"), reason=REASON),
]


def run_suite(era: str, url: str, folder: Path) -> Checks:
    package, options = ERAS[era]
    suite = [NODE, str(PACKAGES / package / "dist/index.js"), "server", "--url", url, *options]
    # Its exit code says whether all checks passed, which is not compared here.
    subprocess.run([*suite, "-o", str(folder)], capture_output=True, timeout=PATIENCE_S)
    found = {}
    for file in folder.glob("*/checks.json"):
        scenario = re.sub(r"-\d{4}-\d\d-\d\dT.*", "", file.parent.name)
        checks = json.loads(file.read_text())
        found[scenario] = [(check["id"], check["status"]) for check in checks if check["status"] != "INFO"]
    return found


@pytest.mark.parametrize("era", ERAS)
def test_the_suite_finds_the_same_through_the_gateway_as_directly(era: str, tmp_path: Path) -> None:
    with ExitStack() as stack, ThreadPoolExecutor(3) as pool:
        server = stack.enter_context(listening([*FEATURES, "--http", "0"], "stdout"))
        behind = stack.enter_context(listening([*FEATURES, "--http", "0"], "stdout"))
        relay = stack.enter_context(listening([*GATEWAY, "--upstream", behind], "stderr"))
        bridge = stack.enter_context(listening([*GATEWAY, "--", *FEATURES], "stderr"))
        places = {"direct": server, "relay": relay, "bridge": bridge}
        runs = {name: pool.submit(run_suite, era, url, tmp_path / name) for name, url in places.items()}
        results = {name: run.result() for name, run in runs.items()}
    direct = results["direct"]
    assert len(direct) > 30
    assert failures(direct) <= {"sep-2243-server-accepts-whitespace-header-value"}
    assert results["relay"] == direct
    assert without_framing(results["bridge"]) == without_framing(direct)


def test_the_mock_of_the_examples_passes_the_suite(tmp_path: Path) -> None:
    with listening(MOCK, "stderr") as url:
        found = run_suite("legacy", url, tmp_path)
    assert len(found) == 32
    assert failures(found) == set()
    assert sum(len(checks) for checks in found.values()) >= 43


def test_of_the_modern_scenarios_the_mock_fails_only_those_with_questions_that_it_does_not_have(
    tmp_path: Path,
) -> None:
    with listening(MOCK, "stderr") as url:
        found = run_suite("modern", url, tmp_path)
    assert len(found) == 40
    failed = {name for name, checks in found.items() if failures({name: checks})}
    assert failed == {f"server-input-required-result-{each}" for each in ASKING}


def failures(found: Checks) -> set[str]:
    return {name for checks in found.values() for name, status in checks if status == "FAILURE"}


def without_framing(found: Checks) -> Checks:
    return {
        scenario: [check for check in checks if check[0] not in OF_FRAMING]
        for scenario, checks in found.items()
    }
