"""The load engines that are measured, one row each with the way to run it. Metrics are defined elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.machine import OUT, find_program, missing
from bench.relays import OURS

CONNECTIONS = 64
PATH = "/unique"
"""Answers differ, as with most services, so that a client must read each of them."""
_LOCUST = OUT / "locust" / "bin" / "locust"

_LOCUST_FILE = f"""\
from locust import FastHttpUser, task


class User(FastHttpUser):
    @task
    def ask(self):
        self.client.get("{PATH}")
"""


@dataclass(frozen=True, slots=True)
class Job:
    """Send requests to the origin at this port, on all connections at once."""

    port: int
    seconds: int
    afresh: bool
    """Whether each request opens a connection."""
    folder: Path
    """The folder for files of a client."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{PATH}"


@dataclass(frozen=True, slots=True)
class Client:
    name: str
    command: Callable[[Job], list[str]]
    why_not: Callable[[], str | None]
    """Return None if it can be measured; otherwise what is missing."""
    can_afresh: bool = True


def _faultkit(job: Job) -> list[str]:
    command = [sys.executable, "-m", "faultkit.load", job.url, "--json"]
    command += ["--clients", str(CONNECTIONS), "--duration", str(job.seconds)]
    return [*command, "--no-keep-alive"] if job.afresh else command


def _wrk(job: Job) -> list[str]:
    command = [find_program("wrk") or "wrk", "--threads=1", f"-c{CONNECTIONS}", f"-d{job.seconds}s"]
    return [*command, *(["-H", "Connection: close"] if job.afresh else []), job.url]


def _hey(job: Job) -> list[str]:
    """Run it on one core, where it costs least."""
    command = [find_program("hey") or "hey", "-cpus", "1", "-c", str(CONNECTIONS), "-z", f"{job.seconds}s"]
    return [*command, *(["-disable-keepalive"] if job.afresh else []), job.url]


def _locust(job: Job) -> list[str]:
    file = job.folder / "locustfile.py"
    file.write_text(_LOCUST_FILE)
    command = [str(_LOCUST), "--headless", "--only-summary", "--loglevel", "ERROR", "-f", str(file)]
    users = ["-u", str(CONNECTIONS), "-r", str(CONNECTIONS), "-t", f"{job.seconds}s"]
    return [*command, *users, "--host", job.url.removesuffix(PATH)]


def _locust_missing() -> str | None:
    return None if _LOCUST.exists() else "it is not installed: run bench/install.sh"


CLIENTS: tuple[Client, ...] = (
    Client(OURS, _faultkit, lambda: None),
    Client("wrk", _wrk, lambda: missing("wrk")),
    Client("hey", _hey, lambda: missing("hey")),
    Client("locust", _locust, _locust_missing, can_afresh=False),
)
