"""From documents to plans, and the exact messages for mistakes."""

from __future__ import annotations

import pytest

from faultkit.base.errors import InputError
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.latency import Latency
from faultkit.plan import Match, Plan, Rule, Trigger, parse_plan, parse_rule, parse_schedule


def test_every_part_of_a_rule_is_read() -> None:
    document = {
        "seed": 42,
        "rules": [
            {
                "name": "slow-db",
                "fault": "latency",
                "with": {"mean_ms": 300},
                "match": {"proxy": "db", "side": "client", "direction": "both"},
                "trigger": {"probability": 0.5, "first": 3, "after": 1, "every": 2},
                "schedule": "start:10s,duration:30s",
            },
            {
                "fault": HttpError.kind,
                "match": {"method": ["GET", "put"], "path": "/api/*", "headers": {"Accept": "*json"}},
                "schedule": [{"start": "10%", "duration": 5}],
            },
        ],
    }
    assert parse_plan(document) == Plan(
        (
            Rule(
                "slow-db",
                Latency(mean_ms=300),
                Match("db", "client", "both"),
                Trigger(0.5, 3, 1, 2),
                parse_schedule("start:10s,duration:30s"),
            ),
            Rule(
                HttpError.kind,
                HttpError(),
                Match(method=("GET", "put"), path="/api/*", headers=(("Accept", "*json"),)),
                Trigger(),
                parse_schedule("start:10%,duration:5s"),
            ),
        ),
        seed=42,
    )


def test_an_empty_document_is_an_empty_plan() -> None:
    assert parse_plan({}) == Plan()


@pytest.mark.parametrize("seed", [0, 7, "7", "blue"])
def test_a_seed_is_kept_as_given(seed: int | str) -> None:
    kept = parse_plan({"seed": seed}).seed
    assert kept == seed
    assert type(kept) is type(seed)


def test_rules_without_a_name_get_their_faults_kind_and_a_number() -> None:
    entries: list[dict[str, object]] = [
        {"fault": "latency"},
        {"fault": "latency"},
        {"fault": "latency", "name": "latency-2"},
        {"fault": "jitter"},
        {"fault": "latency"},
    ]
    names = [rule.name for rule in parse_plan({"rules": entries}).rules]
    assert names == ["latency", "latency-3", "latency-2", "jitter", "latency-4"]


def test_one_rule_alone_minds_the_names_that_are_taken() -> None:
    assert parse_rule({"fault": "latency"}, frozenset({"latency"})).name == "latency-2"


KINDS = "the kind of a fault such as latency or hang"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (None, "expected a mapping, got nothing"),
        ([], "expected a mapping, got a list"),
        ({"rule": []}, 'rule: unknown key; did you mean "rules"?'),
        ({"x": []}, "x: unknown key; expected one of seed, rules"),
        ({1: 2}, "1: unknown key; expected one of seed, rules"),
        ({"rules": {}}, "rules: expected a list of rules, got a mapping"),
        ({"rules": None}, "rules: expected a list of rules, got nothing"),
        ({"seed": 1.5}, "seed: expected a whole number of at least 0 or a text, got 1.5"),
        ({"seed": -1}, "seed: expected a whole number of at least 0 or a text, got -1"),
        ({"seed": ""}, 'seed: expected a whole number of at least 0 or a text, got ""'),
        ({"seed": "\ud800"}, 'seed: expected a whole number of at least 0 or a text, got "\\ud800"'),
        ({"seed": True}, "seed: expected a whole number of at least 0 or a text, got true"),
    ],
)
def test_a_document_of_the_wrong_shape_is_named(document: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_plan(document)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("latency", ': expected a mapping, got "latency"'),
        ({}, f".fault: expected {KINDS}, got nothing"),
        ({"fault": 5}, f".fault: expected {KINDS}, got 5"),
        ({"fault": "latency", "mach": {}}, '.mach: unknown key; did you mean "match"?'),
        ({"fault": "latency", "with": []}, ".with: expected a mapping, got a list"),
        ({"fault": "latency", "with": None}, ".with: expected a mapping, got nothing"),
        ({"fault": "latency", "name": 5}, ".name: expected a text, got 5"),
        ({"fault": "latency", "name": ""}, '.name: expected a text, got ""'),
        (
            {"fault": "latency", "name": "a\n"},
            '.name: expected printable text without blanks around it, got "a\\n"',
        ),
        ({"fault": "latency", "match": "db"}, '.match: expected a mapping, got "db"'),
        (
            {"fault": "latency", "match": {"prxy": "db"}},
            '.match.prxy: unknown key; did you mean "proxy"?',
        ),
        ({"fault": "latency", "match": {"proxy": 5}}, ".match.proxy: expected a name or a glob, got 5"),
        (
            {"fault": "latency", "match": {"side": "left"}},
            '.match.side: expected one of client, server, got "left"',
        ),
        (
            {"fault": "latency", "match": {"side": 1}},
            ".match.side: expected one of client, server, got 1",
        ),
        (
            {"fault": "latency", "match": {"direction": "in"}},
            '.match.direction: expected one of ingress, egress, both, got "in"',
        ),
        (
            {"fault": "latency", "match": {"method": "GET"}},
            ".match.method: expected only with faults of level http or call or llm, "
            'got "latency", which is of level stream',
        ),
        (
            {"fault": HttpError.kind, "match": {"method": 5}},
            ".match.method: expected a list of methods (or one method), got 5",
        ),
        (
            {"fault": HttpError.kind, "match": {"method": ["GET", 5]}},
            ".match.method[1]: expected a method, got 5",
        ),
        (
            {"fault": HttpError.kind, "match": {"headers": ["a"]}},
            ".match.headers: expected a mapping of names to globs, got a list",
        ),
        (
            {"fault": HttpError.kind, "match": {"headers": {1: "a"}}},
            ".match.headers: expected a header name, got 1",
        ),
        (
            {"fault": HttpError.kind, "match": {"headers": {"x-n": 1}}},
            ".match.headers.x-n: expected a glob in quotes, got 1",
        ),
        ({"fault": "latency", "trigger": 0.5}, ".trigger: expected a mapping, got 0.5"),
        (
            {"fault": "latency", "trigger": {"probabilty": 1}},
            '.trigger.probabilty: unknown key; did you mean "probability"?',
        ),
        (
            {"fault": "latency", "trigger": {"probability": "0.5"}},
            '.trigger.probability: expected a number from 0 to 1, got "0.5"',
        ),
        (
            {"fault": "latency", "trigger": {"probability": 2}},
            ".trigger.probability: expected a number from 0 to 1, got 2",
        ),
        (
            {"fault": "latency", "trigger": {"first": 0}},
            ".trigger.first: expected a whole number of at least 1, got 0",
        ),
        (
            {"fault": "latency", "trigger": {"every": 1.5}},
            ".trigger.every: expected a whole number of at least 1, got 1.5",
        ),
        (
            {"fault": "latency", "trigger": {"after": True}},
            ".trigger.after: expected a whole number of at least 0, got true",
        ),
        (
            {"fault": "latency", "schedule": {"star": 1}},
            '.schedule.star: unknown key; did you mean "start"?',
        ),
        (
            {"fault": "latency", "schedule": [{"duration": 0}]},
            '.schedule[0].duration: expected more than 0, got "0s"',
        ),
        (
            {"fault": "latency", "name": "first"},
            '.name: expected a name that no rule before it has, got "first"',
        ),
    ],
)
def test_a_bad_rule_is_named_by_its_path(rule: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_plan({"rules": [{"name": "first", "fault": "latency"}, rule]})
    assert str(caught.value) == f"rules[1]{message}"


def test_an_unknown_fault_is_answered_with_the_one_that_was_meant() -> None:
    with pytest.raises(InputError) as caught:
        parse_plan({"rules": [{"fault": "latancy"}]})
    assert caught.value.path == "rules[0].fault"
    assert "did you mean 'latency'?" in caught.value.problem


def test_errors_of_settings_get_the_path_of_the_rule() -> None:
    with pytest.raises(InputError) as caught:
        parse_plan({"rules": [{"fault": "latency", "with": {"mean_ms": "fast"}}]})
    assert caught.value.path == "rules[0].with.mean_ms"
    with pytest.raises(InputError) as caught:
        parse_plan({"rules": [{"fault": "latency", "with": {"men_ms": 1}}]})
    assert caught.value.path == "rules[0].with.men_ms"


def test_a_value_that_contains_itself_is_described_without_walking_it() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(InputError) as caught:
        parse_plan({"rules": [{"fault": "latency", "name": endless}]})
    assert str(caught.value) == "rules[0].name: expected a text, got a list"


def test_a_long_value_is_cut_short_in_the_message() -> None:
    with pytest.raises(InputError) as caught:
        parse_plan({"rules": "x" * 1000})
    assert str(caught.value) == 'rules: expected a list of rules, got "' + "x" * 58 + "…"


def test_a_number_too_large_for_a_float_is_bad_input_too() -> None:
    with pytest.raises(InputError) as caught:
        parse_plan({"rules": [{"fault": "latency", "trigger": {"probability": 10**400}}]})
    assert str(caught.value) == (
        "rules[0].trigger.probability: expected a number from 0 to 1, got 1" + "0" * 58 + "…"
    )
