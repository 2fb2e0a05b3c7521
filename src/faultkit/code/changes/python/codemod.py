"""From a function that collects what is to be rewritten to a codemod: reading and writing is done here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import libcst as cst

from faultkit.code.changes.change import Change, Codemod, Source
from faultkit.code.changes.diff import edits_between
from faultkit.code.changes.python.rewriting import Rewriting
from faultkit.code.changes.python.tree import Tree
from faultkit.code.facts import Call, Facts
from faultkit.code.rules.rule import Finding


@dataclass(frozen=True)
class Work:
    """What a codemod is given: the text, its tree, the findings, and where to put what it wants."""

    source: Source
    tree: Tree
    findings: tuple[Finding, ...]
    new: Rewriting
    dependencies: list[str] = field(default_factory=list)

    @property
    def facts(self) -> Facts:
        return self.source.facts

    def calls(self) -> Iterator[tuple[Finding, Call, cst.Call]]:
        """Findings that point at a call, with the call as facts and as the tree have it."""
        for finding in self.findings:
            call, node = self.source.call_at(finding), self.tree.at(finding.span, cst.Call)
            if call is not None and node is not None:
                yield finding, call, node

    def node(self, call: Call) -> cst.Call | None:
        return self.tree.at(call.span, cst.Call)


@lru_cache(maxsize=2)
def _tree(text: str) -> Tree:
    """Trees are read only, and all codemods that are tried on one text read the same."""
    return Tree(text)


def python_codemod(
    name: str,
    slugs: tuple[str, ...],
    description: str,
    collect: Callable[[Work], None],
    *,
    stage: int = 0,
) -> Codemod:
    def rewrite(source: Source, findings: tuple[Finding, ...]) -> Change | None:
        try:
            tree = _tree(source.text)
        except cst.ParserSyntaxError:
            return None
        work = Work(source, tree, findings, Rewriting(tree))
        collect(work)
        if work.new.is_empty:
            return None
        edits = edits_between(source.text, work.new.done())
        if not edits:
            return None
        return Change(
            rules=tuple(sorted({each.rule.id for each in findings})),
            description=description,
            edits=edits,
            imports=tuple(each.statement for each in work.new.left_out),
            dependencies=tuple(sorted({*work.dependencies})),
        )

    return Codemod(name, slugs, rewrite, stage)
