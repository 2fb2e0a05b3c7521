"""What the mock answers besides requests to models: lists of models, counts of tokens, and errors in the
shape of the provider that the client expects. Pure.

Some clients ask for these before or instead of an answer: a list to check a name, a version to see whether a
server is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from faultkit.base.http.http_exchange import HttpRequest
from faultkit.faults.dialects.dialect import Dialect, RefusalKind
from faultkit.faults.dialects.dialect_table import DIALECTS
from faultkit.faults.dialects.json_members import parse_json, write_json
from faultkit.faults.dialects.turn import count_tokens
from faultkit.llm.mock.mock_answers import CREATED_AT, CREATED_S

Answer: TypeAlias = tuple[int, tuple[tuple[str, str], ...], bytes]
"""Status, headers and body."""
MODEL = "mock"
"""The model of the lists; the mock answers for any."""
JSON_HEADERS = (("content-type", "application/json"),)
_PLAIN = (("content-type", "text/plain; charset=utf-8"),)
_KINDS: dict[int, RefusalKind] = {404: "not_found"}
_OLLAMA_MODEL = {
    "name": MODEL,
    "model": MODEL,
    "modified_at": CREATED_AT,
    "size": 0,
    "digest": "0" * 64,
    "details": {"format": "gguf", "family": MODEL, "parameter_size": "0B", "quantization_level": "Q4_0"},
}
_OLLAMA: dict[tuple[str, str], Any] = {
    ("GET", "/api/tags"): {"models": [_OLLAMA_MODEL]},
    ("GET", "/api/ps"): {"models": []},
    ("GET", "/api/version"): {"version": "0.0.0"},
    ("POST", "/api/show"): {
        "details": _OLLAMA_MODEL["details"],
        "model_info": {},
        "capabilities": ["completion", "tools"],
        "modified_at": CREATED_AT,
    },
}


def answer_besides(request: HttpRequest, status: int, message: str) -> Answer:
    """Return the answer to what is no request to a model; status and message say why it is none."""
    if request.path == "/" and request.method in ("GET", "HEAD"):
        return 200, _PLAIN, b"Ollama is running"
    document = _document(request)
    if document is not None:
        return 200, JSON_HEADERS, write_json(document)
    refusal = dialect_of(request).refusal(_KINDS.get(status, "invalid_request"), message)
    return status, JSON_HEADERS, refusal.body


def dialect_of(request: HttpRequest) -> Dialect:
    """Return the dialect whose client sends this, as far as path and headers say it."""
    return DIALECTS[next(_signs_of(request), "openai_chat")]


def _signs_of(request: HttpRequest) -> Iterator[str]:
    path, headers = request.path, request.headers
    if "anthropic-version" in headers or path.endswith(("/messages", "/messages/count_tokens")):
        yield "anthropic_messages"
    if path.startswith("/api/") and "/v1/" not in path:  # OpenRouter has /api/v1/.
        yield "ollama"
    if "/v1beta/" in path or "x-goog-api-key" in headers:
        yield "gemini"
    if path.endswith("/responses"):
        yield "openai_responses"


def _document(request: HttpRequest) -> Any:
    """Return the document of a list, a count or a version; None if it is none of them."""
    path, name = request.path, dialect_of(request).name
    if (request.method, path) in _OLLAMA:
        return _OLLAMA[request.method, path]
    if request.method == "POST" and path.endswith(("/messages/count_tokens", ":countTokens")):
        body = parse_json(request.body)
        prompts = DIALECTS[name].prompts(body) if isinstance(body, dict) else {}
        return {
            "input_tokens" if name == "anthropic_messages" else "totalTokens": sum(
                map(count_tokens, prompts.values())
            )
        }
    _, slash, model = path.rpartition("/models")
    if request.method != "GET" or not slash or (model and not model.startswith("/")):
        return None
    return _models(name, model.lstrip("/"))


def _models(dialect: str, model: str) -> Any:
    """Return the list of models, or one of them."""
    id = model or MODEL
    if dialect == "gemini":
        one: dict[str, Any] = {
            "name": f"models/{id}",
            "version": "1",
            "displayName": id,
            "inputTokenLimit": 1_000_000,
            "outputTokenLimit": 65_536,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        }
        return one if model else {"models": [one]}
    if dialect == "anthropic_messages":
        one = {"type": "model", "id": id, "display_name": id, "created_at": CREATED_AT}
        return one if model else {"data": [one], "has_more": False, "first_id": id, "last_id": id}
    one = {"id": id, "object": "model", "created": CREATED_S, "owned_by": "faultkit"}
    return one if model else {"object": "list", "data": [one]}
