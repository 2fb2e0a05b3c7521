"""Match: which proxies, requests and calls a rule covers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultkit.plan.match import Direction, Flow, Match, Side, escape_glob, flows, path_of


@pytest.mark.parametrize(
    ("glob", "name", "covered"),
    [
        ("*", "db", True),
        ("db", "db", True),
        ("db", "DB", False),
        ("db", "db-2", False),
        ("db*", "db-2", True),
        ("db-?", "db-2", True),
        ("db-[12]", "db-3", False),
    ],
)
def test_proxy_names_are_matched_as_whole_globs_with_case(glob: str, name: str, covered: bool) -> None:
    assert Match(proxy=glob).covers_proxy(name) is covered


@pytest.mark.parametrize(
    ("match", "covered"),
    [
        (Match(), True),
        (Match(method="GET"), True),
        (Match(method="get"), True),
        (Match(method="POST"), False),
        (Match(method=("POST", "get")), True),
        (Match(path="/users/*"), True),
        (Match(path="/users"), False),
        (Match(path="/USERS/*"), False),
        (Match(path="/users/7?page=2"), False),
        (Match(headers=(("accept", "*json"),)), True),
        (Match(headers=(("ACCEPT", "*json"),)), True),
        (Match(headers=(("accept", "*JSON"),)), False),
        (Match(headers=(("x-tag", "b"),)), True),
        (Match(headers=(("x-tag", "b"), ("accept", "text/*"))), False),
        (Match(headers=(("x-none", "*"),)), False),
        (Match(method="GET", path="/users/?", headers=(("x-tag", "a"),)), True),
    ],
)
def test_a_request_is_covered_if_every_condition_holds(match: Match, covered: bool) -> None:
    headers = [("Accept", "application/json"), ("X-Tag", "a"), ("X-Tag", "b")]
    assert match.covers_request("Get", "/users/7?page=2", headers) is covered


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/a/b", "/a/b"),
        ("/a?x=/b", "/a"),
        ("/", "/"),
        ("*", "*"),
        ("http://example.com/a?b", "/a"),
        ("http://example.com", "/"),
        ("http://example.com?b", "/"),
        ("/go?to=http://example.com/x", "/go"),
        ("example.com:443", "example.com:443"),
    ],
)
def test_the_path_is_what_remains_of_a_target_without_host_and_query(target: str, path: str) -> None:
    assert path_of(target) == path


@settings(deadline=None)
@given(st.text(), st.text())
def test_an_escaped_name_matches_itself_and_nothing_else(name: str, other: str) -> None:
    assert Match(proxy=escape_glob(name) or "x").covers_proxy(name or "x")
    assert Match(proxy=escape_glob(name) or "x").covers_proxy(other) is (other == (name or "x"))


def test_only_names_one_proxy_even_if_its_name_looks_like_a_glob() -> None:
    match = Match.only("db[1]*", direction="both")
    assert match.covers_proxy("db[1]*")
    assert not match.covers_proxy("db1")
    assert match.flows == ("to_upstream", "to_client")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"proxy": ""}, 'proxy: expected a name or a glob, got ""'),
        ({"side": "left"}, 'side: expected one of client, server, got "left"'),
        ({"direction": "in"}, 'direction: expected one of ingress, egress, both, got "in"'),
        ({"method": ()}, "method: expected at least one method, got none"),
        ({"method": ""}, 'method: expected a method such as GET or tools/call, got ""'),
        ({"method": ("GET", "A B")}, 'method: expected a method such as GET or tools/call, got "A B"'),
        ({"path": ""}, 'path: expected a glob such as "/api/*", got ""'),
        ({"tool": ""}, 'tool: expected a name or a glob, got ""'),
        ({"server": ""}, 'server: expected a name or a glob, got ""'),
        (
            {"tool": "a", "prompt": "b"},
            "prompt: expected at most one of tool, resource, prompt, got tool too",
        ),
        (
            {"tool": "a", "method": "tools/list"},
            "method: expected tools/call beside tool, got tools/list",
        ),
        ({"headers": (("a b", "*"),)}, 'headers: expected a header name, got "a b"'),
        ({"headers": (("A", "*"), ("a", "1"))}, 'headers: expected each name once, got "a" again'),
    ],
)
def test_a_match_that_can_never_hold_is_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        Match(**fields)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("match", "needs"),
    [
        (Match(proxy="db", side="client"), False),
        (Match(method="GET"), True),
        (Match(path="/"), True),
        (Match(headers=(("a", "*"),)), True),
    ],
)
def test_only_conditions_on_requests_need_http(match: Match, needs: bool) -> None:
    assert match.needs_http is needs


USUAL = ("tools/call",)


@pytest.mark.parametrize(
    ("match", "covered"),
    [
        (Match(), ["db tools/call search", "web tools/call search", "db tools/call fetch"]),
        (Match(server="d*"), ["db tools/call search", "db tools/call fetch"]),
        (Match(tool="search"), ["db tools/call search", "web tools/call search"]),
        (Match(tool="*e*", server="web"), ["web tools/call search"]),
        (Match(resource="file:*"), ["db resources/read file:///a"]),
        (Match(resource="file:*", method="resources/*"), ["db resources/read file:///a"]),
        (Match(prompt="hello"), ["db prompts/get hello"]),
        (Match(method="*/list"), ["db tools/list "]),
        (Match(method=("ping", "tools/list")), ["db tools/list ", "db ping "]),
        (Match(tool="nothing"), []),
    ],
)
def test_a_call_is_covered_by_server_method_and_what_it_is_about(match: Match, covered: list[str]) -> None:
    calls = [
        "db tools/call search",
        "web tools/call search",
        "db tools/call fetch",
        "db resources/read file:///a",
        "db prompts/get hello",
        "db tools/list ",
        "db ping ",
    ]
    found = []
    for call in calls:
        server, method, name = call.split(" ")
        if match.covers_call(server, method, name, USUAL):
            found.append(call)
    assert found == covered


def test_without_a_method_the_usual_ones_are_meant() -> None:
    assert Match().covers_call("", "tools/list", "", ("tools/list",))
    assert not Match().covers_call("", "tools/call", "search", ("tools/list",))


# Side and direction, and the flow that they mean.


@pytest.mark.parametrize(
    ("side", "direction", "expected"),
    [
        ("server", "ingress", ("to_client",)),
        ("server", "egress", ("to_upstream",)),
        ("client", "ingress", ("to_upstream",)),
        ("client", "egress", ("to_client",)),
        ("server", "both", ("to_upstream", "to_client")),
        ("client", "both", ("to_upstream", "to_client")),
    ],
)
def test_side_and_direction_name_flows(side: Side, direction: Direction, expected: tuple[Flow, ...]) -> None:
    assert flows(side, direction) == expected
