"""Reading mappings key by key: what is wrong is noted with its path, and reading goes on.

So users see every mistake of a file at once. A key without a value counts as not written. Nothing here
knows a key of the scenario format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from faultkit.base.documents.shape import advice, joined, shown
from faultkit.base.errors import InputError

T = TypeVar("T")
U = TypeVar("U")


class Reading:
    """One mapping of a document. Whoever gave the list of problems throws the result away if it grew."""

    __slots__ = ("given", "path", "problems", "sound")

    def __init__(self, value: object, keys: Sequence[str], path: str, problems: list[InputError]) -> None:
        self.path = path
        self.problems = problems
        self.given: dict[str, object] = {}
        self.sound = isinstance(value, Mapping)
        """False: there was no mapping to read, and to miss keys in it would help nobody."""
        if not isinstance(value, Mapping):
            problems.append(InputError(path, f"expected a mapping, got {shown(value)}"))
            return
        for key, each in value.items():
            if key not in keys:
                problems.append(InputError(joined(path, key), f"unknown key; {advice(key, keys)}"))
            elif each is not None:
                self.given[key] = each

    def take(self, key: str, read: Callable[[object], T], otherwise: U) -> T | U:
        """The value as `read` gives it; `otherwise` if it is not there or wrong."""
        if key not in self.given:
            return otherwise
        try:
            return read(self.given[key])
        except InputError as error:
            self.note(key, error)
            return otherwise

    def need(self, key: str, read: Callable[[object], T], otherwise: U, expected: str) -> T | U:
        """As `take`, but not to be there is wrong, too."""
        if key not in self.given and self.sound:
            self.problems.append(InputError(joined(self.path, key), f"expected {expected}, got nothing"))
        return self.take(key, read, otherwise)

    def inner(self, key: str, keys: Sequence[str]) -> Reading:
        """A mapping below this one; empty if it is not there."""
        return Reading(self.given.get(key, {}), keys, joined(self.path, key), self.problems)

    def each(self, key: str, what: str) -> list[tuple[str, object]]:
        """The elements of a list, each with its path."""
        path, value = joined(self.path, key), self.given.get(key, [])
        if not isinstance(value, list | tuple):
            self.problems.append(InputError(path, f"expected a list of {what}, got {shown(value)}"))
            return []
        return [(f"{path}[{index}]", element) for index, element in enumerate(value)]

    def note(self, key: str, error: InputError) -> None:
        """An error below a key, or of the key itself if the error has no path."""
        self.problems.append(error.within(joined(self.path, key)))
