"""Finds requests to other services inside a database transaction."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Facts, is_within
from faultkit.code.rules.rule import GO, JAVA, JAVASCRIPT, LIKELY, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.remote_calls import remote_calls
from faultkit.code.rules.vocabulary.transactions import transactions


def _check(facts: Facts) -> Iterator[Hit]:
    open_ = tuple(transactions(facts))
    if not open_:
        return
    for each in remote_calls(facts):
        if each.kind != "http" or each.call.is_launched:
            continue
        around = [one for one in open_ if is_within(each.call.span, one.span)]
        if around and not _is_later(each.call.span.start, around[-1].span.start, facts):
            opened = around[-1].opened_by
            what = f"{each.call.written}() waits for another service inside the transaction of {opened}"
            yield Hit(each.call.span, what, LIKELY)


def _is_later(start: int, begin: int, facts: Facts) -> bool:
    """Return whether the request is made after the transaction, in a function given to `on_commit`."""
    return any(
        call.method in ("on_commit", "afterCommit", "registerSynchronization")
        and begin <= call.span.start < start < call.span.end
        for call in facts.calls
    )


RULE = Rule(
    id="FK-R054",
    slug="request-in-transaction",
    title="Request to another service inside a transaction",
    why="While the other service is slow, rows stay locked and connections stay taken: its "
    "outage becomes yours. A rollback does not undo what the request did.",
    fix="Make the request before or after the transaction, or write an outbox row and send it later.",
    kind="reliability",
    severity="high",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA),
    check=_check,
)
