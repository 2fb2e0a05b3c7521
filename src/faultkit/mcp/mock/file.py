"""Manifests from files. Every error says in which file and line it is."""

from __future__ import annotations

import os

from faultkit.errors import InputError
from faultkit.mcp.mock.manifest import parse_manifest
from faultkit.mcp.mock.model import Manifest
from faultkit.plan.document import read_documents
from faultkit.plan.file import read_text


def load_manifest(path: str | os.PathLike[str]) -> Manifest:
    source = os.fspath(path)
    return read_manifest(read_text(source), source)


def read_manifest(text: str, source: str = "manifest") -> Manifest:
    # JSON is read as YAML as well: so both have lines.
    documents = list(read_documents(text, source, "a manifest"))
    if len(documents) != 1:
        raise InputError(source, f"expected one document with tools, got {len(documents) or 'an empty file'}")
    document = documents[0]
    try:
        return parse_manifest(document.value)
    except InputError as error:
        place = f"{source}: line {document.line_of(error.path)}"
        raise InputError(f"{place}: {error.path}" if error.path else place, error.problem) from None
