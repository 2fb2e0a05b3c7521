"""Kills each process of an experiment in each of its phases, and checks that nothing stays broken.

    python -m examples.chaos.kill_matrix              all of it, in a few minutes
    python -m examples.chaos.kill_matrix runner       one victim only

A real `fault run` and a real `fault chaos run`: the experiment adds a rule to the proxy, starts a process,
and calls this script in each phase, which kills the victim before it answers. Then everything must be undone
within the lease, and `fault chaos recover` must report what happened.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

LEASE_S = 5.0
PATIENCE_S = 30.0
PHASES = ("gate", "method", "during", "recheck", "rollback")
VICTIMS = ("runner", "guardian", "proxy", "SIGINT", "SIGTERM", "runner and guardian")
EXPERIMENT = """\
name: kill-matrix
limits: {{max_duration: 20s}}
steady_state:
  - {{name: steady, limit: 20s, http: "{asked}/steady"}}
during:
  every: 200ms
  checks:
    - {{name: beside, limit: 20s, http: "{asked}/during"}}
method:
  - name: cut
    proxy: {{control: "{control}", token: "${{FAULT_CONTROL_TOKEN}}", add: {{name: cut, fault: refuse}}}}
  - name: sleeper
    start: [sleep, "600"]
  - name: hold
    limit: 20s
    http: {{url: "{asked}/method", method: POST}}
    undo: {{http: {{url: "{asked}/rollback", method: POST}}}}
"""
EXIT_CODES = {
    "guardian": dict.fromkeys(PHASES, 0),
    # Without the proxy, the rule cannot be added; once it is there, it ends with the proxy. How often it
    # acted is counted before the rollback: if that cannot be known, nothing is proven.
    "proxy": {**dict.fromkeys(PHASES, 6), "gate": 4, "rollback": 0},
    "SIGINT": dict.fromkeys(PHASES, 130),
    "SIGTERM": dict.fromkeys(PHASES, 143),
    **dict.fromkeys(("runner", "runner and guardian"), dict.fromkeys(PHASES, -signal.SIGKILL)),
}
HAS_BEGUN = PHASES[1:]
"""Phases from the method on, in which there is something to undo."""


@dataclass(slots=True)
class Told:
    """The result of one case."""

    exit_code: int
    gone_s: float | None
    """Seconds from the kill until nothing was broken; None: something stayed broken."""
    recovered: dict[str, Any]
    """The output of `fault chaos recover`."""
    problems: list[str] = field(default_factory=list)


class Asked(ThreadingHTTPServer):
    """The server that the experiment calls: each request shows the phase; it acts before it answers."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.act: Callable[[str], None] = lambda phase: None
        self.steady = 0
        self.lock = threading.Lock()
        self.in_method = threading.Event()
        self.was_during = threading.Event()

    def asked(self, path: str) -> None:
        if path == "/steady":
            with self.lock:
                self.steady += 1
                phase = "gate" if self.steady == 1 else "recheck"
        else:
            phase = path.removeprefix("/")
        if phase == "during":
            self.in_method.wait(2.0)
        if phase == "method":
            self.in_method.set()
        self.act(phase)
        if phase == "during":
            self.was_during.set()
        if phase == "method":
            self.was_during.wait(PATIENCE_S)

    def begin(self, act: Callable[[str], None]) -> None:
        self.act, self.steady = act, 0
        self.in_method.clear()
        self.was_during.clear()


class _Handler(BaseHTTPRequestHandler):
    server: Asked

    def do_GET(self) -> None:
        self.server.asked(self.path)
        with contextlib.suppress(OSError):
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        pass


class Rig:
    """The proxy, the server and folders, shared by all cases."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked = Asked()
        threading.Thread(target=self.asked.serve_forever, daemon=True).start()
        self.token = secrets.token_hex(16)
        self.state = folder / "state"
        self.env = {
            **os.environ,
            "FAULT_CONTROL_TOKEN": self.token,
            "FAULT_CHAOS_STATE": str(self.state),
            "FAULT_STORE": str(folder / "audit.db"),
        }
        self._proxy: subprocess.Popen[bytes] | None = None
        self.control = ""

    @property
    def proxy(self) -> subprocess.Popen[bytes]:
        """The proxy; it is started again if it has ended."""
        if self._proxy is None or self._proxy.poll() is not None:
            port, control = _free_port(), _free_port()
            self.control = f"127.0.0.1:{control}"
            to = f"{port}=127.0.0.1:{self.asked.server_port}"
            options = ["--disable-http-proxy", "--no-ui", "--proxy", to, "--control", self.control]
            self._proxy = self.start("run", *options)
            _until(lambda: self.rules() is not None)
            # A shut port counts as a hit only if the proxy is known to be in use.
            socket.create_connection(("127.0.0.1", port)).close()
        return self._proxy

    def start(self, *args: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "faultkit", *args],
            env=self.env,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def rules(self) -> list[str] | None:
        """Return the rules of the proxy; None if it is unavailable."""
        asked = Request(f"http://{self.control}/plan", headers={"Authorization": f"Bearer {self.token}"})
        try:
            with urlopen(asked, timeout=5) as answer:
                return [rule["name"] for rule in json.load(answer)["rules"]]
        except OSError:
            return None

    def leases(self) -> list[Path]:
        return list((self.state / "leases").glob("*.jsonl"))

    def sleepers(self) -> list[int]:
        """Return the running processes that experiments of this script have started."""
        return [pid for pid in _started(self.leases()) if _lives(pid)]

    def guardians(self) -> list[int]:
        listed = subprocess.run(["ps", "-axww", "-o", "pid=,command="], capture_output=True, text=True).stdout
        lines = [line.split(None, 1) for line in listed.splitlines()]
        return [
            int(pid)
            for pid, said in lines
            if "faultkit.chaos.safety.recovery" in said and str(self.state) in said
        ]

    def is_clean(self) -> bool:
        return not self.rules() and not self.sleepers()

    def recover(self) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-m", "faultkit", "chaos", "recover", "--json"],
            env=self.env,
            capture_output=True,
            timeout=PATIENCE_S,
        )
        said: dict[str, Any] = json.loads(done.stdout)
        return {**said, "exit_code": done.returncode}

    def close(self) -> None:
        if self._proxy is not None:
            self._proxy.terminate()
            self._proxy.wait(PATIENCE_S)
        self.asked.shutdown()
        self.asked.server_close()


def play(rig: Rig, victim: str, phase: str) -> Told:
    """Run one case, from a clean state to a clean state."""
    proxy = rig.proxy
    file = rig.folder / "kill-matrix.yaml"
    asked = f"http://127.0.0.1:{rig.asked.server_port}"
    file.write_text(EXPERIMENT.format(asked=asked, control=rig.control))
    killed_at: list[float] = []
    runner: subprocess.Popen[bytes] | None = None
    started = threading.Event()

    def act(now: str) -> None:
        if now != phase or killed_at:
            return
        started.wait(PATIENCE_S)
        assert runner is not None
        killed_at.append(time.monotonic())
        _KILLS[victim](rig, runner, proxy)

    rig.asked.begin(act)
    before = {file.stem for file in rig.leases()}
    runner = rig.start("chaos", "run", str(file), "--lease", f"{LEASE_S:g}s")
    started.set()
    code = runner.wait(PATIENCE_S)
    gone_s = None
    if victim != "runner and guardian":
        with contextlib.suppress(TimeoutError):
            _until(rig.is_clean)
            gone_s = time.monotonic() - killed_at[0]
        with contextlib.suppress(TimeoutError):
            _until(lambda: not rig.guardians())
    recovered = rig.recover()
    recovered["undone_by_guardians"] = [
        lease for lease in recovered["undone_by_guardians"] if lease["lease"] not in before
    ]
    if victim == "runner and guardian":
        with contextlib.suppress(TimeoutError):
            _until(rig.is_clean)
            gone_s = time.monotonic() - killed_at[0]
    told = Told(code, gone_s, recovered)
    told.problems = list(_problems(told, victim, phase))
    return told


def _problems(told: Told, victim: str, phase: str) -> Iterator[str]:
    wanted = EXIT_CODES[victim][phase]
    if told.exit_code != wanted:
        yield f"exit code {told.exit_code}, expected {wanted}"
    if told.gone_s is None:
        yield "something stayed broken"
    # A run that survives ends its faults when it ends; one that died must be undone within its lease.
    elif victim == "runner" and told.gone_s > LEASE_S:
        yield f"gone only after {told.gone_s:.1f} s"
    if told.recovered["exit_code"] != 0:
        yield f"recover ended with {told.recovered['exit_code']}"
    guarded = [lease["why"] for lease in told.recovered["undone_by_guardians"]]
    found = [(lease["found"], len(lease["undone"])) for lease in told.recovered["recovered"]]
    left = {"gate": 0, "rollback": 3}.get(phase, 3)
    by_guardian = ["undone by the guardian: its owner is gone"] if victim == "runner" else []
    by_recover = [("orphaned", left)] if victim == "runner and guardian" else []
    if guarded != by_guardian:
        yield f"recover tells of guardians {guarded}, expected {by_guardian}"
    if found != by_recover:
        yield f"recover found {found}, expected {by_recover}"


def _kill_runner(rig: Rig, runner: subprocess.Popen[bytes], proxy: subprocess.Popen[bytes]) -> None:
    runner.kill()


def _kill_guardian(rig: Rig, runner: subprocess.Popen[bytes], proxy: subprocess.Popen[bytes]) -> None:
    _until(lambda: bool(rig.guardians()))
    for pid in rig.guardians():
        os.kill(pid, signal.SIGKILL)


def _kill_proxy(rig: Rig, runner: subprocess.Popen[bytes], proxy: subprocess.Popen[bytes]) -> None:
    proxy.kill()
    proxy.wait(PATIENCE_S)


def _interrupt(rig: Rig, runner: subprocess.Popen[bytes], proxy: subprocess.Popen[bytes]) -> None:
    runner.send_signal(signal.SIGINT)


def _terminate(rig: Rig, runner: subprocess.Popen[bytes], proxy: subprocess.Popen[bytes]) -> None:
    runner.send_signal(signal.SIGTERM)


def _kill_both(rig: Rig, runner: subprocess.Popen[bytes], proxy: subprocess.Popen[bytes]) -> None:
    # The process that would start another guardian must not notice the kill.
    runner.send_signal(signal.SIGSTOP)
    _kill_guardian(rig, runner, proxy)
    runner.kill()


_KILLS = {
    "runner": _kill_runner,
    "guardian": _kill_guardian,
    "proxy": _kill_proxy,
    "SIGINT": _interrupt,
    "SIGTERM": _terminate,
    "runner and guardian": _kill_both,
}


def _started(leases: list[Path]) -> Iterator[int]:
    """Return the processes that leases name."""
    for file in leases:
        for line in file.read_text("utf-8", "replace").splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                yield int(json.loads(line)["undo"]["data"]["pid"])


def _lives(pid: int) -> bool:
    shown = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True
    ).stdout.strip()
    return bool(shown) and not shown.startswith("Z")


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.05)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def main() -> int:
    wanted = sys.argv[1:] or list(VICTIMS)
    broken = 0
    with tempfile.TemporaryDirectory(prefix="kill-matrix-") as folder:
        rig = Rig(Path(folder))
        try:
            for victim in wanted:
                for phase in PHASES:
                    told = play(rig, victim, phase)
                    broken += bool(told.problems)
                    gone = "never" if told.gone_s is None else f"{told.gone_s:.2f} s"
                    verdict = "; ".join(told.problems) or "ok"
                    sys.stdout.write(
                        f"{victim:<20} {phase:<9} exit {told.exit_code:>4}  gone after {gone:<8} {verdict}\n"
                    )
                    sys.stdout.flush()
        finally:
            rig.close()
    sys.stdout.write(
        f"{'everything was cleaned up' if not broken else f'{broken} cases are not as they should be'}\n"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
