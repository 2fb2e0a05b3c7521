"""HTML and SVG elements as text that cannot be broken out of: whatever is not `Markup` is escaped.

Knows no report. Every element of the HTML report is made by `element`, so nothing reaches a page
unescaped by mistake.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import TypeAlias

_VOID = {"br", "link", "meta", "wbr"}
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Child: TypeAlias = str | None
"""A `Markup` stands as it is, other text is escaped, None is left out."""

Attribute: TypeAlias = str | float | bool | None
"""True stands alone, False and None are left out."""


def safe(text: str) -> Markup:
    """The text escaped, with a mark in place of what no page may hold."""
    return Markup(escape(_UNPRINTABLE.sub("\ufffd", text)))


def joined(children: Iterable[Child]) -> Markup:
    return Markup(
        "".join(
            child if isinstance(child, Markup) else safe(child) for child in children if child is not None
        )
    )


def element(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """`class_` gives `class`, and `text_anchor` gives `text-anchor`."""
    head = name + "".join(
        _attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items()
    )
    return Markup(f"<{head}>" if name in _VOID else f"<{head}>{joined(children)}</{name}>")


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    return f' {name}="{safe(value) if isinstance(value, str) else number(value)}"'


def number(value: float) -> str:
    """As short as a hundredth allows: coordinates need no more."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def percent(share: float) -> str:
    """A share of the width, as SVG and CSS write it."""
    return f"{number(100 * share)}%"
