"""Vectors from a scripted provider: batches, order, dimensions and errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from faultkit.base.errors import InputError, RunError, TargetError
from tests.llm.conftest import FakeClock, OpenModel
from tests.llm.scripted_provider import ScriptedServer, Send, error


def vectors(*rows: list[Any]) -> Send:
    data = [{"object": "embedding", "index": place, "embedding": row} for place, row in enumerate(rows)]
    return Send({"object": "list", "data": data, "usage": {"prompt_tokens": 5}})


TINY = {"FAULT_AGENT_EMBED_MODEL": "tiny", "FAULT_AGENT_EMBED_MODEL_DIMENSION": "2"}


def test_texts_become_vectors_in_their_order(server: ScriptedServer, open_model: OpenModel) -> None:
    answer = vectors([1, 2], [3.5, 4])
    answer.body["data"].reverse()
    server.play(answer)
    assert open_model("ollama", **TINY).embed(["a", "b"]) == [[1.0, 2.0], [3.5, 4.0]]
    (request,) = server.requests
    assert request.path == "/v1/embeddings"
    assert request.body == {"model": "tiny", "input": ["a", "b"], "encoding_format": "float"}


def test_many_texts_go_in_batches_and_progress_is_told(server: ScriptedServer, open_model: OpenModel) -> None:
    server.play(vectors(*[[0, 1]] * 64), vectors(*[[0, 1]] * 64), vectors([0, 1], [0, 1]))
    done: list[int] = []
    assert len(open_model("ollama", **TINY).embed(["x"] * 130, progress=done.append)) == 130
    assert [len(request.body["input"]) for request in server.requests] == [64, 64, 2]
    assert done == [64, 128, 130]


def test_long_texts_are_cut_and_empty_ones_are_a_space(server: ScriptedServer, open_model: OpenModel) -> None:
    server.play(vectors([0, 1], [0, 1]))
    open_model("ollama", **TINY).embed(["", "x" * 100_000])
    assert server.requests[0].body["input"] == [" ", "x" * 24_000]


def test_no_texts_are_no_call(server: ScriptedServer, open_model: OpenModel) -> None:
    assert open_model("ollama", **TINY).embed([]) == []
    assert server.requests == []


def test_secrets_are_not_embedded(server: ScriptedServer, open_model: OpenModel) -> None:
    server.play(vectors([0, 1]))
    open_model("ollama", **TINY).embed(['password = "hunter2hunter2"'])
    assert server.requests[0].body["input"] == ['password = "REDACTED_1_PASSWORD"']


def test_a_vector_of_the_wrong_length_names_the_flag(server: ScriptedServer, open_model: OpenModel) -> None:
    server.play(vectors([1, 2, 3]))
    with pytest.raises(
        InputError, match="--llm-embed-model-dim: expected 3, the length of tiny's vectors, got 2"
    ):
        open_model("ollama", **TINY).embed(["a"])


def test_without_a_length_the_first_vector_sets_it(server: ScriptedServer, open_model: OpenModel) -> None:
    server.play(vectors([1, 2, 3]), vectors([1, 2]))
    model = open_model("ollama", FAULT_AGENT_EMBED_MODEL="unknown")
    assert model.embed(["a"]) == [[1.0, 2.0, 3.0]]
    with pytest.raises(InputError, match=r"expected 2.*got 3"):
        model.embed(["a"])


def test_shorter_vectors_are_asked_for_where_the_provider_makes_them(
    server: ScriptedServer, open_model: OpenModel
) -> None:
    server.play(vectors([1, 2]))
    open_model("openai", FAULT_AGENT_EMBED_MODEL_DIMENSION="2").embed(["a"])
    assert server.requests[0].body["dimensions"] == 2


@pytest.mark.parametrize(
    "body",
    [
        {"data": []},
        {"data": [{"index": 0, "embedding": []}]},
        {"data": [{"index": 0, "embedding": ["a"]}]},
        {"data": [{"index": 3, "embedding": [1]}]},
        {"data": [{"index": 0, "embedding": "AACAPw=="}]},
        {},
    ],
    ids=json.dumps,
)
def test_something_that_is_no_vector_is_an_error(
    body: Any, server: ScriptedServer, open_model: OpenModel
) -> None:
    server.play(Send(body))
    with pytest.raises(RunError, match="sent an unexpected response"):
        open_model("ollama", **TINY).embed(["a"])


def test_a_number_that_is_none_is_an_error(server: ScriptedServer, open_model: OpenModel) -> None:
    server.play(Send('{"data": [{"index": 0, "embedding": [NaN, 1]}]}'))
    with pytest.raises(RunError, match="vector 0 has other values than numbers"):
        open_model("ollama", **TINY).embed(["a"])


def test_embedding_is_tried_again_like_everything_else(
    server: ScriptedServer, open_model: OpenModel, clock: FakeClock
) -> None:
    server.play(error("openai", 500, "oops"), vectors([1, 2]))
    assert open_model("ollama", **TINY).embed(["a"]) == [[1.0, 2.0]]
    assert len(clock.pauses) == 1


def test_an_unknown_embedding_model_names_its_flag(server: ScriptedServer, open_model: OpenModel) -> None:
    server.play(error("openai", 404, "no such model"))
    with pytest.raises(TargetError, match=r"'tiny'.*--llm-embed-model, or fetch it with `ollama pull tiny`"):
        open_model("ollama", **TINY).embed(["a"])


def test_a_provider_without_a_model_for_it_says_so(server: ScriptedServer, open_model: OpenModel) -> None:
    with pytest.raises(
        InputError, match="--llm-embed-model: expected the name of an embedding model of gemini"
    ):
        open_model("gemini").embed(["a"])
    assert server.requests == []
