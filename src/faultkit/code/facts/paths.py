"""Reads paths: the parts of `a.b`, the callee of a call, and how a path is written."""

from __future__ import annotations

from functools import cache

from faultkit.base.text import one_line
from faultkit.code.facts.collected import CollectedNodes, RawScope
from faultkit.code.facts.expressions import unwrap
from faultkit.code.facts.grammar import Grammar, bare_name, part_of
from faultkit.code.languages import Language
from faultkit.code.languages.syntax import Node, field_number, named_kinds

DEEPEST = 40
"""The longest chain of variables and members that is followed."""
LONGEST = 40
"""The first length of a text that is no name, unless the grammar says so."""
_UNKNOWN = "?"


class Paths:
    """The paths of one text.

    Each is read twice, as it is written and to resolve it, and those in a chain of calls even more often:
    what was read is kept.
    """

    def __init__(self, found: CollectedNodes) -> None:
        self.grammar = found.grammar
        self._calls = found.calls
        self._text_of = found.syntax.text_of
        self._members: dict[int, tuple[Node | None, str]] = {}
        self.name_kinds, self.path_kinds, self._fields = _kinds_of(found.syntax.language, found.grammar)

    def callee(self, node: Node) -> tuple[Node | None, str]:
        """Return the callee of a call, and its method if that stands beside the callee."""
        known = self._calls.get(node.id)
        if known is None:
            return self.grammar.callee(node), self.grammar.own_name(node)
        return known.callee, known.own_name

    def member(self, node: Node, kind: str) -> tuple[Node | None, str]:
        """Return `a` and `b` of `a.b`, which has this type."""
        known = self._members.get(node.id)
        if known is None:
            fields = self._fields.get(kind)
            if fields is None:
                owner, name = self.grammar.members[kind]
                base, last = part_of(node, owner), part_of(node, name)
            else:
                # To look for the name of a field takes longer than to look for its number.
                base, last = node.child_by_field_id(fields[0]), node.child_by_field_id(fields[1])
            text = "" if last is None else bare_name(self._text_of(last))
            known = self._members[node.id] = base, text
        return known

    def written(self, node: Node, scope: RawScope | None) -> str:
        """Return a path as written, in one line, with `self` for the object itself and `()` for calls."""
        grammar = self.grammar
        node = unwrap(grammar, node)
        if node.type in grammar.names:
            text = self._text_of(node)
            return "self" if self.means_self(text, scope) else text
        parts: list[str] = []
        for _ in range(DEEPEST):
            kind = node.type
            if kind in grammar.members:
                base, name = self.member(node, kind)
                parts.append(name)
            elif kind in grammar.subscripts:
                base = part_of(node, grammar.subscripts[kind])
                parts.append("[]")
            elif kind in grammar.calls:
                base, own = self.callee(node)
                parts.append("()")
                if own:
                    parts.append(own)
                if base is None:
                    break
            else:
                is_name = kind in grammar.names
                text = self._text_of(node) if is_name else one_line(self._text_of(node))
                is_known = is_name or len(text) < LONGEST or text in grammar.self_names
                parts.append("self" if self.means_self(text, scope) else text if is_known else _UNKNOWN)
                break
            if base is None:
                break
            node = unwrap(grammar, base)
        if len(parts) == 1:
            return parts[0]
        return ".".join(reversed(parts)).replace(".()", "()").replace(".[]", "[]")

    def means_self(self, text: str, scope: RawScope | None) -> bool:
        """Return whether a text is the word for the object itself: `self`, `this`, the receiver in Go."""
        return text in self.grammar.self_names or (
            scope is not None and bool(text) and text == self._receiver(scope)
        )

    def _receiver(self, scope: RawScope) -> str:
        at: RawScope | None = scope
        while at is not None:
            if at.receiver:
                return at.receiver
            at = at.outer
        return ""

    def is_self(self, node: Node, scope: RawScope | None) -> bool:
        """Return whether a node is the object itself."""
        # The text of a long chain takes time to make, and is no name.
        is_short = node.end_byte - node.start_byte < LONGEST
        return is_short and self.means_self(self._text_of(node), scope)


@cache
def _kinds_of(
    language: Language, grammar: Grammar
) -> tuple[frozenset[int], dict[int, str], dict[str, tuple[int, int]]]:
    """Return the kinds of nodes that are names, those that are paths and no calls, with their types, and the
    numbers of the fields of paths."""
    kinds = named_kinds(language)
    names = frozenset(number for number, kind in kinds.items() if kind in grammar.names)
    paths = {number: kind for number, kind in kinds.items() if kind in grammar.members}
    fields = {
        kind: tuple(field_number(language, each) for each in parts) for kind, parts in grammar.members.items()
    }
    return (
        names,
        {number: kind for number, kind in paths.items() if kind not in grammar.calls},
        {kind: (owner, name) for kind, (owner, name) in fields.items() if owner and name},
    )
