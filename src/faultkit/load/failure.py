"""The ways in which a request fails, as its user would count them. Every one of them is an error."""

from __future__ import annotations

from enum import IntEnum


class Failure(IntEnum):
    """A small number, so that a million of them fit in an array; `label` is its name in reports."""

    NONE = 0
    DNS = 1
    """The name could not be resolved."""
    REFUSED = 2
    UNREACHABLE = 3
    RESET = 4
    CLOSED = 5
    """The connection ended in good order before the answer did."""
    TIMEOUT = 6
    TLS = 7
    PROTOCOL = 8
    """What came back is not HTTP, or the proxy would not let us through."""
    STATUS = 9
    """An answer came, and it says 500 to 599."""

    @property
    def label(self) -> str:
        return "status_5xx" if self is Failure.STATUS else self.name.lower()


FAILURES = tuple(failure for failure in Failure if failure)
