"""Targets of rules, checked against the names that a server has: a target that matches none is a mistake.
Pure.

A mock knows all its names; a gateway knows only those that the server's lists have shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from faultkit.base.errors import InputError
from faultkit.base.text import did_you_mean
from faultkit.plan import Rule
from faultkit.plan.match import SUBJECTS

METHODS = (
    "initialize",
    "server/discover",
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "subscriptions/listen",
    "tasks/get",
    "tasks/list",
    "tasks/result",
    "tasks/update",
    "tasks/cancel",
)
"""Request methods of all protocol versions."""
_MOST_SHOWN = 20
"""Names in an error message."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """What is known of a server; None means unknown."""

    server: str | None = None
    """Name of the server; empty if it has none."""
    tools: tuple[str, ...] | None = None
    resources: tuple[str, ...] | None = None
    """URIs of the resources."""
    prompts: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    resource_prefixes: tuple[str, ...] = ()
    """Beginnings of the URIs that templates of resources stand for."""

    def names(self, noun: str) -> tuple[str, ...] | None:
        """Return the known names of one kind: `tool`, `resource`, `prompt` or `method`."""
        known: tuple[str, ...] | None = getattr(self, f"{noun}s")
        return known


@dataclass(frozen=True, slots=True)
class Target:
    """One name or glob in a rule."""

    path: str
    """Path in the document of the rule."""
    noun: str
    """`tool`, `resource`, `prompt`, `method` or `server`."""
    glob: str

    def is_among(self, names: Iterable[str]) -> bool:
        """Return whether the target matches one of these names."""
        return any(fnmatchcase(name, self.glob) for name in names)

    def may_begin(self, prefix: str) -> bool:
        """Return whether the target may match a name that begins so."""
        fixed = re.split(r"[*?\[]", self.glob, maxsplit=1)[0]
        is_whole = fixed == self.glob
        return fixed.startswith(prefix) or (not is_whole and prefix.startswith(fixed))

    def missed(self, names: Iterable[str]) -> str:
        """Return the message for a target that is not among these names."""
        known = sorted(names)
        guess = did_you_mean(self.glob, known, "'")
        more = ", …" if len(known) > _MOST_SHOWN else ""
        shown = ", ".join(known[:_MOST_SHOWN]) or "none"
        return f'no {self.noun} is named "{self.glob}"{guess} ({self.noun}s: {shown}{more})'


def targets_of(rule: Rule) -> Iterator[Target]:
    """Yield all targets of a rule but the server."""
    for noun in SUBJECTS:
        glob = getattr(rule.match, noun)
        if glob is not None:
            yield Target(f"match.{noun}", noun, glob)
    tools = getattr(rule.fault, "tools", None)
    if isinstance(tools, str):
        yield Target("with.tools", "tool", tools)
    for index, method in enumerate(rule.match.methods):
        is_alone = isinstance(rule.match.method, str)
        yield Target("match.method" if is_alone else f"match.method[{index}]", "method", method)


def unmet_targets(rule: Rule, has: Inventory) -> Iterator[InputError]:
    """Yield an error for each target of the rule that can never match."""
    wanted = rule.match.server
    if has.server is not None and wanted is not None and not fnmatchcase(has.server, wanted):
        fitting = f'"{has.server}" or a glob of it' if has.server else "a server that has a name (--name)"
        yield InputError("match.server", f'expected {fitting}, got "{wanted}"')
    for target in targets_of(rule):
        names = has.names(target.noun)
        if target.noun == "resource" and any(map(target.may_begin, has.resource_prefixes)):
            continue
        if names is not None and not target.is_among(names):
            yield InputError(target.path, target.missed(names))
