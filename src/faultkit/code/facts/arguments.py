"""Reads the arguments of a call: positional ones, keywords, and the keys of options objects."""

from __future__ import annotations

from faultkit.code.facts.expressions import unwrap, value_of
from faultkit.code.facts.fact_values import Argument
from faultkit.code.facts.grammar import Grammar
from faultkit.code.languages.syntax import Node


def arguments_of(grammar: Grammar, node: Node) -> tuple[Argument, ...]:
    """Return the arguments of a call, and the keys of options objects among them."""
    arguments: list[Argument] = []
    place = 0
    for each in grammar.arguments(node):
        keyword = grammar.keyword(each)
        spread = grammar.spread(each)
        if keyword is not None:
            arguments += _keyed(grammar, keyword[0], keyword[1], -1)
            continue
        value = value_of(grammar, each)
        arguments.append(Argument(value, spread, place))
        if value.shape == "object":
            arguments += _inside(grammar, unwrap(grammar, each), "", place)
        place += 1
    return tuple(arguments)


def _keyed(grammar: Grammar, name: str, value: Node, place: int) -> list[Argument]:
    found = [Argument(value_of(grammar, value), name, place)]
    inner = unwrap(grammar, value)
    if grammar.shapes.get(inner.type) == "object" and name.count(".") < 4:
        found += _inside(grammar, inner, name + ".", place)
    return found


def _inside(grammar: Grammar, literal: Node, prefix: str, place: int) -> list[Argument]:
    found: list[Argument] = []
    for each in grammar.pairs(literal):
        keyword = grammar.keyword(each)
        if keyword is not None:
            found += _keyed(grammar, prefix + keyword[0], keyword[1], place)
        elif (spread := grammar.spread(each)) and not prefix:
            found.append(Argument(value_of(grammar, each), spread, place))
    return found
