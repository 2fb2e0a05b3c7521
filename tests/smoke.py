"""Use every command of an installation once: with real traffic, real processes, and nothing but loopback.

    PYTHON tests/smoke.py

Steps of an extra run if `fault doctor` says that it is installed. The script needs nothing but Faultkit, so
that it runs in installations with the lowest versions and on other interpreters: see `make smoke`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

PROJECT = Path(__file__).parents[1]
FAULT = [sys.executable, "-m", "faultkit"]
PATIENCE_S = 60.0
_URL = re.compile(r"http://[\d.a-z]+:[1-9]\d*")

APP = """\
import requests


def f():
    return requests.get("http://a.test").text
"""
EXPERIMENT = """\
name: nothing
steady_state:
  - {name: it is there, process: ["true"], expect: {all: [{target: status, equals: 0}]}}
method:
  - {name: nothing, process: ["true"]}
"""
JSON_PATH = """\
name: documents
steady_state:
  - name: the document is right
    process: [echo, '{"items": [{"n": 1}, {"n": 2}]}']
    expect: {type: jsonpath, path: PATH, target: stdout, count: 2}
method:
  - {name: nothing, process: ["true"]}
"""
TOOLKIT: dict[str, Any] = {
    "title": "toolkit",
    "description": "an experiment of Chaos Toolkit",
    "steady-state-hypothesis": {
        "title": "it is there",
        "probes": [
            {
                "type": "probe",
                "name": "true",
                "tolerance": 0,
                "provider": {"type": "process", "path": "true"},
            }
        ],
    },
    "method": [
        {
            "type": "action",
            "name": "true",
            "provider": {"type": "process", "path": "true"},
        }
    ],
}
OPENAPI: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1"},
    "servers": [{"url": "http://127.0.0.1:1"}],
    "paths": {"/items": {"get": {"responses": {"200": {"description": "ok"}}}}},
}
INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "smoke", "version": "1"},
    },
}


@dataclass(frozen=True, slots=True)
class Step:
    """A command that ends by itself."""

    args: tuple[str, ...]
    says: str
    """A part of what it prints."""
    code: int = 0
    extra: str = ""
    """The extra that it needs; empty for the core."""
    variables: tuple[tuple[str, str], ...] = ()

    @property
    def title(self) -> str:
        """The command, with the variables that it is given."""
        return " ".join((*(f"{name}={value}" for name, value in self.variables), "fault", *self.args))


STEPS = (
    Step(("faults", "latency"), "latency"),
    Step(("doctor",), "The core is sound."),
    Step(("test", str(PROJECT / "examples/shipped-agents.yml")), "9 passed"),
    Step(("scenario", "validate", str(PROJECT / "examples/scenarios")), "valid: 8 scenarios"),
    Step(("scenario", "generate", "--spec-file", "openapi.json", "--scenario", "made.yaml"), ""),
    Step(("chaos", "run", "own.yaml"), "The steady state held"),
    Step(("chaos", "run", "path.yaml"), "The steady state held"),
    Step(("chaos", "status"), ""),
    Step(("keys", "create", "ci"), "fk_"),
    Step(("audit", "list", "--store", "absent.db"), "no file", 2),
    Step(("agent", "install", "codex", "--scope", "user"), "[mcp_servers."),
    Step(("profile", "--timeout", "5s", "--", "true", "{server}"), "", 4),
    Step(("edge", "--only", "EDGE-001", "--", *FAULT, "mock", "--tools-from", "tools.yml"), "EDGE-001"),
    Step(("functions", "app.py"), "f", extra="code"),
    Step(("review", "app.py"), "1 file: ", extra="code"),
    Step(("explain", "FK-R001"), "When to ignore"),
    Step(("improve", "app.py"), "+++ b/app.py", extra="code"),
    Step(("slo", "app.py", "f"), "", extra="code"),
    Step(("index", "."), "1 indexed", extra="index"),
    Step(("search", "fetch a page"), "app.py", extra="index"),
    Step(("chaos", "run", "toolkit.json"), "", extra="toolkit"),
    Step(("chaos", "run", "filter.yaml"), "The steady state held", extra="toolkit"),
    Step(("audit", "list", "--store", "postgresql://me@127.0.0.1:1/a"), "port 1 failed", 3, extra="postgres"),
    Step(("index", "."), "does not answer", 3, "qdrant", (("QDRANT_URL", "http://127.0.0.1:1"),)),
)


def write_files(folder: Path) -> None:
    """Write the files that the steps name."""
    (folder / "app.py").write_text(APP)
    (folder / "own.yaml").write_text(EXPERIMENT)
    (folder / "path.yaml").write_text(JSON_PATH.replace("PATH", '"$.items[*].n"'))
    (folder / "filter.yaml").write_text(JSON_PATH.replace("PATH", '"$.items[*][?(@.n > 0)]"'))
    (folder / "toolkit.json").write_text(json.dumps(TOOLKIT))
    (folder / "openapi.json").write_text(json.dumps(OPENAPI))
    (folder / "tools.yml").write_text((PROJECT / "examples/tools.yml").read_text("utf-8"))


def run(env: dict[str, str], folder: Path, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command to its end, and check that no traceback reaches the user."""
    done = subprocess.run(
        [*FAULT, *args], env=env, cwd=folder, input=stdin, capture_output=True, text=True, timeout=PATIENCE_S
    )
    check("Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr)
    check("unexpected " not in done.stdout + done.stderr, done.stdout + done.stderr)
    return done


def take(step: Step, env: dict[str, str], folder: Path) -> None:
    """Run a step and check its exit code and what it prints."""
    done = run(env | dict(step.variables), folder, *step.args)
    printed = done.stdout + done.stderr
    check(done.returncode == step.code, f"exit code {done.returncode}, expected {step.code}: {printed}")
    check(step.says in printed, f"expected {step.says!r} in {printed!r}")


def refuse(step: Step, env: dict[str, str], folder: Path) -> None:
    """Run a step whose extra is absent, and check that it ends with one line that names an extra."""
    done = run(env | dict(step.variables), folder, *step.args)
    check((done.returncode, done.stdout) == (2, ""), f"exit code {done.returncode}: {done.stdout}")
    check(re.fullmatch(r"error: .+ needs the extra .+\n", done.stderr) is not None, done.stderr)


@contextmanager
def serving(env: dict[str, str], folder: Path, *args: str) -> Iterator[str]:
    """Start a command that serves HTTP, yield the URL that it prints, and end it with SIGTERM."""
    process = subprocess.Popen(
        [*FAULT, *args], env=env, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    printed: list[str] = []
    try:
        for line in process.stdout:
            printed.append(line)
            if found := _URL.search(line):
                yield found[0]
                break
        else:
            raise AssertionError(f"no URL in {''.join(printed)!r}")
    finally:
        process.send_signal(signal.SIGTERM)
        printed.append(process.communicate(timeout=PATIENCE_S)[0])
    check("Traceback" not in "".join(printed), "".join(printed))
    check(process.returncode in (0, 143), f"exit code {process.returncode}: {''.join(printed)}")


def fetch(url: str, **headers: str) -> tuple[int, str]:
    """Return status and text of a GET request, without the proxies of the environment."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(url, headers=headers), timeout=PATIENCE_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@contextmanager
def upstream(status: int, body: str) -> Iterator[int]:
    """Serve one answer to everything, and yield the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        do_POST = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def speak(env: dict[str, str], folder: Path, args: tuple[str, ...], *messages: dict[str, Any]) -> list[Any]:
    """Send messages to an MCP server over stdio, each after the answer to the last; return the results."""
    process = subprocess.Popen(
        [*FAULT, *args],
        env=env,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    results = []
    try:
        for message in messages:
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            while "id" in message:
                answer = json.loads(process.stdout.readline())
                if answer.get("id") == message["id"]:
                    results.append(answer["result"])
                    break
    finally:
        process.communicate(timeout=PATIENCE_S)
    check(process.returncode == 0, f"exit code {process.returncode}")
    return results


# Commands that do not end by themselves.


def proxy_with_latency(env: dict[str, str], folder: Path) -> None:
    with upstream(200, '{"hello": 1}') as port:
        here = free_port()
        args = ("run", "--no-ui", "--with-latency", "--latency-mean", "50", "--disable-http-proxy")
        control = ("--control", "127.0.0.1:0")
        with serving(env, folder, *args, "--proxy", f"{here}=127.0.0.1:{port}", *control):
            check(fetch(f"http://127.0.0.1:{here}/") == (200, '{"hello": 1}'), "no answer through the proxy")


def toxiproxy_api(env: dict[str, str], folder: Path) -> None:
    with serving(env, folder, "toxiproxy", "--port", "0") as url:
        check("version" in fetch(f"{url}/version")[1], "no version")


def demo_service(env: dict[str, str], folder: Path) -> None:
    with serving(env, folder, "demo", "run", "127.0.0.1", "0", "--upstream-port", "0") as url:
        check("pong" in fetch(f"{url}/ping")[1], "no pong")


def portal(env: dict[str, str], folder: Path) -> None:
    with serving(env, folder, "serve", "--transport", "http", "--port", "0") as url:
        check("<!doctype html>" in fetch(f"{url}/portal/")[1].lower(), "no portal")


def mock(env: dict[str, str], folder: Path) -> None:
    _lists_tools(env, folder, "mock", "--tools-from", "tools.yml")


def gateway(env: dict[str, str], folder: Path) -> None:
    _lists_tools(env, folder, "gateway", "--", *FAULT, "mock", "--tools-from", "tools.yml")


def failure_tools(env: dict[str, str], folder: Path) -> None:
    _lists_tools(env, folder, "serve")


def chaos_tools(env: dict[str, str], folder: Path) -> None:
    _lists_tools(env, folder, "chaos", "serve")


def _lists_tools(env: dict[str, str], folder: Path, *args: str) -> None:
    hello, listed = speak(
        env,
        folder,
        args,
        INITIALIZE,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    )
    check(bool(hello["serverInfo"]) and bool(listed["tools"]), f"{hello} {listed}")


def agent_tools(env: dict[str, str], folder: Path) -> None:
    _, result = speak(
        env,
        folder,
        ("agent", "tool"),
        INITIALIZE,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "fault_list_function_names", "arguments": {"file": str(folder / "app.py")}},
        },
    )
    check(not result.get("isError") and "f" in result["content"][0]["text"], str(result))


def model(env: dict[str, str], folder: Path) -> None:
    with upstream(401, '{"error": {"message": "no such key"}}') as port:
        keys = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"}
        done = run(env | keys, folder, "improve", "app.py", "--llm-client", "openai")
    check(done.returncode == 3 and "401" in done.stderr, f"exit code {done.returncode}: {done.stderr}")


def tokens(env: dict[str, str], folder: Path) -> None:
    issuer = ("--oidc-issuer", "https://127.0.0.1:1", "--oidc-audience", "us")
    with serving(env, folder, "serve", "--transport", "http", "--port", "0", *issuer) as url:
        status, said = fetch(f"{url}/metrics", Authorization="Bearer a.b.c")
        check(status == 401, f"{status}: {said}")


SERVERS: tuple[tuple[str, Callable[[dict[str, str], Path], None]], ...] = (
    ("", proxy_with_latency),
    ("", toxiproxy_api),
    ("", demo_service),
    ("", portal),
    ("", mock),
    ("", gateway),
    ("", failure_tools),
    ("agent", agent_tools),
    ("agent", chaos_tools),
    ("llm", model),
    ("oidc", tokens),
)
"""The extra that each needs, empty for the core."""


def check(held: bool, said: str) -> None:
    """Raise AssertionError, also where Python runs with -O."""
    if not held:
        raise AssertionError(said)


def without_settings(folder: Path) -> dict[str, str]:
    """Return the variables of a process that has no settings of the user."""
    own = {
        name: value for name, value in os.environ.items() if "_API_KEY" not in name and "FAULT_" not in name
    }
    return own | {
        "HOME": str(folder),
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }


def main() -> int:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = without_settings(folder)
        write_files(folder)
        doctor = json.loads(run(env, folder, "doctor", "--json").stdout)
        there = {"", *(each["name"] for each in doctor["extras"] if each["state"] == "installed")}
        absent = [each["name"] for each in doctor["extras"] if each["name"] not in there]
        print(f"Python {sys.version.split()[0]}; extras absent: {', '.join(absent) or 'none'}")
        todo: dict[str, Callable[[dict[str, str], Path], None]] = {
            each.title: partial(take, each) for each in STEPS if each.extra in there
        }
        todo |= {server.__name__: server for extra, server in SERVERS if extra in there}
        todo |= {
            f"{each.title}, without its extra": partial(refuse, each)
            for each in STEPS
            if each.extra not in there
        }
        for title, use in todo.items():
            shown = title.replace(str(PROJECT), ".")
            try:
                use(env, folder)
            except (AssertionError, OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"FAILED  {shown}: {error}")
            else:
                print(f"ok      {shown}")
    print(f"{len(todo) - failed} of {len(todo)} steps passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
