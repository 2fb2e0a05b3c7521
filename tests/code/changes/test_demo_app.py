"""The changed demo app: its diff applies, and it imports, serves, and survives failures of its upstream."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from faultkit.code.advice.improvement import Improvement, improve
from tests.code.changes.test_diff import git_apply
from tests.code.changes.upstream import Upstream

APP = """\
import os

import httpx
from fastapi import FastAPI

UPSTREAM_URL = os.getenv("UPSTREAM_URL", "https://jsonplaceholder.typicode.com")

app = FastAPI()


@app.get("/")
def index():
    return httpx.get(f"{UPSTREAM_URL}/todos/1", headers={
        "Host": "jsonplaceholder.typicode.com"
    }).json()
"""

NEW = """\
import os
from contextlib import asynccontextmanager

import httpx
import tenacity
from fastapi import FastAPI, HTTPException

UPSTREAM_URL = os.getenv("UPSTREAM_URL", "https://jsonplaceholder.typicode.com")

_client = httpx.Client(timeout=httpx.Timeout(5.0, connect=2.0), limits=httpx.Limits(max_connections=100))


@asynccontextmanager
async def _lifespan(_app):
    global _client
    yield
    _client.close()
    # Ready for another start: a closed client cannot be used again.
    _client = httpx.Client(timeout=httpx.Timeout(5.0, connect=2.0), limits=httpx.Limits(max_connections=100))


app = FastAPI(lifespan=_lifespan)


@tenacity.retry(
    retry=tenacity.retry_if_exception_type((httpx.NetworkError, httpx.RemoteProtocolError)),
    stop=tenacity.stop_after_attempt(3) | tenacity.stop_after_delay(5.0),
    wait=tenacity.wait_random_exponential(multiplier=0.1, max=1.0),
    reraise=True,
)
def _get_with_retry(url, **options):
    return _client.get(url, **options)


@app.get("/")
def index():
    try:
        return _get_with_retry(f"{UPSTREAM_URL}/todos/1", headers={
            "Host": "jsonplaceholder.typicode.com"
        }).raise_for_status().json()
    except httpx.TimeoutException as error:
        raise HTTPException(status_code=504, detail="the upstream did not answer in time") from error
    except httpx.HTTPError as error:
        raise HTTPException(status_code=502, detail="the upstream failed") from error
"""

SERVE = """\
import socket, sys, uvicorn
from app import app
listener = socket.socket(fileno=int(sys.argv[1]))
uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
"""
PATIENCE_S = 30.0


@pytest.fixture(scope="module")
def better() -> Improvement:
    return improve(APP, "python", None, None, 1.0, file="app.py")


@contextmanager
def served(folder: Path, text: str, upstream_url: str) -> Iterator[httpx.Client]:
    """Run the app in a process of its own."""
    (folder / "app.py").write_text(text)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = subprocess.Popen(
            [sys.executable, "-c", SERVE, str(listener.fileno())],
            cwd=folder,
            env={**os.environ, "UPSTREAM_URL": upstream_url},
            pass_fds=[listener.fileno()],
        )
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        with httpx.Client(base_url=url, timeout=PATIENCE_S, trust_env=False) as client:
            yield client
    finally:
        server.terminate()
        server.wait(PATIENCE_S)


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()


def test_the_new_app_can_be_started_again(better: Improvement) -> None:
    app: dict[str, Any] = {}
    exec(compile(better.new, "app.py", "exec"), app)

    async def start_and_stop() -> httpx.Client:
        async with app["_lifespan"](None):
            used: httpx.Client = app["_client"]
            assert not used.is_closed
        return used

    first, second = asyncio.run(start_and_stop()), asyncio.run(start_and_stop())
    assert (first.is_closed, second.is_closed, first is second) == (True, True, False)
    app["_client"].close()


def test_the_old_app_scores_low_and_the_new_one_high(better: Improvement) -> None:
    reliability = improve(APP, "python", "reliability", None, 1.0)
    assert reliability.score_before <= 0.5
    assert reliability.score_after >= 0.8
    assert better.score_before <= 0.5
    assert better.score_after >= 0.8


def test_timeout_retry_errors_status_and_client_are_answered(better: Improvement) -> None:
    assert {each.rule.slug for each in better.answered} == {
        "http-call-without-timeout",
        "no-retry-on-idempotent-call",
        "upstream-error-not-mapped",
        "unchecked-response-status",
        "http-client-per-call",
    }
    assert better.left == ()


def test_the_new_app_is_what_a_person_would_write(better: Improvement) -> None:
    assert better.new == NEW
    assert better.dependencies == ("fastapi", "httpx", "tenacity")


def test_the_diff_applies_with_git(better: Improvement, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    assert git_apply(tmp_path, better.diff) == ""
    assert (tmp_path / "app.py").read_text() == better.new


def test_the_new_app_serves_and_survives_failures(
    better: Improvement, upstream: Upstream, tmp_path: Path
) -> None:
    # Short times, so that the test does not wait; the code is the same.
    quick = better.new.replace("(5.0", "(0.5")
    with served(tmp_path, quick, upstream.url) as client:
        answer = client.get("/")
        assert (answer.status_code, answer.json()) == (200, {"id": 1})
        upstream.script[:] = ["reset"]
        assert client.get("/").status_code == 200
        upstream.script[:] = ["500"]
        answer = client.get("/")
        assert (answer.status_code, answer.json()) == (502, {"detail": "the upstream failed"})
        upstream.script[:] = ["hang", "hang", "hang"]
        answer = client.get("/")
        assert (answer.status_code, answer.json()) == (504, {"detail": "the upstream did not answer in time"})
        upstream.script.clear()
    assert upstream.paths[:3] == ["/todos/1"] * 3


def test_the_new_app_reports_an_upstream_that_is_down(
    better: Improvement, closed_port: int, tmp_path: Path
) -> None:
    with served(tmp_path, better.new, f"http://127.0.0.1:{closed_port}") as client:
        assert client.get("/").status_code == 502


def test_changing_it_again_changes_nothing(better: Improvement) -> None:
    again = improve(better.new, "python", None, None, 1.0, file="app.py")
    assert (again.diff, again.new, again.changes) == ("", better.new, ())
