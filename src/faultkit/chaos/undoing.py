"""The ways to take an effect back, one function a kind. What is gone already counts as taken back."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import IO, Any
from urllib.parse import quote, urlsplit

from faultkit.chaos.processes import birth_of, group_lives, is_same, this_boot
from faultkit.chaos.undo import UndoResult

_LONGEST_MESSAGE = 300
_MOST_BYTES = 4 << 20
_RENEWAL_S = 5.0


def remove_rule(data: Mapping[str, Any], limit_s: float) -> UndoResult:
    """`control`: URL of a proxy's or gateway's control API; `token`; `rule`: its name."""
    path = f"/rules/{quote(data['rule'], safe='')}"
    return _steer(data, "DELETE", path, None, limit_s, fine={404: "it was gone already"})


def renew_rule(data: Mapping[str, Any], for_s: float) -> UndoResult:
    path = f"/rules/{quote(data['rule'], safe='')}?ttl={for_s:.3f}"
    return _steer(data, "PATCH", path, None, _RENEWAL_S)


def add_rule(data: Mapping[str, Any], limit_s: float) -> UndoResult:
    """`control`, `token`, and `rule`: the one that was taken away, as it was written."""
    return _steer(data, "POST", "/rules?ttl=0", data["rule"], limit_s, fine={409: "it was there already"})


def put_plan(data: Mapping[str, Any], limit_s: float) -> UndoResult:
    """`control`, `token`, and `plan`: the one that is to hold.

    `ours`: names of the rules that were put in its place. Rules that others have added for a while stay then.
    `covered`: it was itself a plan for a while, so what is below it is not known: ours is replaced for as
    long as it had, and what comes after that is what is below."""
    if "ours" not in data:
        return _steer(data, "PUT", "/plan?ttl=0", data["plan"], limit_s)
    deadline = time.monotonic() + limit_s
    try:
        held = _asked(data, "/plan", limit_s)["rules"]
        left_s = _asked(data, "/status", limit_s)["expires_in_s"]
    except ConnectionRefusedError:
        return _nobody(data)
    except (OSError, HTTPException, ValueError, KeyError) as error:
        return UndoResult(False, f"{data['control']}: {error}")
    ours, kept = set(data["ours"]), {rule["name"] for rule in data["plan"]["rules"]}
    ttl_s = 0.0
    if data.get("covered"):
        if not ours:
            return UndoResult(True, "it held no rule, and ends by itself")
        ttl_s = max(left_s.get(name) or 0.0 for name in ours)
        if not ttl_s:
            return UndoResult(True, "another plan was put in its place already")
    put = _steer(data, "PUT", f"/plan?ttl={ttl_s:.3f}", data["plan"], limit_s)
    if put.ok:
        for rule in held:
            if rule["name"] not in ours | kept and left_s.get(rule["name"]):
                path = f"/rules?ttl={left_s[rule['name']]:.3f}"
                # As good as it can: whoever added it would take it away in the end.
                _steer(data, "POST", path, rule, max(0.1, deadline - time.monotonic()))
    return put


def _steer(
    data: Mapping[str, Any],
    method: str,
    path: str,
    body: object,
    limit_s: float,
    fine: Mapping[int, str] | None = None,
) -> UndoResult:
    """`fine`: answers that say that nothing is left to do."""
    url = data["control"].rstrip("/")
    raw = None if body is None else json.dumps(body).encode()
    try:
        status, said = _ask(method, url + path, _headers(data), raw, limit_s)
    except ConnectionRefusedError:
        return _nobody(data)
    except (OSError, HTTPException) as error:
        return UndoResult(False, f"{url}: {error}")
    if status < 300:
        return UndoResult(True, "done")
    if fine is not None and status in fine:
        return UndoResult(True, fine[status])
    return UndoResult(False, f"{url} answered {status}: {_short(said)}")


def _nobody(data: Mapping[str, Any]) -> UndoResult:
    url = data["control"].rstrip("/")
    return UndoResult(True, f"nobody listens at {url} any more: its faults ended with it")


def _headers(data: Mapping[str, Any]) -> dict[str, str]:
    return {"Authorization": f"Bearer {data['token']}", "Content-Type": "application/json"}


def _asked(data: Mapping[str, Any], path: str, limit_s: float) -> dict[str, Any]:
    status, said = _ask("GET", data["control"].rstrip("/") + path, _headers(data), None, limit_s)
    if status != 200:
        raise ValueError(f"it answered {status}: {_short(said)}")
    found: dict[str, Any] = json.loads(said)
    return found


def send_http(data: Mapping[str, Any], limit_s: float) -> UndoResult:
    """`method`, `url`, `headers`, `body` (a text), `expected_status` (a list; without it, any below 400);
    `verify`: whether the certificate counts, true by default. As an action asks: no header is added, and no
    redirect is followed."""
    body = data.get("body")
    expected = data.get("expected_status")
    try:
        status, _ = _ask(
            data.get("method", "GET"),
            data["url"],
            dict(data.get("headers") or {}),
            body.encode() if isinstance(body, str) else None,
            limit_s,
            verify=data.get("verify", True),
        )
    except (OSError, HTTPException) as error:
        return UndoResult(False, f"{data['url']}: {error}")
    fits = status < 400 if expected is None else status in expected
    return UndoResult(fits, f"{data['url']} answered {status}")


def _ask(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes | None,
    limit_s: float,
    *,
    verify: bool = True,
) -> tuple[int, bytes]:
    """Straight to where the URL says: no proxy of the environment stands in between."""
    parts = urlsplit(url)
    host, path = parts.hostname or "", (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection: HTTPConnection
    if parts.scheme == "https":
        context = ssl.create_default_context()
        if not verify:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = HTTPSConnection(host, parts.port, timeout=limit_s, context=context)
    else:
        connection = HTTPConnection(host, parts.port, timeout=limit_s)
    try:
        connection.request(method, path, body, dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.read(_MOST_BYTES)
    finally:
        connection.close()


def end_process(data: Mapping[str, Any], limit_s: float) -> UndoResult:
    """`pid` and `birth`; `group`: whether it leads a process group of its own, which ends with it, and though
    it has ended already; `boot`: the one that they are of."""
    pid, birth, whole_group = data["pid"], data["birth"], bool(data.get("group"))

    def lives() -> bool:
        if is_same(pid, birth):
            return True
        # Nobody gets a number that a group still has: while it lives, it is the one meant.
        was_left = whole_group and data.get("boot") == this_boot() and birth_of(pid) is None
        return was_left and group_lives(pid)

    if not lives():
        return UndoResult(True, f"process {pid} has ended already")
    patience_s = limit_s / 2
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not _send(pid, number, whole_group=whole_group):
            return UndoResult(True, f"process {pid} has ended already")
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            if not lives():
                return UndoResult(True, f"process {pid} was ended by {number.name}")
            time.sleep(0.02)
    return UndoResult(False, f"process {pid} does not end")


def continue_process(data: Mapping[str, Any], limit_s: float) -> UndoResult:
    """`pid` and `birth` of a process that was stopped."""
    pid = data["pid"]
    if not is_same(pid, data["birth"]) or not _send(pid, signal.SIGCONT, whole_group=False):
        return UndoResult(True, f"process {pid} has ended already")
    return UndoResult(True, f"process {pid} goes on")


def _send(pid: int, number: signal.Signals, *, whole_group: bool) -> bool:
    try:
        (os.killpg if whole_group else os.kill)(pid, number)
    except ProcessLookupError:
        return False
    return True


def run_command(data: Mapping[str, Any], limit_s: float) -> UndoResult:
    """`argv`, `cwd`, `env` (added to that of the process); `expected_status`, 0 by default."""
    argv = [str(part) for part in data["argv"]]
    env = {**os.environ, **dict(data.get("env") or {})}
    try:
        status, said = _run(argv, b"", limit_s, data.get("cwd"), env)
    except OSError as error:
        return UndoResult(False, f"{argv[0]}: {error.strerror or error}")
    if status is None:
        return UndoResult(False, f"{argv[0]} did not end within {limit_s:g} s and was killed")
    if status == data.get("expected_status", 0):
        return UndoResult(True, "done")
    text = _short(said)
    return UndoResult(False, f"{argv[0]} ended with {status}" + (f": {text}" if text else ""))


_CALL = """
import asyncio, importlib, inspect, json, sys
asked = json.load(sys.stdin)
path = asked.get("path") or []
sys.path[:] = [*path, *(folder for folder in sys.path if folder not in path)]
async def awaited(answer):
    return await answer
answer = getattr(importlib.import_module(asked["module"]), asked["func"])(**(asked.get("arguments") or {}))
if inspect.isawaitable(answer):
    asyncio.run(awaited(answer))
"""


def call_python(data: Mapping[str, Any], limit_s: float) -> UndoResult:
    """`module`, `func` (which may be async), `arguments`, `path` (folders to look in, in their order). In a
    process of its own: it may hang."""
    asked = json.dumps(dict(data)).encode()
    status, said = _run([sys.executable, "-P", "-c", _CALL], asked, limit_s)
    if status is None:
        return UndoResult(False, f"{data['func']} did not end within {limit_s:g} s and was killed")
    if status == 0:
        return UndoResult(True, "done")
    *_, last = said.decode("utf-8", "replace").strip().splitlines() or ["no message"]
    return UndoResult(False, f"{data['module']}.{data['func']}: {last[:_LONGEST_MESSAGE]}")


def _run(
    argv: list[str],
    given: bytes,
    limit_s: float,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
) -> tuple[int | None, bytes]:
    """Its status and the last of what it said; None if its time was over, and then its group is killed.

    What it says goes to a file: a service that it has started may hold its outputs for as long as it runs."""
    with _scratch() as stdin, _scratch() as said:
        stdin.write(given)
        stdin.seek(0)
        with subprocess.Popen(
            argv, stdin=stdin, stdout=said, stderr=said, cwd=cwd, env=env, start_new_session=True
        ) as process:
            try:
                status: int | None = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                _send(process.pid, signal.SIGKILL, whole_group=True)
                status = None
        size = said.seek(0, os.SEEK_END)
        said.seek(max(0, size - _LAST_BYTES))
        return status, said.read()


_LAST_BYTES = 64 << 10


def _scratch() -> IO[bytes]:
    """In memory, where the system can: a full disk must not fail what undoes."""
    if sys.platform == "linux":
        return os.fdopen(os.memfd_create("fault-undo"), "w+b")
    return tempfile.TemporaryFile()


def _short(said: bytes) -> str:
    return " ".join(said.decode("utf-8", "replace").split())[:_LONGEST_MESSAGE]
