"""Source files: from a path to UTF-8 bytes and a language, or a clear error. Only this file reads files."""

from __future__ import annotations

import codecs
import io
import os
import stat
import tokenize
from dataclasses import dataclass
from urllib.parse import unquote

from faultkit.base.errors import InputError
from faultkit.code.languages import Language, known_language_of, language_of, language_of_script
from faultkit.code.syntax import Syntax, parse

MOST_BYTES = 10 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SourceFile:
    path: str
    language: Language
    source: bytes
    """UTF-8 without a byte order mark, whatever the file's encoding; line ends as they are."""

    def parse(self) -> Syntax:
        return parse(self.source, self.language)


def read_source(path: str | os.PathLike[str], language: Language | None = None) -> SourceFile:
    """A file's text. The language is told by the name's ending, or by a first line `#!…`, if not given."""
    name = local_path(os.fspath(path))
    known = language or known_language_of(name)
    data = _read(name)
    if known is None:
        known = language_of_script(data.split(b"\n", 1)[0].decode("utf-8", "replace")) or language_of(name)
    return SourceFile(name, known, _as_utf8(name, data, known.name == "python"))


def local_path(path: str) -> str:
    """Without `file://`, which editors and agents put before paths."""
    if not path[:7].lower().startswith("file://"):
        return path
    return unquote(path[7:].removeprefix("localhost"))


def _read(path: str) -> bytes:
    if not path:
        raise InputError("file", "expected the path of a source file, got nothing")
    try:
        # Told before it is opened: to open a pipe would wait for whoever writes to it.
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
    """What a mark or, in Python, a line such as `# coding: latin-1` says; None if nothing does."""
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
