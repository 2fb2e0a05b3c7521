"""What a run is asked for: which tests, and how they are run. Pure.

Options of a run take precedence over those of the suites.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from faultkit.agents.suite.agent_interface import Purse
from faultkit.agents.suite.definition import Suite, SuiteTest
from faultkit.agents.suite.gate import ClockKind
from faultkit.base.documents.values import seed_of_text
from faultkit.base.errors import InputError
from faultkit.base.patterns import LinearPattern

USUAL_TIMEOUT_S = 60.0
_LONGEST_NUMBER = 20


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How suites are run."""

    clock: ClockKind = "virtual"
    scale: float = 1.0
    """Seconds of the suite per real second, in scaled time."""
    seed: int | str | None = None
    """Replaces the seeds of the suites."""
    repeat: int | None = None
    """Replaces `runs` of every test."""
    timeout_s: float = USUAL_TIMEOUT_S
    """Wall-time limit of one test with all its runs, on every clock."""
    parallel: int = 4
    """Most tests at a time."""
    bail: bool = False
    """Stop at the first failure."""
    record: bool = False
    """Record the turns of models in cassettes."""
    allow_stub: bool = False
    """Let a stub stand in for a model without a key."""
    update_snapshots: bool = False
    retries: int = 0
    """How often a test that does not pass is run again."""
    purse: Purse = field(default_factory=Purse)
    """Money for all runs."""
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


def given_seed(text: str | None) -> int | str | None:
    """Return the seed of a text from the command line, as a suite file would hold it: digits are a number."""
    return None if text is None else seed_of_text(text, _LONGEST_NUMBER)


# Selection of tests by name, tag, shard and earlier failure


@dataclass(frozen=True, slots=True)
class Selection:
    """Criteria that a test must meet to be run."""

    filters: tuple[str, ...] = ()
    """Parts of names, or `re:` and an expression; a test must match one."""
    tags: tuple[str, ...] = ()
    """A test must have one of them."""
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
    wanted = [_has_name(text) for text in selection.filters]
    only = any(test.only for suite in suites for test in suite.tests)
    found = [
        (suite, test)
        for suite in suites
        for test in suite.tests
        if (not only or test.only)
        and (not wanted or any(has_name(test.name) for has_name in wanted))
        and (not selection.tags or set(selection.tags) & set(test.tags))
        and not set(selection.skip_tags) & set(test.tags)
        and (selection.names is None or key_of(suite, test.name) in selection.names)
    ]
    part, parts = selection.shard
    in_shard = found[part - 1 :: parts]
    selected = [
        SelectedTests(suite, tuple(test for owner, test in in_shard if owner is suite)) for suite in suites
    ]
    return [each for each in selected if each.tests]


def key_of(suite: Suite, name: str) -> str:
    """Return the name of a test that is unique among all suites: `FILE::NAME`."""
    return f"{suite.file}::{name}"


def parse_shard(text: str) -> tuple[int, int]:
    """Parse `I/N`. Raises InputError."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    part, parts = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= part <= parts:
        raise InputError("--shard", f'expected I/N with I from 1 to N, such as 1/3, got "{text}"')
    return part, parts


def _has_name(text: str) -> Callable[[str], bool]:
    """Return whether a name contains a text or, after `re:`, matches an expression."""
    if not text.startswith("re:"):
        return lambda name: text in name
    try:
        return LinearPattern(text[3:]).found_in
    except ValueError as error:
        raise InputError(
            "--filter", f'expected a regular expression after re:, got "{text[3:]}": {error}'
        ) from None
