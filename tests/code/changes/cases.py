"""Texts before and after a codemod: `cases/LANGUAGE/CODEMOD.txt`, each case headed by `### name`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from faultkit.code.advice.improvement import Improvement, improve
from faultkit.code.advice.selection import EVERY_CHANGE, Selection
from faultkit.code.changes import Change, Codemod, Source, apply_edits, codemods_for
from faultkit.code.changes.project import Project
from faultkit.code.languages import language_named
from faultkit.code.review.engine import RULES, findings_of

_FOLDER = Path(__file__).parent / "cases"
LANGUAGES = ("python", "javascript", "go")


@dataclass(frozen=True, slots=True)
class Case:
    language: str
    codemod: Codemod
    name: str
    before: str
    after: str

    @property
    def id(self) -> str:
        return f"{self.language}: {self.codemod.name}: {self.name}"


def change_for(text: str, language: str, codemod: Codemod) -> Change | None:
    """Return the change for all findings that a codemod may answer; None if there are none."""
    known = language_named(language)
    rules = [rule for rule in RULES if rule.slug in codemod.slugs]
    found = findings_of(text, known, rules=rules)
    return codemod.rewrite(Source(text, known), found) if found else None


def changed(text: str, language: str, codemod: Codemod) -> str:
    change = change_for(text, language, codemod)
    return text if change is None else apply_edits(text, change.edits)


def codemod_named(language: str, name: str) -> Codemod:
    return next(each for each in codemods_for(language) if each.name == name)


def safely(text: str, language: str = "python", project: Project | None = None) -> Improvement:
    return improve(text, language, None, None, 1.0, selection=Selection(), project=project or Project())


def boldly(text: str, language: str = "python", project: Project | None = None) -> Improvement:
    return improve(text, language, None, None, 1.0, selection=EVERY_CHANGE, project=project or Project())


def asked(text: str, language: str = "python") -> set[str]:
    """Return the ids of the rules whose changes ask, after all safe changes were made."""
    return {rule for each in safely(text, language).questions for rule in each.rules}


def _read() -> Iterator[Case]:
    for language in LANGUAGES:
        for codemod in codemods_for(language):
            text = (_FOLDER / language / f"{codemod.name}.txt").read_text("utf-8")
            parts = [part.partition("\n") for part in text.split("### ")[1:]]
            for (name, _, before), (word, _, after) in zip(parts[::2], parts[1::2], strict=True):
                assert word == "becomes", f"{codemod.name}: expected what {name} becomes, got {word}"
                yield Case(language, codemod, name, before, after)


CASES = tuple(_read())
