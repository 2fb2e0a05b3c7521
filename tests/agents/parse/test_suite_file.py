"""Reading of valid suite files: servers, faults, agents, tests, variables, imports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from faultkit.agents.suite.agent_interface import RunBudget
from faultkit.agents.suite.definition import (
    AgentGoal,
    CommandAgent,
    CommandServer,
    CustomProvider,
    MockServer,
    ModelAgent,
    PlannedCall,
    Script,
    ScriptAgent,
    ScriptRetry,
    ScriptStep,
    ShippedAgent,
    UrlServer,
)
from faultkit.agents.suite.gate import RecoveryGate
from faultkit.agents.suite_file import files_of_suite, load_suite
from faultkit.base.errors import InputError
from faultkit.faults import CALL_FAULTS
from faultkit.faults.call.hang import Hang
from faultkit.faults.call.recover_after import RecoverAfter
from faultkit.faults.call.slow import Slow
from faultkit.faults.call.tool_error import ToolError
from faultkit.faults.call.wedged import Wedged
from faultkit.plan import Match, Trigger
from tests.agents.parse.suite_files import SERVERS, suite_of, write

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_the_example_of_the_seed_says_what_the_seed_says() -> None:
    suite = load_suite(EXAMPLES / "fault-injection-recovery.yml", env={})

    (fault,) = suite.faults
    assert (fault.name, fault.rule.fault, fault.rule.match) == ("hung-search", Hang(), Match(tool="search"))
    (test,) = suite.agents
    assert test.name == "recovers from a hung search tool"
    assert test.agent == ModelAgent("claude-sonnet-4-5")
    assert test.servers == ("faulty",)
    assert test.inject == ("hung-search",)
    assert test.prompt == "Search for the latest incident report."
    assert test.recovery == RecoveryGate(3000, 5000, require_clean_timeout=True)
    assert test.budget == RunBudget(turns=10)
    assert (test.place.line, fault.place.line) == (14, 10)


def test_the_four_kinds_of_the_seed_are_rules_of_the_vocabulary(tmp_path: Path) -> None:
    suite = suite_of(
        tmp_path,
        SERVERS
        + """\
faults:
  - {name: a, target: {tool: search}, kind: hang}
  - {name: b, target: {server: shop}, kind: wedged}
  - {name: c, target: {tool: search, server: shop}, kind: slow, delay_ms: 4000}
  - {name: d, target: {tool: order}, kind: recover_after, failures: 2}
""",
    )
    assert [fault.rule.fault for fault in suite.faults] == [Hang(), Wedged(), Slow(4000), RecoverAfter(2)]
    assert suite.faults[2].rule.match == Match(tool="search", server="shop")


def test_settings_stand_beside_the_kind_or_below_with_and_a_spec_says_it_in_one_word(tmp_path: Path) -> None:
    suite = suite_of(
        tmp_path,
        SERVERS
        + """\
faults:
  - {name: a, target: {tool: search}, kind: tool-error, text: "no", trigger: {first: 2}}
  - {name: b, target: {tool: search}, kind: tool_error, with: {text: "no"}, trigger: {first: 2}}
  - {name: c, spec: "tool_error:no,first=2@search"}
  - tool_error:no,first=2@search
  - {name: tool_error, spec: hang}
""",
    )
    rules = [fault.rule for fault in suite.faults]
    for rule in rules[:4]:
        assert rule.fault == ToolError(text="no")
        assert rule.match == Match(tool="search")
        assert rule.trigger == Trigger(first=2)
    assert [fault.name for fault in suite.faults] == ["a", "b", "c", "tool_error-2", "tool_error"]


@pytest.mark.parametrize("kind", CALL_FAULTS)
def test_every_fault_of_calls_can_be_declared(tmp_path: Path, kind: str) -> None:
    needed = {"slow": ", delay_ms: 5", "recover_after": ", failures: 1"}.get(kind, "")
    suite = suite_of(
        tmp_path, SERVERS + f"faults: [{{name: it, target: {{server: shop}}, kind: {kind}{needed}}}]\n"
    )
    assert suite.faults[0].rule.fault.kind == kind


def test_servers_are_programs_urls_and_mocks(tmp_path: Path) -> None:
    suite = suite_of(
        tmp_path,
        """\
        servers:
          typed: {command: "python -m 'my server'", env: {PORT: 80}, cwd: below}
          listed: {command: [python, -m, server], args: [--port, 80]}
          remote: {url: "http://127.0.0.1:1/mcp", headers: {X-Key: abc}}
          mocked: {tools_from: tools.yml}
          inline: {mock: {tools: [{name: here}]}}
        server: {mock: tools.yml}
        default_server: remote
        tools:
          - {name: one, tool: search}
        """,
    )
    serving = {server.name: server.serving for server in suite.servers}
    assert serving["typed"] == CommandServer(
        ("python", "-m", "my server"), {"PORT": "80"}, str(tmp_path / "below")
    )
    assert serving["listed"] == CommandServer(("python", "-m", "server", "--port", "80"))
    assert serving["remote"] == UrlServer("http://127.0.0.1:1/mcp", {"X-Key": "abc"})
    mocked, inline = serving["mocked"], serving["inline"]
    assert isinstance(mocked, MockServer)
    assert isinstance(inline, MockServer)
    assert mocked.tools_from == str(tmp_path / "tools.yml")
    assert mocked.source is not None
    assert inline.source is not None
    assert [tool["name"] for tool in mocked.source.listed] == ["search", "order"]
    assert [tool["name"] for tool in inline.source.listed] == ["here"]
    assert "server" in serving
    assert suite.tools[0].server == "remote"
    assert suite.files == (str(tmp_path / "suite.yml"), str(tmp_path / "tools.yml"))


def test_servers_may_be_a_list_and_the_only_one_is_everybodys(tmp_path: Path) -> None:
    suite = suite_of(
        tmp_path,
        """\
        servers: [{name: shop, mock: tools.yml}]
        agents: [{name: one, agent: naive}]
        """,
    )
    assert suite.agents[0].servers == ("shop",)


def test_agents_are_models_shipped_ones_scripts_and_programs(tmp_path: Path) -> None:
    suite = suite_of(
        tmp_path,
        SERVERS
        + """\
providers:
  local: {type: openai, base_url: "http://127.0.0.1:8000", api_key_env: LOCAL_KEY}
agents:
  - name: several
    models: [claude-x, {provider: local, id: small}, ollama/gemma3]
    prompt: Do it.
    max_tokens: 99
  - {name: shipped, agent: backing-off}
  - name: sent
    agent:
      kind: verifying
      goal:
        tool: order
        args: {item: tea}
        fallback: search
        verify: {tool: search, holds: tea}
  - name: told
    agent:
      script:
        - search
        - call: order
          args: {item: tea}
          retry: {attempts: 3, wait_ms: 100, obeys: true}
          verify: {call: search, holds: tea}
          fallback: {call: search}
          goes_on: true
        - {call: order, retry: 2}
      say: "Done: {result}"
  - {name: foreign, agent: {command: [python, agent.py], env: {A: b}}}
""",
    )
    agents = {test.name: test.agent for test in suite.agents}
    assert suite.providers == (CustomProvider("local", "http://127.0.0.1:8000", "LOCAL_KEY"),)
    assert agents["several [claude-x]"] == ModelAgent("claude-x", max_tokens=99)
    assert agents["several [small]"] == ModelAgent("small", "local", 99)
    assert agents["several [ollama/gemma3]"] == ModelAgent("ollama/gemma3", max_tokens=99)
    assert agents["shipped"] == ShippedAgent("backing_off")
    order, search = PlannedCall("order", {"item": "tea"}), PlannedCall("search")
    assert agents["sent"] == ShippedAgent("verifying", AgentGoal(order, search, search, "tea"))
    retry = ScriptRetry(3, 100, obeys=True)
    steps = (
        ScriptStep(search),
        ScriptStep(order, retry, search, "tea", search, goes_on=True),
        ScriptStep(PlannedCall("order"), ScriptRetry(2)),
    )
    assert agents["told"] == ScriptAgent(Script(steps, "Done: {result}"))
    assert agents["foreign"] == CommandAgent(("python", "agent.py"), {"A": "b"})


def test_budgets_tags_and_gates_of_a_test(tmp_path: Path) -> None:
    suite = suite_of(
        tmp_path,
        SERVERS
        + """\
seed: lucky
faults: [{name: gone, spec: hang@search}]
agents:
  - name: one
    agent: naive
    inject: gone
    allow_unhit: true
    max_turns: 3
    max_tool_calls: 4
    token_budget: 500
    time_budget: 1m 30s
    max_cost_usd: 0.5
    runs: 5
    orchestration: {error_recovery: 50}
    tags: [slow, nightly]
    skip: the server is being moved
    expect:
      - {target: final_response, contains: report}
      - {target: "tool_calls[0].args.q", matcher: {regex: "^a"}}
tools:
  - name: two
    tool: search
    arguments: {q: x}
    only: true
    expect: [{max_duration_ms: 50}, {subset: {isError: false}}]
""",
    )
    test = suite.agents[0]
    assert test.budget == RunBudget(turns=3, calls=4, tokens=500, time_ms=90_000, money=0.5)
    assert (test.runs, test.error_recovery, test.tags) == (5, 50, ("slow", "nightly"))
    assert (test.inject, test.allow_unhit, test.skip) == (("gone",), True, "the server is being moved")
    assert [(each.target, each.matcher, each.wanted, each.place.line) for each in test.expect] == [
        ("final_response", "contains", "report", 20),
        ("tool_calls[0].args.q", "regex", "^a", 21),
    ]
    tool = suite.tools[0]
    assert (tool.arguments, tool.only, tool.max_duration_ms) == ({"q": "x"}, True, 50)
    assert [(each.target, each.matcher) for each in tool.expect] == [("result", "subset")]
    assert suite.seed == "lucky"


def test_variables_stand_for_what_they_are_with_their_types(tmp_path: Path) -> None:
    suite = suite_of(
        tmp_path,
        SERVERS
        + """\
variables:
  tool: search
  words: [a, b]
  greeting: "find ${tool}"
faults: [{name: gone, target: {tool: "${tool}"}, kind: hang}]
agents:
  - name: one
    model: ${MODEL:-claude-x}
    prompt: "${greeting} for ${USER} in $${HOME} and ${EMPTY:-nothing}"
    inject: gone
    recovery:
      max_detection_ms: ${BUDGET}
      require_clean_timeout: ${STRICT:-true}
tools:
  - name: two
    tool: search
    args:
      number: ${BUDGET}
      text: "${BUDGET}"
      list: ${words}
    expect: [{contains: "${CONFIG_DIR}"}]
""",
        {"USER": "ada", "BUDGET": "3000", "EMPTY": ""},
    )
    test = suite.agents[0]
    assert test.agent == ModelAgent("claude-x")
    assert test.prompt == "find search for ada in ${HOME} and nothing"
    assert test.recovery == RecoveryGate(3000, None, require_clean_timeout=True)
    assert suite.tools[0].arguments == {"number": 3000, "text": "3000", "list": ["a", "b"]}
    assert suite.tools[0].expect[0].wanted == str(tmp_path)


def test_what_is_chosen_from_outside_goes_before_what_files_say(tmp_path: Path) -> None:
    text = SERVERS + "variables: {q: inside}\ntools: [{name: one, tool: search, args: {q: '${q}'}}]\n"
    suite = suite_of(tmp_path, text, {"q": "environment"}, variables={"q": "outside"})
    assert suite.tools[0].arguments == {"q": "outside"}


def test_imports_give_servers_faults_tests_and_variables_once(tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    write(below, "servers: {shop: {mock: tools.yml}}\nvariables: {tool: search, other: order}\n", "base.yml")
    write(below, "imports: [base.yml]\nfaults: [{name: gone, spec: 'hang@${tool}'}]\n", "faults.yml")
    suite = suite_of(
        tmp_path,
        """\
        imports: [below/faults.yml, below/base.yml]
        variables: {tool: order}
        agents: [{name: one, agent: naive, prompt: "${tool} ${other}", inject: gone}]
        """,
    )
    assert [server.name for server in suite.servers] == ["shop"]
    assert suite.faults[0].rule.match == Match(tool="search")
    assert suite.faults[0].place.file == str(below / "faults.yml")
    assert suite.agents[0].prompt == "order order"
    assert suite.files == tuple(
        str(file)
        for file in (
            tmp_path / "suite.yml",
            below / "faults.yml",
            below / "base.yml",
            below / "tools.yml",
        )
    )


def test_a_suite_may_be_json(tmp_path: Path) -> None:
    document = {"servers": {"shop": {"mock": "tools.yml"}}, "tools": [{"name": "one", "tool": "search"}]}
    file = write(tmp_path, json.dumps(document, indent="\t"), "suite.json")
    suite = load_suite(file, env={})
    assert (suite.tools[0].name, suite.tools[0].place.line) == ("one", 8)


def test_json_may_not_write_what_has_no_utf8(tmp_path: Path) -> None:
    file = write(tmp_path, json.dumps({"seed": "\ud800"}), "suite.json")
    with pytest.raises(InputError, match="half of a surrogate pair"):
        load_suite(file, env={})


def test_a_file_that_is_not_there_is_wrong_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nosuch\.yml: cannot be read: no such file or directory"):
        load_suite(tmp_path / "nosuch.yml")


def test_all_that_is_wrong_is_one_error_with_a_line_for_each(tmp_path: Path) -> None:
    file = write(tmp_path, "agnets: []\nseed: -1\n")
    with pytest.raises(InputError) as raised:
        load_suite(file)
    assert str(raised.value).splitlines() == [
        f'{file}: line 1: agnets: unknown key; did you mean "agents"?',
        f"{file}: line 2: seed: expected a whole number of at least 0 or a text, got -1",
    ]
    assert raised.value.exit_code == 2


def test_reading_suites_imports_nothing_heavy() -> None:
    heavy = ("jsonschema", "openai", "anthropic", "httpx", "mcp", "asyncio", "rich", "sqlalchemy")
    code = f"""
import sys
from faultkit.agents.suite_file import load_suite
load_suite(sys.argv[1])
print([name for name in {heavy!r} if name in sys.modules])
"""
    file = str(EXAMPLES / "shipped-agents.yml")
    done = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_the_files_of_a_suite_are_known_though_one_of_them_is_wrong(tmp_path: Path) -> None:
    text = "imports: [more.yml, missing.yml]\nservers: {shop: {mock: tools.yml}}\n"
    file = write(tmp_path, text)
    (tmp_path / "more.yml").write_text("agents: [")
    names = ["suite.yml", "more.yml", "missing.yml", "tools.yml"]
    assert files_of_suite(file) == [str(tmp_path / name) for name in names]
