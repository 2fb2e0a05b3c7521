"""Proofs with real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest

from faultkit.base.address import Endpoint, ProxyMap
from faultkit.base.errors import InputError, RunError, TargetError
from faultkit.base.network import why_unreachable
from faultkit.cli.main import invoke
from faultkit.code.proof.prove import Proof, ProofSettings, _UpstreamRoute, prove
from faultkit.code.proof.service import RunningService, Upstream, service_of

HANGS = """
import os
import urllib.request

UPSTREAM_URL = os.environ.get("UPSTREAM_URL", "https://example.com")

def app(environ, start_response):
    with urllib.request.urlopen(UPSTREAM_URL + "/todos/1", timeout=TIMEOUT) as answer:
        body = answer.read()
    start_response("200 OK", [("content-type", "application/json")])
    return [body]
"""
BOUNDED = """
import os
import urllib.request

UPSTREAM_URL = os.environ.get("UPSTREAM_URL", "https://example.com")

def app(environ, start_response):
    try:
        with urllib.request.urlopen(UPSTREAM_URL + "/todos/1", timeout=0.3) as answer:
            body, status = answer.read(), "200 OK"
    except OSError:
        body, status = b"the upstream did not answer", "504 Gateway Timeout"
    start_response(status, [("content-type", "application/json")])
    return [body]
"""
SEED_APP = """
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
QUICK = ProofSettings(duration_s=0.5, timeout_s=1.5, latency_ms=600.0)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "app.py"
    path.write_text(HANGS.replace("TIMEOUT", "30"))
    return path


def test_a_version_that_hangs_and_one_that_answers_are_distinguished(file: Path) -> None:
    old = file.read_text()
    proof = prove(str(file), old, BOUNDED, QUICK)
    by_fault = {each.fault: each for each in proof.compared}
    black = by_fault["blackhole"]
    assert (black.before.answered, black.after.bounded) == (0, True)
    assert set(black.after.statuses) == {504}
    assert by_fault["latency of 0.6 s"].after.bounded
    for each in proof.compared:
        assert each.before.upstream_requests == each.before.requests
    assert proof.upstreams == ("UPSTREAM_URL: a stand-in on this machine",)
    # On a busy machine the figures of the load engine may be inconclusive.
    assert black.judgement in ("improved", "inconclusive")
    assert file.read_text() == old


def test_a_fault_that_never_acts_is_no_proof(file: Path) -> None:
    idle = 'import os\nX_URL = os.getenv("X_URL", "http://x")\ndef app(environ, start):\n'
    idle += '    start("200 OK", [])\n    return [b"no call"]\n'
    file.write_text(idle)
    proof: Proof = prove(str(file), idle, idle, QUICK)
    assert proof.judgement in ("not exercised", "inconclusive")
    assert {each.judgement for each in proof.compared} & {"not exercised"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import nosuchmodule", "pip install nosuchmodule"),
        ("raise SystemExit('cannot go on')", "cannot go on"),
    ],
)
def test_a_service_that_does_not_start_is_reported_with_its_reason(file: Path, text: str, words: str) -> None:
    text = f"import os\nU = os.environ['A_URL']\n{text}\ndef app(environ, start): ..."
    file.write_text(text)
    with pytest.raises(TargetError, match=words):
        prove(str(file), text, text, QUICK)


def test_a_service_without_a_variable_for_its_upstream_cannot_be_proved(file: Path) -> None:
    text = "def app(environ, start_response): ..."
    with pytest.raises(InputError, match="set by a variable of the environment"):
        prove(str(file), text, text, QUICK)


def test_an_upstream_for_a_variable_that_is_not_read_is_an_error(file: Path) -> None:
    settings = ProofSettings(upstreams={"OTHER": "http://127.0.0.1:1"})
    with pytest.raises(InputError, match=r"\(UPSTREAM_URL\), got OTHER"):
        prove(str(file), file.read_text(), BOUNDED, settings)


def test_a_proof_that_is_stopped_leaves_no_process(file: Path) -> None:
    stop = threading.Event()
    with pytest.raises(RunError):
        prove(str(file), file.read_text(), BOUNDED, QUICK, lambda *_: stop.set(), stop)


def test_a_service_is_gone_when_it_is_closed(file: Path) -> None:
    service = service_of(BOUNDED, str(file))
    env = {"UPSTREAM_URL": "http://127.0.0.1:1"}
    with RunningService(file, service, env, sys.executable, text=BOUNDED) as running:
        assert running.url.startswith("http://127.0.0.1:")
        assert running._process is not None
        assert running._folder is not None
        pid, folder = running._process.pid, running._folder.name
        assert Path(folder, "app.py").read_text() == BOUNDED
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not Path(folder).exists()


LIFESPAN = """
import asyncio

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        WORK
"""


@pytest.mark.parametrize(
    ("work", "words"),
    [
        ("await send({'type': 'lifespan.startup.failed', 'message': 'no database'})", "no database"),
        ("await asyncio.sleep(600)", "does not serve after 1.5 s"),
    ],
)
def test_a_service_that_never_serves_is_distinguished_from_a_slow_one(
    file: Path, work: str, words: str
) -> None:
    text = LIFESPAN.replace("WORK", work)
    service = service_of(text, str(file))
    with pytest.raises(TargetError, match=words):
        RunningService(file, service, {}, sys.executable, text=text, start_s=1.5).__enter__()


def test_the_changed_version_stands_where_the_old_one_does_and_may_print(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    (file.parent / "data.txt").write_text("beside it")
    text = (
        "import os\nfrom pathlib import Path\n"
        "BODY = (Path(__file__).parent / 'data.txt').read_bytes()\n"
        "def app(environ, start):\n"
        "    os.write(1, b'x' * 100_000)\n"  # More than a pipe holds.
        "    start('200 OK', [])\n"
        "    return [BODY + str(sorted(os.environ)).encode()]\n"
    )
    with (
        RunningService(file, service_of(text, str(file)), {}, sys.executable, text=text) as running,
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(running.url, timeout=5) as answer,
    ):
        body = answer.read().decode()
    assert body.startswith("beside it")
    assert "http_proxy" not in body.lower()


def test_a_service_ends_with_its_parent(file: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path\n"
        "from faultkit.code.proof.service import RunningService\n"
        "from faultkit.code.proof.service import service_of\n"
        "file = Path(sys.argv[1]); service = service_of(file.read_text(), str(file))\n"
        "running = RunningService(file, service, {}, sys.executable).__enter__()\n"
        "print(running.url, flush=True); os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(file)], stdout=subprocess.PIPE, timeout=30)
    port = int(killed.stdout.rpartition(b":")[2].partition(b"/")[0])
    for _ in range(100):
        if why_unreachable(Endpoint("127.0.0.1", port), 1.0) is not None:
            break
        threading.Event().wait(0.05)
    assert why_unreachable(Endpoint("127.0.0.1", port), 1.0) == "Connection refused"


def test_an_upstream_is_asked_by_its_own_name_and_path() -> None:
    upstream = Upstream("UPSTREAM_URL", "https://example.com/v1")
    given = _UpstreamRoute(upstream, "https://api.example.org/v2", "http://127.0.0.1:1")
    assert given.url == f"http://127.0.0.1:{given.map.listen.port}/v2"
    assert given.map == ProxyMap(given.map.listen, Endpoint("api.example.org", 443), True, "http", True)
    stand_in = _UpstreamRoute(upstream, None, "http://127.0.0.1:1")
    assert stand_in.url == f"http://127.0.0.1:{stand_in.map.listen.port}/v1"
    assert stand_in.map.upstream == Endpoint("127.0.0.1", 1)


def test_a_module_of_a_package_keeps_its_imports(tmp_path: Path) -> None:
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "words.py").write_text("HELLO = b'hello'\n")
    file = package / "app.py"
    old = "from .words import HELLO\ndef app(environ, start):\n    start('200 OK', [])\n    return [HELLO]\n"
    file.write_text(old)
    with RunningService(
        file, service_of(old, str(file)), {}, sys.executable, text=old + "\n# new\n"
    ) as running:
        assert running.url


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--upstream", "nothing"], "expected VARIABLE=URL"),
        (["--prove-duration", "soon"], "--prove-duration"),
        (["--prove-duration", "1h"], "from 0.5s to 60s"),
        (["--python", "/no/such/python"], "cannot start /no/such/python"),
    ],
)
def test_invalid_options_are_errors(
    file: Path, args: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(SEED_APP)
    assert invoke(["review", str(file), "--prove", *args]) in (2, 3)
    assert words in capsys.readouterr().err


@pytest.mark.slow
def test_the_seeds_app_misses_its_objectives_and_the_changed_one_answers_in_bounded_time(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(SEED_APP)
    code = invoke(["review", str(file), "--prove", "--prove-duration", "0.5s", "--json"])
    proof = json.loads(capsys.readouterr().out)["proof"]
    for each in proof["faults"]:
        if each["fault"] != "healthy":
            assert each["before"]["slos_missed"]
        assert 0 < each["after"]["requests"] == each["after"]["answered"]
        assert "500" not in each["after"]["statuses"]
    assert [each["fault"] for each in proof["faults"]] == ["healthy", "blackhole", "latency of 2 s"]
    # On a busy machine the figures of the load engine may be inconclusive.
    assert (code, proof["judgement"]) in ((0, "improved"), (1, "inconclusive"))
