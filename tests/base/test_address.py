"""Addresses, proxy maps and upstreams, as users write them."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultkit.base.address import (
    LOOPBACK_HOSTS,
    LOOPBACK_NAMES,
    Endpoint,
    ProxyMap,
    Speaks,
    Upstream,
    UpstreamSet,
    is_local_name,
    is_loopback,
    parse_endpoint,
    parse_map,
    parse_upstream,
    stays_here,
)
from faultkit.base.errors import InputError

Protocol = Literal[
    "tcp",
    "tls",
    "psql",
    "psqls",
    "http",
    "https",
    "reverse",
    "reverse-tls",
    "tls to tcp",
    "tls to tls",
    "tls to psql",
    "tls to http",
    "tls to https",
    "tls to reverse",
    "tls to reverse-tls",
]


def described(proxy_map: ProxyMap) -> tuple[str, str, str]:
    """Return listen address, upstream and protocol of a map."""
    words = {
        (False, "tcp", False): "tcp",
        (True, "tcp", False): "tls",
        (False, "psql", False): "psql",
        (True, "psql", False): "psqls",
        (False, "http", False): "http",
        (True, "http", False): "https",
        (False, "http", True): "reverse",
        (True, "http", True): "reverse-tls",
    }
    word = words[proxy_map.tls, proxy_map.speaks, proxy_map.rewrite_host]
    if proxy_map.client_tls:
        word = f"tls to {word}"
    return str(proxy_map.listen), str(proxy_map.upstream), word


@pytest.mark.parametrize(
    ("text", "listen", "upstream", "protocol"),
    [
        ("9090=example.com:80", "127.0.0.1:9090", "example.com:80", "tcp"),
        (
            "34000=https://jsonplaceholder.typicode.com",
            "127.0.0.1:34000",
            "jsonplaceholder.typicode.com:443",
            "reverse-tls",
        ),
        ("9090=https://www.google.com:8443", "127.0.0.1:9090", "www.google.com:8443", "reverse-tls"),
        ("9090=https://www.google.com/", "127.0.0.1:9090", "www.google.com:443", "reverse-tls"),
        ("9090=http://example.com", "127.0.0.1:9090", "example.com:80", "http"),
        ("9090=HTTP://example.com", "127.0.0.1:9090", "example.com:80", "http"),
        ("9090=tls://example.com", "127.0.0.1:9090", "example.com:443", "tls"),
        ("5433=psql://db", "127.0.0.1:5433", "db:5432", "psql"),
        ("5433=psqls://db", "127.0.0.1:5433", "db:5432", "psqls"),
        ("9090=tcp://db:1", "127.0.0.1:9090", "db:1", "tcp"),
        ("9090=:7070", "127.0.0.1:9090", "127.0.0.1:7070", "tcp"),
        ("9090=7070", "127.0.0.1:9090", "127.0.0.1:7070", "tcp"),
        ("9090=http:7070", "127.0.0.1:9090", "127.0.0.1:7070", "http"),
        ("9090=http://:7070", "127.0.0.1:9090", "127.0.0.1:7070", "http"),
        ("0=db:1", "127.0.0.1:0", "db:1", "tcp"),
        (":9090=db:1", "127.0.0.1:9090", "db:1", "tcp"),
        ("0.0.0.0:9090=db:1", "0.0.0.0:9090", "db:1", "tcp"),
        ("localhost:9090=db:1", "localhost:9090", "db:1", "tcp"),
        ("[::1]:9090=[2001:db8::7]:443", "[::1]:9090", "[2001:db8::7]:443", "tcp"),
        ("9090=https://[2001:DB8:0::7]", "127.0.0.1:9090", "[2001:db8::7]:443", "reverse-tls"),
        ("tcp:9090=db:1", "127.0.0.1:9090", "db:1", "tcp"),
        ("tcp://0.0.0.0:9090=db:1", "0.0.0.0:9090", "db:1", "tcp"),
        ("tcp:9090=http://web", "127.0.0.1:9090", "web:80", "http"),
        ("tcp:9090=https://web", "127.0.0.1:9090", "web:443", "https"),
        ("psqls:5433=db", "127.0.0.1:5433", "db:5432", "psqls"),
        ("tls:9090=db:1", "127.0.0.1:9090", "db:1", "tls to tls"),
        ("tls:9090=tcp://db:1", "127.0.0.1:9090", "db:1", "tls to tcp"),
        ("tls:9090=psql://db", "127.0.0.1:9090", "db:5432", "tls to psql"),
        ("tls:9090=https://web", "127.0.0.1:9090", "web:443", "tls to https"),
        ("tls:9090=http://web", "127.0.0.1:9090", "web:80", "tls to http"),
        ("psqls:5433=psql://db", "127.0.0.1:5433", "db:5432", "psqls"),
        ("http:9090=web", "127.0.0.1:9090", "web:80", "reverse"),
        ("http:9090=web:8000", "127.0.0.1:9090", "web:8000", "reverse"),
        ("http://:9090=web", "127.0.0.1:9090", "web:80", "reverse"),
        ("http://[::]:9090=web", "[::]:9090", "web:80", "reverse"),
        ("http:9090=https://web", "127.0.0.1:9090", "web:443", "reverse-tls"),
        ("http:9090=tls://web", "127.0.0.1:9090", "web:443", "reverse-tls"),
        ("https:9090=web", "127.0.0.1:9090", "web:443", "tls to reverse-tls"),
        ("https://0.0.0.0:9090=https://web", "0.0.0.0:9090", "web:443", "tls to reverse-tls"),
        ("https:9090=http://web", "127.0.0.1:9090", "web:80", "tls to reverse"),
        ("https:9090=http://web:8000", "127.0.0.1:9090", "web:8000", "tls to reverse"),
        ("  9090 = db:1 ", "127.0.0.1:9090", "db:1", "tcp"),
        ("9090=my_db-1.svc.local.:1", "127.0.0.1:9090", "my_db-1.svc.local.:1", "tcp"),
    ],
)
def test_a_map_is_read(text: str, listen: str, upstream: str, protocol: Protocol) -> None:
    assert described(parse_map(text)) == (listen, upstream, protocol)


SCHEMES = "tcp, tls, http, https, psql, psqls"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", 'expected PORT=HOST:PORT such as "9090=https://example.com", got no "="'),
        ("9090", 'expected PORT=HOST:PORT such as "9090=https://example.com", got no "="'),
        ("=db:1", 'expected a host name or an IP address, got ""'),
        ("9090=", 'expected a host name or an IP address, got ""'),
        ("9090=https://", 'expected a host name or an IP address, got ""'),
        ("localhost=db:1", 'expected a port to listen on left of "=", got "localhost"'),
        ("http://localhost=db:1", 'expected a port to listen on left of "=", got "http://localhost"'),
        ("http:=db:1", 'expected a port from 0 to 65535, got ""'),
        ("http:x=db:1", 'expected a port from 0 to 65535, got "x"'),
        ("65536=db:1", 'expected a port from 0 to 65535, got "65536"'),
        ("-1=db:1", 'expected a host name or an IP address, got "-1"'),
        ("9090=db:http", 'expected a port from 0 to 65535, got "http"'),
        ("9090=db:", 'expected a port from 0 to 65535, got ""'),
        ("9090=db:٣", 'expected a port from 0 to 65535, got "٣"'),
        ("9090=db:0", 'expected an upstream port from 1 to 65535, got "0"'),
        ("9090=example.com", 'expected a port after "example.com", got none, and tcp has no default'),
        ("9090=tcp://db", 'expected a port after "tcp://db", got none, and tcp has no default'),
        ("9090=ftp://db", f'expected a scheme out of {SCHEMES}, got "ftp"'),
        ("wss:9090=db:1", f'expected a scheme out of {SCHEMES}, got "wss"'),
        ("udp://:53=db:1", f'expected a scheme out of {SCHEMES}, got "udp"'),
        ("9090=http://web/api", "expected only a host and a port, got a path"),
        ("9090=http://web/?a=b", "expected only a host and a port, got a path"),
        ("9090=http://web?a=b", "expected only a host and a port, got a query"),
        ("9090=http://web#top", "expected only a host and a port, got a fragment"),
        ("9090=http://me:secret@web", "expected only a host and a port, got a user"),
        ("9090=::1:80", 'expected an IPv6 address in brackets such as "[::1]:80", got "::1:80"'),
        ("9090=[::1:80", 'expected [IPv6]:PORT, got "[::1:80"'),
        ("9090=[::1]80", 'expected [IPv6]:PORT, got "[::1]80"'),
        ("9090=[db]:80", 'expected an IP address, got "[db]"'),
        ("9090=300.1.1.1:80", 'expected an IP address, got "300.1.1.1"'),
        ("*:9090=db:1", 'expected a host name or an IP address, got "*"'),
        ("9090=a b:1", 'expected a host name or an IP address, got "a b"'),
        ("9090=a..b:1", 'expected a host name or an IP address, got "a..b"'),
    ],
)
def test_a_bad_map_is_answered_with_what_was_expected(text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_map(text)
    assert str(caught.value) == f'proxy: {problem} in "{text}"'


names = st.from_regex(r"[a-z][a-z0-9-]{0,8}[a-z0-9](\.[a-z]{2,5})?", fullmatch=True)
hosts = names | st.ip_addresses(v=4).map(str) | st.ip_addresses(v=6).map(str)
speaks: st.SearchStrategy[tuple[Speaks, bool]] = st.sampled_from(
    [("tcp", False), ("psql", False), ("http", False), ("http", True)]
)


@settings(deadline=None)
@given(hosts, st.integers(0, 65535), hosts, st.integers(1, 65535), st.booleans(), speaks)
def test_a_written_map_reads_back_as_itself(
    listen: str, listen_port: int, host: str, port: int, tls: bool, kind: tuple[Speaks, bool]
) -> None:
    proxy_map = ProxyMap(Endpoint(listen, listen_port), Endpoint(host, port), tls, *kind)
    assert parse_map(str(proxy_map)) == proxy_map


@settings(deadline=None)
@given(st.text(st.sampled_from("0123456789abhtps:/=[].@?#* -"), max_size=30))
def test_any_text_is_a_map_or_bad_input_and_nothing_else(text: str) -> None:
    try:
        proxy_map = parse_map(text)
    except InputError:
        return
    assert parse_map(str(proxy_map)) == proxy_map


@pytest.mark.parametrize(
    ("text", "default_port", "expected"),
    [
        ("127.0.0.1:3180", None, Endpoint("127.0.0.1", 3180)),
        ("0.0.0.0:3180", 1, Endpoint("0.0.0.0", 3180)),
        ("3180", None, Endpoint("127.0.0.1", 3180)),
        (":3180", None, Endpoint("127.0.0.1", 3180)),
        ("localhost", 7900, Endpoint("localhost", 7900)),
        ("[::1]", 7900, Endpoint("::1", 7900)),
        ("[::1]:0", None, Endpoint("::1", 0)),
    ],
)
def test_an_endpoint_is_read(text: str, default_port: int | None, expected: Endpoint) -> None:
    assert parse_endpoint(text, default_port) == expected


def test_an_endpoint_takes_the_default_host_it_is_given() -> None:
    assert parse_endpoint(":80", default_host="::1") == Endpoint("::1", 80)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("localhost", "expected HOST:PORT, got no port"),
        ("", 'expected a host name or an IP address, got ""'),
        ("a:b", 'expected a port from 0 to 65535, got "b"'),
        ("http://a:1", 'expected an IPv6 address in brackets such as "[::1]:80", got "http://a:1"'),
    ],
)
def test_a_bad_endpoint_is_named_by_the_option_it_came_from(text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_endpoint(text, path="--proxy-address")
    assert str(caught.value) == f'--proxy-address: {problem} in "{text}"'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*", Upstream("*")),
        ("*:443", Upstream("*", 443)),
        ("example.com", Upstream("example.com")),
        ("Example.COM.", Upstream("example.com")),
        ("example.com:8080", Upstream("example.com", 8080)),
        ("http://example.com", Upstream("example.com", 80)),
        ("https://example.com/", Upstream("example.com", 443)),
        ("https://example.com:8443", Upstream("example.com", 8443)),
        ("tcp://db", Upstream("db")),
        ("*.example.com", Upstream("*.example.com")),
        ("https://*.example.com", Upstream("*.example.com", 443)),
        ("web-?.local:80", Upstream("web-?.local", 80)),
        ("127.0.0.1", Upstream("127.0.0.1")),
        ("[::1]:80", Upstream("::1", 80)),
    ],
)
def test_an_upstream_is_read_and_its_text_reads_back(text: str, expected: Upstream) -> None:
    assert parse_upstream(text) == expected
    assert parse_upstream(str(expected)) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", 'expected a host name or an IP address, got ""'),
        (":80", 'expected a host name or an IP address, got ""'),
        ("a:0", 'expected a port from 1 to 65535, got "0"'),
        ("a:x", 'expected a port from 1 to 65535, got "x"'),
        ("ftp://a", f'expected a scheme out of {SCHEMES}, got "ftp"'),
        ("http://a/b", "expected only a host and a port, got a path"),
        ("::1", 'expected an IPv6 address in brackets such as "[::1]:80", got "::1"'),
        ("[ab]*", 'expected [IPv6]:PORT, got "[ab]*"'),
        ("* a", 'expected a host name or an IP address, got "* a"'),
    ],
)
def test_a_bad_upstream_is_answered_with_what_was_expected(text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_upstream(text)
    assert str(caught.value) == f'upstream: {problem} in "{text}"'


@pytest.mark.parametrize(
    ("texts", "host", "port", "covered"),
    [
        ([], "example.com", 80, False),
        (["*"], "example.com", 80, True),
        (["example.com"], "example.com", 80, True),
        (["example.com"], "example.com", 9999, True),
        (["example.com"], "EXAMPLE.com.", 80, True),
        (["example.com"], "www.example.com", 80, False),
        (["example.com:443"], "example.com", 80, False),
        (["https://example.com"], "example.com", 443, True),
        (["*.example.com"], "www.example.com", 80, True),
        (["*.example.com"], "example.com", 80, False),
        (["a,b:1", "c"], "b", 1, True),
        (["a, b:1,", "c"], "b", 2, False),
        (["a,b:1", "c"], "c", 2, True),
        (["[::1]:80"], "::1", 80, True),
        (["[::1]:80"], "[0:0:0:0:0:0:0:1]", 80, True),
        (["[::1]:80"], "::2", 80, False),
    ],
)
def test_a_set_covers_what_one_of_its_upstreams_covers(
    texts: list[str], host: str, port: int, covered: bool
) -> None:
    assert UpstreamSet.parse(texts).covers(host, port) is covered


# --- loopback ---


@pytest.mark.parametrize("host", [*LOOPBACK_NAMES, "LOCALHOST", "127.8.9.10", "0:0::1"])
def test_loopback_by_name_or_address(host: str) -> None:
    assert is_loopback(host)
    assert is_local_name(host)
    assert stays_here(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "example.com", "localhost.example.com", ""])
def test_what_others_may_reach_is_not_loopback(host: str) -> None:
    assert not is_loopback(host)
    assert not is_local_name(host)


@pytest.mark.parametrize("host", ["localhost.", "a.localhost", "A.LocalHost.", "127.0.0.1."])
def test_names_below_localhost_mean_this_machine(host: str) -> None:
    assert is_local_name(host)
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("host", "stays"),
    [("0.0.0.0", True), ("::", True), ("a.localhost", True), ("192.168.0.1", False), ("example.com", False)],
)
def test_a_connection_to_an_address_for_listening_stays_here(host: str, stays: bool) -> None:
    assert stays_here(host) is stays


def test_the_names_in_a_url_are_those_of_loopback() -> None:
    assert {host.strip("[]") for host in LOOPBACK_HOSTS} == set(LOOPBACK_NAMES)
