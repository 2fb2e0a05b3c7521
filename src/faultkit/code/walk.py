"""Source files of a folder, in a fixed order. Nothing is parsed here.

Skipped are files that do not belong to the project or cannot be read: matches of a `.gitignore` at any
level (also above the folder, up to the root of the repository), hidden folders, installed packages,
symbolic links (as git does, so there are no loops), binary files and huge ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from faultkit.base.errors import InputError
from faultkit.code.languages import LANGUAGES, Language, known_language_of, language_of_script
from faultkit.code.source_file import local_path

MOST_BYTES = 1024 * 1024
"""A larger file is data, or generated."""

_SKIPPED_FOLDERS = {
    "__pycache__",
    "__pypackages__",
    "bower_components",
    "dist-packages",
    "node_modules",
    "site-packages",
}
_MARK_OF_A_VENV = "pyvenv.cfg"
_MADE_BY_MACHINES = (".min.js", ".min.mjs", ".min.cjs")
_SNIFFED_BYTES = 1024
_WITH: dict[str, tuple[str, ...]] = {"typescript": ("typescript", "tsx")}
"""Languages that are included with another: asking for the first means all of them."""

Skip = Callable[[str, str], None]
"""Called with the path of a source file that is skipped, and the reason."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A source file below the folder."""

    path: str
    """The path to open."""
    relative: str
    """The path from the folder, with `/`."""
    language: Language


def languages_with(language: Language | None) -> frozenset[str]:
    """Return the languages to look for when this one is asked for; all if it is None."""
    if language is None:
        return frozenset(LANGUAGES)
    return frozenset(_WITH.get(language.name, (language.name,)))


def folder_of(path: str | os.PathLike[str]) -> Path:
    """Return the folder that a user means, with its real name on disk."""
    name = local_path(os.fspath(path))
    if not name:
        raise InputError("folder", "expected the path of a folder with source files, got nothing")
    try:
        folder = Path(name).resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(name, f"expected a folder: {why.lower()}") from None
    if not folder.is_dir():
        raise InputError(name, "expected a folder, got a file")
    return folder


def source_files(
    root: str | os.PathLike[str],
    language: Language | None = None,
    skip: Skip | None = None,
    most_bytes: int = MOST_BYTES,
) -> Iterator[FoundFile]:
    """Yield each source file below `root`, of one language or of all, sorted by its relative path."""
    folder = folder_of(root)
    wanted = languages_with(language)
    told = skip or (lambda path, why: None)
    waiting = [_Folder(str(folder), "", _rules_above(folder))]
    # A stack of what is still to be seen, the next one last: the order is that of the paths' parts.
    stack: list[_Folder | tuple[os.DirEntry[str], str]] = list(waiting)
    while stack:
        each = stack.pop()
        if isinstance(each, _Folder):
            stack += reversed(list(_inside(each, told)))
            continue
        entry, relative = each
        found = _source_file(entry, relative, told, most_bytes)
        if found is not None and found.language.name in wanted:
            yield found


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one `.gitignore`, and the folder they are relative to."""

    base: str
    spec: GitIgnoreSpec


@dataclass(frozen=True, slots=True)
class _Folder:
    path: str
    relative: str
    rules: tuple[_Rules, ...]
    """Rules of outer folders first."""


def _inside(folder: _Folder, told: Skip) -> Iterator[_Folder | tuple[os.DirEntry[str], str]]:
    rules = (*folder.rules, *_rules_in(folder.path))
    try:
        with os.scandir(folder.path) as opened:
            entries = sorted(opened, key=lambda entry: entry.name)
    except OSError as error:
        told(folder.relative or ".", f"cannot be read: {(error.strerror or str(error)).lower()}")
        return
    if folder.relative and any(entry.name == _MARK_OF_A_VENV for entry in entries):
        return
    for entry in entries:
        relative = f"{folder.relative}/{entry.name}" if folder.relative else entry.name
        try:
            is_folder = entry.is_dir(follow_symlinks=False)
            is_file = entry.is_file(follow_symlinks=False)
        except OSError:
            continue
        if is_folder:
            if entry.name in _SKIPPED_FOLDERS or entry.name.startswith("."):
                continue
            if not _is_ignored(f"{entry.path}/", rules):
                yield _Folder(entry.path, relative, rules)
        elif is_file and not _is_ignored(entry.path, rules):
            yield entry, relative


def _source_file(entry: os.DirEntry[str], relative: str, told: Skip, most_bytes: int) -> FoundFile | None:
    language = known_language_of(entry.name)
    if language is None and "." in entry.name:
        return None
    if entry.name.endswith(_MADE_BY_MACHINES):
        return None
    try:
        with open(entry.path, "rb") as opened:
            size = os.fstat(opened.fileno()).st_size
            head = opened.read(_SNIFFED_BYTES)
    except OSError as error:
        if language is not None:
            told(relative, f"cannot be read: {(error.strerror or str(error)).lower()}")
        return None
    if language is None:
        language = language_of_script(head.split(b"\n", 1)[0].decode("utf-8", "replace"))
        if language is None:
            return None
    if size > most_bytes:
        told(relative, f"is larger than {most_bytes:,} bytes")
    elif b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        told(relative, "is a binary file")
    elif not _is_text(relative):
        told(relative.encode("utf-8", "replace").decode(), "has a name that is not UTF-8")
    else:
        return FoundFile(entry.path, relative, language)
    return None


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _rules_above(folder: Path) -> tuple[_Rules, ...]:
    """Return the rules of the folders around a repository's folder; its own are read when it is entered."""
    around = [folder, *folder.parents]
    top = next((index for index, each in enumerate(around) if (each / ".git").exists()), None)
    if top is None:
        return ()
    exclude = _rules_of(around[top] / ".git" / "info" / "exclude", str(around[top]))
    return (*exclude, *(rules for each in reversed(around[1 : top + 1]) for rules in _rules_in(str(each))))


def _rules_in(folder: str) -> tuple[_Rules, ...]:
    return _rules_of(Path(folder) / ".gitignore", folder)


def _rules_of(path: Path, base: str) -> tuple[_Rules, ...]:
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return ()
    spec = _spec(lines)
    return (_Rules(base.rstrip("/"), spec),) if spec.patterns else ()


def _spec(lines: list[str]) -> GitIgnoreSpec:
    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:
        # A line that is no pattern must not take the others with it.
        good = [line for line in lines if _is_pattern(line)]
        return GitIgnoreSpec.from_lines(good)


def _is_pattern(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _is_ignored(path: str, rules: tuple[_Rules, ...]) -> bool:
    """Return whether a path is ignored; the innermost file with a matching pattern decides."""
    for each in reversed(rules):
        said = each.spec.check_file(path[len(each.base) + 1 :]).include
        if said is not None:
            return said
    return False
