"""The card of a search on the HTML page: the sentence, the chart, and the table of values."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.report.page_model import Block, Callout, Drawing, Facts, Paragraph, Table, Tile, Tiles, Titled
from faultkit.scenario.report.report_model import ItemReport
from faultkit.scenario.report.search_chart import search_chart
from faultkit.scenario.report.search_model import SearchReport
from faultkit.scenario.report.search_wording import (
    LEVEL_COLUMNS,
    level_row,
    search_facts,
    search_sentence,
    setting_value,
)
from faultkit.scenario.report.wording import strategy_details


def search_blocks(item: ItemReport, search: SearchReport) -> Iterator[Block]:
    """Yield the blocks of a search, the sentence first."""
    sentence = search_sentence(search)
    yield Paragraph(sentence, "result")
    reasons = [reason for reason in item.reasons if reason != sentence]
    if reasons:
        yield Callout("Why", reasons, kind="reasons")
    yield _tiles(search)
    if search.levels:
        yield Drawing(search_chart(search))
        rows = [level_row(search, level) for level in search.levels]
        yield Titled(
            "Values", [Table(LEVEL_COLUMNS, rows, "Values that were measured", numeric=(0, 1, 2, 3))]
        )
    yield Titled(
        "The search", [Facts([*search_facts(search), ("Load", "; ".join(strategy_details(item.strategy)))])]
    )


def _tiles(search: SearchReport) -> Tiles:
    tiles = [
        Tile("Held up to", _shown(search, search.held), "shown"),
        Tile("Broken from", _shown(search, search.broken), "shown"),
    ]
    if search.estimate is not None:
        tiles.insert(0, Tile("Breaks at about", _shown(search, search.estimate), "estimated"))
    return Tiles([*tiles, Tile("Requests", f"{search.requests:,}", "")])


def _shown(search: SearchReport, value: float | None) -> str:
    return "–" if value is None else setting_value(search, value)
