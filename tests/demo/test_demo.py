"""The demo service on real sockets: its endpoints, and its errors when its upstream fails."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from faultkit.base.address import Endpoint
from faultkit.base.errors import InputError, TargetError
from faultkit.demo.demo_server import DemoServer

PATIENCE_S = 20.0
ANY = Endpoint("127.0.0.1", 0)
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi"


@pytest.fixture(scope="module", autouse=True)
def no_proxies() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as environment:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
            environment.delenv(name, raising=False)
            environment.delenv(name.lower(), raising=False)
        yield


@contextlib.contextmanager
def demo(**options: Any) -> Iterator[DemoServer]:
    server = DemoServer(ANY, **options)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(PATIENCE_S)
        server.close()
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def usual(no_proxies: None) -> Iterator[DemoServer]:
    """The service as it is without options, for all tests that only ask it."""
    with demo() as server:
        yield server


def ask(server: DemoServer, method: str, path: str, body: bytes | None = None) -> tuple[int, str, bytes]:
    """Send a request; return status, content type and body."""
    connection = http.client.HTTPConnection(server.endpoint.host, server.endpoint.port, timeout=PATIENCE_S)
    with contextlib.closing(connection):
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, answer.headers["content-type"], answer.read()


def ask_json(server: DemoServer, method: str, path: str, body: bytes | None = None) -> tuple[int, Any]:
    status, content_type, text = ask(server, method, path, body)
    assert content_type == "application/json"
    return status, json.loads(text)


@contextlib.contextmanager
def origin(answer: Callable[[socket.socket, bytes], None]) -> Iterator[str]:
    """Run a server that calls `answer` in a thread for each connection, with the head of its request."""
    listener = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def handle(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(PATIENCE_S)
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(65536)
            answer(connection, head)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threads.append(threading.Thread(target=handle, args=(connection,), daemon=True))
                threads[-1].start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for thread in (accepting, *threads):
            thread.join(PATIENCE_S)


def answering(raw: bytes) -> Callable[[socket.socket, bytes], None]:
    return lambda connection, head: connection.sendall(raw)


def test_the_first_page_says_hello(usual: DemoServer) -> None:
    status, content_type, text = ask(usual, "GET", "/")
    assert (status, content_type) == (200, "text/html; charset=utf-8")
    assert b"<h1>Hello</h1>" in text


def test_ping_returns_the_answer_of_the_upstream(usual: DemoServer) -> None:
    assert usual.upstream_url == f"http://127.0.0.1:{usual.upstream.port}/"
    status, answer = ask_json(usual, "GET", "/ping")
    assert status == 200
    assert json.loads(answer["content"]) == {"message": "pong", "method": "GET", "path": "/", "query": {}}
    assert re.fullmatch(r"\d+\.\d{3}", answer["duration"])


def test_ping_myself_calls_the_first_page(usual: DemoServer) -> None:
    status, answer = ask_json(usual, "GET", "/ping/myself")
    assert status == 200
    assert "<h1>Hello</h1>" in answer["content"]


def test_uppercase_gives_the_text_back_in_capitals(usual: DemoServer) -> None:
    body = json.dumps({"content": "stra\u00dfe"}).encode()
    assert ask_json(usual, "POST", "/uppercase", body) == (200, {"content": "STRASSE"})


@pytest.mark.parametrize(
    "body", [b"", b"x", b"[]", b'{"content": 5}', b'{"other": "x"}', b"[" * 100_000, b"\xff"]
)
def test_uppercase_refuses_what_has_no_text(usual: DemoServer, body: bytes) -> None:
    expected = {"error": 'expected JSON such as {"content": "text"}'}
    assert ask_json(usual, "POST", "/uppercase", body) == (400, expected)


def test_uppercase_refuses_what_is_too_large(usual: DemoServer) -> None:
    body = json.dumps({"content": "a" * 1024 * 1024}).encode()
    assert ask_json(usual, "POST", "/uppercase", body) == (
        413,
        {"error": "expected at most 1048576 bytes"},
    )


def test_other_paths_and_methods_are_refused_in_json(usual: DemoServer) -> None:
    assert ask_json(usual, "GET", "/none") == (404, {"error": "Not Found"})
    assert ask_json(usual, "PUT", "/ping") == (405, {"error": "Method Not Allowed"})


def test_multi_has_both_calls_under_way_at_the_same_time() -> None:
    both = threading.Barrier(2)

    def answer(connection: socket.socket, head: bytes) -> None:
        both.wait(PATIENCE_S)
        connection.sendall(OK)

    with origin(answer) as url, demo(upstream=url) as server:
        status, said = ask_json(server, "GET", "/multi")
    assert status == 200
    assert [part["content"] for part in said["content"]] == ["hi", "hi"]


def test_each_call_has_a_connection_of_its_own() -> None:
    heads: list[bytes] = []

    def answer(connection: socket.socket, head: bytes) -> None:
        heads.append(head)
        connection.sendall(OK.replace(b"connection: close\r\n", b""))
        assert connection.recv(1) == b""  # The caller closes its connection and does not retry.

    with origin(answer) as url, demo(upstream=url) as server:
        assert [ask_json(server, "GET", "/ping")[0] for _ in range(3)] == [200] * 3
    assert len(heads) == 3


def test_an_upstream_that_refuses_is_a_bad_gateway(closed_port: int) -> None:
    with demo(upstream=f"http://127.0.0.1:{closed_port}/x") as server:
        for path in ("/ping", "/multi"):
            status, answer = ask_json(server, "GET", path)
            assert status == 502
            assert answer["error"].startswith(f"no answer from http://127.0.0.1:{closed_port}/x: ")


def test_an_upstream_that_never_answers_is_a_gateway_timeout() -> None:
    def wait(connection: socket.socket, head: bytes) -> None:
        connection.recv(1)  # Returns when the caller has given up.

    with origin(wait) as url, demo(upstream=url, timeout_s=0.05) as server:
        status, answer = ask_json(server, "GET", "/ping")
    assert (status, answer["error"]) == (504, f"no answer from {url} within 0.05 s")


def test_a_call_without_a_response_is_made_again_as_often_as_asked() -> None:
    heads = []

    def wait_once(connection: socket.socket, head: bytes) -> None:
        heads.append(head)
        if len(heads) == 1:
            connection.recv(1)  # Returns when the caller has given up.
        else:
            connection.sendall(OK)

    with origin(wait_once) as url, demo(upstream=url, timeout_s=0.5, retries=1) as server:
        assert ask_json(server, "GET", "/ping")[0] == 200
        assert ask_json(server, "GET", "/ping")[0] == 200
    assert len(heads) == 3


def test_an_answer_that_never_ends_is_a_gateway_timeout() -> None:
    def drip(connection: socket.socket, head: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nx")
        connection.recv(1)  # Returns when the caller has given up.

    with origin(drip) as url, demo(upstream=url, timeout_s=0.05) as server:
        assert ask_json(server, "GET", "/ping")[0] == 504


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        (b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n", "the upstream answered 500"),
        (b"HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n", "the upstream answered 404"),
        (b"220 hello\r\n\r\n", "no answer from"),
        (b"", "no answer from"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhi", "no answer from"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"a" * (1024 * 1024 + 1), "an answer of more than 1048576 bytes"),
    ],
)
def test_whatever_else_an_upstream_does_is_a_bad_gateway(raw: bytes, error: str) -> None:
    with origin(answering(raw)) as url, demo(upstream=url) as server:
        status, answer = ask_json(server, "GET", "/ping")
    assert status == 502
    assert error in answer["error"]


def test_calls_go_through_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[bytes] = []

    def proxy(connection: socket.socket, head: bytes) -> None:
        heads.append(head)
        connection.sendall(OK)

    with origin(proxy) as proxy_url:
        monkeypatch.setenv("HTTP_PROXY", proxy_url)
        monkeypatch.setenv("http_proxy", proxy_url)
        with demo() as server:
            assert ask_json(server, "GET", "/ping")[1]["content"] == "hi"
            assert heads[0].startswith(f"GET {server.upstream_url} HTTP/1.1\r\n".encode())
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        with demo() as server:
            assert "pong" in ask_json(server, "GET", "/ping")[1]["content"]
    assert len(heads) == 1


def test_each_request_is_reported_in_a_line() -> None:
    lines: list[str] = []
    with demo(report=lines.append) as server:
        ask(server, "GET", "/?secret=1")
        ask(server, "POST", "/uppercase", b"x")
        ask(server, "GET", "/%1b[31m")
    told = [re.fullmatch(r"(\S+ \S+ \d+) \d+\.\d{3}ms", line) for line in lines]
    assert [match and match[1] for match in told] == ["GET / 200", "POST /uppercase 400", "GET /?[31m 404"]


def test_a_client_that_disconnects_does_no_harm(usual: DemoServer) -> None:
    with socket.create_connection((usual.endpoint.host, usual.endpoint.port), PATIENCE_S) as client:
        client.sendall(b"POST /uppercase HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc")
    assert ask(usual, "GET", "/")[0] == 200


def test_ports_are_bound_from_the_start_and_closed_at_the_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            TargetError, match=f"demo: cannot listen on 127.0.0.1:{port}: Address already in use"
        ):
            DemoServer(Endpoint("127.0.0.1", port))
        with pytest.raises(TargetError, match=f"upstream: cannot listen on 127.0.0.1:{port}"):
            DemoServer(ANY, upstream_port=port)
    with demo() as server:
        ask(server, "GET", "/")
    with socket.create_server(("127.0.0.1", server.endpoint.port)):
        pass


@pytest.mark.parametrize("url", ["", "x", "ftp://h", "http://", "http://[::1", "http://h:99999"])
def test_an_upstream_that_is_no_url_is_an_input_error(url: str) -> None:
    with pytest.raises(InputError, match="upstream: expected an http or https URL"):
        DemoServer(ANY, upstream=url)


def test_a_service_on_every_address_reaches_itself() -> None:
    server = DemoServer(Endpoint("0.0.0.0", 0))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        assert ask_json(server, "GET", "/ping/myself")[0] == 200
    finally:
        server.stop()
        thread.join(PATIENCE_S)
        server.close()


def test_events_are_a_stream_of_ten(usual: DemoServer) -> None:
    status, kind, body = ask(usual, "GET", "/events")
    assert (status, kind) == (200, "text/event-stream; charset=utf-8")
    assert body == b"".join(b"data: %d\n\n" % number for number in range(1, 11))
