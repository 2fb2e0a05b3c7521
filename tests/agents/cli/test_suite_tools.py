"""`fault test init`, `coverage`, `shrink` and `--watch`, and the pytest plugin."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from faultkit.agents.coverage import coverage_of, phase_of
from faultkit.agents.suite_file import load_suite
from faultkit.cli import suites as running
from faultkit.cli.main import invoke
from faultkit.mcp.fault_specs import parse_spec
from tests.agents.execute.suite_runs import HEAD, TOOLS, program, server_code, write


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tools.yml").write_text(TOOLS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- init -----------------------------------------------------------------------------------------


def test_the_first_suite_of_a_manifest_is_one_that_runs(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "suites").mkdir()
    assert invoke(["test", "init", "--tools-from", "tools.yml", "--out", "suites/a.suite.yml"]) == 0
    assert capsys.readouterr().out == (
        "suites/a.suite.yml: a suite for 4 tools; run it with: fault test suites/a.suite.yml\n"
    )
    suite = load_suite("suites/a.suite.yml")
    # Two tests for each tool, and one with a lost answer for the tool that changes something.
    assert len(suite.agents) == 2 * 4 + 1
    assert invoke(["test", "suites"]) == 0


def test_the_first_suite_of_a_command_names_the_command(here: Path) -> None:
    program(here, "server.py", server_code())
    assert invoke(["test", "init", "--", sys.executable, "server.py"]) == 0
    assert invoke(["test"]) == 0


def test_a_first_suite_calls_nothing_that_may_write_unless_asked(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    called = "open('called', 'a').write(message['params']['name'] + ' ')"
    tools = [
        {"name": "wipe", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": True}},
        {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
        {
            "name": "read",
            "inputSchema": {
                "type": "object",
                "properties": {"path": {"type": "string"}},
                "required": ["path"],
            },
            "annotations": {"readOnlyHint": True},
        },
    ]
    code = server_code(calling=called).replace(
        '{"tools": [{"name": "search", "inputSchema": {"type": "object"}}]}', f'{{"tools": {tools!r}}}'
    )
    program(here, "server.py", code)
    assert invoke(["test", "init", "--", sys.executable, "server.py"]) == 0
    assert "skipped until you edit them: wipe, read" in capsys.readouterr().out
    assert invoke(["test"]) == 0
    assert set((here / "called").read_text().split()) == {"look"}
    skips = {test.name: test.skip for test in load_suite("first.suite.yml").agents}
    assert "readOnlyHint" in skips["wipe hangs, and the agent copes"]
    assert "TODO: give valid arguments (path)" in skips["read hangs, and the agent copes"]
    assert not skips["look hangs, and the agent copes"]
    assert (
        invoke(["test", "init", "--writes", "--out", "b.suite.yml", "--", sys.executable, "server.py"]) == 0
    )
    assert not any(test.skip for test in load_suite("b.suite.yml").agents if "wipe" in test.name)


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        ([], 2, "expected one of -- COMMAND, --url URL and --tools-from FILE"),
        (["--url", "http://x/", "--tools-from", "tools.yml"], 2, "expected one of"),
        (["--tools-from", "tools.yml", "--out", "tools.yml"], 2, "expected a new file"),
        (["--tools-from", "nosuch.yml"], 2, "nosuch.yml"),
        (["--", "no-such-program-anywhere"], 3, "no-such-program-anywhere"),
    ],
)
def test_what_init_cannot_do_is_said_and_nothing_is_written(
    here: Path, capsys: pytest.CaptureFixture[str], args: list[str], code: int, says: str
) -> None:
    assert invoke(["test", "init", *args]) == code
    assert says in capsys.readouterr().err
    assert sorted(path.name for path in here.iterdir()) == ["tools.yml"]
    assert (here / "tools.yml").read_text() == TOOLS


def test_the_suite_of_init_does_not_pass_where_a_tool_never_worked(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "broken.yml").write_text("""
tools:
  - { name: fails, annotations: { readOnlyHint: true }, responses: [{ when: default, error: boom }] }
  - { name: works, annotations: { readOnlyHint: true }, response: "fine" }
""")
    assert invoke(["test", "init", "--tools-from", "broken.yml"]) == 0
    capsys.readouterr()
    assert invoke(["test", "first.suite.yml", "--reporter", "json"]) == 1
    rows = json.loads(capsys.readouterr().out)["tests"]
    failing = {row["name"]: row["failure"]["limit"] for row in rows if row["failure"]}
    assert failing == {"fails comes back, and the agent copes (recovery)": "require.success"}


# --- coverage -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "phase"),
    [
        ("hang", "request"),
        ("slow:10", "request"),
        ("tool_error", "request"),
        ("fail_from:2", "request"),
        ("disconnect", "request"),
        ("lost_reply", "reply"),
        ("malformed_json", "reply"),
        ("wrong_id", "reply"),
        ("duplicate_reply", "reply"),
    ],
)
def test_a_fault_strikes_on_the_way_there_or_on_the_way_back(spec: str, phase: str) -> None:
    rule = parse_spec(spec)
    assert rule is not None
    assert phase_of(rule) == phase


def test_what_is_tested_and_what_is_not(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = (
        HEAD
        + """
  - { name: lost, spec: "lost_reply@order*" }
agents:
  - { name: a, agent: naive, inject: [hung, lost] }
  - { name: b, agent: naive, inject: [hung] }
  - { name: c, agent: naive, inject: [back], skip: later }
tools:
  - { name: t, tool: order, inject: [lost] }
"""
    )
    suite = write(here, body)
    coverage = coverage_of([load_suite(suite)])
    assert [(each.tool, each.phase, each.fault, each.tests) for each in coverage.covered] == [
        ("order", "reply", "lost_reply", ("t", "a")),
        ("orders", "reply", "lost_reply", ("a",)),
        ("search", "request", "hang", ("a", "b")),
    ]
    assert ("shop", "grep", "request") in coverage.untested
    assert coverage.share == 3 / 8
    assert invoke(["test", "coverage", "suite.yml", "--threshold", "37"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["tool", "phase", "fault", "declared", "in", "met", "in"]
    assert lines[-1] == (
        "38 % of tools and phases have a declared fault; "
        "it is unknown which were met: run `fault test`, or name a report by --run"
    )
    assert invoke(["test", "coverage", "--config", "suite.yml", "--threshold", "38", "--json"]) == 1
    said = capsys.readouterr()
    assert said.err == "--threshold 38: 37.5 % of tools and phases have a declared fault, which is less\n"
    document = json.loads(said.out)
    assert len(document["untested"]) == 5
    assert (document["met_share"], document["covered"][0]["met"]) == (None, None)


MET = """
  - { name: lost, spec: "lost_reply@order" }
  - { name: never, spec: "tool_error%0@grep" }
agents:
  - { name: one, agent: { script: [search] }, inject: [hung, lost], allow_unhit: true }
  - { name: two, agent: { script: [search, grep] }, inject: [hung, never], recovery: { max_detection_ms: 9 } }
tools:
  - { name: three, tool: order, inject: [lost], expect: [{ target: error.kind, exact: timeout }] }
"""


def test_coverage_tells_what_was_met_from_what_is_declared(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(here, HEAD + MET)
    invoke(["test", "suite.yml", "--reporter", "json=run.json"])
    for args in ([], ["--run", "run.json"]):
        capsys.readouterr()
        assert invoke(["test", "coverage", "./suite.yml", "--json", *args]) == 0
        document = json.loads(capsys.readouterr().out)
        assert [
            (each["tool"], each["fault"], each["tests"], each["met"]) for each in document["covered"]
        ] == [
            ("grep", "tool_error", ["two"], []),
            ("order", "lost_reply", ["three", "one"], ["three"]),
            ("search", "hang", ["one", "two"], ["one", "two"]),
        ]
        assert (document["share"], document["met_share"]) == (3 / 8, 2 / 8)
    assert invoke(["test", "coverage", "suite.yml", "--threshold", "30"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        "38 % of tools and phases have a declared fault; 25 % met one in the last runs"
    )
    assert invoke(["test", "coverage", "suite.yml", "--threshold", "30", "--run", "run.json"]) == 1


def test_what_a_test_met_is_known_until_it_is_run_again(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(here, HEAD + MET)
    invoke(["test", "suite.yml"])
    file.write_text((HEAD + MET).replace("script: [search]", "script: [grep]"))
    for args, met in (["three"], ["one", "two"]), (["one"], ["two"]):
        invoke(["test", "suite.yml", "--filter", args[0]])
        capsys.readouterr()
        assert invoke(["test", "coverage", "suite.yml", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["covered"][2]["met"] == met


@pytest.mark.parametrize("args", [[], ["--run", "run.json"]])
@pytest.mark.parametrize(
    "changed",
    [
        "kind: tool_error, trigger: { probability: 0 }",
        "kind: hang, trigger: { probability: 0 }",
        "kind: hang, limit_s: 7",
    ],
)
def test_what_was_met_is_unknown_once_the_fault_is_another_one(
    here: Path, capsys: pytest.CaptureFixture[str], changed: str, args: list[str]
) -> None:
    body = HEAD + "agents:\n  - { name: a, agent: { script: [search] }, inject: [hung] }\n"
    file = write(here, body)
    invoke(["test", "suite.yml", "--reporter", "json=run.json"])
    for text, met in (body, ["a"]), (body.replace("kind: hang", changed, 1), None):
        file.write_text(text)
        capsys.readouterr()
        assert invoke(["test", "coverage", "suite.yml", "--json", *args]) == 0
        (row,) = json.loads(capsys.readouterr().out)["covered"]
        assert row["met"] == met


def test_runs_that_an_earlier_version_kept_are_unknown(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(here, HEAD + "agents:\n  - { name: a, agent: { script: [search] }, inject: [hung] }\n")
    (here / ".fault_cache").mkdir()
    stored = [["suite.yml", "a", [["shop", "search", "hung"]]]]
    (here / ".fault_cache" / "last-met.json").write_text(json.dumps(stored))
    assert invoke(["test", "coverage", "suite.yml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["covered"][0]["met"] is None


def test_a_suite_that_was_never_run_is_unknown_also_where_another_one_ran(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (write(here, HEAD + MET)).rename(here / "ran.yml")
    write(here, HEAD + "agents:\n  - { name: new, agent: { script: [search] }, inject: [hung] }\n")
    invoke(["test", "ran.yml"])
    capsys.readouterr()
    unknown = "it is unknown which were met: run `fault test`, or name a report by --run"
    assert invoke(["test", "coverage", "suite.yml"]) == 0
    *rows, last = capsys.readouterr().out.splitlines()
    assert [row.split()[-1] for row in rows if "hang" in row] == ["?"]
    assert last.endswith(f"; {unknown}")
    assert invoke(["test", "coverage", "suite.yml", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["met_share"], document["covered"][0]["met"]) == (None, None)


def test_coverage_counts_the_rows_whose_tests_were_not_run(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(here, HEAD + MET)
    invoke(["test", "suite.yml", "--filter", "one"])
    capsys.readouterr()
    assert invoke(["test", "coverage", "suite.yml"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.endswith("; 12 % met one in the last runs; 1 row unknown (?): no such test was run")


@pytest.mark.parametrize(
    ("text", "problem"), [("[]", "expected a report of"), (None, "nosuch cannot be read")]
)
def test_a_report_that_is_none_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str], text: str | None, problem: str
) -> None:
    write(here, HEAD + MET)
    if text is not None:
        (here / "nosuch").write_text(text)
    assert invoke(["test", "coverage", "suite.yml", "--run", "nosuch"]) == 2
    assert capsys.readouterr().err.startswith(f"error: --run: {problem}")


# --- shrink ---------------------------------------------------------------------------------------

TANGLED = """
servers: { shop: { mock: tools.yml } }
faults:
  - { name: late, spec: "slow:100@search" }
  - { name: broken, target: { tool: search }, kind: hang, trigger: { first: 6 }, with: { limit_s: 77 } }
  - { name: other, target: { tool: grep }, kind: tool_error }
agents:
  - name: gives up
    agent: { script: [{ call: search, retry: { attempts: 3 }, fallback: { call: grep } }] }
    inject: [other, broken, late]
    recovery: { max_detection_ms: 3000, max_recovery_ms: 8000 }
    allow_unhit: true
  - { name: fine, agent: retrying, inject: [broken], recovery: { max_detection_ms: 3000 } }
"""


def test_a_failing_plan_is_reduced_to_what_it_takes_and_written_as_a_regression(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(here, TANGLED)
    assert invoke(["test", "shrink", "suite.yml", "--filter", "gives up"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        'needed: hang target {"tool": "search"}',
        "repro: fault test gives-up.suite.yml",
    ]
    regression = load_suite("gives-up.suite.yml")
    (fault,) = regression.faults
    assert (fault.name, fault.rule.trigger.always) == ("broken", True)
    (test,) = regression.agents
    assert test.inject == ("broken",)
    assert invoke(["test", "gives-up.suite.yml"]) == 1
    assert "max_recovery_ms is 8000" in capsys.readouterr().out
    assert invoke(["test", "shrink", "suite.yml", "--filter", "gives up"]) == 2
    assert "expected a new file" in capsys.readouterr().err


def test_a_count_is_made_as_small_as_it_can_be(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fault = "kind: recover_after, failures: 50 }"
    write(here, TANGLED.replace("kind: hang, trigger: { first: 6 }, with: { limit_s: 77 } }", fault))
    assert invoke(["test", "shrink", "suite.yml", "--filter", "gives up"]) == 0
    # With two failures the run would end at 6 s, within the limit of 8 s.
    assert 'needed: recover_after target {"tool": "search"}, with {"failures": 3}' in capsys.readouterr().out


def test_only_a_test_that_fails_can_be_reduced(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here, TANGLED)
    assert invoke(["test", "shrink", "suite.yml", "--filter", "fine"]) == 2
    assert "expected one test of an agent that fails with a fault, got none" in capsys.readouterr().err


# --- watch ----------------------------------------------------------------------------------------


def test_a_change_of_any_file_of_a_suite_runs_it_again(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = write(here, HEAD + "tools: [{ name: t, tool: search, expect: [{ contains: found }] }]\n")
    tools = here / "tools.yml"
    changes = [(tools, TOOLS.replace("found", "lost and gone")), None, (suite, "tools: 1\n")]

    def somebody_works(seconds: float) -> None:
        if not changes:
            raise KeyboardInterrupt
        change = changes.pop(0)
        if change is not None:
            change[0].write_text(change[1])

    monkeypatch.setattr(running, "sleep", somebody_works)
    assert invoke(["test", "suite.yml", "--watch"]) == 130
    said = capsys.readouterr()
    sums = [line for line in said.out.splitlines() if line.startswith("1 test:")]
    assert [line.split()[3].rstrip(",") for line in sums] == ["passed", "failed"]
    assert "error: suite.yml: line 1: tools: expected" in said.err
    assert said.err.count("watching") == 3


# --- pytest ---------------------------------------------------------------------------------------


def test_pytest_collects_suites_and_shows_what_the_rows_say(here: Path) -> None:
    body = (
        HEAD
        + """
agents:
  - { name: good, agent: retrying, inject: [back], recovery: { max_detection_ms: 3000 }, tags: [nightly] }
  - { name: bad, agent: looping, inject: [hung], recovery: { max_detection_ms: 3000 } }
  - { name: later, agent: naive, inject: [hung], skip: not yet }
"""
    )
    write(here, body, "a.suite.yml")
    write(here, "agents: 1\n", "wrong.suite.yml")
    write(here, "agents: 1\n", "other.yml")
    done = _pytest("-rs", "--continue-on-collection-errors")
    assert done.returncode == 1, done.stdout
    assert "wrong.suite.yml: line 1: agents" in done.stdout
    assert "1 failed, 1 passed, 1 skipped, 1 error" in done.stdout
    assert "failed: bad (recovery): did not recover" in done.stdout
    assert "Traceback" not in done.stdout
    assert "not yet" in done.stdout
    assert "1 passed, 2 deselected" in _pytest("a.suite.yml", "-k", "nightly").stdout


def test_the_plugin_costs_nothing_where_there_is_no_suite(here: Path) -> None:
    code = "import sys, faultkit.agents.plugin; print([m for m in sys.modules if m.startswith('faultkit')])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.strip() == "['faultkit', 'faultkit.agents', 'faultkit.agents.plugin']"


def test_the_plugin_leaves_alone_what_is_no_suite_and_can_be_switched_off(here: Path) -> None:
    (here / "other.suite.yml").write_text("jobs:\n  - servers: none of ours\n")
    (here / "test_one.py").write_text("def test_one() -> None: ...\n")
    done = _pytest("-q")
    assert (done.returncode, "1 passed" in done.stdout) == (0, True)
    (here / "bad.suite.yml").write_text("servers: 7\n")
    assert _pytest("-q").returncode == 2
    assert _pytest("-q", "-o", "faultkit_suites=false").returncode == 0


def _pytest(*args: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "faultkit.agents.plugin",
        "-p",
        "no:cacheprovider",
        *args,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


# validate


def test_validate_starts_nothing_and_says_what_a_suite_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(
        tmp_path,
        """\
servers:
  shop: { mock: tools.yml }
  far: { url: "http://127.0.0.1:1/mcp", auth: { bearer_token_env: NO_SUCH_TOKEN } }
  gone: { command: [./nosuch] }
default_server: shop
faults: [{ name: hung, target: { tool: search }, kind: hang }]
tools: [{ name: t, tool: search, only: true }, { name: u, server: gone, tool: x, expect: { contains: "" } }]
security: { scan: true }
agents: [{ name: a, agent: naive }]
""",
    )
    assert invoke(["test", "validate", "suite.yml"]) == 0
    assert capsys.readouterr() == (
        "suite.yml: valid: 3 tests, 3 servers, 1 fault\n"
        "remark: suite.yml: line 8: security: not run: nothing here scans the texts of tools\n"
        "remark: suite.yml: line 7: t: only tests with `only: true` are run\n"
        "remark: suite.yml: line 7: u: asserts nothing, so it cannot pass\n"
        "remark: suite.yml: line 9: a: asserts nothing, so it cannot pass\n"
        "remark: suite.yml: line 6: hung: no test injects it\n",
        "",
    )


def test_validate_prints_every_mistake_of_all_suites(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "agents: [{ name: a, agent: naive, inject: [x] }]\n")
    write(tmp_path, "tools: [{ name: t, tool: x, server: y }]\n", "mcptest.yml")
    assert invoke(["test", "validate", "suite.yml", "--config", "mcptest.yml"]) == 2
    assert [line.partition(": expected")[0] for line in capsys.readouterr().err.splitlines()] == [
        "error: suite.yml: line 1: agents[0].servers",
        'error: suite.yml: line 1: agents[0].inject[0]: no fault is named "x"; declare it under `faults:`',
        'error: mcptest.yml: line 1: tools[0].server: no server is named "y"; the suite has none',
    ]


def test_validate_fills_variables_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(write(tmp_path, "servers: { a: { url: '${HERE}' } }\n"))
    assert invoke(["test", "validate", file]) == 2
    assert invoke(["test", "validate", file, "--var", "HERE=http://x/"]) == 0
    assert capsys.readouterr().out == f"{file}: valid: 0 tests, 1 server, 0 faults\n"
