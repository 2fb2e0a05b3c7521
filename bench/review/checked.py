"""Precision of findings that a language model was asked about: what `fault review --ask-model` shows.

Each judged finding counts once. Judgements without an answer of a model do not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from bench.review.judgements import VERDICTS, Judgement
from bench.review.precision import Share
from faultkit.base.sample_statistics import proportion_interval
from faultkit.code.rules.rule import LIKELY

Group: TypeAlias = tuple[str, Callable[[Judgement], bool]]

_SHOWN: tuple[Group, ...] = (
    ("rules, all", lambda each: True),
    ("rules, as shown by default", lambda each: each.confidence is not None and each.confidence >= LIKELY),
    ("the model: defect", lambda each: each.checked == "defect"),
    ("the model: minor", lambda each: each.checked == "minor"),
    ("the model: wrong", lambda each: each.checked == "wrong"),
)


def checked_tables(judgements: Iterable[Judgement]) -> str:
    """Return Markdown tables: by what the model says, and by language and severity what it confirms."""
    known = [each for each in judgements if each.checked]
    confirmed = [each for each in known if each.checked == "defect"]
    parts = [
        _table("findings", [(name, [each for each in known if holds(each)]) for name, holds in _SHOWN]),
        _table("confirmed, by language", _grouped(confirmed, lambda each: each.language)),
        _table("confirmed, by severity", _grouped(confirmed, lambda each: each.severity)),
    ]
    return "\n\n".join(parts)


def _grouped(
    judged: Sequence[Judgement], name_of: Callable[[Judgement], str]
) -> list[tuple[str, list[Judgement]]]:
    names = sorted({name_of(each) for each in judged})
    return [(name, [each for each in judged if name_of(each) == name]) for name in names]


def _table(title: str, groups: Iterable[tuple[str, Sequence[Judgement]]]) -> str:
    lines = [f"| {title} | judged | {' | '.join(VERDICTS)} |", f"|---|---:|{'---:|' * len(VERDICTS)}"]
    for name, judged in groups:
        counted = Counter(each.verdict for each in judged)
        shares = " | ".join(_share(counted[verdict], len(judged)) for verdict in VERDICTS)
        lines.append(f"| {name} | {len(judged)} | {shares} |")
    return "\n".join(lines)


def _share(count: int, of: int) -> str:
    return str(Share(count / of, proportion_interval(count, of))) if of else "none judged"
