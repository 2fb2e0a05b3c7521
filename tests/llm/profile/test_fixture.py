"""The fixture `llm_profile`: a client in the process of its test, against one fault."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from typing import Any

import pytest

from faultkit.base.errors import InputError, RunError
from faultkit.llm.profile.fixture import LlmProfiler, llm_profile
from faultkit.llm.profile.in_process import ServedCase

__all__ = ["llm_profile"]
BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}).encode()


def ask(server: ServedCase, timeout_s: float = 5) -> str:
    assert os.environ["OPENAI_BASE_URL"] == server.openai_url
    head = {"content-type": "application/json"}
    request = urllib.request.Request(f"{server.openai_url}/chat/completions", BODY, head)
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as response:
            answer: dict[str, Any] = json.load(response)
    except urllib.error.HTTPError as refused:
        with refused:
            raise ValueError(f"refused with {refused.code}") from None
    return str(answer["choices"][0]["message"]["content"])


def careless(server: ServedCase) -> str:
    try:
        return ask(server)
    except ValueError:
        return ""


def test_a_client_in_a_test_has_the_verdict_of_a_program(llm_profile: LlmProfiler) -> None:
    coped = llm_profile("auth", ask)
    assert (coped.verdict, coped.exit_code, coped.last_words) == (
        "coped",
        1,
        "ValueError: refused with 401",
    )
    lost = llm_profile("auth", careless)
    assert [defect.name for defect in lost.defects] == ["lost the error's reason"]
    assert llm_profile("error_event", ask).verdict == "not exercised"
    half = llm_profile("clean_end", careless)
    assert [defect.name for defect in half.defects] == ["took half an answer for a whole one"]


def test_a_client_that_does_not_return_is_left_behind_at_the_limit(llm_profile: LlmProfiler) -> None:
    result = llm_profile("llm_keep_alive_only", lambda server: ask(server, 60), limit_s=1.0)
    assert [defect.name for defect in result.defects] == ["never gave up"]


def test_wrong_cases_and_clients_that_fail_without_a_fault_are_errors(llm_profile: LlmProfiler) -> None:
    with pytest.raises(InputError, match="expected one of answer_cut:close, answer_cut:reset"):
        llm_profile("answer_cut", ask)
    with pytest.raises(InputError, match=r'^case: expected .*, got "rate_limit".*llm_rate_limit'):
        llm_profile("rate_limit", ask)
    with pytest.raises(RunError, match="never called a model"):
        llm_profile("auth", lambda server: "nothing")
