"""Servers with a URL: tokens and headers of the environment, time limits, waiting until they are ready."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from faultkit.agents.execute import readiness
from faultkit.agents.execute.upstreams import listen
from faultkit.agents.suite.results import SuiteResults
from faultkit.agents.suite.run_options import RunOptions, Selection, select
from faultkit.agents.suite_file import load_suite
from faultkit.agents.suite_runner import run_suites
from faultkit.base.address import LOOPBACK_NAMES
from faultkit.base.http.http_exchange import HttpRequest, ResponseWriter
from faultkit.mcp.injector import Injector
from faultkit.mcp.mock.manifest import load_source
from faultkit.mcp.mock.mock_server import MockService
from faultkit.mcp.wire.http_front import Continuation, HttpFront
from faultkit.plan import Plan
from tests.agents.execute.suite_runs import verdicts, write
from tests.mcp.specs import parse_specs

TEST = 'tools: [{ name: t, tool: search, expect: { target: "result.content[0].text", exact: found } }]\n'


@asynccontextmanager
async def served(folder: Path, seen: list[dict[str, str]], *faults: str) -> AsyncIterator[str]:
    """Serve the mock over HTTP to callers with a token, and keep the headers of their requests."""

    def admit(request: HttpRequest, answer: ResponseWriter, serve: Continuation) -> None:
        seen.append(dict(request.headers))
        if request.headers.get("authorization") == "Bearer a-token":
            serve("")
        else:
            answer.respond(401, [], b"")

    manifest = load_source(folder / "tools.yml")
    service = MockService(manifest, Injector(Plan(parse_specs(faults), 0), manifest.name))
    front = HttpFront(
        service, hosts=LOOPBACK_NAMES, admit=admit, other_handler=lambda request, answer: _health(answer)
    )
    try:
        async with listen(front) as url:
            yield url
    finally:
        await service.stop()


_REFUSED = [503, 503]


def _health(answer: ResponseWriter) -> None:
    answer.respond(_REFUSED.pop() if _REFUSED else 204, [], b"")


def run_against_url(
    folder: Path, server: str, *faults: str, **options: Any
) -> tuple[SuiteResults, list[Any]]:
    """Run TEST with a server whose keys are given; URL stands for its address."""
    seen: list[dict[str, str]] = []

    async def main() -> SuiteResults:
        file = write(folder, "")
        async with served(folder, seen, *faults) as url:
            keys = server.replace("URL", url)
            file.write_text(f"servers: {{ far: {{ url: '{url}', {keys} }} }}\n{TEST}")
            return await run_suites(select([load_suite(file)], Selection()), RunOptions(**options))

    return asyncio.run(main()), seen


@pytest.fixture(autouse=True)
def _variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_TOKEN", "a-token")
    monkeypatch.setenv("TENANT", "seven")
    monkeypatch.delenv("NO_TOKEN", raising=False)
    _REFUSED[:] = [503, 503]


@pytest.mark.parametrize("options", [{}, {"clock": "scaled", "scale": 20.0}], ids=["virtual", "scaled"])
def test_a_token_and_a_header_of_the_environment_are_in_each_request(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    keys = "auth: { bearer_token_env: A_TOKEN }, headers: { X-Tenant: { env: TENANT }, X-Run: 7 }"
    results, seen = run_against_url(tmp_path, keys, **options)
    assert verdicts(results) == {"t": "passed"}
    assert {(each["x-tenant"], each["x-run"]) for each in seen} == {("seven", "7")}


def test_a_variable_that_is_not_set_fails_the_tests_and_not_the_loading(tmp_path: Path) -> None:
    results, _ = run_against_url(tmp_path, "auth: { bearer_token_env: NO_TOKEN }")
    (row,) = results.rows
    assert row.verdict == "error"
    assert row.message.endswith(
        "expected the variable NO_TOKEN, which auth.bearer_token_env names, to be set"
    )


def test_without_its_token_a_server_cannot_be_connected(tmp_path: Path) -> None:
    results, _ = run_against_url(tmp_path, "headers: {}")
    assert verdicts(results) == {"t": "error"}


def test_a_call_that_takes_longer_than_the_limit_of_its_server_is_an_error(tmp_path: Path) -> None:
    keys = "auth: { bearer_token_env: A_TOKEN }, http: { timeout: 100ms, connect_timeout: 20s }"
    results, _ = run_against_url(tmp_path, keys, "hang@search")
    (row,) = results.rows
    assert (row.verdict, row.message) == (
        "error",
        "far: the call of search had no answer within 0.1 s (http.timeout)",
    )


@pytest.mark.parametrize("wait", ["30s", "URLz/ready"])
def test_a_server_is_waited_for(tmp_path: Path, wait: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "_AGAIN_S", 0.001)
    keys = f"auth: {{ bearer_token_env: A_TOKEN }}, wait_for_ready: '{wait}'"
    results, _ = run_against_url(tmp_path, keys)
    assert verdicts(results) == {"t": "passed"}
    assert len(_REFUSED) == (0 if "URL" in wait else 2)


def test_a_server_that_is_never_ready_fails_the_tests_that_use_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "READY_S", 0.05)
    _REFUSED[:] = [503] * 1000
    results, _ = run_against_url(tmp_path, "wait_for_ready: 'URLz'")
    (row,) = results.rows
    assert row.verdict == "error"
    assert row.message.endswith("not ready within 0.05 s (wait_for_ready): it answered with status 503")
