"""Loads the file that a mock serves: a manifest or a recording. Errors name the file and the line."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from faultkit.base.documents.yaml_text import placed, read_document
from faultkit.base.errors import InputError
from faultkit.base.files import read_text
from faultkit.mcp.mock.manifest import parse_manifest
from faultkit.mcp.mock.mock_model import Manifest

if TYPE_CHECKING:
    from faultkit.mcp.mock.mock_recording import Recording

_OF_RECORDINGS = (".jsonl", ".ndjson")


def load_source(path: str | os.PathLike[str]) -> Manifest | Recording:
    """Load a manifest or a recording, whichever the file is."""
    source = os.fspath(path)
    text = read_text(source)
    if is_recording(text) or source.endswith(_OF_RECORDINGS):
        return _recording(text, source)
    return read_manifest(text, source)


def load_recording(path: str | os.PathLike[str]) -> Recording:
    """Load a recording. Raises InputError if the file is none."""
    source = os.fspath(path)
    return _recording(read_text(source), source)


def _recording(text: str, source: str) -> Recording:
    # Imported late: few mocks are recordings, and a stdio client waits for every import.
    from faultkit.mcp.mock.mock_recording import read_recording

    return read_recording(text, source)


def is_recording(text: str) -> bool:
    """Return whether the first line is one of a recording."""
    try:
        entry = json.loads(text.lstrip().partition("\n")[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(entry, dict) and "t" in entry and ("from" in entry or "inject" in entry)


def load_manifest(path: str | os.PathLike[str]) -> Manifest:
    """Load a manifest. Raises InputError if the file is none."""
    source = os.fspath(path)
    return read_manifest(read_text(source), source)


def read_manifest(text: str, source: str = "manifest") -> Manifest:
    """Parse the text of a manifest; `source` names it in errors."""
    document = read_document(text, source, "a manifest")
    try:
        return parse_manifest(document)
    except InputError as error:
        raise placed(error, text, source) from None
    except RecursionError:
        raise InputError(source, "expected a manifest, got one that is nested too deeply") from None
