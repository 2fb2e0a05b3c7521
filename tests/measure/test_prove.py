"""Proofs with real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from faultkit.base.address import LOOPBACK, Endpoint
from faultkit.base.errors import InputError, RunError, TargetError
from faultkit.cli.main import invoke
from faultkit.code.proof.proof import Proof
from faultkit.code.proof.prove import ProofSettings, _spec, prove
from faultkit.code.proof.service import Upstream

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
ONCE = """
import os
import urllib.request

UPSTREAM_URL = os.environ.get("UPSTREAM_URL", "https://example.com")


def load():
    with urllib.request.urlopen(UPSTREAM_URL + "/todos/1", timeout=0.5) as answer:
        return answer.read()


def app(environ, start_response):
    body = load()
    start_response("200 OK", [("content-type", "application/json")])
    return [body]
"""
THRICE = """
import os
import urllib.request

import tenacity

UPSTREAM_URL = os.environ.get("UPSTREAM_URL", "https://example.com")


@tenacity.retry(stop=tenacity.stop_after_attempt(3), reraise=True)
def load():
    with urllib.request.urlopen(UPSTREAM_URL + "/todos/1", timeout=0.5) as answer:
        return answer.read()


def app(environ, start_response):
    try:
        body, status = load(), "200 OK"
    except OSError:
        body, status = b"", "504 Gateway Timeout"
    start_response(status, [("content-type", "application/json")])
    return [body]
"""
IDLE = """
import os

UPSTREAM_URL = os.getenv("UPSTREAM_URL", "https://example.com")


def app(environ, start_response):
    start_response("200 OK", [])
    return [b"no call"]
"""
QUICK = ProofSettings(duration_s=1.0, timeout_s=1.5, faults=("blackhole",))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "app.py"
    path.write_text(HANGS.replace("TIMEOUT", "30"))
    return path


def proof_of(file: Path, old: str, new: str, settings: ProofSettings = QUICK) -> Proof:
    file.write_text(old)
    return prove(str(file), old, new, settings)


def test_a_service_that_hung_and_now_answers_is_better(file: Path) -> None:
    old = file.read_text()
    proof = proof_of(file, old, BOUNDED)
    (black,) = proof.compared
    assert proof.verdict == "better"
    assert (black.before.answered, black.after.answered) == (0, black.after.requests)
    assert black.after.requests >= 30
    assert set(black.after.statuses) == {504}
    assert black.before.upstream_requests == black.before.requests
    assert proof.upstreams == ("UPSTREAM_URL: a stand-in on this machine",)
    (part,) = proof.parts
    assert (part.function, part.exercised_by, part.not_run) == ("app", ("blackhole",), ())
    assert file.read_text() == old


def test_retries_that_only_cost_time_and_calls_are_worse(file: Path) -> None:
    """6 × 500 in 1.1 s with 6 upstream calls became 6 × 504 in 3.3 s with 18: no gain for any caller."""
    proof = proof_of(file, ONCE, THRICE, replace(QUICK, timeout_s=10.0))
    (black,) = proof.compared
    assert set(black.before.statuses) == {500}
    assert set(black.after.statuses) == {504}
    assert black.after.upstream_requests == 3 * black.before.upstream_requests
    assert proof.verdict == "worse"
    assert "A trade-off: " in black.why
    assert "upstream calls: 1, now 3 a call" in black.why


def test_another_way_to_write_the_same_makes_no_difference(file: Path) -> None:
    same = BOUNDED.replace(
        'body, status = answer.read(), "200 OK"', 'body = answer.read()\n            status = "200 OK"'
    )
    assert same != BOUNDED
    proof = proof_of(file, BOUNDED, same, replace(QUICK, faults=("healthy", "bursts of resets")))
    assert [each.verdict for each in proof.compared] == ["no difference", "no difference"]
    assert (proof.verdict, proof.not_exercised) == ("no difference", ())


FALLBACK = """
import os
import urllib.request
import uuid

UPSTREAM_URL = os.environ.get("UPSTREAM_URL", "https://example.com")


def load():
    with urllib.request.urlopen(UPSTREAM_URL + "/todos/1", timeout=0.3) as answer:
        return answer.read()


def app(environ, start_response):
    try:
        body = load()
    except OSError:
        raise
    start_response("200 OK", [("content-type", "application/json")])
    return (each for each in (str(uuid.uuid4()).encode(), body))
"""


@pytest.mark.parametrize("fault", ["healthy", "blackhole"])
def test_successes_with_other_answers_are_told_and_not_judged(file: Path, fault: str) -> None:
    returned = (" raise", ' body = b"{}"') if fault == "blackhole" else ("answer.read()", 'b"null"')
    proof = proof_of(file, FALLBACK, FALLBACK.replace(*returned), replace(QUICK, faults=(fault,)))
    (found,) = proof.compared
    assert (proof.verdict, set(found.after.statuses)) == ("not shown", {200})
    assert found.after.different == found.after.requests
    assert " calls got answers that differ from those " in found.why
    assert proof.not_exercised == ()


WRITES = """
import os
import urllib.request

STOCK_URL = os.environ.get("STOCK_URL", "https://stock")
AUDIT_URL = os.environ.get("AUDIT_URL", "https://audit")


def load():
    with urllib.request.urlopen(STOCK_URL + "/stock", timeout=0.3) as answer:
        return answer.read()


def app(environ, start_response):
    body = load()
    urllib.request.urlopen(AUDIT_URL + "/seen/12", data=body, timeout=0.3).close()
    start_response("200 OK", [("content-type", "application/json")])
    return [body]
"""


WRITE = """urllib.request.urlopen(AUDIT_URL + "/seen/12", data=body, timeout=0.3).close()"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (WRITE, "", "POST /seen/0 of AUDIT_URL: 1, now 0 a call, "),
        (
            "def load",
            "import functools\n@functools.lru_cache\ndef load",
            "GET /stock of STOCK_URL: 1, now 0 a ",
        ),
        ("application/json", "text/html", "(text/html) instead of "),
    ],
    ids=["a lost write", "a cache for ever", "another type"],
)
def test_what_callers_may_miss_without_a_fault_is_told_and_not_judged(
    file: Path, old: str, new: str, words: str
) -> None:
    proof = proof_of(file, WRITES, WRITES.replace(old, new), replace(QUICK, faults=("healthy",)))
    (found,) = proof.compared
    assert (proof.verdict, words in found.why) == ("not shown", True), found.reason


def test_a_failed_upstream_that_is_blamed_on_the_caller_is_not_better(file: Path) -> None:
    proof = proof_of(file, HANGS.replace("TIMEOUT", "30"), BOUNDED.replace("504 Gateway Timeout", "404 No"))
    assert (proof.verdict, set(proof.compared[0].after.statuses)) == ("not shown", {404})


def test_what_differs_between_answers_of_one_version_is_no_change(file: Path) -> None:
    old = FALLBACK.replace("str(uuid.uuid4())", "f'{os.getpid()} {uuid.uuid4()}'")
    proof = proof_of(
        file,
        old,
        old.replace("raise", "raise error").replace("OSError:", "OSError as error:"),
        replace(QUICK, faults=("healthy",)),
    )
    (found,) = proof.compared
    assert (found.verdict, found.after.different) == ("no difference", 0)


def test_a_service_that_does_not_call_its_upstream_shows_nothing(file: Path) -> None:
    proof = proof_of(file, IDLE, IDLE.replace("no call", "none"))
    assert proof.verdict == "not shown"
    assert "The fault never acted" in proof.compared[0].reason


def test_a_part_of_the_change_that_never_runs_is_named(file: Path) -> None:
    extra = BOUNDED.replace(
        "    start_response(status",
        "    if environ.get('HTTP_X'):\n        status = '418 x'\n    start_response(status",
    )
    proof = proof_of(file, HANGS.replace("TIMEOUT", "30"), extra)
    assert proof.verdict == "better"
    (part,) = proof.not_exercised
    assert (part.function, len(part.not_run)) == ("app", 1)
    assert "only for what ran: 1 of 1 parts of the change not exercised, or not all of it" in proof.summary()
    unused = HANGS.replace("TIMEOUT", "30") + "\n\ndef unused():\n    return 1\n"
    proof = proof_of(file, HANGS.replace("TIMEOUT", "30"), unused)
    assert proof.verdict == "not shown"


def test_a_url_in_the_text_of_another_module_is_replaced(file: Path) -> None:
    (file.parent / "shop").mkdir()
    (file.parent / "shop" / "place.py").write_text('BASE = "https://api.example.com/v1"\n')
    read = 'os.environ.get("UPSTREAM_URL", "https://example.com")'
    old, new = (
        f"from shop.place import BASE\n{text.replace(read, 'BASE')}"
        for text in (HANGS.replace("TIMEOUT", "30"), BOUNDED)
    )
    proof = proof_of(file, old, new)
    assert proof.verdict == "better"
    assert proof.upstreams == ("https://api.example.com: a stand-in on this machine",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import nosuchmodule", r"pip install nosuchmodule\), or name the interpreter .*--python PATH"),
        ("raise SystemExit('cannot go on')", "cannot go on"),
    ],
)
def test_a_service_that_does_not_start_is_reported_with_its_reason(file: Path, text: str, words: str) -> None:
    text = f"import os\nU = os.environ['A_URL']\n{text}\ndef app(environ, start): ..."
    file.write_text(text)
    with pytest.raises(TargetError, match=words):
        prove(str(file), text, text, QUICK)


def test_a_changed_version_that_does_not_start_is_named_with_its_own_line(file: Path) -> None:
    new = BOUNDED.replace("import os\n", "import os\nimport nosuchmodule\n")
    with pytest.raises(TargetError, match=r"^the changed version of app\.py does not start: ") as error:
        proof_of(file, BOUNDED, new)
    assert 'app.py", line 3, in <module> / import nosuchmodule / ModuleNotFoundError: ' in str(error.value)


def test_an_upstream_for_a_variable_that_is_not_read_is_an_error(file: Path) -> None:
    settings = ProofSettings(upstreams={"OTHER": "http://127.0.0.1:1"})
    with pytest.raises(InputError, match=r"\(.*UPSTREAM_URL.*\), got OTHER"):
        prove(str(file), file.read_text(), BOUNDED, settings)


def test_a_proof_that_is_stopped_leaves_no_process(file: Path) -> None:
    stop = threading.Event()
    with pytest.raises(RunError):
        prove(str(file), file.read_text(), BOUNDED, QUICK, lambda *_: stop.set(), stop)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_stopped_leaves_no_process(file: Path, number: signal.Signals) -> None:
    pids = file.parent / "pids"
    file.write_text(
        f"{SEED_APP}\nwith open({str(pids)!r}, 'a') as pids:\n    pids.write(f'{{os.getpid()}}\\n')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-m", "faultkit", "review", str(file), "--prove"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as command:
        try:
            wait_until(lambda: pids.exists() and pids.read_text().count("\n") == 2)
            command.send_signal(number)
            assert command.wait(30) != 0
        finally:
            command.kill()
    for pid in map(int, pids.read_text().split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(1200):
        if holds():
            return
        threading.Event().wait(0.05)
    raise AssertionError("it does not hold after a minute")


def test_an_upstream_is_asked_by_its_own_name() -> None:
    upstream = Upstream("UPSTREAM_URL", "https://example.com/v1")
    given = _spec("0", upstream, "https://api.example.org/v2")
    assert (given.listen, given.upstream) == (Endpoint(LOOPBACK, 0), Endpoint("api.example.org", 443))
    assert (given.tls, given.speaks, given.rewrite_host) == (True, "http", True)
    with pytest.raises(InputError, match="--upstream: UPSTREAM_URL: "):
        _spec("0", upstream, "https://:x")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--upstream", "nothing"], "expected NAME=URL"),
        (["--prove-duration", "soon"], "--prove-duration"),
        (["--prove-duration", "1h"], "from 0.5s to 60s"),
        (
            ["--python", "/no/such/python"],
            '--python: expected an interpreter, a path or a name on the PATH, got "/',
        ),
        (["--python", "nosuchpython"], "--python: expected an interpreter"),
        (["--route", ""], '--route: expected a path such as /items, got ""'),
        (["--diff", "HEAD"], "--prove: expected no --diff beside it"),
        (["--baseline", "x.json", "--write-baseline"], "--prove: expected no --write-baseline beside it"),
        (["--ask-model", "--llm-client", "ollama"], "--prove: expected no --ask-model beside it"),
    ],
)
def test_invalid_options_are_errors(
    file: Path, args: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(SEED_APP)
    assert invoke(["review", str(file), "--prove", *args]) == 2
    assert words in capsys.readouterr().err


def test_the_findings_are_printed_though_the_service_does_not_start(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(SEED_APP + "\nraise SystemExit('no licence')\n")
    assert invoke(["review", str(file), "--prove"]) == 3
    printed = capsys.readouterr()
    assert "app.py does not start: no licence" in printed.err
    assert "1 file: " in printed.out
    assert invoke(["review", str(file), "--prove", "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert document["findings"]
    assert document["proof"]["error"].startswith("app.py does not start: no licence")


def test_a_proof_that_is_stopped_ends_the_line_of_its_progress(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(
        path: str, old: str, new: str, settings: object, watch: Callable[..., None], stop: object
    ) -> None:
        watch("blackhole", 2, 7)
        raise RunError("it was stopped")

    file.write_text(SEED_APP)
    monkeypatch.setattr("faultkit.code.proof.prove.prove", stopped)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert invoke(["review", str(file), "--prove"]) == 4
    assert "2/7 blackhole\n" in capsys.readouterr().err
