"""The demo service on real sockets: its endpoints, and what it says when its dependency fails."""

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

PATIENCE_S = 5.0
ANY = Endpoint("127.0.0.1", 0)
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


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


def ask(server: DemoServer, method: str, path: str, body: bytes | None = None) -> tuple[int, str, bytes]:
    """Status, content type and body."""
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
    """A bare server: each connection has a thread, which gets the head of the request."""
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


def test_the_first_page_says_hello() -> None:
    with demo() as server:
        status, content_type, text = ask(server, "GET", "/")
    assert (status, content_type) == (200, "text/html; charset=utf-8")
    assert b"<h1>Hello</h1>" in text


def test_ping_passes_on_what_its_own_upstream_says() -> None:
    with demo() as server:
        assert server.upstream_url == f"http://127.0.0.1:{server.upstream.port}/"
        status, answer = ask_json(server, "GET", "/ping")
    assert status == 200
    assert json.loads(answer["content"]) == {"message": "pong", "method": "GET", "path": "/", "query": {}}
    assert re.fullmatch(r"\d+\.\d{3}", answer["duration"])


def test_ping_myself_calls_the_first_page() -> None:
    with demo() as server:
        status, answer = ask_json(server, "GET", "/ping/myself")
    assert status == 200
    assert "<h1>Hello</h1>" in answer["content"]


def test_uppercase_gives_the_text_back_in_capitals() -> None:
    with demo() as server:
        body = json.dumps({"content": "stra\u00dfe"}).encode()
        assert ask_json(server, "POST", "/uppercase", body) == (200, {"content": "STRASSE"})


@pytest.mark.parametrize(
    "body", [b"", b"x", b"[]", b'{"content": 5}', b'{"other": "x"}', b"[" * 100_000, b"\xff"]
)
def test_uppercase_refuses_what_has_no_text(body: bytes) -> None:
    with demo() as server:
        expected = {"error": 'expected JSON such as {"content": "text"}'}
        assert ask_json(server, "POST", "/uppercase", body) == (400, expected)


def test_uppercase_refuses_what_is_too_large() -> None:
    with demo() as server:
        body = json.dumps({"content": "a" * 1024 * 1024}).encode()
        assert ask_json(server, "POST", "/uppercase", body) == (
            413,
            {"error": "expected at most 1048576 bytes"},
        )


def test_other_paths_and_methods_are_refused_in_json() -> None:
    with demo() as server:
        assert ask_json(server, "GET", "/none") == (404, {"error": "Not Found"})
        assert ask_json(server, "PUT", "/ping") == (405, {"error": "Method Not Allowed"})


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
        assert connection.recv(1) == b""  # The caller goes away; it does not ask again.

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
        connection.recv(1)  # Until the caller has given up.

    with origin(wait) as url, demo(upstream=url, timeout_s=0.05) as server:
        status, answer = ask_json(server, "GET", "/ping")
    assert (status, answer["error"]) == (504, f"no answer from {url} within 0.05 s")


def test_an_answer_that_never_ends_is_a_gateway_timeout() -> None:
    def drip(connection: socket.socket, head: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nx")
        connection.recv(1)  # Until the caller has given up.

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
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"a" * (1024 * 1024 + 1), "the answer has more than 1048576 bytes"),
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


def test_each_request_is_told_in_a_line() -> None:
    lines: list[str] = []
    with demo(report=lines.append) as server:
        ask(server, "GET", "/?secret=1")
        ask(server, "POST", "/uppercase", b"x")
        ask(server, "GET", "/%1b[31m")
    told = [re.fullmatch(r"(\S+ \S+ \d+) \d+\.\d{3}ms", line) for line in lines]
    assert [match and match[1] for match in told] == ["GET / 200", "POST /uppercase 400", "GET /?[31m 404"]


def test_a_client_that_goes_away_is_no_trouble() -> None:
    with demo() as server:
        with socket.create_connection((server.endpoint.host, server.endpoint.port), PATIENCE_S) as client:
            client.sendall(b"POST /uppercase HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc")
        assert ask(server, "GET", "/")[0] == 200


def test_ports_are_taken_at_once_and_given_back() -> None:
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
