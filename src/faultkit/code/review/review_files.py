"""Findings of files and folders. Reads files; `engine` finds what is in a text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from faultkit.base.errors import InputError
from faultkit.code.facts.build import GRAMMARS
from faultkit.code.languages import Language
from faultkit.code.review.engine import RULES, findings_in
from faultkit.code.rules.rule import Finding, Rule
from faultkit.code.source_file import local_path, read_source
from faultkit.code.walk import source_files


@dataclass(frozen=True, slots=True)
class ReviewedFile:
    """A file and its findings, or why it was skipped."""

    file: str
    """The path as shown: as given, or with its folder."""
    language: str
    findings: tuple[Finding, ...] = ()
    broken_lines: tuple[int, ...] = ()
    """Lines that could not be parsed."""
    skipped: str = ""
    """Why the file was skipped; empty if it was not."""


@dataclass(frozen=True, slots=True)
class FileToReview:
    """A file that is to be reviewed."""

    path: str
    shown: str
    language: Language | None


def files_to_review(
    path: str, language: Language | None = None
) -> tuple[list[FileToReview], list[ReviewedFile]]:
    """Return the files to review below a path, and the source files that are skipped.

    A file that is named is always reviewed; in a folder only files of known languages.
    """
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
    """Review one file."""
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
    """Review files one after the other; unreadable ones are skipped with a reason."""
    listed = tuple(rules)
    for each in wanted:
        try:
            yield review_file(each, listed)
        except InputError as error:
            language = "" if each.language is None else each.language.name
            yield ReviewedFile(each.shown, language, skipped=error.problem)
