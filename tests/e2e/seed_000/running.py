"""Runs client scripts of the seed, each on a stage of its own, and returns their results."""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from tests.e2e.seed_000 import stage

HERE = Path(__file__).parent
PROJECT = HERE.parents[2]
CLIENTS = PROJECT / os.environ.get("FAULTKIT_SEED_CLIENTS", "build/seed-clients")
HAS_CLIENTS = (CLIENTS / ".ready").exists()
OWN_NETWORK = ("unshare", "--user", "--map-root-user", "--net")
PATIENCE_S = stage.PATIENCE_S + 60
KEEP = {"HOME", "LANG", "LC_ALL", "PATH"}


@dataclass(frozen=True, slots=True)
class Play:
    """A script and its arguments; `repair` replaces one call in it, if any."""

    script: str
    arguments: tuple[str, ...]
    repair: tuple[str, str] | None = None
    with_app: bool = False


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    errors: str
    asked: tuple[tuple[str, str], ...]
    """Paths and Hosts of the requests that the upstream received."""
    folder: Path


@cache
def can_have_own_network() -> bool:
    if shutil.which(OWN_NETWORK[0]) is None:
        return False
    return subprocess.run([*OWN_NETWORK, "true"], capture_output=True, timeout=PATIENCE_S).returncode == 0


@cache
def why_no_stage() -> str | None:
    """Return why scripts with fixed ports cannot be run here."""
    if can_have_own_network():
        return None
    for port in (stage.UPSTREAM_PORT, stage.APP_PORT, 34000):
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError as error:
            return f"no network namespace to be had, and port {port} neither: {error.strerror}"
    return None


def run_all(plays: Mapping[str, Play], folder: Path, at_once: int) -> dict[str, Ran]:
    """True if the scripts have to share this machine's ports, and run one after the other."""
    with ThreadPoolExecutor(at_once if can_have_own_network() else 1) as threads:
        running = {name: threads.submit(run, play, folder / name) for name, play in plays.items()}
        return {name: each.result() for name, each in running.items()}


def run(play: Play, folder: Path) -> Ran:
    folder.mkdir()
    shutil.copytree(HERE / "app", folder / "app", ignore=shutil.ignore_patterns("__pycache__"))
    play = replace(play, arguments=tuple(word.replace("{here}", str(folder)) for word in play.arguments))
    company = "app" if play.with_app else "alone"
    command = [sys.executable, "-m", "tests.e2e.seed_000.stage", str(folder), company]
    command += [str(CLIENTS / "bin" / "python"), str(script_of(play, folder)), *play.arguments]
    process = subprocess.Popen(
        [*OWN_NETWORK, *command] if can_have_own_network() else command,
        cwd=PROJECT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, errors = process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    assert process.returncode == 0, errors
    told = json.loads(out)
    asked = tuple((path, host) for path, host in told["asked"])
    return Ran(told["code"], told["out"], told["errors"], asked, folder)


def script_of(play: Play, folder: Path) -> Path:
    path = HERE / "scripts" / play.script
    if play.repair is None:
        return path
    text = path.read_text("utf-8")
    assert text.count(play.repair[0]) == 1
    copy = folder / play.script
    copy.write_text(text.replace(*play.repair), "utf-8")
    return copy


def environment() -> dict[str, str]:
    """Environment without a key: the configuration of the scripts cannot hold an unset variable."""
    kept = {name: value for name, value in os.environ.items() if name in KEEP}
    # A wide terminal, because the e2e script would wrap the lines of a diff.
    return {**kept, "OPENAI_API_KEY": "", "COLUMNS": "4000", "PYTHONWARNINGS": "ignore"}


def texts_of(printed: str) -> list[str]:
    """Return the texts of a list of contents as `print` shows it."""
    found = ast.parse(printed.strip(), mode="eval").body
    assert isinstance(found, ast.List)
    return [_text_of(each) for each in found.elts]


def _text_of(content: ast.expr) -> str:
    assert isinstance(content, ast.Call)
    given = {each.arg: ast.literal_eval(each.value) for each in content.keywords}
    assert given["type"] == "text"
    text: str = given["text"]
    return text
