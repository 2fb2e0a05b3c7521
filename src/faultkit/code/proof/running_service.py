"""One running version of a service: starts its process, and ends it with everything it started."""

from __future__ import annotations

import os
import re
import select
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any

from faultkit.base.errors import RunError, TargetError
from faultkit.base.process_group import end_popen_group
from faultkit.code.proof.service import Service

START_S = 30.0
_GRACE_S = 2.0
_MISSING = re.compile(r"No module named '([\w.]+)'")
_RUNNER = Path(__file__).with_name("runner.py")
_LAST_LINES = 5
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
"""Environment variables that are removed, so that calls do not go through a proxy of the user."""


class RunningService:
    """A service process, as a context manager."""

    def __init__(
        self,
        file: Path,
        service: Service,
        env: Mapping[str, str],
        python: str,
        *,
        text: str | None = None,
        stop: threading.Event | None = None,
        start_s: float = START_S,
    ) -> None:
        """`text` replaces the contents of the file in this version, if given."""
        self._file = file.resolve()
        self._service = service
        self._env = env
        self._python = python
        self._text = text
        self._stop = stop or threading.Event()
        self._start_s = start_s
        self._wire: socket.socket | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self.url = ""

    def __enter__(self) -> RunningService:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _start(self) -> None:
        root, module = _module_of(self._file)
        file = self._file
        if self._text is not None:
            self._folder = tempfile.TemporaryDirectory(prefix="fault-proof-")
            file = Path(self._folder.name) / self._file.name
            file.write_text(self._text, encoding="utf-8", newline="")
        # When this end closes, however this process ends, the service ends itself.
        self._wire, its = socket.socketpair()
        command = [self._python, str(_RUNNER), self._service.interface, str(root), module, str(self._file)]
        env = {name: value for name, value in os.environ.items() if name.lower() not in _PROXIES}
        with its:
            try:
                self._process = subprocess.Popen(
                    [*command, str(file), self._service.application, str(its.fileno())],
                    cwd=root,
                    env={**env, **self._env, "PYTHONDONTWRITEBYTECODE": "1"},
                    stdin=subprocess.DEVNULL,
                    # Also into the file: a pipe without a reader would fill up and block the service.
                    stdout=self._errors,
                    stderr=self._errors,
                    pass_fds=[its.fileno()],
                    start_new_session=True,
                )
            except OSError as error:
                raise TargetError(f"cannot start {self._python}: {error.strerror}") from None
        self.url = f"http://127.0.0.1:{self._port()}{self._service.route}"

    def _port(self) -> int:
        """Return the port that the service reports when it serves."""
        assert self._process is not None
        assert self._wire is not None
        until, said = time.monotonic() + self._start_s, b""
        while time.monotonic() < until:
            if self._stop.is_set():
                raise RunError("it was stopped")
            ready, _, _ = select.select([self._wire], [], [], 0.1)
            if not ready:
                continue
            part = self._wire.recv(4096)
            said += part
            found = re.search(rb"^port (\d+)$", said, re.MULTILINE)
            if found:
                return int(found[1])
            if not part:
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_GRACE_S)
                raise TargetError(self._why())
        raise TargetError(f"{self._file.name} does not serve after {self._start_s:g} s. {self._last_words()}")

    def _why(self) -> str:
        words = self._last_words()
        missing = _MISSING.search(words)
        hint = ""
        if missing is not None:
            package = missing[1].split(".")[0]
            hint = f" Install what it needs: {self._python} -m pip install {package}"
        return f"{self._file.name} does not start: {words}{hint}"

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return " / ".join(line.strip() for line in lines[-_LAST_LINES:]) or "It said nothing."

    def close(self) -> None:
        """End the process group, free the port and remove the folder."""
        process, self._process = self._process, None
        if process is not None:
            end_popen_group(process, _GRACE_S)
        if self._wire is not None:
            self._wire.close()
        self._errors.close()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def _module_of(file: Path) -> tuple[Path, str]:
    """Return the folder where imports begin, and the name of the module from there."""
    parts = [] if file.stem == "__init__" else [file.stem]
    root = file.parent
    while (root / "__init__.py").exists() and root != root.parent:
        parts.insert(0, root.name)
        root = root.parent
    return root, ".".join(parts)


# A stub for dependencies that the user does not name: answers at once, and counts requests.


_BODY = b'{"id": 1, "userId": 1, "title": "an answer of the stand-in", "completed": false, "items": []}'


class StandIn:
    """An HTTP server on a free port, as a context manager."""

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def taken(self) -> int:
        """Return the number of requests since the last call."""
        with self._lock:
            count, self._count = self._count, 0
        return count

    def __enter__(self) -> StandIn:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                with stand_in._lock:
                    stand_in._count += 1
                self.rfile.read(int(self.headers.get("content-length") or 0))
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(_BODY)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(_BODY)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = answer

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler
