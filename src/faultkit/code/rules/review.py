"""Findings of files and folders. This reads files; what is found in a text is the engine's."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from faultkit.base.errors import InputError
from faultkit.code.facts.build import GRAMMARS
from faultkit.code.file import local_path, read_source
from faultkit.code.languages import Language
from faultkit.code.rules.engine import findings_in
from faultkit.code.rules.rule import Finding, Rule
from faultkit.code.rules.table import RULES
from faultkit.code.walk import source_files


@dataclass(frozen=True, slots=True)
class ReviewedFile:
    file: str
    """As it is shown: as given, or with the folder before it."""
    language: str
    findings: tuple[Finding, ...] = ()
    broken_lines: tuple[int, ...] = ()
    """Where it could not be read as its language."""
    skipped: str = ""
    """Why it was passed by; empty if it was not."""


@dataclass(frozen=True, slots=True)
class FileToReview:
    path: str
    shown: str
    language: Language | None


def files_to_review(
    path: str, language: Language | None = None
) -> tuple[list[FileToReview], list[ReviewedFile]]:
    """What is to be looked at below a path, and source files that are passed by.

    A file that is named is looked at whatever it is; in a folder only what can be judged."""
    name = local_path(path)
    if not name:
        raise InputError("path", "expected a file or a folder, got nothing")
    if not os.path.isdir(name):
        return [FileToReview(name, name, language)], []
    skipped: list[ReviewedFile] = []
    base = name.rstrip("/") or name

    def pass_by(relative: str, why: str) -> None:
        skipped.append(ReviewedFile(_joined(base, relative), "", skipped=why))

    found = [
        FileToReview(each.path, _joined(base, each.relative), each.language)
        for each in source_files(name, language, pass_by)
        if each.language.name in GRAMMARS
    ]
    return found, skipped


def _joined(base: str, relative: str) -> str:
    return relative if base == "." else f"{base}/{relative}"


def review_file(wanted: FileToReview, rules: Iterable[Rule] = RULES) -> ReviewedFile:
    source = read_source(wanted.path, wanted.language)
    if source.language.name not in GRAMMARS:
        known = ", ".join(GRAMMARS)
        raise InputError(
            wanted.shown, f"expected one of {known}, which the rules know, got {source.language.title}"
        )
    syntax = source.parse()
    findings = findings_in(syntax, file=wanted.shown, rules=rules)
    return ReviewedFile(wanted.shown, source.language.name, findings, tuple(syntax.broken_lines()))


def review_all(wanted: Iterable[FileToReview], rules: Iterable[Rule] = RULES) -> Iterator[ReviewedFile]:
    """One after the other; what cannot be read is passed by, with the reason."""
    listed = tuple(rules)
    for each in wanted:
        try:
            yield review_file(each, listed)
        except InputError as error:
            language = "" if each.language is None else each.language.name
            yield ReviewedFile(each.shown, language, skipped=error.problem)
