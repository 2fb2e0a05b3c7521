"""URI templates: which URIs fit, with which values, and what is refused."""

from __future__ import annotations

import pytest

from faultkit.mcp.mock.uri_template import parse_template


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("mem://{id}", "mem://7", {"id": "7"}),
        ("mem://{id}/data", "mem://a b/data", {"id": "a b"}),
        ("mem://{id}/data", "mem://a%2Fb%20c/data", {"id": "a/b c"}),
        ("mem://{id}/data", "mem:///data", None),
        ("mem://{id}/data", "mem://a/b/data", None),
        ("mem://{id}/data", "mem://a/datas", None),
        ("mem://{id}/data", "xmem://a/data", None),
        ("mem://{id}/data", "mem://a/data\n", None),
        ("mem://{a}/{b}", "mem://x/y", {"a": "x", "b": "y"}),
        ("mem://{a}-{b}", "mem://x-y-z", {"a": "x-y", "b": "z"}),
        ("file:///{+path}", "file:///a/b?c#d", {"path": "a/b?c#d"}),
        ("file:///{+path}", "file:///a\nb", {"path": "a\nb"}),
        ("a.c://{id}", "abc://7", None),
        ("mem://ü/{id}", "mem://ü/é", {"id": "é"}),
        ("mem://{id}", "mem://\ud800", None),
    ],
)
def test_a_uri_that_fits_gives_the_values(template: str, uri: str, values: dict[str, str] | None) -> None:
    assert parse_template(template).values(uri) == values


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("mem://a", 'expected a template with a variable such as {id}, got "mem://a"'),
        ("mem://{?q}", 'expected variables such as {id} or {+path}, got "{?q}"'),
        ("mem://{a,b}", 'expected variables such as {id} or {+path}, got "{a,b}"'),
        ("mem://{", 'expected variables such as {id} or {+path}, got "{"'),
        ("mem://{id}}", 'expected variables such as {id} or {+path}, got "}"'),
        ("mem://{}", 'expected variables such as {id} or {+path}, got "{}"'),
        ("mem://{a}/{a}", "expected each variable once, got {a} twice"),
    ],
)
def test_other_templates_are_refused(template: str, problem: str) -> None:
    with pytest.raises(ValueError) as error:
        parse_template(template)
    assert str(error.value) == problem


def test_a_long_uri_with_many_places_to_cut_is_matched_in_linear_time() -> None:
    template = parse_template("m:{a}-{b}-{c}-{d}-{e}!")
    assert template.values("m:" + "-" * 100_000) is None
