"""Which rules could find something in a text, by the words of the rules. Pure.

Most rules are about few things, and most texts have none of them. A text is split into its words once. What a
word means for all rules is looked up, because the same words come again in every file of a project; so the
time does not grow with the number of rules.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.languages.syntax import words_of
from faultkit.code.rules.rule import Rule

_KEPT = 100_000
"""Words of texts whose meaning is kept."""
_START = 3
"""Letters by which the words of rules are found."""
_PLAIN = lazy_regex(rb"\w+")


class RuleWords:
    """The rules of one language, by their words.

    A set of rules is a number with a bit for each rule, in their order. Above those are bits for what is no
    single word, such as `.send(`: it is looked for in texts that have its longest word."""

    def __init__(self, rules: tuple[Rule, ...], language: str) -> None:
        self._rules = [rule for rule in rules if language in rule.languages]
        self._always = 0
        self._by_start: dict[bytes, list[tuple[bytes, int]]] = {}
        self._phrases: dict[bytes, tuple[int, int]] = {}
        """What is no single word, with its own bit and those of its rules."""
        self._known = _Meanings(self._meaning)
        for place, rule in enumerate(self._rules):
            self._always |= 0 if rule.words else 1 << place
            for word in rule.words:
                self._add(word, 1 << place)

    def _add(self, word: bytes, rule: int) -> None:
        longest = max(_PLAIN.findall(word), key=len, default=b"")
        if longest == word and len(word) >= _START:
            self._by_start.setdefault(word[:_START], []).append((word, rule))
            return
        new = 1 << (len(self._rules) + len(self._phrases))
        own, others = self._phrases.get(word, (new, 0))
        self._phrases[word] = own, others | rule
        if others:
            return
        if len(longest) >= _START:
            self._by_start.setdefault(longest[:_START], []).append((longest, own))
        else:
            self._always |= own

    def candidates(self, source: bytes, words: frozenset[bytes] | None = None) -> list[Rule]:
        """Return the rules that have no words, or one of whose words stands in the text.

        `words` are those of the text, if they are known."""
        found = self._always
        # Most words mean nothing to any rule.
        for meant in filter(None, map(self._known.__getitem__, words_of(source) if words is None else words)):
            found |= meant
        for phrase, (own, rules) in self._phrases.items():
            if found & own and rules & ~found and phrase in source:
                found |= rules
        return [rule for place, rule in enumerate(self._rules) if found >> place & 1]

    def _meaning(self, word: bytes) -> int:
        meant = 0
        for at in range(len(word) - _START + 1):
            for part, bits in self._by_start.get(word[at : at + _START], ()):
                if word.startswith(part, at):
                    meant |= bits
        return meant


class _Meanings(dict[bytes, int]):
    """The rules that words of texts mean, of the latest words: what is missing is found and kept."""

    def __init__(self, find: Callable[[bytes], int]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, word: bytes) -> int:
        if len(self) >= _KEPT:
            self.clear()
        self[word] = meant = self._find(word)
        return meant


@lru_cache(maxsize=64)
def rule_words(rules: tuple[Rule, ...], language: str) -> RuleWords:
    """Return the rules of a language by their words; the same object for the same rules."""
    return RuleWords(rules, language)
