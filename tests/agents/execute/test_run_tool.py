"""Tests of tools: a failed call does not pass, and a missing tool is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.agents.suite_file import read_suite
from tests.agents.execute.suite_runs import HEAD, program, row, run, server_code, verdicts, write

BROKEN = """
  - { name: refuses, spec: "tool_error@search" }
  - { name: cut, spec: "disconnect@search" }
"""
ENDS = {
    "refuses": "expected a result, got an error of the tool: ",
    "hung": "expected a result, got no answer: injected fault",
    "cut": "expected a result, got none: the connection was closed before the answer",
}


@pytest.mark.parametrize(("fault", "says"), ENDS.items(), ids=ENDS)
def test_a_call_that_fails_does_not_pass_where_nothing_is_expected(
    tmp_path: Path, fault: str, says: str
) -> None:
    body = f"{HEAD}{BROKEN}tools: [{{ name: t, tool: search, inject: [{fault}] }}]\n"
    found = row(run(write(tmp_path, body)), "t")
    assert (found.verdict, found.limit) == ("failed", "result")
    assert found.message.startswith(says)


def test_a_difference_stands_apart_from_the_sentence_that_announces_it(tmp_path: Path) -> None:
    wanted = "[{ target: result, exact: { content: [], isError: true } }]"
    body = f"{HEAD}tools: [{{ name: t, tool: search, expect: {wanted} }}]\n"
    found = row(run(write(tmp_path, body)), "t")
    assert (found.verdict, "\n" in found.message) == ("failed", False)
    assert any(line.startswith("-") for line in found.diff.splitlines())
    assert any(line.startswith("+") for line in found.diff.splitlines())


def test_how_long_it_took_says_nothing_of_the_answer_but_an_error_that_is_expected_does(
    tmp_path: Path,
) -> None:
    body = f"""{HEAD}{BROKEN}
tools:
  - name: quick
    tool: search
    inject: [refuses]
    expect: [{{ target: duration_ms, numeric: {{ lt: 9000 }} }}]
  - {{ name: meant, tool: search, inject: [refuses], expect: [{{ target: result.isError, exact: true }}] }}
  - {{ name: unknown, tool: nosuch, expect: [{{ target: error.kind, exact: protocol_error }}] }}
"""
    assert verdicts(run(write(tmp_path, body))) == {"quick": "failed", "meant": "passed", "unknown": "passed"}


def test_a_tool_that_a_mock_does_not_have_is_a_mistake_of_the_file(tmp_path: Path) -> None:
    file = write(tmp_path, f"{HEAD}tools: [{{ name: t, tool: serch }}]\n")
    _, problems = read_suite(file)
    (problem,) = map(str, problems)
    assert problem.startswith(f'{file}: line 8: tools[0].tool: no tool is named "serch"; did you mean')


def test_a_tool_that_a_live_server_does_not_have_is_a_mistake_once_it_has_listed_them(tmp_path: Path) -> None:
    argv = program(tmp_path, "live.py", server_code())
    body = f"servers: {{ s: {{ command: {argv} }} }}\ntools: [{{ name: t, tool: serch }}]\n"
    file = write(tmp_path, body)
    (suite,) = run(file).suites
    assert suite.problem.startswith(f'{file}: line 2: t: tool: no tool is named "serch"')
    assert suite.rows == ()


@pytest.mark.parametrize("clock", ["virtual", "scaled"])
def test_a_server_that_dies_in_a_call_is_an_error_on_every_clock(tmp_path: Path, clock: str) -> None:
    argv = program(tmp_path, "dying.py", server_code(calling="os._exit(3)"))
    body = f"""
servers: {{ s: {{ command: {argv} }} }}
tools: [{{ name: t, tool: search, expect: [{{ target: error.kind, exact: lost }}] }}]
agents: [{{ name: a, agent: {{ script: [search], say_on_failure: sorry }} }}]
"""
    results = run(write(tmp_path, body), clock=clock, scale=20.0, parallel=1)
    assert verdicts(results) == {"t": "error", "a": "error"}


def test_a_list_of_a_server_can_be_tested_like_a_call(tmp_path: Path) -> None:
    argv = program(tmp_path, "live.py", server_code())
    body = f"""
servers: {{ shop: {{ mock: tools.yml }}, live: {{ command: {argv} }} }}
tools:
  - name: mocked
    server: shop
    tool: tools/list
    expect: [{{ target: error, exact: null }}, {{ target: result.tools, matcher: {{ length: 4 }} }}]
  - name: live
    server: live
    tool: tools/list
    expect: [{{ target: "result.tools[0].name", exact: search }}]
  - {{ name: wrong, server: shop, tool: tools/list, expect: [{{ target: result.tools, length: 3 }}] }}
"""
    suite = write(tmp_path, body)
    for results in (run(suite), run(suite, clock="scaled", scale=20.0)):
        assert verdicts(results) == {"mocked": "passed", "live": "passed", "wrong": "failed"}


def test_faults_cannot_be_injected_into_a_list(tmp_path: Path) -> None:
    file = write(tmp_path, f"{HEAD}tools: [{{ name: t, tool: tools/list, inject: [hung] }}]\n")
    _, problems = read_suite(file)
    assert any("inject: expected no faults beside tools/list" in str(problem) for problem in problems)


SIZES = {
    "1": ("failed", "max_response_tokens is 1: the result has about 12"),
    "11": ("failed", "max_response_tokens is 11: the result has about 12"),
    "12": ("passed", ""),
    "{ budget: 11 }": ("failed", "max_response_tokens is 11: the result has about 12"),
    "{ budget: 11, mode: warn }": ("passed", "remark: max_response_tokens is 11: the result has about 12"),
    "{ budget: 12, mode: warn }": ("passed", ""),
}


@pytest.mark.parametrize(("most", "expected"), SIZES.items(), ids=SIZES)
@pytest.mark.parametrize("place", ["beside", "among", "grouped"])
def test_the_tokens_of_a_result_are_limited_wherever_the_limit_stands(
    tmp_path: Path, most: str, expected: tuple[str, str], place: str
) -> None:
    limit = f"max_response_tokens: {most}"
    holds = '{ target: "result.content[0].text", exact: found }'
    written = {
        "beside": f"expect: [{holds}], {limit}",
        "among": f"expect: [{holds}, {{ {limit} }}]",
        "grouped": f"expect: {{ assertions: [{holds}], {limit} }}",
    }
    found = row(run(write(tmp_path, f"{HEAD}tools: [{{ name: t, tool: search, {written[place]} }}]\n")), "t")
    assert (found.verdict, found.message) == expected


def test_the_assertions_of_a_group_are_checked_beside_its_limits(tmp_path: Path) -> None:
    body = f"""{HEAD}
tools:
  - name: holds
    tool: search
    expect:
      assertions: [{{ target: "result.content[0].text", matcher: {{ exact: found }} }}]
      max_duration_ms: 60000
  - name: does not
    tool: search
    expect:
      assertions: [{{ target: "result.content[0].text", matcher: {{ exact: lost }}, message: odd }}]
      max_response_tokens: 100
  - {{ name: too slow, tool: search, inject: [hung], expect: {{ assertions: [], max_duration_ms: 5 }} }}
"""
    results = run(write(tmp_path, body))
    assert verdicts(results) == {"holds": "passed", "does not": "failed", "too slow": "failed"}
    assert row(results, "does not").message.startswith("odd: ")
    assert row(results, "too slow").limit == "max_duration_ms"


EMPTY = (
    'contains: ""',
    "schema: {}",
    'allOf: [{ contains: "" }, { schema: {} }]',
    'anyOf: [{ exact: found }, { contains: "" }]',
    'not: { not: { contains: "" } }',
    'regex: "^.*"',
    "length: { gt: -1 }",
)


@pytest.mark.parametrize("matcher", EMPTY)
def test_an_expectation_that_always_holds_asserts_nothing(tmp_path: Path, matcher: str) -> None:
    expect = f'expect: [{{ target: "result.content[0].text", {matcher} }}]'
    found = row(run(write(tmp_path, f"{HEAD}tools: [{{ name: t, tool: search, {expect} }}]\n")), "t")
    assert (found.verdict, found.fails) == ("not_exercised", True)
    assert found.message == "not exercised: each `expect` of the test holds for every value"


def test_a_call_that_fails_does_not_pass_by_an_expectation_that_always_holds(tmp_path: Path) -> None:
    expect = 'expect: [{ target: "result.content[0].text", contains: "" }]'
    body = f"{HEAD}{BROKEN}tools: [{{ name: t, tool: search, inject: [refuses], {expect} }}]\n"
    assert verdicts(run(write(tmp_path, body))) == {"t": "failed"}
