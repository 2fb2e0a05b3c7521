"""The state of a mock: the calls so far, and what is listed after them. Pure.

Entries of a manifest may be listed only while a condition on the calls holds (`listed_when`), and texts of
resources may count calls (`${calls.TOOL}`). So lists and resources change by calls alone, and each change is
reported when it happens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from faultkit.mcp.mock.expressions import Condition
from faultkit.mcp.mock.mock_model import ListKind, Manifest, MockResource, MockTemplate


class ConditionalEntry(Protocol):
    """An entry that may be listed under a condition."""

    @property
    def listed_when(self) -> Condition | None: ...


Entry = TypeVar("Entry", bound=ConditionalEntry)


@dataclass(frozen=True, slots=True)
class ListChanged:
    """A list that shows other entries than before."""

    kind: ListKind


@dataclass(frozen=True, slots=True)
class ResourceUpdated:
    """A resource with other contents than before, or all resources of a template."""

    entry: MockResource | MockTemplate


Change: TypeAlias = ListChanged | ResourceUpdated


_KINDS: tuple[ListKind, ...] = ("tools", "resources", "prompts")


class MockState:
    """The counts of calls, and what depends on them."""

    def __init__(self, manifest: Manifest) -> None:
        self.calls = {tool.name: 0 for tool in manifest.tools}
        """Calls so far by tool."""
        self.on_change: Callable[[Change], None] = lambda change: None
        """Called with each change, when a call causes it."""
        self._conditional = {
            kind: [each for each in manifest.lists[kind] if each.listed_when is not None]
            for kind in _KINDS
            if kind in manifest.changing_lists
        }
        self._counting = [each for each in manifest.readable if each.counts]

    def is_listed(self, entry: ConditionalEntry) -> bool:
        """Return whether an entry is listed now; one that is not cannot be used either."""
        return entry.listed_when is None or entry.listed_when({"calls": self.calls})

    def listed(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return the entries that are listed now."""
        return [each for each in entries if self.is_listed(each)]

    def count(self, tool: str) -> int:
        """Count a call and report what changes by it; return the number of calls of the tool."""
        if not self._conditional and not self._counting:
            self.calls[tool] += 1
            return self.calls[tool]
        before = self._listed_names()
        self.calls[tool] += 1
        after = self._listed_names()
        for kind in before:
            if before[kind] != after[kind]:
                self.on_change(ListChanged(kind))
        for entry in self._counting:
            if tool in entry.counts and self.is_listed(entry):
                self.on_change(ResourceUpdated(entry))
        return self.calls[tool]

    def _listed_names(self) -> dict[ListKind, list[bool]]:
        return {
            kind: [self.is_listed(each) for each in entries] for kind, entries in self._conditional.items()
        }
