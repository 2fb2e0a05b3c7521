"""A function as it is written in a text: its name, where it is, and what its head says."""

from __future__ import annotations

from dataclasses import dataclass

from faultkit.code.dialects.dialect import Kind
from faultkit.code.syntax import Span


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    qualified_name: str
    """With what it stands in, and dots whatever the language: `Class.method`, `outer.inner`."""
    kind: Kind
    full: Span
    """The whole block: decorators, `export` or `template <…>`, signature and body. No comment above it."""
    body: Span
    """Without the signature. Where the language writes braces, they belong to it; an arrow or a `=` is
    followed by an expression, which then is the body. In Python it begins with the first statement (the
    docstring, if there is one) or with a comment on a line of its own before that."""
    line: int
    """Where the signature begins, after the decorators."""
    start_line: int
    end_line: int
    """First and last line of the whole block."""
    signature: str
    is_async: bool
    decorators: tuple[str, ...]
    """As written: `@app.get("/")`, `#[inline]`, `[HttpGet]`."""
    parameters: tuple[str, ...]
    """Names only, in order; a parameter that is taken apart is given as it is written."""
    doc: str
    """What the docstring, or the comment right above, says; empty if there is none."""
