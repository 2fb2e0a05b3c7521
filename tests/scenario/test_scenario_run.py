"""What is refused before anything is run."""

from __future__ import annotations

import pytest

from faultkit.base.errors import InputError
from faultkit.scenario.scenario_model import HttpCall, Scenario, ScenarioItem
from faultkit.scenario.scenario_run import RunSettings, run_scenarios


@pytest.mark.parametrize(
    "call",
    [
        HttpCall("GET", "http://a.test/?key=REPLACE_ME_key"),
        HttpCall("GET", "http://a.test/", (("Authorization", "Bearer REPLACE_ME_key"),)),
        HttpCall("POST", "http://a.test/", body='{"token": "REPLACE_ME_key"}'),
    ],
)
def test_a_placeholder_that_was_not_replaced_is_refused(call: HttpCall) -> None:
    scenario = Scenario(
        "one", (ScenarioItem(HttpCall("GET", "http://a.test/")), ScenarioItem(call)), file="a.yaml"
    )
    with pytest.raises(InputError) as caught:
        run_scenarios([scenario], RunSettings())
    assert str(caught.value) == (
        "a.yaml: items[1].call: expected a value of your own in place of each placeholder, got REPLACE_ME_key"
    )
