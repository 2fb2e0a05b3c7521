"""What a mock serves, from a file: a manifest or a recording. Errors say in which file and line they are."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from faultkit.base.documents.yaml_text import placed, read_document
from faultkit.base.errors import InputError
from faultkit.mcp.mock.manifest import parse_manifest
from faultkit.mcp.mock.model import Manifest
from faultkit.plan.file import read_text

if TYPE_CHECKING:
    from faultkit.mcp.mock.recording import Recording

_OF_RECORDINGS = (".jsonl", ".ndjson")


def load_source(path: str | os.PathLike[str]) -> Manifest | Recording:
    """Whichever of the two the file is."""
    source = os.fspath(path)
    text = read_text(source)
    if is_recording(text) or source.endswith(_OF_RECORDINGS):
        return _recording(text, source)
    return read_manifest(text, source)


def load_recording(path: str | os.PathLike[str]) -> Recording:
    source = os.fspath(path)
    return _recording(read_text(source), source)


def _recording(text: str, source: str) -> Recording:
    # Few mocks are recordings, and each client of one on pipes waits for what is imported.
    from faultkit.mcp.mock.recording import read_recording

    return read_recording(text, source)


def is_recording(text: str) -> bool:
    """Whether the first line is one of a recording."""
    try:
        entry = json.loads(text.lstrip().partition("\n")[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(entry, dict) and "t" in entry and ("from" in entry or "inject" in entry)


def load_manifest(path: str | os.PathLike[str]) -> Manifest:
    source = os.fspath(path)
    return read_manifest(read_text(source), source)


def read_manifest(text: str, source: str = "manifest") -> Manifest:
    document = read_document(text, source, "a manifest")
    try:
        return parse_manifest(document)
    except InputError as error:
        raise placed(error, text, source) from None
    except RecursionError:
        raise InputError(source, "expected a manifest, got one that is nested too deeply") from None
