"""Score and objectives through the advisor from a real model server on this machine.

As in tests/llm/test_real_model.py the model is tiny: its choices are made few, so that it comes to an
end soon, and what it says may be refused; then we say why.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from faultkit.base.errors import RunError
from faultkit.code.advice import answers as schemas
from faultkit.code.advice.advisor import Advisor
from faultkit.llm.language_model import LanguageModel
from faultkit.llm.prompt import schema_problems
from tests.llm import test_real_model as real

pytestmark = real.pytestmark
address, model = real.address, real.model

SCORE, SLOS = schemas.SCORE, schemas.SLOS
QUERIES = ["up", "sum(rate(http_requests_total[5m]))"]
OUR_WORDS = ("gave no usable answer", "stopped in the middle")


def outcome(ask: Callable[[], Any], look: Callable[[dict[str, Any]], object]) -> str:
    """Print the answer; `look` fails the test if an invalid answer was accepted."""
    try:
        answer = ask()
    except RunError as error:
        # The server answered, but its answer was unusable.
        if not any(words in str(error) for words in OUR_WORDS):
            raise
        return f"refused by us: {error}"
    document: dict[str, Any] = answer.document()
    assert document.pop("engine") == "ollama"
    assert document.pop("model")
    look(document)
    return str(document)


def few_choices() -> dict[str, Any]:
    """Return a schema for one objective, of which the model decides the type, the query and a few words."""
    slo = copy.deepcopy(schemas.SLO)
    fields = slo["properties"]
    fields |= {
        "title": {"enum": ["latency", "errors"]},
        "objective": real.CHOICES,
        "threshold": real.CHOICES,
        "unit": {"enum": ["s", "%"]},
        "window": {"enum": ["300s"]},
    }
    fields["explanation"]["maxLength"] = 20
    fields["sli"]["properties"] = {
        "prometheus": {"enum": QUERIES},
        "gcp/cloudrun": {
            "enum": [{"displayName": "x", "goal": 0.9, "serviceLevelIndicator": {"windowsBased": {}}}]
        },
    }
    return {**schemas.SLOS, "items": slo, "maxItems": 1}


def test_a_score_comes_from_a_real_server(
    model: LanguageModel, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    brief = copy.deepcopy(SCORE)
    brief["properties"]["score"] = real.CHOICES
    brief["properties"]["explanation"]["maxLength"] = 60
    monkeypatch.setattr(schemas, "SCORE", brief)

    def look(document: dict[str, Any]) -> None:
        assert schema_problems(document, SCORE) == []

    result = outcome(lambda: Advisor(model).score(real.CODE, "python", "reliability"), look)
    with capsys.disabled():
        print("\nscore by the advisor:", result)  # noqa: T201


@pytest.mark.thorough  # The score shows that answers of a real server are read; this takes 80 s.
def test_objectives_come_from_a_real_server(
    model: LanguageModel, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(schemas, "SLOS", few_choices())

    def look(document: dict[str, Any]) -> None:
        assert schema_problems(document["slos"], SLOS) == []
        assert document["slos"][0]["sli"]["prometheus"] in QUERIES

    result = outcome(lambda: Advisor(model).slos(real.CODE, "python"), look)
    with capsys.disabled():
        print("\nobjectives by the advisor:", result)  # noqa: T201
