"""The control API over real HTTP, in front of a real data plane."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

import pytest

from faultkit import __version__
from faultkit.base.address import Endpoint
from faultkit.base.errors import InputError, RunError, TargetError
from faultkit.plan import Plan, read_plan
from faultkit.proxy.control.control_server import ControlServer
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.plane import Plane
from faultkit.proxy.plane_events import Requested

PATIENCE_S = 20.0
TOKEN = "for-tests-only"
SLOW = {"name": "slow", "fault": "latency", "with": {"mean_ms": 1.0}}
PLAN = read_plan("seed: 3\nrules: [{fault: jitter}]")


class FakeClock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Api:
    control: ControlServer
    plane: Plane
    clock: FakeClock
    proxy: Endpoint

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: dict[str, str] | None = None,
        token: str | None = TOKEN,
    ) -> tuple[int, Any]:
        """Send one request; return its status and JSON."""
        connection = HTTPConnection(self.control.bound.host, self.control.bound.port, timeout=PATIENCE_S)
        sent = {} if token is None else {"Authorization": f"Bearer {token}"}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        try:
            connection.request(method, path, body, {**sent, **(headers or {})})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def names(self) -> list[str]:
        return [rule.name for rule in self.plane.plan.rules]


@pytest.fixture
def api(echo: Endpoint) -> Iterator[Api]:
    clock = FakeClock()
    with Plane(PLAN) as plane:
        spec = ProxySpec("db", Endpoint("127.0.0.1", 0), echo)
        proxy = plane.open_proxy(spec)
        with ControlServer(plane, Endpoint("127.0.0.1", 0), TOKEN, clock, proxies=[spec]) as control:
            yield Api(control, plane, clock, proxy)


def test_health_needs_no_token(api: Api) -> None:
    assert api.call("GET", "/healthz", token=None) == (200, {"ok": True})


def test_a_plane_whose_loop_has_ended_is_not_healthy(api: Api) -> None:
    api.plane.services.loop.call_from_thread(sys.exit)
    with pytest.raises(RunError):
        while True:
            api.plane.snapshot()
    status, answer = api.call("GET", "/healthz", token=None)
    assert (status, answer["error"]["problem"]) == (
        503,
        "the proxy has ended, by a defect of Faultkit: SystemExit",
    )


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN + "x", "schlüssel"])
def test_everything_else_needs_the_token(api: Api, token: str | None) -> None:
    for method, path in (("GET", "/plan"), ("PUT", "/plan"), ("POST", "/rules"), ("GET", "/status")):
        assert api.call(method, path, token=token) == (
            401,
            {"error": {"path": "Authorization", "problem": "expected Authorization: Bearer TOKEN"}},
        )
    assert api.call("GET", "/nowhere", token=token)[0] == 401


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", ""])
def test_a_foreign_host_is_turned_away(api: Api, host: str) -> None:
    given = host.format(port=api.control.bound.port)
    status, answer = api.call("GET", "/healthz", headers={"Host": given})
    assert (status, answer["error"]["path"]) == (403, "Host")


@pytest.mark.parametrize("host", ["localhost:{port}", "LOCALHOST:{port}", "127.0.0.1:{port}", "[::1]:{port}"])
def test_every_name_of_loopback_is_welcome(api: Api, host: str) -> None:
    assert api.call("GET", "/plan", headers={"Host": host.format(port=api.control.bound.port)})[0] == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1"]
)
def test_a_foreign_origin_is_turned_away_even_with_the_token(api: Api, origin: str) -> None:
    headers = {"Origin": origin.format(port=api.control.bound.port)}
    status, answer = api.call("PUT", "/plan", {"rules": []}, headers)
    assert (status, answer["error"]["path"]) == (403, "Origin")
    assert api.names() == ["jitter"]


def test_our_own_origin_is_welcome(api: Api) -> None:
    assert api.call("GET", "/plan", headers={"Origin": f"http://{api.control.bound}"})[0] == 200


def test_the_plan_can_be_read_and_put_back(api: Api) -> None:
    status, plan = api.call("GET", "/plan")
    assert (status, plan) == (200, {"seed": 3, "rules": [{"name": "jitter", "fault": "jitter"}]})
    assert api.call("PUT", "/plan", plan)[0] == 200
    assert api.plane.plan == PLAN


def test_a_new_plan_holds_for_ten_minutes_unless_told_otherwise(api: Api) -> None:
    status, answer = api.call("PUT", "/plan", {"rules": [SLOW]})
    assert (status, answer["expires_in_s"], answer["plan"]) == (200, 600.0, {"seed": 3, "rules": [SLOW]})
    api.clock.now += 599.9
    api.control.tick()
    assert api.names() == ["slow"]
    api.clock.now += 0.2
    api.control.tick()
    assert api.plane.plan == PLAN


def test_a_plan_may_be_yaml_and_may_bring_its_seed(api: Api) -> None:
    status, answer = api.call("PUT", "/plan?ttl=60", b"seed: 8\nrules:\n- fault: refuse\n")
    assert (status, answer["expires_in_s"]) == (200, 60.0)
    assert (api.names(), api.plane.plan.seed) == (["refuse"], 8)


def test_a_plan_with_ttl_0_stays(api: Api) -> None:
    status, answer = api.call("PUT", "/plan?ttl=0", {"rules": []})
    assert (status, answer["expires_in_s"], answer["expires_at"]) == (200, None, None)
    api.clock.now += 1e9
    api.control.tick()
    assert api.plane.plan == Plan((), 3)


@pytest.mark.parametrize(
    ("rule", "warning"),
    [
        (
            {"name": "slow", "fault": "latency", "match": {"proxy": "web*"}},
            'slow touches nothing: no proxy is named "web*" (there are db)',
        ),
        (
            {"name": "bad", "fault": "http_error"},
            "bad touches nothing: it needs an http:// or https:// upstream, or --upstream",
        ),
        (
            {"name": "lost", "fault": "dns"},
            "lost touches nothing: it needs an upstream with a name: an IP address is not looked up",
        ),
        (
            {"name": "rare", "fault": "latency", "trigger": {"probability": 0}},
            "rare touches nothing: its trigger.probability is 0",
        ),
    ],
)
def test_a_rule_that_can_never_act_is_added_with_a_warning(
    api: Api, rule: dict[str, Any], warning: str
) -> None:
    status, answer = api.call("POST", "/rules", rule)
    assert (status, answer["warnings"]) == (201, [warning])
    status, answer = api.call("PUT", "/plan", {"rules": [rule, {"fault": "jitter"}]})
    assert (status, answer["warnings"]) == (200, [warning])


def test_a_rule_that_expires_before_its_schedule_begins_is_added_with_a_warning(api: Api) -> None:
    rule = {"name": "late", "fault": "latency", "schedule": "start:60s,duration:5s,every:20s"}
    warning = "late touches nothing: its schedule begins after 60 s, and it expires after 60 s (ttl)"
    assert api.call("POST", "/rules?ttl=60", rule)[1]["warnings"] == [warning]
    assert "warnings" not in api.call("PUT", "/plan?ttl=60", {"rules": [rule]})[1]  # It began earlier.
    assert api.call("DELETE", "/rules/late")[0] == 200
    assert api.call("PUT", "/plan?ttl=60", {"rules": [rule]})[1]["warnings"] == [warning]
    for ttl in ("61", "0"):
        assert api.call("DELETE", "/rules/late")[0] == 200
        assert "warnings" not in api.call("POST", f"/rules?ttl={ttl}", rule)[1]


def test_a_rule_is_added_for_a_while(api: Api) -> None:
    status, answer = api.call("POST", "/rules?ttl=30", SLOW)
    assert (status, answer["rule"], answer["expires_in_s"]) == (201, SLOW, 30.0)
    assert api.names() == ["jitter", "slow"]
    assert api.call("GET", "/status")[1]["expires_in_s"] == {"jitter": None, "slow": 30.0}
    api.clock.now += 30
    assert api.call("GET", "/plan")[1]["rules"] == [{"name": "jitter", "fault": "jitter"}]
    assert api.names() == ["jitter"]


def test_a_rule_may_act_on_llm_apis(api: Api) -> None:
    rule = {"name": "half", "fault": "clean_end", "match": {"model": "gpt-*", "streamed": True}}
    assert api.call("POST", "/rules", rule)[0] == 201
    assert api.names() == ["jitter", "half"]


def test_a_rule_without_a_name_gets_one_that_is_free(api: Api) -> None:
    assert api.call("POST", "/rules", {"fault": "jitter"})[1]["rule"]["name"] == "jitter-2"


def test_a_name_that_is_taken_is_a_conflict(api: Api) -> None:
    status, answer = api.call("POST", "/rules", {"name": "jitter", "fault": "reset"})
    assert (status, answer["error"]["path"]) == (409, "name")
    assert api.names() == ["jitter"]


def test_a_rule_that_is_renewed_stays_as_long_again(api: Api) -> None:
    api.call("POST", "/rules?ttl=60", SLOW)
    api.clock.now += 59
    status, body = api.call("PATCH", "/rules/slow?ttl=60")
    assert (status, body["renewed"], body["expires_in_s"]) == (200, "slow", 60.0)
    api.clock.now += 59
    api.control.tick()
    assert api.names() == ["jitter", "slow"]
    api.clock.now += 1
    api.control.tick()
    assert api.names() == ["jitter"]
    assert api.call("PATCH", "/rules/slow?ttl=60")[0] == 404


def test_a_rule_may_name_half_of_a_surrogate_pair(api: Api) -> None:
    rule = {"name": "odd", "fault": "http_error", "match": {"path": "\ud800"}}
    status, answer = api.call("POST", "/rules", rule)
    assert (status, answer["rule"]["match"]) == (201, {"path": "\ud800"})
    status, plan = api.call("GET", "/plan")
    assert (status, plan["rules"][-1]["match"]) == (200, {"path": "\ud800"})


def test_a_rule_is_taken_away(api: Api) -> None:
    assert api.call("DELETE", "/rules/jitter")[0] == 200
    assert api.names() == []
    assert api.call("DELETE", "/rules/jitter") == (
        404,
        {"error": {"path": "name", "problem": 'there is no rule named "jitter"'}},
    )


@pytest.mark.parametrize(
    ("method", "path", "body", "error_path"),
    [
        ("PUT", "/plan", {"rules": [{"fault": "latencyy"}]}, "rules[0].fault"),
        ("PUT", "/plan", {"rules": [{"fault": "latency", "with": {"mean_ms": -1}}]}, "rules[0].with.mean_ms"),
        ("PUT", "/plan", {"rules": [{"fault": "latency", "schedule": "start:50%"}]}, "rules[0].schedule"),
        ("PUT", "/plan", [], ""),
        ("PUT", "/plan", b"rules: [", "body"),
        ("PUT", "/plan", b"\xff\xfe", "body"),
        ("POST", "/rules", {"fault": "latency", "match": {"side": "left"}}, "match.side"),
        ("POST", "/rules", {"fault": "latency", "schedule": "start:50%"}, "schedule"),
        ("POST", "/rules?ttl=-1", SLOW, "ttl"),
        ("POST", "/rules?ttl=86401", SLOW, "ttl"),
        ("POST", "/rules?ttl=nan", SLOW, "ttl"),
        ("PUT", "/plan?ttl=soon", {"rules": []}, "ttl"),
    ],
)
def test_wrong_input_is_told_with_its_path_and_changes_nothing(
    api: Api, method: str, path: str, body: object, error_path: str
) -> None:
    status, answer = api.call(method, path, body)
    assert (status, answer["error"]["path"]) == (400, error_path)
    assert api.plane.plan == PLAN
    assert api.call("GET", "/plan")[1]["rules"] == [{"name": "jitter", "fault": "jitter"}]


def test_a_body_that_is_too_large_is_not_read_to_its_end(api: Api) -> None:
    status, answer = api.call("PUT", "/plan", b"#" * ((1 << 20) + 1))
    assert (status, answer["error"]["path"]) == (413, "body")


def test_unknown_paths_and_methods_are_json_too(api: Api) -> None:
    assert api.call("GET", "/nowhere") == (404, {"error": {"path": "/nowhere", "problem": "Not Found"}})
    assert api.call("DELETE", "/plan")[0] == 405


def test_status_counts_what_went_through(api: Api) -> None:
    with socket.create_connection((api.proxy.host, api.proxy.port), PATIENCE_S) as client:
        client.sendall(b"hello")
        assert client.recv(5) == b"hello"
        status, answer = api.call("GET", "/status")
    assert status == 200
    assert answer["digest"] == PLAN.digest
    (counts,) = answer["proxies"]
    assert (counts["name"], counts["listen"], counts["live"]) == ("db", str(api.proxy), 1)
    assert (counts["to_upstream_bytes"], counts["to_client_bytes"]) == (5, 5)
    assert answer["injected"] == {"jitter": 1}


def test_events_are_streamed_as_they_happen(api: Api) -> None:
    connection = HTTPConnection(api.control.bound.host, api.control.bound.port, timeout=PATIENCE_S)
    connection.request("GET", "/events", headers={"Authorization": f"Bearer {TOKEN}"})
    response = connection.getresponse()
    try:
        assert response.getheader("content-type", "").startswith("text/event-stream")
        assert response.readline().startswith(b": ")
        assert response.readline() == b"\n"
        assert api.control.is_watched
        api.call("DELETE", "/rules/jitter")
        api.control.publish(api.plane.take_events())
        line = response.readline()
        event = json.loads(line.removeprefix(b"data: "))
        del event["t"]
        assert event == {"event": "rules", "proxy": "*", "active": []}
        assert response.readline() == b"\n"
        api.control.publish([Requested(1.0, "db", 0, "GET", "/a?q=1&token=abc", ())])
        event = json.loads(response.readline().removeprefix(b"data: "))
        assert event["target"] == "/a?q=1&token=xxxxxx"
    finally:
        response.close()
        connection.close()


def test_only_loopback_may_be_listened_on(api: Api) -> None:
    with pytest.raises(InputError, match="expected a loopback address"):
        ControlServer(api.plane, Endpoint("0.0.0.0", 0), TOKEN)


def test_a_taken_port_is_an_error_at_once(api: Api) -> None:
    with pytest.raises(TargetError, match="control: cannot listen on"):
        ControlServer(api.plane, api.control.bound, TOKEN)


# --- the lease of a run -----------------------------------------------------------------------


def test_a_run_holds_the_plan_while_it_renews_its_lease(api: Api) -> None:
    status, answer = api.call("PUT", "/lease/run-1?ttl=15")
    assert (status, answer["lease"], answer["expires_in_s"]) == (200, "run-1", 15.0)
    assert (api.names(), api.plane.plan.seed) == ([], 3)
    status, answer = api.call("PATCH", "/lease/run-1?ttl=15", {"seed": 9, "rules": [SLOW]})
    assert (status, answer["digest"]) == (200, api.plane.plan.digest)
    assert (api.names(), api.plane.plan.seed) == (["slow"], 9)
    api.clock.now += 14
    assert api.call("PATCH", "/lease/run-1?ttl=15")[0] == 200
    assert api.call("GET", "/status")[1]["lease"] == {"id": "run-1", "expires_in_s": 15.0}
    api.clock.now += 14
    api.control.tick()
    assert api.names() == ["slow"]
    api.clock.now += 1
    api.control.tick()
    assert api.plane.plan == PLAN
    assert api.call("GET", "/status")[1]["lease"] is None
    assert api.call("PATCH", "/lease/run-1?ttl=15", {"rules": [SLOW]}) == (
        404,
        {"error": {"path": "lease", "problem": 'the lease "run-1" has ended'}},
    )
    assert api.plane.plan == PLAN


def test_a_lease_that_is_ended_gives_the_plan_of_before_back_at_once(api: Api) -> None:
    api.call("PUT", "/plan?ttl=5", {"rules": [SLOW]})
    before = api.plane.plan
    assert api.call("PUT", "/lease/run-1?ttl=15", {"rules": [{"fault": "refuse"}]})[0] == 200
    assert api.names() == ["refuse"]
    assert api.call("DELETE", "/lease/run-1") == (200, {"ended": "run-1", "digest": before.digest})
    assert api.plane.plan == before
    assert api.call("DELETE", "/lease/run-1")[0] == 404
    api.clock.now += 5
    api.control.tick()
    assert api.plane.plan == PLAN


def test_while_a_run_holds_the_plan_no_other_changes_it(api: Api) -> None:
    api.call("PUT", "/lease/run-1?ttl=15", {"rules": [SLOW]})
    api.clock.now += 5
    problem = 'the run "run-1" holds the plan for another 10.0 s, and may renew that'
    assert api.call("PUT", "/lease/run-2") == (409, {"error": {"path": "lease", "problem": problem}})
    for method, path in (("PATCH", "/lease/run-2"), ("DELETE", "/lease/run-2")):
        assert api.call(method, path)[0] == 409
    for method, path, body in (
        ("PUT", "/plan", {"rules": []}),
        ("POST", "/rules", {"fault": "reset"}),
        ("POST", "/rules", SLOW),
    ):
        assert api.call(method, path, body) == (423, {"error": {"path": "lease", "problem": problem}})
    for method in ("PATCH", "DELETE"):
        status, answer = api.call(method, "/rules/slow")
        assert (status, answer["error"]["problem"]) == (423, 'the rule "slow" belongs to the run "run-1"')
    assert api.names() == ["slow"]


def test_a_rule_of_before_can_be_removed_while_a_run_holds_the_plan(api: Api) -> None:
    api.call("PUT", "/lease/run-1", {"rules": [SLOW]})
    assert api.call("DELETE", "/rules/jitter")[0] == 200
    assert api.names() == ["slow"]
    api.call("DELETE", "/lease/run-1")
    assert api.names() == []


def test_taking_a_lease_again_renews_it_so_that_a_lost_answer_costs_nothing(api: Api) -> None:
    for _ in range(2):
        assert api.call("PUT", "/lease/run-1?ttl=15")[0] == 200
    api.call("DELETE", "/lease/run-1")
    assert api.plane.plan == PLAN


@pytest.mark.parametrize(
    ("path", "error_path"),
    [
        ("/lease/run-1?ttl=0", "ttl"),
        ("/lease/run-1?ttl=-1", "ttl"),
        ("/lease/run-1?ttl=nan", "ttl"),
        ("/lease/run-1?begin_in=soon", "begin_in"),
        ("/lease/run-1?begin_in=inf", "begin_in"),
        ("/lease/", "lease"),
        ("/lease/a%20b", "lease"),
        ("/lease/a/b", "lease"),
        (f"/lease/{'x' * 101}", "lease"),
    ],
)
def test_a_wrong_lease_is_refused_and_changes_nothing(api: Api, path: str, error_path: str) -> None:
    status, answer = api.call("PUT", path)
    assert (status, answer["error"]["path"]) == (400, error_path)
    assert api.plane.plan == PLAN


def test_a_plan_that_is_refused_leaves_the_lease_as_it_was(api: Api) -> None:
    api.call("PUT", "/lease/run-1", {"rules": [SLOW]})
    assert api.call("PATCH", "/lease/run-1", {"rules": [{"fault": "nothing"}]})[0] == 400
    assert api.names() == ["slow"]


def test_schedules_of_a_lease_begin_when_the_run_says(api: Api) -> None:
    late = {**SLOW, "schedule": "start:50s"}
    for begin_in, acting in (("0", []), ("-40", []), ("-60", ["slow"])):
        api.call("PUT", f"/lease/run-1?begin_in={begin_in}", {"rules": [late]})
        assert api.call("GET", "/status")[1]["acting"] == acting
        api.call("DELETE", "/lease/run-1")


def test_status_has_the_version_and_the_histogram_of_lateness(api: Api) -> None:
    with socket.create_connection((api.proxy.host, api.proxy.port), PATIENCE_S) as client:
        client.sendall(b"hello")
        assert client.recv(5) == b"hello"
        answer = api.call("GET", "/status")[1]
    assert answer["version"] == __version__
    assert sum(count for _, count in answer["late_releases"]) == answer["lateness"]["count"] > 0
