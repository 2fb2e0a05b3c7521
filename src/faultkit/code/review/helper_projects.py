"""Which projects of a repository only help to test or to build the others, by all of their manifests. Pure.

A library belongs here that others name among what their tests or builds need, and no other code does. As a
library may be there for users outside of the repository, its manifest has to keep it from being published,
or its name has to say what it is for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Project

TESTS = "tests"
BUILDS = "builds"
_RUN = frozenset({"cdylib", "exe"})
"""Kinds of projects that are programs, or are loaded by them."""
_NAMES = {
    TESTS: lazy_regex(
        r"(?:^|[-_./])(?:tests?|testing|testkit|mocks?|fakes?|fixtures?|harness)(?:[-_./]|$)|Test"
    ),
    BUILDS: lazy_regex(r"(?:^|[-_./])(?:build|codegen|gen|generator)(?:[-_./]|$)"),
}


def helper_projects(projects: Iterable[Project]) -> dict[Project, Project]:
    """Return projects that only help others, each with the same project of that kind."""
    listed = tuple(dict.fromkeys(projects))
    kinds = {each: TESTS for each in listed if TESTS in each.kinds}
    waiting = [each for each in listed if each.name and each.kinds.isdisjoint(_RUN) and each not in kinds]
    while waiting:
        used = {name for each in listed if each not in kinds for name in each.dependencies}
        new = {
            each: kind
            for kind in _NAMES
            for each in _helping(waiting, kind, listed, kinds)
            if each.name not in used
        }
        if not new:
            break
        kinds |= new
        waiting = [each for each in waiting if each not in new]
    return {each: replace(each, kinds=each.kinds | {kind}) for each, kind in kinds.items()}


def _helping(
    waiting: list[Project], kind: str, projects: tuple[Project, ...], kinds: dict[Project, str]
) -> Iterator[Project]:
    """Yield the projects that tests or builds need. Projects for tests need also what they test."""
    own = {name for each in projects for name in (each.for_tests if kind == TESTS else each.for_builds)}
    of_helpers = {name for each, found in kinds.items() if found == kind for name in each.dependencies}
    for each in waiting:
        is_named = _NAMES[kind].search(each.name) is not None
        is_own = each.name in own and "unpublished" in each.kinds
        if is_own or (is_named and each.name in own | of_helpers):
            yield each
