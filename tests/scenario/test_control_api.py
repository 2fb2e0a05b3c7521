"""The control API that a scenario names: its keys, and what is refused before it is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.base.errors import InputError
from faultkit.scenario.control_api import ControlApi
from faultkit.scenario.scenario_file import read_scenarios
from tests.proxy.control.certificates import Certificates

ITEMS = "items: [{call: {method: GET, url: 'http://a.test/'}}]"


def read(proxy: str) -> tuple[list[ControlApi | None], list[str]]:
    scenarios, problems = read_scenarios(f"title: one\nproxy: {proxy}\n{ITEMS}", "here/one.yaml")
    return [scenario.control for scenario in scenarios], [str(problem) for problem in problems]


def test_an_api_on_loopback_needs_its_url_only() -> None:
    assert read("{at: 'http://127.0.0.1:7900/'}") == ([ControlApi("http://127.0.0.1:7900")], [])


def test_files_are_relative_to_the_scenario() -> None:
    given = "{at: 'https://h.test:7900', token_env: TOKEN, ca: ca.pem, cert: /abs/c.pem, key: ../c.key}"
    api = ControlApi("https://h.test:7900", "TOKEN", "here/ca.pem", "/abs/c.pem", "here/../c.key")
    assert read(given) == ([api], [])


@pytest.mark.parametrize(
    ("proxy", "problem"),
    [
        ("{}", "proxy.at: expected a URL, got nothing"),
        ("[]", "proxy: expected a mapping, got a list"),
        ("{at: 'http://127.0.0.1:1', tokn_env: A}", "proxy.tokn_env: unknown key; did you mean"),
        (
            "{at: 'http://proxy.test:7900'}",
            "proxy.at: expected https beyond loopback, since the token is a secret, "
            'got "http://proxy.test:7900"',
        ),
        ("{at: 'proxy.test:7900'}", 'proxy.at: expected a URL such as "https://proxy.example:7900", got'),
        ("{at: 'ftp://proxy.test'}", 'proxy.at: expected a URL such as "https://proxy.example:7900", got'),
        ("{at: 'https://a@h.test'}", 'proxy.at: expected a URL such as "https://proxy.example:7900", got'),
        ("{at: 'https://h.test/x'}", 'proxy.at: expected a URL such as "https://proxy.example:7900", got'),
        ("{at: 'https://h.test:x'}", 'proxy.at: expected a URL such as "https://proxy.example:7900", got'),
        ("{at: 'https://h .test'}", 'proxy.at: expected a URL such as "https://proxy.example:7900", got'),
        ("{at: 7900}", "proxy.at: expected"),
        ("{at: 'https://h.test', cert: a.pem}", "proxy.key: expected a file beside `cert`, got nothing"),
        ("{at: 'https://h.test', key: a.pem}", "proxy.cert: expected a file beside `key`, got nothing"),
        ("{at: 'http://[::1]:1', ca: a.pem}", 'proxy.ca: expected none with http, got "a.pem"'),
    ],
)
def test_what_is_wrong_is_named(proxy: str, problem: str) -> None:
    _, problems = read(proxy)
    assert len(problems) == 1
    assert problem in problems[0]
    assert problems[0].startswith("here/one.yaml: line ")


def test_a_token_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_TOKEN", raising=False)
    with pytest.raises(InputError) as caught:
        ControlApi("http://127.0.0.1:1", "NO_SUCH_TOKEN").client()
    assert str(caught.value) == "token_env: expected the token in the variable NO_SUCH_TOKEN, got none"


def test_a_client_has_the_token_and_the_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_TOKEN", "secret")
    authority = Certificates(tmp_path)
    cert, key = authority.issue("client.test")
    client = ControlApi("https://h.test:7900", "A_TOKEN", authority.ca, cert, key).client()
    assert (client.bearer, client.url) == ("secret", "https://h.test:7900")
    assert client.tls is not None
    assert "secret" not in repr(client)


@pytest.mark.parametrize("field", ["ca", "cert", "key"])
def test_a_file_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    monkeypatch.setenv("A_TOKEN", "secret")
    authority = Certificates(tmp_path)
    cert, key = authority.issue("client.test")
    files = {"ca": authority.ca, "cert": cert, "key": key, field: str(tmp_path / "missing")}
    with pytest.raises(InputError) as caught:
        ControlApi("https://h.test:7900", "A_TOKEN", **files).client({field: f"--proxy-{field}"})
    assert caught.value.path == f"--proxy-{field}"
    assert "missing" in caught.value.problem
