"""What the manifest nearest above a file says: dependencies, their versions, and that of the language.

Values only; `faultkit.code.review.manifests` reads them. Rules ask for them as `facts.project`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import TypeAlias

Version: TypeAlias = tuple[int, ...]
"""Major and minor version: `(5, 2)`; empty if it is not known."""


@dataclass(frozen=True, eq=False)
class Project:
    """The facts of one manifest. Without a manifest, all of them are empty."""

    dependencies: Mapping[str, Version] = field(default_factory=dict)
    """The lowest version that the manifest allows, by the name of the package. Those for
    development count."""
    language_version: Version = ()
    """The lowest version of Go or of Node."""
    name: str = ""
    """What the manifest calls the project; empty for that of a whole repository."""
    kinds: frozenset[str] = frozenset()
    """What else it says the project is: `android`, `exe`, `proc-macro`, `tests`, …"""
    tool_files: frozenset[str] = frozenset()
    """Files that only scripts for builds, checks and releases run, from the top of the repository."""
    for_tests: frozenset[str] = frozenset()
    """Names of dependencies that only its tests have, where the manifest tells them from others."""
    for_builds: frozenset[str] = frozenset()
    """Names of dependencies that only its build has, likewise."""

    def version_of(self, dependency: str) -> Version | None:
        """Return the lowest version of a dependency, empty if it is not known; None if there is no such
        dependency."""
        return self.dependencies.get(dependency)

    def has_at_least(self, dependency: str, *version: int) -> bool:
        """Return whether a dependency is known to have this version or a later one."""
        return (self.dependencies.get(dependency) or ()) >= version

    def has_any(self, *dependencies: str) -> bool:
        """Return whether one of these is a dependency."""
        return not self.dependencies.keys().isdisjoint(dependencies)

    @cached_property
    def digest(self) -> bytes:
        """Return bytes that differ where the facts do; empty without facts."""
        if not (self.dependencies or self.language_version or self.name or self.kinds or self.tool_files):
            return b""
        # What the tests and the build of a project depend on says something about other projects only.
        facts = (
            sorted(self.dependencies.items()),
            self.language_version,
            self.name,
            sorted(self.kinds),
            sorted(self.tool_files),
        )
        return blake2b(repr(facts).encode("utf-8", "surrogateescape"), digest_size=12).digest()


NO_PROJECT = Project()
