"""Calls that depend on a value: it is given to them, iterated around them, or asked before them.

known = remote_ids()                    if is_blocked(account): return
for row in rows:                        pay(account)
    if row.id not in known:
        delete(row)
"""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.facts.fact_values import Arm
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.changed_values import made_of

_IF_PRESENT = frozenset(("ifPresent", "ifPresentOrElse", "let", "also", "is_some_and"))


class Value:
    """A value in a block of code: the call that makes it, and the names of it and of what is made of it."""

    def __init__(self, names: set[str], source: Span | None, block: Span, facts: Facts) -> None:
        """Find the names in a block that hold something made of the value."""
        self._facts, self._source, self._block = facts, source, block
        self._first = {name for name in names if name.isidentifier()}
        found = {*self._first}
        for each in facts.within(facts.assignments, block) if source else ():
            # `known = {row.id for row in load()}`
            if source and each.value is not None and is_within(source, each.value.span):
                found.update(name for name in each.targets if name.isidentifier())
        for _ in range(2):
            found = made_of(found, block, facts)
            for loop in facts.within(facts.loops, block):
                if self._is_in(Span(loop.span.start, loop.body.start), loop.over, found):
                    found.update(loop.targets)
        self._names = found

    def is_held_by(self, name: str) -> bool:
        """Return whether a variable is the value or was made of it: a change of it is one in memory."""
        return name in self._names

    def is_idle_if_empty(self, act: Placed) -> bool:
        """Return whether a place is in a loop over the value, or in a branch for one that is there: without
        items it is not reached."""
        facts, items = self._facts, {*self._first}
        for each in facts.within(facts.assignments, self._block):
            text = "" if each.value is None else each.value.text
            span = each.span if each.value is None else each.value.span
            if self._is_in(span, text, items) and _LEAVES_OUT.search(text) is None:
                items.update(name for name in each.targets if name.isidentifier())
        if any(
            self._is_in(loop.head, loop.over, items) and _LEAVES_OUT.search(loop.over) is None
            for loop in facts.loops_around(act, across=True)
        ):
            return True
        there = re.compile(_THERE.format("|".join(map(re.escape, self._first)))) if self._first else None
        return there is not None and any(
            arm.place == 0 and is_within(act.span, arm.span) and there.search(self._head(arm))
            for arm in facts.within(facts.arms, self._block)
        )

    def decides(self, act: Placed) -> bool:
        """Return whether what is done at a place behind the value depends on it."""
        facts = self._facts
        if self._is_in(act.span, facts.text(act.span), self._names):
            return True
        around = facts.calls_around(act)
        if any(call.method in _IF_PRESENT and self._is_on(call) for call in around):
            return False
        if any(self._is_on(call) for call in around):
            return True
        return any(
            self._is_in(loop.head, loop.over, self._names) for loop in facts.loops_around(act, across=True)
        ) or any(self._asks(arm) for arm in self._arms_before(act))

    def is_in(self, span: Span, text: str) -> bool:
        """Return whether an expression contains the value, or something made of it."""
        return self._is_in(span, text, self._names)

    def is_stopped_if_there(self, act: Placed) -> bool:
        """Return whether the code leaves before a place if there is a value, and gives something else."""
        if not self._first or self._facts.loops_around(act):
            return False
        names = "|".join(map(re.escape, self._first))
        there = re.compile(_IF_THERE.format(names))
        gives = re.compile(rf"\breturn\s+(?:{names})\s*(?:;|$)", re.MULTILINE)
        return any(
            arm.leaves == "function"
            and arm.place == 0
            and arm.span.end <= act.span.start
            and there.search(self._head(arm))
            and not gives.search(self._facts.text(arm.span))
            for arm in self._facts.within(self._facts.arms, self._block)
        )

    def is_refused(self, act: Placed) -> bool:
        """Return whether the code leaves before a place if the value is empty."""
        names = "|".join(map(re.escape, self._first))
        empty = re.compile(_NOTHING.format(names)) if names else None
        return empty is not None and any(
            arm.leaves and arm.place == 0 and arm.span.end <= act.span.start and empty.search(self._head(arm))
            for arm in self._facts.within(self._facts.arms, self._block)
        )

    def _is_on(self, call: Call) -> bool:
        return self._is_in(call.callee, self._facts.text(call.callee), self._names)

    def _arms_before(self, act: Placed) -> list[Arm]:
        """Return the arms that hold a place, and those in which the code leaves before it."""
        return [
            arm
            for arm in self._facts.within(self._facts.arms, self._block)
            if is_within(act.span, arm.span) or (arm.leaves and arm.span.end <= act.span.start)
        ]

    def _asks(self, arm: Arm) -> bool:
        head = self._head(arm)
        return self._is_in(Span(arm.fork.start, arm.span.start), head, self._names)

    def _head(self, arm: Arm) -> str:
        """Return the condition before the first arm of a fork."""
        starts = [
            each.span.start
            for each in self._facts.within(self._facts.arms, arm.fork)
            if each.fork == arm.fork
        ]
        return self._facts.text(Span(arm.fork.start, min(starts, default=arm.span.start)))

    def _is_in(self, span: Span, text: str, names: set[str]) -> bool:
        if self._source is not None and is_within(self._source, span):
            return True
        return not names.isdisjoint(re.findall(r"[A-Za-z_]\w*", text))


_LEAVES_OUT = lazy_regex(
    r"\bnot\b|!|\bdifference|\bexcept|\bminus|\s-\s|filter|without|reject|subtract|[nN]one\(|\bretain|\bLEFT\b",
    re.IGNORECASE,
)
"""Expressions that may hold what the value does not: an empty one leaves all."""
_THERE = (
    r"\b(?:{0})\s*(?:!==?|is\s+not)\s*(?:null|nil|None|undefined)\b|\bif\s*\(?\s*(?:{0})\s*\)?\s*[:{{]?\s*$"
    r"|(?:\b(?:{0})\s*\??\.(?:Length|Count|length|size|len)(?:\(\))?|\blen\(\s*(?:{0})\s*\))\s*(?:>|!=)=?\s*0"
)
_IF_THERE = (
    r"^if\s*\(?\s*(?:{0})(?:\s*(?:!==?|is\s+not)\s*(?:null|None|undefined)\b|\s*(?:\)|&&|:|\band\b)|\?\.)"
)
"""The condition of a branch for a value that is there, also with more that must hold."""
_NOTHING = (
    r"(?:\bnot\s+|!\s*)(?:{0})\b(?!\s*[.(\[])|\b(?:{0})\s*(?:===?|is)\s*(?:null|nil|None|undefined)\b"
    r"|(?:\b(?:{0})\s*\??\.(?:Length|Count|length|size|len)(?:\(\))?|\blen\(\s*(?:{0})\s*\))\s*={{2,3}}\s*0"
    r"|(?<!!)\b(?:{0})\s*\??\.(?:isEmpty|is_empty|isBlank)\("
)
