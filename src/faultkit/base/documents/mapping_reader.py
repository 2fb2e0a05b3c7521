"""The one reader of mappings: it takes them key by key, by a table of keys.

Two ways to report mistakes. With a list of problems, each mistake is added to it with its path and reading
goes on, so that users see every mistake of a file at once. Without a list, the first mistake is raised. A key
without a value counts as not given, unless the table declares otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

from faultkit.base.documents.checks import advice, join_path, shown
from faultkit.base.documents.key_tables import KeyTable
from faultkit.base.errors import InputError

T = TypeVar("T")
U = TypeVar("U")


class _RaisedProblems(list[InputError]):
    """Takes the place of a list of problems and raises the first one."""

    def append(self, error: InputError) -> None:
        raise error


class MappingReader:
    """One mapping of a document. If the list of problems grew, the caller must discard the result."""

    __slots__ = ("_table", "given", "path", "problems", "sound")

    def __init__(
        self,
        value: object,
        keys: KeyTable | Sequence[str],
        path: str = "",
        problems: list[InputError] | None = None,
    ) -> None:
        self.path = path
        self.problems: list[InputError] = _RaisedProblems() if problems is None else problems
        self._table = keys if isinstance(keys, KeyTable) else KeyTable()
        self.given: dict[str, Any] = {}
        """The values of the known keys that have one, as the document has them."""
        self.sound = isinstance(value, Mapping)
        """False: the value is no mapping, so keys that are missing in it are not reported."""
        if not isinstance(value, Mapping):
            self.problems.append(InputError(path, f"expected a mapping, got {shown(value)}"))
            return
        known = keys.names if isinstance(keys, KeyTable) else keys
        for key, each in value.items():
            if key in self._table.unsupported:
                self.problems.append(InputError(join_path(path, key), self._table.unsupported[key]))
            elif key not in known:
                self.problems.append(InputError(join_path(path, key), f"unknown key; {advice(key, known)}"))
            elif each is not None or not self._table.has_nulls:
                self.given[key] = each

    @overload
    def take(self, key: str) -> Any: ...
    @overload
    def take(self, key: str, read: Callable[[object], T], default: U) -> T | U: ...
    def take(self, key: str, read: Callable[[object], Any] | None = None, default: Any = None) -> Any:
        """Return the checked value of a key; its default if the key is not given or wrong.

        Without `read`, the table defines how to read it, its default, and whether it is required."""
        if read is None:
            row = self._table[key]
            assert row.read is not None, key
            read, default = row.read, row.default
            if row.required:
                return self.need(key, read, default, row.required)
        if key not in self.given:
            return default
        try:
            return read(self.given[key])
        except InputError as error:
            self.note(key, error)
            return default

    def need(self, key: str, read: Callable[[object], T], default: U, expected: str) -> T | U:
        """Return the checked value of a key that must be given."""
        self.require(key, expected)
        return self.take(key, read, default)

    def need_one(self, keys: Sequence[str]) -> str | None:
        """Return which of these keys is given. None, which is reported, if it is none or several."""
        given = [key for key in keys if key in self.given]
        if len(given) == 1:
            return given[0]
        if self.sound:
            problem = f"expected one of {', '.join(keys)}, got {' and '.join(given) or 'none'}"
            self.problems.append(InputError(self.path, problem))
        return None

    def require(self, key: str, expected: str) -> None:
        """Report a key that is missing."""
        if key not in self.given and self.sound:
            self.note(key, InputError("", f"expected {expected}, got nothing"))

    def values(self, *names: str) -> dict[str, Any]:
        """Return the checked values of the given keys (of these names, or all) that are right."""
        found = {}
        for key in names or self._table.names:
            if key in self.given:
                before = len(self.problems)
                value = self.take(key)
                if len(self.problems) == before:
                    found[key] = value
        return found

    def inner(self, key: str, keys: KeyTable | Sequence[str] | None = None) -> MappingReader:
        """Return the reader of a mapping below this one; of an empty mapping if the key is not given."""
        table = self._table[key].schema if keys is None else keys
        assert isinstance(table, KeyTable | Sequence), key
        return MappingReader(self.given.get(key, {}), table, join_path(self.path, key), self.problems)

    def each(self, key: str, what: str) -> list[tuple[str, object]]:
        """Return the elements of a list, each with its path."""
        path, value = join_path(self.path, key), self.given.get(key, [])
        if not isinstance(value, list | tuple):
            self.problems.append(InputError(path, f"expected a list of {what}, got {shown(value)}"))
            return []
        return [(f"{path}[{index}]", element) for index, element in enumerate(value)]

    def at_most_one(self, *keys: str) -> str | None:
        """Return which of these keys is given; report each further one."""
        found = [key for key in keys if key in self.given]
        for key in found[1:]:
            self.note(key, InputError("", f"expected only one of {', '.join(keys)}, got {found[0]} too"))
        return found[0] if found else None

    def note(self, key: str, error: InputError) -> None:
        """Report an error below a key, or of the key itself if the error has no path."""
        self.problems.append(error.within(join_path(self.path, key)))
