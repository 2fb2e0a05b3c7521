"""A plugin of pytest: suites are collected as tests are, `mcptest.yml` and `*.suite.yml`.

    pytest suites/                     each test of each suite is an item
    pytest --suite-seed 7 -k hung      with the options that pytest has for all items

Everybody who has Faultkit installed loads this file with pytest, so it imports nothing before a suite is
there to be collected.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from faultkit.agents.select import Chosen

NAMES = ("mcptest.yml", "mcptest.yaml", "*.suite.yml", "*.suite.yaml")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("faultkit")
    group.addoption("--suite-seed", metavar="SEED", help="in place of the suites' own")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SuiteFile | None:
    if any(fnmatchcase(file_path.name, name) for name in NAMES):
        return SuiteFile.from_parent(parent, path=file_path)
    return None


class SuiteFile(pytest.File):
    def collect(self) -> Iterator[SuiteItem]:
        from faultkit.agents.file import load_suite
        from faultkit.agents.select import Chosen, Selection, select
        from faultkit.base.errors import InputError

        try:
            chosen = select([load_suite(self.path)], Selection())
        except InputError as error:
            raise self.CollectError(str(error)) from None
        for each in chosen:
            for test in each.tests:
                item = SuiteItem.from_parent(self, name=test.name, chosen=Chosen(each.suite, (test,)))
                for tag in test.tags:
                    item.extra_keyword_matches.add(tag)
                yield item


class SuiteItem(pytest.Item):
    def __init__(self, *, chosen: Chosen, **given: Any) -> None:
        super().__init__(**given)
        self._chosen = chosen

    def runtest(self) -> None:
        import asyncio

        from faultkit.agents.execute.options import Options, given_seed
        from faultkit.agents.run import run_suites

        options = Options(seed=given_seed(self.config.getoption("--suite-seed", default=None)))
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
    """What the rows say; no trace of ours is of any use."""
