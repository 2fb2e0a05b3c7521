"""All failure tools, in four groups: failure, data, streaming, identity."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Collection, Mapping
from typing import Any

from faultkit.base.rng import Rng, fnv1a_64
from faultkit.base.secret_names import is_original_secret_key
from faultkit.base.secrets import REDACTED
from faultkit.mcp.failures.failure_tool import (
    Argument,
    Blocks,
    Caller,
    FailureTool,
    Group,
    ProtocolError,
    Structured,
    ToolError,
    ToolOutcome,
)
from faultkit.mcp.failures.go_dialect import go_text

MOST_SLOW_MS = 60_000
DEFAULT_CATEGORY = "protocol"
CODES = {"protocol": -32603, "tool": -31000, "timeout": -31001, "auth": -31003}
"""JSON-RPC codes by category; any other category has that of an internal error. Codes that MCP uses, such as
-32600, are avoided: over HTTP their status would not be 200."""
FLAKY_CODE = -31002
"""Like most of the above, outside the ranges that JSON-RPC and MCP reserve."""


def error(given: Mapping[str, Any], caller: Caller) -> ToolOutcome:
    """Fail with the given message and category, as a tool error or a JSON-RPC error."""
    message, category = given["message"] or "synthetic error", given["category"] or ""
    if given["as_tool"]:
        return ToolError(message, {"triggered": True}, category)
    known = category or DEFAULT_CATEGORY
    data = {"message": message, "category": known}
    return ProtocolError(CODES.get(known, CODES[DEFAULT_CATEGORY]), message, data, category)


async def slow(given: Mapping[str, Any], caller: Caller) -> ToolOutcome:
    """Return after the given milliseconds."""
    seconds = min(max(given["milliseconds"], 0), MOST_SLOW_MS) / 1000
    loop = asyncio.get_running_loop()
    began = loop.time()
    await asyncio.sleep(seconds)
    return Structured({"slept_ms": round((loop.time() - began) * 1000) if seconds else 0})


def flaky(given: Mapping[str, Any], caller: Caller) -> ToolOutcome:
    """Fail at the given rate. The same seed and call id always give the same outcome."""
    rate = float(min(max(given["fail_rate"], 0), 1))
    seed, call_id = given["seed"] or "", given["call_id"] or 0
    roll = roll_of(seed, call_id)
    if roll < rate:
        text = f"flaky failure (roll={roll:.4f} < rate={rate:.4f})"
        data = {"failed": True, "roll": roll, "rate": rate, "seed": seed, "call_id": call_id}
        return ProtocolError(FLAKY_CODE, text, data)
    return Structured({"failed": False, "roll": roll, "fail_rate": rate})


def roll_of(seed: str, call_id: int) -> float:
    """Return a number in [0, 1), determined by seed and call id; without a seed, a random one."""
    if not seed:
        return Rng("", secrets.randbits(64), secrets.randbits(64)).uniform()
    return Rng.keyed(go_text(seed), call_id).uniform()


FAILING = (
    FailureTool(
        "error",
        "failure",
        "Fails with your message and category: as a result with isError, or as a JSON-RPC error.",
        error,
        {
            "message": Argument("string", "what the error says; `synthetic error` if left out"),
            "category": Argument("string", "protocol, tool, timeout or auth: for filters of the audit log"),
            "as_tool": Argument("boolean", "true: a result with isError; false: a JSON-RPC error"),
        },
        {"triggered": "boolean"},
    ),
    FailureTool(
        "slow",
        "failure",
        "Answers after so many milliseconds. Cancelled, it ends at once.",
        slow,
        {"milliseconds": Argument("integer", "how long to wait; at most 60000", required=True)},
        {"slept_ms": "integer"},
    ),
    FailureTool(
        "flaky",
        "failure",
        "Fails with the probability that you name. The same seed and call_id always come to the same.",
        flaky,
        {
            "fail_rate": Argument("number", "probability of a failure, from 0 to 1", required=True),
            "seed": Argument("string", "makes the outcome the same every time"),
            "call_id": Argument("integer", "which call of the seed this is; 0 if left out"),
        },
        {"failed": "boolean", "roll": "number", "fail_rate": "number"},
    ),
)


# --- data: answers that are determined by a key, a size or a seed -------------------------------


MOST_SIZE = 1 << 20
MOST_WORDS = 5000
DEFAULT_WORDS = 50
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_WORDS = (
    "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et "
    "dolore magna aliqua enim ad minim veniam quis nostrud exercitation ullamco laboris nisi aliquip ex ea "
    "commodo consequat duis aute irure in reprehenderit voluptate velit esse cillum fugiat nulla "
    "pariatur excepteur sint occaecat cupidatat non proident sunt culpa qui officia deserunt mollit anim "
    "id est laborum"
)
_LATIN = tuple(_WORDS.split())
"""Words in the order of the original, because seeds select by index. Index 42 is a guess: the passage has
`cillum eu` there, the original has one of the two, and no recording shows which."""


def fixed_response(given: Mapping[str, Any], caller: Caller) -> ToolOutcome:
    """Return a body that depends on the key only."""
    key = given["key"]
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    return Structured({"key": key, "hash": digest, "body": f"fixed[{key}]: {digest}"})


def sized_response(given: Mapping[str, Any], caller: Caller) -> ToolOutcome:
    """Return a body of the given number of characters."""
    size = given["size"]
    if size < 0:
        return ToolError(f"size must be >= 0, got {size}")
    if size > MOST_SIZE:
        return ToolError(f"size {size} exceeds max {MOST_SIZE}")
    return Structured({"size": size, "body": (_ALPHABET * (size // 26 + 1))[:size]})


def lorem(given: Mapping[str, Any], caller: Caller) -> ToolOutcome:
    """Return the given number of words, chosen by the seed."""
    words = given["words"] or 0
    count = DEFAULT_WORDS if words <= 0 else min(words, MOST_WORDS)
    chosen = [_LATIN[index] for index in _word_indexes(given["seed"] or "", count)]
    return Structured({"words": count, "body": " ".join([chosen[0].capitalize(), *chosen[1:]]) + "."})


def _word_indexes(seed: str, count: int) -> list[int]:
    """Draw indexes as Go's IntN does: the upper half of a 64-bit word, scaled, redrawn where it would be
    biased."""
    if seed:
        known = go_text(seed)
        rng = Rng(seed, fnv1a_64(known), fnv1a_64(f"salt:{known}"))
    else:
        rng = Rng("", secrets.randbits(64), secrets.randbits(64))
    size = len(_LATIN)
    unfair = ((1 << 32) - size) % size
    indexes: list[int] = []
    while len(indexes) < count:
        scaled = (rng.uint64() >> 32) * size
        if scaled & 0xFFFFFFFF >= unfair:
            indexes.append(scaled >> 32)
    return indexes


DATA = (
    FailureTool(
        "fixed_response",
        "data",
        "A body that hangs on the key alone: the same key, the same body.",
        fixed_response,
        {"key": Argument("string", "chooses the body", required=True)},
        {"key": "string", "hash": "string", "body": "string"},
        read_only=True,
        idempotent=True,
    ),
    FailureTool(
        "sized_response",
        "data",
        "A body of exactly so many characters: the alphabet, over and over.",
        sized_response,
        {"size": Argument("integer", "characters of the body; from 0 to 1048576", required=True)},
        {"size": "integer", "body": "string"},
        read_only=True,
        idempotent=True,
    ),
    FailureTool(
        "lorem",
        "data",
        "So many words of lorem ipsum; with a seed, the same ones every time.",
        lorem,
        {
            "words": Argument("integer", "how many; 50 if left out or 0, at most 5000", required_in_go=True),
            "seed": Argument("string", "makes the words the same every time"),
        },
        {"words": "integer", "body": "string"},
        read_only=True,
    ),
)


# --- streaming: many notifications or long results -----------------------------------------------


_DIGITS = "abcdefghij"
_CHATTY = (
    "first block: short",
    "second block: a slightly longer string with multiple words",
    "third block: numbers 1 2 3 4 5",
    "fourth block: unicode; café résumé naïve",
)


async def progress(given: Mapping[str, Any], caller: Caller) -> ToolOutcome:
    """Send a progress notification for each step, if the caller gave a token."""
    steps = _bounded(given["steps"], default=5, most=100)
    pause_s = _bounded(given["step_ms"], default=200, most=5000) / 1000
    token = caller.progress_token
    for step in range(1, steps + 1):
        if token is not None:
            params = {
                "progressToken": token,
                "progress": step,
                "total": steps,
                "message": f"step {step}/{steps}",
            }
            caller.note("notifications/progress", params)
        await asyncio.sleep(pause_s)
    return Structured({"steps": steps, "notified": token is not None, "done": True})


def long_output(given: Mapping[str, Any], caller: Caller) -> ToolOutcome:
    """Return several long text blocks."""
    blocks = _bounded(given["blocks"], default=3, most=50)
    chars = _bounded(given["chars"], default=256, most=65536)
    filler = _DIGITS * (chars // len(_DIGITS) + 1)
    return Blocks(tuple(f"[block {number}] {filler}"[:chars] for number in range(blocks)))


def chatty(given: Mapping[str, Any], caller: Caller) -> ToolOutcome:
    """Return text blocks of different kinds and lengths."""
    return Blocks(_CHATTY)


def _bounded(value: int | None, *, default: int, most: int) -> int:
    return default if value is None or value <= 0 else min(value, most)


STREAMING = (
    FailureTool(
        "progress",
        "streaming",
        "Sends notifications of its progress, one a step, if the call names a progressToken in _meta.",
        progress,
        {
            "steps": Argument("integer", "how many; 5 if left out or 0, at most 100", required_in_go=True),
            "step_ms": Argument(
                "integer", "between them; 200 if left out or 0, at most 5000", required_in_go=True
            ),
        },
        {"steps": "integer", "notified": "boolean", "done": "boolean"},
    ),
    FailureTool(
        "long_output",
        "streaming",
        "Many blocks of text, each of so many characters.",
        long_output,
        {
            "blocks": Argument("integer", "how many; 3 if left out or 0, at most 50", required_in_go=True),
            "chars": Argument(
                "integer", "of each block; 256 if left out or 0, at most 65536", required_in_go=True
            ),
        },
        read_only=True,
    ),
    FailureTool("chatty", "streaming", "Four blocks of text, all unlike.", chatty, read_only=True),
)


# --- identity: what arrived: the caller, the arguments, the headers ------------------------------


def whoami(given: Mapping[str, Any], caller: Caller) -> ToolOutcome:
    """Return the identity of the caller."""
    known = {
        "subject": caller.subject,
        "email": caller.email,
        "name": caller.name,
        "auth_type": caller.auth_type,
        "claims": dict(caller.claims),
    }
    always = ("subject", "auth_type")
    return Structured({key: value for key, value in known.items() if value or key in always})


def echo(given: Mapping[str, Any], caller: Caller) -> ToolOutcome:
    """Return the arguments that are not empty."""
    return Structured({key: value for key, value in given.items() if value})


def headers(given: Mapping[str, Any], caller: Caller) -> ToolOutcome:
    """Return the request headers; the values of secret ones are replaced."""
    found: dict[str, list[str]] = {}
    for name, value in caller.headers:
        found.setdefault(_canonical_header(name), []).append(value)
    shown = {name: [REDACTED] if is_original_secret_key(name) else values for name, values in found.items()}
    return Structured({"headers": shown, "count": len(shown)})


def _canonical_header(name: str) -> str:
    return "-".join(part.capitalize() for part in name.split("-"))


IDENTITY = (
    FailureTool(
        "whoami",
        "identity",
        "Who the server takes you for.",
        whoami,
        output=None,
        read_only=True,
    ),
    FailureTool(
        "echo",
        "identity",
        "What you said, as it arrived.",
        echo,
        {
            "message": Argument("string", "a text to send back"),
            "extras": Argument("object", "anything else to send back"),
        },
        read_only=True,
    ),
    FailureTool(
        "headers",
        "identity",
        "The HTTP headers of your request, those with secrets hidden.",
        headers,
        output={"headers": "object", "count": "integer"},
        read_only=True,
    ),
)


FAILURE_TOOLS: dict[str, FailureTool] = {
    tool.name: tool for tool in sorted((*FAILING, *DATA, *STREAMING, *IDENTITY), key=lambda tool: tool.name)
}


def tools_of(groups: Collection[Group]) -> dict[str, FailureTool]:
    """Return the tools of these groups, by name."""
    return {name: tool for name, tool in FAILURE_TOOLS.items() if tool.group in groups}
