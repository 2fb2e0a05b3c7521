from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.agents.suite.definition import Suite
from faultkit.agents.suite.run_options import Selection, key_of, parse_shard, select
from faultkit.agents.suite_file import load_suite
from faultkit.base.errors import InputError
from tests.agents.execute.suite_runs import HEAD, write

TESTS = """
agents:
  - { name: one hang, agent: naive, inject: [hung], tags: [fast] }
  - { name: two hang, agent: naive, inject: [hung], tags: [fast, nightly] }
  - { name: three, agent: naive, inject: [hung] }
tools:
  - { name: a tool, tool: search }
"""


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return load_suite(write(tmp_path, HEAD + TESTS))


def names(suite: Suite, **selection: object) -> list[str]:
    return [test.name for each in select([suite], Selection(**selection)) for test in each.tests]  # type: ignore[arg-type]


def test_without_a_wish_all_are_run_tools_first(suite: Suite) -> None:
    assert names(suite) == ["a tool", "one hang", "two hang", "three"]


def test_a_filter_is_part_of_a_name_or_an_expression_and_one_of_them_is_enough(suite: Suite) -> None:
    assert names(suite, filters=("hang",)) == ["one hang", "two hang"]
    assert names(suite, filters=("re:^t",)) == ["two hang", "three"]
    assert names(suite, filters=("three", "re:^o")) == ["one hang", "three"]
    # A filter is no regular expression unless it begins with re:.
    assert names(suite, filters=(".",)) == []


def test_an_expression_that_is_none_is_named(suite: Suite) -> None:
    with pytest.raises(InputError, match=r"--filter: expected a regular expression after re:, got \"\(\""):
        names(suite, filters=("re:(",))


def test_tags_choose_and_leave_out(suite: Suite) -> None:
    assert names(suite, tags=("fast",)) == ["one hang", "two hang"]
    assert names(suite, tags=("fast",), skip_tags=("nightly",)) == ["one hang"]
    assert names(suite, skip_tags=("fast",)) == ["a tool", "three"]


def test_shards_are_a_partition_of_what_is_left(suite: Suite) -> None:
    shards = [names(suite, shard=(part, 3)) for part in (1, 2, 3)]
    assert shards == [["a tool", "three"], ["one hang"], ["two hang"]]
    assert names(suite, filters=("hang",), shard=(2, 2)) == ["two hang"]


@pytest.mark.parametrize("text", ["0/3", "4/3", "1/0", "1", "a/b", "-1/2", "1/2/3", ""])
def test_a_shard_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--shard: expected I/N with I from 1 to N"):
        parse_shard(text)


def test_what_failed_last_time_is_named_by_file_and_test(suite: Suite) -> None:
    assert names(suite, names=frozenset([key_of(suite, "three"), "other.yml::a tool"])) == ["three"]


def test_only_leaves_all_others_out(tmp_path: Path) -> None:
    body = HEAD + TESTS.replace("name: three,", "name: three, only: true,")
    assert names(load_suite(write(tmp_path, body))) == ["three"]
