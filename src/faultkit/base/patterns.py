"""Regular expressions that match in linear time, and ones that are compiled when they are first used.

Linear time is for patterns or texts that come from outside.

Python's `re` backtracks: a pattern such as `^(a+)+$` can take hours on forty characters, and no signal ends
it. RE2 does not. It has no lookaround and no backreferences; a pattern with one is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, AnyStr, cast

if TYPE_CHECKING:
    import re


class LinearPattern:
    """A compiled pattern of RE2."""

    __slots__ = ("_compiled", "pattern")

    def __init__(self, pattern: str) -> None:
        """Compile a pattern. Raises ValueError if it is wrong, or if RE2 does not support it."""
        self.pattern = pattern
        self._compiled = _compile(pattern)

    def found_in(self, text: str) -> bool:
        """Return whether the pattern matches anywhere in a text."""
        return self._compiled.search(_without_surrogates(text)) is not None

    def found_in_utf8(self, text: bytes) -> bool:
        """Return whether the pattern matches anywhere in an encoded text: faster than decoding it."""
        return utf8_finder(self.pattern)(text)

    def groups_of(self, text: str) -> tuple[str, ...] | None:
        """Return what the groups match where the pattern first matches in a text; None if it does not."""
        found = self._compiled.search(_without_surrogates(text))
        return None if found is None else tuple(each or "" for each in found.groups())

    def check_template(self, template: str) -> None:
        """Raise ValueError for a template of `next_in` with a group that the pattern does not have."""
        import re

        groups = self._compiled.groups
        for number, name in re.findall(r"\\(?:(\d+)|g<([^>]*)>)", template):
            wanted = number or name
            known = int(wanted) <= groups if wanted.isdigit() else wanted in self._compiled.groupindex
            if not known:
                raise ValueError(f"the pattern has no group {wanted}")

    def next_in(self, text: str, start: int, template: str) -> tuple[int, int, str] | None:
        r"""Return begin, end and replacement of the first match from `start` on that is not empty; None if
        there is none. The template may use groups, as `\1` or `\g<name>`."""
        text = _without_surrogates(text)
        found = self._compiled.search(text, start)
        while found is not None and found.end() == found.start():
            found = self._compiled.search(text, found.end() + 1) if found.end() < len(text) else None
        return None if found is None else (found.start(), found.end(), _expanded(template, found))


def lazy_regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what `re.compile` returns, without the time that it takes until the pattern is first used.

    For the patterns of modules of which a run of the program needs few."""
    return cast("re.Pattern[AnyStr]", _LazyRegex(pattern, flags))


class _LazyRegex:
    """Takes each attribute from the compiled pattern when it is first asked for."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._arguments: tuple[Any, int] = pattern, flags

    @cached_property
    def _compiled(self) -> re.Pattern[Any]:
        import re

        return re.compile(*self._arguments)

    def __getattr__(self, name: str) -> Any:
        # Kept, so that later uses find it as an attribute of this object.
        found = self.__dict__[name] = getattr(self._compiled, name)
        return found


def _expanded(template: str, found: Any) -> str:
    """Return a template with the groups of a match. `expand` of RE2 takes characters beyond ASCII for
    bytes."""
    import re

    def put(escape: re.Match[str]) -> str:
        number, name, other = escape.groups()
        if other is not None:
            return _ESCAPES.get(other, f"\\{other}")
        group = number or name
        return found[int(group) if group.isdigit() else group] or ""

    return re.sub(r"\\(?:(\d{1,2})|g<([^>]*)>|(.))", put, template, flags=re.DOTALL)


_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}


def _without_surrogates(text: str) -> str:
    """Return a text for RE2, which works on UTF-8: that has no lone surrogates."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


@lru_cache(maxsize=1024)
def utf8_finder(pattern: str) -> Callable[[bytes], bool]:
    """Return a function that says whether the pattern, which RE2 must support, matches anywhere in a text.

    It asks RE2 itself where it can: `search` of the package for Python makes a generator and a match, which
    takes as long as to look through some kilobytes. Without groups, a match is found in one pass."""
    import re2

    without_groups = re2.Options()
    without_groups.log_errors = False
    without_groups.never_capture = True
    compiled: Any = re2.compile(pattern, without_groups)
    try:
        match, anywhere = compiled._regexp.Match, re2._Anchor.UNANCHORED
        match(anywhere, b"", 0, 0)[0][0]
    except (AttributeError, TypeError, LookupError):
        return lambda text: compiled.search(text) is not None
    return lambda text: match(anywhere, text, 0, len(text))[0][0] >= 0


@lru_cache(maxsize=1024)
def _compile(pattern: str) -> Any:
    # Imported late: few files have patterns, and a stdio client waits for every import.
    import re2

    quiet = re2.Options()
    quiet.log_errors = False
    try:
        return re2.compile(pattern, quiet)
    except re2.error as error:
        why = error.args[0]
        text = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
    except UnicodeError:
        text = "it has characters that are no text"
    raise ValueError(f"{text} (the syntax is that of RE2, without lookaround and backreferences)")
