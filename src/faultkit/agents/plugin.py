"""A pytest plugin that collects suites as tests: `mcptest.yml` and `*.suite.yml`.

    pytest suites/                     each test of each suite is an item
    pytest --suite-seed 7 -k hung      pytest's own options apply as well

Every pytest run with Faultkit installed loads this file, so it imports nothing of Faultkit before it
collects a suite.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from faultkit.agents.suite.run_options import SelectedTests

_KEYS = ("servers", "server", "imports", "agents", "tools", "faults")
NAMES = ("mcptest.yml", "mcptest.yaml", "*.suite.yml", "*.suite.yaml")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the plugin's options."""
    group = parser.getgroup("faultkit")
    group.addoption("--suite-seed", metavar="SEED", help="replaces the suites' own seeds")
    parser.addini("faultkit_suites", "collect suites of Faultkit", type="bool", default=True)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SuiteFile | None:
    """Collect a file with the name and a key of a suite: other tools have files of such names too."""
    if not parent.config.getini("faultkit_suites"):
        return None
    if any(fnmatchcase(file_path.name, name) for name in NAMES) and _is_suite(file_path):
        return SuiteFile.from_parent(parent, path=file_path)
    return None


def _is_suite(file: Path) -> bool:
    """Return whether a file has a top-level key that a suite needs; one that cannot be read counts as one."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return True
    return any(line.lstrip("{ \"'").startswith(_KEYS) for line in lines if not line.startswith("  "))


class SuiteFile(pytest.File):
    """A suite file, with an item for each test."""

    def collect(self) -> Iterator[SuiteItem]:
        """Yield an item for each test. Raises CollectError for an invalid suite."""
        from faultkit.agents.suite.run_options import SelectedTests, Selection, select
        from faultkit.agents.suite_file import load_suite
        from faultkit.base.errors import InputError

        try:
            chosen = select([load_suite(self.path)], Selection())
        except InputError as error:
            raise self.CollectError(str(error)) from None
        for each in chosen:
            for test in each.tests:
                item = SuiteItem.from_parent(self, name=test.name, chosen=SelectedTests(each.suite, (test,)))
                for tag in test.tags:
                    item.extra_keyword_matches.add(tag)
                yield item


class SuiteItem(pytest.Item):
    """One test of a suite."""

    def __init__(self, *, chosen: SelectedTests, **given: Any) -> None:
        super().__init__(**given)
        self._chosen = chosen

    def runtest(self) -> None:
        """Run the test. Raises SuiteFailed."""
        import asyncio

        from faultkit.agents.suite.run_options import RunOptions, given_seed
        from faultkit.agents.suite_runner import run_suites

        options = RunOptions(seed=given_seed(self.config.getoption("--suite-seed", default=None)))
        results = asyncio.run(run_suites([self._chosen], options))
        (suite,) = results.suites
        problems = [suite.problem] if suite.problem else []
        problems += [f"{row.verdict}: {row.name}: {row.message}" for row in suite.rows if row.fails]
        if problems:
            raise SuiteFailed("\n".join(problems))
        skipped = [row.skipped for row in suite.rows if row.skipped]
        if skipped:
            pytest.skip(skipped[0])

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> Any:
        if isinstance(excinfo.value, SuiteFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        (test,) = self._chosen.tests
        return self.path, test.place.line - 1, self.name


class SuiteFailed(Exception):
    """Raised with the messages of failed rows; shown without a traceback."""
