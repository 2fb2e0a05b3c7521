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
