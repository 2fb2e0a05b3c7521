from __future__ import annotations

import asyncio
from typing import Any

import pytest

from faultkit.agents.execute.virtual_toolbox import VirtualToolbox
from faultkit.agents.kinds.model_loop import ModelLoop, schema_problem
from faultkit.agents.suite.agent_interface import AgentAnswer, AgentTask, BudgetExceeded, RunBudget, ToolInfo
from faultkit.llm.chat import ProviderChat
from faultkit.llm.conversation import ModelError, Price, price_of
from tests.agents.kinds.provider_turns import KEY, MODELS, endpoint, results_in, turn
from tests.agents.memory_server import MemoryServer, toolbox
from tests.llm.scripted_provider import Break, Drip, Hang, ScriptedServer, Send, error

HUNG = "injected fault: tool `search` did not respond within 3000 ms"
TASK = AgentTask("Search for the latest incident report.", "Be brief.")

both = pytest.mark.parametrize("dialect", ["openai", "anthropic"])


def talk(
    dialect: str, server: ScriptedServer, box: VirtualToolbox, *, price: Price | None = None, **voice: Any
) -> AgentAnswer:
    loop = ModelLoop(MODELS[dialect], ProviderChat(endpoint(dialect, server.url), **voice), price=price)
    return asyncio.run(loop.run(TASK, box))


@both
def test_a_model_hears_of_a_hang_in_the_words_of_the_seed_and_has_the_last_word(
    dialect: str, server: ScriptedServer
) -> None:
    server.play(
        turn(dialect, "Let me look.", ("search", {"q": "incident"})),
        turn(dialect, "The search does not answer."),
    )
    box = toolbox("hang@search")
    assert talk(dialect, server, box) == AgentAnswer("The search does not answer.")
    assert [(call.tool, call.outcome, call.arguments) for call in box.calls] == [
        ("search", "timeout", {"q": "incident"})
    ]
    first, second = (request.body for request in server.requests)
    assert results_in(dialect, first) == []
    assert results_in(dialect, second) == [("id_0", f"Error: {HUNG}")]
    assert (box.budget_use.turns, box.budget_use.tokens) == (2, 36)


@both
def test_prompts_tools_and_limits_are_in_the_request(dialect: str, server: ScriptedServer) -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    memory = MemoryServer()
    memory.tools = (ToolInfo("docs.search", "shop", "Finds things.", schema),)
    server.play(turn(dialect, "", ("docs_search", {"q": "x"})), turn(dialect, "Done."))
    box = toolbox(server=memory)
    talk(dialect, server, box)
    assert [call.tool for call in box.calls] == ["docs.search"]
    body, headers = server.requests[0].body, server.requests[0].headers
    if dialect == "openai":
        assert body["messages"] == [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Search for the latest incident report."},
        ]
        function = {"name": "docs_search", "description": "Finds things.", "parameters": schema}
        assert body["tools"] == [{"type": "function", "function": function}]
        assert body["max_completion_tokens"] == 1024
        assert headers["authorization"] == f"Bearer {KEY}"
    else:
        assert (body["system"], body["max_tokens"]) == ("Be brief.", 1024)
        assert body["messages"] == [{"role": "user", "content": TASK.prompt}]
        assert body["tools"] == [
            {"name": "docs_search", "description": "Finds things.", "input_schema": schema}
        ]
        # The library chooses the header, which differs among its versions.
        assert KEY in (headers.get("x-api-key"), headers.get("authorization", "").removeprefix("Bearer "))


@both
def test_calls_of_one_turn_are_made_in_the_order_in_which_the_model_named_them(
    dialect: str, server: ScriptedServer
) -> None:
    server.play(
        turn(dialect, "", ("order", {"item": "tea"}), ("orders", {}), ("search", {"q": "tea"})),
        turn(dialect, "Done."),
    )
    memory = MemoryServer()
    talk(dialect, server, toolbox(server=memory))
    assert [name for name, _ in memory.received] == ["order", "orders", "search"]
    assert results_in(dialect, server.requests[1].body) == [
        ("id_0", "order answers"),
        ("id_1", "tea"),
        ("id_2", "search answers"),
    ]


@both
def test_a_call_that_is_none_goes_back_to_the_model_as_an_error_and_is_marked(
    dialect: str, server: ScriptedServer
) -> None:
    memory = MemoryServer()
    wanted = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    memory.tools = (ToolInfo("count", "shop", input_schema=wanted),)
    server.play(
        turn(
            dialect,
            "",
            ("cuont", {"n": 1}),
            ("count", '{"n": ' if dialect == "openai" else [1]),
            ("count", {"n": "one"}),
            ("count", {"n": 1}),
        ),
        turn(dialect, "Done."),
    )
    box = toolbox(server=memory)
    assert talk(dialect, server, box) == AgentAnswer("Done.")
    assert [(call.tool, call.outcome, call.invalid) for call in box.calls] == [
        ("cuont", "protocol_error", True),
        ("count", "protocol_error", True),
        ("count", "protocol_error", True),
        ("count", "ok", False),
    ]
    assert memory.received == [("count", {"n": 1})]
    no_json = "they are no JSON" if dialect == "openai" else "expected a JSON object, got [1]"
    told = [text for _, text in results_in(dialect, server.requests[1].body)]
    assert told[0] == "Error: unknown tool `cuont`; there are: count"
    assert told[1].startswith(f"Error: invalid arguments: {no_json}")
    assert told[2] == "Error: invalid arguments: $.n: 'one' is not of type 'integer'"
    assert told[3] == "count answers"


def test_what_is_no_json_is_not_sent_back_to_a_provider_that_would_reject_it(server: ScriptedServer) -> None:
    server.play(turn("openai", "", ("search", "{")), turn("openai", "Done."))
    talk("openai", server, toolbox())
    echo = server.requests[1].body["messages"][2]
    assert echo["tool_calls"][0]["function"] == {"name": "search", "arguments": "{}"}


@both
@pytest.mark.parametrize(
    ("budget", "ending", "asked"),
    [
        (RunBudget(turns=3), "turns", 3),
        (RunBudget(tokens=40), "tokens", 3),
        (RunBudget(calls=1), "calls", 2),
        (RunBudget(money=0.0003), "money", 2),
        (RunBudget(time_ms=5000), "time", 2),
    ],
)
def test_a_model_that_never_stops_is_ended_by_a_budget(
    dialect: str, budget: RunBudget, ending: str, asked: int, server: ScriptedServer
) -> None:
    server.play(turn(dialect, "", ("search", {"q": "x"})))
    with pytest.raises(BudgetExceeded) as caught:
        talk(dialect, server, toolbox("hang@search", budget=budget), price=Price(10, 10))
    assert (caught.value.ending, len(server.requests)) == (ending, asked)


@pytest.mark.parametrize(
    ("provider", "model", "price"),
    [
        ("openai", "gpt-4o", Price(2.5, 10)),
        ("openai", "gpt-4o-2024-08-06", Price(2.5, 10)),
        ("anthropic", "claude-sonnet-4-5-20250929", Price(3, 15)),
        ("openrouter", "openai/gpt-4o-mini", Price(0.15, 0.6)),
        ("ollama", "gemma3:4b", Price(0, 0)),
        ("openai", "gpt-4o-audio-preview", None),
        ("openrouter", "some/model", None),
    ],
)
def test_a_price_that_is_not_known_is_not_guessed(provider: str, model: str, price: Price | None) -> None:
    assert price_of(provider, model) == price


@both
def test_a_provider_that_is_busy_is_asked_again_when_it_says(dialect: str, server: ScriptedServer) -> None:
    waits: list[float] = []

    async def pause(seconds: float) -> None:
        waits.append(seconds)

    server.play(
        error(dialect, 429, "slow down", {"retry-after": "7"}),
        error(dialect, 503, "overloaded"),
        turn(dialect, "Here."),
    )
    assert talk(dialect, server, toolbox(), pause=pause) == AgentAnswer("Here.")
    assert waits[0] == 7.0
    assert 0.5 <= waits[1] <= 1.0


@both
@pytest.mark.parametrize(
    ("step", "reason", "tries", "text"),
    [
        (
            Send({"error": {"message": "boom"}}, 500),
            "server",
            4,
            "{dialect} failed (HTTP 500: boom) after 4 tries",
        ),
        (
            Send({"error": {"message": "enough"}}, 429, {"retry-after": "9999"}),
            "rate",
            1,
            "{dialect} takes no more requests now (HTTP 429: enough)",
        ),
        (
            Send({"error": {"message": f"bad key {KEY}"}}, 401),
            "key",
            1,
            "{dialect} refused the key (HTTP 401: bad key …): check {variable}",
        ),
        (Send({"error": {"message": "no"}}, 404), "model", 1, "{dialect} does not know the model"),
        (Send("<html>", 200), "garbage", 1, "{dialect} sent an unexpected response"),
        (Send({"hello": 1}, 200), "garbage", 1, "{dialect} sent an unexpected response"),
        (Hang(), "timeout", 2, "{dialect} did not answer within 1 s after 2 tries"),
        (Drip(), "timeout", 2, "{dialect} did not answer within 1 s after 2 tries"),
        (Break(), "connection", 4, "{dialect} cannot be reached at http://127.0.0.1"),
    ],
)
def test_a_provider_that_fails_is_given_up_with_a_reason(
    dialect: str, step: Any, reason: str, tries: int, text: str, server: ScriptedServer
) -> None:
    async def pause(seconds: float) -> None:
        pass

    server.play(step)
    turn_s = 1.0 if reason == "timeout" else 20.0
    with pytest.raises(ModelError) as caught:
        talk(dialect, server, toolbox(), pause=pause, turn_s=turn_s)
    assert (caught.value.reason, caught.value.tries, len(server.requests)) == (reason, tries, tries)
    assert text.format(dialect=dialect, variable=f"{dialect.upper()}_API_KEY") in str(caught.value)
    assert KEY not in str(caught.value)


@both
def test_a_refusal_is_a_last_word_that_claims_nothing(dialect: str, server: ScriptedServer) -> None:
    said = turn(dialect, "I will not.")
    if dialect == "openai":
        said.body["choices"][0]["finish_reason"] = "content_filter"
    else:
        said.body["stop_reason"] = "refusal"
    server.play(said)
    assert talk(dialect, server, toolbox()) == AgentAnswer("I will not.", claims_success=False)


@both
def test_a_model_whose_turn_is_cut_before_it_says_anything_has_failed(
    dialect: str, server: ScriptedServer
) -> None:
    said = turn(dialect, " ")
    if dialect == "openai":
        said.body["choices"][0]["finish_reason"] = "length"
    else:
        said.body["stop_reason"] = "max_tokens"
    server.play(said)
    with pytest.raises(ModelError, match=r"used up max_tokens \(1024\)") as caught:
        talk(dialect, server, toolbox())
    assert caught.value.reason == "cut"


def test_thoughts_and_signatures_go_back_to_their_provider_as_they_came(server: ScriptedServer) -> None:
    said = turn("anthropic", "", ("search", {"q": "x"}))
    thought = {"type": "thinking", "thinking": "hm", "signature": "s1"}
    said.body["content"].insert(0, thought)
    server.play(said, turn("anthropic", "Done."))
    talk("anthropic", server, toolbox())
    assert server.requests[1].body["messages"][1]["content"][0] == thought
    said = turn("openai", "", ("search", {"q": "x"}))
    said.body["choices"][0]["message"]["tool_calls"][0]["extra_content"] = {"google": {"sign": "s2"}}
    server.play(said, turn("openai", "Done."))
    talk("openai", server, toolbox())
    echo = server.requests[3].body["messages"][2]
    assert echo["tool_calls"][0]["extra_content"] == {"google": {"sign": "s2"}}


@pytest.mark.parametrize("schema", [{}, {"type": "nonsense"}, {"$ref": "https://nowhere.invalid/x"}])
def test_a_schema_that_is_none_keeps_no_call_from_its_server(schema: dict[str, Any]) -> None:
    assert schema_problem({"anything": 1}, schema) == ""
