"""Calls of the feature server that need the client's input in the modern era, as rounds of questions."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import mcp_types as t
from mcp.shared.exceptions import MCPError

from tests.mcp.feature_content import text

_SECRET = b"not secret at all"


def _form(message: str, **properties: str) -> t.ElicitRequest:
    schema = {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": list(properties),
    }
    return t.ElicitRequest(params=t.ElicitRequestFormParams(message=message, requested_schema=schema))


def _question(words: str, tokens: int) -> t.CreateMessageRequest:
    message = t.SamplingMessage(role="user", content=text(words))
    return t.CreateMessageRequest(params=t.CreateMessageRequestParams(messages=[message], max_tokens=tokens))


_NAME = _form("What is your name?", name="string")
_CONFIRM = {"confirm": _form("Please confirm", ok="boolean")}

Round = dict[str, Any]
ROUNDS: dict[str, list[Round]] = {
    "test_input_required_result_elicitation": [{"user_name": _NAME}],
    "test_input_required_result_sampling": [
        {"capital_question": _question("What is the capital of France?", 100)}
    ],
    "test_input_required_result_list_roots": [{"client_roots": t.ListRootsRequest()}],
    "test_input_required_result_request_state": [_CONFIRM],
    "test_input_required_result_tampered_state": [_CONFIRM],
    "test_input_required_result_multiple_inputs": [
        {
            "user_name": _NAME,
            "greeting": _question("Generate a greeting", 50),
            "client_roots": t.ListRootsRequest(),
        }
    ],
    "test_input_required_result_multi_round": [
        {"step1": _form("Step 1: What is your name?", name="string")},
        {"step2": _form("Step 2: What is your favorite color?", color="string")},
    ],
    "test_input_required_result_capabilities": [{"user_name": _NAME, "greeting": _question("Greet", 50)}],
    "test_input_required_result_prompt": [
        {"user_context": _form("What context should the prompt use?", context="string")}
    ],
    "test_streaming_elicitation": [{"user_name": _NAME}],
}
_STATELESS = {
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
}
_NEEDS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}


def ask(
    name: str, responses: dict[str, Any] | None, state: str | None, capabilities: t.ClientCapabilities | None
) -> t.InputRequiredResult | str:
    """Return the next round of questions, or the result when all have been answered."""
    number = _round_of(name, state)
    given = responses or {}
    rounds = ROUNDS[name]
    if all(key in given for key in rounds[number]):
        number += 1
    if number == len(rounds):
        return f"state-ok, {_words(given)}"
    requests = rounds[number]
    if name == "test_input_required_result_capabilities":
        requests = {
            key: request
            for key, request in requests.items()
            if getattr(capabilities, _NEEDS[request.method], None) is not None
        }
    own = None if name in _STATELESS else _state(name, number)
    return t.InputRequiredResult(input_requests=requests, request_state=own)


def _words(given: dict[str, Any]) -> str:
    found = []
    for answer in given.values():
        if isinstance(answer, t.ElicitResult):
            found += [str(value) for value in (answer.content or {}).values()]
        elif isinstance(answer, t.ListRootsResult):
            found += [f"{root.name} {root.uri}" for root in answer.roots]
        else:
            found.append(str(getattr(getattr(answer, "content", None), "text", "")))
    return ", ".join(found)


def _state(name: str, number: int) -> str:
    return f"{number}.{hmac.new(_SECRET, f'{name}{number}'.encode(), hashlib.sha256).hexdigest()}"


def _round_of(name: str, state: str | None) -> int:
    for number in range(len(ROUNDS[name])):
        if state == _state(name, number):
            return number
    if state is not None:
        raise MCPError(t.INVALID_PARAMS, "requestState was tampered with")
    return 0
