"""A fault that no call can meet is an error: of the suite if a mock shows it, otherwise of the run."""

from __future__ import annotations

from pathlib import Path

from faultkit.agents.parse.suite_targets import missed_targets
from faultkit.mcp.targets import Inventory
from tests.agents.parse.suite_files import problems_of, suite_of

TWO = """\
servers:
  shop: {mock: tools.yml}
  live: {command: [server]}
"""
ONE = "servers: {shop: {mock: tools.yml}}\n"


def test_a_tool_that_no_manifest_has_is_a_mistake(tmp_path: Path) -> None:
    problems = problems_of(
        tmp_path, ONE + "faults: [{name: a, target: {tool: serach}, kind: hang}, hang@serach]\n"
    )
    missed = "no tool is named \"serach\"; did you mean 'search'? (tools: order, search)"
    assert problems == [
        f"suite.yml: line 2: faults[0].target.tool: {missed}",
        f"suite.yml: line 2: faults[1]: {missed}",
    ]


def test_a_tool_that_a_live_server_may_have_is_none(tmp_path: Path) -> None:
    assert problems_of(tmp_path, TWO + "faults: [hang@serach]\n") == []
    assert problems_of(tmp_path, TWO + "faults: ['hang@serach,server:shop']\n") != []


def test_a_setting_that_names_tools_is_a_target_too(tmp_path: Path) -> None:
    text = "faults: [{name: a, target: {server: shop}, kind: schema_drift, tools: serach}]\n"
    (problem,) = problems_of(tmp_path, ONE + text)
    assert problem.startswith('suite.yml: line 2: faults[0].tools: no tool is named "serach"')


def test_a_server_that_is_not_declared_is_a_mistake(tmp_path: Path) -> None:
    problems = problems_of(tmp_path, TWO + "faults: [{name: a, target: {server: shpo}, kind: hang}]\n")
    assert problems == [
        "suite.yml: line 4: faults[0].target.server: no server is named \"shpo\"; did you mean 'shop'? "
        "(servers: live, shop)"
    ]


def test_a_test_has_to_be_able_to_meet_what_it_injects(tmp_path: Path) -> None:
    text = """\
faults:
  - {name: elsewhere, target: {server: live}, kind: hang}
  - {name: search, target: {tool: search}, kind: hang}
agents:
  - {name: a, agent: naive, servers: [shop], inject: [search, elsewhere]}
  - {name: b, agent: naive, servers: [shop], inject: [elsewhere], allow_unhit: true}
tools:
  - {name: c, server: shop, tool: order, inject: [search]}
"""
    assert problems_of(tmp_path, TWO + text) == [
        'suite.yml: line 8: agents[0].inject[1]: "elsewhere" would never be met: it is aimed at the server '
        '"live", and this test has shop',
        'suite.yml: line 11: tools[0].inject[0]: "search" would never be met: it is aimed at the tool '
        '"search", and this test calls "order"',
    ]


def test_what_live_servers_list_is_asked_again(tmp_path: Path) -> None:
    suite = suite_of(
        tmp_path,
        TWO + "faults: [hang@find]\nagents: [{name: a, agent: naive, servers: [live], inject: [hang]}]\n",
    )
    assert missed_targets(suite, {}) == []
    assert missed_targets(suite, {"live": Inventory(tools=("find",))}) == []
    (problem,) = missed_targets(suite, {"live": Inventory(tools=("fund",))})
    assert str(problem) == (
        f"{tmp_path / 'suite.yml'}: line 5: a: inject hang: none of the servers of this test can meet it: "
        "no tool is named \"find\"; did you mean 'fund'? (tools: fund)"
    )
