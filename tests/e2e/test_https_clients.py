"""Real clients of HTTPS through an intercepting `fault run`, with only the variables of `fault ca env`."""

from __future__ import annotations

import json
import os
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme
import yaml

from tests.e2e.test_run import PATIENCE_S, fault_run, port_of
from tests.proxy.http2.secure_origin import TEXT, serving_h2

HERE = Path(__file__).parent / "https_clients"
LATE_S = 0.05
RULES = {
    "error": ("http_error", {"status": 503, "body": "broken"}),
    "delay": ("http_delay", {"delay_ms": 1000 * LATE_S}),
    "cut": ("http_cut", {"fraction": 0.5}),
    "drip": ("http_drip", {"bytes_per_s": 200}),
    "garbage": ("http_garbage", {}),
    "length": ("http_wrong_length", {"by_bytes": 10}),
    "slow": ("http_slow_headers", {"over_ms": 1000 * LATE_S}),
    "lost": ("http_lost_reply", {}),
    "encoding": ("http_wrong_encoding", {}),
}
PATHS = ["/plain", *(f"/{name}" for name in RULES)]


@dataclass(frozen=True)
class Service:
    base: str
    env: dict[str, str]
    """The environment of a program that is to use the proxy."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    place = tmp_path_factory.mktemp("service")
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(str(place / "service.pem"))
    rules = [
        {"name": name, "fault": fault, "with": settings, "match": {"path": f"/{name}"}}
        for name, (fault, settings) in RULES.items()
    ]
    (place / "plan.yaml").write_text(yaml.safe_dump({"seed": 7, "rules": rules}))
    env = {"PATH": os.environ["PATH"], "HOME": str(place), "FAULT_CA_DIR": str(place / "ca")}
    log = {"FAULT_LOG_FILE": str(place / "run.log"), "FAULT_LOG_LEVEL": "debug"}
    command = ("--intercept", "localhost", "--proxy-address", "127.0.0.1:0", "--json")
    files = ("--cacert", str(place / "service.pem"), "--plan", str(place / "plan.yaml"))
    with serving_h2(context, "h2", "http/1.1") as origin, fault_run(*command, *files, env=env | log) as run:
        proxy = f"127.0.0.1:{port_of(run.event('started'))}"
        printed = subprocess.run(
            [sys.executable, "-m", "faultkit", "ca", "env", "--proxy", proxy, "--format", "dotenv"],
            env=env,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        variables = dict(line.split("=", 1) for line in printed.splitlines() if not line.startswith("#"))
        yield Service(f"https://{origin.endpoint}", env | variables)
        assert run.stop() == 0
        # After all clients, some of them cut off: no line of the key is in what the run says.
        said = (place / "run.log").read_text() + run.errors() + "".join(map(json.dumps, run.rest()))
        assert "localhost" in said
        assert not any(line in said for line in (place / "ca" / "ca-key.pem").read_text().splitlines())


def curl(version: str, base: str, folder: Path) -> list[str]:
    """The command line of one curl for all paths: it writes a body to a file, and a line to stdout."""
    line = "%{exitcode} %{http_version} %{time_total} %{http_code} %{url}\\n"
    files = [word for path in PATHS for word in ("-o", str(folder / path[1:]), base + path)]
    return ["curl", "-s", version, "--compressed", "-w", line, *files]


CLIENTS = {
    "requests": [sys.executable, str(HERE / "get.py"), "requests"],
    "httpx": [sys.executable, str(HERE / "get.py"), "httpx"],
    "httpx-h2": [sys.executable, str(HERE / "get.py"), "httpx-h2"],
    "fetch": ["node", str(HERE / "fetch.mjs")],
    "undici-fetch": ["env", "UNDICI=fetch", "node", str(HERE / "fetch.mjs")],
    "undici-request": ["env", "UNDICI=request", "node", str(HERE / "fetch.mjs")],
    "java-h1": ["java", str(HERE / "Get.java"), "HTTP_1_1"],
    "java-h2": ["java", str(HERE / "Get.java"), "HTTP_2"],
}
DO_NOT_DECODE = ("undici-request", "java-h1", "java-h2")
"""They leave the encoding to their callers: these see a claim that is wrong."""
THOROUGH = ("httpx", "fetch", "undici-fetch", "java-h1", "java-h2")


def installed(name: str) -> None:
    """Skip the test if the client is not here."""
    for program in {"curl", "node", "java"}.intersection(CLIENTS.get(name, [name])):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    if name.startswith("undici") and not (HERE / "node_modules" / "undici").is_dir():
        pytest.skip("run `npm install --no-package-lock --prefix tests/e2e/https_clients` first")


def output(service: Service, command: list[str]) -> list[str]:
    done = subprocess.run(command, env=service.env, capture_output=True, text=True, timeout=3 * PATIENCE_S)
    assert done.stdout, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.thorough] * (name in THOROUGH)) for name in CLIENTS]
)
def test_each_fault_reaches_the_client(service: Service, name: str) -> None:
    installed(name)
    lines = output(service, [*CLIENTS[name], service.base, *PATHS])
    seen = {path: (float(s), rest) for path, s, rest in (line.split(" ", 2) for line in lines)}
    text = f"200 - {TEXT.hex()}"
    assert [seen[path][1] for path in ("/plain", "/delay", "/drip", "/slow")] == [text] * 4
    assert seen["/error"][1] == f"503 - {b'broken'.hex()}"
    assert [path for path in ("/delay", "/drip", "/slow") if seen[path][0] < LATE_S] == [], "\n".join(lines)
    assert [seen[path][1].split()[0] for path in ("/cut", "/length", "/lost")] == ["error"] * 3
    status, _, garbage = seen["/garbage"][1].split()
    assert (status, len(garbage), garbage == TEXT.hex()) == ("200", 2 * len(TEXT), False)
    if name in DO_NOT_DECODE:
        assert seen["/encoding"][1] == f"200 gzip {TEXT.hex()}"
    elif name == "fetch" and "/encoding" not in seen:
        pass  # Node.js below 24: such a `fetch` is never settled if its headers come before its body.
    else:
        assert seen["/encoding"][1].startswith("error")


@pytest.mark.parametrize(
    ("version", "number", "of_lost"),
    [pytest.param("--http1.1", "1.1", "52", marks=pytest.mark.thorough), ("--http2", "2", "18")],
)
def test_each_fault_reaches_curl(
    service: Service, version: str, number: str, of_lost: str, tmp_path: Path
) -> None:
    installed("curl")
    rows = [line.split() for line in output(service, curl(version, service.base, tmp_path))]
    codes = {url.rpartition("/")[2]: (exit_code, status) for exit_code, _, _, status, url in rows}
    times = {url.rpartition("/")[2]: float(s) for _, _, s, _, url in rows}
    assert {row[1] for row in rows if row[0] != of_lost} == {number}
    whole = ("0", "200")
    assert codes == {
        **dict.fromkeys(("plain", "delay", "drip", "slow", "garbage"), whole),
        "error": ("0", "503"),
        "cut": ("18", "200"),
        "length": ("18", "200"),
        "lost": (of_lost, "000"),
        "encoding": ("61", "200"),
    }
    bodies = {
        name: (tmp_path / name).read_bytes() for name in ("plain", "delay", "drip", "slow", "cut", "error")
    }
    cut = TEXT[: len(TEXT) // 2]
    assert bodies == dict.fromkeys(("plain", "delay", "drip", "slow"), TEXT) | {
        "cut": cut,
        "error": b"broken",
    }
    assert all(times[name] >= LATE_S for name in ("delay", "drip", "slow"))
