"""Which files are copies of other projects, by the origins that their first comments name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.review.file_head import FileHead, leading_comment
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_ORIGIN = lazy_regex(
    r"(?:\b(?:source|copied|taken|vendored|forked|modified|imported|borrowed)\b[^\n]{0,60}?|\blicense:?\s*|\bsee:?\s*)"
    r"https?://(?:www\.)?(?:github|gitlab|bitbucket)\.(?:com|org)/([\w.-]+/[\w.-]+)"
    r"(?!/(?:issues|pull|discussions|wiki)\b)(?![\w.-])",
    re.IGNORECASE,
)
_COPY = lazy_regex(
    r"\bthis (?:file|code|class|module) (?:is|was) (?:a (?:\w+ ){0,2}(?:copy|fork) of"
    r"|(?:\w+ )?(?:copied|forked|vendored) from)\b|^\W*vendored from\b|\btemporary (?:copy|fork)\b",
    re.IGNORECASE | re.MULTILINE,
)
"""What the first comment of a copy says, wherever the file is."""
_MAY_BE_COPY = TextPattern(
    r"(?:copied|forked|endored) from|emporary (?:copy|fork)|(?:file|code|class|module) is a"
)
"""It matches in nearly each text that `_COPY` matches, and is found faster."""
_LIBRARY = lazy_regex(
    r"\b(?:distributed|licensed|released|available) under (?:an? |the )?(?:terms of the )?(?:MIT|BSD)\b"
    r"|\bMIT licen[sc]ed?\b|@licen[sc]e\b",
    re.IGNORECASE,
)
"""What the first comment of a library says that a page loads, beside the address of its project."""
_PAGES = lazy_regex(r"(?:^|/)(?:static|public|assets|wwwroot|webroot|resources)/(?:.+/)?[^/]+\.js$")
_LICENSE = lazy_regex(r"@license\b[^\n]*\(c\)", re.IGNORECASE)
_COPIES = lazy_regex(r"(?:^|/)(?:libs?|externals?|ext|deps|contrib)/")
_FOLDER = lazy_regex(r"((?:.*/)?(?:libs?|externals?|ext|deps))/([^/]+)/")
_FIRST_BYTES = 1000
_LEAST_ORIGINS = 4
_LEAST_SHARE = 0.2
"""Of the folders in `libs`: not each copy names its origin."""
_MOST_READ = 100


def is_copy(head: FileHead) -> bool:
    """Return whether a file says that it is a copy, or is in a folder of libraries or of a page and names the
    project that it comes from, or its licence."""
    is_among_copies = _COPIES.search(head.path) is not None
    is_on_page = _PAGES.search(head.path) is not None
    may_say = is_among_copies or is_on_page or _MAY_BE_COPY.is_in(head.text)
    comment = "\n".join(text for _, text in leading_comment(head.text)) if may_say else ""
    if _COPY.search(comment) or (is_on_page and "http" in comment and _LIBRARY.search(comment)):
        return True
    if not is_among_copies:
        return False
    return _ORIGIN.search(comment) is not None or _LICENSE.search(comment) is not None


def folders_of_copies(files: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the folders, each with a `/` at its end, whose folders come from several other projects.

    A file is a pair of its path in the project and its path to open. Few of them are read."""
    folders: defaultdict[str, dict[str, list[tuple[str, str]]]] = defaultdict(dict)
    for relative, path in files:
        if found := _FOLDER.match(relative):
            folders[found[1]].setdefault(found[2], []).append((relative, path))
    return tuple(
        f"{folder}/"
        for folder, inner in folders.items()
        if len(inner) >= _LEAST_ORIGINS and _is_of_others(inner)
    )


def _is_of_others(inner: dict[str, list[tuple[str, str]]]) -> bool:
    origins = [
        set(_origins(path for _, path in sorted(files)[:3])) for files in list(inner.values())[:_MOST_READ]
    ]
    named = sum(map(bool, origins))
    return len(set().union(*origins)) >= _LEAST_ORIGINS and named >= _LEAST_SHARE * len(origins)


def _origins(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        try:
            with open(path, "rb") as opened:
                text = opened.read(_FIRST_BYTES).decode("utf-8", "replace")
        except OSError:
            continue
        comment = "\n".join(line for _, line in leading_comment(text))
        yield from (each.lower() for each in _ORIGIN.findall(comment))
