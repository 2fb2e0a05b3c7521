"""Which answers of a service are like those without a fault. Pure.

Bodies are not kept: a service reports a digest of each, one of its text without numbers and ids, its length,
its beginning and its Content-Type, of which type and charset are compared. What differs between two answers
of the same version, such as a time or an id, is no difference between versions. So answers are compared by
their digests only if those of the old version are all the same, else without numbers and ids, and not at all
if they vary beyond that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from faultkit.code.proof.exercised import Version

_MOST_SHAPES = 3
"""A version with more kinds of answers to one request answers at random, as far as a proof can tell."""
_SHOWN = 60
_BEFORE = 20
"""Characters that are shown before the place where two bodies part."""
_NO_TYPE = "no Content-Type"


class Answer(NamedTuple):
    """An answer with a status below 400."""

    status: int
    digest: str
    shape: str
    """The digest of its text without numbers and ids."""
    length: int
    """Bytes of the body."""
    beginning: str
    content_type: str = ""
    """The header as it was sent."""

    @property
    def media_type(self) -> str:
        """The type and its charset, in lower case; empty if none was sent."""
        kind, *parameters = (each.strip().lower() for each in self.content_type.split(";"))
        return ";".join([kind, *(each for each in parameters if each.startswith("charset="))])

    @property
    def text(self) -> str:
        """The beginning of the body, for messages."""
        if not self.length:
            return f"an empty body ({self.status})"
        return self.text_from(0)

    def text_from(self, start: int) -> str:
        """Return the body from a character on, as far as it is known and short enough."""
        shown = " ".join(self.beginning[start:].split())
        is_whole = self.length <= len(self.beginning.encode()) and len(shown) <= _SHOWN
        return f"`{'…' if start else ''}{shown[:_SHOWN]}{'' if is_whole else '…'}`"

    def _parts_at(self, other: Answer) -> int:
        """Return the first character that differs from that of another; 0 if it is not known."""
        if self.beginning == other.beginning:
            return 0
        pairs = zip(self.beginning, other.beginning, strict=False)
        shorter = min(len(self.beginning), len(other.beginning))
        return next((at for at, (one, two) in enumerate(pairs) if one != two), shorter)

    def instead_of(self, other: Answer) -> str:
        """Return this answer and another, by what differs between them."""
        # What both begin with is left out if nothing else would be seen.
        start = max(self._parts_at(other) - _BEFORE, 0) if self.text == other.text else 0
        texts = [each.text_from(start) if each.length else each.text for each in (self, other)]
        details: list[tuple[str, str]] = []
        if self.status != other.status:
            details.append((f"status {self.status}", f"status {other.status}"))
        if self.media_type != other.media_type:
            details.append((self.media_type or _NO_TYPE, other.media_type or _NO_TYPE))
        if self.length != other.length and texts[0] == texts[1]:
            details.append((f"{self.length} bytes", f"{other.length} bytes"))
        if texts[0] == texts[1] and not details:
            return f"{texts[0]} with another end"
        one, two = (
            f"{text} ({', '.join(own)})" if own else text
            for text, own in zip(texts, zip(*details, strict=True) if details else ((), ()), strict=True)
        )
        return f"{one} instead of {two}"


Answers: TypeAlias = "Counter[Answer]"
"""How often each answer was given."""


@dataclass(frozen=True, slots=True)
class Unlike:
    """Answers of a run that differ from those without a fault."""

    count: int = 0
    text: str = ""
    """The most frequent of them, and what stood there instead."""


@dataclass(frozen=True, slots=True)
class _Usual:
    """The answers of one version without a fault."""

    keys: frozenset[tuple[int, str, str]]
    by_digest: bool
    example: Answer

    @classmethod
    def of(cls, runs: Sequence[Answers]) -> _Usual | None:
        """Return what the runs of a version have in common; None if they cannot be compared."""
        known = [each for each in runs if each]
        if not known:
            return None
        every = sum(known, Counter[Answer]())
        example = every.most_common(1)[0][0]
        by_digest = len({(each.status, each.digest) for each in every}) == 1
        keys = [frozenset(_key(each, by_digest) for each in run) for run in known]
        # A version whose processes have no answer in common orders its data by chance, for example.
        if len(frozenset().union(*keys)) > _MOST_SHAPES or not keys[0].intersection(*keys):
            return None
        return cls(frozenset().union(*keys), by_digest, example)

    def has(self, answer: Answer) -> bool:
        return _key(answer, self.by_digest) in self.keys


def _key(answer: Answer, by_digest: bool) -> tuple[int, str, str]:
    return answer.status, answer.digest if by_digest else answer.shape, answer.media_type


@dataclass
class HealthyAnswers:
    """The answers of both versions without a fault, by process."""

    runs: dict[Version, list[Answers]] = field(default_factory=lambda: {"before": [], "after": []})

    def add(self, version: Version, answers: Answers) -> None:
        """Add the answers of one process."""
        self.runs[version].append(answers)

    def changed(self, answers: Answers) -> Unlike:
        """Return which answers of the new version the old one does not give."""
        return _unlike(answers, _Usual.of(self.runs["before"]))

    def unlike(self, version: Version, answers: Answers) -> Unlike:
        """Return which answers under a fault the old version, or the same one, does not give without it."""
        versions: dict[Version, None] = {"before": None, version: None}
        return _unlike(answers, *(_Usual.of(self.runs[each]) for each in versions))


def _unlike(answers: Answers, *usual: _Usual | None) -> Unlike:
    known = [each for each in usual if each is not None]
    if len(known) < len(usual):
        return Unlike()
    others = Counter({each: n for each, n in answers.items() if not any(one.has(each) for one in known)})
    if not others:
        return Unlike()
    most = others.most_common(1)[0][0]
    return Unlike(others.total(), most.instead_of(known[0].example))
