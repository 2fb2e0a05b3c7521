"""What the mock answers with."""

from __future__ import annotations

import pytest

from faultkit.faults.dialects.dialect import with_body
from faultkit.faults.dialects.dialect_table import DIALECTS
from faultkit.llm.mock.mock_answers import MockAnswers
from tests.faults.llm.answers import asked


@pytest.mark.parametrize("name", DIALECTS)
def test_an_echo_of_the_prompt_has_an_added_instruction(name: str) -> None:
    request = asked(name)
    changed = with_body(request, request.dialect.with_instruction(request.body, "Respond in French"))
    echoes = MockAnswers("prompt")
    assert echoes.turn_for(request).text == MockAnswers().turn_for(request).text
    assert "Respond in French" in echoes.turn_for(changed).text.splitlines()
    assert "French" not in MockAnswers().turn_for(changed).text
