"""Source files: reads a path as UTF-8 bytes with a language, or raises a clear InputError.

No other module of `faultkit.code` opens a file to read code, except the walk over folders, which only looks
at the first bytes.
"""

from __future__ import annotations

import codecs
import io
import os
import stat
import tokenize
from dataclasses import dataclass
from typing import TypedDict
from urllib.parse import unquote

from faultkit.base.errors import InputError
from faultkit.code.functions import find_function, list_functions
from faultkit.code.languages import Language, known_language_of, language_of, language_of_script
from faultkit.code.languages.syntax import Syntax, parse

MOST_BYTES = 10 * 1024 * 1024


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
    known = language or known_language_of(name)
    data = _read(name)
    if known is None:
        known = language_of_script(data.split(b"\n", 1)[0].decode("utf-8", "replace")) or language_of(name)
    return SourceFile(name, known, _as_utf8(name, data, known.name == "python"))


def local_path(path: str) -> str:
    """Return the path without `file://`, which editors and agents put before paths."""
    if not path[:7].lower().startswith("file://"):
        return path
    return unquote(path[7:].removeprefix("localhost"))


def _read(path: str) -> bytes:
    if not path:
        raise InputError("file", "expected the path of a source file, got nothing")
    try:
        # Checked before it is opened: opening a pipe would block until there is a writer.
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise InputError(path, "expected a file, got a folder")
        if not stat.S_ISREG(status.st_mode):
            raise InputError(path, "expected a regular file, got a device, pipe or socket")
        with open(path, "rb") as opened:
            data = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(path, f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    except ValueError as error:
        raise InputError("file", f"expected a path, got {path[:60]!r}: {error}") from None
    if len(data) > MOST_BYTES:
        raise InputError(path, f"expected at most {MOST_BYTES // 2**20} MiB of source, got more")
    return data


def _as_utf8(path: str, data: bytes, is_python: bool) -> bytes:
    encoding = _encoding(path, data, is_python)
    if encoding is None:
        _check_text(path, data)
        data = data.removeprefix(codecs.BOM_UTF8)
        encoding = "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = data[error.start]
        problem = f"expected {encoding.upper()} text, got byte {byte:#04x} on line {line}; save it as UTF-8"
        raise InputError(path, problem) from None
    return data if encoding == "utf-8" else text.encode("utf-8", "replace")


def _encoding(path: str, data: bytes, is_python: bool) -> str | None:
    """Return the encoding of a byte order mark or, in Python, of a `# coding:` line; None if there is
    neither."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if not is_python:
        return None
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        raise InputError(path, f"expected an encoding that Python knows: {error.msg}") from None
    return None if encoding in ("utf-8", "utf-8-sig") else encoding


def _check_text(path: str, data: bytes) -> None:
    if b"\0" in data:
        raise InputError(path, "expected source text, got a binary file")


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
        raise InputError(f"{file.path}: {error.path}", error.problem) from None
    return {"full": syntax.text(found.full), "body": syntax.text(found.body)}


# Files that are to be changed.


@dataclass(frozen=True, slots=True)
class ChangeableFile:
    """A file that a diff is made for, exactly as it stands on the disk."""

    path: str
    name: str
    """The file name without its folder: the diff is applied where the file is."""
    language: Language
    text: str
    """The text with its byte order mark and line ends."""


def read_changeable(path: str | os.PathLike[str], language: Language | None = None) -> ChangeableFile:
    """Read a file to be changed. Raises InputError if it is not UTF-8, because a diff is UTF-8."""
    source = read_source(path, language)
    with open(source.path, "rb") as opened:
        raw = opened.read(MOST_BYTES + 1)
    if raw.removeprefix(codecs.BOM_UTF8) != source.source:
        raise InputError(
            source.path, "expected UTF-8 text, got another encoding: save it as UTF-8 to change it"
        )
    if not raw.strip():
        raise InputError(source.path, "expected source code, got an empty file")
    return ChangeableFile(source.path, os.path.basename(source.path), source.language, raw.decode("utf-8"))
