"""Rules at work on requests to models: which act, in which order, with which random numbers."""

from __future__ import annotations

from typing import Any

import pytest

from faultkit.base.errors import InputError
from faultkit.faults.dialects.llm_events import Head
from faultkit.plan import (
    Match,
    Plan,
    check_call_plan,
    check_llm_plan,
    check_network_plan,
    dump_plan,
    parse_plan,
    parse_rule,
)
from faultkit.plan.llm_rules import LlmRules, LlmTreatment
from tests.faults.llm.answers import Seen, answer_to, asked


def rules(*documents: dict[str, Any], seed: int = 0) -> LlmRules:
    return LlmRules(parse_plan({"seed": seed, "rules": list(documents)}))


def seen(treatment: LlmTreatment) -> Seen:
    events = list(treatment.answer or answer_to(treatment.request, tuple(f" {n}" for n in range(30))))
    chain = treatment.chain
    return Seen(
        treatment.request, events if chain is None else [out for each in events for out in chain.feed(each)]
    )


def treat(active: LlmRules, name: str = "openai_chat", now_s: float = 0.0, **how: Any) -> LlmTreatment:
    return active.treat(asked(name, **how), "POST", [("x-team", "red")], now_s)


@pytest.mark.parametrize(
    ("match", "hits"),
    [
        ({}, True),
        ({"model": "m"}, True),
        ({"model": "gpt-*"}, False),
        ({"streamed": True}, True),
        ({"streamed": False}, False),
        ({"tool_use": False}, True),
        ({"tool_use": True}, False),
        ({"path": "/v1/chat/*"}, True),
        ({"path": "/v1/messages"}, False),
        ({"headers": {"X-Team": "r*"}}, True),
        ({"method": "GET"}, False),
    ],
)
def test_a_match_selects_requests(match: dict[str, Any], hits: bool) -> None:
    active = rules({"fault": "wrong_model", "match": match})
    assert (treat(active).chain is not None) is hits
    assert active.counts["wrong_model"] == (int(hits), 0)
    plan = active.plan
    assert parse_plan(dump_plan(plan)) == plan


def test_rules_add_up_in_their_order() -> None:
    active = rules(
        {"fault": "replace_text", "with": {"pattern": " 1 ", "replacement": " one "}},
        {"fault": "replace_text", "with": {"pattern": "one", "replacement": "uno"}},
        {"fault": "length_stop", "with": {"after_tokens": 3}},
    )
    found = seen(treat(active))
    assert (found.text, found.finish) == (" 0 uno 2", "length")
    assert active.counts == {"replace_text": (1, 1), "replace_text-2": (1, 1), "length_stop": (1, 1)}


def test_a_changed_request_goes_on_to_the_next_rule_and_a_refusal_is_the_last() -> None:
    active = rules(
        {"fault": "add_instruction", "with": {"text": "Be good."}},
        {"fault": "replace_prompt", "with": {"pattern": "good", "replacement": "bad"}},
        {"fault": "overloaded", "trigger": {"first": 1}},
        {"fault": "auth"},
    )
    first, second = treat(active), treat(active)
    assert first.answer is not None
    assert isinstance(first.answer[0], Head)
    assert first.answer[0].status == 503
    assert second.answer is not None
    assert isinstance(second.answer[0], Head)
    assert second.answer[0].status == 401
    assert sorted(first.request.dialect.prompts(first.request.body).values()) == ["Be bad.", "Hi"]
    assert active.counts["auth"] == (2, 1)


def test_the_same_seed_drops_the_same_events_whatever_other_rules_do() -> None:
    rule = {"fault": "dropped_delta", "match": {"model": "m"}}
    other = {"fault": "wrong_model"}
    texts = [
        [seen(treat(active)).text for _ in range(4)]
        for active in (rules(rule, seed=7), rules(other, rule, seed=7), rules(rule, seed=8))
    ]
    assert texts[0] == texts[1] != texts[2]
    assert len(set(texts[0])) == 4


def test_triggers_and_schedules_hold() -> None:
    active = rules({"fault": "auth", "trigger": {"every": 2}, "schedule": "start:10s,duration:5s"})
    hits = [treat(active, now_s=at).answer is not None for at in (0.0, 10.0, 11.0, 12.0, 14.9, 15.0)]
    assert hits == [False, False, True, False, True, False]


def test_a_fault_of_streams_does_not_count_whole_answers() -> None:
    active = rules({"fault": "token_stall"})
    assert treat(active, streamed=False).chain is None
    assert active.counts == {"token_stall": (0, 0)}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"match": {"model": "gpt-[45"}}, 'match.model: expected a ] behind each [ of a glob, got "gpt-[45"'),
        ({"match": {"model": "[!]"}}, 'match.model: expected a ] behind each [ of a glob, got "[!]"'),
        (
            {"with": {"after_tokens": 1, "after_events": 1}},
            "with.after_events: expected it or after_tokens, got both",
        ),
        (
            {"fault": "llm_rate_limit", "with": {"requests": 0}},
            "with.requests: expected a whole number of at least 1, got 0",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(document: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_rule({"fault": "clean_end", **document})
    assert str(caught.value) == message


def test_sets_of_characters_in_a_model_are_matched() -> None:
    for glob, model in (("gpt-[45]*", "gpt-5-mini"), ("[]]", "]"), ("a[!]]b", "a-b")):
        assert Match(model=glob).covers_model(model, streamed=True, tool_use=False)


def test_a_rule_that_stays_keeps_its_count() -> None:
    active = rules({"fault": "auth", "trigger": {"first": 1}})
    treat(active)
    active.set_plan(Plan((*active.plan.rules, *rules({"fault": "canary"}).plan.rules)))
    assert treat(active).answer is None
    assert active.counts["auth"] == (2, 1)


def test_faults_of_other_levels_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        check_llm_plan(parse_plan({"rules": [{"fault": "canary"}, {"fault": "rate_limit"}]}))
    assert str(caught.value) == (
        'rules[1].fault: expected a fault of LLM APIs, got "rate_limit", which acts on calls: '
        "use fault gateway or fault mock; llm_rate_limit is the one of LLM APIs"
    )
    with pytest.raises(InputError, match="acts on the network: use fault run"):
        rules({"fault": "latency"})
    with pytest.raises(InputError, match="and MCP messages are none: use fault run llm in front of the API"):
        check_call_plan(parse_plan({"rules": [{"fault": "canary"}]}))
    for kind in ("rate_limit", "keep_alive_only"):
        with pytest.raises(InputError, match=f'got "{kind}", .*; llm_{kind} is the one of LLM APIs'):
            check_network_plan(parse_plan({"rules": [{"fault": kind}]}))
    check_network_plan(parse_plan({"rules": [{"fault": "canary"}]}))
