"""The real `fault exec`, with real programs and a real HTTPS service on loopback."""

from __future__ import annotations

import os
import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from tests.proxy.origin import Origin, serving

PATIENCE_S = 60.0
ALWAYS_503 = ("--with-http-response", "--http-response-status", "503")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Origin, dict[str, str]]]:
    """An HTTPS service, and an environment with its authority, and ours."""
    place = tmp_path_factory.mktemp("service")
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(str(place / "service.pem"))
    dropped = ("FAULT_", "HTTP", "SSL_", "NODE_", "JAVA_", "CURL_", "REQUESTS_", "NO_PROXY")
    env = {name: value for name, value in os.environ.items() if not name.upper().startswith(dropped)}
    env |= {"FAULT_CA_DIR": str(place / "ca"), "FAULT_CACERT": str(place / "service.pem")}
    with serving(context) as origin:
        yield origin, env


def fault_exec(env: dict[str, str], *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "faultkit", "exec", *args],
        env=env,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL,
    )


_PYTHON = """
import urllib.error, urllib.request
try:
    print(urllib.request.urlopen({url!r}).status)
except urllib.error.HTTPError as error:
    print(error.code)
"""
_HTTPX = "import httpx; print(httpx.get({url!r}).status_code)"
_NODE = "fetch({url!r}).then((answer) => console.log(answer.status))"
_JAVA = """
import java.net.URI;
import java.net.http.*;
public class Ask {
  public static void main(String[] args) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(args[0])).build();
    var answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    System.out.println(answer.statusCode());
  }
}
"""


def client(name: str, url: str, folder: Path) -> list[str]:
    """The command line of a client that prints the status of an answer."""
    if name in ("python", "httpx"):
        return [sys.executable, "-c", (_PYTHON if name == "python" else _HTTPX).format(url=url)]
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    if name == "curl":
        return ["curl", "-s", "-o", os.devnull, "-w", "%{http_code}\\n", url]
    if name == "node":
        return ["node", "-e", _NODE.format(url=url)]
    (folder / "Ask.java").write_text(_JAVA)
    return ["java", str(folder / "Ask.java"), url]


# `test_https_clients` has the same clients, with the same variables.
_MORE = [pytest.param(name, marks=pytest.mark.thorough) for name in ("httpx", "curl", "java")]


@pytest.mark.parametrize("name", ["python", "node", *_MORE])
def test_the_https_of_an_unchanged_client_is_broken(
    service: tuple[Origin, dict[str, str]], name: str, tmp_path: Path
) -> None:
    origin, env = service
    url = f"https://localhost:{origin.server_port}/"
    done = fault_exec(env, "--seed", "3", *ALWAYS_503, "--", *client(name, url, tmp_path))
    assert (done.stdout, done.returncode) == ("503\n", 0)
    summary = "fault: 1 connection, 1 request; injected: http_error 1 (--seed 3)"
    assert summary in done.stderr.splitlines()


def test_without_a_fault_nothing_changes(service: tuple[Origin, dict[str, str]], tmp_path: Path) -> None:
    origin, env = service
    url = f"https://localhost:{origin.server_port}/"
    done = fault_exec(env, "--quiet", "--", *client("python", url, tmp_path))
    assert (done.stdout, done.stderr, done.returncode) == ("200\n", "", 0)


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        (["sh", "-c", "exit 7"], 7, "made no connection through the proxy"),
        (["sh", "-c", "kill -9 $$"], 137, "made no connection through the proxy"),
        (["no-such-program"], 127, "error: COMMAND: no-such-program: No such file or directory"),
        ([os.devnull], 126, f"error: COMMAND: {os.devnull}: Permission denied"),
    ],
)
def test_the_exit_code_is_kept(
    service: tuple[Origin, dict[str, str]], line: list[str], code: int, says: str
) -> None:
    done = fault_exec(service[1], "--no-intercept", "--", *line)
    assert done.returncode == code
    assert says in done.stderr


_PATIENT = """
import os, signal, sys, time
def stop(number, frame):
    print("got", signal.Signals(number).name, flush=True)
    sys.exit(5)
signal.signal({number}, stop)
if not os.fork():
    signal.signal({number}, signal.SIG_IGN)
    time.sleep(60)
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name
)
def test_a_signal_is_passed_on_and_nothing_stays_behind(
    service: tuple[Origin, dict[str, str]], number: signal.Signals
) -> None:
    program = [sys.executable, "-c", _PATIENT.format(number=int(number))]
    with subprocess.Popen(
        [sys.executable, "-m", "faultkit", "exec", "--no-intercept", "-q", "--", *program],
        env=service[1],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.stdout.readline() == f"got {number.name}\n"
        assert process.wait(PATIENCE_S) == 5
        assert process.stdout.read() == ""  # Ends when the last process that has it has ended.
