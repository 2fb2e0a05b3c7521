"""Writes a `Page` as one HTML file that needs nothing else: no script, no font, no request.

It prints, it fits a phone, and the same page gives the same bytes. Charts come from `faultkit.report.svg` and
`faultkit.report.timeline`; colours and sizes are in `faultkit.report.style`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from faultkit.base.numbers import instant_to_second
from faultkit.report.markup import Markup, element
from faultkit.report.page_model import (
    Badge,
    Block,
    Callout,
    Card,
    Drawing,
    Facts,
    Folded,
    Group,
    Page,
    Paragraph,
    Preformatted,
    Quotation,
    Section,
    Table,
    Tile,
    Tiles,
    Titled,
)
from faultkit.report.style import STYLE
from faultkit.report.svg import stacked_bar

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""The content security policy of the page: the browser fetches nothing and runs no script, even if one got
into the page."""


def render_page(page: Page) -> str:
    """Return the page as HTML. The same page gives the same text."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content=page.tool),
        # Without an icon in the page, a browser asks the server for one.
        element("link", rel="icon", href="data:,"),
        element("title", f"{page.title} · {page.headline}"),
        element("style", Markup(STYLE)),
    )
    body = element("body", element("div", *_body(page), class_="page"))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _body(page: Page) -> Iterator[Markup | None]:
    yield _header(page)
    yield from map(_callout, page.notes)
    if page.overview is not None:
        yield element(
            "nav",
            element("h2", "Overview"),
            table_markup(page.overview.table, names_cells=True),
            aria_label=page.overview.label,
        )
    empty = [element("p", page.if_empty, class_="empty")] if page.if_empty and not page.sections else []
    yield element("main", *map(_section, page.sections), *empty)
    yield element("footer", f"Made by {page.tool}.{' ' if page.footer else ''}{page.footer}")


def _header(page: Page) -> Markup:
    counts = [each for each in page.counts if each.count]
    chips = [
        element("li", element("b", f"{each.count:,}"), f" {each.label}", class_=each.verdict_class)
        for each in counts
    ]
    spoken = ", ".join(f"{each.count} {each.label}" for each in counts)
    return element(
        "header",
        element("p", "Faultkit", element("span", f" {page.kind}"), class_="brand"),
        element("h1", page.title),
        element(
            "div",
            element("p", page.headline, class_=f"headline {page.verdict_class}"),
            element("ul", *chips, class_="chips") if chips and page.show_counts else None,
            class_="glance",
        ),
        stacked_bar([(each.verdict_class, each.label, each.count) for each in counts], f"Verdicts: {spoken}")
        if counts
        else None,
        _facts(page.facts) if page.facts else None,
        class_="top",
    )


def _section(section: Section) -> Markup:
    empty = element("p", section.if_empty, class_="empty") if section.if_empty and not section.cards else None
    return element(
        "section",
        element("h2", section.title),
        *(element("p", each.text, class_=each.kind) for each in section.paragraphs),
        *map(_card, section.cards),
        empty,
        class_="section",
    )


def _card(card: Card) -> Markup:
    return element(
        "details",
        element("summary", badge_markup(card.badge), element("h3", card.title)),
        element("div", *map(_block, card.blocks), class_="inside"),
        class_=f"card {card.badge.verdict_class}",
        id=card.anchor,
        open=not card.is_folded,
    )


# Blocks


def _block(block: Block) -> Markup:
    match block:
        case Paragraph(text, kind):
            return element("p", text, class_=kind)
        case Callout():
            return _callout(block)
        case Facts(pairs):
            return _facts(pairs)
        case Tiles(tiles):
            return element("dl", *map(_tile, tiles), class_="tiles")
        case Table():
            return table_markup(block)
        case Drawing(markup):
            return markup
        case Preformatted(text):
            return element("pre", text, class_="preformatted", tabindex="0")
        case Quotation(title, text):
            return element("blockquote", element("cite", title), text, class_="quotation")
        case Titled(title, blocks):
            return element("section", element("h4", title), *map(_block, blocks), class_="block")
        case Folded(summary, blocks):
            return element("details", element("summary", summary), *map(_block, blocks), class_="more")
        case Group(blocks, kind):
            return element("div", *map(_block, blocks), class_=kind)


def _callout(callout: Callout) -> Markup:
    if len(callout.lines) > 1:
        text = element("ul", *(element("li", line) for line in callout.lines))
    else:
        text = element("span", *callout.lines)
    return element(
        "div",
        element("strong", callout.title) if callout.title else None,
        text,
        class_=f"callout {callout.kind}".strip(),
        role="note",
    )


def _facts(pairs: Iterable[tuple[str, str]]) -> Markup:
    return element(
        "dl",
        *(element("div", element("dt", name), element("dd", value)) for name, value in pairs),
        class_="facts",
    )


def _tile(tile: Tile) -> Markup:
    return element(
        "div",
        element("dt", tile.name),
        element("dd", tile.value, class_="word" if tile.is_word else None),
        element("dd", tile.note, class_="under") if tile.note is not None else None,
        class_="bad" if tile.is_bad else None,
    )


def table_markup(given: Table, names_cells: bool = False) -> Markup:
    """Return a table in a box of its own, which scrolls if the table is wider than the page.

    names_cells: each cell knows the head of its column, so that a phone can show it without one"""
    head = [
        element("th", name, scope="col", class_="n" if index in given.numeric else None)
        for index, name in enumerate(given.heads)
    ]
    body = [
        element(
            "tr",
            *(
                _cell(cell, index in given.numeric, given.heads[index] if names_cells else None)
                for index, cell in enumerate(row)
            ),
        )
        for row in given.rows
    ]
    return element(
        "div",
        element(
            "table",
            element("thead", element("tr", *head)),
            element("tbody", *body),
            class_=given.kind or None,
        ),
        class_="scroll",
        role="region",
        aria_label=given.label,
        tabindex="0",
    )


def _cell(cell: str, is_numeric: bool, head: str | None) -> Markup:
    if isinstance(cell, Markup) and cell.startswith("<th"):
        return cell
    return element("td", cell, class_="n" if is_numeric else None, data_head=head)


# Parts of a line or a cell


def badge_markup(given: Badge) -> Markup:
    """Return a verdict as a coloured label with a sign."""
    return element(
        "span",
        element("span", given.sign, class_="sign", aria_hidden="true"),
        given.label,
        class_=f"badge {given.verdict_class}",
    )


def met_sign(passed: bool | None) -> Markup:
    """Return the sign for a condition that was met, was missed, or was not judged."""
    words = {True: ("good", "✓", "met"), False: ("bad", "✕", "missed"), None: ("open", "–", "not judged")}
    kind, sign, word = words[passed]
    return element(
        "span",
        element("span", sign, class_="sign", aria_hidden="true"),
        element("span", word, class_="unseen"),
        class_=f"met {kind}",
    )


def breakable_url(text: str) -> Markup:
    """Return a URL that may be broken after each slash."""
    parts = text.split("/")
    pieces = [piece for part in parts[:-1] for piece in (part, "/", element("wbr"))] + [parts[-1]]
    return element("span", *pieces, class_="url")


def spanning_cell(title: str, columns: int) -> Markup:
    """Return the only cell of a row that heads a group of rows."""
    return element("th", title, colspan=columns, scope="rowgroup", class_="group")


def utc_text(iso: str) -> str:
    """Return an ISO 8601 instant as `2026-03-04 09:15:00 UTC`; other text unchanged."""
    text = instant_to_second(iso)
    return iso if text == iso else f"{text.replace('T', ' ')} UTC"


def pairs_with_value(pairs: Iterable[tuple[str, str | None]]) -> Sequence[tuple[str, str]]:
    """Return the pairs whose value is not empty."""
    return [(name, value) for name, value in pairs if value]
