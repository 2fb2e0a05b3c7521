"""Manifests: each key, each error with its file and line, and the forms that are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from faultkit.base.errors import InputError
from faultkit.mcp.mock.manifest import load_manifest, load_source, parse_manifest, read_manifest
from faultkit.mcp.mock.manifest_answers import ManifestAnswers
from faultkit.mcp.mock.mock_model import Manifest

EVERYTHING = """\
mock_server:
  name: shop
  version: "2.1"
  instructions: Be kind.
  tools:
    - name: search
      title: Search
      description: Finds things.
      input_schema: {type: object, properties: {q: {type: string}}, required: [q]}
      output_schema: {type: object, properties: {n: {type: integer}}}
      annotations: {readOnlyHint: true}
      icons: [{src: "https://example.com/i.png"}]
      execution: {taskSupport: forbidden}
      _meta: {team: a}
      responses:
        - when: args.q == "a"
          result: {n: 1}
        - when: args.q == "e"
          error: {code: -5, message: gone, data: {why: x}}
        - when: args.q == "c"
          error: {content: not today}
        - when: args.q == "t"
          error: not found
        - when: args.q == "s"
          sequence: [one, {error: {code: -6}}, {result: {n: 3}}]
        - when: default
          result: {n: 0}
    - {name: plain, response: hello}
    - {name: bare}
    - {name: asks, sampling: true, elicitation: {message: "Which?", requestedSchema: {type: object}},
       roots_list: true, response: "${sampling.content.text}"}
  resources:
    - {uri: "mem://a", text: hi}
    - {uri: "mem://b", name: b, title: B, description: A b., mime_type: image/png, blob: aGk=}
  prompts:
    - {name: greet, title: Greet, description: Greets., arguments: [{name: who, required: true}],
       text: "hello ${args.who}"}
    - {name: talk, messages: [{role: assistant, content: "yes ${args.x}"}, {content: {type: text, text: no}}]}
"""


def answer_of(manifest: Manifest, method: str, **params: Any) -> Any:
    member = ManifestAnswers(manifest).answer(method, params, "legacy")
    assert isinstance(member, bytes)
    return json.loads(b"{" + member + b"}")


def test_every_key_has_its_meaning() -> None:
    manifest = read_manifest(EVERYTHING)
    assert (manifest.name, manifest.version, manifest.instructions) == ("shop", "2.1", "Be kind.")
    assert [tool.name for tool in manifest.tools] == ["search", "plain", "bare", "asks"]
    assert manifest.tools[0].listed == {
        "name": "search",
        "title": "Search",
        "description": "Finds things.",
        "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
        "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}},
        "annotations": {"readOnlyHint": True},
        "icons": [{"src": "https://example.com/i.png"}],
        "execution": {"taskSupport": "forbidden"},
        "_meta": {"team": "a"},
    }
    assert manifest.tools[0].required == ("q",)
    assert manifest.tools[1].listed == {"name": "plain", "inputSchema": {"type": "object"}}
    assert [(each.asks, each.method) for each in manifest.tools[3].questions] == [
        ("sampling", "sampling/createMessage"),
        ("elicitation", "elicitation/create"),
        ("roots", "roots/list"),
    ]
    assert answer_of(manifest, "resources/list")["result"]["resources"] == [
        {"uri": "mem://a", "name": "mem://a", "mimeType": "text/plain"},
        {"uri": "mem://b", "name": "b", "mimeType": "image/png", "title": "B", "description": "A b."},
    ]
    assert answer_of(manifest, "resources/read", uri="mem://b")["result"] == {
        "contents": [{"uri": "mem://b", "mimeType": "image/png", "blob": "aGk="}]
    }
    assert answer_of(manifest, "prompts/list")["result"]["prompts"] == [
        {
            "name": "greet",
            "title": "Greet",
            "description": "Greets.",
            "arguments": [{"name": "who", "required": True}],
        },
        {"name": "talk"},
    ]
    assert answer_of(manifest, "prompts/get", name="talk", arguments={"x": "sir"})["result"] == {
        "messages": [
            {"role": "assistant", "content": {"type": "text", "text": "yes sir"}},
            {"role": "user", "content": {"type": "text", "text": "no"}},
        ]
    }


@pytest.mark.parametrize("form", ["yaml", "json", "unwrapped", "json with tabs"])
def test_yaml_and_json_say_the_same(form: str) -> None:
    document = yaml.safe_load(EVERYTHING)
    text = {
        "yaml": EVERYTHING,
        "json": json.dumps(document, indent=1),
        "unwrapped": yaml.safe_dump(document["mock_server"]),
        "json with tabs": json.dumps(document, indent="\t"),
    }[form]
    manifest = read_manifest(text)
    assert manifest.listed == read_manifest(EVERYTHING).listed
    assert answer_of(manifest, "tools/call", name="search", arguments={"q": "a"}) == {
        "result": {"content": [{"type": "text", "text": '{"n": 1}'}], "structuredContent": {"n": 1}}
    }


LISTED = [{"name": "a", "inputSchema": {"type": "object"}}, {"name": "b", "inputSchema": {"type": "object"}}]


@pytest.mark.parametrize(
    "snapshot",
    [
        {"tools": LISTED},
        {"tools": LISTED, "nextCursor": "x", "_meta": {}},
        {"tools": LISTED, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"},
        {"jsonrpc": "2.0", "id": 3, "result": {"tools": LISTED}},
        LISTED,
    ],
)
def test_what_a_server_gave_for_its_list_is_a_manifest(snapshot: Any) -> None:
    manifest = read_manifest(json.dumps(snapshot))
    assert list(manifest.listed) == LISTED
    assert (manifest.name, manifest.version) == ("faultkit-mock", "1.0.0")
    assert answer_of(manifest, "tools/call", name="b") == {
        "result": {"content": [{"type": "text", "text": "mock b"}]}
    }


def test_a_tool_that_promises_structure_and_has_no_answer_keeps_its_promise() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"]}
    manifest = parse_manifest([{"name": "a", "inputSchema": {"type": "object"}, "outputSchema": schema}])
    assert answer_of(manifest, "tools/call", name="a") == {
        "result": {"content": [{"type": "text", "text": "mock a"}], "structuredContent": {"n": 3}}
    }


def test_the_response_without_a_condition_counts_last_wherever_it_stands() -> None:
    manifest = parse_manifest(
        [{"name": "a", "responses": [{"default": "else"}, {"when": "args.x == 1", "result": "one"}]}]
    )
    assert (
        answer_of(manifest, "tools/call", name="a", arguments={"x": 1})["result"]["content"][0]["text"]
        == "one"
    )
    assert answer_of(manifest, "tools/call", name="a")["result"]["content"][0]["text"] == "else"


def test_what_only_yaml_has_becomes_what_json_has() -> None:
    manifest = read_manifest(
        "tools: [{name: a, response: {2: 2024-05-06, true: 2024-05-06T07:08:09, null: 1}}]"
    )
    result = answer_of(manifest, "tools/call", name="a")["result"]
    assert result["structuredContent"] == {"2": "2024-05-06", "true": "2024-05-06T07:08:09", "null": 1}


TOOL = "tools:\n  - name: a\n"
WRONG = [
    ("", "expected tools, got an empty file"),
    ("# nothing\n", "expected tools, got an empty file"),
    ("5", "line 1: expected a mapping with tools, got 5"),
    ("name: x\n", "line 1: expected tools, got none"),
    ("tools: {}\n", "line 1: tools: expected a list of tools, got a mapping"),
    ("tools:\n  - 5\n", "line 2: tools[0]: expected a mapping, got 5"),
    ("tools:\n  - description: x\n", "line 2: tools[0].name: expected a name, got nothing"),
    ("tools:\n  - name: 5\n", "line 2: tools[0].name: expected a name, got 5"),
    (TOOL + "  - name: b\n  - name: a\n", 'line 4: tools[2].name: "a" is there already, as tools[0]'),
    (TOOL + "    respnse: x\n", 'line 3: tools[0].respnse: unknown key; did you mean "response"?'),
    (TOOL + "    title: 5\n", "line 3: tools[0].title: expected a text, got 5"),
    (TOOL + "    description: []\n", "line 3: tools[0].description: expected a text, got a list"),
    (TOOL + "    input_schema: x\n", 'line 3: tools[0].input_schema: expected a mapping, got "x"'),
    (TOOL + "    inputSchema: x\n", 'line 3: tools[0].inputSchema: expected a mapping, got "x"'),
    (TOOL + "    output_schema: 1\n", "line 3: tools[0].output_schema: expected a mapping, got 1"),
    (TOOL + "    annotations: 1\n", "line 3: tools[0].annotations: expected a mapping, got 1"),
    (TOOL + "    icons: 1\n", "line 3: tools[0].icons: expected a list, got 1"),
    (TOOL + "    _meta: 1\n", "line 3: tools[0]._meta: expected a mapping, got 1"),
    (
        TOOL + "    input_schema:\n      required: q\n",
        'line 4: tools[0].input_schema.required: expected a list of names, got "q"',
    ),
    (
        TOOL + "    input_schema: {}\n    inputSchema: {}\n",
        "line 4: tools[0].inputSchema: expected only one of input_schema and inputSchema, got both",
    ),
    (
        TOOL + "    response: x\n    responses: []\n",
        "line 4: tools[0].responses: expected only one of response and responses, got both",
    ),
    (TOOL + "    responses: x\n", 'line 3: tools[0].responses: expected a list of responses, got "x"'),
    (
        TOOL + "    responses:\n      - when: true\n",
        "line 4: tools[0].responses[0]: expected one of result, error and sequence, got none",
    ),
    (
        TOOL + "    responses:\n      - {result: 1, error: x}\n",
        "line 4: tools[0].responses[0]: expected one of result, error and sequence, got result and error",
    ),
    (
        TOOL + "    responses:\n      - {default: 1, result: 2}\n",
        "line 4: tools[0].responses[0]: expected one of result, error and sequence, got result and default",
    ),
    (
        TOOL + "    responses:\n      - {reslt: 1}\n",
        'line 4: tools[0].responses[0].reslt: unknown key; did you mean "result"?',
    ),
    (
        TOOL + "    responses:\n      - result: 1\n      - result: 2\n",
        "line 5: tools[0].responses[1]: expected a condition, got none, as in responses[0] already",
    ),
    (
        TOOL + "    responses:\n      - when: args.x = 1\n        result: 1\n",
        "line 4: tools[0].responses[0].when: expected a condition, got '= 1' at character 6",
    ),
    (
        TOOL + "    responses:\n      - when: 5\n        result: 1\n",
        'line 4: tools[0].responses[0].when: expected a condition such as args.city == "Oslo", got 5',
    ),
    (
        TOOL + "    responses:\n      - when: args.x\n        default: 1\n",
        "line 5: tools[0].responses[0].default: expected no default beside a condition",
    ),
    (
        TOOL + "    responses:\n      - sequence: []\n",
        "line 4: tools[0].responses[0].sequence: expected at least one answer, got none",
    ),
    (
        TOOL + "    responses:\n      - sequence: 5\n",
        "line 4: tools[0].responses[0].sequence: expected a list of answers, got 5",
    ),
    (
        TOOL + "    responses:\n      - sequence:\n          - x\n          - error: {code: x}\n",
        'line 6: tools[0].responses[0].sequence[1].error.code: expected a whole number, got "x"',
    ),
    (
        TOOL + "    responses:\n      - error: {code: 1.5}\n",
        "line 4: tools[0].responses[0].error.code: expected a whole number, got 1.5",
    ),
    (
        TOOL + "    responses:\n      - error: {message: 5}\n",
        "line 4: tools[0].responses[0].error.message: expected a text, got 5",
    ),
    (
        TOOL + "    responses:\n      - error: {mesage: x}\n",
        'line 4: tools[0].responses[0].error.mesage: unknown key; did you mean "message"?',
    ),
    (
        TOOL + "    responses:\n      - error: {content: x, code: 1}\n",
        "line 4: tools[0].responses[0].error: expected content, or a code and a message, got content and",
    ),
    (
        TOOL + "    response: ${arg.q}\n",
        "line 3: tools[0].response: expected a name of args, tool, call, sampling, elicitation, roots, calls"
        ' in ${…}, got "arg"',
    ),
    (
        TOOL + "    sampling: 5\n",
        "line 3: tools[0].sampling: expected true or the parameters of sampling/createMessage, got 5",
    ),
    (
        TOOL + "    roots_list: x\n",
        'line 3: tools[0].roots_list: expected true or the parameters of roots/list, got "x"',
    ),
    (
        TOOL + "    response: {a: .nan}\n",
        "line 3: tools[0].response.a: expected a number that JSON has, got nan",
    ),
    (TOOL + "    response: !!set {a}\n", "line 3: tools[0].response: expected what JSON has, got a set"),
    (TOOL + "    response: !!binary aGk=\n", "line 3: tools[0].response: expected what JSON has, got bytes"),
    (TOOL + "    response: {[1]: 2}\n", "line 3"),
    (TOOL + "    name: b\n", 'line 3, column 5: key "name" is given twice'),
    ("tools: [\n", "line 2, column 1: "),
    ("tools: []\n---\ntools: []\n", "line 2, column 1: "),
    (
        "mock_server:\n  tools:\n    - name: a\n    - nam: b\n",
        'line 4: mock_server.tools[1].nam: unknown key; did you mean "name"?',
    ),
    ("mock_server:\n  tols: []\n", 'line 2: mock_server.tols: unknown key; did you mean "tools"?'),
    ("mock_server: {}\ntools: []\n", "line 2: tools: unknown key; expected one of mock_server"),
    ("- name: a\n- name: a\n", 'line 2: [1].name: "a" is there already, as tools[0]'),
    ("- name: a\n- {}\n", "line 2: [1].name: expected a name, got nothing"),
    ("name: 5\ntools: []\n", "line 1: name: expected a name, got 5"),
    ("tools: []\nversion: 1\n", "line 2: version: expected a version, got 1"),
    ("tools: []\ninstructions: 1\n", "line 2: instructions: expected a text, got 1"),
    ("tools: []\nresources:\n  - text: x\n", "line 3: resources[0].uri: expected a URI, got nothing"),
    (
        "tools: []\nresources:\n  - uri: a\n  - uri: a\n",
        'line 4: resources[1].uri: "a" is there already, as resources[0]',
    ),
    (
        "tools: []\nresources:\n  - uri: a\n    text: 5\n",
        "line 4: resources[0].text: expected a text, got 5",
    ),
    (
        "tools: []\nresources:\n  - uri: a\n    text: x\n    blob: x\n",
        "line 5: resources[0].blob: expected only one of text and blob, got both",
    ),
    (
        "tools: []\nresources:\n  - uri: a\n    mime_type: 5\n",
        "line 4: resources[0].mime_type: expected a media type, got 5",
    ),
    (
        "tools: []\nresources:\n  - uri: a\n    size: 5\n",
        "line 4: resources[0].size: unknown key; expected one of uri",
    ),
    ("tools: []\nprompts:\n  - text: x\n", "line 3: prompts[0].name: expected a name, got nothing"),
    (
        "tools: []\nprompts:\n  - name: a\n  - name: a\n",
        'line 4: prompts[1].name: "a" is there already, as prompts[0]',
    ),
    ("tools: []\nprompts:\n  - name: a\n    text: 5\n", "line 4: prompts[0].text: expected a text, got 5"),
    (
        "tools: []\nprompts:\n  - name: a\n    text: ${call}\n",
        'line 4: prompts[0].text: expected a name of args in ${…}, got "call"',
    ),
    (
        "tools: []\nprompts:\n  - name: a\n    text: x\n    messages: []\n",
        "line 5: prompts[0].messages: expected only one of text and messages, got both",
    ),
    (
        "tools: []\nprompts:\n  - name: a\n    messages:\n      - {role: system, content: x}\n",
        'line 5: prompts[0].messages[0].role: expected user or assistant, got "system"',
    ),
    (
        "tools: []\nprompts:\n  - name: a\n    messages:\n      - {content: 5}\n",
        "line 5: prompts[0].messages[0].content: expected a text or a block of content, got 5",
    ),
    (
        "tools: []\nprompts:\n  - name: a\n    arguments:\n      - {required: true}\n",
        "line 5: prompts[0].arguments[0].name: expected a name, got nothing",
    ),
    (
        "tools: []\nprompts:\n  - name: a\n    arguments:\n      - {name: b, required: 1}\n",
        "line 5: prompts[0].arguments[0].required: expected true or false, got 1",
    ),
    (
        "tools: []\nresources:\n  - uri: a\n    blob: not base64\n",
        'line 4: resources[0].blob: expected base64 text, got "not base64"',
    ),
    (
        "tools: []\nresources:\n  - {uri: a, blob: aGk}\n",
        'line 3: resources[0].blob: expected base64 text, got "aGk"',
    ),
    (TOOL + "    responses: []\n", "line 3: tools[0].responses: expected at least one response, got none"),
    ('{"tools": [{"name": "a"},\n {"name": "b", "x": 1}]}', "line 2: tools[1].x: unknown key; "),
    ('{"tools": [],\n "tools": []}', 'line 2, column 2: key "tools" is given twice'),
    (
        '{"jsonrpc": "2.0", "id": 1,\n "result": {"tools": [{}]}}',
        "line 2: result.tools[0].name: expected a name",
    ),
    ('{"jsonrpc": "2.0", "id": 1, "error": {}}', "line 1: error: unknown key; "),
]


@pytest.mark.parametrize(("text", "problem"), WRONG)
def test_what_is_wrong_is_said_with_file_and_line(text: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "tools.yml"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        load_source(file)
    answer_of = str(error.value)
    assert answer_of.startswith(f"{file}: {problem}"), answer_of


def test_json_with_tabs_which_yaml_does_not_know_has_its_lines_too() -> None:
    with pytest.raises(InputError, match=r"^m: line 2: tools\[0\].x: unknown key; "):
        read_manifest('{"tools":\n\t[{"name": "a", "x": 1}]}', "m")


def test_deep_documents_are_refused() -> None:
    for deep in ('{"tools": [{"name": "a", "response": ' + "[" * 700 + "]" * 700 + "}]}", "[" * 700):
        with pytest.raises(InputError, match="nested too deeply"):
            read_manifest(deep)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nosuch\.yml: cannot be read: no such file or directory"):
        load_manifest(tmp_path / "nosuch.yml")
    (tmp_path / "latin.yml").write_bytes(b"tools: [{name: \xe9}]")
    with pytest.raises(InputError, match=r"latin\.yml: expected UTF-8 text, got byte 0xe9"):
        load_manifest(tmp_path / "latin.yml")
