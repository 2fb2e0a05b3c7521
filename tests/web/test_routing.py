"""The route that matches a method and a path."""

from __future__ import annotations

import pytest

from faultkit.web.routing import Route, RouteMatch, find_route

ROUTES = (
    Route("GET", "/tools", None, "list"),
    Route("GET", "/tools/{name}", None, "one"),
    Route("DELETE", "/tools/{name}", None, "remove"),
    Route("GET", "/stream", None, "stream", streamed=True),
    Route("GET", "/page*", None, "page"),
)


@pytest.mark.parametrize(
    ("method", "path", "handler", "names"),
    [
        ("GET", "/tools", "list", {}),
        ("HEAD", "/tools", "list", {}),
        ("GET", "/tools/echo", "one", {"name": "echo"}),
        ("GET", "/tools/a%2Fb%20c", "one", {"name": "a/b c"}),
        ("DELETE", "/tools/echo", "remove", {"name": "echo"}),
        ("GET", "/page", "page", {}),
        ("GET", "/page/a/b.css", "page", {}),
    ],
)
def test_a_path_leads_to_a_handler(method: str, path: str, handler: str, names: dict[str, str]) -> None:
    found = find_route(ROUTES, method, path)
    assert isinstance(found, RouteMatch)
    assert (found.route.handler, found.names) == (handler, names)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/tools", ("GET",)),
        ("POST", "/tools/echo", ("GET", "DELETE")),
        ("HEAD", "/stream", ("GET",)),
        ("GET", "/tools/", ()),
        ("GET", "/tools/a/b", ()),
        ("GET", "/pages", ()),
        ("GET", "", ()),
    ],
)
def test_without_a_route_the_allowed_methods_are_returned(
    method: str, path: str, allowed: tuple[str, ...]
) -> None:
    assert find_route(ROUTES, method, path) == allowed
