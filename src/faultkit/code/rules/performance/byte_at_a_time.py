"""Java: finds files that are read byte by byte without a buffer."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts
from faultkit.code.rules.rule import JAVA, LIKELY, Hit, Rule

_FILES = lazy_regex(r"(^|\.)(FileInputStream|FileReader)\.read$")


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_of_method("read"):
        if not _FILES.search(call.name) or call.arguments:
            continue
        heads = any(loop.span.start <= call.span.start < loop.body.start for loop in facts.loops)
        if heads:
            yield Hit(call.span, f"{call.written}() is a system call for every byte", LIKELY)


RULE = Rule(
    id="FK-P026",
    slug="byte-at-a-time",
    title="File read byte by byte",
    why="Each byte costs a system call: a megabyte takes a second of processor time.",
    fix="Wrap it in BufferedInputStream or BufferedReader, or use Files.copy or transferTo.",
    kind="performance",
    severity="medium",
    languages=JAVA,
    check=_check,
)
