"""docs/suites.md: its suites run and print the shown output, and its figures are those of the battery."""

from __future__ import annotations

import re
import runpy
import shutil
from pathlib import Path
from textwrap import indent

import pytest

from faultkit.agents.kinds.scripted import SHIPPED_AGENTS
from faultkit.agents.matchers.matcher_table import MATCHERS
from faultkit.agents.parse.suite_tests import AGENT_TEST
from faultkit.cli.main import invoke
from faultkit.cli.suite_reports import REPORTERS
from tests.measure.test_docs import DOCS, PROJECT, Block, blocks_of, commands_of, words_of

PAGE = DOCS / "suites.md"
BLOCKS = list(blocks_of(PAGE))
SUITES = [block for block in BLOCKS if block.language == "yml"]
PARTS_OF_TESTS = [block for block in BLOCKS if block.language == "yaml"]
TEXT = PAGE.read_text("utf-8")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(PROJECT / "examples" / "tools.yml", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("block", SUITES, ids=str)
def test_every_suite_of_the_page_passes(here: Path, block: Block) -> None:
    (here / "a.suite.yml").write_text(block.text)
    assert invoke(["test", "a.suite.yml"]) == 0


@pytest.mark.parametrize("block", PARTS_OF_TESTS, ids=str)
def test_every_part_of_a_test_is_valid(here: Path, block: Block) -> None:
    test = "name: pays\nagent: {command: [sh, pay.sh]}\ninject: [hung]\n" + block.text
    faults = "faults: [{name: hung, target: {tool: search}, kind: hang}]"
    suite = f"servers: {{shop: {{mock: tools.yml}}}}\n{faults}\nagents:\n"
    (here / "a.suite.yml").write_text(suite + indent(f"- {indent(test, '  ').lstrip()}", "  "))
    assert invoke(["test", "a.suite.yml", "--collect-only"]) == 0


@pytest.mark.parametrize("console", [block for block in BLOCKS if block.language == "console"], ids=str)
def test_an_example_says_what_the_page_shows(
    here: Path, console: Block, capsys: pytest.CaptureFixture[str]
) -> None:
    (command,) = commands_of(console)
    words = words_of(command)
    (suite,) = [block.text for block in SUITES if block.text.startswith(f"# {words[1]}\n")]
    (here / words[1]).write_text(suite)
    assert invoke(words) == 0
    shown = console.text.splitlines()[1:]
    assert [_untimed(line) for line in capsys.readouterr().out.splitlines()] == [
        _untimed(line) for line in shown
    ]


def _untimed(line: str) -> str:
    return re.sub(r" in [\d.,]+ m?s \(virtual time", " in N (virtual time", line)


def test_the_ranking_of_the_page_is_what_the_battery_gives() -> None:
    page = runpy.run_path(str(DOCS / "generate_suites.py"))["suites_page"]()
    assert page == TEXT, "run `python docs/generate_suites.py`"


def test_the_page_names_every_agent_matcher_reporter_and_key() -> None:
    named = set(re.findall(r"`([\w-]+)", TEXT))
    for names in (SHIPPED_AGENTS, MATCHERS, REPORTERS, AGENT_TEST.names):
        assert set(names) <= named


@pytest.mark.parametrize(
    "file", ["shipped-agents.yml", "suites/battery.yml", "suites/how-slow.yml", "suites/broken-model.yml"]
)
def test_the_examples_pass(file: str, here: Path) -> None:
    assert invoke(["test", str(PROJECT / "examples" / file)]) == 0
