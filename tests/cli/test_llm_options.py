"""The `--llm-…` flags, and indexes that are made and searched with the vectors of a provider."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import click
import pytest

from faultkit.cli.llm import FLAGS, LlmOptions, advisor_from, embed_options, llm_options, model_from
from faultkit.cli.main import invoke
from faultkit.code.advice.project_context import indexed_folder, project_search
from faultkit.llm import model_settings as settings
from faultkit.llm.providers import PROVIDERS
from tests.llm.scripted_provider import ScriptedServer, Send, _send


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in tuple(os.environ):
        if name.endswith("_API_KEY") or name.startswith(("FAULT_AGENT_", "QDRANT_")):
            monkeypatch.delenv(name)


def test_flags_and_variables_are_those_that_the_settings_know() -> None:
    known = (
        settings.CLIENT,
        settings.MODEL,
        settings.EMBED_MODEL,
        settings.EMBED_DIM,
        settings.TIME,
        settings.TOKENS,
    )
    assert [(flag.option, flag.variable) for flag in FLAGS] == list(known)


def test_the_help_names_every_provider() -> None:
    named = FLAGS[0].help.replace(",", " ").replace(".", " ").split()
    assert {"auto", "rules", *(provider.name for provider in PROVIDERS)} <= set(named)


def test_all_flags_come_as_one_value() -> None:
    @click.command()
    @click.argument("word")
    @llm_options
    def command(word: str, llm: LlmOptions) -> None:
        assert (word, llm) == ("x", LlmOptions("ollama", "m", "e", "8", "9", "10"))

    flags = [word for flag, value in zip(FLAGS, ["ollama", "m", "e", "8", "9", "10"], strict=True)
             for word in (flag.option, value)]  # fmt: skip
    command.main(["x", *flags], standalone_mode=False)


def test_embedding_has_only_the_flags_it_needs() -> None:
    @click.command()
    @embed_options
    def command(llm: LlmOptions) -> None:
        assert llm == LlmOptions(embed_model="e")

    command.main(["--llm-embed-model", "e"], standalone_mode=False)
    options = [option for each in command.params for option in each.opts]
    assert options == ["--llm-client", "--llm-embed-model", "--llm-embed-model-dim"]


def test_without_a_key_the_rules_answer() -> None:
    assert model_from(LlmOptions()) is None
    assert advisor_from(LlmOptions()).engine.name == "rules"


def test_a_flag_makes_a_model_without_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULT_AGENT_PROMPT_REASONING_MODEL", "by-variable")
    model = model_from(LlmOptions(client="ollama", time_s="12"))
    assert model is not None
    assert (model.engine, model.settings.model, model.settings.budget.time_s) == ("ollama", "by-variable", 12)


# --- indexes with a provider's vectors ---------------------------------------------------------------


class Embeddings(ScriptedServer):
    """A provider whose vector of a text depends on whether it mentions cards."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        super().__init__()

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        texts = json.loads(handler.rfile.read(int(handler.headers["content-length"])))["input"]
        self.texts.extend(texts)
        rows = [[1.0, 0.0, 0.0] if "card" in text else [0.0, 1.0, 0.0] for text in texts]
        data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
        _send(handler, Send({"object": "list", "data": data, "usage": {"prompt_tokens": 1}}))


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Embeddings]:
    server = Embeddings()
    monkeypatch.setenv("OLLAMA_HOST", server.url)
    yield server
    server.close()


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("FAULT_INDEX_DIR", str(tmp_path / "index"))
    root = tmp_path / "shop"
    root.mkdir()
    (root / "pay.py").write_text(
        "def charge_card(card):\n    return card\n\n\ndef ship(box):\n    return box\n"
    )
    return str(root)


TINY = ("--llm-client", "ollama", "--llm-embed-model", "tiny")


def test_a_providers_vectors_are_asked_for_once_and_used_again_without_flags(
    shop: str, provider: Embeddings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["index", shop, "--json", *TINY]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["embedder"], summary["chunks"]) == ("ollama tiny", 2)
    assert any("def charge_card(card):" in text for text in provider.texts)
    provider.texts.clear()
    assert invoke(["search", "card", shop, "--json", "--mode", "dense", "--limit", "1"]) == 0
    assert [hit["name"] for hit in json.loads(capsys.readouterr().out)] == ["charge_card"]
    assert provider.texts == ["card"]
    assert invoke(["search", "card", shop, "--json", *TINY]) == 0


def test_a_search_by_words_sends_no_request(
    shop: str, provider: Embeddings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["index", shop, *TINY, "--llm-embed-model-dim", "3"]) == 0
    provider.texts.clear()
    capsys.readouterr()
    assert invoke(["search", "ship", shop, "--json", "--mode", "lexical"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["name"] == "ship"
    assert provider.texts == []


def test_the_error_for_an_index_of_another_embedder_names_the_flags(
    shop: str, provider: Embeddings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["index", shop]) == 0
    assert invoke(["search", "card", shop, *TINY]) == 2
    assert (
        "error: --llm-embed-model: expected wordllama l2_supercat 256, words 1, which made the vectors of "
        "the index, got ollama tiny: search without it, or make the index anew with `fault index DIR "
        "--rebuild --llm-client ollama --llm-embed-model tiny`"
    ) in capsys.readouterr().err
    assert invoke(["index", shop, *TINY]) == 2
    command = re.search(r"make it anew with `fault (index .* --rebuild .*)`", capsys.readouterr().err)
    assert command is not None
    assert "--llm-client ollama --llm-embed-model tiny --llm-embed-model-dim 3" in command[1]
    assert invoke(shlex.split(command[1])) == 0
    assert invoke(["index", shop, *TINY]) == 0


def test_a_missing_key_is_named_and_so_is_the_way_without_it(
    shop: str, provider: Embeddings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-fake-0123456789abcdef0123")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
    assert invoke(["index", shop, "--llm-embed-model", "tiny"]) == 0
    monkeypatch.delenv("OPENAI_API_KEY")
    assert invoke(["search", "card", shop]) == 2
    assert (
        "error: OPENAI_API_KEY: expected an API key, since openai tiny made the vectors of the index, got "
        "none: set it, search by words alone with `--mode lexical`, or make the index anew"
    ) in capsys.readouterr().err


def test_an_embedding_model_without_a_client_is_an_error(
    shop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["index", shop, "--llm-embed-model", "tiny"]) == 2
    assert "--llm-embed-model: expected a client beside it that makes embeddings" in capsys.readouterr().err


def test_a_key_alone_sends_no_code_anywhere(
    shop: str, provider: Embeddings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-fake-0123456789abcdef0123")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
    assert invoke(["index", shop, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["embedder"].startswith("wordllama")
    assert provider.texts == []


# --- code of the project for a prompt ----------------------------------------------------------------


def test_the_nearest_folder_with_an_index_is_found(shop: str, tmp_path: Path) -> None:
    assert indexed_folder(f"{shop}/pay.py", tmp_path / "index") is None
    assert invoke(["index", shop]) == 0
    assert indexed_folder(f"{shop}/deep/er/new.py", tmp_path / "index") == Path(shop)
    assert indexed_folder(tmp_path, tmp_path / "index") is None


def test_a_model_is_shown_other_code_of_the_same_language(shop: str, provider: Embeddings) -> None:
    Path(shop, "pay.go").write_text("package pay\n\nfunc charge_card() {}\n")
    model = model_from(LlmOptions(client="ollama"))
    assert model is not None
    assert project_search(shop, model) is None
    assert invoke(["index", shop]) == 0
    near = project_search(f"{shop}/pay.py", model)
    assert near is not None
    piece = "def ship(box):\n    return box\n"
    found = near(f"{piece}    charge_card()\n", "python")
    assert [title for title, _ in found] == ["pay.py:1-2 charge_card"]
    assert provider.texts == []


def test_an_unreadable_index_is_left_out_with_a_warning(shop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert invoke(["index", shop]) == 0
    model = model_from(LlmOptions(client="ollama"))
    assert model is not None
    said: list[str] = []
    near = project_search(shop, model, warn=said.append)
    assert near is not None
    monkeypatch.setenv("QDRANT_URL", "http://127.0.0.1:1")
    assert near("card", "python") == ()
    (warning,) = said
    assert warning.startswith(f"the index of {shop} is left out: QDRANT_URL: ")
