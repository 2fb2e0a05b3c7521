"""The pinned projects of `projects.toml`, and the half that each belongs to.

One half is to work with; the other is looked at only when a measurement is taken. No judgement decides the
half: of the projects of one language and one round, sorted by the SHA-256 of their names, every other one is
held back. Projects added later form a new round, so that none changes its half.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.registries import Source

LIST = Path(__file__).with_name("projects.toml")
WORK, HELD = "work", "held"
HALVES = (WORK, HELD)


@dataclass(frozen=True)
class Project:
    """A released version of a project, as a registry has it."""

    name: str
    language: str
    """The language of most of its code; the language of a finding is that of its file."""
    source: Source
    """The registry: `pypi`, `npm` or `debian`."""
    version: str
    archive: str
    """The file's name (PyPI, npm) or its path on the mirror (Debian)."""
    sha256: str
    only: str = ""
    """The part of the archive that is read; empty means all."""
    round: int = 1

    @property
    def folder(self) -> str:
        """The path of its files in a half's folder: `python/celery`."""
        return f"{self.language}/{self.name.removeprefix('@').replace('/', '-')}"


def read_projects(path: Path = LIST) -> tuple[Project, ...]:
    """Return the pinned projects in the order of the list."""
    return tuple(Project(**each) for each in tomllib.loads(path.read_text("utf-8"))["project"])


def halves_of(projects: Iterable[Project]) -> Mapping[str, str]:
    """Return the half of each project by its name."""
    groups: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    for each in projects:
        groups[each.language, each.round].append(each.name)
    halves = {}
    for names in groups.values():
        names.sort(key=lambda name: hashlib.sha256(name.encode()).hexdigest())
        halves.update({name: HALVES[place % 2] for place, name in enumerate(names)})
    return halves
