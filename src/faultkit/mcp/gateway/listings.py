"""What a server's lists show in passing: output schemas of tools, and targets of rules that do not exist.

Lists may change, and an unlisted tool may be called all the same, so a missing target is only warned of,
once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from faultkit.mcp.injector import Injector
from faultkit.mcp.targets import Target, targets_of
from faultkit.mcp.wire.message import Incoming
from faultkit.plan import Plan

_KEYS = {"tool": "name", "resource": "uri", "prompt": "name"}
"""Kinds of lists, and the key of an entry that a target is compared with."""
_MOST_NAMES = 10_000
"""Limit of names kept of one kind; beyond it, nothing is checked."""

_Aim: TypeAlias = tuple[str, Target]
"""The name of a rule and one of its targets."""


class Listings:
    """The lists of the server behind a gateway; all sessions share them."""

    def __init__(self, injector: Injector, warn: Callable[[str], None]) -> None:
        self._injector = injector
        self._warn = warn
        self._plan = Plan()
        self._open: dict[str, list[_Aim]] = {}
        """Targets of the plan, by kind, that have not been compared with a complete list."""
        self._settled: set[_Aim] = set()
        self._seen: dict[str, set[str]] = {noun: set() for noun in _KEYS}

    def wants(self, method: str) -> bool:
        """Return whether the reply to this method has to be parsed."""
        return method == "tools/list" or any(method == f"{noun}s/list" for noun in self._unsettled())

    def learn(self, reply: Incoming) -> None:
        """Learn from a reply; replies that list nothing are ignored."""
        if reply.kind != "response":
            return
        nouns = [noun for noun in self._unsettled() if b'"%ss"' % noun.encode() in reply.raw]
        if not nouns and b'"outputSchema"' not in reply.raw:
            return
        result = reply.message.get("result")
        if not isinstance(result, dict):
            return
        if isinstance(result.get("tools"), list):
            self._injector.learn_tools(result["tools"])
        for noun in nouns:
            entries = result.get(f"{noun}s")
            if isinstance(entries, list):
                self._take(noun, entries, is_last="nextCursor" not in result)

    def _unsettled(self) -> dict[str, list[_Aim]]:
        plan = self._injector.plan
        if plan is not self._plan:
            self._plan = plan
            aims = [(rule.name, target) for rule in plan.rules for target in targets_of(rule)]
            self._settled.intersection_update(aims)
            self._open = {}
            for aim in aims:
                if aim[1].noun in _KEYS and aim not in self._settled:
                    self._open.setdefault(aim[1].noun, []).append(aim)
        return self._open

    def _take(self, noun: str, entries: list[Any], *, is_last: bool) -> None:
        """Take one page of a list; only after the last page is it known what is missing."""
        seen = self._seen[noun]
        names = (entry.get(_KEYS[noun]) for entry in entries if isinstance(entry, dict))
        seen.update(name for name in names if isinstance(name, str))
        if len(seen) > _MOST_NAMES:
            seen.clear()
            del self._open[noun]
        elif is_last:
            aims = self._open.pop(noun)
            self._settled.update(aims)
            for rule, target in aims:
                if not target.is_among(seen):
                    self._warn(f'rule "{rule}": {target.missed(seen)}')
