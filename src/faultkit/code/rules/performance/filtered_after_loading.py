"""Finds tables that are loaded whole, to be filtered, paged or added up in the program."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.performance import whole_table
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.loaded_rows import WORDS, sifted_rows


def _check(facts: Facts) -> Iterator[Hit]:
    sifted = sifted_rows(facts)
    told = {hit.span for hit in whole_table.RULE.check(facts)} if sifted else set[Span]()
    for each in sifted:
        if each.load.span in told:
            continue  # Reported by FK-P012.
        what = f"{each.load.written}() loads every row of the table, of which {each.by} then keeps a part"
        yield Hit(each.load.span, what, LIKELY)


RULE = Rule(
    id="FK-P030",
    slug="filtered-after-loading",
    title="Rows filtered after all of them were loaded",
    why="The database sends the whole table for the few rows that are used: memory and time grow with the "
    "table, and no index helps.",
    fix="Put the condition, the order, the page or the sum into the query.",
    kind="performance",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=WORDS,
)
