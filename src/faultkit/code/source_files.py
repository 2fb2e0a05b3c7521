"""Source files: reads one as UTF-8 bytes with a language, and finds those of a folder.

A file that cannot be read raises an InputError with the reason. Code is read from disk only here.
"""

from __future__ import annotations

import codecs
import io
import os
import stat
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict
from urllib.parse import unquote

from faultkit.base.errors import InputError
from faultkit.base.text import has_utf8, with_utf8
from faultkit.code.functions import find_function, list_functions
from faultkit.code.languages import LANGUAGES, Language, known_language_of, language_of, language_of_script
from faultkit.code.languages.syntax import Syntax, parse

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MOST_BYTES = 10 * 1024 * 1024
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CONTROLS = bytes(code for code in range(32) if chr(code) not in "\b\t\n\v\f\r\x1a\x1b")
_MOST_CONTROLS = 0.05
"""The share of control characters up to which a file is text: sources may have a few in their literals."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """The text of a source file, its path and its language."""

    path: str
    language: Language
    source: bytes
    """UTF-8 without a byte order mark, whatever the encoding of the file; line ends unchanged."""

    def parse(self) -> Syntax:
        return parse(self.source, self.language)


def read_source(path: str | os.PathLike[str], language: Language | None = None) -> SourceFile:
    """Read a source file. Without a language, the file ending decides, or a first line `#!…`."""
    name = local_path(os.fspath(path))
    return source_of(name, bytes_of_file(name), language)


def source_of(name: str, data: bytes, language: Language | None = None) -> SourceFile:
    """Return the bytes of a file, such as standard input, as a source file of this name."""
    known = language or known_language_of(name)
    if known is None:
        known = language_of_script(data.split(b"\n", 1)[0].decode("utf-8", "replace")) or language_of(name)
    return SourceFile(name, known, _as_utf8(name, data, known.name == "python"))


def local_path(path: str) -> str:
    """Return the path without `file://`, which editors and agents put before paths."""
    if not path[:7].lower().startswith("file://"):
        return path
    return unquote(path[7:].removeprefix("localhost"))


def check_file(path: str) -> None:
    """Raise InputError unless a path is that of a regular file."""
    if not path:
        raise InputError("file", "expected the path of a source file, got nothing")
    try:
        status = os.stat(path)
    except OSError as error:
        raise InputError(path, f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    except ValueError as error:
        raise InputError("file", f"expected a path, got {path[:60]!r}: {error}") from None
    if stat.S_ISDIR(status.st_mode):
        raise InputError(path, "expected a file, got a folder")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(path, "expected a regular file, got a device, pipe or socket")


def bytes_of_file(path: str) -> bytes:
    """Return the bytes of a file of source code. Raises InputError."""
    # Checked before it is opened: opening a pipe would block until there is a writer.
    check_file(path)
    try:
        with open(path, "rb") as opened:
            data = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(path, f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    if len(data) > MOST_BYTES:
        raise InputError(path, f"expected at most {MOST_BYTES // 2**20} MiB of source, got more")
    return data


def _as_utf8(path: str, data: bytes, is_python: bool) -> bytes:
    if b"\0" in data and not data.startswith(_UTF_16):
        raise _binary(path)
    encoding = _encoding(path, data, is_python)
    if encoding is None:
        data = data.removeprefix(codecs.BOM_UTF8)
        encoding = "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = data[error.start]
        problem = f"expected {encoding.upper()} text, got byte {byte:#04x} on line {line}; save it as UTF-8"
        raise InputError(path, problem) from None
    source = data if encoding == "utf-8" else text.encode("utf-8", "replace")
    # In UTF-8, no other character has a byte of a control character; bytes are counted faster.
    controls = len(source) - len(source.translate(None, _CONTROLS))
    if "\0" in text or controls > len(text) * _MOST_CONTROLS:
        raise _binary(path)
    return source


def _binary(path: str) -> InputError:
    return InputError(path, "expected source text, got a binary file")


def _encoding(path: str, data: bytes, is_python: bool) -> str | None:
    """Return the encoding of a byte order mark or, in Python, of a `# coding:` line; None if there is
    neither."""
    if data.startswith(_UTF_16):
        if is_python:
            # Python itself refuses such a file. A binary file may begin with the same two bytes.
            raise InputError(path, "expected source text that Python reads, got UTF-16; save it as UTF-8")
        return "utf-16"
    if not is_python:
        return None
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        raise InputError(path, f"expected an encoding that Python knows: {error.msg}") from None
    return None if encoding in ("utf-8", "utf-8-sig") else encoding


# Functions of a file.


class Extract(TypedDict):
    """One function of a file, as text."""

    full: str
    """The whole block, decorators and signature included, exactly as in the file."""
    body: str
    """The block without the signature."""


def function_names(path: str | os.PathLike[str]) -> list[str]:
    """Return qualified names in the order of the file. An overloaded name appears once for each
    definition."""
    return [each.qualified_name for each in list_functions(read_source(path).parse())]


def extract(path: str | os.PathLike[str], name: str) -> Extract:
    """Return one function, found by its qualified name, the end of it, or `name:LINE`."""
    file = read_source(path)
    syntax = file.parse()
    try:
        found = find_function(list_functions(syntax), name)
    except InputError as error:
        raise error.at(f"{file.path}: {error.path}") from None
    return {"full": syntax.text(found.full), "body": syntax.text(found.body)}


# Files that are to be changed.


@dataclass(frozen=True, slots=True)
class ChangeableFile:
    """A file that a diff is made for, exactly as it stands on the disk."""

    path: str
    name: str
    """The path from the root of its repository, where diffs are applied; without one, the file's name."""
    language: Language
    text: str
    """The text with its byte order mark and line ends."""


def read_changeable(path: str | os.PathLike[str], language: Language | None = None) -> ChangeableFile:
    """Read a file to be changed. Raises InputError if it, or its name, is not UTF-8, as diffs are."""
    source = read_source(path, language)
    if not has_utf8(source.path):
        raise InputError(
            with_utf8(source.path), "expected a name in UTF-8, which a diff needs, got other bytes"
        )
    with open(source.path, "rb") as opened:
        raw = opened.read(MOST_BYTES + 1)
    if raw.removeprefix(codecs.BOM_UTF8) != source.source:
        raise InputError(
            source.path, "expected UTF-8 text, got another encoding: save it as UTF-8 to change it"
        )
    if not raw.strip():
        raise InputError(source.path, "expected source code, got an empty file")
    return ChangeableFile(source.path, _name_in_diffs(source.path), source.language, raw.decode("utf-8"))


def _name_in_diffs(path: str) -> str:
    # Links of folders are resolved, as git does; the file itself may be one.
    file = Path(path).absolute()
    folder = file.parent.resolve()
    return (folder / file.name).relative_to(repository_of(folder) or folder).as_posix()


def repository_of(folder: Path) -> Path | None:
    """Return the top of the repository that an absolute folder is in; None if it is in none."""
    return next((each for each in (folder, *folder.parents) if os.path.exists(each / ".git")), None)


# Source files of a folder, in a fixed order. Nothing is parsed here, and only the first bytes are read.
#
# Skipped are files that do not belong to the project or cannot be read: matches of a `.gitignore` at any
# level (also above the folder, up to the root of the repository), hidden folders, installed packages,
# symbolic links (as git does, so there are no loops), binary files and huge ones.


MOST_WALKED_BYTES = 1024 * 1024
"""A larger file is data, or generated."""

_SKIPPED_FOLDERS = {
    "__pycache__",
    "__pypackages__",
    "bower_components",
    "dist-packages",
    "node_modules",
    "site-packages",
}
_VENV_MARKER = "pyvenv.cfg"
_GENERATED_ENDINGS = (".min.js", ".min.mjs", ".min.cjs")
_SNIFFED_BYTES = 1024
_INCLUDED: dict[str, tuple[str, ...]] = {"typescript": ("typescript", "tsx")}
"""Languages that are included with another: asking for the first means all of them."""

OnSkip = Callable[[str, str], None]
"""Called with the path of a source file that is skipped, and the reason."""


@dataclass(frozen=True, slots=True)
class FolderFile:
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
    return frozenset(_INCLUDED.get(language.name, (language.name,)))


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
    if not os.path.isdir(folder):
        raise InputError(name, "expected a folder, got a file")
    try:
        os.scandir(folder).close()
    except OSError as error:
        raise InputError(name, f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    return folder


def is_excluded(folder: Path) -> bool:
    """Return whether a `.gitignore` above an absolute folder excludes it."""
    return _is_ignored(f"{folder}/", _rules_above(folder))


def source_files(
    root: str | os.PathLike[str],
    language: Language | None = None,
    skip: OnSkip | None = None,
    most_bytes: int = MOST_WALKED_BYTES,
) -> Iterator[FolderFile]:
    """Yield each source file below `root`, of one language or of all, sorted by its relative path."""
    folder = folder_of(root)
    wanted = languages_with(language)
    on_skip = skip or (lambda path, why: None)
    # Folders and files still to be visited, the next one last: the order is that of the paths' parts.
    stack: list[_Folder | tuple[os.DirEntry[str], str]] = [_Folder(str(folder), "", _rules_above(folder))]
    while stack:
        item = stack.pop()
        if isinstance(item, _Folder):
            stack += reversed(list(_inside(item, on_skip)))
            continue
        entry, relative = item
        found = _source_file(entry, relative, on_skip, most_bytes)
        if found is not None and found.language.name in wanted:
            yield found


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one `.gitignore`, and the folder they are relative to."""

    base: str
    spec: GitIgnoreSpec


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder that is to be visited, with the rules that apply in it."""

    path: str
    relative: str
    rules: tuple[_Rules, ...]
    """Rules of outer folders first."""


def _inside(folder: _Folder, on_skip: OnSkip) -> Iterator[_Folder | tuple[os.DirEntry[str], str]]:
    rules = (*folder.rules, *_rules_in(folder.path))
    try:
        with os.scandir(folder.path) as opened:
            entries = sorted(opened, key=lambda entry: entry.name)
    except OSError as error:
        on_skip(folder.relative or ".", f"cannot be read: {(error.strerror or str(error)).lower()}")
        return
    if folder.relative and any(entry.name == _VENV_MARKER for entry in entries):
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


def _source_file(
    entry: os.DirEntry[str], relative: str, on_skip: OnSkip, most_bytes: int
) -> FolderFile | None:
    language = known_language_of(entry.name)
    if language is None and "." in entry.name:
        return None
    if entry.name.endswith(_GENERATED_ENDINGS):
        on_skip(relative, "is minified")
        return None
    try:
        with open(entry.path, "rb") as opened:
            size = os.fstat(opened.fileno()).st_size
            head = opened.read(_SNIFFED_BYTES)
    except OSError as error:
        if language is not None:
            on_skip(relative, f"cannot be read: {(error.strerror or str(error)).lower()}")
        return None
    if language is None:
        language = language_of_script(head.split(b"\n", 1)[0].decode("utf-8", "replace"))
        if language is None:
            return None
    if size > most_bytes:
        on_skip(relative, f"is larger than {most_bytes:,} bytes")
    elif b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        on_skip(relative, "is a binary file")
    elif not has_utf8(relative):
        on_skip(with_utf8(relative), "has a name that is not UTF-8")
    else:
        return FolderFile(entry.path, relative, language)
    return None


def _rules_above(folder: Path) -> tuple[_Rules, ...]:
    """Return the rules of the folders around a repository's folder; its own are read when it is entered."""
    top = repository_of(folder)
    if top is None:
        return ()
    exclude = _rules_of(top / ".git" / "info" / "exclude", str(top))
    around = [each for each in folder.parents if each.is_relative_to(top)]
    return (*exclude, *(rules for each in reversed(around) for rules in _rules_in(str(each))))


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
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:
        # One invalid line must not disable the other patterns.
        good = [line for line in lines if _is_pattern(line)]
        return GitIgnoreSpec.from_lines(good)


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _is_ignored(path: str, rules: tuple[_Rules, ...]) -> bool:
    """Return whether a path is ignored; the innermost file with a matching pattern decides."""
    for each in reversed(rules):
        decision = each.spec.check_file(with_utf8(path[len(each.base) + 1 :])).include
        if decision is not None:
            return decision
    return False
