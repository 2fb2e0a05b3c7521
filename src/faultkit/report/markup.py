"""HTML and SVG elements as text. Everything that is not `Markup` is escaped.

All elements of HTML reports are made by `element`, so that no text reaches a page unescaped by mistake. Own
code instead of a template engine: it is small, typed, and escapes by construction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import TypeAlias

_VOID = {"br", "link", "meta", "wbr"}
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Markup(str):
    """Text that is HTML already and is not escaped again."""

    __slots__ = ()


Child: TypeAlias = str | None
"""`Markup` is kept, other text is escaped, None is left out."""

Attribute: TypeAlias = str | float | bool | None
"""True gives an attribute without a value; False and None are left out."""


def escaped(text: str) -> Markup:
    """Return the text escaped, with U+FFFD in place of characters that a page must not hold."""
    return Markup(escape(_UNPRINTABLE.sub("\ufffd", text)))


def join_markup(children: Iterable[Child]) -> Markup:
    """Return the children as one piece of markup."""
    return Markup(
        "".join(
            child if isinstance(child, Markup) else escaped(child) for child in children if child is not None
        )
    )


def element(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """Return an element. `class_` gives the attribute `class`, and `text_anchor` gives `text-anchor`."""
    head = name + "".join(
        _attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items()
    )
    return Markup(f"<{head}>" if name in _VOID else f"<{head}>{join_markup(children)}</{name}>")


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    return f' {name}="{escaped(value) if isinstance(value, str) else number(value)}"'


def number(value: float) -> str:
    """Return a coordinate with at most two decimals."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def percent(share: float) -> str:
    """Return a share as a percentage, as SVG and CSS write it."""
    return f"{number(100 * share)}%"
