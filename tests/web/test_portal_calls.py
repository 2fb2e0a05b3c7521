"""Calls that the portal makes: new ones, and replays."""

from __future__ import annotations

import json
import threading
from time import monotonic
from typing import Any

import httpx
import pytest

from faultkit.audit.row import AuditEntry, Payload
from tests.audit.rows import entry
from tests.web.served import ADMIN, AUDIT, OURS, PATIENCE_S, Served, served


def try_it(server: Served, name: str, arguments: Any = None) -> httpx.Response:
    return server.post(f"{ADMIN}/tryit/{name}", {"arguments": arguments or {}})


def replay(server: Served, id: str) -> httpx.Response:
    return server.post(f"{AUDIT}/events/{id}/replay")


def test_a_tool_is_tried_and_the_call_is_a_row(server: Served) -> None:
    answer = try_it(server, "echo", {"message": "hi"})
    tried = answer.json()
    assert (answer.status_code, tried["success"]) == (200, True)
    assert tried["result"]["structuredContent"] == {"message": "hi"}
    row = server.newest()
    assert (row.id, row.source, row.user_subject) == (tried["event_id"], "portal-tryit", "anonymous")
    assert row.remote_addr.startswith("127.0.0.1:")
    assert server.json(f"{AUDIT}/events/{row.id}")["parameters"] == {"message": "hi"}


def test_an_error_of_the_tool_is_a_result(server: Served) -> None:
    answer = try_it(server, "error", {"message": "no", "as_tool": True})
    assert (answer.status_code, answer.json()["success"]) == (200, False)
    assert answer.json()["result"]["isError"] is True
    assert try_it(server, "slow", {"milliseconds": "x"}).json()["success"] is False


def test_an_error_of_the_protocol_is_a_502(server: Served) -> None:
    answer = try_it(server, "flaky", {"fail_rate": 1, "seed": "abc"})
    said = answer.json()
    assert (answer.status_code, said["success"]) == (502, False)
    assert said["error"].startswith("flaky failure (roll=0.7573")
    assert said["data"]["seed"] == "abc"
    assert isinstance(said["code"], int)
    assert server.newest().id == said["event_id"]


def test_notifications_come_with_the_result(server: Served) -> None:
    tried = try_it(server, "progress", {"steps": 2, "step_ms": 1}).json()
    assert [note["params"]["message"] for note in tried["notifications"]] == ["step 1/2", "step 2/2"]
    assert tried["notifications"][0]["method"] == "notifications/progress"
    server.flush()
    payload = server.json(f"{AUDIT}/events/{tried['event_id']}")["payload"]
    assert [note["method"] for note in payload["notifications"]] == ["notifications/progress"] * 2


def test_headers_of_the_browser_do_not_reach_a_tool(server: Served) -> None:
    tried = try_it(server, "headers").json()
    assert tried["result"]["structuredContent"] == {"headers": {}, "count": 0}


def test_a_disconnect_cancels_the_call(server: Served) -> None:
    def leave() -> None:
        with httpx.Client(
            base_url=server.url, timeout=httpx.Timeout(PATIENCE_S, read=0.3), verify=False
        ) as other:
            with pytest.raises(httpx.ReadTimeout):
                other.post(f"{ADMIN}/tryit/slow", json={"arguments": {"milliseconds": 60_000}}, headers=OURS)

    thread = threading.Thread(target=leave)
    thread.start()
    thread.join(PATIENCE_S)
    end_s = monotonic() + PATIENCE_S
    while server.newest().tool_name != "slow":
        assert monotonic() < end_s
    row = server.newest()
    assert (row.error_category, row.source) == ("cancelled", "portal-tryit")
    assert 0 < row.duration_ms < 10_000


def test_a_call_is_made_again_as_it_was() -> None:
    with served() as server:
        first = server.call("fixed_response", {"key": "k"})
        id = server.newest().id
        answer = replay(server, id)
        again = answer.json()
        assert (answer.status_code, again["success"], again["replayed_from"]) == (200, True, id)
        assert again["result"]["structuredContent"] == first["result"]["structuredContent"]
        row = server.newest()
        assert (row.id, row.source) == (again["replay_event_id"], "portal-replay")
        assert server.json(f"{AUDIT}/events/{row.id}")["payload"]["replayed_from"] == id
        assert server.json(f"{AUDIT}/events", has="replayed_from")["total"] == 1
        # A replay can be replayed, too.
        assert replay(server, row.id).json()["replayed_from"] == row.id


def test_a_call_that_fails_again_is_a_502() -> None:
    with served() as server:
        for arguments, code in (({"as_tool": True}, None), ({"as_tool": False}, int)):
            server.call("error", {"message": "no", **arguments})
            answer = replay(server, server.newest().id)
            said = answer.json()
            assert (answer.status_code, said["success"], said["error"]) == (502, False, "no")
            assert ("result" in said) == (code is None)
            assert ("code" in said) == (code is int)


def test_replays_are_few() -> None:
    with served() as server:
        server.call("echo", {"message": "x"})
        id = server.newest().id
        assert [replay(server, id).status_code for _ in range(5)] == [200] * 5
        late = replay(server, id)
        assert late.status_code == 429
        assert 1 <= int(late.headers["retry-after"]) <= 12
        assert late.json()["error"].startswith("too many replays: the next one in ")
        # A replay that is refused for another reason does not count, and that reason comes first.
        assert replay(server, "absent").status_code == 404


REPLAYS: tuple[tuple[AuditEntry, str], ...] = (
    (
        AuditEntry(entry(1).row, None),
        "id: expected a call whose request is in the log, but its request was not stored",
    ),
    (
        AuditEntry(entry(2).row, Payload(request_truncated=True)),
        "id: expected a call whose request is in the log, but it was too long",
    ),
    (
        AuditEntry(
            entry(3).row,
            Payload(request_params='{"name":"echo","arguments":{"extras":{"a":[{"token":"[redacted]"}]}}}'),
        ),
        "id: expected a call whose parameters are stored unchanged, "
        "but arguments.extras.a.0.token is [redacted]",
    ),
    (
        AuditEntry(entry(4).row, Payload(request_params='{"name":"gone","arguments":{}}')),
        'id: expected a call of a tool that is served, got one of "gone"',
    ),
    (
        AuditEntry(entry(5).row, Payload(request_params='{"name":"echo","arguments":[1]}')),
        "id: expected a call whose arguments are an object, got a list",
    ),
    (
        AuditEntry(entry(6).row, Payload(request_params='{"name":"echo","arguments":[]}')),
        "id: expected a call whose arguments are an object, got a list",
    ),
    (
        AuditEntry(entry(7).row, Payload(request_params='{"name":"echo","arguments":0}')),
        "id: expected a call whose arguments are an object, got a number",
    ),
    (
        AuditEntry(
            entry(8).row, Payload(request_params='{"name":"flaky","arguments":{"fail_rate":"[infinite]"}}')
        ),
        "id: expected a call whose parameters are stored unchanged, but arguments.fail_rate is [infinite]",
    ),
    (
        AuditEntry(
            entry(9).row, Payload(request_params='{"name":"echo","arguments":{"extras":["[too deep]"]}}')
        ),
        "id: expected a call whose parameters are stored unchanged, but arguments.extras.0 is [too deep]",
    ),
)


def test_a_replay_sends_the_stored_parameters_and_nothing_else() -> None:
    with served() as server:
        for meta, notified in (({}, False), ({"progressToken": 7, "own": "x"}, True)):
            params = {"name": "progress", "arguments": {"steps": 1, "step_ms": 1}, "_meta": meta}
            kept = entry(int(notified), id=f"call-{notified}")
            server.store.append([AuditEntry(kept.row, Payload(request_params=json.dumps(params)))])
            again = replay(server, kept.row.id).json()
            assert again["result"]["structuredContent"]["notified"] is notified
            assert [note["params"]["progressToken"] for note in again["notifications"]] == [7] * notified
            server.flush()
            payload = server.json(f"{AUDIT}/events/{again['replay_event_id']}")["payload"]
            assert payload["request_params"] == params


def test_a_number_that_is_infinite_is_tried_as_clients_say_it(server: Served) -> None:
    path, kind = f"{ADMIN}/tryit/slow", {"content-type": "application/json", **OURS}
    answer = server.client.post(path, content='{"arguments":{"milliseconds":1e999}}', headers=kind)
    (block,) = answer.json()["result"]["content"]
    assert block["text"].endswith('a value that cannot be shown has type "number", want "integer"')
    answer = server.client.post(path, content='{"arguments":{"milliseconds":NaN}}', headers=kind)
    assert (answer.status_code, answer.json()["error"]) == (
        400,
        "body: expected JSON: NaN is no JSON",
    )


@pytest.mark.parametrize(("kept", "problem"), REPLAYS, ids=[problem[:60] for _, problem in REPLAYS])
def test_the_error_of_an_impossible_replay_has_the_reason(
    server: Served, kept: AuditEntry, problem: str
) -> None:
    server.store.append([kept])
    answer = replay(server, kept.row.id)
    assert (answer.status_code, answer.json()) == (400, {"error": problem})


def test_many_portal_calls_at_once_do_not_mix(server: Served) -> None:
    found: dict[int, str] = {}

    def one(number: int) -> None:
        with httpx.Client(base_url=server.url, timeout=PATIENCE_S, verify=False) as other:
            body = {"arguments": {"message": f"{number}"}}
            said = other.post(f"{ADMIN}/tryit/echo", json=body, headers=OURS).json()
            found[number] = json.loads(said["result"]["content"][0]["text"])["message"]

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert found == {number: f"{number}" for number in range(8)}
