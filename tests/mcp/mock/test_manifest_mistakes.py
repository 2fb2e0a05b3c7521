"""Mistakes in the keys of a manifest for pages, templates, messages during a call and changes."""

from __future__ import annotations

import pytest

from faultkit.base.errors import InputError
from faultkit.mcp.mock.manifest import read_manifest

WRONG = [
    ("page_size: 0", "page_size: expected a whole number from 1 to 100000, got 0"),
    ("page_size: many", 'page_size: expected a whole number from 1 to 100000, got "many"'),
    ("resource_templates: 5", "resource_templates: expected a list of resource_templates, got 5"),
    (
        "resource_templates: [{name: x}]",
        "resource_templates[0].uri_template: expected a template such as mem://notes/{id}, got nothing",
    ),
    (
        'resource_templates: [{uri_template: "a{?q}"}]',
        'resource_templates[0].uri_template: expected variables such as {id} or {+path}, got "{?q}"',
    ),
    (
        'resource_templates: [{uriTemplate: "a"}]',
        'resource_templates[0].uriTemplate: expected a template with a variable such as {id}, got "a"',
    ),
    (
        'resource_templates: [{uriTemplate: "{a}", uri_template: "{a}"}]',
        "resource_templates[0].uriTemplate: expected only one of uri_template and uriTemplate, got both",
    ),
    (
        'resource_templates: [{uri_template: "{a}"}, {uri_template: "{a}"}]',
        'resource_templates[1].uri_template: "{a}" is there already, as resource_templates[0]',
    ),
    (
        'resource_templates: [{uri_template: "{a}", text: "${b}"}]',
        'resource_templates[0].text: expected a name of args in ${…}, got "b"',
    ),
]


@pytest.mark.parametrize(("line", "problem"), WRONG)
def test_a_mistake_is_said_with_its_field_and_line(line: str, problem: str) -> None:
    with pytest.raises(InputError) as error:
        read_manifest(f"tools:\n  - name: a\n  - name: b\n{line}\n", "m.yml")
    assert str(error.value) == f"m.yml: line 4: {problem}"
