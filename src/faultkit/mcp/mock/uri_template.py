"""URI templates of resources: parsed once, and matched with the URIs that clients read. Pure.

Of RFC 6570, templates have simple expansion, `{id}` (§3.2.2), and reserved expansion, `{+path}` (§3.2.3). A
simple variable stands for a text without the characters that separate parts of a URI, a reserved one for any
text; neither is empty. Values are percent-decoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from faultkit.base.documents.checks import shown
from faultkit.base.patterns import LinearPattern

_SIMPLE = "([^/?#,&]+)"
_RESERVED = "(.+)"
_EXPRESSION = re.compile(r"\{(\+?)([A-Za-z_]\w*)\}", re.ASCII)


@dataclass(frozen=True, slots=True)
class UriTemplate:
    """A template and what it consists of."""

    text: str
    names: tuple[str, ...]
    """Names of its variables, in order."""
    prefix: str
    """Text before the first variable."""
    pattern: str

    def values(self, uri: str) -> dict[str, str] | None:
        """Return the values of the variables for which the template gives this URI; None if none do."""
        if not uri.startswith(self.prefix):
            return None
        found = LinearPattern(self.pattern).groups_of(uri)
        if found is None:
            return None
        return {name: unquote(value) for name, value in zip(self.names, found, strict=True)}


def parse_template(text: str) -> UriTemplate:
    """Parse a template. Raises ValueError with what was expected."""
    names, pattern, at = [], "", 0
    for begin, end, is_reserved, name in _expressions(text):
        if name in names:
            raise ValueError(f"expected each variable once, got {{{name}}} twice")
        names.append(name)
        pattern += re.escape(text[at:begin]) + (_RESERVED if is_reserved else _SIMPLE)
        at = end
    if not names:
        raise ValueError(f"expected a template with a variable such as {{id}}, got {shown(text)}")
    pattern += re.escape(text[at:])
    return UriTemplate(text, tuple(names), text[: text.index("{")], f"^(?s:{pattern})$")


def _expressions(text: str) -> Iterator[tuple[int, int, bool, str]]:
    """Yield begin, end, whether it is reserved, and name of each variable."""
    at = 0
    while (begin := min(_places(text, at), default=-1)) >= 0:
        match = _EXPRESSION.match(text, begin)
        if match is None:
            wrong = text[begin : text.find("}", begin) + 1] or text[begin:]
            raise ValueError(f"expected variables such as {{id}} or {{+path}}, got {shown(wrong)}")
        yield match.start(), match.end(), bool(match[1]), match[2]
        at = match.end()


def _places(text: str, at: int) -> list[int]:
    return [place for place in (text.find("{", at), text.find("}", at)) if place >= 0]
