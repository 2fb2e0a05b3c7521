"""Running services, with real processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from faultkit.base.address import Endpoint
from faultkit.base.errors import TargetError
from faultkit.base.network import why_unreachable
from faultkit.base.process_identity import birth_of
from faultkit.code.proof.exercised import RanLines
from faultkit.code.proof.running import RunningService
from faultkit.code.proof.service import Interface, Service
from tests.measure.test_prove import BOUNDED, HANGS, wait_until


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "app.py"
    path.write_text(HANGS.replace("TIMEOUT", "30"))
    return path


def fetch(url: str) -> str:
    """Return the answer to a call that uses no proxy of the environment."""
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=5) as answer:
        body: bytes = answer.read()
    return body.decode()


def running(file: Path, text: str, interpreter: str = sys.executable, **options: Any) -> RunningService:
    """Return a service that depends on nothing."""
    root, module = str(file.parent), file.stem
    interface: Interface = "asgi" if "scope" in text else "wsgi"
    return RunningService(
        file, Service(interface, root, "/", (), module, "app"), {}, interpreter, text=text, **options
    )


def test_a_service_is_gone_when_it_is_closed(file: Path) -> None:
    with running(file, BOUNDED) as service:
        assert service.url.startswith("http://127.0.0.1:")
        assert service._folder is not None
        pid, folder = service.pid, service._folder.name
        assert Path(folder, "app.py").read_text() == BOUNDED
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not Path(folder).exists()


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_daemons_of_a_service_end_with_it(file: Path) -> None:
    """One in a session of its own, and one whose parent has ended."""
    (file.parent / "daemon.py").write_text(
        "import subprocess, sys\n"
        "asleep = [sys.executable, '-c', 'import time; time.sleep(600)']\n"
        "print(subprocess.Popen(asleep, stdout=2, start_new_session=True).pid)\n"
    )
    text = (
        "import subprocess, sys\n"
        "asleep = [sys.executable, '-c', 'import time; time.sleep(600)']\n"
        "pids = [subprocess.Popen(asleep, start_new_session=True).pid]\n"
        "pids.append(int(subprocess.check_output([sys.executable, 'daemon.py'])))\n"
        "def app(environ, start):\n"
        "    start('200 OK', [])\n"
        "    return [' '.join(map(str, pids)).encode()]\n"
    )
    with running(file, text) as service:
        pids = [int(each) for each in fetch(service.url).split()]
        assert all(birth_of(each) for each in pids)
    wait_until(lambda: not any(birth_of(each) for each in pids))


def interpreters() -> list[str]:
    """Return this interpreter, and older and newer ones of pyenv, which report lines in other ways."""
    found = Path.home().glob(".pyenv/versions/3.[891][0-9.]*/bin/python")
    return [sys.executable, *map(str, sorted(found))]


@pytest.mark.parametrize("python", interpreters())
def test_the_lines_that_ran_are_known(file: Path, python: str) -> None:
    text = (
        "import threading\n"
        "def app(environ, start):\n"
        "    path = environ['PATH_INFO']\n"
        "    if path == '/x':\n"
        "        path = ''\n"
        "    start('200 OK', [])\n"
        "    return [path.encode()]\n"
    )
    with running(file, text, python) as service:
        assert service.ran_lines() == RanLines(frozenset(range(1, 8)), frozenset({1, 2}))
        for path, ran in (("y", {1, 2, 3, 4, 6, 7}), ("x", {1, 2, 3, 4, 5, 6, 7})):
            fetch(service.url + path)
            assert service.ran_lines().ran == ran


@pytest.mark.parametrize("python", interpreters())
def test_a_line_with_the_code_of_a_function_has_run_when_the_function_has(file: Path, python: str) -> None:
    text = (
        "import functools\n"
        "def a(): return b'a'\n"
        "@functools.lru_cache()\n"
        "def b(): return b'b'\n"
        "ROUTES = {'/a': a, '/b': b, '/c': lambda: b'c'}\n"
        "UNUSED = lambda: 1, lambda: 2\n"
        "def items(): yield from sorted([1], key=lambda n: -n)\n"
        "def app(environ, start):\n"
        "    start('200 OK', [])\n"
        "    return [ROUTES[environ['PATH_INFO']]()]\n"
    )
    with running(file, text, python) as service:
        at_start = {1, 3, 8}
        assert service.ran_lines() == RanLines(frozenset(range(1, 11)), frozenset(at_start))
        for path, ran in (("a", {2, 9, 10}), ("b", {2, 4, 9, 10}), ("c", {2, 4, 5, 9, 10})):
            fetch(service.url + path)
            assert service.ran_lines().ran == at_start | ran


def test_lines_that_run_at_the_end_of_a_service_are_known(file: Path) -> None:
    text = (
        "async def app(scope, receive, send):\n"
        "    await receive()\n"
        "    await send({'type': 'lifespan.startup.complete'})\n"
        "    await receive()\n"
        "    print('over')\n"
        "    await send({'type': 'lifespan.shutdown.complete'})\n"
    )
    with running(file, text) as service:
        assert {1, 2, 3} <= service.ran_lines().ran <= {1, 2, 3, 4}
        assert service.end().ran == {1, 2, 3, 4, 5, 6}


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
    with pytest.raises(TargetError, match=words):
        running(file, text, start_s=1.5).__enter__()


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
    with running(file, text) as service:
        body = fetch(service.url)
    assert body.startswith("beside it")
    assert "http_proxy" not in body.lower()


def test_a_service_ends_with_its_parent(file: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path\n"
        "from faultkit.code.proof.running import RunningService\n"
        "from faultkit.code.proof.python_service import python_service\n"
        "file = Path(sys.argv[1]); service = python_service(str(file), file.read_text())\n"
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


def test_the_answers_of_a_service_are_counted(file: Path) -> None:
    wsgi = (
        "def app(environ, start):\n"
        "    path = environ['PATH_INFO']\n"
        "    write = start('404 No' if path == '/x' else '200 OK', [('Content-Type', 'text/plain')])\n"
        "    write(b'id 12, ')\n"
        "    return iter([b'path ', path.encode()])\n"
    )
    asgi = (
        "async def app(scope, receive, send):\n"
        "    if scope['type'] == 'http':\n"
        "        status = 404 if scope['path'] == '/x' else 200\n"
        "        headers = [(b'content-type', b'text/plain')]\n"
        "        await send({'type': 'http.response.start', 'status': status, 'headers': headers})\n"
        "        await send({'type': 'http.response.body', 'body': b'id 12, path ', 'more_body': True})\n"
        "        await send({'type': 'http.response.body', 'body': scope['path'].encode()})\n"
    )
    seen = []
    for text in (wsgi, asgi):
        with running(file, text) as service:
            for path in ("", "", "y"):
                fetch(service.url + path)
            with pytest.raises(urllib.error.HTTPError):
                fetch(service.url + "x")
            service.ran_lines()
            seen.append(service.answers)
    assert [(each.length, each.beginning, each.content_type, n) for each, n in seen[0].items()] == [
        (13, "id 12, path /", "text/plain", 2),
        (14, "id 12, path /y", "text/plain", 1),
    ]
    assert seen[0] == seen[1]


def test_a_module_of_a_package_keeps_its_imports(tmp_path: Path) -> None:
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "words.py").write_text("HELLO = b'hello'\n")
    file = package / "app.py"
    old = "from .words import HELLO\ndef app(environ, start):\n    start('200 OK', [])\n    return [HELLO]\n"
    file.write_text(old)
    service = Service("wsgi", str(tmp_path), "/", (), "shop.app", "app")
    with RunningService(file, service, {}, sys.executable, text=old + "\n# new\n") as started:
        assert fetch(started.url) == "hello"
