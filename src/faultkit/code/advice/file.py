"""The text of a file that is to be changed, as it stands on the disk, so that a diff of it applies there."""

from __future__ import annotations

import codecs
import os
from dataclasses import dataclass

from faultkit.base.errors import InputError
from faultkit.code.file import MOST_BYTES, read_source
from faultkit.code.languages import Language


@dataclass(frozen=True, slots=True)
class ChangeableFile:
    path: str
    name: str
    """Without its folder: the diff is applied where the file is."""
    language: Language
    text: str
    """With a byte order mark and line ends as they are."""


def read_changeable(path: str | os.PathLike[str], language: Language | None = None) -> ChangeableFile:
    """Raises InputError for what cannot be read, and for other encodings than UTF-8: a diff is UTF-8."""
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
