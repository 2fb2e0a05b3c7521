"""From a syntax tree to facts: one walk that collects, then names are resolved and values are made. Pure.

What differs by language is in the `Grammar` of each; which function answers requests is in `routes`.
"""

from __future__ import annotations

from dataclasses import replace

from faultkit.code.facts.collect import Collected, collect
from faultkit.code.facts.facts import Facts
from faultkit.code.facts.go import GO
from faultkit.code.facts.grammar import Grammar
from faultkit.code.facts.handlers import tries_of
from faultkit.code.facts.java import JAVA
from faultkit.code.facts.javascript import JAVASCRIPT
from faultkit.code.facts.model import Imports
from faultkit.code.facts.python import PYTHON
from faultkit.code.facts.resolve import Resolver
from faultkit.code.facts.routes import with_routes
from faultkit.code.syntax import Syntax

GRAMMARS: dict[str, Grammar] = {
    "python": PYTHON,
    "javascript": JAVASCRIPT,
    "typescript": JAVASCRIPT,
    "tsx": JAVASCRIPT,
    "go": GO,
    "java": JAVA,
}
"""The languages of which facts are known."""


def facts_of(syntax: Syntax) -> Facts:
    """Of any text, broken or not. Raises KeyError if the language has no grammar in GRAMMARS."""
    grammar = GRAMMARS[syntax.language.name]
    found: Collected = collect(syntax, grammar)
    resolver = Resolver(found)
    calls = resolver.calls()
    scopes = with_routes(found, resolver)
    facts = Facts(
        syntax=syntax,
        imports=Imports(found.imports, frozenset(found.modules)),
        scopes=tuple(sorted(scopes, key=lambda scope: (scope.span.start, -scope.span.end))),
        calls=calls,
        loops=tuple(sorted(found.loops, key=lambda loop: (loop.span.start, -loop.span.end))),
        tries=(),
        assignments=resolver.assignments(),
        accesses=resolver.accesses(),
        steps=tuple(found.steps),
        texts=tuple(found.texts),
        classes={name: tuple(map(resolver.whole, bases)) for name, bases in found.classes.items()},
        managed=resolver.managed(),
    )
    return replace(facts, tries=tries_of(found, facts, resolver))
