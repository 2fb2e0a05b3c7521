"""Stored texts contain no secrets, and nothing that a database refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.audit.redaction import TOO_DEEP, json_text, redacted, redacted_json, storable_text
from faultkit.base.secret_names import ORIGINAL_SECRET_KEYS


@pytest.mark.parametrize("name", ORIGINAL_SECRET_KEYS)
def test_each_of_the_twelve_names_is_hidden_wherever_it_stands_in_a_key(name: str) -> None:
    given = {name: 1, f"my_{name.upper()}_2": {"a": "b"}, "list": [{f"x-{name}": ["s"]}], "open": "s"}
    assert redacted(given) == {
        name: "[redacted]",
        f"my_{name.upper()}_2": "[redacted]",
        "list": [{f"x-{name}": "[redacted]"}],
        "open": "s",
    }


def test_there_are_twelve_names() -> None:
    assert len(ORIGINAL_SECRET_KEYS) == 12


@pytest.mark.parametrize("name", ["apiKey", "X-Api-Key", "privateKey", "sessionId", "Set-Cookie", "id_TOKEN"])
def test_other_spellings_are_hidden_too(name: str) -> None:
    assert redacted({name: "s"}) == {name: "[redacted]"}


def test_texts_that_are_json_are_looked_into() -> None:
    text = '{"extras":{"password":"hunter2"},"n":1.50}'
    assert redacted({"text": text}) == {"text": '{"extras":{"password":"[redacted]"},"n":1.5}'}
    assert redacted({"text": "the password is no key here"}) == {"text": "the password is no key here"}
    untouched = '{ "n": 1.50, "\\u00e9": 2 }'
    assert redacted(untouched) == untouched


QUOTED = (
    (' {"password":"hunter2"}', '{"password":"[redacted]"}'),
    ('"{\\"password\\":\\"hunter2\\"}"', '"{\\"password\\":\\"[redacted]\\"}"'),
    ('type: {"a":{"jwt":"hunter2"}} has type "object"', 'type: {"a":{"jwt":"[redacted]"}} has type "object"'),
    ('unknown tool "{"password":"hunter2"}"', 'unknown tool "{"password":"[redacted]"}"'),
    ('of [1] and [{\'x\': 1}, {"token": {"b": "hunter2"}', "of [1] and [{'x': 1}, {\"token\": [redacted]"),
    ('{"password": "hunt\u2028er2', '{"password": [redacted]'),
    ('cut: {\\"api-key\\":\\"hunter2', 'cut: {\\"api-key\\": [redacted]'),
    ('cut: {"p\\u0061sswd":"hunter2', 'cut: {"passwd": [redacted]'),
    ('{"a": {"password": 1}} and {"b": "token"}', '{"a":{"password":"[redacted]"}} and {"b": "token"}'),
    ("[" * 70_000 + '{"secret":"hunter2"}', "[" * 70_000 + '{"secret": [redacted]'),
)


@pytest.mark.parametrize(("text", "kept"), QUOTED, ids=[text[:30] for text, _ in QUOTED])
def test_json_is_found_wherever_a_text_quotes_it_whole_or_cut_off(text: str, kept: str) -> None:
    assert redacted(text) == kept
    assert redacted({"a": [text], text: 1}) == {"a": [kept], kept: redacted({text: 1})[kept]}


@pytest.mark.parametrize(
    "text", ["token: see the docs", 'the "password" is no key', '["token", "secret"]', "a{b"]
)
def test_a_text_that_only_mentions_secrets_is_unchanged(text: str) -> None:
    assert redacted(text) == text


def test_free_text_is_masked_by_shape_at_any_depth() -> None:
    given = {"note": "Authorization: Bearer abc", "list": [{"log": 'tried "postgres://me:hunter2@db"'}]}
    assert redacted(given) == {
        "note": "Authorization: [redacted]",
        "list": [{"log": 'tried "postgres://[redacted]@db"'}],
    }
    inside = json_text({"text": json_text({"url": "https://h/?token=abc"})})
    assert "abc" not in redacted_json(inside)
    assert redacted('password=hunter2 {"n":1} token=abc123') == (
        'password=[redacted] {"n":1} token=[redacted]'
    )
    assert (
        redacted('ghp_abcdefghijklmnopqrstuvwxyz0123456789 {"auth": "x') == '[redacted] {"auth": [redacted]'
    )


def test_a_name_may_stand_beside_its_value() -> None:
    pair = {"name": "DB_PASSWORD", "value": "hunter2"}
    hidden = {"name": "DB_PASSWORD", "value": "[redacted]"}
    assert redacted({"env": [pair, {"name": "REGION", "value": "eu"}]}) == {
        "env": [hidden, {"name": "REGION", "value": "eu"}]
    }
    assert redacted_json(json_text([pair])) == json_text([hidden])
    assert redacted({"text": json_text(pair)}) == {"text": json_text(hidden)}
    assert "hunter2" not in redacted('cut: {"name": "DB_PASSWORD", "value": "hunter2')


def test_the_arguments_of_secret_flags_are_hidden_in_lists_and_texts() -> None:
    command = ["curl", "--token", "hunter2", "--retry", "3"]
    hidden = ["curl", "--token", "[redacted]", "--retry", "3"]
    assert redacted({"argv": command}) == {"argv": hidden}
    assert redacted_json(json_text(command)) == json_text(hidden)
    assert redacted(json_text(command)) == json_text(hidden)
    assert redacted(" ".join(command)) == " ".join(hidden)


@pytest.mark.parametrize("name", ["pwd", "auth_header", "aws_access_key_id", "x-amz-signature", "dsn", "pin"])
def test_names_beyond_the_twelve_are_hidden(name: str) -> None:
    assert redacted({"a": [{name: "s"}]}) == {"a": [{name: "[redacted]"}]}
    assert redacted(f'cut: {{"a": 1, "{name}": "s3') == f'cut: {{"a": 1, "{name}": [redacted]'


def test_a_name_that_is_spelled_with_escapes_is_hidden() -> None:
    assert redacted_json('{"p\\u0061ssword":"s"}') == '{"password":"[redacted]"}'
    assert redacted_json('{"n": 1.50}') == '{"n": 1.50}'


def test_what_databases_refuse_is_replaced() -> None:
    assert redacted({"a\0": "b\0\ud800", "n": float("inf")}) == {"a\u2400": "b\u2400?", "n": "[infinite]"}
    assert storable_text("\udfff☃") == "?☃"


def test_what_is_too_deep_is_cut() -> None:
    value: Any = "bottom"
    for _ in range(900):
        value = [value]
    text = json_text(redacted(value))
    assert text == "[" * 100 + f'"{TOO_DEEP}"' + "]" * 100


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec=None)), inner),
)


@given(_JSON)
def test_whatever_comes_is_kept_as_json_that_every_database_takes(value: Any) -> None:
    text = json_text(redacted(value))
    assert "\\u0000" not in text
    text.encode("utf-8")
    json.loads(text, parse_constant=pytest.fail)


@given(_JSON, st.sampled_from(ORIGINAL_SECRET_KEYS))
def test_a_secret_is_not_found_again(value: Any, name: str) -> None:
    assert "hunter2" not in json_text(redacted([value, {"a": [{name: "hunter2", "b": value}]}]))
