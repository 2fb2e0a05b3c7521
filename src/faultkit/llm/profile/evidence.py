"""What both sides of a run show: the requests as the server saw them, and what the client did. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

AnswerEnd: TypeAlias = Literal["ended", "left", "open"]
"""How an answer ended: the server ended it, the client left, or it was still open when the run ended."""

_WORD = re.compile(r"\w+|[^\w\s]")
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """One request to a model, and its answer, as the server saw them."""

    at_ms: float
    """When it came, since the start of the client."""
    identity: str
    """Equal for a request and its retry."""
    dialect: str = ""
    is_streamed: bool = False
    is_hit: bool = False
    """The fault acted on it."""
    status: int | None = None
    retry_after_s: float | None = None
    """The wait that the answer asked for."""
    text: str = ""
    """The text of the answer that was sent."""
    has_calls: bool = False
    has_usage: bool = False
    reasons: tuple[str, ...] = ()
    """The error of the answer: its message, its codes and its status."""
    end: AnswerEnd = "ended"
    ended_ms: float = 0.0
    shown_before: str = ""
    """What the client had printed when the request came."""
    overlap_ms: float = 0.0
    """How long this answer stayed open after the same request had come again."""


@dataclass(frozen=True, slots=True)
class ClientRun:
    """One run of the client."""

    requests: tuple[SeenRequest, ...]
    exit_code: int | None
    """None: the client was still running at the time limit."""
    stdout: str = ""
    stderr: str = ""
    elapsed_ms: float = 0.0
    """From the first request to the end."""
    left_open: int = 0
    """Answers that were not at their end, and open, after the client had ended."""


def words_of(text: str, *, with_numbers: bool = False) -> list[str]:
    """Return the words and marks of a text. By default every number is the same word, because times and
    counts differ from run to run."""
    return _WORD.findall(text if with_numbers else _DIGITS.sub("0", text))


def says_nothing_new(words: Sequence[str], known: Sequence[str]) -> bool:
    """Return whether all words stand in `known`, in the same order."""
    rest = iter(known)
    return all(word in rest for word in words)


def new_lines(text: str, known: str) -> list[str]:
    """Return the lines with words that `known` does not have, whatever their numbers."""
    before = {tuple(words_of(line)) for line in known.splitlines()}
    return [line for line in text.splitlines() if words_of(line) and tuple(words_of(line)) not in before]


def shows_answers(control: ClientRun) -> bool:
    """Return whether the client prints the answers of the model if nothing is wrong."""
    text = " ".join(request.text for request in control.requests)
    return bool(text.strip()) and says_nothing_new(words_of(text), words_of(control.stdout))


def is_answered(run: ClientRun, control: ClientRun) -> bool:
    """Return whether the client got whole answers.

    It did if it printed all that it printed in the control run. Of a client that prints no answers, the
    server knows it: each request that was hit has an attempt whose answer was sent whole."""
    if shows_answers(control):
        return says_nothing_new(words_of(control.stdout), words_of(run.stdout))
    whole = {request.text for request in control.requests}
    return all(
        any(each.end == "ended" and not each.reasons and each.text in whole for each in group)
        for group in attempts_of(run)
    )


def attempts_of(run: ClientRun) -> list[list[SeenRequest]]:
    """Return the requests that the fault acted on, each with its retries, in their order."""
    groups: dict[str, list[SeenRequest]] = {}
    for request in run.requests:
        groups.setdefault(request.identity, []).append(request)
    return [group for group in groups.values() if any(each.is_hit for each in group)]


def retries_of(run: ClientRun, control: ClientRun) -> int:
    """Return how often requests that were hit came again, beyond what the control run has of them."""
    usual = Counter(each.identity for each in control.requests)
    return sum(max(0, len(group) - max(1, usual[group[0].identity])) for group in attempts_of(run))


def gaps_ms(run: ClientRun) -> tuple[float, ...]:
    """Return the times from the end of an attempt, or from its begin if it was still open, to the next."""
    return tuple(
        round(later.at_ms - (earlier.ended_ms if earlier.ended_ms <= later.at_ms else earlier.at_ms), 1)
        for group in attempts_of(run)
        for earlier, later in pairwise(group)
    )
