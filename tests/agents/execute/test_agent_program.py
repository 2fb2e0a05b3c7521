from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path

import pytest

from faultkit.agents.execute.agent_program import ProgramRun, answer_in, run_program
from faultkit.agents.recovery.metrics import metrics_of
from faultkit.agents.suite.agent_interface import AgentAnswer, AgentTask, RunBudget
from faultkit.agents.suite.definition import (
    CommandAgent,
    CommandServer,
    MockServer,
    Serving,
    SourcePlace,
    SuiteServer,
)
from faultkit.agents.suite.gate import RecoveryGate, gate_recovery
from faultkit.base.errors import TargetError
from faultkit.plan import Plan
from tests.mcp.specs import parse_specs

PROGRAMS = Path(__file__).parent / "programs"
PATIENCE_S = 60.0
PLACE = SourcePlace("s.yml", 1)
MANIFEST = """
mock_server:
  name: shop
  tools:
    - name: search
      annotations: {readOnlyHint: true}
      response: {content: [{type: text, text: found}]}
    - name: grep
      annotations: {readOnlyHint: true}
      response: {content: [{type: text, text: grepped}]}
    - name: order
      response: {content: [{type: text, text: tea}]}
"""


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("mock") / "tools.yml"
    path.write_text(MANIFEST)
    return str(path)


def run(
    argv: list[str],
    serving: Serving,
    *specs: str,
    budget: RunBudget | None = None,
    limit_s: float = PATIENCE_S,
    env: dict[str, str] | None = None,
) -> ProgramRun:
    agent = CommandAgent((sys.executable, *argv), env or {})
    plan = Plan(parse_specs(specs), 0)
    work = run_program(
        agent,
        AgentTask("tea", "Be brief.", 7),
        [SuiteServer("shop", serving, PLACE)],
        plan,
        budget or RunBudget(),
        limit_s=limit_s,
    )
    return asyncio.run(work)


def seen(run: ProgramRun) -> list[str]:
    return [f"{mark.tool}:{mark.outcome}:{mark.fault}" for mark in run.trace.calls]


@pytest.mark.parametrize("era", [pytest.param("legacy", marks=pytest.mark.thorough), "auto"])
def test_an_agent_on_the_sdks_client_is_seen_to_cancel_and_to_take_another_tool(
    era: str, manifest: str
) -> None:
    ran = run([str(PROGRAMS / "sdk_agent.py")], MockServer(manifest), "hang@search", env={"ERA": era})
    assert (ran.problem, ran.trace.ending, ran.notes) == ("", "reply", ())
    assert seen(ran) == ["search:cancelled:hang", "grep:ok:"]
    first, second = ran.trace.calls
    assert (first.arguments, first.server, first.permanent, first.is_read) == (
        {"q": "tea"},
        "shop",
        True,
        True,
    )
    reply = ran.trace.reply
    assert reply is not None
    assert reply.text == "search: MCPError; grepped"
    assert first.end_ms is not None
    assert second.end_ms is not None
    assert 0 < first.start_ms < first.end_ms <= second.start_ms <= second.end_ms <= reply.at_ms
    metrics = metrics_of(ran.trace)
    assert (metrics.path, metrics.detections, metrics.clean_cancel) == ("other_tool", 1, True)
    assert gate_recovery(RecoveryGate(30_000, 60_000, True), ran.trace, "real").verdict == "passed"


def test_an_agent_on_fastmcps_client_that_repeats_what_was_done_is_seen_to_do_so_twice(manifest: str) -> None:
    command = CommandServer((sys.executable, "-m", "faultkit", "mock", "--tools-from", manifest))
    ran = run([str(PROGRAMS / "fastmcp_agent.py")], command, "lost_reply,first=1@order")
    assert (ran.problem, ran.trace.ending) == ("", "reply")
    assert ran.trace.reply is not None
    assert (ran.trace.reply.text, ran.trace.reply.claims_success) == ("ordered: tea", True)
    assert [mark.tool for mark in ran.trace.calls] == ["order", "order"]
    first, second = ran.trace.calls
    assert (first.fault, second.fault, second.outcome) == ("lost_reply", "", "ok")
    assert first.outcome in ("timeout", "cancelled")
    assert first.arguments == {"item": "tea"}
    assert metrics_of(ran.trace).duplicate_effects == 1


SHORT = "import os, sys, time, subprocess\n"


def test_what_a_program_finds_in_its_environment(manifest: str) -> None:
    code = SHORT + (
        "import json\n"
        "config = json.load(open(os.environ['FAULT_MCP_CONFIG']))\n"
        "wrapped = json.load(open(os.environ['FAULT_MCP_STDIO_CONFIG']))\n"
        "names = ('FAULT_PROMPT', 'FAULT_SYSTEM_PROMPT', 'FAULT_SEED', 'FAULT_MCP_URL_SHOP', 'OWN')\n"
        "print(json.dumps([[os.environ[name] for name in names], sys.stdin.read(), config, wrapped]))\n"
    )
    ran = run(["-S", "-c", code], MockServer(manifest), env={"OWN": "x"})
    assert ran.trace.reply is not None
    (prompt, system, seed, url, own), stdin, config, wrapped = json.loads(ran.trace.reply.text)
    assert (prompt, system, seed, own, stdin) == ("tea", "Be brief.", "7", "x", "tea")
    assert config == {"mcpServers": {"shop": {"type": "http", "url": url}}}
    assert url in wrapped["mcpServers"]["shop"]["args"]
    assert ran.trace.calls == ()


def test_a_program_does_not_get_the_tokens_that_steer_its_test(
    manifest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FAULT_CONTROL_TOKEN", "FAULT_AGENT_TOKEN", "FAULT_CHAOS_TOKEN", "FAULT_GATEWAY_TOKEN"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("OTHER_TOKEN", "its own")
    code = SHORT + "print([v for v in os.environ.values() if v in ('secret', 'its own')])\n"
    ran = run(["-S", "-c", code], MockServer(manifest))
    assert ran.trace.reply is not None
    assert ran.trace.reply.text.strip() == "['its own']"


def test_a_client_that_only_starts_commands_has_its_servers_by_pipes(manifest: str) -> None:
    code = SHORT + (
        "import json\n"
        "entry = json.load(open(os.environ['FAULT_MCP_STDIO_CONFIG']))['mcpServers']['shop']\n"
        "server = subprocess.Popen([entry['command'], *entry['args']], stdin=-1, stdout=-1)\n"
        "def say(message):\n"
        "    server.stdin.write(json.dumps({'jsonrpc': '2.0', **message}).encode() + b'\\n')\n"
        "    server.stdin.flush()\n"
        "info = {'name': 'x', 'version': '1'}\n"
        "params = {'protocolVersion': '2025-06-18', 'capabilities': {}, 'clientInfo': info}\n"
        "say({'id': 0, 'method': 'initialize', 'params': params})\n"
        "server.stdout.readline()\n"
        "say({'method': 'notifications/initialized'})\n"
        "say({'id': 1, 'method': 'tools/call', 'params': {'name': 'grep', 'arguments': {}}})\n"
        "print(json.loads(server.stdout.readline())['result']['content'][0]['text'])\n"
        "server.stdin.close()\n"
        "server.wait()\n"
    )
    ran = run(["-S", "-c", code], MockServer(manifest), "tool_error:no@search")
    assert ran.trace.reply is not None
    assert (ran.trace.reply.text, seen(ran)) == ("grepped", ["grep:ok:"])


def test_an_agent_that_hangs_is_ended_with_all_that_it_started_and_there_is_a_reason(
    manifest: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faultkit.base.external_program.TERM_S", 0.1)
    file = tmp_path / "pids"
    code = SHORT + (
        "import signal\n"
        "signal.signal(signal.SIGTERM, lambda *_: None)\n"
        "child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(file)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "print('still here', flush=True)\n"
        "while True: time.sleep(600)\n"
    )
    ran = run(["-S", "-c", code], MockServer(manifest), limit_s=1.0)
    assert ran.problem == "the agent did not end within 1 s (--timeout)"
    assert (ran.trace.ending, ran.trace.reply, ran.trace.overruns) == ("time", None, ("time",))
    pids = [int(pid) for pid in file.read_text().split()]
    until = time.monotonic() + 20
    while any(_is_there(pid) for pid in pids) and time.monotonic() < until:
        time.sleep(0.01)
    assert [pid for pid in pids if _is_there(pid)] == []


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A child of a killed parent is a zombie until init reaps it.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_an_agent_whose_child_keeps_its_output_open_is_not_waited_for(manifest: str) -> None:
    code = SHORT + "subprocess.Popen(['sleep', '600'])\nprint('Done.')\n"
    ran = run(["-S", "-c", code], MockServer(manifest))
    assert ran.trace.reply is not None
    assert ran.trace.reply.text == "Done."


def test_an_agent_that_fails_has_no_answer_in_and_its_error_is_told(manifest: str) -> None:
    code = SHORT + "print('half a word'); sys.exit('no such model')\n"
    ran = run(["-S", "-c", code], MockServer(manifest))
    assert (ran.trace.ending, ran.trace.reply) == ("error", None)
    assert ran.problem == "the agent ended with exit code 1: no such model"


PLAIN = ["-S", str(PROGRAMS / "plain_agent.py")]


def test_an_agent_that_calls_too_often_is_ended(manifest: str) -> None:
    ran = run([*PLAIN, *["search"] * 500], MockServer(manifest), budget=RunBudget(calls=3))
    assert (ran.trace.ending, ran.problem) == ("calls", "the budget of calls was used up")
    assert ran.trace.overruns == ("calls",)
    assert seen(ran)[:3] == ["search:ok:"] * 3


SERVER = """
import json, os, sys
if os.path.exists({ended!r}): sys.exit(3)
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked: continue
    if asked["method"] == "initialize":
        result = dict(protocolVersion="2025-06-18", capabilities=dict(tools={{}}), serverInfo=dict(name="s"))
    elif asked["method"] == "tools/list":
        read = dict(name="search", annotations=dict(readOnlyHint=True), inputSchema=dict(type="object"))
        result = dict(tools=[read, dict(name="order", inputSchema=dict(type="object"))])
    else:
        result = dict(content=[dict(type="text", text="found")])
        if {lasts!r} == "once": open({ended!r}, "w").close()
    print(json.dumps(dict(jsonrpc="2.0", id=asked["id"], result=result)), flush=True)
"""


@pytest.mark.parametrize("kind", ["mock", "program"])
def test_a_read_has_no_effect_though_the_agent_lists_no_tools(
    kind: str, manifest: str, tmp_path: Path
) -> None:
    code = SERVER.format(ended=str(tmp_path / "ended"), lasts="long")
    program = CommandServer((sys.executable, "-S", "-c", code))
    ran = run([*PLAIN, "search", "order", "search"], program if kind == "program" else MockServer(manifest))
    assert [(call.tool, call.is_read, bool(call.effect)) for call in ran.trace.calls] == [
        ("search", True, False),
        ("order", False, True),
        ("search", True, False),
    ]
    assert (metrics_of(ran.trace).duplicate_effects, ran.notes) == (0, ())


def test_tools_that_can_no_longer_be_listed_are_remarked_on(tmp_path: Path) -> None:
    code = SERVER.format(ended=str(tmp_path / "ended"), lasts="once")
    ran = run([*PLAIN, "search"], CommandServer((sys.executable, "-S", "-c", code)))
    (note,) = ran.notes
    assert note.startswith("the agent called tools that it did not list, so each of these calls counts as an")


def test_an_agent_that_hangs_up_without_a_word_has_not_cancelled(manifest: str) -> None:
    ran = run([*PLAIN, "search", "grep"], MockServer(manifest), "hang@search")
    assert seen(ran) == ["search:timeout:hang", "grep:ok:"]
    first, second = ran.trace.calls
    assert first.end_ms is not None
    assert first.end_ms <= second.start_ms
    assert metrics_of(ran.trace).clean_cancel is False
    assert ran.trace.reply is not None
    assert ran.trace.reply.text == "search: TimeoutError\nDone."


def test_an_agent_that_gives_up_and_answers_at_once_has_recovered(manifest: str) -> None:
    program = ["-S", str(PROGRAMS / "early_answer_agent.py")]
    ran = run(program, MockServer(manifest), "hang@search")
    assert seen(ran) == ["search:timeout:hang"]
    (call,), reply = ran.trace.calls, ran.trace.reply
    assert call.end_ms is not None
    assert reply is not None
    assert (reply.text, reply.at_ms < call.end_ms) == ("The search does not answer.", True)
    result = gate_recovery(RecoveryGate(30_000, 60_000, True), ran.trace, "real")
    assert (result.verdict, result.detections) == ("passed", 1)
    assert metrics_of(ran.trace).detection_ms == reply.at_ms - call.start_ms


def test_calls_of_a_session_that_is_frozen_are_seen_though_nobody_gets_them(manifest: str) -> None:
    ran = run([*PLAIN, "order", "search", "grep"], MockServer(manifest), "frozen@search")
    assert seen(ran) == ["order:ok:", "search:timeout:frozen", "grep:timeout:frozen"]
    assert ran.trace.reply is not None


def test_a_server_that_leaves_in_the_middle_is_noted_and_its_calls_are_lost() -> None:
    code = (
        "import json, sys\n"
        "opened = json.loads(sys.stdin.readline())\n"
        "result = {'protocolVersion': '2025-06-18', 'capabilities': {'tools': {}},\n"
        "          'serverInfo': {'name': 'x', 'version': '1'}}\n"
        "print(json.dumps({'jsonrpc': '2.0', 'id': opened['id'], 'result': result}), flush=True)\n"
        "sys.stdin.readline(), sys.stdin.readline()\n"
        "sys.exit(7)\n"
    )
    ran = run([*PLAIN, "search"], CommandServer((sys.executable, "-S", "-c", code)))
    assert seen(ran) == ["search:lost:"]
    assert ran.notes == ("shop: the server ended with exit code 7",)


def test_an_agent_whose_run_is_cancelled_is_gone(
    manifest: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faultkit.base.external_program.TERM_S", 0.1)
    file = tmp_path / "pid"
    code = SHORT + f"open({str(file)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    agent = CommandAgent((sys.executable, "-S", "-c", code))
    server = SuiteServer("shop", MockServer(manifest), PLACE)

    async def cancelled() -> None:
        async with asyncio.timeout(PATIENCE_S):
            work = asyncio.ensure_future(
                run_program(agent, AgentTask(""), [server], Plan(), RunBudget(), limit_s=PATIENCE_S)
            )
            while not (file.exists() and file.read_text()):  # noqa: ASYNC110 (of another process)
                await asyncio.sleep(0.01)
            work.cancel()
            await asyncio.wait([work])
            assert work.cancelled()

    asyncio.run(cancelled())
    assert not _is_there(int(file.read_text()))


@pytest.mark.parametrize(
    ("stdout", "word"),
    [
        ("", AgentAnswer("")),
        ("One.\n\nTwo.\n", AgentAnswer("One.\n\nTwo.")),
        ('{"reply": "Yes.", "success": true}', AgentAnswer("Yes.", True)),
        ('log\n{"reply": "No.", "success": false}\n', AgentAnswer("No.", False)),
        ('{\n "reply": "Laid out."\n}', AgentAnswer("Laid out.")),
        ('{"reply": 1}', AgentAnswer('{"reply": 1}')),
        ('{"reply": "x", "success": "yes"}', AgentAnswer("x")),
    ],
)
def test_the_answer_in_of_a_program(stdout: str, word: AgentAnswer) -> None:
    assert answer_in(stdout) == word


def test_what_cannot_be_run_is_said_before_anything_is(manifest: str) -> None:
    server = [SuiteServer("shop", MockServer(manifest), PLACE)]
    nowhere = CommandAgent(("no-such-agent",))
    with pytest.raises(TargetError, match="cannot start no-such-agent: there is no such program"):
        asyncio.run(run_program(nowhere, AgentTask(""), server, Plan(), RunBudget(), limit_s=1))
    with pytest.raises(TargetError, match="cannot start no-such-server"):
        run(["-V"], CommandServer(("no-such-server",)))


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="only Linux shows environments")
def test_what_an_agent_has_sent_into_a_session_of_its_own_ends_with_it(manifest: str, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    code = SHORT + (
        "child = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        f"open({str(file)!r}, 'w').write(str(child.pid))\n"
        "print('Done.')\n"
    )
    run(["-S", "-c", code], MockServer(manifest))
    pid = int(file.read_text())
    until = time.monotonic() + 20
    while _is_there(pid) and time.monotonic() < until:
        time.sleep(0.01)
    assert not _is_there(pid)
