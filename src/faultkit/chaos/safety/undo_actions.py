"""The ways to undo an effect, one function a kind. An effect that has ended already counts as undone.

Each function gets the `data` of an Undo, as any version of Faultkit may have written it to a ledger: keys may
be added here, but none may become required or change its meaning.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import IO, Any
from urllib.parse import urlsplit

from faultkit.base.certificates import client_context
from faultkit.base.process_group import kill_group, signal_group
from faultkit.base.process_identity import birth_of, boot_id, group_is_alive, is_same_process
from faultkit.base.text import one_line
from faultkit.chaos.safety.undo import UndoResult
from faultkit.proxy.control.control_client import ControlClient, Unreachable, rule_path

_LONGEST_MESSAGE = 300
_MOST_BYTES = 4 << 20
_LAST_BYTES = 64 << 10
"""Bytes kept of a command's output."""
_RENEWAL_S = 5.0


# --- rules and plans of a running proxy or gateway ------------------------------------------------


def remove_rule(data: Mapping[str, Any], limit_s: float) -> UndoResult:
    """Remove a rule. `control`: URL of the control API; `token`; `rule`: the rule's name."""
    done = {404: "it was gone already"}
    return _change(data, "DELETE", rule_path(data["rule"]), None, limit_s, done)


def renew_rule(data: Mapping[str, Any], for_s: float) -> UndoResult:
    """Extend the time limit of the rule that `remove_rule` would remove."""
    return _change(data, "PATCH", f"{rule_path(data['rule'])}?ttl={for_s:.3f}", None, _RENEWAL_S)


def add_rule(data: Mapping[str, Any], limit_s: float) -> UndoResult:
    """Add a removed rule again. `control`, `token`; `rule`: the rule as it was written."""
    return _change(data, "POST", "/rules?ttl=0", data["rule"], limit_s, {409: "it was there already"})


def put_plan(data: Mapping[str, Any], limit_s: float) -> UndoResult:
    """Restore a plan. `control`, `token`; `plan`: the plan to restore.

    `ours`: names of the rules of the plan that replaced it. With it, rules that others have added for a
    limited time since then stay. `covered`: the plan to restore was itself temporary and covered another one,
    which is unknown here. It is then restored only for the rest of the time that ours would have had; after
    that, the API falls back to the plan below by itself."""
    if "ours" not in data:
        return _change(data, "PUT", "/plan?ttl=0", data["plan"], limit_s)
    deadline = time.monotonic() + limit_s
    try:
        current_rules = _get(data, "/plan", limit_s)["rules"]
        left_s = _get(data, "/status", limit_s)["expires_in_s"]
    except Unreachable as error:
        return _unreachable(data, error)
    except (OSError, HTTPException, ValueError, KeyError) as error:
        return UndoResult(False, f"{data['control']}: {error}")
    ours, restored = set(data["ours"]), {rule["name"] for rule in data["plan"]["rules"]}
    ttl_s = 0.0
    if data.get("covered"):
        if not ours:
            return UndoResult(True, "it held no rule, and ends by itself")
        ttl_s = max(left_s.get(name) or 0.0 for name in ours)
        if not ttl_s:
            return UndoResult(True, "another plan was put in its place already")
    put = _change(data, "PUT", f"/plan?ttl={ttl_s:.3f}", data["plan"], limit_s)
    if put.ok:
        for rule in current_rules:
            if rule["name"] not in ours | restored and left_s.get(rule["name"]):
                path = f"/rules?ttl={left_s[rule['name']]:.3f}"
                # Best effort: the rule has a time limit, so it would end soon anyway.
                _change(data, "POST", path, rule, max(0.1, deadline - time.monotonic()))
    return put


def _change(
    data: Mapping[str, Any],
    method: str,
    path: str,
    body: object,
    limit_s: float,
    done: Mapping[int, str] | None = None,
) -> UndoResult:
    """Send one request. `done`: statuses which say that nothing is left to do."""
    try:
        reply = _control(data).send(method, path, body, limit_s)
    except Unreachable as error:
        return _unreachable(data, error)
    except (OSError, HTTPException) as error:
        return UndoResult(False, f"{_control(data).url}: {error}")
    if reply.status < 300:
        return UndoResult(True, "done")
    if done is not None and reply.status in done:
        return UndoResult(True, done[reply.status])
    return UndoResult(False, f"{_control(data).url} answered {reply.status}: {_short(reply.body)}")


def _get(data: Mapping[str, Any], path: str, limit_s: float) -> dict[str, Any]:
    reply = _control(data).send("GET", path, timeout_s=limit_s)
    if reply.status != 200:
        raise ValueError(f"it answered {reply.status}: {_short(reply.body)}")
    found: dict[str, Any] = json.loads(reply.body)
    return found


def _control(data: Mapping[str, Any]) -> ControlClient:
    return ControlClient(data["control"].rstrip("/"), data["token"])


def _unreachable(data: Mapping[str, Any], error: Unreachable) -> UndoResult:
    url = _control(data).url
    if error.is_refused:
        return UndoResult(True, f"nothing listens at {url} any more: its faults ended with it")
    return UndoResult(False, f"{url}: {error}")


# --- requests -------------------------------------------------------------------------------------


def send_http(data: Mapping[str, Any], limit_s: float) -> UndoResult:
    """Send a request. `method`, `url`, `headers`, `body` (a text); `verify`: check the certificate, true by
    default; `expected_status` (a list; by default any status below 400).

    Like the http action: no header is added, no redirect is followed, and no proxy of the environment is
    used."""
    parts = urlsplit(data["url"])
    host, path = parts.hostname or "", (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection: HTTPConnection
    if parts.scheme == "https":
        context = client_context(bool(data.get("verify", True)))
        connection = HTTPSConnection(host, parts.port, timeout=limit_s, context=context)
    else:
        connection = HTTPConnection(host, parts.port, timeout=limit_s)
    body = data.get("body")
    raw = body.encode() if isinstance(body, str) else None
    try:
        connection.request(data.get("method", "GET"), path, raw, dict(data.get("headers") or {}))
        response = connection.getresponse()
        status = response.status
        response.read(_MOST_BYTES)
    except (OSError, HTTPException) as error:
        return UndoResult(False, f"{data['url']}: {error}")
    finally:
        connection.close()
    expected = data.get("expected_status")
    is_expected = status < 400 if expected is None else status in expected
    return UndoResult(is_expected, f"{data['url']} answered {status}")


# --- processes ------------------------------------------------------------------------------------


def end_process(data: Mapping[str, Any], limit_s: float) -> UndoResult:
    """End a process by SIGTERM, then SIGKILL. `pid` and `birth`.

    `group`: the process leads a group, which is ended with it, also if the leader has ended already. `boot`:
    the boot in which it was started."""
    pid, birth, whole_group = data["pid"], data["birth"], bool(data.get("group"))

    def is_alive() -> bool:
        if is_same_process(pid, birth):
            return True
        # The system gives no process the id of a group that still has members. So a group of this id, within
        # the same boot, is the right one.
        leader_ended = whole_group and data.get("boot") == boot_id() and birth_of(pid) is None
        return leader_ended and group_is_alive(pid)

    if not is_alive():
        return UndoResult(True, f"process {pid} has ended already")
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not (signal_group if whole_group else _signal_process)(pid, number):
            return UndoResult(True, f"process {pid} has ended already")
        deadline = time.monotonic() + limit_s / 2
        while time.monotonic() < deadline:
            if not is_alive():
                return UndoResult(True, f"process {pid} was ended by {number.name}")
            time.sleep(0.02)
    return UndoResult(False, f"process {pid} does not end")


def continue_process(data: Mapping[str, Any], limit_s: float) -> UndoResult:
    """Send SIGCONT to a stopped process. `pid` and `birth`."""
    pid = data["pid"]
    if not is_same_process(pid, data["birth"]) or not _signal_process(pid, signal.SIGCONT):
        return UndoResult(True, f"process {pid} has ended already")
    return UndoResult(True, f"process {pid} goes on")


def _signal_process(pid: int, number: signal.Signals) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


# --- commands and functions -----------------------------------------------------------------------


def run_command(data: Mapping[str, Any], limit_s: float) -> UndoResult:
    """Run a command. `argv`, `cwd`, `env` (added to the environment, which has none of Faultkit's own
    tokens); `expected_status`, 0 by default."""
    # Here, because a guardian that runs no command should start fast.
    from faultkit.base.external_program import inherited_environment

    argv = [str(part) for part in data["argv"]]
    env = {**inherited_environment(), **dict(data.get("env") or {})}
    try:
        status, output = _run(argv, b"", limit_s, data.get("cwd"), env)
    except OSError as error:
        return UndoResult(False, f"{argv[0]}: {error.strerror or error}")
    if status is None:
        return UndoResult(False, f"{argv[0]} did not end within {limit_s:g} s and was killed")
    if status == data.get("expected_status", 0):
        return UndoResult(True, "done")
    text = _short(output)
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
    """Call a function. `module`, `func` (may be async), `arguments`, `path` (folders to search, in order).

    It runs in a process of its own, because it may hang."""
    asked = json.dumps(dict(data)).encode()
    status, output = _run([sys.executable, "-P", "-c", _CALL], asked, limit_s)
    if status is None:
        return UndoResult(False, f"{data['func']} did not end within {limit_s:g} s and was killed")
    if status == 0:
        return UndoResult(True, "done")
    *_, last = output.decode("utf-8", "replace").strip().splitlines() or ["no message"]
    return UndoResult(False, f"{data['module']}.{data['func']}: {last[:_LONGEST_MESSAGE]}")


def _run(
    argv: list[str],
    stdin_bytes: bytes,
    limit_s: float,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
) -> tuple[int | None, bytes]:
    """Run a command; return its status and the end of its output. After the limit its group is killed, and
    the status is None.

    The output goes to a file, not to a pipe: a service that the command has started may keep a pipe open for
    as long as it runs."""
    with _scratch_file() as stdin, _scratch_file() as output:
        stdin.write(stdin_bytes)
        stdin.seek(0)
        with subprocess.Popen(
            argv, stdin=stdin, stdout=output, stderr=output, cwd=cwd, env=env, start_new_session=True
        ) as process:
            try:
                status: int | None = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                kill_group(process.pid)
                status = None
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - _LAST_BYTES))
        return status, output.read()


def _scratch_file() -> IO[bytes]:
    # In memory where the system can, because an undo must not fail on a full disk.
    if sys.platform == "linux":
        return os.fdopen(os.memfd_create("fault-undo"), "w+b")
    return tempfile.TemporaryFile()


def _short(output: bytes) -> str:
    return one_line(output.decode("utf-8", "replace"))[:_LONGEST_MESSAGE]
