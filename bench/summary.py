"""All targets of one run in one table: what was asked for, what was reached, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeAlias

from bench.checks import Check
from bench.tables import Table, figure
from bench.targets import Verdict


class Limit(Protocol):
    """A target of a benchmark beside the proxy's."""

    @property
    def label(self) -> str: ...
    @property
    def limit(self) -> float: ...
    @property
    def at_least(self) -> bool: ...


Judged: TypeAlias = tuple[Limit, float | None, str]


def summary_table(
    proxy: Sequence[Verdict], fidelity: Sequence[Check], others: Iterable[tuple[str, Sequence[Judged]]]
) -> Table:
    """Return a row for each target of the proxy, of its fidelity, and of the other parts by their names."""
    rows = [
        [
            f"proxy: {verdict.target.label}",
            f"≤ {verdict.target.limit:g}",
            figure(verdict.figure),
            verdict.word,
        ]
        for verdict in proxy
    ]
    rows += [
        [
            f"fidelity: {check.group}: {check.label}",
            check.allowed_text(),
            f"{figure(check.value)} {check.unit}".rstrip(),
            check.word,
        ]
        for check in fidelity
        if check.judged
    ]
    for part, judged in others:
        rows += [
            [
                f"{part}: {limit.label}",
                f"{'≥' if limit.at_least else '≤'} {limit.limit:g}",
                figure(reached),
                word,
            ]
            for limit, reached, word in judged
        ]
    return ["target", "limit", "reached", "verdict"], rows
