"""Go: finds tickers that outlive the function that made them.

Since Go 1.23 they are collected: where go.mod names that version or a later one, they are not reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Facts
from faultkit.code.rules.rule import GO, LIKELY, POSSIBLE, Hit, Rule


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_named("context.WithTimeout", "context.WithCancel", "context.WithDeadline"):
        if call.assigned[1:] == ("_",):
            what = f"nothing can cancel the context of {call.written}(): it is kept until its parent ends"
            yield Hit(call.span, what, LIKELY)
    if facts.project.language_version >= (1, 23):
        return
    for call in facts.calls_named("time.NewTicker", "time.Tick"):
        scope = facts.function_of(call)
        if scope is None or scope.short_name in ("main", "init"):
            continue
        leaves = [
            step
            for step in facts.own(facts.steps, scope)
            if step.kind == "return" and step.span.start > call.span.end
        ]
        if not leaves:
            continue  # It is used until the process ends.
        if call.method == "Tick":
            what = f"{call.written}() makes a ticker that goes on when the function has returned"
            yield Hit(call.span, what, POSSIBLE)
            continue
        name = call.assigned[0] if call.assigned else ""
        if not name.isidentifier() or call.is_returned or name in facts.file_names:
            continue  # A variable of the file: other functions stop it.
        text = facts.text((scope.outer or scope).span)
        word = re.escape(name)
        kept = re.search(
            rf"\b{word}\.Stop\b|[(,]\s*{word}\s*[,)]|return[ \t][^\n]*\b{word}\b|[:=]\s*{word}\s*[,\n}}]",
            text,
        )
        if kept is None:
            yield Hit(call.span, f"{name} goes on when the function has returned: nothing stops it", LIKELY)


RULE = Rule(
    id="FK-R101",
    slug="ticker-not-stopped",
    title="Ticker that is never stopped",
    why="Before Go 1.23 it is never collected: each call leaves a timer behind that fires for ever.",
    fix="Write defer ticker.Stop() right after time.NewTicker.",
    kind="reliability",
    severity="low",
    languages=GO,
    check=_check,
)
