"""Selecting tests by name, tag, shard, and earlier failure. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from faultkit.agents.suite.definition import AgentTest, Suite, ToolTest
from faultkit.base.errors import InputError

SuiteTest: TypeAlias = AgentTest | ToolTest


@dataclass(frozen=True, slots=True)
class Selection:
    """Which tests are wanted."""

    filters: tuple[str, ...] = ()
    """Parts of names, or `re:` and an expression; a test must match one."""
    tags: tuple[str, ...] = ()
    skip_tags: tuple[str, ...] = ()
    shard: tuple[int, int] = (1, 1)
    """Number of the part, and how many parts there are."""
    names: frozenset[str] | None = None
    """Only these tests, as `FILE::NAME`: those that failed last time. None: all."""


@dataclass(frozen=True, slots=True)
class SelectedTests:
    """The selected tests of one suite."""

    suite: Suite
    tests: tuple[SuiteTest, ...]


def select(suites: Sequence[Suite], selection: Selection) -> list[SelectedTests]:
    """Return the selected tests in the order of the files. Shards divide what the other criteria leave."""
    wanted = [_pattern(text) for text in selection.filters]
    only = any(test.only for suite in suites for test in tests_of(suite))
    found = [
        (suite, test)
        for suite in suites
        for test in tests_of(suite)
        if (not only or test.only)
        and (not wanted or any(pattern.search(test.name) for pattern in wanted))
        and (not selection.tags or set(selection.tags) & set(test.tags))
        and not set(selection.skip_tags) & set(test.tags)
        and (selection.names is None or key_of(suite, test.name) in selection.names)
    ]
    part, parts = selection.shard
    mine = found[part - 1 :: parts]
    return [SelectedTests(suite, tuple(_of(suite, mine))) for suite in suites if any(_of(suite, mine))]


def tests_of(suite: Suite) -> tuple[SuiteTest, ...]:
    """Return all tests of a suite."""
    return (*suite.tools, *suite.agents)


def key_of(suite: Suite, name: str) -> str:
    """Return the name of a test among all suites."""
    return f"{suite.file}::{name}"


def parse_shard(text: str) -> tuple[int, int]:
    """Parse `I/N`. Raises InputError."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    part, parts = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= part <= parts:
        raise InputError("--shard", f'expected I/N with I from 1 to N, such as 1/3, got "{text}"')
    return part, parts


def _of(suite: Suite, found: Iterable[tuple[Suite, SuiteTest]]) -> Iterable[SuiteTest]:
    return (test for its, test in found if its is suite)


def _pattern(text: str) -> re.Pattern[str]:
    if not text.startswith("re:"):
        return re.compile(re.escape(text))
    try:
        return re.compile(text[3:])
    except re.error as error:
        raise InputError(
            "--filter", f'expected a regular expression after re:, got "{text[3:]}": {error}'
        ) from None
