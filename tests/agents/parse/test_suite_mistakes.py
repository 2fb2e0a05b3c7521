"""Mistakes in a suite file: all are reported at once, each with file, line, path and what was expected."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from faultkit.agents.parse.suite_values import UNSUPPORTED_IN_AGENTS, UNSUPPORTED_IN_SUITES
from tests.agents.parse.suite_files import SERVERS, problems_of, write

FAULT = "faults: [{name: gone, spec: hang@search}]\n"


def agent(extra: str) -> str:
    return f"{SERVERS}{FAULT}agents:\n  - name: one\n    agent: naive\n    {extra}\n"


def fault(settings: str) -> str:
    return f"{SERVERS}faults:\n  - {{name: a, target: {{tool: search}}, {settings}}}\n"


def expectation(entry: str) -> str:
    return agent(f"expect:\n      - {entry}")


MISTAKES: dict[str, tuple[str, list[str]]] = {
    "an empty file": ("", ["expected a suite, got an empty file"]),
    "a list": ("[1]", ["line 1: expected a mapping, got a list"]),
    "two documents": ("seed: 1\n---\nseed: 2\n", ["line 3: expected one document, got 2"]),
    "a tab": (
        "seed:\t1\n\tx",
        ["line 1, column 6: found character '\\t' that cannot start any token"],
    ),
    "a key twice": ("seed: 1\nseed: 2\n", ['line 2, column 1: key "seed" is given twice']),
    "a variable in flow style": (
        "servers: {a: {url: ${URL}}}\n",
        ["line 1, column 21: expected ',' or '}', but got '{' (within [ ] and { }, ${…} needs quotes)"],
    ),
    "an unknown key": ("agnets: []\n", ['line 1: agnets: unknown key; did you mean "agents"?']),
    # --- servers
    "a server without a way": (
        "servers: {a: {}}\n",
        ["line 1: servers.a: expected one of command, url, mock, got none"],
    ),
    "a server with two ways": (
        "servers:\n  a:\n    command: [x]\n    url: http://x/\n",
        ["line 4: servers.a.url: expected only one of command, url, mock, tools_from, got command too"],
    ),
    "headers of a program": (
        "servers:\n  a:\n    command: [x]\n    headers: {a: b}\n",
        ["line 4: servers.a.headers: expected only beside url, got it beside command"],
    ),
    "a cassette": (
        "servers: {a: {cassette: x}}\n",
        [
            "line 1: servers.a.cassette: a key of mcptest that Faultkit does not support: "
            "`mock:` serves a recording of the gateway",
            "line 1: servers.a: expected one of command, url, mock, got none",
        ],
    ),
    "a manifest that is not there": (
        "servers: {a: {mock: nosuch.yml}}\n",
        ["line 1: servers.a.mock: nosuch.yml: cannot be read: no such file or directory"],
    ),
    "an inline manifest that is wrong": (
        "servers:\n  a:\n    mock:\n      tools:\n        - {nam: x}\n",
        ['line 5: servers.a.mock.tools[0].nam: unknown key; did you mean "name"?'],
    ),
    "a default server that is not there": (
        f"{SERVERS}default_server: shpo\n",
        ['line 3: default_server: no server is named "shpo"; did you mean "shop"?'],
    ),
    # --- faults
    "a stray field": (
        fault("kind: recover_after, failures: 1, delay_ms: 4"),
        [
            "line 4: faults[0].delay_ms: recover_after has no delay_ms: it is a setting of slow, "
            "reply_after_cancel, disconnect, tcp_reset; recover_after has failures, limit_s"
        ],
    ),
    "slow without a delay": (
        f"{SERVERS}faults:\n  - {{name: a, target: {{tool: search}}, kind: slow}}\n",
        [
            "line 4: faults[0].delay_ms: expected a number of milliseconds (required for kind: slow), "
            "got nothing"
        ],
    ),
    "recover_after without failures": (
        f"{SERVERS}faults:\n  - {{name: a, target: {{tool: search}}, kind: recover_after}}\n",
        [
            "line 4: faults[0].failures: expected a whole number (required for kind: recover_after), "
            "got nothing"
        ],
    ),
    "an unknown kind": (
        f"{SERVERS}faults: [{{name: a, target: {{tool: search}}, kind: hagn}}]\n",
        ['line 3: faults[0].kind: unknown fault "hagn"; did you mean "hang"?'],
    ),
    "a fault of the network": (
        f"{SERVERS}faults: [{{name: a, target: {{tool: search}}, kind: latency}}]\n",
        ["line 3: faults[0].kind: latency acts on the network, not on calls (see `fault faults`)"],
    ),
    "a fault of calls aimed at a model": (
        f"{SERVERS}faults: [{{name: a, target: {{model: '*'}}, kind: rate_limit}}]\n",
        [
            "line 3: faults[0].kind: rate_limit acts on calls, not on a model; llm_rate_limit is the one of "
            "LLM APIs"
        ],
    ),
    "a fault of models aimed at a tool": (
        f"{SERVERS}faults: [{{name: a, target: {{tool: search}}, kind: auth}}]\n",
        [
            "line 3: faults[0].target.tool: expected only with faults of level call, "
            'got "auth", which is of level llm'
        ],
    ),
    "a model that no test has": (
        f"{SERVERS}faults: [{{name: a, target: {{model: 'gpt-*'}}, kind: auth}}]\n"
        "agents:\n  - {name: x, agent: {kind: naive, goal: search}, inject: [a]}\n"
        "tools:\n  - {name: y, tool: search, inject: [a]}\n",
        [
            'line 5: agents[0].inject[0]: "a" would never be met: it is aimed at the model "gpt-*", '
            'and the model of this test is "mock"',
            'line 7: tools[0].inject[0]: "a" would never be met: it is aimed at a model, '
            "and a test of a tool has none",
        ],
    ),
    "a program whose model is broken and no mock": (
        f"{SERVERS}faults: [{{name: a, target: {{model: '*'}}, kind: auth}}]\n"
        "agents:\n  - {name: x, agent: {command: [sh]}, inject: [a]}\n",
        [
            'line 5: agents[0].inject[0]: "a" would never be met: expected `mock_model` beside it: '
            "the model of a program is broken only if it is a mock"
        ],
    ),
    "a mock of the model of a script": (
        f"{SERVERS}agents:\n  - name: x\n    agent: naive\n    mock_model: {{turns: [{{text: hi}}]}}\n",
        [
            "line 6: agents[0].mock_model: expected only beside model, models or a command: "
            "the mock of a script knows its turns"
        ],
    ),
    "a turn without anything": (
        f"{SERVERS}agents:\n  - name: x\n    model: gpt-4o\n    prompt: p\n    mock_model:\n"
        "      turns:\n        - {}\n",
        ["line 9: agents[0].mock_model.turns[0]: expected a text or calls, got neither"],
    ),
    "no target": (
        f"{SERVERS}faults:\n  - {{name: a, target: {{}}, kind: hang}}\n  - {{name: b, kind: hang}}\n",
        [
            "line 4: faults[0].target: expected at least one of tool, server, resource, prompt, "
            "method, model, streamed, tool_use, got none",
            "line 5: faults[1].target: expected a mapping with at least one of tool, server, resource, "
            "prompt, method, model, streamed, tool_use, got nothing",
        ],
    ),
    "a wrong setting": (
        f"{SERVERS}faults:\n  - name: a\n    target: {{tool: search}}\n    kind: slow\n    delay_ms: -4\n",
        ["line 7: faults[0].delay_ms: expected a number of at least 0, got -4.0"],
    ),
    "a wrong trigger": (
        fault("kind: hang, trigger: {first: 0}"),
        ["line 4: faults[0].trigger.first: expected a whole number of at least 1, got 0"],
    ),
    "a setting twice": (
        f"{SERVERS}faults:\n  - name: a\n    target: {{tool: search}}\n    kind: hang\n    limit_s: 1\n"
        "    with: {limit_s: 2}\n",
        ["line 7: faults[0].limit_s: expected it once, got it beside the kind and below `with`"],
    ),
    "a spec and more": (
        f"{SERVERS}faults:\n  - {{spec: hang@search, kind: slow}}\n  - none\n  - slow:x\n",
        [
            "line 4: faults[0].kind: expected only `name` beside a spec: a spec has all settings",
            "line 5: faults[1]: expected a fault, got none: a test without `inject` has no fault",
            "line 6: faults[2]: delay_ms: expected a number of at least 0, got 'x'",
        ],
    ),
    "a fault name twice": (
        f"{SERVERS}faults:\n  - {{name: a, spec: hang@search}}\n  - {{name: a, spec: hang@order}}\n",
        [
            'line 5: faults[1].name: expected a name that no fault before it has, got "a" again '
            "(line 4 has it)"
        ],
    ),
    # --- agents
    "no agent": (
        f"{SERVERS}agents: [{{name: a}}]\n",
        ["line 3: agents[0].agent: expected one of model, models, agent, got nothing"],
    ),
    "two agents": (
        f"{SERVERS}agents:\n  - {{name: a, model: claude-x, agent: naive, prompt: Do it.}}\n",
        ["line 4: agents[0].agent: expected only one of model, models, agent, got model too"],
    ),
    "a model of no provider": (
        f"{SERVERS}agents:\n  - {{name: a, model: llama, prompt: Do it.}}\n",
        [
            "line 4: agents[0].model: expected claude-…, gpt-…, chatgpt-…, o3 and the like, gemini-…, "
            "mistral-…, openrouter/MODEL, ollama/MODEL, or PROVIDER/MODEL with one of `providers`, "
            "got 'llama'"
        ],
    ),
    "a model twice": (
        f"{SERVERS}agents:\n  - {{name: a, models: [claude-x, claude-x], prompt: Do it.}}\n",
        ['line 4: agents[0].models[1]: expected each model once, got "claude-x" twice'],
    ),
    "a model without a prompt": (
        f"{SERVERS}agents:\n  - {{name: a, model: claude-x}}\n",
        ["line 4: agents[0].prompt: expected what the model is asked to do, got nothing"],
    ),
    "an agent that does not ship": (
        f"{SERVERS}agents:\n  - {{name: a, agent: retriyng}}\n",
        [
            'line 4: agents[0].agent: expected an agent that ships with Faultkit, got "retriyng"; '
            'did you mean "retrying"?'
        ],
    ),
    "a goal that is not there": (
        f"{SERVERS}agents:\n  - {{name: a, agent: {{kind: naive, goal: serach}}}}\n",
        ['line 4: agents[0].agent.goal: no tool is named "serach"; did you mean "search"?'],
    ),
    "a script with mistakes": (
        f"{SERVERS}agents:\n  - name: a\n    agent:\n      script:\n        - {{args: {{}}}}\n"
        "        - {call: search, verify: order}\n        - {call: search, retry: -1}\n",
        [
            "line 7: agents[0].agent.script[0].call: expected the name of a tool, got nothing",
            "line 8: agents[0].agent.script[1].verify: expected a `retry` beside it: it is called "
            "before a further attempt",
            "line 9: agents[0].agent.script[2].retry: expected a whole number from 0 to 1000, got -1",
        ],
    ),
    "an unknown fault": (
        agent("inject: [gnoe]"),
        ['line 7: agents[0].inject[0]: no fault is named "gnoe"; did you mean "gone"?'],
    ),
    "an unknown server": (
        agent("servers: [shpo]"),
        ['line 7: agents[0].servers: no server is named "shpo"; did you mean "shop"?'],
    ),
    "recovery without a fault": (
        agent("recovery: {max_detection_ms: 3}"),
        ["line 7: agents[0].recovery: expected `inject` beside it: nothing is broken to recover from"],
    ),
    "recovery without a budget": (
        agent("inject: [gone]\n    recovery: {max_recovery_ms: x}"),
        [
            "line 8: agents[0].recovery.max_detection_ms: expected a whole number of milliseconds, "
            "got nothing",
            "line 8: agents[0].recovery.max_recovery_ms: expected a whole number from 0 to 1000000000, "
            'got "x"',
        ],
    ),
    "unhit without a fault": (
        agent("allow_unhit: true"),
        ["line 7: agents[0].allow_unhit: expected `inject` beside it: there is no fault to be hit"],
    ),
    "skip and only": (
        agent("skip: later\n    only: true"),
        ["line 8: agents[0].only: expected only one of skip and only, got skip too"],
    ),
    "a time without a unit": (
        agent("time_budget: 30"),
        [
            "line 7: agents[0].time_budget: expected a duration with its unit such as "
            '"10s" or "1h 30m", got 30'
        ],
    ),
    "an inert score": (
        agent("orchestration: {efficiency: 3}"),
        [
            "line 7: agents[0].orchestration.efficiency: a key of mcptest that Faultkit does not support",
            "line 7: agents[0].orchestration.error_recovery: expected a percentage from 0 to 100, "
            "got nothing",
        ],
    ),
    "a test name twice": (
        agent("skip: later") + "tools:\n  - {name: one, tool: search}\n",
        [
            'line 9: tools[0].name: expected a name that no test before it has, got "one" again '
            "(line 5 has it)"
        ],
    ),
    # --- expectations
    "an unknown matcher": (
        expectation("{contain: x}"),
        ['line 8: agents[0].expect[0].contain: unknown matcher; did you mean "contains"?'],
    ),
    "a judge": (
        expectation("{llm-judge: is it good}"),
        [
            "line 8: agents[0].expect[0].llm-judge: llm-judge asks a language model, whose verdict may "
            "differ the next time: not supported; state what must hold by contains, regex, schema or numeric"
        ],
    ),
    "a matcher of the original": (
        expectation("{cel: a == b}"),
        ["line 8: agents[0].expect[0].cel: a matcher of mcptest that Faultkit does not support"],
    ),
    "a limit of the original": (
        expectation("{response_headers: {}}"),
        ["line 8: agents[0].expect[0].response_headers: a key of mcptest that Faultkit does not support"],
    ),
    "a limit of tools in a test of an agent": (
        expectation("{max_response_tokens: 3}"),
        ["line 7: agents[0].expect: max_response_tokens is for tools; a test of an agent has token_budget"],
    ),
    "two matchers": (
        expectation("{contains: x, regex: y}"),
        ["line 8: agents[0].expect[0]: expected one matcher, got contains, regex"],
    ),
    "a target that no run has": (
        expectation("{target: final_respons, contains: x}"),
        [
            'line 8: agents[0].expect[0].target: no target begins with "final_respons"; '
            'did you mean "final_response"?'
        ],
    ),
    "a metric that there is not": (
        expectation("{target: metrics.nope, exact: 1}"),
        [
            'line 8: agents[0].expect[0].target: metrics has no "nope"; expected one of fault_hit, '
            "detections, detection_ms, same_goal_ms, same_goal_steps, any_success_ms, any_success_steps, "
            "reply_ms, path, wasted_calls, amplification, backoff, duplicate_effects, canaries_spread, "
            "honest, clean_cancel, cascade, overruns"
        ],
    ),
    "a target that cannot be read": (
        expectation('{target: "tool_calls[x]", contains: x}'),
        [
            'line 8: agents[0].expect[0].target: expected .key, [number], [*] or ["key"] '
            'at character 11 of "tool_calls[x]"'
        ],
    ),
    "a bad expression deep inside": (
        expectation('{anyOf: [{contains: x}, {not: {regex: "("}}]}'),
        [
            "line 8: agents[0].expect[0].anyOf[1].not.regex: expected a regular expression, "
            'got "(": missing ): ( (the syntax is that of RE2, without lookaround and backreferences)'
        ],
    ),
    "a duration of an agent": (
        expectation("{max_duration_ms: 3}"),
        ["line 7: agents[0].expect: max_duration_ms is for tools; a test of an agent has time_budget"],
    ),
    # --- variables and imports
    "a variable that is not set": (
        "default_server: ${NOSUCH}\n",
        [
            "line 1: default_server: expected the variable NOSUCH to be set, or ${NOSUCH:-otherwise}",
            'line 1: default_server: no server is named "${NOSUCH}"; the suite has none',
        ],
    ),
    "a list within a text": (
        f'{SERVERS}variables: {{all: [1]}}\ntools: [{{name: "a ${{all}}", tool: search}}]\n',
        ["line 4: tools[0].name: expected all to be a text or a number within a text, got a list"],
    ),
    "a variable with a bad name": (
        "variables: {a-b: 1}\n",
        ["line 1: variables.a-b: expected a name of letters, digits and underscores that is not taken"],
    ),
    "an import that is not there": (
        "imports: [nosuch.yml]\n",
        ['line 1: imports[0]: "nosuch.yml" cannot be read: no such file or directory'],
    ),
}


@pytest.mark.parametrize(("text", "expected"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_where_it_stands(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert problems_of(tmp_path, text) == [f"suite.yml: {problem}" for problem in expected]


@pytest.mark.parametrize("key", UNSUPPORTED_IN_SUITES)
def test_a_key_that_only_the_original_serves_is_named_as_such(tmp_path: Path, key: str) -> None:
    (problem,) = problems_of(tmp_path, f"{key}: {{}}\n")
    assert problem.startswith(f"suite.yml: line 1: {key}: a key of mcptest that Faultkit does not support")


def test_so_is_each_key_of_an_agent(tmp_path: Path) -> None:
    keys = "".join(f"    {key}: 1\n" for key in UNSUPPORTED_IN_AGENTS)
    problems = problems_of(tmp_path, f"{SERVERS}agents:\n  - name: one\n    agent: naive\n{keys}")
    assert problems == [
        f"suite.yml: line {6 + place}: agents[0].{key}: a key of mcptest that Faultkit does not support"
        for place, key in enumerate(UNSUPPORTED_IN_AGENTS)
    ]


def test_a_fault_or_a_server_with_a_mistake_is_still_known_by_its_name(tmp_path: Path) -> None:
    problems = problems_of(
        tmp_path,
        """\
        servers: {shop: {mock: tools.yml, bad: 1}}
        faults: [{name: gone, target: {tool: search}, kind: hagn}]
        agents: [{name: one, agent: absent, servers: [shop], inject: [gone]}]
        """,
    )
    assert [problem.split(": ")[2] for problem in problems] == [
        "servers.shop.bad",
        "faults[0].kind",
        "agents[0].agent",
    ]


def test_imports_in_a_circle_are_refused_with_the_circle(tmp_path: Path) -> None:
    write(tmp_path, "imports: [c.yml]\n", "b.yml")
    write(tmp_path, "imports: [suite.yml]\n", "c.yml")
    (problem,) = problems_of(tmp_path, "imports: [b.yml]\n")
    assert (
        problem == "c.yml: line 1: imports[0]: expected no circle, got suite.yml → b.yml → c.yml → suite.yml"
    )


def test_mistakes_of_an_imported_file_have_its_name(tmp_path: Path) -> None:
    write(tmp_path, "\nseed: -1\nservers: {shop: {mock: tools.yml}}\n", "b.yml")
    write(tmp_path, "servers: [\n", "c.yml")
    problems = problems_of(tmp_path, f"imports: [b.yml, c.yml]\n{SERVERS}")
    assert problems == [
        "b.yml: line 2: seed: expected a whole number of at least 0 or a text, got -1",
        'b.yml: line 3: servers.shop: expected a name that no server before it has, got "shop" again '
        "(suite.yml: line 3 has it)",
        "c.yml: line 2, column 1: expected the node content, but found '<stream end>'",
    ]


def test_a_script_that_calls_what_no_server_has_is_told_so_at_each_step(tmp_path: Path) -> None:
    text = SERVERS + dedent(
        """\
        agents:
          - name: a
            agent:
              script:
                - search
                - {call: nosuch, retry: 2, verify: nowhere, fallback: {call: order}}
        """
    )
    ends = "expected one of search, order"
    assert problems_of(tmp_path, text) == [
        f'suite.yml: line 8: agents[0].agent.script[1]: no tool is named "nosuch"; {ends}',
        f'suite.yml: line 8: agents[0].agent.script[1].verify: no tool is named "nowhere"; {ends}',
    ]


def test_what_json_has_not_is_told_once_and_hides_no_other_mistake(tmp_path: Path) -> None:
    text = (
        SERVERS + "seed: .nan\nnosuch: 1\ntools: [{name: t, tool: search, args: {a: .inf, b: [1, .nan]}}]\n"
    )
    problems = problems_of(tmp_path, text)
    assert [problem.partition(": expected")[0] for problem in problems if "nosuch" not in problem] == [
        "suite.yml: line 3: seed",
        "suite.yml: line 5: tools[0].args.a",
        "suite.yml: line 5: tools[0].args.b[1]",
    ]
    assert len(problems) == 4
