"""The wire format of the API, by plain HTTP against a real server."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from starlette.applications import Starlette
from starlette.datastructures import Headers

from faultkit.proxy.toxiproxy.toxiproxy_server import API_VERSION, Guard, ToxiproxyServer
from tests.proxy.toxiproxy.harness import (
    PATIENCE_S,
    Api,
    address_of,
    connect,
    read_exactly,
    serving,
    text_of,
    upstream,
    wired,
)

UPSTREAM = "127.0.0.1:1"


@pytest.fixture(scope="module")
def server() -> Iterator[Api]:
    with serving() as api:
        yield api


@pytest.fixture
def api(server: Api) -> Iterator[Api]:
    """The server of this module, without the proxies of earlier tests."""
    yield server
    for name in server.ok("GET", "/proxies"):
        server.ok("DELETE", f"/proxies/{quote(name)}")


def new_proxy(api: Api, name: str = "p", **fields: Any) -> Any:
    return api.ok("POST", "/proxies", {"name": name, "upstream": UPSTREAM, **fields})


def refused(listen: str) -> bool:
    try:
        connect(listen).close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:
        pass  # Accepted, and reset because nothing listens at the upstream.
    return False


# --- proxies ----------------------------------------------------------------------------------


def test_a_new_proxy_is_given_back_with_its_real_port(api: Api) -> None:
    reply = api.call("POST", "/proxies", {"name": "p", "upstream": UPSTREAM})
    listen = reply.json["listen"]
    assert (reply.status, reply.content_type) == (201, "application/json")
    assert reply.json == {"name": "p", "listen": listen, "upstream": UPSTREAM, "enabled": True, "toxics": []}
    assert listen.startswith("127.0.0.1:")
    assert address_of(listen)[1] > 0
    assert api.ok("GET", "/proxies/p") == reply.json
    assert api.ok("GET", "/proxies") == {"p": reply.json}


def test_keys_are_accepted_in_any_case_and_the_last_one_of_a_field_counts(api: Api) -> None:
    reply = api.call("POST", "/proxies", {"Name": "p", "UPSTREAM": UPSTREAM, "Enabled": False})
    assert (reply.status, reply.json["name"], reply.json["enabled"]) == (201, "p", False)
    toxic = {"Type": "latency", "Stream": "upstream", "Toxicity": 0.5, "Attributes": {"Latency": 7}}
    added = api.ok("POST", "/proxies/p/toxics", toxic)
    assert added == {
        "name": "latency_upstream",
        "type": "latency",
        "stream": "upstream",
        "toxicity": 0.5,
        "attributes": {"latency": 7, "jitter": 0},
    }
    # As in Go, a key in the right case does not come before a later one, and null changes nothing.
    for body, name in (
        (b'{"upstream":"127.0.0.1:1","name":"a","NAME":"b"}', "b"),
        (b'{"upstream":"127.0.0.1:1","NAME":"c","name":"d"}', "d"),
        (b'{"upstream":"127.0.0.1:1","name":"e","Name":"f","name":"g"}', "g"),
        (b'{"upstream":"127.0.0.1:1","name":"h","Name":null}', "h"),
    ):
        assert api.call("POST", "/proxies", raw=body).json["name"] == name


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"upstream": UPSTREAM}, "missing required field: name"),
        ({"name": "", "upstream": UPSTREAM}, "missing required field: name"),
        ({"name": "p"}, "missing required field: upstream"),
        ({"name": 5, "upstream": UPSTREAM}, "bad request body: name: expected a text, got 5"),
        ([], "bad request body: body: expected an object, got a list"),
        (
            {"name": "p", "upstream": UPSTREAM, "enabled": "yes"},
            'bad request body: enabled: expected true or false, got "yes"',
        ),
        (
            {"name": "p", "upstream": "127.0.0.1:0"},
            "bad request body: upstream: expected a port from 1 to 65535 in '127.0.0.1:0', got 0",
        ),
        (
            {"name": "p", "upstream": "db"},
            'bad request body: upstream: expected HOST:PORT, got no port in "db"',
        ),
        (
            {"name": "p", "upstream": UPSTREAM, "listen": ":99999"},
            'bad request body: listen: expected a port from 0 to 65535, got "99999" in ":99999"',
        ),
    ],
)
def test_a_wrong_proxy_is_refused_with_the_reason(api: Api, document: object, message: str) -> None:
    reply = api.call("POST", "/proxies", document)
    assert (reply.status, reply.json) == (400, {"error": message, "title": message, "status": 400})
    assert api.ok("GET", "/proxies") == {}


@pytest.mark.parametrize("raw", [b"", b"{", b"NaN", b"\xff\xfe", b"[" * 100_000])
def test_a_body_that_is_no_json_is_a_bad_request(api: Api, raw: bytes) -> None:
    reply = api.call("POST", "/proxies", raw=raw)
    assert reply.status == 400
    assert reply.json["error"].startswith("bad request body: ")


def test_a_body_that_is_far_too_long_is_refused(api: Api) -> None:
    assert api.call("POST", "/proxies", raw=b" " * (5 << 20)).status == 413


def test_a_name_can_be_had_once(api: Api) -> None:
    new_proxy(api)
    reply = api.call("POST", "/proxies", {"name": "p", "upstream": UPSTREAM})
    assert (reply.status, reply.json["error"]) == (409, "proxy already exists")


def test_a_port_that_is_taken_is_an_error_and_leaves_nothing(api: Api) -> None:
    taken = new_proxy(api)["listen"]
    reply = api.call("POST", "/proxies", {"name": "q", "upstream": UPSTREAM, "listen": taken})
    assert reply.status == 500
    assert reply.json["error"].startswith(f"q: cannot listen on {taken}")
    assert list(api.ok("GET", "/proxies")) == ["p"]


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("POST", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/toxics"), ("POST", "/toxics"),
     ("GET", "/toxics/t"), ("POST", "/toxics/t"), ("PATCH", "/toxics/t"), ("DELETE", "/toxics/t")],
)  # fmt: skip
def test_a_proxy_that_is_not_there_is_not_found(api: Api, method: str, path: str) -> None:
    reply = api.call(method, f"/proxies/absent{path}", {"type": "noop"})
    assert (reply.status, reply.json["error"]) == (404, "proxy not found")


def test_names_may_hold_any_characters(api: Api) -> None:
    new_proxy(api, "a b*[é]")
    assert api.ok("GET", "/proxies/a%20b*%5B%C3%A9%5D")["name"] == "a b*[é]"
    toxic = api.ok("POST", "/proxies/a%20b*%5B%C3%A9%5D/toxics", {"type": "timeout", "name": "t?"})
    assert toxic["name"] == "t?"
    new_proxy(api, "half\ud800")  # Of a surrogate pair.
    assert 'proxy="half\ufffd"' in api.call("GET", "/metrics").body.decode()


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_disabling_refuses_and_enabling_takes_the_same_port_again(api: Api, method: str) -> None:
    listen = new_proxy(api)["listen"]
    assert api.ok(method, "/proxies/p", {"enabled": False})["enabled"] is False
    assert refused(listen)
    assert api.ok(method, "/proxies/p", {"enabled": True})["listen"] == listen
    assert not refused(listen)


def test_disabling_drops_live_connections() -> None:
    with wired() as wire, wire.joined() as (client, server):
        client.sendall(b"hello")
        assert read_exactly(server, 5) == b"hello"
        wire.api.ok("POST", "/proxies/wire", {"enabled": False})
        assert client.recv(1) == b""
        assert server.recv(1) == b""


def test_a_proxy_made_disabled_takes_its_port_when_it_is_enabled(api: Api) -> None:
    assert new_proxy(api, enabled=False)["listen"] == "localhost:0"
    proxy = api.ok("POST", "/proxies/p", {"enabled": True})
    assert not refused(proxy["listen"])


def test_an_update_to_the_address_it_has_keeps_listener_and_connections() -> None:
    with wired() as wire, wire.joined() as (client, server):
        port = address_of(wire.listen)[1]
        for same in (wire.listen, f"localhost:{port}", "localhost:0", "127.0.0.1:0"):
            assert wire.api.ok("POST", "/proxies/wire", {"listen": same})["listen"] == wire.listen
        client.sendall(b"still here")
        assert read_exactly(server, 10) == b"still here"


def test_another_upstream_ends_connections_and_keeps_port_and_toxics() -> None:
    with wired() as wire, upstream() as other:
        toxic = wire.api.add_toxic("noop")
        with wire.joined() as (client, _):
            proxy = wire.api.ok("POST", "/proxies/wire", {"upstream": text_of(other)})
            assert client.recv(1) == b""
        assert proxy == {
            "name": "wire",
            "listen": wire.listen,
            "upstream": text_of(other),
            "enabled": True,
            "toxics": [toxic],
        }
        with connect(wire.listen) as client:
            server, _ = other.accept()
            with server:
                client.sendall(b"moved")
                assert read_exactly(server, 5) == b"moved"


def test_a_proxy_can_move_to_another_port(api: Api) -> None:
    before = new_proxy(api)["listen"]
    with socket.create_server(("127.0.0.1", 0)) as probe:
        free = text_of(probe)
    assert api.ok("PATCH", "/proxies/p", {"listen": free})["listen"] == free
    assert refused(before)
    assert not refused(free)


def test_a_move_to_a_taken_port_fails_and_leaves_the_proxy_as_it_was(api: Api) -> None:
    proxy = new_proxy(api)
    taken = new_proxy(api, "q")["listen"]
    assert api.call("POST", "/proxies/p", {"listen": taken}).status == 500
    assert api.ok("GET", "/proxies/p") == proxy
    assert not refused(proxy["listen"])


def test_a_deleted_proxy_is_gone_and_its_port_refuses(api: Api) -> None:
    listen = new_proxy(api)["listen"]
    reply = api.call("DELETE", "/proxies/p")
    assert (reply.status, reply.body) == (204, b"")
    assert refused(listen)
    assert api.ok("GET", "/proxies") == {}


def test_a_port_cannot_be_listened_on_twice_after_its_owner_was_disabled(api: Api) -> None:
    listen = new_proxy(api)["listen"]
    api.ok("POST", "/proxies/p", {"enabled": False})
    if api.call("POST", "/proxies", {"name": "q", "upstream": UPSTREAM, "listen": listen}).status == 201:
        assert api.call("POST", "/proxies/p", {"enabled": True}).status == 500
        assert api.ok("GET", "/proxies/p")["enabled"] is False


# --- populate and reset -----------------------------------------------------------------------


def test_populate_makes_proxies_and_can_be_repeated(api: Api) -> None:
    wanted = [
        {"name": "a", "listen": "127.0.0.1:0", "upstream": UPSTREAM},
        {"name": "b", "listen": "127.0.0.1:0", "upstream": UPSTREAM, "enabled": False},
    ]
    first = api.call("POST", "/populate", wanted)
    assert first.status == 201
    assert [(proxy["name"], proxy["enabled"]) for proxy in first.json["proxies"]] == [
        ("a", True),
        ("b", False),
    ]
    toxic = api.ok("POST", "/proxies/a/toxics", {"type": "noop"})
    again = api.ok("POST", "/populate", wanted)["proxies"]
    assert again[0] == {**first.json["proxies"][0], "toxics": [toxic]}
    assert again[1] == first.json["proxies"][1]


def test_populate_that_cannot_have_a_port_leaves_the_proxy_as_it_was(api: Api) -> None:
    new_proxy(api)
    api.ok("POST", "/proxies/p/toxics", {"type": "noop"})
    before = api.ok("GET", "/proxies/p")
    taken = new_proxy(api, "q")["listen"]
    document = [{"name": "p", "listen": taken, "upstream": UPSTREAM}]
    assert api.call("POST", "/populate", document).status == 500
    assert api.ok("GET", "/proxies/p") == before


def test_populate_sets_enabled_on_what_it_keeps(api: Api) -> None:
    listen = new_proxy(api)["listen"]
    document = [{"name": "p", "listen": listen, "upstream": UPSTREAM, "enabled": False}]
    assert api.ok("POST", "/populate", document)["proxies"][0]["enabled"] is False
    assert refused(listen)


def test_populate_replaces_what_has_other_addresses(api: Api) -> None:
    listen = new_proxy(api)["listen"]
    api.ok("POST", "/proxies/p/toxics", {"type": "noop"})
    document = [{"name": "p", "listen": listen, "upstream": "127.0.0.1:2"}]
    proxy = {"name": "p", "listen": listen, "upstream": "127.0.0.1:2", "enabled": True, "toxics": []}
    assert api.ok("POST", "/populate", document) == {"proxies": [proxy]}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"name": "a"}, "bad request body: body: expected a list of proxies"),
        ([{"name": "a", "upstream": UPSTREAM}, {"name": "b"}], "missing required field: upstream at proxy 2"),
        ([{"name": "a", "upstream": UPSTREAM}, {"name": ""}], "missing required field: name at proxy 2"),
        (
            [{"name": "a", "upstream": UPSTREAM}] * 2,
            "bad request body: name at proxy 2: expected each name once, got 'a' again",
        ),
    ],
)
def test_a_wrong_list_is_refused_before_anything_is_made(api: Api, document: object, message: str) -> None:
    reply = api.call("POST", "/populate", document)
    assert (reply.status, reply.json["error"]) == (400, message)
    assert api.ok("GET", "/proxies") == {}


def test_reset_enables_all_and_takes_all_toxics_off(api: Api) -> None:
    listen = new_proxy(api)["listen"]
    api.ok("POST", "/proxies/p/toxics", {"type": "timeout"})
    api.ok("POST", "/proxies/p", {"enabled": False})
    reply = api.call("POST", "/reset")
    assert (reply.status, reply.body) == (204, b"")
    proxy = api.ok("GET", "/proxies/p")
    assert (proxy["enabled"], proxy["toxics"]) == (True, [])
    assert not refused(listen)


# --- toxics -----------------------------------------------------------------------------------


def test_a_toxic_is_added_shown_updated_and_deleted(api: Api) -> None:
    new_proxy(api)
    body = {"type": "latency", "attributes": {"latency": 100}}
    added = api.call("POST", "/proxies/p/toxics", body)
    toxic = {
        "name": "latency_downstream",
        "type": "latency",
        "stream": "downstream",
        "toxicity": 1.0,
        "attributes": {"latency": 100, "jitter": 0},
    }
    assert (added.status, added.json) == (200, toxic)
    assert api.ok("GET", "/proxies/p/toxics") == [toxic]
    assert api.ok("GET", "/proxies/p/toxics/latency_downstream") == toxic
    assert api.ok("GET", "/proxies/p")["toxics"] == [toxic]
    change = {"toxicity": 0.5, "attributes": {"jitter": 7}}
    changed = {**toxic, "toxicity": 0.5, "attributes": {"latency": 100, "jitter": 7}}
    assert api.ok("PATCH", "/proxies/p/toxics/latency_downstream", change) == changed
    assert api.ok("POST", "/proxies/p/toxics/latency_downstream", {}) == changed
    deleted = api.call("DELETE", "/proxies/p/toxics/latency_downstream")
    assert (deleted.status, deleted.body) == (204, b"")
    assert api.ok("GET", "/proxies/p/toxics") == []


def test_a_toxics_name_can_be_had_once_a_proxy_whatever_the_stream(api: Api) -> None:
    new_proxy(api)
    new_proxy(api, "q")
    api.ok("POST", "/proxies/p/toxics", {"type": "noop", "name": "t", "stream": "upstream"})
    reply = api.call("POST", "/proxies/p/toxics", {"type": "noop", "name": "t"})
    assert (reply.status, reply.json["error"]) == (409, "toxic already exists")
    api.ok("POST", "/proxies/q/toxics", {"type": "noop", "name": "t"})


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE"])
def test_a_toxic_that_is_not_there_is_not_found(api: Api, method: str) -> None:
    new_proxy(api)
    reply = api.call(method, "/proxies/p/toxics/absent", {})
    assert (reply.status, reply.json["error"]) == (404, "toxic not found")


def test_a_wrong_toxic_changes_nothing(api: Api) -> None:
    new_proxy(api)
    toxic = api.ok("POST", "/proxies/p/toxics", {"type": "bandwidth", "attributes": {"rate": 5}})
    assert api.call("POST", "/proxies/p/toxics", {"type": "earthquake"}).status == 400
    assert (
        api.call("PATCH", "/proxies/p/toxics/bandwidth_downstream", {"attributes": {"rate": -5}}).status
        == 400
    )
    assert api.ok("GET", "/proxies/p/toxics") == [toxic]


# --- the rest ---------------------------------------------------------------------------------


def test_the_version_is_that_of_the_api_and_ours(api: Api) -> None:
    reply = api.call("GET", "/version")
    assert reply.json == {"version": API_VERSION}
    assert API_VERSION.startswith("2.")


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/nowhere", 404), ("PUT", "/proxies", 405)])
def test_other_paths_and_methods_are_refused_in_json(api: Api, method: str, path: str, status: int) -> None:
    reply = api.call(method, path)
    assert (reply.status, reply.json["status"]) == (status, status)


def test_no_content_type_is_needed_and_any_will_do(api: Api) -> None:
    raw = b'{"name": "p", "upstream": "127.0.0.1:1"}'
    assert api.call("POST", "/proxies", raw=raw, content_type="text/plain").status == 201


def test_browsers_are_refused(api: Api) -> None:
    assert api.call("GET", "/version", user_agent="Mozilla/5.0 (X11)").status == 403
    assert api.call("GET", "/version", user_agent="toxiproxy-cli").status == 200
    assert api.call("GET", "/version", origin="null").status == 403
    assert api.call("GET", "/version", user_agent="Other/1", sec_fetch_site="cross-site").status == 403
    assert api.call("GET", "/version", sec_fetch_mode="cors").status == 200, "Node's fetch sends it"


def test_connections_to_the_api_send_at_once() -> None:
    server = ToxiproxyServer("127.0.0.1", 0)
    try:
        server._listener.settimeout(PATIENCE_S)
        with socket.create_connection(server._listener.getsockname()[:2], timeout=PATIENCE_S):
            accepted, _ = server._listener.accept()
            with accepted:
                assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    finally:
        server.close()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8474", 200),
        ("LOCALHOST", 200),
        ("127.0.0.1:8474", 200),
        ("127.9.9.9", 200),
        ("[::1]:8474", 200),
        ("evil.example", 403),
        ("localhost.evil.example:8474", 403),
        ("192.0.2.7", 403),
    ],
)
def test_a_foreign_host_name_is_refused_where_the_server_is_for_this_machine(
    api: Api, host: str, status: int
) -> None:
    assert api.call("GET", "/version", Host=host).status == status


def test_a_server_for_other_machines_takes_any_host_name_but_no_browser() -> None:
    guard = Guard(Starlette(), local_only=False)
    assert guard.refusal(Headers({"host": "toxiproxy.internal:8474"})) is None
    assert guard.refusal(Headers({"user-agent": "Mozilla/5.0"})) is not None


# --- metrics ----------------------------------------------------------------------------------


def figures(api: Api) -> dict[str, int]:
    reply = api.call("GET", "/metrics")
    assert reply.content_type.startswith("text/plain")
    lines = [line for line in reply.body.decode().splitlines() if not line.startswith("#")]
    return {name: int(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_bytes_are_counted_while_the_connection_lives_and_never_go_back() -> None:
    with wired() as wire:
        labels = f'listener="{wire.listen}",proxy="wire",upstream="{text_of(wire.upstream)}"'
        expected = {
            f'toxiproxy_proxy_{what}_bytes_total{{direction="{direction}",{labels}}}': count
            for what in ("received", "sent")
            for direction, count in (("upstream", 5), ("downstream", 3))
        }
        with wire.joined() as (client, server):
            client.sendall(b"hello")
            assert read_exactly(server, 5) == b"hello"
            server.sendall(b"you")
            assert read_exactly(client, 3) == b"you"
            assert figures(wire.api) == expected
        for method, path, document in (
            ("POST", "/proxies/wire", {"enabled": False}),
            ("DELETE", "/proxies/wire", None),
        ):
            wire.api.ok(method, path, document)
            assert figures(wire.api) == expected


def test_proxies_that_are_gone_do_not_fill_the_metrics(api: Api) -> None:
    before = figures(api)
    for number in range(5):
        new_proxy(api, f"quiet-{number}")
        api.ok("DELETE", f"/proxies/quiet-{number}")
    assert figures(api) == before, "nothing went through them"


def test_the_bytes_of_the_latest_closed_proxies_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faultkit.proxy.toxiproxy.registry.MOST_PAST", 2)
    with upstream() as listener, serving() as api:
        for number in range(4):
            made = new_proxy(api, f"p{number}", upstream=text_of(listener))
            with connect(made["listen"]) as client:
                server, _ = listener.accept()
                with server:
                    client.sendall(b"x")
                    assert read_exactly(server, 1) == b"x"
            api.ok("DELETE", f"/proxies/p{number}")
        assert {name.split('proxy="')[1][:2] for name in figures(api)} == {"p2", "p3"}
