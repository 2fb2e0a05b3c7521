"""Review of files and folders: which files there are, what each is for, and what the rules find in it.

The steps of a review: `find_files` lists files; `review_file` reviews one, alone and without regard to the
others, so that files can be reviewed in any order and in several processes; `outcome` judges what was found.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from faultkit.base.errors import InputError
from faultkit.code.facts import NO_PROJECT, Project
from faultkit.code.facts.build import GRAMMARS
from faultkit.code.languages import Language, known_language_of
from faultkit.code.languages.syntax import Syntax
from faultkit.code.review.built_copies import built_copies
from faultkit.code.review.context import (
    BY_NAME,
    PRODUCTION,
    context_of,
    contexts_of_folder,
    treatment_of,
)
from faultkit.code.review.context_rules import rules_in
from faultkit.code.review.engine import DEFAULT_RULES, RuleError, review_text
from faultkit.code.review.file_head import HEAD_BYTES, FileHead
from faultkit.code.review.helper_projects import helper_projects
from faultkit.code.review.manifests import Manifests
from faultkit.code.review.path_patterns import PathPatterns
from faultkit.code.review.vendored_copies import folders_of_copies
from faultkit.code.rules.rule import Finding, Rule
from faultkit.code.source_files import (
    SourceFile,
    check_file,
    folder_of,
    is_excluded,
    local_path,
    read_source,
    repository_of,
    source_files,
    source_of,
)


@dataclass(frozen=True, slots=True)
class ReviewedFile:
    """A file and its findings, or why it was skipped."""

    file: str
    """The path as shown: as given, or with its folder."""
    language: str
    findings: tuple[Finding, ...] = ()
    suppressed: tuple[tuple[Finding, str], ...] = ()
    """Findings that a comment suppresses, each with the reason that the comment gives."""
    broken_lines: tuple[int, ...] = ()
    """Lines that could not be parsed. Such a file has no score."""
    skipped: str = ""
    """Why the file was skipped; empty if it was not."""
    context: str = ""
    """The context by which it is left out or narrowed; empty for production code, and if it was asked for."""
    path: str = ""
    """The path to open, absolute."""
    relative: str = ""
    """The path in the project, with `/`."""

    @property
    def is_left_out(self) -> bool:
        """Return whether the file was not reviewed because of its context, and would be if asked for."""
        return treatment_of(self.context) == "left out"


@dataclass(frozen=True, slots=True)
class FileToReview:
    """A file that is to be reviewed."""

    path: str
    shown: str
    language: Language | None
    relative: str = ""
    """The path in the project, with `/`: from the top of the repository, or from the given folder."""
    context: str | None = None
    """The context, where it is known without the file: that of a pattern, or production; None: its path and
    its first bytes decide."""
    include: frozenset[str] = frozenset()
    """Contexts that are reviewed like production code."""
    source: bytes | None = None
    """The text, if it is not that of the file."""
    project: Project = NO_PROJECT
    """What the manifest nearest above the file says."""


@dataclass(frozen=True, slots=True)
class PathChoice:
    """Which files of a project are reviewed, and as what."""

    exclude: Sequence[PathPatterns] = ()
    contexts: Sequence[tuple[PathPatterns, str]] = ()
    """Contexts by pattern; the last that fits counts."""
    include: frozenset[str] = frozenset()
    is_strict: bool = False
    """Whether `exclude` and contexts count for files that are named, too."""
    excluded_by: str = ""
    """The settings that `exclude` comes from, for messages."""


ANY_FILE = PathChoice()


@dataclass(frozen=True, slots=True)
class FilesFound:
    """The files to review, and those that are not."""

    wanted: tuple[FileToReview, ...]
    skipped: tuple[ReviewedFile, ...] = ()
    excluded: int = 0
    """Number of files that patterns exclude."""


def files_to_review(
    path: str, language: Language | None = None
) -> tuple[list[FileToReview], list[ReviewedFile]]:
    """Return the files to review below a path, and the source files that are skipped."""
    found = find_files((path,), language)
    return list(found.wanted), list(found.skipped)


def find_files(
    paths: Iterable[str], language: Language | None = None, choice: PathChoice = ANY_FILE
) -> FilesFound:
    """Return the files to review at or below some paths, each once.

    A file that is named is reviewed as production code, whatever it is, unless the choice is strict."""
    wanted: dict[str, FileToReview] = {}
    skipped: dict[str, ReviewedFile] = {}
    excluded: set[str] = set()
    folders: dict[str, str] = {}
    for path in paths:
        name = local_path(path)
        if not name:
            raise InputError("path", "expected a file or a folder, got nothing")
        found = (
            _in_folder(name, language, skipped) if os.path.isdir(name) else [_named(name, language, choice)]
        )
        for each in found:
            real = _real_path(each.path, folders)
            if (each.context is None) and any(row.match(each.path, each.relative) for row in choice.exclude):
                excluded.add(real)
            elif real not in wanted or each.context is not None:
                # A file that is named goes before the same file of a folder.
                wanted[real] = _as_chosen(each, choice)
    return FilesFound(_with_others_considered(wanted.values()), tuple(skipped.values()), len(excluded))


def _real_path(path: str, folders: dict[str, str]) -> str:
    """Return the path without links; folders whose path is known are not looked at again."""
    folder, name = os.path.split(path)
    if name in ("", ".", "..") or os.path.islink(path):
        return os.path.realpath(path)
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    return os.path.join(folders[folder], name)


def _with_others_considered(wanted: Iterable[FileToReview]) -> tuple[FileToReview, ...]:
    """Return the files, with what only other files tell: that a build wrote them from others, that they are
    copies of other projects, or that their project only helps others."""
    listed = tuple(wanted)
    built = built_copies(each.relative for each in listed)
    copied = folders_of_copies((each.relative, each.path) for each in listed)
    helping = helper_projects(each.project for each in listed)
    if not built and not copied and not helping:
        return listed
    return tuple(
        replace(
            each,
            context=_copied_as(each, built, copied) if each.context is None else each.context,
            project=helping.get(each.project, each.project),
        )
        for each in listed
    )


def _copied_as(each: FileToReview, built: frozenset[str], copied: tuple[str, ...]) -> str | None:
    if each.relative in built:
        return "built"
    return "vendored" if each.relative.startswith(copied) else None


def text_to_review(data: bytes, name: str, language: Language | None, choice: PathChoice) -> FilesFound:
    """Return standard input as a file of this name."""
    each = replace(_named(name, language, choice, must_exist=False), source=data)
    if each.context is None and any(row.match(each.path, each.relative) for row in choice.exclude):
        return FilesFound((), (), 1)
    return FilesFound((_as_chosen(each, choice),))


def _as_chosen(each: FileToReview, choice: PathChoice) -> FileToReview:
    if each.context is not None:
        return each
    named = [name for patterns, name in choice.contexts if patterns.match(each.path, each.relative)]
    if not named and choice.include <= each.include:
        return each
    return replace(each, context=named[-1] if named else None, include=each.include | choice.include)


def _named(
    name: str, language: Language | None, choice: PathChoice, *, must_exist: bool = True
) -> FileToReview:
    if must_exist:
        check_file(name)
    path = Path(os.path.abspath(name))
    top = repository_of(path.parent) or Path.cwd()
    is_below = path.is_relative_to(top)
    relative = path.relative_to(top).as_posix() if is_below else path.name
    context = None if choice.is_strict else PRODUCTION
    known = language or known_language_of(name)
    manifests = Manifests(str(top if is_below else path.parent))
    project = NO_PROJECT if known is None else manifests.above(str(path.parent), known.name)
    return FileToReview(name, name, language, relative, context, project=project)


def _in_folder(
    name: str, language: Language | None, skipped: dict[str, ReviewedFile]
) -> Iterator[FileToReview]:
    base = name.rstrip("/") or name
    folder = folder_of(name)
    top = repository_of(folder) or folder
    above = "" if folder == top else f"{folder.relative_to(top).as_posix()}/"
    own = _contexts_of(folder, above)
    manifests = Manifests(_top_of_manifests(folder, top))

    def on_skip(relative: str, why: str) -> None:
        shown = _joined(base, relative)
        skipped[shown] = ReviewedFile(shown, "", skipped=why)

    is_empty = True
    for each in source_files(name, language, on_skip):
        is_empty = False
        shown = _joined(base, each.relative)
        if each.language.name in GRAMMARS:
            relative = f"{above}{each.relative}"
            around = os.path.dirname(os.path.join(folder, each.relative))
            project = manifests.above(around, each.language.name)
            yield FileToReview(each.path, shown, each.language, relative, include=own, project=project)
        else:
            skipped[shown] = ReviewedFile(
                shown, each.language.name, skipped=f"no rules for {each.language.title}"
            )
    if is_empty and is_excluded(folder):
        skipped[base] = ReviewedFile(base, "", skipped=".gitignore excludes it")


def _contexts_of(folder: Path, above: str) -> frozenset[str]:
    """Return the contexts of a folder that is named: naming `tests` asks for tests."""
    here = Path.cwd().resolve()
    if above:
        return contexts_of_folder(above)
    if folder == here or repository_of(folder) is not None:
        # The name of a whole project is not what its files are for.
        return frozenset()
    return contexts_of_folder(folder.relative_to(here).as_posix() if here in folder.parents else folder.name)


def _top_of_manifests(folder: Path, top: Path) -> str:
    """Return the folder above which no manifest counts: without a repository, the working directory."""
    here = Path.cwd().resolve()
    return str(here if folder == top and here in folder.parents else top)


def _joined(base: str, relative: str) -> str:
    return relative if base == "." else f"{base}/{relative}"


def review_file(wanted: FileToReview, rules: Iterable[Rule] = DEFAULT_RULES) -> ReviewedFile:
    """Review one file. Raises InputError if it cannot be read, or is no code."""
    source = source_to_review(wanted)
    if source.language.name not in GRAMMARS:
        known = ", ".join(GRAMMARS)
        raise InputError(
            wanted.shown, f"expected one of {known}, which the rules know, got {source.language.title}"
        )
    language = source.language.name
    begun = replace(_begun(wanted, language), context=_context(wanted, source.source, language))
    if treatment_of(begun.context) == "skipped":
        return replace(begun, skipped=f"is {BY_NAME[begun.context].title}")
    if begun.is_left_out:
        return begun
    syntax = source.parse()
    broken = tuple(syntax.broken_lines())
    if broken and not _has_code(syntax):
        problem = f"expected code that can be read as {source.language.title}, got something else on line"
        raise InputError(wanted.shown, f"{problem} {broken[0]}: it has no score")
    found = review_text(
        syntax, file=wanted.shown, rules=rules_in(begun.context, rules), project=wanted.project
    )
    suppressed = tuple((finding, by.reason) for finding, by in found.suppressed)
    return replace(begun, findings=found.findings, suppressed=suppressed, broken_lines=broken)


def _begun(wanted: FileToReview, language: str) -> ReviewedFile:
    path, relative = os.path.abspath(wanted.path), wanted.relative or wanted.shown
    return ReviewedFile(wanted.shown, language, path=path, relative=relative)


def source_to_review(wanted: FileToReview) -> SourceFile:
    """Return the text of a file. Raises InputError if it cannot be read."""
    if wanted.source is None:
        return read_source(wanted.path, wanted.language)
    return source_of(wanted.path, wanted.source, wanted.language)


def _context(wanted: FileToReview, source: bytes, language: str) -> str:
    """Return the context of a file that counts: empty for production code and for what was asked for."""
    name = wanted.context
    if name is None:
        text = source[:HEAD_BYTES].decode("utf-8", "replace")
        head = FileHead(wanted.relative or wanted.shown, language, text, len(source), source, wanted.project)
        found = context_of(head, wanted.include)
        name = PRODUCTION if found is None else found.name
    return "" if name == PRODUCTION or name in wanted.include else name


def context_name(wanted: FileToReview) -> str:
    """Return the context by which a file is skipped, left out or narrowed; empty if there is none."""
    source = source_to_review(wanted)
    return _context(wanted, source.source, source.language.name)


def is_reviewed(wanted: FileToReview) -> bool:
    """Return whether the context of a file neither skips it nor leaves it out."""
    return treatment_of(context_name(wanted)) in (None, "narrowed")


def _has_code(syntax: Syntax) -> bool:
    """Return whether something at the top of a broken text could be parsed, apart from comments."""
    return any(
        node.is_named
        and not node.is_error
        and "comment" not in node.type
        # A class or a function with a mistake in it is code; one word with something missing is not.
        and (not node.has_error or node.end_point.row > node.start_point.row)
        for node in syntax.root.children
    )


def review_all(
    wanted: Iterable[FileToReview], rules: Iterable[Rule] = DEFAULT_RULES
) -> Iterator[ReviewedFile]:
    """Review files one after the other; those that cannot be read, or in which a rule fails, are skipped with
    a reason."""
    listed = tuple(rules)
    for each in wanted:
        try:
            yield review_file(each, listed)
        except (InputError, RuleError) as error:
            language = "" if each.language is None else each.language.name
            yield replace(_begun(each, language), skipped=error.problem)
