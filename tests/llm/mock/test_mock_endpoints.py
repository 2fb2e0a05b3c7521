"""What the mock answers besides requests to models."""

from __future__ import annotations

import json
from typing import Any

import pytest

from faultkit.base.http.http_exchange import HttpRequest
from faultkit.llm.mock.mock_endpoints import answer_besides, dialect_of

CLAUDE = {"anthropic-version": "2023-06-01"}


def asked(
    path: str, method: str = "GET", headers: dict[str, str] | None = None, body: bytes = b""
) -> HttpRequest:
    return HttpRequest(method, path, headers or {}, [], body, "")


def document(request: HttpRequest, status: int = 404) -> tuple[int, Any]:
    got, _, body = answer_besides(request, status, "no such thing")
    return got, json.loads(body)


def test_each_provider_has_its_list_of_models() -> None:
    assert document(asked("/v1/models"))[1]["data"][0]["id"] == "mock"
    assert document(asked("/v1/models/gpt-4o"))[1]["id"] == "gpt-4o"
    claude = document(asked("/v1/models", headers=CLAUDE))[1]
    assert (claude["data"][0]["type"], claude["has_more"]) == ("model", False)
    assert document(asked("/v1beta/models/gemini-pro"))[1]["name"] == "models/gemini-pro"
    assert document(asked("/api/tags"))[1]["models"][0]["model"] == "mock"
    assert document(asked("/api/version")) == (200, {"version": "0.0.0"})
    assert "tools" in document(asked("/api/show", "POST"))[1]["capabilities"]
    assert answer_besides(asked("/"), 404, "")[2] == b"Ollama is running"


def test_tokens_are_counted_as_the_mock_counts_them() -> None:
    body = b'{"model": "m", "messages": [{"role": "user", "content": "One two three"}]}'
    assert document(asked("/v1/messages/count_tokens", "POST", body=body)) == (200, {"input_tokens": 3})
    body = b'{"contents": [{"parts": [{"text": "One two"}]}]}'
    assert document(asked("/v1beta/models/m:countTokens", "POST", body=body)) == (200, {"totalTokens": 2})


@pytest.mark.parametrize(
    ("path", "headers", "error"),
    [
        ("/v1/files", {}, {"message": "no such thing", "type": "invalid_request_error"}),
        ("/v1/files", CLAUDE, {"message": "no such thing", "type": "not_found_error"}),
        ("/v1beta/files", {}, {"message": "no such thing", "code": 404, "status": "NOT_FOUND"}),
    ],
)
def test_what_is_not_there_is_refused_in_the_shape_of_the_provider(
    path: str, headers: dict[str, str], error: dict[str, Any]
) -> None:
    status, found = document(asked(path, headers=headers))
    assert status == 404
    assert {name: found["error"].get(name) for name in error} == error


def test_an_invalid_body_is_refused_in_the_shape_of_the_provider() -> None:
    assert document(asked("/api/chat", "POST"), 400) == (400, {"error": "no such thing"})
    status, found = document(asked("/v1/messages", "POST"), 400)
    assert (status, found["type"], found["error"]["type"]) == (400, "error", "invalid_request_error")
    assert dialect_of(asked("/api/v1/chat/completions", "POST")).name == "openai_chat"
