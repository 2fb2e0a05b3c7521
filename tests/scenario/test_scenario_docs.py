"""Every example of docs/scenarios.md is a scenario, and the page leaves nothing out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from faultkit.scenario import call, parse, strategy
from faultkit.scenario.faults import ALIASES, COMMON_KEYS, TYPES
from faultkit.scenario.file import read_scenarios
from faultkit.scenario.model import Repeat, Single, Sustained
from faultkit.scenario.schema import scenario_schema

PAGE = (Path(__file__).parent.parent.parent / "docs" / "scenarios.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("text", EXAMPLES)
def test_every_example_parses_and_suits_the_schema(text: str) -> None:
    scenarios, problems = read_scenarios(text)
    assert problems == []
    assert scenarios
    for document in yaml.safe_load_all(text):
        assert list(Draft202012Validator(scenario_schema()).iter_errors(document)) == []


def test_there_is_an_example_of_each_strategy() -> None:
    found = [each for text in EXAMPLES for each in read_scenarios(text)[0]]
    assert {type(item.strategy) for each in found for item in each.items} == {Single, Repeat, Sustained}


KEYS = {
    *parse.SCENARIO_KEYS,
    *parse.ITEM_KEYS,
    *parse.CONTEXT_KEYS,
    *parse.SLO_KEYS,
    *parse.PROXY_KEYS,
    *parse.EXPECT_KEYS,
    *call.CALL_KEYS,
    *call.META_KEYS,
    *call.PATHS_KEYS,
    *(key for keys in strategy.MODES.values() for key in keys),
    *COMMON_KEYS,
    *TYPES,
    *(name for names in ALIASES.values() for name in names),
}


@pytest.mark.parametrize("key", sorted(KEYS))
def test_the_page_names_every_key(key: str) -> None:
    assert re.search(rf"\b{key}\b", PAGE)


def test_the_message_that_the_page_shows_is_the_one_that_users_get() -> None:
    (shown,) = re.findall(r"^latency\.yaml: .+$", PAGE, flags=re.MULTILINE)
    text = (
        "title: a\nitems: [{call: {method: GET, url: 'http://h'}}]\n---\n\n\n"
        "title: b\nitems:\n- call: {method: GET, url: 'http://h'}\n  context:\n    faults:\n"
        "    - type: dns\n    - type: latency\n\n      mean: -5\n"
    )
    assert [str(problem) for problem in read_scenarios(text, "latency.yaml")[1]] == [shown]
