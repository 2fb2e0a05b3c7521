"""References (`$ref`): within the document, and into other files of its folder.

The references in a value from another file are rewritten, so that all of them are relative to the first
document. Own code instead of the library `referencing`: its pointers do not lead through another `$ref` and
do not find a key with an encoded slash (`#/paths/%2Fpets`), its resolvers would have to accompany every
value, which merged schemas of several files do not allow, and the limit to the document's folder and the keys
beside `$ref` (from OpenAPI 3.1 on) would remain own code.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError
from faultkit.scenario.openapi.openapi_document import Source, Spec, read_data

MOST_FILES = 500


class Resolver:
    """A resolver of the references in one document."""

    def __init__(self, spec: Spec) -> None:
        self.minor = spec.minor
        self._source = spec.source
        self._documents: dict[str, Any] = {"": spec.document}
        self._under_way: set[str] = set()

    def follow(self, value: Any) -> Any:
        """Return the value, or the one that its `$ref` leads to; from 3.1 on, with the keys beside it."""
        beside: dict[str, Any] = {}
        seen: list[str] = []
        while isinstance(value, Mapping) and isinstance(value.get("$ref"), str):
            ref = value["$ref"]
            if ref in seen:
                raise self.error(ref, "leads back to itself")
            seen.append(ref)
            if self.minor >= 1:
                beside = {**{key: each for key, each in value.items() if key != "$ref"}, **beside}
            value = self.at(ref)
        return {**value, **beside} if beside and isinstance(value, Mapping) else value

    def at(self, ref: str) -> Any:
        """Return the value at a reference, without following a `$ref` in it."""
        if ref in self._under_way:  # The pointer leads through itself.
            raise self.error(ref, "leads back to itself")
        self._under_way.add(ref)
        try:
            return self._at(ref)
        finally:
            self._under_way.discard(ref)

    def _at(self, ref: str) -> Any:
        file, pointer = urldefrag(ref)
        file = posixpath.normpath(unquote(file)) if file and not self._source.is_url else file
        value = self._document(file, ref)
        if pointer and not pointer.startswith("/"):
            raise self.error(ref, 'is not supported: expected a path such as "#/components/schemas/Pet"')
        for step in pointer.split("/")[1:]:
            # Percent first, then the tildes: %7E1 is ~1.
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(value, Mapping) and isinstance(value.get("$ref"), str) and key not in value:
                value = self.follow(value)
            if isinstance(value, Mapping) and key in value:
                value = value[key]
            elif isinstance(value, list) and key.isascii() and key.isdigit() and int(key) < len(value):
                value = value[int(key)]
            else:
                raise self.error(ref, "leads nowhere")
        return value

    def error(self, ref: str, problem: str) -> InputError:
        """Return an error about a reference."""
        return InputError(self._source.shown, f"$ref {shown(ref)} {problem}")

    def _document(self, file: str, ref: str) -> Any:
        if file not in self._documents:
            if len(self._documents) >= MOST_FILES:
                raise self.error(ref, f"is one file too many: expected at most {MOST_FILES}")
            self._documents[file] = _rebased(read_data(self._beside(file, ref)), file)
        return self._documents[file]

    def _beside(self, file: str, ref: str) -> Source:
        """Return the source of another file, which must be in the document's folder or below it."""
        if self._source.is_url:
            url = urljoin(self._source.location, file)
            here, there = urlsplit(self._source.location), urlsplit(url)
            folder = posixpath.dirname(here.path) + "/"
            path = posixpath.normpath(unquote(there.path))
            inside = path.startswith(posixpath.normpath(unquote(folder)).rstrip("/") + "/")
            if (there.scheme, there.netloc) != (here.scheme, here.netloc) or not inside:
                raise self.error(ref, "leads out of the document's folder")
            return Source(url, True)
        folder_path = Path(self._source.location).parent
        if "://" in ref or os.path.isabs(file) or "\0" in file:
            raise self.error(ref, "leads out of the document's folder")
        try:
            inside = (folder_path / file).resolve().is_relative_to(folder_path.resolve())
        except (OSError, RuntimeError):
            raise self.error(ref, "leads nowhere") from None
        if not inside:
            raise self.error(ref, "leads out of the document's folder")
        return Source(str(folder_path / file))


def _rebased(value: Any, file: str) -> Any:
    """Return a copy whose references are relative to the first document instead of to `file`."""
    if isinstance(value, list):
        return [_rebased(each, file) for each in value]
    if not isinstance(value, dict):
        return value
    copy = {key: _rebased(each, file) for key, each in value.items()}
    if isinstance(value.get("$ref"), str):
        copy["$ref"] = _joined(file, value["$ref"])
    match value.get("discriminator"):
        case {"mapping": dict(mapping)}:
            refs = {
                key: _joined(file, ref) if isinstance(ref, str) and _is_ref(ref) else ref
                for key, ref in mapping.items()
            }
            copy["discriminator"] = {**copy["discriminator"], "mapping": refs}
    return copy


def _is_ref(text: str) -> bool:
    """Return whether an entry of a discriminator's mapping is a reference, not the name of a schema."""
    return any(mark in text for mark in "#/.")


def _joined(file: str, ref: str) -> str:
    target, pointer = urldefrag(ref)
    if not target:
        return f"{file}#{pointer}"
    if "://" in target or target.startswith("/"):
        return ref
    if "://" in file:
        return f"{urljoin(file, target)}#{pointer}"
    return f"{posixpath.normpath(posixpath.join(posixpath.dirname(file), target))}#{pointer}"
