"""Reads the pairs. Knows nothing of rules."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Pair:
    language: str
    name: str
    before: str
    after: str


def pairs() -> tuple[Pair, ...]:
    found = []
    for before in sorted(FOLDER.glob("*/*.before")):
        after = before.with_suffix(".after")
        found.append(Pair(before.parent.name, before.stem, _text(before), _text(after)))
    return tuple(found)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
