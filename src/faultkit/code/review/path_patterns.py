"""Patterns of paths as in a `.gitignore`, relative to the folder of a configuration file or of a command."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError
from faultkit.base.text import with_utf8

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


@dataclass(frozen=True, slots=True)
class PathPatterns:
    """Patterns, and the folder that they are relative to."""

    base: str
    spec: GitIgnoreSpec

    def match(self, path: str, relative: str) -> bool:
        """Return whether a file matches; for one that is not in `base`, its path in its project counts."""
        if not self.spec.patterns:
            return False
        folder, name = os.path.split(os.path.abspath(path))
        inside = os.path.join(_relative_folder(folder, self.base), name)
        return self.spec.match_file(with_utf8(relative if inside.startswith("../") else inside))


@lru_cache(maxsize=4096)
def _relative_folder(folder: str, base: str) -> str:
    """Return the path of a folder from another one. Links are resolved, as git does."""
    relative = os.path.relpath(os.path.realpath(folder), base).replace(os.sep, "/")
    return "" if relative == "." else relative


def path_patterns(patterns: Sequence[str], base: str) -> PathPatterns:
    """Return patterns relative to an absolute folder. Raises InputError for one that is none."""
    from pathspec import GitIgnoreSpec

    return PathPatterns(
        os.path.realpath(base), GitIgnoreSpec.from_lines([check_pattern(each) for each in patterns])
    )


def check_pattern(value: object) -> str:
    """Return a pattern; raise InputError, without a path, if it is none."""
    from pathspec import GitIgnoreSpec

    if not isinstance(value, str) or not value.strip() or "\n" in value:
        raise InputError("", f"expected a pattern such as tests/** or *_pb2.py, got {shown(value)}")
    pattern = with_utf8(value)
    try:
        GitIgnoreSpec.from_lines([pattern])
    except ValueError as error:
        raise InputError("", f"expected a pattern as in .gitignore, got {shown(value)}: {error}") from None
    return pattern
