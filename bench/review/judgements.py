"""Judgements of findings: true, arguable or false, with the reason, one JSON object a line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from bench.review.findings import Found
from faultkit.base.errors import InputError
from faultkit.base.files import read_text, write_output

Verdict: TypeAlias = Literal["true", "arguable", "false"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""`true`: correct and worth acting on. `arguable`: literally correct, but bounded, deliberate or of no
consequence there. `false`: the claim is wrong, or the code is generated, vendored, a script or a test
helper."""
FOLDER = Path(__file__).with_name("judgements")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a reader of the code thinks of a finding. Holds none of the code."""

    project: str
    version: str
    file: str
    language: str
    rule: str
    severity: str
    function: str
    message: str
    line: int
    hash: str
    verdict: Verdict
    reason: str
    judge: str
    confidence: float | None = None
    """That of the finding, where it was kept."""
    checked: str = ""
    """What a language model that was asked about the finding says: `defect`, `minor` or `wrong`."""

    @property
    def key(self) -> tuple[str, ...]:
        """The same as `Found.key`."""
        return self.project, self.file, self.rule, self.hash

    @property
    def words(self) -> tuple[str, ...]:
        """The same as `Found.words`."""
        return self.project, self.file, self.rule, self.function, self.message


_NAMES = tuple(field.name for field in fields(Judgement) if field.default is MISSING)
_OPTIONAL = tuple(field.name for field in fields(Judgement) if field.default is not MISSING)


def match(findings: Iterable[Found], judgements: Iterable[Judgement]) -> list[tuple[Found, Judgement | None]]:
    """Return each finding with its judgement, or None if it has none.

    A judgement whose line is no longer flagged goes to the one finding without a judgement that has the same
    rule, function and message, if there is exactly one: the rule now flags another line of the same thing.
    """
    by_key = {each.key: each for each in judgements}
    found = list(findings)
    gone = by_key.keys() - {each.key for each in found}
    lost = Counter(by_key[key].words for key in gone)
    moved = Counter(each.words for each in found if each.key not in by_key)
    by_words = {by_key[key].words: by_key[key] for key in gone}

    def judgement_of(each: Found) -> Judgement | None:
        known = by_key.get(each.key)
        if known is None and lost[each.words] == moved[each.words] == 1:
            known = by_words[each.words]
        return known

    return [(each, judgement_of(each)) for each in found]


def judgements_path(half: str) -> Path:
    """Return the file with the judgements of a half."""
    return FOLDER / f"{half}.jsonl"


def read_judgements(path: Path) -> list[Judgement]:
    """Return the judgements of a file; none if there is no such file yet."""
    if not path.exists():
        return []
    lines = enumerate(read_text(path).splitlines(), 1)
    return [_judgement(json.loads(line), f"{path.name}:{number}") for number, line in lines if line.strip()]


def add_judgements(path: Path, judged: Path, judge: str) -> int:
    """Append the lines of a judged sample to a file of judgements; return how many have been added.

    A later judgement of the same finding replaces the earlier one.
    """
    new = []
    for number, line in enumerate(read_text(judged).splitlines(), 1):
        given = json.loads(line)
        if given.get("verdict"):
            new.append(_judgement({**given, "judge": judge}, f"{judged.name}:{number}"))
    kept = {each.key: each for each in [*read_judgements(path), *new]}
    text = "".join(json.dumps(_document(each), ensure_ascii=False) + "\n" for each in kept.values())
    path.parent.mkdir(exist_ok=True)
    write_output(path, text)
    return len(new)


def _document(judgement: Judgement) -> dict[str, Any]:
    return {name: value for name, value in asdict(judgement).items() if name in _NAMES or value}


def _judgement(given: dict[str, Any], place: str) -> Judgement:
    if given.get("verdict") not in VERDICTS:
        raise InputError(
            f"{place}.verdict", f"expected one of {', '.join(VERDICTS)}, got {given.get('verdict')!r}"
        )
    if not str(given.get("reason", "")).strip():
        raise InputError(f"{place}.reason", "expected a sentence, got nothing")
    missing = [name for name in _NAMES if name not in given]
    if missing:
        raise InputError(place, f"expected the keys {', '.join(_NAMES)}, got none named {missing[0]}")
    return Judgement(**{name: given[name] for name in (*_NAMES, *_OPTIONAL) if name in given})
