"""The gateway's control API over real HTTP: the same paths and rules as `fault run --control`."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from faultkit.base.certificates import add_certificate, client_context
from faultkit.base.errors import InputError, RunError, TargetError
from faultkit.base.http.http_client import HttpClient
from faultkit.faults.call_fault import Call
from faultkit.mcp.gateway.gateway_control import GatewayControl, GatewayState
from faultkit.plan import Plan, read_plan
from faultkit.proxy.control.control_client import ControlClient
from faultkit.proxy.control.control_core import MOST_BODY_BYTES
from faultkit.proxy.control.leased_plane import LeasedPlane
from tests.mcp.gateway.gateway_peers import LINE_SERVER, request, run
from tests.mcp.gateway.gateway_processes import FAULT
from tests.mcp.gateway.test_stdio_robust import gateway
from tests.proxy.control.certificates import Certificates

TOKEN = "for-tests-only"
PLAN = read_plan("seed: 3\nrules: [{fault: slow, with: {delay_ms: 1}}]")
HANG = {"name": "stuck", "fault": "hang"}


class FakeClock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Api:
    def __init__(
        self, running: GatewayState, control: GatewayControl, clock: FakeClock, client: HttpClient
    ) -> None:
        self.running, self.control, self.clock, self.client = running, control, clock, client

    async def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *headers: tuple[str, str],
        token: str | None = TOKEN,
    ) -> tuple[int, Any]:
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        lines = [] if token is None else [("authorization", f"Bearer {token}")]
        reply = await self.client.request(method, [*lines, *headers], raw, path)
        return reply.status, json.loads(await reply.body(100_000))

    def names(self) -> list[str]:
        return [rule.name for rule in self.running.injector.plan.rules]


@asynccontextmanager
async def api(plan: Plan = PLAN, server: str = "shop") -> AsyncIterator[Api]:
    clock = FakeClock()
    running = GatewayState(plan, server, "stdio")
    control = GatewayControl(running, TOKEN, clock)
    host, port = await control.start("127.0.0.1", 0)
    client = HttpClient(f"http://{host}:{port}/")
    try:
        yield Api(running, control, clock, client)
    finally:
        client.close()
        await control.stop()


def test_health_needs_no_token_and_everything_else_does() -> None:
    async def main() -> None:
        async with api() as at:
            assert await at.call("GET", "/healthz", token=None) == (200, {"ok": True})
            for token in (None, "", "wrong", TOKEN + "x"):
                status, body = await at.call("GET", "/plan", token=token)
                assert (status, body["error"]["path"]) == (401, "Authorization")

    run(main)


@pytest.mark.parametrize(
    ("header", "path"), [(("origin", "http://evil.example"), "Origin"), (("host", "evil.example"), "Host")]
)
def test_web_pages_are_turned_away(header: tuple[str, str], path: str) -> None:
    async def main() -> None:
        async with api() as at:
            status, body = await at.call("GET", "/healthz", None, header)
            assert (status, body["error"]["path"]) == (403, path)

    run(main)


def test_a_plan_put_in_holds_for_its_time_and_the_one_before_comes_back() -> None:
    async def main() -> None:
        async with api() as at:
            status, body = await at.call("PUT", "/plan?ttl=60", {"rules": [HANG]})
            assert status == 200
            assert (body["plan"]["seed"], body["expires_in_s"], body["digest"]) == (
                3,
                60.0,
                at.running.injector.plan.digest,
            )
            assert at.names() == ["stuck"]
            at.clock.now += 59
            at.control.tick()
            assert at.names() == ["stuck"]
            at.clock.now += 2
            at.control.tick()
            assert at.names() == ["slow"]
            assert (await at.call("GET", "/plan"))[1]["seed"] == 3

    run(main)


def test_a_run_may_hold_the_plan_by_a_lease() -> None:
    async def main() -> None:
        async with api() as at:
            assert (await at.call("PUT", "/lease/run-1?ttl=15"))[0] == 200
            assert at.names() == []
            assert (await at.call("PATCH", "/lease/run-1?ttl=15", {"rules": [HANG]}))[0] == 200
            assert at.names() == ["stuck"]
            assert (await at.call("PUT", "/lease/run-2"))[0] == 409
            assert (await at.call("POST", "/rules", {"fault": "slow"}))[0] == 423
            at.clock.now += 15
            at.control.tick()
            assert at.names() == ["slow"]
            assert (await at.call("DELETE", "/lease/run-1"))[0] == 404

    run(main)


def test_a_gateway_is_no_place_for_the_faults_of_a_scenario() -> None:
    async def main() -> None:
        async with api() as at:
            client = ControlClient(f"http://127.0.0.1:{at.client.address.port}", TOKEN)
            with pytest.raises(TargetError, match="expected that of `fault run`, got a gateway's"):
                await asyncio.to_thread(LeasedPlane(client).__enter__)
            assert at.names() == ["slow"]

    run(main)


def test_a_rule_may_name_half_of_a_surrogate_pair() -> None:
    async def main() -> None:
        async with api() as at:
            rule = {"name": "odd", "fault": "hang", "match": {"tool": "\ud800"}}
            status, body = await at.call("POST", "/rules", rule)
            assert (status, body["rule"]["match"]) == (201, {"tool": "\ud800"})

    run(main)


def test_a_change_expires_by_itself() -> None:
    async def main() -> None:
        running = GatewayState(PLAN, "", "stdio")
        control = GatewayControl(running, TOKEN)
        host, port = await control.start("127.0.0.1", 0)
        client = HttpClient(f"http://{host}:{port}/")
        headers = [("authorization", f"Bearer {TOKEN}")]
        await client.request("POST", headers, json.dumps(HANG).encode(), "/rules?ttl=0.05")
        async with asyncio.timeout(20):
            while len(running.injector.plan.rules) > 1:
                await asyncio.to_thread(lambda: None)
        client.close()
        await control.stop()

    run(main)


@pytest.mark.parametrize(
    ("document", "path", "problem"),
    [
        ({"rules": [{"fault": "hnag"}]}, "rules[0].fault", "unknown fault"),
        ({"rules": [HANG, {"fault": "latency"}]}, "rules[1].fault", "fault run"),
        ({"rules": [{"fault": "tcp_reset"}]}, "rules[0].fault", "expected one that fits stdio"),
        (
            {"rules": [{"fault": "hang", "match": {"server": "other"}}]},
            "rules[0].match.server",
            'expected "shop"',
        ),
        ({"rules": [{"fault": "hang", "schedule": "start:5%"}]}, "rules[0].schedule", "got a share"),
        ({"rules": "all"}, "rules", "expected"),
        (b"\xff", "body", "expected UTF-8"),
        (b"{", "body", ""),
    ],
)
def test_a_bad_plan_changes_nothing_and_says_what_is_wrong(document: object, path: str, problem: str) -> None:
    async def main() -> None:
        async with api() as at:
            before = at.running.injector.plan
            status, body = await at.call("PUT", "/plan", document)
            assert status == 400
            assert body["error"]["path"].startswith(path), body
            assert problem in body["error"]["problem"], body
            assert at.running.injector.plan is before

    run(main)


def test_a_rule_for_a_server_is_refused_by_a_gateway_without_a_name() -> None:
    async def main() -> None:
        async with api(server="") as at:
            rule = {"fault": "hang", "match": {"server": "shop"}}
            status, body = await at.call("POST", "/rules", rule)
            problem = 'expected a server that has a name (--name), got "shop"'
            assert (status, body["error"]) == (400, {"path": "match.server", "problem": problem})

    run(main)


def test_rules_are_added_and_taken_away_by_name() -> None:
    async def main() -> None:
        async with api() as at:
            status, body = await at.call("POST", "/rules", HANG)
            assert (status, body["rule"]["name"], body["expires_in_s"]) == (201, "stuck", 600.0)
            assert (await at.call("POST", "/rules", HANG))[0] == 409
            status, body = await at.call("POST", "/rules", {"fault": "tcp_reset"})
            assert (status, body["error"]["path"]) == (400, "fault")
            assert at.names() == ["slow", "stuck"]
            status, body = await at.call("PATCH", "/rules/stuck?ttl=7")
            assert (status, body["renewed"], body["expires_in_s"]) == (200, "stuck", 7.0)
            assert (await at.call("PATCH", "/rules/absent?ttl=7"))[0] == 404
            assert (await at.call("DELETE", "/rules/stuck"))[1]["removed"] == "stuck"
            assert (await at.call("DELETE", "/rules/stuck"))[0] == 404
            assert at.names() == ["slow"]
            for ttl in ("x", "-1", "1e9", "nan"):
                assert (await at.call("POST", f"/rules?ttl={ttl}", HANG))[0] == 400

    run(main)


def test_other_paths_and_methods_are_not_there() -> None:
    async def main() -> None:
        async with api() as at:
            assert (await at.call("GET", "/nothing"))[0] == 404
            assert (await at.call("POST", "/plan"))[0] == 405
            assert (await at.call("GET", "/rules"))[0] == 405

    run(main)


def _call(name: str) -> Call:
    return Call("tools/call", name, {"name": name}, 1, "shop")


def test_the_status_counts_what_each_rule_did_and_when_it_goes() -> None:
    async def main() -> None:
        async with api() as at:
            await at.call("POST", "/rules?ttl=60", {**HANG, "match": {"tool": "b"}})
            at.running.injector.decide(_call("a"), at.running.elapsed_s)
            at.running.injector.decide(_call("b"), at.running.elapsed_s)
            status, body = await at.call("GET", "/status")
            assert status == 200
            assert body["rules"] == [
                {"name": "slow", "covered": 2, "injected": 2},
                {"name": "stuck", "covered": 1, "injected": 0},
            ]
            assert body["expires_in_s"] == {"slow": None, "stuck": 60.0}

    run(main)


def test_events_tell_of_injections_and_of_changes() -> None:
    async def main() -> None:
        async with api() as at:
            headers = [("authorization", f"Bearer {TOKEN}")]
            stream = await at.client.request("GET", headers, b"", "/events")
            assert await stream.chunk() == b": what happens from here on\n\n"
            at.running.injector.decide(_call("a"), 0.0)
            event = json.loads((await stream.chunk()).removeprefix(b"data: "))
            assert event.pop("t") >= 0
            assert event == {
                "event": "injected",
                "rule": "slow",
                "fault": "slow",
                "n": 0,
                "effect": "delay_ms",
                "value": event["value"],
                "method": "tools/call",
                "name": "a",
                "id": 1,
            }
            await at.call("POST", "/rules", HANG)
            event = json.loads((await stream.chunk()).removeprefix(b"data: "))
            assert (event["event"], event["active"]) == ("rules", ["slow", "stuck"])
            stream.close()

    run(main)


def test_it_listens_on_loopback_only_and_says_when_its_port_is_taken() -> None:
    async def main() -> None:
        async with api() as at:
            with pytest.raises(InputError, match="expected a loopback address"):
                await GatewayControl(at.running, TOKEN).start("0.0.0.0", 0)
            with pytest.raises(TargetError, match="the port is taken"):
                await GatewayControl(at.running, TOKEN).start("127.0.0.1", at.client.port)

    run(main)


def test_a_running_gateway_is_changed_in_the_middle_of_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULT_CONTROL_TOKEN", TOKEN)
    with gateway("--control", "127.0.0.1:0", "--", *LINE_SERVER) as client:
        assert client.process.stderr is not None
        said = client.process.stderr.readline().decode()
        assert said.startswith("control: http://127.0.0.1:")
        assert client.ask(1, "tools/call", name="a")["content"][0]["text"] == "a"

        async def change() -> None:
            at = HttpClient(said.removeprefix("control: ").strip() + "/")
            rule = {"fault": "protocol_error", "with": {"code": -32050}}
            headers = [("authorization", f"Bearer {TOKEN}")]
            assert (await at.request("POST", headers, json.dumps(rule).encode(), "/rules")).status == 201
            at.close()

        run(change)
        client.say(request(2, "tools/call", name="a"))
        assert json.loads(client.stdout.readline())["error"]["code"] == -32050
        assert client.ended() == (0, 'rule "protocol_error" acted on 1 of 1 call\n')


def test_a_token_is_made_up_and_shown_and_a_foreign_address_refused() -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("FAULT_")}
    with subprocess.Popen(
        [*FAULT, "gateway", "--control", "127.0.0.1:0", "--", *LINE_SERVER],
        stdin=-1,
        stdout=-1,
        stderr=-1,
        env=env,
    ) as process:
        assert process.stderr is not None
        process.stderr.readline()
        assert process.stderr.readline().startswith(b"control token: ")
        process.terminate()
    done = subprocess.run(
        [*FAULT, "gateway", "--control", "0.0.0.0:1", "--", *LINE_SERVER], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (
        2,
        "error: --control: expected a loopback address, or --control-cert, --control-key and "
        "--control-client-ca for mutual TLS, got 0.0.0.0:1\n",
    )


def test_a_gateway_with_mutual_tls_is_steered_by_clients_with_a_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULT_CONTROL_TOKEN", TOKEN)
    authority = Certificates(tmp_path)
    cert, key = authority.issue("127.0.0.1")
    files = ("--control-cert", cert, "--control-key", key, "--control-client-ca", authority.ca)
    with gateway("--control", "0.0.0.0:0", *files, "--", *LINE_SERVER) as client:
        assert client.process.stderr is not None
        said = client.process.stderr.readline().decode()
        assert said.startswith("control: https://0.0.0.0:")
        url = f"https://127.0.0.1:{said.rstrip().rpartition(':')[2]}"
        stranger, known = client_context(authority.ca), client_context(authority.ca)
        add_certificate(known, *authority.issue("client.test", file="client"))
        with pytest.raises((TargetError, RunError), match=url):
            ControlClient(url, TOKEN, stranger).plan()
        at = ControlClient(url, TOKEN, known)
        assert at.add_rule({"fault": "protocol_error", "with": {"code": -32050}}, 60.0)["rule"]
        assert at.send("POST", "/rules", "x" * MOST_BODY_BYTES).status == 413
        client.say(request(2, "tools/call", name="a"))
        assert json.loads(client.stdout.readline())["error"]["code"] == -32050
        assert client.ended()[0] == 0
