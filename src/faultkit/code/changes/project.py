"""What a change has to honour of the project around a file, as a value. Pure.

`faultkit.code.advice.project_settings` reads it from the files of a project.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Project:
    """Settings of the project around a file. The default stands for a text without a project."""

    declared: frozenset[str] | None = None
    """Normalized names of declared dependencies; None if the project declares none."""
    declared_in: str = ""
    """The file that declares them."""
    line_length: int | None = None
    """Columns that the project's formatter allows; None if the project sets none."""
    python: tuple[int, int] | None = None
    """The oldest supported Python; None if it is not declared."""
    node: tuple[int, int] | None = None
    own: frozenset[str] = frozenset()
    """Names of the top-level Python packages and modules of the project."""
    package: tuple[tuple[str, str], ...] = ()
    """Names and texts of the other Go files in the same folder, with which the file shares its names."""
    is_imported: bool = False
    """Whether another Python file, which is no test, may import the file, which makes a web application."""

    sets_default_client: bool = False
    """Whether a file of the Go module may change the settings of http.DefaultClient."""
    faked: frozenset[str] = frozenset()
    """Names that its tests replace, as they are written there: `shop.prices.requests.get`."""
    compared: frozenset[str] = frozenset()
    """Those of them whose tests may look at the arguments of calls."""

    def fakes(self, name: str, *, compares: bool = False) -> bool:
        """Return whether tests replace a function of this resolved name, its class or its module.

        compares: only tests that may look at the arguments"""
        wanted = _parts(name)
        for given in map(_parts, self.compared if compares else self.faked):
            if given[-2:] == wanted[-2:] or given[-1] in wanted[:-1]:
                return True
            if given[-1] == wanted[-1] and wanted[-1] not in _COMMON:
                return True
            if wanted[0] == "requests" and given[-1] in _ALL_REQUESTS and {*given[:-1]} & _REQUESTERS:
                return True
        return False

    def lacks(self, package: str) -> bool:
        """Return whether dependencies are declared and this one is not among them."""
        return self.declared is not None and normalized_name(package) not in self.declared

    def supports_python(self, major: int, minor: int) -> bool:
        """Return whether no supported Python is older than this; True if none is declared."""
        return self.python is None or self.python >= (major, minor)


NO_PROJECT = Project()


def normalized_name(name: str) -> str:
    """Return the name of a Python package as the index compares it; Go modules stay as they are."""
    return re.sub(r"[-_.]+", "-", name).lower() if "/" not in name else name


_DEFAULT_CLIENT = re.compile(r"\bDefaultClient\b(?!\.(?:Do|Get|Head|Post|PostForm)\()")


def sets_default_client(text: str) -> bool:
    """Return whether a text of Go mentions http.DefaultClient other than to send a request."""
    return _DEFAULT_CLIENT.search(text) is not None


_COMMON = frozenset(("connect", "delete", "get", "head", "open", "patch", "post", "put", "request", "time"))
"""Last parts of names that many functions share."""
_ALL_REQUESTS = ("request", "send")
_REQUESTERS = frozenset(("requests", "session", "sessions", "httpadapter"))


def _parts(name: str) -> list[str]:
    """Return the parts of a dotted name; an object counts like its class: `self._session.get`."""
    return [each.strip("_").lower() for each in name.replace("()", "").split(".")]
