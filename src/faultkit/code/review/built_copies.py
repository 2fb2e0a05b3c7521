"""Which JavaScript files a build wrote from others of the same project: `lib/a.js` from `src/a.ts`. Pure: it
knows paths only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from faultkit.base.patterns import lazy_regex

_OUTPUT = lazy_regex(r"((?:.*/)?)(lib|build|es|esm|cjs|out|output|commonjs|module)/(.+)\.[cm]?js$")
_SOURCE = lazy_regex(r"((?:.*/)?)(?:src|source)/(.+)\.[cm]?[jt]sx?$")
_LEAST_SHARE = 0.8
"""Of the files of a folder: two folders written by hand have a few names in common, such as index."""


def built_copies(paths: Iterable[str]) -> frozenset[str]:
    """Return the paths in folders of which nearly all files have a counterpart in `src` beside it."""
    listed = list(paths)
    sources = {found.groups() for each in listed if (found := _SOURCE.match(each))}
    if not sources:
        return frozenset()
    folders: defaultdict[tuple[str, str], list[tuple[str, bool]]] = defaultdict(list)
    for each in listed:
        if found := _OUTPUT.match(each):
            above, folder, rest = found.groups()
            folders[above, folder].append((each, (above, rest) in sources))
    return frozenset(
        path
        for files in folders.values()
        if len(files) > 1 and sum(is_copy for _, is_copy in files) >= _LEAST_SHARE * len(files)
        for path, is_copy in files
        if is_copy
    )
