"""Findings in the projects, and how one is known again after a rule has changed."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path, PurePosixPath

from bench.review.projects import Project, halves_of, read_projects
from faultkit.base.errors import InputError
from faultkit.code.review.engine import DEFAULT_RULES, RULES
from faultkit.code.review.outcome import Judgement, judge, shown
from faultkit.code.review.review_files import files_to_review, review_all
from faultkit.code.rules.rule import Finding, Rule

_OTHER_FOLDERS = re.compile(
    r"(?:unit|integration|functional|e2e|system)?[-_]?tests?|testing|testdata|test[-_](?:data|utils|helpers|lib|suite)"
    r"|__(?:tests|mocks|fixtures|snapshots)__|specs?|fixtures?|mocks?|acceptance|e2e"
    r"|bench|benchmarks?|perf|jmh|examples?|samples?|demos?|docs?|documentation|website"
    r"|vendor|vendored|_vendor|third[-_]?party|node_modules|bower_components|dist|\w+\.egg-info|debian",
    re.IGNORECASE,
)
_OTHER_FILES = re.compile(
    r"test_.*\.py|.*_tests?\.\w+|conftest\.py|.*[.-](?:test|spec|bench|stories)\.\w+|.*(?:Test|Tests|TestCase|IT)\.(?:java|kt|cs)"
    r"|.*\.min\.\w+|tests?\.\w+"
)
_BY_DEFAULT = Judgement()
_ONE_GRAMMAR = {"tsx": "typescript"}


@dataclass(frozen=True, slots=True)
class Found:
    """A finding in a project, as values that can be written to a file."""

    project: str
    version: str
    file: str
    """Relative to the project."""
    language: str
    rule: str
    severity: str
    confidence: float
    function: str
    message: str
    line: int
    end_line: int
    hash: str
    """Of the flagged line's text, and of how many lines with the same text and rule came before it."""

    @property
    def key(self) -> tuple[str, ...]:
        """What makes it the same finding: rule and line of code, not the message or the line's number."""
        return self.project, self.file, self.rule, self.hash

    @property
    def words(self) -> tuple[str, ...]:
        """A second identity, for a rule that now flags another line of the same thing."""
        return self.project, self.file, self.rule, self.function, self.message

    @property
    def stratum(self) -> tuple[str, str, str]:
        return self.rule, self.language, self.severity


def is_production(file: str) -> bool:
    """Return whether a path is none of tests, benchmarks, examples, docs, vendored or built code.

    Scripts, migrations and generated files stay: telling them apart is the reviewer's task.
    """
    path = PurePosixPath(file)
    return not any(_OTHER_FOLDERS.fullmatch(part) for part in path.parts[:-1]) and not _OTHER_FILES.fullmatch(
        path.name
    )


def line_hashes(lines: Sequence[str], places: Iterable[tuple[str, int]]) -> list[str]:
    """Return a hash for each (rule, line number) that does not change when lines are added above it.

    White space does not count. Equal lines with the same rule are numbered in their order.
    """
    seen: Counter[tuple[str, str]] = Counter()
    hashes = []
    for rule, line in places:
        text = " ".join(lines[line - 1].split()) if line <= len(lines) else ""
        hashes.append(hashlib.sha256(f"{text}\n{seen[rule, text]}".encode()).hexdigest()[:16])
        seen[rule, text] += 1
    return hashes


def chosen_rules(ids: Sequence[str]) -> tuple[Rule, ...]:
    """Return the rules with these ids, also those that are off by default; without ids the default ones."""
    known = {rule.id: rule for rule in RULES}
    for each in ids:
        if each not in known:
            raise InputError("--rule", f"expected the id of a rule, such as FK-R001, got {each!r}")
    return tuple(known[each] for each in ids) or DEFAULT_RULES


def collect(corpus: Path, half: str, ids: Sequence[str] = (), jobs: int | None = None) -> list[Found]:
    """Review the projects of a half; return the findings in production code, in the order of the list."""
    projects = read_projects()
    halves = halves_of(projects)
    chosen_rules(ids)
    wanted = [each for each in projects if halves[each.name] == half]
    for each in wanted:
        if not (corpus / half / each.folder).is_dir():
            raise InputError(
                each.name, f"expected its files in {corpus / half / each.folder}: run fetch first"
            )
    with ProcessPoolExecutor(jobs) as pool:
        folders = [corpus / half / each.folder for each in wanted]
        reviewed = pool.map(_review, wanted, folders, repeat(tuple(ids)))
        return [found for each in reviewed for found in each]


def _review(project: Project, folder: Path, ids: Sequence[str]) -> list[Found]:
    """Review a project from inside its folder, as its developers would; return what the command shows."""
    os.chdir(folder)
    found: list[Found] = []
    wanted, _ = files_to_review(".")
    for file in review_all([each for each in wanted if is_production(each.shown)], chosen_rules(ids)):
        if findings := shown(judge(file, _BY_DEFAULT)):
            found += _as_found(project, file.file, file.language, findings)
    return found


def _as_found(project: Project, file: str, language: str, findings: Sequence[Finding]) -> Iterator[Found]:
    lines = Path(file).read_text("utf-8", "replace").split("\n")
    hashes = line_hashes(lines, [(each.rule.id, each.line) for each in findings])
    for each, hash_ in zip(findings, hashes, strict=True):
        yield Found(
            project=project.name,
            version=project.version,
            file=file,
            language=_ONE_GRAMMAR.get(language, language),
            rule=each.rule.id,
            severity=each.severity,
            confidence=each.confidence,
            function=each.function,
            message=each.message,
            line=each.line,
            end_line=each.end_line,
            hash=hash_,
        )
