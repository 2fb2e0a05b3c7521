"""Every example in docs/scenarios.md is a valid scenario, and the page names every key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from faultkit.scenario.http_call import CALL
from faultkit.scenario.scenario_file import read_scenarios
from faultkit.scenario.scenario_keys import CONTEXT, EXPECT, ITEM, PROXY, SCENARIO, SLO, scenario_schema
from faultkit.scenario.scenario_model import LoadStrategy, RepeatStrategy, SearchStrategy, SingleStrategy
from faultkit.scenario.strategy import STRATEGIES
from faultkit.scenario.written_faults import ALIASES, COMMON_KEYS, TYPES

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
    assert {type(item.strategy) for each in found for item in each.items} == {
        SingleStrategy,
        RepeatStrategy,
        LoadStrategy,
        SearchStrategy,
    }


KEYS = {
    *(name for table in (SCENARIO, ITEM, CONTEXT, SLO, PROXY, EXPECT, CALL) for name in table.names),
    *("operation_id", "segments"),
    *(name for table in STRATEGIES.values() for name in table.names),
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
