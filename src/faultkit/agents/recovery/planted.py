"""Values that a fault planted in a reply that looks sound, and whether an agent used them. Pure.

A fault that replaces values, such as corrupt_value or stale_value, gives its caller no error to notice. How
an agent recovered from it shows only in what the agent did with the new values. A fault that only adds to a
reply, such as oversized_result, leaves the true values in it and plants nothing. A fault that answers in
place of the server, such as rate_limit in its hidden form, plants all that it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from faultkit.faults.call_fault import Verdict

_SHORTEST_EVIDENCE = 4
"""A shorter text may stand in a final reply by chance: `12`."""
_SHORTEST_ANSWER = 16
"""A shorter answer may stand in a final reply by chance: `complete`."""
_ASKS = "input_required"
"""`resultType` of a reply that asks the client for input."""
_PLAIN_WORD = re.compile(r"\w+")
_WORD = re.compile(r"\w+(?:[.,-]\w+)*")


@dataclass(frozen=True, slots=True)
class PlantedValues:
    """What a fault did to a reply that its caller takes for a sound one."""

    is_misleading: bool = False
    """Values of the server's reply were replaced or left out, or a text with a marker was added."""
    texts: tuple[str, ...] = ()
    """Texts that occur in the changed reply only; empty if none of them is long enough to be evidence."""
    is_traceable: bool = True
    """An agent that is misled repeats one of `texts`, if there are any. False if it need not."""


def planted_by(
    verdict: Verdict, true_reply: Mapping[str, Any] | None, given_reply: Mapping[str, Any] | None
) -> PlantedValues:
    """Return what a fault planted by its verdict: the server's reply is compared with the one that the caller
    got."""
    if not verdict.ask:
        return _invented(given_reply or {})
    planted = planted_values(true_reply, given_reply, verdict.marker)
    return replace(planted, is_traceable=not verdict.is_marker_optional)


def planted_values(
    true_reply: Mapping[str, Any] | None, given_reply: Mapping[str, Any] | None, marker: str = ""
) -> PlantedValues:
    """Compare the server's reply with the one that the caller got. `marker` is the fault's own, if any."""
    if true_reply is None or given_reply is None or true_reply.get("result") == given_reply.get("result"):
        return PlantedValues()
    true_texts = list(texts_in(true_reply.get("result")))
    given_texts = list(texts_in(given_reply.get("result")))
    if marker and any(marker in text for text in given_texts):
        return PlantedValues(True, (marker,))
    if all(text in given_texts for text in true_texts):
        return PlantedValues()
    known = {word for text in true_texts for word in _WORD.findall(text)}
    new = [text for text in given_texts if text not in true_texts]
    words = (word for text in new for word in _WORD.findall(text) if word not in known)
    whole = (text for text in new if not any(text in true_text for true_text in true_texts))
    evidence = (text for text in (*whole, *words) if len(text) >= _SHORTEST_EVIDENCE)
    return PlantedValues(True, tuple(dict.fromkeys(evidence)))


def _invented(given_reply: Mapping[str, Any]) -> PlantedValues:
    """Return what a fault planted that answered itself: the whole answer, which looks like a result.

    Its words are no evidence, because an agent that notices may well use them: `rate_limited`."""
    result = given_reply.get("result")
    if not isinstance(result, Mapping) or asks_for_input(given_reply):
        # The reply says itself that it is no result.
        return PlantedValues()
    texts = tuple(text for text in texts_in(result) if len(text) >= _SHORTEST_ANSWER)
    return PlantedValues(True, texts, is_traceable=False)


def asks_for_input(reply: Mapping[str, Any]) -> bool:
    """Return whether a reply only asks the client for input, with which the call is then made again."""
    result = reply.get("result")
    return isinstance(result, Mapping) and result.get("resultType") == _ASKS


def texts_found(texts: Iterable[str], where: str) -> list[str]:
    """Return those of these texts that stand in a text as whole words."""
    # Most texts are not there at all, which is found much faster without a pattern.
    return [text for text in texts if text in where and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", where)]


class TextIndex:
    """Texts that are looked for in many places: of many texts, only those that may be there are searched.

    A text that stands somewhere as whole words has each of its words there, so its longest word is enough."""

    def __init__(self) -> None:
        self._places: dict[str, tuple[int, int]] = {}
        """By each text, its rank in the order of adding, and its place."""
        self._by_word: dict[str, list[str]] = {}

    def add(self, text: str, place: int) -> None:
        """Add a text with its place, unless it is known."""
        if text not in self._places:
            self._places[text] = len(self._places), place
            self._by_word.setdefault(_longest_word(text), []).append(text)

    def found(self, where: str) -> list[tuple[str, int]]:
        """Return the texts that stand in a text as whole words, with their places, in the order of adding."""
        words = {"", *_PLAIN_WORD.findall(where)} if self._places else set()
        candidates = [text for word in words for text in self._by_word.get(word, ())]
        found = sorted(texts_found(candidates, where), key=self._places.__getitem__)
        return [(text, self._places[text][1]) for text in found]


def _longest_word(text: str) -> str:
    """Return a word of the text; empty if it has none."""
    return max(_PLAIN_WORD.findall(text), key=len, default="")


def texts_in(value: object) -> Iterator[str]:
    """Yield the texts and numbers of a JSON value, as texts."""
    if isinstance(value, Mapping):
        for each in value.values():
            yield from texts_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts_in(each)
    elif isinstance(value, str):
        yield value.strip()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
