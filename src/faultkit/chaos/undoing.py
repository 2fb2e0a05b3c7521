"""The ways to take an effect back, one function a kind. What is gone already counts as taken back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import ProxyHandler, Request, build_opener

from faultkit.chaos.processes import is_same
from faultkit.chaos.undo import UndoResult

_OPENER = build_opener(ProxyHandler({}))
"""Control APIs are on loopback: no proxy of the environment stands in between."""
_LONGEST_MESSAGE = 300
_RENEWAL_S = 5.0


def remove_rule(data: Mapping[str, Any], limit_s: float) -> UndoResult:
    """`control`: URL of a proxy's or gateway's control API; `token`; `rule`: its name."""
    path = f"/rules/{quote(data['rule'], safe='')}"
    return _steer(data, "DELETE", path, None, limit_s, gone_is_fine=True)


def renew_rule(data: Mapping[str, Any], for_s: float) -> UndoResult:
    path = f"/rules/{quote(data['rule'], safe='')}?ttl={for_s:.3f}"
    return _steer(data, "PATCH", path, None, _RENEWAL_S)


def put_plan(data: Mapping[str, Any], limit_s: float) -> UndoResult:
    """`control`, `token`, and `plan`: the one that held before."""
    return _steer(data, "PUT", "/plan?ttl=0", data["plan"], limit_s)


def _steer(
    data: Mapping[str, Any],
    method: str,
    path: str,
    body: object,
    limit_s: float,
    gone_is_fine: bool = False,
) -> UndoResult:
    url = data["control"].rstrip("/")
    headers = {"Authorization": f"Bearer {data['token']}"}
    try:
        _ask(method, url + path, headers, None if body is None else json.dumps(body).encode(), limit_s)
    except HTTPError as error:
        with error:
            if error.code == 404 and gone_is_fine:
                return UndoResult(True, "it was gone already")
            return UndoResult(False, f"{url} answered {error.code}: {_short(error.read(2000))}")
    except URLError as error:
        if isinstance(error.reason, ConnectionRefusedError):
            return UndoResult(True, f"nobody listens at {url} any more: its faults ended with it")
        return UndoResult(False, f"{url}: {error.reason}")
    except OSError as error:
        return UndoResult(False, f"{url}: {error}")
    return UndoResult(True, "done")


def send_http(data: Mapping[str, Any], limit_s: float) -> UndoResult:
    """`method`, `url`, `headers`, `body` (a text), `expected_status` (a list; without it, any below 400)."""
    body = data.get("body")
    expected = data.get("expected_status")
    try:
        status = _ask(
            data.get("method", "GET"),
            data["url"],
            dict(data.get("headers") or {}),
            body.encode() if isinstance(body, str) else None,
            limit_s,
        )
    except HTTPError as error:
        with error:
            status = error.code
    except (URLError, OSError) as error:
        return UndoResult(False, f"{data['url']}: {getattr(error, 'reason', error)}")
    fits = status < 400 if expected is None else status in expected
    return UndoResult(fits, f"{data['url']} answered {status}")


def _ask(method: str, url: str, headers: Mapping[str, str], body: bytes | None, limit_s: float) -> int:
    kind = {"Content-Type": "application/json"} if body is not None else {}
    request = Request(url, data=body, headers={**kind, **headers}, method=method)
    with _OPENER.open(request, timeout=limit_s) as answer:
        status: int = answer.status
        return status


def end_process(data: Mapping[str, Any], limit_s: float) -> UndoResult:
    """`pid` and `birth`; `group`: whether it leads a process group of its own, which ends with it."""
    pid, birth = data["pid"], data["birth"]
    if not is_same(pid, birth):
        return UndoResult(True, f"process {pid} has ended already")
    patience_s = limit_s / 2
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not _send(pid, number, whole_group=bool(data.get("group"))):
            return UndoResult(True, f"process {pid} has ended already")
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            if not is_same(pid, birth):
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
    try:
        ended = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limit_s,
            cwd=data.get("cwd"),
            env={**os.environ, **dict(data.get("env") or {})},
        )
    except subprocess.TimeoutExpired:
        return UndoResult(False, f"{argv[0]} did not end within {limit_s:g} s and was killed")
    except OSError as error:
        return UndoResult(False, f"{argv[0]}: {error.strerror or error}")
    if ended.returncode == data.get("expected_status", 0):
        return UndoResult(True, "done")
    said = _short(ended.stderr or ended.stdout)
    return UndoResult(False, f"{argv[0]} ended with {ended.returncode}" + (f": {said}" if said else ""))


def call_python(data: Mapping[str, Any], limit_s: float) -> UndoResult:
    """`module`, `func`, `arguments`, `path` (folders to look in). In a process of its own: it may hang."""
    script = (
        "import importlib, json, sys; d = json.load(sys.stdin); sys.path[:0] = d.get('path') or []; "
        "getattr(importlib.import_module(d['module']), d['func'])(**(d.get('arguments') or {}))"
    )
    try:
        ended = subprocess.run(
            [sys.executable, "-c", script],
            input=json.dumps(dict(data)).encode(),
            capture_output=True,
            timeout=limit_s,
        )
    except subprocess.TimeoutExpired:
        return UndoResult(False, f"{data['func']} did not end within {limit_s:g} s and was killed")
    if ended.returncode == 0:
        return UndoResult(True, "done")
    *_, last = ended.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"]
    return UndoResult(False, f"{data['module']}.{data['func']}: {last[:_LONGEST_MESSAGE]}")


def _short(said: bytes) -> str:
    return " ".join(said.decode("utf-8", "replace").split())[:_LONGEST_MESSAGE]
