"""Score, objectives and vectors from a real model server on this machine.

The model is tiny: it proves that request and response work with a server that Faultkit did not write, not
that the advice is good. Its answer may violate the schema, and then the error must say so.
"""

from __future__ import annotations

import copy
import os
import select
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from faultkit.base.errors import RunError
from faultkit.code.advice import answers as schemas
from faultkit.code.advice import prompts
from faultkit.llm.language_model import LanguageModel
from faultkit.llm.model_settings import AskBudget, llm_settings
from faultkit.llm.prompt import ModelPrompt, schema_problems

HERE = Path(__file__).parent
VENV = Path(os.environ.get("FAULTKIT_MODEL_VENV", HERE.parents[1] / "build" / "model"))
READY_S = 60.0
END_S = 5.0
DIMENSIONS = 576

CHOICES = {"enum": [0.2, 0.4, 0.6, 0.8, 0.95]}
"""The server's grammar knows no bounds of fractions, and the model no end of their digits."""
BUDGET = AskBudget(time_s=300, call_s=150, answer_tokens=400, tokens=12_000)

CODE = "def get_user(id):\n    return requests.get(f'{URL}/users/{id}').json()"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (VENV / ".ready").exists(),
        reason="no model server: run tests/llm/install_model.sh (about 220 MB, 15 s)",
    ),
]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Return the address of the model server."""
    process = subprocess.Popen(
        [str(VENV / "bin" / "python"), str(HERE / "model_server.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        ready, _, _ = select.select([process.stdout], [], [], READY_S)
        assert ready, f"the model server said nothing for {READY_S:g} s"
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(END_S)
        process.stdout.close()


@pytest.fixture
def model(address: str) -> Iterator[LanguageModel]:
    env = {
        "OLLAMA_HOST": address,
        "FAULT_AGENT_PROMPT_REASONING_MODEL": "smollm2-135m",
        "FAULT_AGENT_EMBED_MODEL": "smollm2-135m",
        "FAULT_AGENT_EMBED_MODEL_DIMENSION": str(DIMENSIONS),
    }
    settings = llm_settings(env, client="ollama")
    assert settings is not None
    with LanguageModel(replace(settings, budget=BUDGET)) as model:
        yield model


def outcome(model: LanguageModel, prompt: ModelPrompt, schema: dict[str, Any]) -> str:
    """Return the answer for people to read. Data that does not fit, or any other error, fails the test."""
    try:
        answer = model.ask(prompt, schema)
    except RunError as error:
        # The server answered, with data that cannot be used.
        if not any(words in str(error) for words in ("gave no usable answer", "stopped in the middle")):
            raise
        return f"refused by us: {error}"
    assert schema_problems(answer.data, schema) == []
    assert answer.engine == "ollama"
    assert answer.usage.prompt_tokens > 0
    assert answer.usage.answer_tokens > 0
    return f"{answer.data} ({answer.model.rpartition('/')[2]}, {answer.usage})"


@pytest.mark.thorough
def test_a_score_comes_from_a_real_server(model: LanguageModel, capsys: pytest.CaptureFixture[str]) -> None:
    schema = copy.deepcopy(schemas.SCORE)
    schema["properties"]["score"] = CHOICES
    schema["properties"]["explanation"]["maxLength"] = 120
    with capsys.disabled():
        print("\nscore:", outcome(model, prompts.score(CODE, "python", "reliability"), schema))  # noqa: T201


@pytest.mark.thorough
def test_objectives_come_from_a_real_server(model: LanguageModel, capsys: pytest.CaptureFixture[str]) -> None:
    slo = copy.deepcopy(schemas.SLO)
    for name in ("title", "explanation", "unit"):
        slo["properties"][name]["maxLength"] = 40
    slo["properties"]["sli"]["properties"]["prometheus"]["maxLength"] = 60
    cloud_run = slo["properties"]["sli"]["properties"]["gcp/cloudrun"]
    cloud_run["properties"]["displayName"]["maxLength"] = 40
    slo["properties"]["objective"] = slo["properties"]["threshold"] = CHOICES
    slo["properties"]["window"] = {"enum": ["300s"]}
    cloud_run["properties"] |= {"goal": CHOICES, "calendarPeriod": {"enum": ["NONE"]}}
    del cloud_run["properties"]["rollingPeriod"]
    cloud_run["properties"]["serviceLevelIndicator"] = {
        "type": "object",
        "properties": {"windowsBased": {"enum": [{"windowPeriod": "300s"}]}},
        "required": ["windowsBased"],
        "additionalProperties": False,
    }
    schema = {**schemas.SLOS, "items": slo, "maxItems": 1}
    with capsys.disabled():
        print("\nobjectives:", outcome(model, prompts.suggest_slos(CODE, "python"), schema))  # noqa: T201


def test_vectors_come_from_a_real_server(model: LanguageModel, capsys: pytest.CaptureFixture[str]) -> None:
    first, same, other = model.embed([CODE, CODE, "the weather in spring"])
    assert len(first) == DIMENSIONS
    near, far = (sum(a * b for a, b in zip(first, vector, strict=True)) for vector in (same, other))
    assert near == pytest.approx(1.0, abs=1e-3)
    assert far < near
    with capsys.disabled():
        print(f"\nvectors: {DIMENSIONS} dimensions, {near:.3f} to itself, {far:.3f} to another text")  # noqa: T201
