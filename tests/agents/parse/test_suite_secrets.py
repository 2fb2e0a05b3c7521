"""Values of the environment never appear in an error, however they are quoted, cut or split."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.agents.parse.suite_source import Secrets
from faultkit.base.documents.checks import shown
from tests.agents.parse.suite_files import SERVERS, problems_of

KEY = "sk-live-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('servers: {a: {url: "${KEY}"}}', "servers.a.url"),
        ('servers: {a: {url: "http://x/", headers: "${KEY}"}}', "servers.a.headers"),
        ('servers: {a: {mock: "${KEY}"}}', "servers.a.mock"),
        ('imports: ["${KEY}"]', "imports[0]"),
        ('default_server: "${KEY}"', "default_server"),
        ('faults: ["${KEY}"]', "faults[0]"),
        ('faults: ["hang:${KEY}"]', "faults[0]"),
        ('seed: ["${KEY}"]', "seed"),
        (f'{SERVERS}agents: [{{name: a, agent: "${{KEY}}"}}]', "agents[0].agent"),
        (f'{SERVERS}agents: [{{name: a, model: "${{KEY}}", prompt: x}}]', "agents[0].model"),
        (f'{SERVERS}agents: [{{name: a, agent: naive, runs: "${{KEY}}"}}]', "agents[0].runs"),
        (f'{SERVERS}agents: [{{name: a, agent: naive, inject: "${{KEY}}"}}]', "agents[0].inject[0]"),
        (
            f'{SERVERS}tools: [{{name: a, tool: b, expect: [{{regex: "(${{KEY}}"}}]}}]',
            "tools[0].expect[0].regex",
        ),
        ('providers: {a: {base_url: "http://x/", api_key_env: "${KEY}"}}', "providers.a.api_key_env"),
    ],
)
def test_an_error_names_the_variable_and_not_what_it_holds(tmp_path: Path, text: str, path: str) -> None:
    problems = problems_of(tmp_path, text + "\n", {"KEY": KEY})
    assert [problem.split(": ")[2] for problem in problems][:1] == [path]
    told = "\n".join(problems)
    assert [KEY[place : place + 6] for place in range(len(KEY) - 5) if KEY[place : place + 6] in told] == []


def test_a_variable_that_holds_a_secret_is_hidden_too(tmp_path: Path) -> None:
    text = 'variables: {url: "ftp://${KEY}@host"}\nservers: {a: {url: "${url}"}}\n'
    (problem,) = problems_of(tmp_path, text, {"KEY": "correct horse"})
    assert problem.endswith('got "ftp://${KEY}@host"')


def test_what_a_file_says_itself_is_shown(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, 'servers: {a: {url: "${URL:-ftp://host}"}}\n')
    assert problem.endswith('got "ftp://host"')


@given(st.text(min_size=4, max_size=80), st.text(max_size=30), st.text(max_size=30))
def test_no_quoting_and_no_cutting_brings_a_value_to_light(value: str, before: str, after: str) -> None:
    secrets = Secrets()
    secrets.keep("NAME", value, "place")
    text = f"{before}{value}{after}"
    for told in (text, shown(text), repr(text), json.dumps(text)):
        hidden = secrets.hide(f"got {told}").replace("${NAME}", "")
        assert value not in hidden


def test_short_values_are_hidden_only_where_they_were_filled_in() -> None:
    secrets = Secrets()
    secrets.keep("N", "ab", "here")
    assert secrets.hide("got about", "here") == "got ${N}out"
    assert secrets.hide("got about", "there") == "got about"
