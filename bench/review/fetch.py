"""Fetch the pinned projects from PyPI, npm and Debian, check their SHA-256, and unpack their text files."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from bench.registries import archive_of
from bench.review.projects import Project, halves_of, read_projects
from faultkit.base.errors import RunError

LARGEST_FILE = 5_000_000
_AR_MAGIC = b"!<arch>\n"
_AR_HEADER = 60


def cache_folder() -> Path:
    """Return the folder of the corpus: `$FAULT_REVIEW_CORPUS`, else one in the user's cache."""
    chosen = os.environ.get("FAULT_REVIEW_CORPUS")
    return Path(chosen) if chosen else Path.home() / ".cache" / "faultkit-review-corpus"


def fetch(corpus: Path, half: str | None = None) -> Iterator[tuple[Project, Path, int]]:
    """Unpack each project that is not yet there; yield it with its folder and the number of its files."""
    projects = read_projects()
    halves = halves_of(projects)
    for project in projects:
        if half in (None, halves[project.name]):
            folder = corpus / halves[project.name] / project.folder
            if not folder.is_dir():
                _unpack(_archive(project, corpus / "archives"), folder, project)
            yield project, folder, sum(1 for path in folder.rglob("*") if path.is_file())


def _archive(project: Project, kept: Path) -> bytes:
    return archive_of(project.source, project.name, project.version, project.sha256, kept, project.archive)


def _unpack(content: bytes, folder: Path, project: Project) -> None:
    """Write the archive's regular files below its single top folder; all of them or none."""
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    if content.startswith(_AR_MAGIC):
        content = _member_of_ar(content, "data.tar")
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        members = archive.getmembers()
        one_top = len({PurePosixPath(each.name).parts[:1] for each in members if each.isreg()}) == 1
        for member in members:
            path = PurePosixPath(*PurePosixPath(member.name).parts[one_top:])
            if not member.isreg() or member.size > LARGEST_FILE or ".." in path.parts or path.is_absolute():
                continue
            if project.only and not path.is_relative_to(project.only):
                continue
            data = archive.extractfile(member)
            assert data is not None
            content_of_file = data.read()
            if b"\0" not in content_of_file[:8000]:
                target = part / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content_of_file)
    if not part.is_dir():
        raise RunError(
            f"{project.name} {project.version}: nothing of {project.only or 'it'} is in {project.archive}"
        )
    part.rename(folder)


def _member_of_ar(content: bytes, name: str) -> bytes:
    """Return the first member of a `.deb` whose name starts with this one."""
    place = len(_AR_MAGIC)
    while place + _AR_HEADER <= len(content):
        header = content[place : place + _AR_HEADER]
        size = int(header[48:58])
        place += _AR_HEADER
        if header[:16].decode("ascii").startswith(name):
            return content[place : place + size]
        place += size + size % 2
    raise RunError(f"expected a .deb with {name}, got one without")
