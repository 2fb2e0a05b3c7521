"""The lines of a working tree that changed since a git ref: `git` is asked once for each repository.

A ref means the commit at which the current branch left it, so that what others have added to it since does
not count. Files that git does not know yet are new as a whole. A renamed file has the lines that changed in
it.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from faultkit.base.errors import InputError, RunError, TargetError
from faultkit.base.patterns import lazy_regex
from faultkit.base.text import printable_line, shortened
from faultkit.code.source_files import repository_of

_HUNK = lazy_regex(rb"@@ -\S+ \+(\d+)(?:,(\d+))? @@")
_FILE = lazy_regex(rb'\+\+\+ (?:b/([^\n]*?)\t?|"b/(.*)")\r?$')
_ESCAPE = lazy_regex(rb'\\([0-7]{3}|[abtnvfr"\\])')
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_PATIENCE_S = 120


@dataclass(frozen=True, slots=True)
class ChangedLines:
    """Changed lines by absolute path, with links resolved."""

    lines: Mapping[str, frozenset[int]] = field(default_factory=dict)
    new: frozenset[str] = frozenset()
    """Files that git does not know yet."""

    def has_file(self, path: str) -> bool:
        """Return whether something of a file changed."""
        real = os.path.realpath(path)
        return real in self.lines or real in self.new

    def touch(self, path: str, first: int, last: int) -> bool:
        """Return whether one of these lines of a file changed."""
        real = os.path.realpath(path)
        return real in self.new or any(first <= line <= last for line in self.lines.get(real, ()))


def changed_lines(ref: str, paths: list[str]) -> ChangedLines:
    """Return what changed since a ref in the repositories of some paths. Raises InputError outside of git."""
    lines: dict[str, frozenset[int]] = {}
    new: set[str] = set()
    for top in dict.fromkeys(_repository(path) for path in paths):
        commit = _commit(ref, top)
        lines |= {os.path.join(top, name): found for name, found in _diff(commit, top).items()}
        listed = _git(top, "ls-files", "--others", "--exclude-standard", "-z")
        new |= {os.path.join(top, os.fsdecode(name)) for name in listed.split(b"\0") if name}
    return ChangedLines(lines, frozenset(new))


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


def _diff(commit: str, top: str) -> dict[str, frozenset[int]]:
    options = (
        "--unified=0",
        "--find-renames",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--ignore-submodules",
    )
    written = _git(top, "diff", *options, "--src-prefix=a/", "--dst-prefix=b/", "--no-relative", commit, "--")
    return parse_diff(written)


def parse_diff(written: bytes) -> dict[str, frozenset[int]]:
    """Return the new and changed lines of each file of a diff without context."""
    found: dict[str, set[int]] = {}
    name: str | None = None
    left = 0
    for line in written.split(b"\n"):
        if left > 0 and line[:1] in (b"+", b"\\"):
            # Inside a hunk, a line may look like a header.
            left -= line[:1] == b"+"
        elif (hunk := _HUNK.match(line)) and name is not None:
            start, count = int(hunk[1]), int(hunk[2] or 1)
            found.setdefault(name, set()).update(range(start, start + count))
            left = count
        elif header := _FILE.match(line):
            plain = header[1] if header[1] is not None else _ESCAPE.sub(_unescaped, header[2])
            name = os.fsdecode(plain)
        elif line.startswith(b"+++ /dev/null"):
            name = None
    return {each: frozenset(lines) for each, lines in found.items()}


def _unescaped(found: re.Match[bytes]) -> bytes:
    code = found[1]
    return bytes([int(code, 8)]) if len(code) == 3 else _ESCAPED.get(code, code)


def _git(top: str, *words: str) -> bytes:
    done = _run(top, *words)
    if done.returncode:
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
