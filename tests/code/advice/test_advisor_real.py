"""Score and objectives through the advisor from a real model server on this machine.

As in tests/llm/ask/test_real_model.py the model is tiny: its choices are made few, so that it comes to an
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
from faultkit.llm.ask import Model
from faultkit.llm.ask.prompt import problems_of
from tests.llm.ask import test_real_model as real

pytestmark = real.pytestmark
address, model = real.address, real.model

SCORE, SLOS = schemas.SCORE, schemas.SLOS
QUERIES = ["up", "sum(rate(http_requests_total[5m]))"]
OUR_WORDS = ("gave no usable answer", "stopped in the middle")


def outcome(ask: Callable[[], Any], look: Callable[[dict[str, Any]], object]) -> str:
    """What came, for people to read; `look` fails the test if it should not have been let through."""
    try:
        answer = ask()
    except RunError as error:
        # The server was asked and answered; what it said was of no use.
        if not any(words in str(error) for words in OUR_WORDS):
            raise
        return f"refused by us: {error}"
    document: dict[str, Any] = answer.document()
    assert document.pop("engine") == "ollama"
    assert document.pop("model")
    look(document)
    return str(document)


def few_choices() -> dict[str, Any]:
    """One objective, of which the model decides the type, the query and a word or two."""
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
    model: Model, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    brief = copy.deepcopy(SCORE)
    brief["properties"]["score"] = real.CHOICES
    brief["properties"]["explanation"]["maxLength"] = 60
    monkeypatch.setattr(schemas, "SCORE", brief)

    def look(document: dict[str, Any]) -> None:
        assert problems_of(document, SCORE) == []

    said = outcome(lambda: Advisor(model).score(real.CODE, "python", "reliability"), look)
    with capsys.disabled():
        print("\nscore by the advisor:", said)  # noqa: T201


def test_objectives_come_from_a_real_server(
    model: Model, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(schemas, "SLOS", few_choices())

    def look(document: dict[str, Any]) -> None:
        assert problems_of(document["slos"], SLOS) == []
        assert document["slos"][0]["sli"]["prometheus"] in QUERIES

    said = outcome(lambda: Advisor(model).slos(real.CODE, "python"), look)
    with capsys.disabled():
        print("\nobjectives by the advisor:", said)  # noqa: T201
