"""One running version of a service: its process, which is ended with everything that it started.

On Linux, these are all processes that have inherited an id in their environment, also those in a session of
their own (`setsid`). Elsewhere, daemons whose parents have ended are not found. If this process is killed,
the service ends its process group, and daemons stay.
"""

from __future__ import annotations

import json
import re
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from faultkit.base.errors import RunError, TargetError
from faultkit.base.external_program import inherited_environment
from faultkit.base.network import new_token
from faultkit.base.process_group import end_popen_group, signal_group
from faultkit.base.process_identity import descendants_of, kill_processes, processes_with
from faultkit.code.proof.exercised import RanLines
from faultkit.code.proof.healthy_answers import Answer, Answers
from faultkit.code.proof.service import Service

START_S = 30.0
_GRACE_S = 2.0
_ANSWER_S = 5.0
_MISSING = re.compile(r"No module named '([\w.]+)'")
_MISSING_IN_NODE = re.compile(r"Cannot find (?:module|package) '([^'./][^']*)'")
_NODE_ERROR = re.compile(r"(Uncaught )?\w*Error\b.*: ")
_NO_NEWS = re.compile(r'[\s^~]*$|\s*File "<frozen ')
"""Lines of a traceback of Python: marks below the code, and the steps of an import."""
_RUNNER = Path(__file__).with_name("runner.py")
_NODE_RUNNER = Path(__file__).with_name("node_runner.cjs")
_LAST_LINES = 5
_ID = "FAULT_PROOF_ID"
"""Environment variable of all processes of a service."""
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
"""Environment variables that are removed, so that calls do not go through a proxy of the user."""


class RunningService:
    """A service process, as a context manager. `start` may be called before, to start several at once."""

    def __init__(
        self,
        file: Path,
        service: Service,
        env: Mapping[str, str],
        interpreter: str,
        *,
        replaced: Mapping[str, str] | None = None,
        inherited: Mapping[str, str] | None = None,
        text: str | None = None,
        stop: threading.Event | None = None,
        start_s: float = START_S,
    ) -> None:
        """Prepare a version of the service; `text` replaces the contents of the file, if it is given.

        env:       variables of the service
        replaced:  beginnings of URLs in its text, and what stands there instead
        inherited: its other variables; None: those of this process"""
        self._file = file.resolve()
        self._service = service
        self._env = env
        self._replaced = dict(replaced or {})
        self._inherited = inherited
        self._interpreter = interpreter
        self._text = text
        self._stop = stop or threading.Event()
        self._start_s = start_s
        self._id = new_token()
        self._wire: socket.socket | None = None
        self._received = b""
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self._known = RanLines()
        self.url = ""
        self.answers: Answers = Counter()
        """The successes up to the last report of lines."""

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended by itself."""
        return self._process is not None and self._process.poll() is not None

    @property
    def ending(self) -> str:
        """How the process ended by itself, and the end of what it wrote; empty while it runs."""
        code = None if self._process is None else self._process.poll()
        if code is None:
            return ""
        how = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
        return f"{how}. {self._last_output()}"

    def __enter__(self) -> RunningService:
        try:
            self.start()
            self.url = f"http://127.0.0.1:{self._port()}{self._service.route}"
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the process, unless it was started. It serves when the context is entered."""
        if self._process is not None:
            return
        file = self._file
        if self._text is not None:
            self._folder = tempfile.TemporaryDirectory(prefix="fault-proof-")
            file = Path(self._folder.name) / self._file.name
            file.write_text(self._text, encoding="utf-8", newline="")
        # When this end closes, however this process ends, the service ends itself.
        self._wire, child_end = socket.socketpair()
        with child_end:
            command, own = self._command(file, child_end.fileno())
            inherited = inherited_environment() if self._inherited is None else self._inherited
            env = {name: value for name, value in inherited.items() if name.lower() not in _PROXIES}
            try:
                self._process = subprocess.Popen(
                    command,
                    cwd=self._service.root,
                    env={**env, **self._env, **own, _ID: self._id},
                    stdin=subprocess.DEVNULL,
                    # Also into the file: a pipe without a reader would fill up and block the service.
                    stdout=self._errors,
                    stderr=self._errors,
                    pass_fds=[child_end.fileno()],
                    start_new_session=True,
                )
            except OSError as error:
                raise TargetError(f"cannot start {self._interpreter}: {error.strerror}") from None

    def _command(self, text: Path, wire: int) -> tuple[list[str], dict[str, str]]:
        """Return the command of the process, and the variables that belong to it."""
        service = self._service
        setup: dict[str, Any] = {
            "file": str(self._file),
            "text": str(text),
            "replaced": self._replaced,
            "root": service.root,
            "wire": wire,
        }
        if service.interface == "node":
            command = [self._interpreter, "--require", str(_NODE_RUNNER), str(self._file)]
            return command, {"FAULT_PROOF": json.dumps(setup)}
        setup |= {
            "interface": service.interface,
            "module": service.module,
            "application": service.application,
        }
        return [self._interpreter, str(_RUNNER), json.dumps(setup)], {"PYTHONDONTWRITEBYTECODE": "1"}

    def _port(self) -> int:
        """Return the port that the service reports when it serves."""
        until = time.monotonic() + self._start_s
        while time.monotonic() < until:
            if self._stop.is_set():
                raise RunError("it was stopped")
            found = self._message(rb"port (\d+)", 0.1)
            if found is not None:
                return int(found[1])
            if self._wire is None:
                assert self._process is not None
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_GRACE_S)
                raise TargetError(self._start_problem())
        raise TargetError(f"{self._name} does not serve after {self._start_s:g} s. {self._last_output()}")

    def ran_lines(self) -> RanLines:
        """Return which lines of the file have run so far, as far as is known if the service does not
        answer: one that ended may have reported at its end."""
        if self._wire is not None:
            with suppress(OSError):
                self._wire.sendall(b"lines\n")
        return self._lines(_ANSWER_S)

    def end(self) -> RanLines:
        """End the service as a deployment would, by SIGTERM, and return the lines that have run."""
        assert self._process is not None
        with suppress(PermissionError):
            signal_group(self._process.pid, signal.SIGTERM)
        return self._lines(_GRACE_S)

    def _lines(self, within_s: float) -> RanLines:
        found = self._message(rb"lines (\{.*\})", within_s)
        if found is None:
            return self._known
        document = json.loads(found[1])
        self.answers = Counter({Answer(*each): count for *each, count in document["answers"]})
        self._known = RanLines(frozenset(document["executable"]), frozenset(document["ran"]))
        return self._known

    def _message(self, form: bytes, within_s: float) -> re.Match[bytes] | None:
        """Return the next line on the wire of this form, if it comes in time; after the last one the wire is
        None."""
        until = time.monotonic() + within_s
        while True:
            line, newline, rest = self._received.partition(b"\n")
            if newline:
                self._received = rest
                if (found := re.fullmatch(form, line)) is not None:
                    return found
                continue
            left_s = until - time.monotonic()
            if self._wire is None or left_s <= 0:
                return None
            ready, _, _ = select.select([self._wire], [], [], left_s)
            if not ready:
                return None
            try:
                part = self._wire.recv(65536)
            except ConnectionError:
                part = b""
            self._received += part
            if not part:
                self._wire.close()
                self._wire = None

    def _start_problem(self) -> str:
        output = self._last_output()
        hint = ""
        if (missing := _MISSING.search(output)) is not None:
            package = missing[1].split(".")[0]
            hint = (
                f" Install what it needs ({self._interpreter} -m pip install {package}), or name the "
                "interpreter that has it (--python PATH; for a tool call, its argument python)."
            )
        elif (missing := _MISSING_IN_NODE.search(output)) is not None:
            hint = f" Install what it needs (npm install {missing[1]})."
        return f"{self._name} does not start: {output}{hint}"

    @property
    def _name(self) -> str:
        return self._file.name if self._text is None else f"the changed version of {self._file.name}"

    def _last_output(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        if self._service.interface == "node":
            # Before the message of an error is the code that threw it, after it the stack.
            errors = [line for line in lines if _NODE_ERROR.match(line)]
            # Of several, a start failed by the first one; what a service logged while it served comes before.
            lines = (errors[-1:] if self.url else errors[:1]) or lines
        else:
            lines = [line for line in lines if not _NO_NEWS.match(line)]
        return (
            " / ".join(line.strip() for line in lines[-_LAST_LINES:] if line.strip()) or "It wrote nothing."
        )

    def close(self) -> None:
        """End the process and those that it started, free the port and remove the folder."""
        process, self._process = self._process, None
        if process is not None:
            started = descendants_of(process.pid)
            end_popen_group(process, _GRACE_S)
            kill_processes(started | processes_with(_ID, self._id))
        if self._wire is not None:
            self._wire.close()
            self._wire = None
        self._errors.close()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
