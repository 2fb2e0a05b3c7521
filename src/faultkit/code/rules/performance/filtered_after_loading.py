"""Finds tables that are loaded whole, to be filtered, paged or added up in the program.

Evidence that it matters: the rows that the condition drops are not used. Programs with a screen keep the data
of one user: there it is possible only.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Facts
from faultkit.code.rules.performance import whole_table
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.cut_rows import cut_rows
from faultkit.code.rules.vocabulary.repetition import is_for_screen
from faultkit.code.rules.vocabulary.sifted_rows import sifted_rows

_WORDS = (
    b"findAll", b"find(", b"findBy", b"findMany", b"listBy", b"getBy", b"selectAll", b"getAll", b"GetAll",
    b"listAll", b"ListAll", b"ToList", b"ToArray", b"AsEnumerable", b"FindAll", b".all(", b"objects",
    b"SELECT", b"select", b"Find(", b"load", b"getResultList", b"find_all", b"get_all", b"list_all",
    b".List", b".All",
)  # fmt: skip
"""Words of which one stands in each text that loads rows."""


def _check(facts: Facts) -> Iterator[Hit]:
    sifted, cuts = sifted_rows(facts), [*cut_rows(facts)]
    if not sifted and not cuts:
        return
    sure = POSSIBLE if is_for_screen(facts) else LIKELY
    reported = {hit.span for hit in whole_table.RULE.check(facts)}  # By FK-P012.
    for each in sifted:
        if each.load.span not in reported:
            what = f"{each.load.written}() loads every row of the table, of which {each.by} then keeps a part"
            reported.add(each.load.span)
            yield Hit(each.load.span, what, sure)
    for cut in cuts:
        if cut.load.span not in reported:
            what = f"{cut.load.written}() loads every row that matches, of which {cut.by} then keeps a page"
            yield Hit(cut.load.span, what, sure)


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
    words=_WORDS,
)
