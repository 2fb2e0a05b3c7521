"""Decides whether a backtracking engine can take exponential time on a regular expression. Pure.

It can if some state of the expression's automaton is reached from itself by two different ways that read the
same text, and a text exists on which the match fails after that text was repeated: each repetition doubles
the ways that are tried. (RE2 and Go follow all ways at once, and are safe.)

The automaton has one state for each set of characters in the expression. Between two states there may be
more than one way that reads nothing, as in `(a*)*`; those are counted, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

from faultkit.code.rules.vocabulary.character_properties import Ranges
from faultkit.code.rules.vocabulary.expression_tree import (
    Assertion,
    Chars,
    Choice,
    Repeat,
    Sequence,
    Tree,
    common,
    parse_expression,
)

_MOST_STATES = 150
_MOST_PAIRS = 12_000
_MOST_STEPS = 20_000
_FEW = 4
"""Repetitions up to this number are written out; more count as any number."""
_START = -1


@lru_cache(maxsize=1024)
def ambiguous_text(pattern: str, language: str, flags: str = "", whole: bool = False) -> str:
    """Return a text whose repetitions make a match exponentially slow; empty if there is none.

    `whole` says that the match must reach the end of the text, as with `fullmatch`.
    """
    if pattern.count("*") + pattern.count("+") + pattern.count("{") < 1 or "(" not in pattern:
        return ""
    try:
        machine = _Machine(parse_expression(pattern, language, flags), whole)
        for word, state in machine.ambiguous_words():
            if machine.fails_after(state, word):
                return word
    except (ValueError, RecursionError):
        return ""
    return ""


@dataclass(slots=True)
class _Graph:
    """Nodes with edges that read nothing, and for each state the node before and the node after it."""

    free: list[list[tuple[int, str]]] = field(default_factory=list)
    states: list[tuple[Ranges, int, int]] = field(default_factory=list)

    def node(self) -> int:
        self.free.append([])
        return len(self.free) - 1

    def link(self, one: int, other: int, kind: str = "") -> None:
        self.free[one].append((other, kind))

    def build(self, tree: Tree, begin: int) -> int:
        """Add a tree after a node; return the node after it."""
        if isinstance(tree, Chars):
            if len(self.states) >= _MOST_STATES:
                raise ValueError("too long")
            before, after = self.node(), self.node()
            self.link(begin, before)
            self.states.append((tree.ranges, before, after))
            return after
        if isinstance(tree, Assertion):
            after = self.node()
            self.link(begin, after, tree.kind)
            return after
        if isinstance(tree, Sequence):
            for part in tree.parts:
                begin = self.build(part, begin)
            return begin
        if isinstance(tree, Choice):
            after = self.node()
            for part in tree.parts:
                inner = self.node()
                self.link(begin, inner)
                self.link(self.build(part, inner), after)
            return after
        return self._repeat(tree, begin)

    def _repeat(self, tree: Repeat, begin: int) -> int:
        least, most = min(tree.least, _FEW), tree.most
        if most is not None and most <= _FEW:
            for _ in range(least):
                begin = self.build(tree.part, begin)
            after = self.node()
            for _ in range(most - least):
                self.link(begin, after)
                begin = self.build(tree.part, begin)
            self.link(begin, after)
            return after
        for _ in range(least - 1):
            begin = self.build(tree.part, begin)
        inner, after = self.node(), self.node()
        self.link(begin, inner)
        last = self.build(tree.part, inner)
        self.link(last, inner)
        self.link(last, after)
        if least == 0:
            self.link(begin, after)
        return after


class _Machine:
    """The automaton: states, and the states that may follow each."""

    def __init__(self, tree: Tree, whole: bool) -> None:
        self.graph = _Graph()
        first = self.graph.node()
        self.last = self.graph.build(tree, first)
        self.whole = whole
        self.steps = 0
        self.sets = [ranges for ranges, _, _ in self.graph.states]
        self.next: dict[int, dict[int, int]] = {_START: self._ways(first)}
        """For each state the states that may follow, with the number of ways to them, at most two."""
        for place, (_, _, after) in enumerate(self.graph.states):
            self.next[place] = self._ways(after)
        self.ends = {_START: self._end(first)}
        for place, (_, _, after) in enumerate(self.graph.states):
            self.ends[place] = self._end(after)

    def _ways(self, begin: int) -> dict[int, int]:
        before = {node: place for place, (_, node, _) in enumerate(self.graph.states)}
        found: dict[int, int] = {}

        def follow(node: int, seen: frozenset[int]) -> None:
            self.steps += 1
            if self.steps > _MOST_STEPS:
                raise ValueError("too many ways")
            if node in before:
                found[before[node]] = min(2, found.get(before[node], 0) + 1)
            for other, kind in self.graph.free[node]:
                # No text follows the end, and what `\b` and `^` demand is not known here.
                if other not in seen and (kind in ("", "look") or (kind == "place" and begin == 0)):
                    follow(other, seen | {other})

        follow(begin, frozenset({begin}))
        return found

    def _end(self, begin: int) -> str:
        """Return whether the match may end here: `now`, `end` if only at the end of the text, or nothing."""
        best, todo, seen = "", [(begin, "now")], set[tuple[int, str]]()
        while todo:
            node, how = todo.pop()
            if (node, how) in seen:
                continue
            seen.add((node, how))
            if node == self.last:
                best = "now" if how == "now" or best == "now" else "end"
            for other, kind in self.graph.free[node]:
                todo.append((other, how if not kind else "end"))
        return "end" if best and self.whole else best

    # Ambiguity.

    def ambiguous_words(self) -> Iterator[tuple[str, int]]:
        """Yield texts that lead from a state to itself by two ways, with that state."""
        component = _components({state: list(ways) for state, ways in self.next.items()})
        for state, ways in self.next.items():
            for other, count in ways.items():
                if count > 1 and component[state] == component[other]:
                    back = [] if other == state else _path(other, state, lambda each: [*self.next[each]])
                    yield "".join(_letter(self.sets[each]) for each in (other, *back)), state
        yield from self._by_pairs(component)

    def _by_pairs(self, component: dict[int, int]) -> Iterator[tuple[str, int]]:
        """Yield texts that two different rows of states can read, from one state and back to it."""
        inside = {
            state: [other for other in ways if component[other] == component[state]]
            for state, ways in self.next.items()
        }

        def follow(pair: tuple[int, int]) -> list[tuple[int, int]]:
            return [
                (min(one, other), max(one, other))
                for one in inside[pair[0]]
                for other in inside[pair[1]]
                if common(self.sets[one], self.sets[other])
            ]

        edges: dict[tuple[int, int], list[tuple[int, int]]] = {}
        todo = [(state, state) for state, ways in inside.items() if ways and state != _START]
        while todo:
            pair = todo.pop()
            if pair not in edges:
                edges[pair] = follow(pair)
                todo += edges[pair]
            if len(edges) > _MOST_PAIRS:
                raise ValueError("too many pairs")
        joined = _components(edges)
        apart = {joined[pair]: pair for pair in edges if pair[0] != pair[1]}
        for pair in edges:
            if pair[0] == pair[1] and joined[pair] in apart:
                middle = apart[joined[pair]]
                way = [*_path(pair, middle, edges.__getitem__), *_path(middle, pair, edges.__getitem__)]
                yield "".join(_letter(common(self.sets[one], self.sets[two])) for one, two in way), pair[0]

    # Failure.

    def fails_after(self, state: int, word: str) -> bool:
        """Return whether a match can fail on a text that leads to a state and repeats a word there."""
        way = _path(_START, state, lambda each: [*self.next[each]])
        text = "".join(_letter(self.sets[each]) for each in way) + word * 4
        at = frozenset({_START})
        for letter in text:
            if self._is_matched(at):
                return False
            at = self._step(at, letter)
        letters = {_letter(((low, low),)) for ranges in self.sets for low, _ in ranges}
        letters |= {chr(high + 1) for ranges in self.sets for _, high in ranges if high < 0x10FFFF}
        todo = [(at, 0)]
        while todo:
            at, depth = todo.pop()
            if self._is_matched(at):
                continue
            if not any(self.ends[each] for each in at):
                return True
            if depth < 2:
                todo += {(self._step(at, letter), depth + 1) for letter in letters}
        return False

    def _step(self, at: frozenset[int], letter: str) -> frozenset[int]:
        code = ord(letter)
        return frozenset(
            other
            for each in at
            for other in self.next[each]
            if any(low <= code <= high for low, high in self.sets[other])
        )

    def _is_matched(self, at: frozenset[int]) -> bool:
        return any(self.ends[each] == "now" for each in at)


_Key = TypeVar("_Key")


def _letter(ranges: Ranges) -> str:
    """Return a character of a set, one that can be shown if there is one."""
    for shown in (((97, 122),), ((48, 57),), ((65, 90),), ((33, 126),), ((32, 32),)):
        if found := common(ranges, shown):
            return chr(found[0][0])
    return chr(ranges[0][0]) if ranges else ""


def _path(begin: _Key, end: _Key, follow: Callable[[_Key], list[_Key]]) -> list[_Key]:
    """Return the shortest way from one node to another, without the first; raises ValueError if none is."""
    before: dict[_Key, _Key] = {}
    todo = deque([begin])
    while todo:
        each = todo.popleft()
        for other in follow(each):
            if other in before:
                continue
            before[other] = each
            if other == end:
                way = [end]
                while before[way[-1]] != begin:
                    way.append(before[way[-1]])
                return way[::-1]
            todo.append(other)
    raise ValueError("no way")


def _components(edges: Mapping[_Key, list[_Key]]) -> dict[_Key, int]:
    """Return the number of the strongly connected component of each node (Tarjan, without recursion)."""
    index: dict[_Key, int] = {}
    low: dict[_Key, int] = {}
    found: dict[_Key, int] = {}
    stack: list[_Key] = []
    for root in edges:
        if root in index:
            continue
        work: list[tuple[_Key, Iterator[_Key]]] = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while work:
            node, others = work[-1]
            for other in others:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    work.append((other, iter(edges[other])))
                    break
                if other not in found:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    number = index[node]
                    while True:
                        each = stack.pop()
                        found[each] = number
                        if each == node:
                            break
    return found
