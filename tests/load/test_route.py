"""Routes: the bytes of a request, and where they are sent."""

from __future__ import annotations

import pytest

from faultkit import __version__
from faultkit.base.address import Endpoint
from faultkit.base.errors import InputError
from faultkit.load.load import Target
from faultkit.load.route import route_of

PROXY = Endpoint("127.0.0.1", 3128)
AGENT = f"User-Agent: faultkit/{__version__}\r\nAccept: */*\r\n".encode()


def test_a_plain_request_in_origin_form() -> None:
    route = route_of(Target("GET", "http://example.com/a/b?c=d%20e&f#g"))
    assert route.request == b"GET /a/b?c=d%20e&f HTTP/1.1\r\nHost: example.com\r\n" + AGENT + b"\r\n"
    assert route.endpoint == Endpoint("example.com", 80)
    assert (route.tunnel, route.tls_host, route.head_only) == (b"", None, False)


def test_a_body_comes_with_its_length() -> None:
    route = route_of(Target("POST", "http://example.com:81", (("Content-Length", "9"), ("X", "y")), b"body"))
    assert route.request == (
        b"POST / HTTP/1.1\r\nHost: example.com:81\r\n" + AGENT + b"X: y\r\nContent-Length: 4\r\n\r\nbody"
    )


def test_a_post_without_a_body_says_so_and_a_get_does_not() -> None:
    assert b"Content-Length: 0\r\n\r\n" in route_of(Target("POST", "http://h/")).request
    assert b"Content-Length" not in route_of(Target("GET", "http://h/")).request


def test_the_users_own_fields_win() -> None:
    headers = (("host", "other"), ("USER-AGENT", "me"), ("accept", "text/html"), ("Connection", "upgrade"))
    request = route_of(Target("GET", "http://h/", headers), keep_alive=False).request
    assert request == (
        b"GET / HTTP/1.1\r\nhost: other\r\nUSER-AGENT: me\r\naccept: text/html\r\nConnection: upgrade\r\n\r\n"
    )


def test_without_keep_alive_the_server_is_told_to_close() -> None:
    assert b"\r\nConnection: close\r\n" in route_of(Target("GET", "http://h/"), keep_alive=False).request
    assert b"Connection" not in route_of(Target("GET", "http://h/")).request


def test_a_proxy_gets_plain_requests_in_absolute_form() -> None:
    route = route_of(Target("GET", "http://example.com:8080/x?y", proxy=PROXY))
    assert route.request.startswith(b"GET http://example.com:8080/x?y HTTP/1.1\r\nHost: example.com:8080\r\n")
    assert (route.endpoint, route.tunnel) == (PROXY, b"")


def test_a_proxy_is_asked_for_a_tunnel_to_https() -> None:
    route = route_of(Target("GET", "https://example.com/x", proxy=PROXY))
    assert route.request.startswith(b"GET /x HTTP/1.1\r\nHost: example.com\r\n")
    assert route.tunnel.startswith(b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n")
    assert (route.endpoint, route.tls_host) == (PROXY, "example.com")


def test_another_place_to_connect_to_is_spoken_to_in_the_clear() -> None:
    route = route_of(Target("GET", "https://example.com/x", connect_to=Endpoint("127.0.0.1", 9)))
    assert route.request.startswith(b"GET /x HTTP/1.1\r\nHost: example.com\r\n")
    assert (route.endpoint, route.tls_host) == (Endpoint("127.0.0.1", 9), None)


def test_hosts_that_are_no_plain_names() -> None:
    assert route_of(Target("GET", "http://[::1]:8080/")).endpoint == Endpoint("::1", 8080)
    assert b"Host: [::1]:8080\r\n" in route_of(Target("GET", "http://[::1]:8080/")).request
    assert route_of(Target("GET", "https://bücher.example/")).tls_host == "xn--bcher-kva.example"


def test_a_user_in_the_url_becomes_an_authorization() -> None:
    request = route_of(Target("GET", "http://me:p%40ss@h/")).request
    assert b"\r\nHost: h\r\n" in request
    assert b"\r\nAuthorization: Basic bWU6cEBzcw==\r\n" in request


def test_what_no_request_line_can_hold_is_quoted() -> None:
    assert route_of(Target("GET", 'http://h/ä?q="x y"')).request.startswith(
        b"GET /%C3%A4?q=%22x%20y%22 HTTP/1.1\r\n"
    )


@pytest.mark.parametrize(
    ("target", "path"),
    [
        (Target("GET", "ftp://h/"), "url"),
        (Target("GET", "/only/a/path"), "url"),
        (Target("GET", "http://"), "url"),
        (Target("GET", "http://h:0/"), "url"),
        (Target("GET", "http://h:70000/"), "url"),
        (Target("GET", "http://h h/"), "url"),
        (Target("GET", "http://h/\r\nX: y"), "url"),
        (Target("GET", f"http://{'a' * 70}.example/"), "url"),
        (Target("GE T", "http://h/"), "method"),
        (Target("GET\r\n", "http://h/"), "method"),
        (Target("CONNECT", "http://h/"), "method"),
        (Target("GET", "http://h/", (("X\r\nY", "z"),)), "headers"),
        (Target("GET", "http://h/", (("X", "a\r\nY: b"),)), "headers.X"),
        (Target("GET", "http://h/", (("X", "a\nb"),)), "headers.X"),
        (Target("GET", "http://h/", (("X", "€"),)), "headers.X"),
        (Target("GET", "http://h/", (("Transfer-Encoding", "chunked"),)), "headers.Transfer-Encoding"),
        (Target("GET", "http://h/", timeout_s=0), "timeout_s"),
        (Target("GET", "http://h/", proxy=PROXY, connect_to=PROXY), "proxy"),
    ],
)
def test_what_cannot_be_sent_is_refused(target: Target, path: str) -> None:
    with pytest.raises(InputError) as refused:
        route_of(target)
    assert refused.value.path == path
