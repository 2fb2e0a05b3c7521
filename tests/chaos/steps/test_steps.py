"""Checks and actions with real servers, processes, and a proxy with its control API."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from faultkit.base.address import Endpoint
from faultkit.base.process_identity import birth_of
from faultkit.chaos.experiment.experiment_model import Outcome
from faultkit.chaos.named_faults.fault_registry import FaultRegistry
from faultkit.mcp.gateway.gateway_control import GatewayControl, GatewayState
from faultkit.plan import Plan
from faultkit.proxy.plane import Plane
from tests.chaos.stage import Stage, experiment_of


class _Answers(BaseHTTPRequestHandler):
    seen: list[str] = []  # noqa: RUF012 (of one module)

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/api/v1/query":
            self._say(200, _prometheus(parse_qs(url.query)["query"][0]))
        elif url.path == "/json":
            self._say(200, {"queue": {"depth": 3}})
        elif url.path == "/wait":
            threading.Event().wait(0.5)
            self._say(200, {})
        else:
            self._say(int(url.path.strip("/") or 200), {})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        self.seen.append(f"{self.path} {body}")
        self._say(int(self.path.strip("/")), {})

    def _say(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def _prometheus(query: str) -> Any:
    results = {
        "up": {"resultType": "vector", "result": [{"metric": {"job": "a"}, "value": [1, "0.5"]}]},
        "all": {
            "resultType": "vector",
            "result": [{"metric": {"n": str(n)}, "value": [1, str(n)]} for n in (1, 2)],
        },
        "none": {"resultType": "vector", "result": []},
        "scalar(1)": {"resultType": "scalar", "result": [1, "7"]},
    }
    if query not in results:
        return {"status": "error", "errorType": "bad_data", "error": "parse error"}
    return {"status": "success", "data": results[query]}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    serving = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    thread = threading.Thread(target=serving.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{serving.server_port}"
    serving.shutdown()
    serving.server_close()
    thread.join(5)


def outcome_of(stage: Stage, check: dict[str, Any]) -> tuple[str, str | None]:
    """Run an experiment of only this check; return its outcome and its error."""
    experiment = experiment_of({"name": "x", "steady_state": [check], "method": []}, stage.folder)
    journal = stage.run(experiment, dry_run=True)
    (probe,) = journal.document["steady_states"]["before"]["probes"]
    return str(journal.result.outcome), probe["why"]


def test_an_http_check_sees_status_body_and_time(stage: Stage, server: str) -> None:
    assert outcome_of(stage, {"http": f"{server}/200"}) == ("held", None)
    assert outcome_of(stage, {"http": f"{server}/503"}) == (
        "gate_not_met",
        "expected status below 400, got 503",
    )
    assert outcome_of(stage, {"http": f"{server}/503", "expect": [503, 504]})[0] == "held"
    deep = {"http": f"{server}/json", "expect": {"target": "body.queue.depth", "at_most": 3}}
    assert outcome_of(stage, deep)[0] == "held"
    slow = {"http": f"{server}/wait", "expect": {"target": "elapsed_ms", "below": 100}}
    assert str(outcome_of(stage, slow)[1]).startswith("expected elapsed_ms below 100, got ")
    late = {"http": f"{server}/wait", "limit": "50ms"}
    assert outcome_of(stage, late)[1] == "it did not end within 0.05 s"


def test_a_refused_connection_is_a_result_of_each_check(stage: Stage, closed_port: int) -> None:
    url = f"http://127.0.0.1:{closed_port}/"
    outcome, why = outcome_of(stage, {"http": url})
    assert (outcome, "refused" in str(why)) == ("gate_not_met", True)
    assert outcome_of(stage, {"tcp": closed_port})[1] == 'expected "open", got "refused"'
    assert outcome_of(stage, {"tcp": closed_port, "expect": "refused"})[0] == "held"
    why = outcome_of(stage, {"promql": {"url": url, "query": "up"}})[1]
    assert "refused" in str(why)
    why = outcome_of(stage, {"mcp": {"url": url, "tool": "a"}})[1]
    assert "refuse" in str(why) or "reach" in str(why)


def test_a_tcp_check_can_speak(stage: Stage, echo: Endpoint) -> None:
    check = {
        "tcp": {"address": str(echo), "send": "PING\r\n"},
        "expect": {"target": "reply", "contains": "PING"},
    }
    assert outcome_of(stage, check) == ("held", None)
    assert outcome_of(stage, {"tcp": str(echo)})[0] == "held"


def test_a_process_check_sees_status_and_output(stage: Stage) -> None:
    check = {"process": ["/bin/sh", "-c", "echo out; echo err >&2; exit 3"]}
    assert outcome_of(stage, check)[1] == "expected 0, got 3"
    assert outcome_of(stage, {**check, "expect": 3})[0] == "held"
    assert outcome_of(stage, {**check, "expect": {"target": "stdout", "matches": "^out"}})[0] == "held"
    behind = {"process": ["/bin/sh", "-c", "sleep 60 & echo out"], "limit": "5s"}
    assert outcome_of(stage, behind) == ("held", None)


def test_a_promql_check_gives_a_number_or_a_list(stage: Stage, server: str) -> None:
    def of(query: str, expect: Any) -> tuple[str, str | None]:
        return outcome_of(stage, {"promql": {"url": server, "query": query}, "expect": expect})

    assert of("up", {"at_least": 0.5})[0] == "held"
    assert of("scalar(1)", 7)[0] == "held"
    assert of("all", {"length": 2})[0] == "held"
    assert of("none", {"length": 0})[0] == "held"
    assert of("oops(", 1)[1] == f"{server} answered 200: parse error"


MCP_SERVER = """\
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        info = {"name": "t", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}
    elif message["params"]["name"] == "leave":
        sys.exit(3)
    elif message["params"]["name"] == "add":
        total = sum(message["params"]["arguments"].values())
        result = {"content": [{"type": "text", "text": str(total)}], "structuredContent": {"sum": total}}
    elif message["params"]["name"] == "hang":
        continue
    else:
        result = {"content": [{"type": "text", "text": "no"}], "isError": True}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def test_an_mcp_check_calls_a_tool(stage: Stage) -> None:
    (stage.folder / "server.py").write_text(MCP_SERVER)

    def of(tool: str, **more: Any) -> tuple[str, str | None]:
        given = {"command": [sys.executable, str(stage.folder / "server.py")], "tool": tool}
        return outcome_of(stage, {"mcp": {**given, "arguments": {"a": 2, "b": 3}}, **more})

    assert of("add", expect={"target": "structured.sum", "equals": 5}) == ("held", None)
    assert of("add", expect={"target": "text", "equals": "5"}) == ("held", None)
    assert of("other")[1] == 'expected "ok", got "tool_error"'
    assert of("hang", limit="500ms")[1] == "it did not end within 0.5 s"
    assert str(of("leave")[1]).endswith("the server ended with exit code 3")


def run_method(stage: Stage, method: list[Any], check: Any = None, **more: Any) -> Any:
    steady = [check or {"process": ["/bin/true"]}]
    return stage.run(
        experiment_of({"name": "x", "steady_state": steady, "method": method, **more}, stage.folder)
    )


def test_an_http_action_that_is_refused_has_failed(stage: Stage, server: str) -> None:
    _Answers.seen.clear()
    post = {"method": "POST", "json": {"a": 1}}
    rollback = [{"http": {"url": f"{server}/204", **post}}]
    journal = run_method(
        stage, [{"name": "post", "http": {"url": f"{server}/409", **post}}], rollback=rollback
    )
    assert journal.result.action_error == f"post: POST {server}/409 answered 409"
    assert _Answers.seen == ['/409 {"a": 1}', '/204 {"a": 1}']
    assert journal.result.rollback_ok


def test_a_started_process_is_stopped_continued_and_ended(stage: Stage) -> None:
    method = [
        {"name": "web", "start": ["sleep", "60"]},
        {"name": "freeze", "signal": {"process": "web", "signal": "STOP"}},
        {
            "name": "is it frozen",
            "process": ["/bin/sh", "-c", "grep State /proc/$(cat pid)/status"],
            "expect": 0,
        },
    ]
    pids: list[int] = []

    def on_event(event: Any) -> None:
        if event.kind == "action_ended" and event.data["name"] == "web":
            (lease,) = (stage.folder / "state" / "leases").glob("*.jsonl")
            intents = [json.loads(line) for line in lease.read_text().splitlines() if '"intended"' in line]
            pids.append(intents[0]["undo"]["data"]["pid"])
            (stage.folder / "pid").write_text(str(pids[0]))

    stage.on_event = on_event
    journal = run_method(stage, method)
    assert journal.result.outcome is Outcome.HELD
    assert "T (stopped)" in journal.document["run"][2]["output"]["stdout"]
    undone = journal.document["faultkit"]["undone"]
    assert [each["ok"] for each in undone] == [True, True]
    assert [each["says"].split(" (")[0] for each in undone] == ["let web go on", "end web"]
    assert birth_of(pids[0]) is None


def test_a_signal_to_a_process_of_others_is_undone(stage: Stage) -> None:
    import subprocess

    process = subprocess.Popen(["sleep", "60"])
    try:
        (stage.folder / "web.pid").write_text(f"{process.pid}\n")
        method = [{"name": "freeze", "signal": {"pid_file": "web.pid", "signal": "SIGSTOP"}}]
        journal = run_method(stage, method)
        assert journal.result.outcome is Outcome.HELD
        assert journal.document["faultkit"]["undone"] == [
            {
                "says": f"let process {process.pid} go on",
                "ok": True,
                "message": f"process {process.pid} goes on",
            }
        ]
        assert "(stopped)" not in Path(f"/proc/{process.pid}/status").read_text()
    finally:
        process.kill()
        process.wait()


def test_a_process_that_has_ended_cannot_be_signalled(stage: Stage) -> None:
    (stage.folder / "web.pid").write_text("2147483000")
    journal = run_method(stage, [{"signal": {"pid_file": "web.pid", "signal": "KILL"}}])
    assert journal.result.outcome is Outcome.INVALID
    assert journal.result.error == "method[0].signal.pid: expected a process that runs, got 2147483000"


def test_a_fault_is_registered_injected_and_removed_afterwards(stage: Stage) -> None:
    stage.registry = FaultRegistry(seed=1)
    method = [
        {"fault": {"register": "slow", "fault_type": "error", "probability": 1.0, "error_message": "no db"}},
        {"fault": {"inject": "slow"}},
    ]
    journal = run_method(stage, method, seed=7)
    assert journal.result.outcome is Outcome.HELD
    output = journal.document["run"][1]["output"]
    assert (output["was_triggered"], output["effect"]["message"]) == (True, "no db")
    assert "slow" not in stage.registry
    journal = run_method(stage, [{"name": "a", "fault": {"inject": "absent"}}])
    assert journal.result.action_error == 'a: there is no fault named "absent"'


def test_a_fault_that_was_there_is_there_again(stage: Stage) -> None:
    from faultkit.chaos.named_faults.chaos_fault import ChaosFault

    stage.registry = FaultRegistry()
    before = ChaosFault("slow", "latency", 0.5)
    stage.registry.register(before)
    method = [
        {"fault": {"register": "slow", "fault_type": "error"}},
        {"name": "gone", "fault": {"remove": "slow"}},
    ]
    assert run_method(stage, method).result.rollback_ok
    assert stage.registry.get("slow") == before


def test_a_rule_of_a_proxy_is_added_under_a_name_of_its_own_and_removed(
    stage: Stage, proxy: tuple[Endpoint, Endpoint, Plane]
) -> None:
    bound, control, plane = proxy
    steady = {"tcp": {"address": str(bound), "send": "hi"}, "expect": {"target": "reply", "equals": "hi"}}
    change = {"control": str(control), "token": "secret", "add": {"name": "cut", "fault": "refuse"}}
    journal = run_method(stage, [{"proxy": change}], steady)
    assert (journal.result.outcome, journal.result.rollback_ok) == (Outcome.DEVIATED, True)
    assert plane.plan.rules == ()
    rule = journal.document["run"][0]["output"]["rule"]["name"]
    assert rule.startswith("cut-")
    assert (
        journal.document["faultkit"]["undone"][0]["says"] == f"remove rule {rule} from the proxy at {control}"
    )
    assert "secret" not in json.dumps(journal.document["faultkit"])


def test_a_plan_of_a_proxy_is_put_back(stage: Stage, proxy: tuple[Endpoint, Endpoint, Plane]) -> None:
    _, control, plane = proxy
    (stage.folder / "plan.yaml").write_text("seed: 9\nrules: [{fault: latency, with: {mean_ms: 1}}]\n")
    method = [
        {"name": "put", "proxy": {"control": str(control), "token": "secret", "plan": "plan.yaml"}},
        {"name": "drop", "proxy": {"control": str(control), "token": "secret", "remove": "latency"}},
    ]
    before = plane.plan
    journal = run_method(stage, method)
    assert (journal.result.outcome, journal.result.rollback_ok) == (Outcome.NOT_EXERCISED, True)
    assert [run["status"] for run in journal.document["run"]] == ["succeeded", "succeeded"]
    assert plane.plan == before


def test_a_control_api_that_refuses_is_a_failed_action(
    stage: Stage, proxy: tuple[Endpoint, Endpoint, Plane]
) -> None:
    _, control, _ = proxy
    change = {"control": str(control), "token": "wrong", "add": {"fault": "refuse"}}
    result = run_method(stage, [{"name": "cut", "proxy": change}]).result
    assert result.action_error == f"cut: http://{control} answered 401: expected Authorization: Bearer TOKEN"
    # It changed nothing, so there is nothing to undo.
    assert (result.outcome, result.rollback_ok, stage.left) == (Outcome.ABORTED, True, ())


def test_a_rule_of_a_gateway_is_added_and_removed(stage: Stage) -> None:
    async def main() -> None:
        running = GatewayState(Plan(), "shop", "stdio")
        control = GatewayControl(running, "secret")
        host, port = await control.start("127.0.0.1", 0)
        acting: list[list[str]] = []
        stage.on_event = lambda event: acting.append([rule.name for rule in running.injector.plan.rules])
        change = {"control": f"{host}:{port}", "token": "secret", "add": {"name": "stuck", "fault": "hang"}}
        document = {"name": "x", "steady_state": [{"process": "true"}], "method": [{"gateway": change}]}
        try:
            journal = await stage.arun(experiment_of(document, stage.folder))
        finally:
            await control.stop()
        assert (journal.result.outcome, journal.result.rollback_ok) == (Outcome.NOT_EXERCISED, True)
        assert any(names and names[0].startswith("stuck-") for names in acting)
        assert running.injector.plan.rules == ()

    asyncio.run(main())


def test_only_targets_that_are_allowed_are_steered(stage: Stage) -> None:
    change = {"control": "10.1.2.3:7070", "token": "t", "add": {"fault": "refuse"}}
    result = run_method(stage, [{"proxy": change}]).result
    assert result.outcome is Outcome.INVALID
    assert 'method[0].proxy.control: "10.1.2.3:7070" is not among the targets' in str(result.error)


def scenario(url: str, objective_ms: int) -> dict[str, Any]:
    slo = {"type": "latency", "title": "fast", "objective": 95.0, "threshold": objective_ms}
    context = {"strategy": {"mode": "load", "duration": "400ms", "clients": 1, "rps": 20}, "slo": [slo]}
    item = {"call": {"method": "GET", "url": url}, "context": context, "expect": {"all_slo_are_valid": True}}
    return {"title": "load", "items": [item]}


@pytest.mark.slow
def test_an_slo_check_runs_a_load_and_judges_it(stage: Stage, server: str) -> None:
    good = {"name": "fast", "slo": {"inline": scenario(f"{server}/200", 5000)}}
    assert outcome_of(stage, good)[0] == "held"
    (stage.folder / "load.yaml").write_text(json.dumps(scenario(f"{server}/wait", 1)))
    assert outcome_of(stage, {"name": "fast", "slo": "load.yaml"})[0] == "gate_not_met"
    journal = run_method(stage, [{"name": "traffic", "scenario": "load.yaml"}])
    assert journal.result.outcome is Outcome.HELD
    assert journal.document["run"][0]["output"]["items"][0]["slos"][0]["title"] == "fast"


def test_an_slo_check_without_objectives_proves_nothing_and_is_refused(stage: Stage, server: str) -> None:
    bare = {"title": "load", "items": [{"call": {"method": "GET", "url": server}}]}
    experiment = experiment_of(
        {"name": "x", "steady_state": [{"slo": {"inline": bare}}], "method": []}, stage.folder
    )
    result = stage.run(experiment).result
    assert result.outcome is Outcome.INVALID
    assert "expected objectives under context.slo" in str(result.error)


def test_an_action_may_kill_what_runs_it_and_the_lease_still_knows_what_to_undo(stage: Stage) -> None:
    import subprocess

    (stage.folder / "suicide.py").write_text("import os\ndef die():\n    os._exit(9)\n")
    document = {
        "name": "x",
        "steady_state": [{"process": ["/bin/true"]}],
        "method": [{"python": "suicide:die"}],
        "rollback": [{"process": ["/bin/sh", "-c", "echo yes > rolled-back"]}],
    }
    (stage.folder / "x.json").write_text(json.dumps(document))
    script = (
        "import sys; from pathlib import Path; from tests.chaos.stage import Stage;"
        "from faultkit.chaos.experiment.experiment_file import load_experiment;"
        "Stage(Path(sys.argv[1])).run(load_experiment(sys.argv[1] + '/x.json'))"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, "-c", script, str(stage.folder)], env=env, timeout=60)
    assert ended.returncode == 9
    assert not (stage.folder / "rolled-back").exists()
    (view,) = stage.ledger.views()
    assert stage.ledger.state_of(view) == "orphaned"
    assert [result.ok for _, result in stage.ledger.undo_left(view.id, "a test")] == [True]
    assert (stage.folder / "rolled-back").read_text() == "yes\n"
