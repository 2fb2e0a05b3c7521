"""Mistakes in the keys of a manifest for pages, templates, messages during a call and changes."""

from __future__ import annotations

import pytest

from faultkit.base.documents.values import MILLISECONDS
from faultkit.base.errors import InputError
from faultkit.mcp.mock.manifest import read_manifest
from faultkit.mcp.mock.mock_model import LOG_LEVELS

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
        'resource_templates[0].text: expected a name of args, calls in ${…}, got "b"',
    ),
    (
        'resource_templates: [{uri_template: "{a}/{b}", text: "${args.a} ${args.c}"}]',
        'resource_templates[0].text: expected a variable of a, b behind args, got "c"',
    ),
    (
        'resource_templates: [{uri_template: "{a}", complete: [x]}]',
        "resource_templates[0].complete: expected a mapping, got a list",
    ),
    (
        'resource_templates: [{uri_template: "{a}", complete: {b: [x]}}]',
        "resource_templates[0].complete.b: expected a variable of the template, one of a",
    ),
    (
        'resource_templates: [{uri_template: "{a}", complete: {a: [x, 5]}}]',
        "resource_templates[0].complete.a[1]: expected a text, got 5",
    ),
    (
        "prompts: [{name: p, arguments: [{name: a, complete: x}]}]",
        'prompts[0].arguments[0].complete: expected a list of texts, got "x"',
    ),
    (
        "prompts: [{name: p, arguments: [{name: a, complete: [null]}]}]",
        "prompts[0].arguments[0].complete[0]: expected a text, got nothing",
    ),
]

WRONG += [
    ("    listed_when: call > 0", "tools[1].listed_when: expected a name of calls, got 'call'"),
    ("    listed_when: true", "tools[1].listed_when: expected a condition such as calls.login > 0, got true"),
    (
        "    listed_when: calls.aa > 0",
        'tools[1].listed_when: expected a tool of the file behind calls, got "aa"; did you mean "a"?',
    ),
    (
        """    responses: [{when: 'calls["x y"] > 0', result: 1}]""",
        'tools[1].responses[0].when: expected a tool of the file behind calls, got "x y"',
    ),
    (
        "    response: {n: ['${calls.x}']}",
        'tools[1].response.n[0]: expected a tool of the file behind calls, got "x"',
    ),
    (
        "resources: [{uri: a, text: '${calls.x}'}]",
        'resources[0].text: expected a tool of the file behind calls, got "x"',
    ),
    (
        "resources: [{uri: a, text: '${calls}'}]",
        'resources[0].text: expected a tool of the file behind calls, got ""',
    ),
    (
        "resources: [{uri: a, text: '${calls.a} ${args.b}'}]",
        'resources[0].text: expected a name of calls in ${…}, got "args"',
    ),
    (
        "prompts: [{name: a, listed_when: calls.x > 1}]",
        'prompts[0].listed_when: expected a tool of the file behind calls, got "x"',
    ),
]
WRONG += [
    (f"    sends: {given}", f"tools[1].sends{problem}")
    for given, problem in [
        ("5", ": expected a list of sends, got 5"),
        ("[x]", '[0]: expected a mapping, got "x"'),
        ("[{after_ms: 5}]", "[0]: expected one of progress and log, got none"),
        ("[{progress: 1, log: x}]", "[0]: expected one of progress and log, got both"),
        ("[{progress: half}]", '[0].progress: expected a number, got "half"'),
        ("[{progress: .nan}]", "[0].progress: expected a number that JSON has, got nan"),
        (
            "[{progress: 1, level: info}]",
            "[0].level: expected one of progress, total, message, after_ms beside progress",
        ),
        ("[{log: x, total: 1}]", "[0].total: expected one of log, level, logger, after_ms beside log"),
        (
            "[{log: x, level: loud}]",
            f'[0].level: expected one of {", ".join(LOG_LEVELS)}, got "loud"',
        ),
        (
            "[{log: x, after_ms: -1}]",
            f"[0].after_ms: expected {MILLISECONDS.format('of at least 0')}, got -1",
        ),
        ("[{progress: 1}, {log: x}, {progress: 1}]", "[2].progress: expected more than 1, got 1"),
        ('[{log: "${nope}"}]', '[0].log: expected a name of args, tool in ${…}, got "nope"'),
        ("[{log: x, mesage: y}]", '[0].mesage: unknown key; did you mean "message"?'),
    ]
]


@pytest.mark.parametrize(("line", "problem"), WRONG)
def test_a_mistake_is_said_with_its_field_and_line(line: str, problem: str) -> None:
    with pytest.raises(InputError) as error:
        read_manifest(f"tools:\n  - name: a\n  - name: b\n{line}\n", "m.yml")
    assert str(error.value) == f"m.yml: line 4: {problem}"
