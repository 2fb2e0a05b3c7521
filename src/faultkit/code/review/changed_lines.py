"""The lines of a working tree that changed since a git ref, and the texts before: `git` is asked for them.

A ref means the commit at which the current branch left it, so that what others have added to it since does
not count. Files that git does not know yet are new as a whole. A renamed file has the lines that changed in
it.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from faultkit.base.errors import InputError, RunError, TargetError
from faultkit.base.patterns import lazy_regex
from faultkit.base.text import printable_line, shortened
from faultkit.code.source_files import repository_of

_HUNK = lazy_regex(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_FILE = lazy_regex(rb'(?:---|\+\+\+) (?:[ab]/([^\n]*?)|"[ab]/(.*)"|/dev/null)\t?\r?$')
_ESCAPE = lazy_regex(rb'\\([0-7]{3}|[abtnvfr"\\])')
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_PATIENCE_S = 120
_DIFF_OPTIONS = (
    "--unified=0",
    "--inter-hunk-context=0",
    "--irreversible-delete",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    # Attributes of the repository may call a source file binary.
    "--text",
    "--ignore-submodules",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines of the old text, and those of the new text in their place.

    If there are none, the start is the line before the place."""

    old_start: int
    old_count: int
    start: int
    count: int

    def touches(self, first: int, last: int) -> bool:
        """Return whether one of these lines is new or changed, or lines between them were deleted."""
        if not self.count:
            return first <= self.start < last
        return self.start <= last and first < self.start + self.count

    def is_before(self, line: int) -> bool:
        """Return whether the place is before a line of the new text."""
        return self.start + max(self.count - 1, 0) < line


@dataclass(frozen=True, slots=True)
class FileChange:
    """How a file changed."""

    old_name: str | None
    """The path before, from the top of the repository; None if there was none."""
    hunks: tuple[Hunk, ...]

    def old_line(self, line: int) -> int:
        """Return the number that a line which did not change had before."""
        return line + sum(each.old_count - each.count for each in self.hunks if each.is_before(line))


@dataclass(frozen=True, slots=True)
class ChangedLines:
    """What changed in files, by absolute path, with links resolved."""

    changes: Mapping[str, FileChange] = field(default_factory=dict)
    new: frozenset[str] = frozenset()
    """Files that git does not know yet."""
    commits: Mapping[str, str] = field(default_factory=dict)
    """The commit that each repository is compared with, by its absolute folder."""

    def has_file(self, path: str) -> bool:
        """Return whether something of a file changed."""
        real = os.path.realpath(path)
        return real in self.changes or real in self.new

    def touch(self, path: str, first: int, last: int) -> bool:
        """Return whether one of these lines of a file changed, or lines between them were deleted."""
        real = os.path.realpath(path)
        if real in self.new:
            return True
        change = self.changes.get(real)
        return change is not None and any(each.touches(first, last) for each in change.hunks)

    def old_line(self, path: str, line: int) -> int:
        """Return the number that a line which did not change had before."""
        change = self.changes.get(os.path.realpath(path))
        return line if change is None else change.old_line(line)

    def old_source(self, path: str) -> bytes | None:
        """Return the content of a file before; None if there was none."""
        change = self.changes.get(os.path.realpath(path))
        if change is None or change.old_name is None:
            return None
        top = _repository(path)
        return _try_git(top, "cat-file", "blob", f"{self.commits[top]}:{change.old_name}")


def changed_lines(ref: str, paths: list[str]) -> ChangedLines:
    """Return what changed since a ref in the repositories of some paths. Raises InputError outside of git."""
    changes: dict[str, FileChange] = {}
    new: set[str] = set()
    commits = {top: _commit(ref, top) for top in dict.fromkeys(_repository(path) for path in paths)}
    for top, commit in commits.items():
        changes |= {os.path.join(top, name): found for name, found in _diff(commit, top).items()}
        listed = _git(top, "ls-files", "--others", "--exclude-standard", "-z")
        new |= {os.path.join(top, os.fsdecode(name)) for name in listed.split(b"\0") if name}
    return ChangedLines(changes, frozenset(new), commits)


def changed_text(ref: str, path: str, source: bytes) -> ChangedLines:
    """Return what differs between a text and the file of this name at a ref: for standard input, whatever the
    file on disk has. A name that the ref does not have is new. Raises InputError outside of git."""
    top, real = _repository(path), os.path.realpath(path)
    commits = {top: _commit(ref, top)}
    old_name = _old_name(commits[top], top, os.path.relpath(real, top))
    old = _try_git(top, "cat-file", "blob", f"{commits[top]}:{old_name}")
    if old is None:
        return ChangedLines(new=frozenset({real}), commits=commits)
    if b"\r\n" not in old:
        # What git stores may have other line ends than a working tree.
        source = source.replace(b"\r\n", b"\n")
    hunks = _hunks(top, old, source)
    return ChangedLines({real: FileChange(old_name, hunks)} if hunks else {}, commits=commits)


def _old_name(commit: str, top: str, name: str) -> str:
    """Return the name that a file had before it was renamed; its own if it was not."""
    words = ("--name-status", "-z", "--find-renames", "--diff-filter=R", "--no-relative")
    fields = _git(top, "diff", *words, commit, "--").split(b"\0")
    renamed = dict(zip(fields[2::3], fields[1::3], strict=False))
    return os.fsdecode(renamed.get(os.fsencode(name), os.fsencode(name)))


def _hunks(top: str, old: bytes, new: bytes) -> tuple[Hunk, ...]:
    """Return what differs between two texts."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, "old"), Path(folder, "new")]
        for path, content in zip(paths, (old, new), strict=True):
            path.write_bytes(content)
        words = ("diff", "--no-index", *_DIFF_OPTIONS, "--", *map(str, paths))
        # Without an index, 1 means that they differ.
        written = _git(top, *words, fine=(0, 1))
    return tuple(hunk for change in parse_diff(written).values() for hunk in change.hunks)


def _repository(path: str) -> str:
    real = Path(os.path.realpath(path))
    top = repository_of(real if real.is_dir() else real.parent)
    if top is None:
        raise InputError("--diff", f'expected files in a git repository, got "{path}", which is in none')
    return str(top)


def _commit(ref: str, top: str) -> str:
    """Return the commit at which the current branch left a ref."""
    found = (
        None
        if ref.startswith("-") or not ref.strip()
        else _try_git(top, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    )
    if found is None:
        raise InputError("--diff", f'expected a branch, tag or commit of {top}, got "{ref}"')
    commit = found.decode().strip()
    base = _try_git(top, "merge-base", commit, "HEAD")
    return commit if base is None else base.decode().strip()


def _diff(commit: str, top: str) -> dict[str, FileChange]:
    written = _git(top, "diff", *_DIFF_OPTIONS, "--find-renames", "--no-relative", commit, "--")
    return parse_diff(written)


def parse_diff(written: bytes) -> dict[str, FileChange]:
    """Return what changed in each file of a diff without context, apart from files that are gone."""
    found: dict[str, tuple[str | None, list[Hunk]]] = {}
    old_name: str | None = None
    name: str | None = None
    old_left = left = 0
    for line in written.split(b"\n"):
        # Inside a hunk, a line may look like a header.
        if old_left > 0 and line.startswith(b"-"):
            old_left -= 1
        elif left > 0 and line.startswith(b"+"):
            left -= 1
        elif hunk := _HUNK.match(line):
            old_left, left = (int(1 if each is None else each) for each in (hunk[2], hunk[4]))
            if name is not None:
                found.setdefault(name, (old_name, []))[1].append(
                    Hunk(int(hunk[1]), old_left, int(hunk[3]), left)
                )
        elif header := _FILE.match(line):
            if line.startswith(b"-"):
                old_name = _name(header)
            else:
                name = _name(header)
    return {each: FileChange(old, tuple(hunks)) for each, (old, hunks) in found.items()}


def _name(header: re.Match[bytes]) -> str | None:
    """Return the name in a header of a diff; None for no file."""
    plain = header[1] if header[2] is None else _ESCAPE.sub(_unescaped, header[2])
    return None if plain is None else os.fsdecode(plain)


def _unescaped(found: re.Match[bytes]) -> bytes:
    code = found[1]
    return bytes([int(code, 8)]) if len(code) == 3 else _ESCAPED.get(code, code)


def _git(top: str, *words: str, fine: tuple[int, ...] = (0,)) -> bytes:
    done = _run(top, *words)
    if done.returncode not in fine:
        said = shortened(printable_line(done.stderr.decode("utf-8", "replace")), 300)
        raise RunError(f"git {words[0]} failed in {top}: {said}")
    return done.stdout


def _try_git(top: str, *words: str) -> bytes | None:
    done = _run(top, *words)
    return None if done.returncode else done.stdout


def _run(top: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    # A repository may name programs in its configuration, which reading a diff must not start.
    command = ["git", "-c", "core.quotePath=false", "-c", "core.fsmonitor=false", "-C", top, *words]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_EXTERNAL_DIFF"):
        environment.pop(name, None)
    try:
        return subprocess.run(command, capture_output=True, env=environment, timeout=_PATIENCE_S)
    except FileNotFoundError:
        raise TargetError("cannot start git, which --diff needs: there is no such program") from None
    except subprocess.TimeoutExpired:
        raise RunError(f"git {words[0]} did not end within {_PATIENCE_S} s in {top}") from None
