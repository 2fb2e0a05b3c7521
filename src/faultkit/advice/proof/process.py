"""One version of a service, running: started with what it needs, and gone at the end, whatever happens."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from faultkit.advice.proof.service import Service
from faultkit.errors import RunError, TargetError

START_S = 30.0
_GRACE_S = 2.0
_MISSING = re.compile(r"No module named '([\w.]+)'")
_RUNNER = Path(__file__).with_name("runner.py")
_LAST_LINES = 5


class RunningService:
    """A context manager."""

    def __init__(
        self,
        file: Path,
        service: Service,
        env: Mapping[str, str],
        python: str,
        *,
        text: str | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        """`text`: what stands in the file in this version, if not what does."""
        self._file = file.resolve()
        self._service = service
        self._env = env
        self._python = python
        self._text = text
        self._stop = stop or threading.Event()
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
        command = [self._python, str(_RUNNER), self._service.interface, str(root), module, str(file)]
        try:
            self._process = subprocess.Popen(
                [*command, self._service.application],
                cwd=root,
                env={**os.environ, **self._env, "PYTHONDONTWRITEBYTECODE": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,
            )
        except OSError as error:
            raise TargetError(f"cannot start {self._python}: {error.strerror}") from None
        self.url = f"http://127.0.0.1:{self._port()}{self._service.route}"

    def _port(self) -> int:
        """What it prints when it listens."""
        assert self._process is not None
        assert self._process.stdout is not None
        until, said = time.monotonic() + START_S, b""
        while time.monotonic() < until:
            if self._stop.is_set():
                raise RunError("it was stopped")
            ready, _, _ = select.select([self._process.stdout], [], [], 0.1)
            if not ready:
                continue
            part = os.read(self._process.stdout.fileno(), 4096)
            said += part
            found = re.search(rb"^port (\d+)$", said, re.MULTILINE)
            if found:
                return int(found[1])
            if not part:
                self._process.wait(_GRACE_S)
                raise TargetError(self._why())
        raise TargetError(f"{self._file.name} does not listen after {START_S:g} s. {self._last_words()}")

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
        """Nothing of it is left: no process, no port, no folder."""
        process, self._process = self._process, None
        if process is not None:
            for number in (signal.SIGTERM, signal.SIGKILL):
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, number)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_GRACE_S)
            if process.stdout is not None:
                process.stdout.close()
        self._errors.close()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def _module_of(file: Path) -> tuple[Path, str]:
    """The folder that its imports begin in, and its name from there."""
    parts = [] if file.stem == "__init__" else [file.stem]
    root = file.parent
    while (root / "__init__.py").exists() and root != root.parent:
        parts.insert(0, root.name)
        root = root.parent
    return root, ".".join(parts)
