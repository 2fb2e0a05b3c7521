"""The dialects, and which of them a request speaks."""

from __future__ import annotations

from faultkit.faults.dialects.anthropic_messages import AnthropicMessages
from faultkit.faults.dialects.dialect import Dialect, LlmRequest
from faultkit.faults.dialects.gemini import Gemini
from faultkit.faults.dialects.json_members import parse_json
from faultkit.faults.dialects.ollama import Ollama
from faultkit.faults.dialects.openai_chat import OpenAiChat
from faultkit.faults.dialects.openai_responses import OpenAiResponses

DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (OpenAiChat(), OpenAiResponses(), AnthropicMessages(), Gemini(), Ollama())
}


_OF_EVERY_DIALECT = {"model": "", "messages": [], "contents": [], "input": ""}
"""A document that every dialect takes: the path alone decides."""


def may_be_request(target: str) -> bool:
    """Return whether requests to models go to this path, in any dialect."""
    path, _, query = target.partition("?")
    return any(dialect.request_of(path, query, _OF_EVERY_DIALECT) for dialect in DIALECTS.values())


def read_request(target: str, body: bytes) -> LlmRequest | None:
    """Return the request to a model, or None if it is none: by the path and by the shape of its document.

    target: path and query, as in the request line"""
    path, _, query = target.partition("?")
    document = parse_json(body)
    if not isinstance(document, dict):
        return None
    found = (dialect.request_of(path, query, document) for dialect in DIALECTS.values())
    return next((request for request in found if request is not None), None)
