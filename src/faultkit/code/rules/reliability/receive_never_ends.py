"""Rust: finds receives that wait until all senders are gone, while the function itself keeps one.

let (tx, mut rx) = mpsc::channel(16);
for url in urls {
    let tx = tx.clone();                      Each task drops its clone. The first sender lives until
    tokio::spawn(fetch(url, tx));             the end of the function, which waits for it.
}
while let Some(page) = rx.recv().await { … }
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import LIKELY, RUST, Hit, Rule
from faultkit.code.rules.vocabulary.brackets import end_of_bracket

_MADE = lazy_regex(
    r"let\s+\(\s*(?:mut\s+)?(\w+)\s*,\s*(?:mut\s+)?(\w+)\s*\)(?:\s*:[^=;]+)?\s*=\s*[\w:]*\b(?:unbounded_channel|channel|sync_channel"
    r"|bounded|unbounded)\b(?!\w)"
)
_ONE_VALUE = lazy_regex(r"oneshot::channel|watch::channel")


def _check(facts: Facts) -> Iterator[Hit]:
    for scope in facts.scopes:
        if not scope.name:
            continue
        text = facts.text(scope.body)
        for made in _MADE.finditer(text):
            if _ONE_VALUE.search(made[0]):
                continue
            sender, receiver = made[1], made[2]
            received = re.compile(
                rf"while\s+let\s+(?:Some|Ok)\([^=]*?\)\s*=\s*{receiver}\.(?:recv|next)\(\)"
                rf"|for\s+\w+\s+in\s+&?{receiver}(?:\.(?:iter|into_iter)\(\))?\s*\{{"
            ).search(text, made.end())
            if received is None or not _is_kept(sender, text[made.end() : received.start()]):
                continue
            place = facts.syntax.place_of(received, scope.body.start)
            if not _is_left(place, scope, facts):
                what = f"{sender} is still there, so this waits for ever after the last value: drop it first"
                yield Hit(place, what, LIKELY)


def _is_kept(sender: str, text: str) -> bool:
    """Return whether a function only clones a sender before it receives, and keeps the first one."""
    clone = rf"\b(?:{sender}\.clone\(\)|(?:Sender|Arc)::clone\(&{sender}\))"
    if not re.search(clone, text):
        return False
    # In a block that shadows the name, the clone is meant.
    shadow = re.compile(rf"let\s+(?:mut\s+)?{sender}\s*=\s*{sender}\.clone\(\)\s*;")
    rest, at = list[str](), 0
    while (found := shadow.search(text, at)) is not None:
        rest.append(text[at : found.start()])
        at = end_of_bracket(text, found.end(), "}") or len(text)
    rest.append(text[at:])
    return re.search(rf"(?<![\w.]){sender}\b", re.sub(clone, "", "".join(rest))) is None


def _is_left(place: Span, scope: Scope, facts: Facts) -> bool:
    """Return whether something in the loop leaves it, such as a count of what has come."""
    loop = next((each for each in facts.loops if each.span.start <= place.start < each.body.start), None)
    return loop is None or any(
        step.kind in ("break", "return") for step in facts.within(facts.steps, loop.body)
    )


RULE = Rule(
    id="FK-R175",
    slug="receive-never-ends",
    title="Receive that waits for the sender of its own function",
    why="The loop ends when the last sender is dropped, and the function holds one: it never returns.",
    fix="Drop the first sender before the loop (drop(tx)), or move it into the last task.",
    kind="reliability",
    severity="high",
    languages=RUST,
    check=_check,
    words=(b"channel(", b"channel::<", b"bounded("),
)
