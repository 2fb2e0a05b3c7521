"""The errors that reach a user, and the exit code of each.

    FaultkitError
      InputError     the user's file or argument is wrong                  exit 2
      TargetError    a port, host or system under test cannot be had       exit 3
      RunError       we could not finish                                   exit 4

An injected failure is data and a missed objective is a result (exit 1): neither is an exception.
"""

from __future__ import annotations


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

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str]]:
        """Pickled by its two parts: the one text made of them does not make it again."""
        return type(self), (self.path, self.problem)

    def within(self, parent: str) -> InputError:
        """The same error seen from one level further out."""
        joint = "" if not self.path or self.path.startswith("[") else "."
        return InputError(f"{parent}{joint}{self.path}", self.problem)


class TargetError(FaultkitError):
    """The other end cannot be reached, or a port cannot be had."""

    exit_code = 3


class RunError(FaultkitError):
    """The work began and could not be finished."""
