"""The pytest plugin of LLM profiles: the fixture `llm_profile`.

    def test_an_answer_that_ends_early(llm_profile):
        result = llm_profile("clean_end", lambda server: our_client(base_url=server.openai_url))
        assert result.verdict == "coped", result.why

pytest imports this file wherever Faultkit is installed, so it imports nothing else before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from faultkit.llm.profile.in_process import Client
    from faultkit.llm.profile.judging import CaseResult


class LlmProfiler(Protocol):
    """Runs a client in this process against one case of the battery, and judges it."""

    def __call__(
        self,
        case: str,
        client: Client,
        *,
        limit_s: float = 10.0,
        seed: int | str = 0,
        script: Mapping[str, object] | None = None,
    ) -> CaseResult:
        """Return the verdict. `script`: the turns of the mock's answers, as in a file of `fault mock llm`."""


@pytest.fixture
def llm_profile(monkeypatch: pytest.MonkeyPatch) -> LlmProfiler:
    """Return a function that runs a client against one fault of LLM APIs and judges what it did."""
    from faultkit.base.errors import InputError
    from faultkit.llm.mock.mock_answers import parse_script
    from faultkit.llm.profile.cases import battery, chosen
    from faultkit.llm.profile.client_environment import removed_variables, variables_for
    from faultkit.llm.profile.in_process import judge_client

    def at_url(url: str) -> None:
        for name, value in variables_for(url).items():
            monkeypatch.setenv(name, value)
        for name in removed_variables():
            monkeypatch.delenv(name, raising=False)

    def profile(
        case: str,
        client: Client,
        *,
        limit_s: float = 10.0,
        seed: int | str = 0,
        script: Mapping[str, object] | None = None,
    ) -> CaseResult:
        cases = chosen(battery(limit_s), [case], "case")
        if len(cases) != 1:
            names = ", ".join(each.name for each in cases)
            raise InputError("case", f'expected one of {names}, got "{case}"')
        turns = () if script is None else parse_script(script)
        return judge_client(cases[0], client, limit_s=limit_s, seed=seed, turns=turns, at_url=at_url)

    return profile
