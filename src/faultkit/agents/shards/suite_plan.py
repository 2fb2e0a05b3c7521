"""A plan of suites: the tests to run and everything that decides them, as a value. Pure.

A case is a test or, of a test with several runs, one of them. Case number k, in the order of the files,
belongs to worker k mod N. Each worker gets the whole plan, so that its digest says that all run the same.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from posixpath import isabs, normpath
from typing import Any, ClassVar, TypeAlias

from faultkit.agents.suite.gate import ClockKind
from faultkit.load.split import Part, digest_of


@dataclass(frozen=True, slots=True)
class ShardOptions:
    """The options of a run that workers need."""

    clock: ClockKind
    scale: float
    seed: int | str | None
    """Replaces the seeds of the suites."""
    repeat: int | None
    timeout_s: float
    parallel: int
    """Most tests at a time, of each worker."""
    allow_stub: bool
    retries: int


@dataclass(frozen=True, slots=True)
class NeededProgram:
    """A program of a server or an agent, which the machine of a worker must have."""

    owner: str
    """What starts it: `server "shop"`."""
    program: str
    cwd: str
    """The folder in which it starts; empty: that of the run."""
    files: tuple[str, ...]
    """Arguments of it that are files where the run was planned."""


@dataclass(frozen=True, slots=True)
class PlannedTest:
    """A test of the plan."""

    suite: int
    """The place of its suite in the plan."""
    name: str
    runs: int
    """Its runs, each of which is a case; 0 for a test that is one case as a whole."""


@dataclass(frozen=True, slots=True)
class Case:
    """A test, or one of its runs."""

    test: int
    """The place of the test in the plan."""
    run: int | None
    """The number of the run, from 0; None for the whole test."""


@dataclass(frozen=True, slots=True)
class SuitePlan:
    """Everything that a worker must know to run its share of the tests."""

    cwd: str
    """The folder of the run: names of files may be relative to it."""
    suites: tuple[str, ...]
    """The files of the suites, as they were given."""
    tests: tuple[PlannedTest, ...]
    files: Mapping[str, bytes]
    """Contents of all files of the suites by their absolute paths: imports, mocks, snapshots, cassettes."""
    variables: Mapping[str, str]
    """Those of --var."""
    env: Mapping[str, str | None]
    """The environment variables that the suites name; None for one that is not set."""
    exported: tuple[str, ...]
    """Those of them that are read when the tests run: keys of models and headers of servers."""
    programs: tuple[NeededProgram, ...]
    local_urls: tuple[str, ...]
    """URLs that the tests use and only the machine of the coordinator can reach."""
    options: ShardOptions
    seed: int | str
    longest_s: float
    """Seconds from the start to the latest possible end."""
    kind: ClassVar[str] = "suite"

    @property
    def document(self) -> dict[str, Any]:
        """The plan as plain data."""
        written = {path: base64.b64encode(content).decode() for path, content in self.files.items()}
        own = {name: getattr(self, name) for name in _AS_THEY_ARE}
        lists = {name: [asdict(each) for each in getattr(self, name)] for name in ("tests", "programs")}
        return {**own, **lists, "files": written, "options": asdict(self.options)}

    @property
    def digest(self) -> str:
        """The SHA-256 of the plan."""
        return digest_of(self.document)

    @property
    def most_parts(self) -> int:
        """Into how many parts it can be split: each must have a case."""
        return sum(test.runs or 1 for test in self.tests)

    def cases(self) -> list[Case]:
        """Return all cases in their order."""
        return [
            Case(place, run)
            for place, test in enumerate(self.tests)
            for run in (range(test.runs) if test.runs else (None,))
        ]


SuitePart: TypeAlias = Part[SuitePlan]
_AS_THEY_ARE = (
    "cwd",
    "suites",
    "variables",
    "env",
    "exported",
    "local_urls",
    "seed",
    "longest_s",
)
"""Fields that are plain data already."""


def cases_of(part: SuitePart) -> range:
    """Return the numbers of the cases that belong to a part."""
    return range(part.share, part.plan.most_parts, part.of)


def suite_plan_of(document: Mapping[str, Any]) -> SuitePlan:
    """Return the plan of plain data. Raises an error of Python's own for data of another form."""
    files = {
        _absolute(path): base64.b64decode(text, validate=True) for path, text in document["files"].items()
    }
    programs = [
        NeededProgram(**{**each, "files": tuple(map(str, each["files"]))}) for each in document["programs"]
    ]
    return SuitePlan(
        cwd=_absolute(document["cwd"]),
        suites=tuple(map(str, document["suites"])),
        tests=tuple(PlannedTest(**each) for each in document["tests"]),
        files=files,
        variables=dict(document["variables"]),
        env=dict(document["env"]),
        exported=tuple(map(str, document["exported"])),
        programs=tuple(programs),
        local_urls=tuple(map(str, document["local_urls"])),
        options=ShardOptions(**document["options"]),
        seed=document["seed"],
        longest_s=float(document["longest_s"]),
    )


def _absolute(path: str) -> str:
    """Return a path that leads nowhere else than it says: a worker writes below a folder of its own."""
    if not isabs(path) or normpath(path) != path:
        raise ValueError(f"expected an absolute path, got {path!r}")
    return path
