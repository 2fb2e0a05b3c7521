"""Archives of pinned packages, from the registries that pip, npm and apt of this machine use."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import urllib.parse
import urllib.request
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from faultkit.base.errors import RunError, TargetError

Source: TypeAlias = Literal["pypi", "npm", "debian"]
_TIMEOUT_S = 180
_COMMANDS: dict[Source, tuple[tuple[str, ...], ...]] = {
    "pypi": (
        (sys.executable, "-m", "pip", "config", "get", "global.index-url"),
        # Without a setting pip uses its own default, which no command prints.
        (sys.executable, "-c", "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"),
    ),
    "npm": (("npm", "config", "get", "registry"),),
    "debian": (("apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages"),),
}
"""Commands that print the registry; the first that does counts."""


def archive_of(source: Source, name: str, version: str, sha256: str, store: Path, archive: str) -> bytes:
    """Return an archive with the pinned hash, from the store or from the registry.

    archive: the name of the file; for Debian its path on the mirror. Raises RunError and TargetError."""
    path = store / sha256
    is_stored = path.exists()
    content = path.read_bytes() if is_stored else _fetched(_address(source, name, archive))
    came = hashlib.sha256(content).hexdigest()
    if came != sha256:
        raise RunError(f"{name} {version}: expected SHA-256 {sha256}, got {came}")
    if not is_stored:
        store.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return content


def _address(source: Source, name: str, archive: str) -> str:
    registry = registry_of(source)
    if source == "npm":
        return f"{registry}{name}/-/{archive}"
    if source == "debian":
        return registry + urllib.parse.quote(archive)
    page = f"{registry}{name}/"
    links: list[str] = re.findall(r'href="([^"#]+)', _fetched(page).decode())
    for link in links:
        if _normal(link.rpartition("/")[2]) == _normal(archive):
            return urllib.parse.urljoin(page, link)
    raise RunError(f"{name}: the index of Python packages has no file {archive}")


def _normal(file: str) -> str:
    """Return the name of a file as PEP 503 compares names: `Python_GitLab` is `python-gitlab`."""
    return re.sub(r"[-_.]+", "-", file).lower()


@cache
def registry_of(source: Source) -> str:
    """Return the address of a registry, with a slash at its end. Raises TargetError."""
    if source == "pypi" and (given := os.environ.get("PIP_INDEX_URL")):
        return given.rstrip("/") + "/"
    for command in _COMMANDS[source]:
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
        except OSError:
            continue
        if done.returncode == 0 and done.stdout.strip():
            return done.stdout.split()[0].rstrip("/") + "/"
    raise TargetError(f"no registry: `{_COMMANDS[source][0][0]}` names none for {source}")


def _fetched(address: str) -> bytes:
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT_S) as answer:
            content: bytes = answer.read()
            return content
    except OSError as error:
        raise TargetError(f"{address} cannot be fetched: {error}") from error
