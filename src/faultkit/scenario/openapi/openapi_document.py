"""An OpenAPI document as plain data: reading it from a file or a URL, and following its references (`$ref`).

The only module of this package that reads files and uses the network. It does not interpret the document.

References may lead into other files of the document's folder. The references in a value from another file are
rewritten, so that all of them are relative to the first document. Own code instead of the library
`referencing`: its pointers do not lead through another `$ref` and do not find a key with an encoded slash
(`#/paths/%2Fpets`), and its resolvers would have to accompany every value, which merged schemas of several
files do not allow.
"""

from __future__ import annotations

import http.client
import json
import math
import os
import posixpath
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import yaml

from faultkit.base.documents.checks import shown
from faultkit.base.documents.yaml_loader import YamlLoader, problem_of, read_tolerantly
from faultkit.base.errors import InputError, TargetError
from faultkit.base.text import with_utf8

MOST_BYTES = 32 * 1024 * 1024
MOST_VALUES = 4_000_000
"""A limit of its own, because a YAML file of a few lines can stand for billions of values through aliases."""
DEEPEST = 200
TIMEOUT_S = 20.0

_VERSION = re.compile(r"3\.(\d{1,3})(\.\d{1,5})?(-[\w.-]+)?", re.ASCII)
_ACCEPT = "application/json, application/yaml, */*;q=0.5"


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """The place of a document: a file or a URL."""

    location: str
    """A path, or an http(s) URL."""
    is_url: bool = False

    @property
    def shown(self) -> str:
        """The source for messages, without passwords and tokens of a URL."""
        if not self.is_url:
            return self.location
        # Without urlsplit, because wrong URLs are shown too.
        scheme, marks, rest = self.location.partition("//")
        host, slash, path = re.split(r"[?#]", rest)[0].partition("/")
        return f"{scheme}{marks}{host.rpartition('@')[2]}{slash}{path}"


@dataclass(frozen=True, slots=True)
class OpenApiDocument:
    """An OpenAPI document with a supported version."""

    source: DocumentSource
    document: dict[str, Any]
    minor: int
    """0 or 1, for OpenAPI 3.0 or 3.1: they differ in keys beside `$ref`, `nullable` and exclusive bounds."""

    @property
    def title(self) -> str:
        """The title of the API; empty if the document has none."""
        info = self.document.get("info")
        title = info.get("title") if isinstance(info, dict) else None
        return title if isinstance(title, str) else ""


def source_of(text: str) -> DocumentSource:
    """Return the source of a text: a URL if it looks like one, else a path."""
    return DocumentSource(text, text.lower().startswith(("http://", "https://")))


def read_openapi(source: DocumentSource, timeout_s: float = TIMEOUT_S) -> OpenApiDocument:
    """Return the document of a source. Raises InputError if it is not an OpenAPI 3.x document."""
    document = read_data(source, timeout_s)
    if not isinstance(document, dict):
        raise InputError(source.shown, f"expected an OpenAPI 3.x document, got {shown(document)}")
    return OpenApiDocument(source, document, _minor(document, source))


def read_data(source: DocumentSource, timeout_s: float = TIMEOUT_S) -> Any:
    """Return the data of a file or a URL, as JSON has it."""
    raw = _fetch(source, timeout_s) if source.is_url else _read(source)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"expected UTF-8 text, got byte {raw[error.start]:#04x}"
        raise InputError(source.shown, problem) from None
    return _plain(_parse(text, source), source)


def _minor(document: dict[str, Any], source: DocumentSource) -> int:
    if "swagger" in document:
        problem = f"expected OpenAPI 3.x, got Swagger {document['swagger']}: convert it to OpenAPI 3 first"
        raise InputError(source.shown, problem)
    version = document.get("openapi")
    # An unquoted `openapi: 3.1` is a number to YAML.
    match = _VERSION.fullmatch(str(version)) if isinstance(version, str | float) else None
    if match is None:
        got = f"version {shown(version)}" if "openapi" in document else 'no key "openapi"'
        raise InputError(source.shown, f"expected an OpenAPI 3.x document, got {got}")
    return int(match[1])


def _read(source: DocumentSource) -> bytes:
    try:
        with Path(source.location).open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(source.shown, f"cannot be read: {reason}") from None
    except ValueError as error:  # A path with a zero byte.
        raise InputError(source.shown, f"cannot be read: {error}") from None
    return _within_limit(raw, source)


def _within_limit(raw: bytes, source: DocumentSource) -> bytes:
    if len(raw) > MOST_BYTES:
        raise InputError(source.shown, f"expected at most {MOST_BYTES // 1024 // 1024} MiB, got more")
    return raw


class _HttpOnlyRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http and https only: `file:` and `ftp:` would read what the user did not name."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if not newurl.lower().startswith(("http://", "https://")):
            raise urllib.error.HTTPError(req.full_url, code, "redirected away from http", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _fetch(source: DocumentSource, timeout_s: float) -> bytes:
    try:
        request = urllib.request.Request(source.location, headers={"Accept": _ACCEPT})
        if request.type not in ("http", "https") or not request.host:
            raise ValueError("no host")
        with urllib.request.build_opener(_HttpOnlyRedirects).open(request, timeout=timeout_s) as answer:
            raw: bytes = answer.read(MOST_BYTES + 1)
    except urllib.error.HTTPError as error:
        with error:
            raise TargetError(f"{source.shown}: answered {error.code} {error.reason}") from None
    except TimeoutError:
        raise TargetError(f"{source.shown}: no answer within {timeout_s:g} s") from None
    except (ValueError, http.client.InvalidURL):
        raise InputError(source.shown, "expected an http or https URL") from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise TargetError(f"{source.shown}: no answer within {timeout_s:g} s") from None
        raise TargetError(f"{source.shown}: cannot be reached: {_reason(error.reason)}") from None
    except (OSError, http.client.HTTPException) as error:
        raise TargetError(f"{source.shown}: cannot be reached: {_reason(error)}") from None
    return _within_limit(raw, source)


def _reason(error: object) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return (text or type(error).__name__).lower()


class _Loader(YamlLoader):
    """YAML as OpenAPI means it: dates stay text."""

    yaml_implicit_resolvers = {  # noqa: RUF012 (the name and the kind of the base)
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in YamlLoader.yaml_implicit_resolvers.items()
    }


# PyYAML wants a dot and a sign in 1.0e+3; JSON writes 1e3.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+\Z"), list("-+0123456789")
)


def _parse(text: str, source: DocumentSource) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return read_tolerantly(text, lambda readable: _Loader(readable).get_single_data())
    except yaml.MarkedYAMLError as error:
        problem = f"expected JSON or YAML, got {problem_of(error, text)}"
        raise InputError(source.shown, problem) from None
    except yaml.YAMLError as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(source.shown, f"expected JSON or YAML, got {reason}") from None
    except RecursionError:
        raise InputError(source.shown, f"expected at most {DEEPEST} levels, got more") from None


def _plain(document: object, source: DocumentSource) -> Any:
    """Return a copy without aliases, with keys as text (`200:` is a number in YAML), without infinities and
    without halves of surrogate pairs, which JSON can write and no request can carry."""
    left = MOST_VALUES

    def copy(value: Any, depth: int) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise InputError(source.shown, f"expected at most {MOST_VALUES} values, got more")
        if depth > DEEPEST:
            raise InputError(source.shown, f"expected at most {DEEPEST} levels, got more")
        if isinstance(value, dict):
            return {_key(key): copy(each, depth + 1) for key, each in value.items()}
        if isinstance(value, list | tuple | set):
            return [copy(each, depth + 1) for each in value]
        if isinstance(value, bytes):
            return value.decode("latin-1")
        if isinstance(value, str):
            return with_utf8(value)
        if isinstance(value, float) and not math.isfinite(value):
            return None
        return value

    return copy(document, 0)


def _key(key: object) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return "null" if key is None else with_utf8(str(key))


# References


MOST_FILES = 500
"""The most files that the references of one document may lead to."""


class ReferenceResolver:
    """Finds the values that the references in one document lead to."""

    def __init__(self, document: OpenApiDocument) -> None:
        self.minor = document.minor
        self._source = document.source
        self._documents: dict[str, Any] = {"": document.document}
        self._resolving: set[str] = set()

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
        if ref in self._resolving:  # The pointer leads through itself.
            raise self.error(ref, "leads back to itself")
        self._resolving.add(ref)
        try:
            return self._at(ref)
        finally:
            self._resolving.discard(ref)

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
            self._documents[file] = _rebase_refs(read_data(self._beside(file, ref)), file)
        return self._documents[file]

    def _beside(self, file: str, ref: str) -> DocumentSource:
        """Return the source of another file, which must be in the document's folder or below it."""
        if self._source.is_url:
            url = urljoin(self._source.location, file)
            here, there = urlsplit(self._source.location), urlsplit(url)
            folder = posixpath.dirname(here.path) + "/"
            path = posixpath.normpath(unquote(there.path))
            inside = path.startswith(posixpath.normpath(unquote(folder)).rstrip("/") + "/")
            if (there.scheme, there.netloc) != (here.scheme, here.netloc) or not inside:
                raise self.error(ref, "leads out of the document's folder")
            return DocumentSource(url, True)
        folder_path = Path(self._source.location).parent
        if "://" in ref or os.path.isabs(file) or "\0" in file:
            raise self.error(ref, "leads out of the document's folder")
        try:
            inside = (folder_path / file).resolve().is_relative_to(folder_path.resolve())
        except (OSError, RuntimeError):
            raise self.error(ref, "leads nowhere") from None
        if not inside:
            raise self.error(ref, "leads out of the document's folder")
        return DocumentSource(str(folder_path / file))


def _rebase_refs(value: Any, file: str) -> Any:
    """Return a copy whose references are relative to the first document instead of to `file`."""
    if isinstance(value, list):
        return [_rebase_refs(each, file) for each in value]
    if not isinstance(value, dict):
        return value
    copy = {key: _rebase_refs(each, file) for key, each in value.items()}
    if isinstance(value.get("$ref"), str):
        copy["$ref"] = _join_ref(file, value["$ref"])
    match value.get("discriminator"):
        case {"mapping": dict(mapping)}:
            refs = {
                # An entry without these marks is the name of a schema, not a reference.
                key: _join_ref(file, ref) if isinstance(ref, str) and any(c in ref for c in "#/.") else ref
                for key, ref in mapping.items()
            }
            copy["discriminator"] = {**copy["discriminator"], "mapping": refs}
    return copy


def _join_ref(file: str, ref: str) -> str:
    target, pointer = urldefrag(ref)
    if not target:
        return f"{file}#{pointer}"
    if "://" in target or target.startswith("/"):
        return ref
    if "://" in file:
        return f"{urljoin(file, target)}#{pointer}"
    return f"{posixpath.normpath(posixpath.join(posixpath.dirname(file), target))}#{pointer}"
