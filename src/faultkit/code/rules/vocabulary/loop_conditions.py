"""Conditions of loops: whether they wait, and whether a round that finds nothing ends the loop."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Loop, is_within

GOES_ON = lazy_regex(
    r"^!?\s*(true|True|1)$|ctx|stop|cancel|clos|shut|interrupt|signal|quit|running|alive|active|enabled|exit"
    r"|deadline|now\(|monotonic|elapsed|timeout|performance|_?open$",
    re.IGNORECASE,
)
"""Conditions of a loop that say nothing about its work: a flag, a deadline."""
WAITS_IN_HEAD = lazy_regex(
    r"\.(wait|sleep|await|tick|read|recv|receive|delay|accept|Wait|Sleep|Tick|Read|Recv|Receive|Accept)\w*\("
    r"|\.(next|try_next)\(\)|^let\b.*\.await\b",
    re.DOTALL,
)
"""Conditions that pause between rounds: `while not stop.wait(30)`. What `while let Some(x) = ….await` of Rust
asks either waits or ends the loop."""
_PART = lazy_regex(r"&&|\band\b")
_HAS_MORE = lazy_regex(r"\(*\s*([A-Za-z_]\w*)\s*(?:(?:!==?|is not)\s*(?:null|None|undefined)|>\s*0)?\s*\)*")


_TAKES = lazy_regex(r"\(\s*[A-Za-z_]\w*\s*=\s*[\w.]+\(|!\s*[\w.]+\.(isEmpty|is_empty|empty)\(\)")
"""Conditions that take the next item, or ask whether there is one."""


def goes_on(loop: Loop, facts: Facts) -> bool:
    """Return whether a loop goes on when a round found nothing.

    `while (more && !stopped)` does not, if each round sets `more`."""
    if loop.kind != "while":
        return loop.kind == "endless"
    condition = " ".join(loop.over.split()).strip("() ")
    return GOES_ON.search(condition) is not None and not is_ended_by_answer(loop, facts)


def is_ended_by_answer(loop: Loop, facts: Facts) -> bool:
    """Return whether the condition asks for a variable that each round sets."""
    if _TAKES.search(loop.over):
        return True
    asked = (_HAS_MORE.fullmatch(part.strip()) for part in _PART.split(" ".join(loop.over.split())))
    names = {found[1] for found in asked if found is not None} - {"true", "True"}
    return bool(names) and any(
        not names.isdisjoint(each.targets)
        and not any(is_within(each.span, arm.span) for arm in facts.within(facts.arms, loop.body))
        for each in facts.within(facts.assignments, loop.body)
    )
