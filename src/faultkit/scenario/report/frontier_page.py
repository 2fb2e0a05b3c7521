"""The card of a search of two settings on the HTML page: the sentence, the map, and the tables."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.report.page_model import Block, Callout, Drawing, Facts, Paragraph, Table, Tile, Tiles, Titled
from faultkit.scenario.report.frontier_chart import frontier_chart
from faultkit.scenario.report.frontier_model import FrontierReport
from faultkit.scenario.report.frontier_wording import (
    PAIR_COLUMNS,
    edge_columns,
    edge_rows,
    frontier_facts,
    frontier_sentence,
    pair_rows,
)
from faultkit.scenario.report.report_model import ItemReport
from faultkit.scenario.report.wording import strategy_details


def frontier_blocks(item: ItemReport, frontier: FrontierReport) -> Iterator[Block]:
    """Yield the blocks of a search of two settings, the sentence first."""
    sentence = frontier_sentence(frontier)
    yield Paragraph(sentence, "result")
    reasons = [reason for reason in item.reasons if reason != sentence]
    if reasons:
        yield Callout("Why", reasons, kind="reasons")
    yield Tiles(
        [
            Tile("Pairs held", str(frontier.count("held")), f"of {len(frontier.pairs)}"),
            Tile("Pairs broken", str(frontier.count("broken")), f"of {len(frontier.pairs)}"),
            Tile("Undecided", str(frontier.count("undecided")), f"of {len(frontier.pairs)}"),
            Tile("Requests", f"{frontier.requests:,}", ""),
        ]
    )
    if frontier.requests:
        yield Drawing(frontier_chart(frontier))
        edges = Table(edge_columns(frontier), list(edge_rows(frontier)), "The frontier", numeric=(0, 1, 2))
        yield Titled("The frontier", [edges])
        pairs = Table(PAIR_COLUMNS, list(pair_rows(frontier)), "Pairs that were measured", numeric=(1, 2, 3))
        yield Titled("Pairs that were measured", [pairs])
    load = ("Load", "; ".join(strategy_details(item.strategy)))
    yield Titled("The search", [Facts([*frontier_facts(frontier), load])])
