"""The HTML report as data: a page has a head, notes, an overview table and cards; a card is a list of blocks.

Builders fill these values in; `faultkit.report.html_page` turns them into HTML. Text is escaped there. A
value that is `Markup` already, such as a link in a cell or a chart, is written as it is.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from faultkit.report.markup import Markup

VerdictClass: TypeAlias = Literal["passed", "failed", "inconclusive", "not-exercised", "unfinished"]
"""A verdict as a class of the style sheet, which gives it its colour."""


@dataclass(frozen=True, slots=True)
class Badge:
    """A verdict as a sign and a word: colour alone is invisible to some readers."""

    verdict_class: VerdictClass
    sign: str
    label: str


@dataclass(frozen=True, slots=True)
class VerdictCount:
    """How many items of the report have a verdict."""

    verdict_class: VerdictClass
    label: str
    count: int


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of text; `kind` is a class of the style sheet."""

    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class Callout:
    """A highlighted box: a title and one or more sentences."""

    title: str
    lines: Sequence[str]
    kind: Literal["", "warn", "warnings", "reasons"] = "warn"


@dataclass(frozen=True, slots=True)
class Facts:
    """Names with their values."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Tile:
    """One large figure."""

    name: str
    value: str
    note: str | None = None
    """A smaller line below the figure; an empty one keeps its place."""
    is_bad: bool = False
    is_word: bool = False
    """The value is a word and not a number: smaller type."""


@dataclass(frozen=True, slots=True)
class Tiles:
    """A row of large figures."""

    tiles: Sequence[Tile]


@dataclass(frozen=True, slots=True)
class Table:
    """A table. A cell that is a `<th>` element already is written as it is."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    label: str
    """The name of the table for screen readers."""
    numeric: Container[int] = ()
    """The columns that are aligned to the right."""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart, a timeline, or other markup that is complete."""

    markup: Markup


@dataclass(frozen=True, slots=True)
class Preformatted:
    """Text whose line breaks and blanks count, such as a diff."""

    text: str


@dataclass(frozen=True, slots=True)
class Quotation:
    """Text of another program or person, under a title."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Titled:
    """Blocks under a small heading."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Folded:
    """Blocks that are hidden until the reader opens them."""

    summary: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Group:
    """Blocks that belong together; `kind` is a class of the style sheet, such as `pair` for two beside each
    other."""

    blocks: Sequence[Block]
    kind: str


Block: TypeAlias = (
    Paragraph | Callout | Facts | Tiles | Table | Drawing | Preformatted | Quotation | Titled | Folded | Group
)


@dataclass(frozen=True, slots=True)
class Card:
    """One item of the report: a title with its verdict, and blocks of details."""

    title: str
    badge: Badge
    blocks: Sequence[Block]
    anchor: str | None = None
    """The id that the overview links to."""
    is_folded: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """Cards under a heading."""

    title: str
    cards: Sequence[Card]
    paragraphs: Sequence[Paragraph] = ()
    if_empty: str = ""
    """The text in place of cards if there are none."""


@dataclass(frozen=True, slots=True)
class Overview:
    """The table at the top with a row for each card."""

    table: Table
    label: str


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report."""

    kind: str
    """The kind of report, after the name of the product: `resilience report`."""
    title: str
    headline: str
    """The verdict in a few words."""
    verdict_class: VerdictClass
    tool: str
    """The program and version that made the report."""
    footer: str
    facts: Sequence[tuple[str, str]] = ()
    counts: Sequence[VerdictCount] = ()
    """How many of each verdict, as a bar."""
    show_counts: bool = True
    """Whether the counts are also shown as text."""
    notes: Sequence[Callout] = ()
    overview: Overview | None = None
    sections: Sequence[Section] = ()
    if_empty: str = ""
    """The text in place of sections if there are none."""
