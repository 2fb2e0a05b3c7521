"""How a file is run as a service, read from its syntax."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from faultkit.base.errors import InputError
from faultkit.code.proof.service import Service, Upstream, interpreter_of, service_of

SEED = """
import os
import httpx
from fastapi import FastAPI

UPSTREAM_URL = os.getenv("UPSTREAM_URL", "https://example.com/v1")
app = FastAPI()

@app.get("/health")
def health():
    return {"ok": True}

def fetch():
    return httpx.get(f"{UPSTREAM_URL}/todos/1")

@app.get("/todo")
def index():
    return fetch().json()
"""


def test_the_route_that_calls_out_is_chosen() -> None:
    upstream = Upstream("UPSTREAM_URL", "https://example.com/v1")
    assert service_of(SEED, "app.py") == Service("app", "asgi", "/todo", (upstream,))
    assert upstream.path == "/v1"


def test_a_named_route_comes_first() -> None:
    assert service_of(SEED, "app.py", route="/health").route == "/health"


@pytest.mark.parametrize(
    ("text", "application", "interface", "route"),
    [
        ("site = Flask(__name__)\n@site.route('/a')\ndef a(): ...", "site", "wsgi", "/a"),
        ("api: object = fastapi.FastAPI()\n@api.get('/x')\ndef x(): ...", "api", "asgi", "/x"),
        ("def application(environ, start_response): ...", "application", "wsgi", "/"),
        ("async def app(scope, receive, send): ...", "app", "asgi", "/"),
        (
            "app = Flask(__name__)\n@app.route('/p', methods=['POST'])\ndef p(): ...\n"
            "@app.route('/i/<int:n>')\ndef i(n): ...\n@app.route('/g', methods=['GET'])\ndef g(): ...",
            "app", "wsgi", "/g",
        ),
    ],
)  # fmt: skip
def test_applications_of_both_kinds_are_found(
    text: str, application: str, interface: str, route: str
) -> None:
    found = service_of(text, "app.py")
    assert (found.application, found.interface, found.route) == (application, interface, route)


@pytest.mark.parametrize(
    ("code", "upstreams"),
    [
        ('A = os.getenv("BACKEND", "http://b:1/p")', (Upstream("BACKEND", "http://b:1/p"),)),
        ('A = os.environ["API_URL"]', (Upstream("API_URL", ""),)),
        ('A = os.environ.get("SERVICE_URL")', (Upstream("SERVICE_URL", ""),)),
        ('A = os.getenv("LOG_LEVEL", "info"); B = os.environ["HOME"]', ()),
        ('A = os.getenv("X_URL", "http://x"); B = os.getenv("X_URL", "http://x")', (Upstream("X_URL", "http://x"),)),
    ],
)  # fmt: skip
def test_variables_that_name_dependencies_are_found(code: str, upstreams: tuple[Upstream, ...]) -> None:
    assert service_of(f"import os\n{code}\nasync def app(a, b, c): ...", "app.py").upstreams == upstreams


@pytest.mark.parametrize(
    ("text", "route", "words"),
    [
        ("x = 1", None, "expected a service to run"),
        ("def broken(:", None, "expected Python that can be run"),
        ("app = FastAPI()\n@app.get('/i/{n}')\ndef i(n): ...", None, "name one with --route"),
        ("app = FastAPI()", "items", "expected a path such as /items"),
    ],
)
def test_a_file_that_cannot_be_run_is_reported_with_the_missing_option(
    text: str, route: str | None, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        service_of(text, "app.py", route=route)


def environment_at(folder: Path) -> str:
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    return str(python)


def test_a_service_is_run_by_the_interpreter_of_its_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "project" / "app" / "app.py"
    file.parent.mkdir(parents=True)
    assert interpreter_of(file, None, {}) == sys.executable
    active = environment_at(tmp_path / "active")
    assert interpreter_of(file, None, {"VIRTUAL_ENV": str(tmp_path / "active")}) == active
    own = environment_at(tmp_path / "project" / ".venv")
    assert interpreter_of(file, None, {"VIRTUAL_ENV": str(tmp_path / "active")}) == own
    monkeypatch.chdir(tmp_path / "project")
    assert interpreter_of(file, ".venv/bin/python", {}) == own
    assert interpreter_of(file, "python3.12", {}) == "python3.12"
