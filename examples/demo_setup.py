"""Set up the environment of `make demo`: the core of Faultkit, without extras, in a folder of its own.

    python3 examples/demo_setup.py FOLDER

uv does it if it is installed, otherwise venv and pip. On a terminal the present step is shown while it lasts.
It runs on any Python from 3.8, so that an old one can say what it lacks.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

LEAST = (3, 11)
_REDRAW_S = 0.2


def main() -> None:
    folder = Path(sys.argv[1])
    began_s = time.monotonic()
    uv = shutil.which("uv")
    if sys.version_info < LEAST and uv is None:
        sys.exit("Faultkit needs Python 3.11 or newer; `make demo PYTHON=…` names one")
    _say(f"Setting up {folder} with {'uv' if uv else 'venv and pip'}: the core packages only, once.")
    for step, command in commands(folder, uv):
        run(step, command)
    (folder / ".ready").touch()
    _say(f"Ready after {time.monotonic() - began_s:.0f} s.\n")


def commands(folder: Path, uv: str | None) -> list[tuple[str, list[str]]]:
    """Return the steps, each with its command."""
    python = str(folder / "bin" / "python")
    if uv is not None:
        own = sys.executable if sys.version_info >= LEAST else ">=3.11"
        return [
            ("making the environment", [uv, "venv", "--quiet", "--clear", "--python", own, str(folder)]),
            ("installing", [uv, "pip", "install", "--python", python, "--editable", "."]),
        ]
    quiet = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    return [
        ("making the environment", [sys.executable, "-m", "venv", "--clear", str(folder)]),
        # Byte code of what the demo does not import would take as long as the download.
        ("installing", [python, "-m", "pip", "install", *quiet, "--no-compile", "--editable", "."]),
    ]


def run(step: str, command: list[str]) -> None:
    """Run a command, show its last line while it runs, and print all its lines if it fails."""
    lines: list[str] = []
    began_s = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    # The pipe is closed after its end was read: Ctrl-C would otherwise close it under the reader.
    reader = threading.Thread(target=lines.extend, args=(process.stdout,), daemon=True)
    reader.start()
    while reader.is_alive():
        reader.join(_REDRAW_S)
        said = last_line(lines)
        _show(f"{step}, {time.monotonic() - began_s:.0f} s" + (f": {said}" if said else ""))
    process.stdout.close()
    _show("")
    if process.wait():
        sys.stdout.writelines(lines)
        sys.exit(
            f"{step} failed: {' '.join(command)}\nSet-up needs a package registry: the network, or a mirror."
        )


def last_line(lines: list[str]) -> str:
    """Return the last line that says something, without what does not fit."""
    said = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return said.partition(" (from")[0][: shutil.get_terminal_size().columns - 40]


def _show(text: str) -> None:
    if sys.stdout.isatty():
        sys.stdout.write(f"\r\x1b[K{text}")
        sys.stdout.flush()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
