"""The errors that reach a user, and the exit code of each.

    FaultkitError
      InputError     the user's file or argument is wrong                  exit 2
      TargetError    a port, host or system under test is not available    exit 3
      RunError       the work could not be finished                        exit 4

An injected failure is data and a missed objective is a result (exit 1): neither is an exception.
"""

from __future__ import annotations

import copy
from typing import Any, Self


class FaultkitError(Exception):
    """Base of all errors that are shown to a user as one line."""

    exit_code = 4


class InputError(FaultkitError):
    """Something that the user wrote is wrong. `path` names it: `rules[2].with.mean_ms`."""

    exit_code = 2

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}" if path else problem)
        self.path = path
        self.problem = problem

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy all fields: by default, `__init__` would get the joined text and nothing else."""
        return _restored, (type(self), self.args, self.__dict__)

    def at(self, path: str) -> Self:
        """Return the same error, of the same type, with another path."""
        moved = copy.copy(self)
        InputError.__init__(moved, path, self.problem)
        return moved

    def within(self, parent: str) -> Self:
        """Return the same error with `parent` in front of its path."""
        joint = "" if not self.path or self.path.startswith("[") else "."
        return self.at(f"{parent}{joint}{self.path}")


def _restored(kind: type[InputError], args: tuple[Any, ...], fields: dict[str, Any]) -> InputError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


class TargetError(FaultkitError):
    """The other end cannot be reached, or a port is not available."""

    exit_code = 3


class RunError(FaultkitError):
    """The work began and could not be finished."""
