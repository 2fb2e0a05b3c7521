"""The choice of a provider, its key, its address and its models."""

from __future__ import annotations

import pytest

from faultkit.base.errors import InputError
from faultkit.llm.model_settings import AskBudget, LlmSettings, llm_settings, unused_keys
from faultkit.llm.providers import EMBED_DIMENSIONS, PROVIDERS, is_on_this_machine, provider_of

KEYS = {provider.key_env: f"{provider.name}-key" for provider in PROVIDERS}


def chosen(env: dict[str, str], **flags: str) -> LlmSettings:
    settings = llm_settings(env, **flags)
    assert settings is not None
    return settings


@pytest.mark.parametrize(
    ("name", "model", "embed_model", "dim"),
    [
        ("openai", "o4-mini", "text-embedding-3-small", 1536),
        ("gemini", "gemini-2.5-flash", None, None),
        ("openrouter", "google/gemma-3-27b-it", None, None),
        ("ollama", "gemma3:4b", "mxbai-embed-large", 1024),
        ("anthropic", "claude-sonnet-5-5", None, None),
    ],
)
def test_each_provider_has_its_models(
    name: str, model: str, embed_model: str | None, dim: int | None
) -> None:
    settings = chosen(KEYS, client=name)
    assert settings.provider.name == name
    assert (settings.model, settings.embed_model, settings.embed_dim) == (model, embed_model, dim)
    assert not settings.embed_asked


def test_every_default_embedding_model_has_a_known_length() -> None:
    assert {provider.embed_model for provider in PROVIDERS} - {None} <= set(EMBED_DIMENSIONS)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("open-ai", "openai"),
        ("OpenAI", "openai"),
        ("open_router", "openrouter"),
        ("Open Router", "openrouter"),
        ("OLLAMA", "ollama"),
        ("anthropic", "anthropic"),
        ("gemini", "gemini"),
    ],
)
def test_spelling_is_liberal(spelling: str, name: str) -> None:
    provider = provider_of(spelling)
    assert provider is not None
    assert provider.name == name


@pytest.mark.parametrize("client", [None, "auto", "AUTO", " "])
def test_auto_without_a_key_means_the_rules(client: str | None) -> None:
    assert llm_settings({"OPENAI_API_KEY": " ", "OLLAMA_HOST": "127.0.0.1"}, client=client) is None


@pytest.mark.parametrize("name", ["openai", "gemini", "openrouter", "anthropic"])
def test_auto_takes_the_provider_whose_key_is_set(name: str) -> None:
    assert chosen({f"{name.upper()}_API_KEY": "k"}, client="auto").provider.name == name
    assert chosen({f"{name.upper()}_API_KEY": "k", "FAULT_AGENT_CLIENT": "auto"}).provider.name == name


def test_auto_takes_the_first_of_several() -> None:
    keys = {"ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}
    assert chosen(keys, client="auto").provider.name == "gemini"


def test_a_key_alone_sends_nothing() -> None:
    assert llm_settings(KEYS) is None
    assert unused_keys(KEYS) == [
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "OPENROUTER_API_KEY",
        "ANTHROPIC_API_KEY",
    ]
    assert unused_keys({**KEYS, "FAULT_AGENT_CLIENT": "rules"}) == []


def test_a_model_that_is_named_asks_for_the_provider_whose_key_is_set() -> None:
    assert chosen({"GEMINI_API_KEY": "k"}, model="m").provider.name == "gemini"
    assert chosen({"OPENAI_API_KEY": "k", "FAULT_AGENT_EMBED_MODEL": "e"}).provider.name == "openai"


@pytest.mark.parametrize("client", ["rules", "none", "offline"])
def test_rules_are_taken_whatever_keys_are_set(client: str) -> None:
    assert llm_settings(KEYS, client=client) is None


def test_a_flag_goes_before_its_variable() -> None:
    env = {**KEYS, "FAULT_AGENT_CLIENT": "gemini", "FAULT_AGENT_PROMPT_REASONING_MODEL": "g"}
    assert chosen(env).provider.name == "gemini"
    assert chosen(env).model == "g"
    assert chosen(env, client="open-ai").provider.name == "openai"
    assert chosen(env, model="h").model == "h"


@pytest.mark.parametrize(
    ("name", "variable"), [(each.name, each.key_env) for each in PROVIDERS if each.needs_key]
)
def test_a_client_without_its_key_names_the_variable(name: str, variable: str) -> None:
    with pytest.raises(
        InputError, match=f"^{variable}: expected an API key, since --llm-client asks for {name}"
    ):
        llm_settings({}, client=name)


def test_a_client_named_by_its_variable_is_said_to_be() -> None:
    with pytest.raises(InputError, match="since FAULT_AGENT_CLIENT asks for openai"):
        llm_settings({"FAULT_AGENT_CLIENT": "openai"})


def test_ollama_needs_no_key() -> None:
    settings = chosen({}, client="ollama")
    assert (settings.key, settings.base_url) == ("", "http://localhost:11434/v1")


def test_an_unknown_client_is_told_the_known_ones() -> None:
    with pytest.raises(
        InputError, match=r"--llm-client: expected auto, rules, or one of openai, gemini, .*'gpt'"
    ):
        llm_settings({}, client="gpt")


@pytest.mark.parametrize("key", ["two words", "naïve", "line\nbreak"])
def test_a_key_that_no_header_can_carry_is_not_shown(key: str) -> None:
    with pytest.raises(InputError, match="OPENAI_API_KEY: expected") as caught:
        llm_settings({"OPENAI_API_KEY": key}, client="openai")
    assert key not in str(caught.value)


def test_a_key_is_not_in_the_representation() -> None:
    assert "openai-key" not in repr(chosen(KEYS, client="openai"))


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("127.0.0.1", "http://127.0.0.1:11434/v1"),
        ("box:8000", "http://box:8000/v1"),
        ("0.0.0.0", "http://localhost:11434/v1"),
        ("0.0.0.0:8000", "http://localhost:8000/v1"),
        (":8000", "http://localhost:8000/v1"),
        ("[::1]:8000", "http://[::1]:8000/v1"),
        ("http://box", "http://box:80/v1"),
        ("https://box/", "https://box:443/v1"),
        ("https://box/ollama", "https://box:443/ollama/v1"),
        ("http://box:1/v1/", "http://box:1/v1"),
    ],
)
def test_ollama_host_has_many_forms(given: str, used: str) -> None:
    assert chosen({"OLLAMA_HOST": given}, client="ollama").base_url == used


@pytest.mark.parametrize(
    ("client", "variable"), [(provider.name, provider.base_url_env) for provider in PROVIDERS]
)
def test_an_address_can_be_set(client: str, variable: str) -> None:
    settings = chosen({**KEYS, variable: "http://127.0.0.1:8000/v1/"}, client=client)
    assert settings.base_url == "http://127.0.0.1:8000/v1"


@pytest.mark.parametrize("url", ["ftp://x", "no url", "http://", "http://x:99999", "http://[x"])
def test_an_address_that_is_none_is_an_error(url: str) -> None:
    with pytest.raises(InputError, match="OPENAI_BASE_URL: expected a URL like"):
        llm_settings({**KEYS, "OPENAI_BASE_URL": url}, client="openai")


@pytest.mark.parametrize("host", ["ftp://x", "http://x:99999", "[x", "a b://c"])
def test_a_host_of_ollama_that_is_none_is_an_error(host: str) -> None:
    with pytest.raises(InputError, match="OLLAMA_HOST: expected a URL like"):
        llm_settings({"OLLAMA_HOST": host}, client="ollama")


def test_an_embedding_model_can_be_named() -> None:
    settings = chosen(KEYS, client="gemini", embed_model="gemini-embedding-001", embed_dim="768")
    assert (settings.embed_model, settings.embed_dim, settings.embed_asked) == (
        "gemini-embedding-001",
        768,
        True,
    )


def test_a_model_of_unknown_length_has_none_until_it_answers() -> None:
    assert chosen(KEYS, client="ollama", embed_model="mine").embed_dim is None


@pytest.mark.parametrize("dim", ["0", "-1", "many", "1.5", "65537", "9" * 400])
def test_a_dimension_is_a_whole_number(dim: str) -> None:
    with pytest.raises(InputError, match="--llm-embed-model-dim: expected a whole number"):
        llm_settings(KEYS, client="ollama", embed_model="mine", embed_dim=dim)


def test_a_dimension_that_a_known_model_does_not_have_is_an_error() -> None:
    with pytest.raises(InputError, match=r"FAULT_AGENT_EMBED_MODEL_DIMENSION: expected 1024, .*got 1536"):
        llm_settings({"FAULT_AGENT_EMBED_MODEL_DIMENSION": "1536"}, client="ollama")
    with pytest.raises(InputError, match=r"expected 1536, .*got 2000"):
        llm_settings(KEYS, client="openai", embed_dim=2000)


def test_a_provider_without_embeddings_takes_no_model_for_them() -> None:
    with pytest.raises(InputError, match="--llm-embed-model: expected none, since anthropic"):
        llm_settings(KEYS, client="anthropic", embed_model="x")


def test_budgets_can_be_set() -> None:
    assert chosen(KEYS, client="openai").budget == AskBudget()
    env = {**KEYS, "FAULT_AGENT_TIME_BUDGET": "30", "FAULT_AGENT_TOKEN_BUDGET": "9000"}
    small = chosen(env, client="openai").budget
    assert (small.time_s, small.call_s, small.tokens) == (30, 30, 9000)
    large = chosen(KEYS, client="openai", time_s="600").budget
    assert (large.time_s, large.call_s) == (600, 300)


@pytest.mark.parametrize("budget", ["0", "-5", "soon", "nan", "inf"])
def test_a_budget_is_a_positive_number(budget: str) -> None:
    with pytest.raises(InputError, match="--llm-time-budget: expected a number"):
        llm_settings(KEYS, time_s=budget)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"time_s": "-1"}, "--llm-time-budget"),
        ({"tokens": "few"}, "--llm-token-budget"),
        ({"embed_dim": "0"}, "--llm-embed-model-dim"),
    ],
)
def test_a_wrong_number_is_told_although_the_rules_answer(given: dict[str, str], named: str) -> None:
    with pytest.raises(InputError) as caught:
        llm_settings({}, client="rules", **given)
    assert caught.value.path == named


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:11434/v1", True),
        ("http://LOCALHOST/v1", True),
        ("http://127.0.0.1:1/v1", True),
        ("http://[::1]:1/v1", True),
        ("http://localhost.example.com/v1", False),
        ("http://127.0.0.1.example.com/v1", False),
        ("https://api.openai.com/v1", False),
    ],
)
def test_only_urls_of_this_machine_bypass_the_proxy(url: str, expected: bool) -> None:
    assert is_on_this_machine(url) is expected
