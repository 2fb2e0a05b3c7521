"""Legal messages, and mutations of their bits, types, keys, ids and lengths. Pure, determined by a seed."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

TOOL = "echo"
VERSION, MODERN = "2025-11-25", "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "fuzz", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_INIT = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "fuzz", "version": "1"}}


def request(method: str, params: Any, id: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def call(id: Any, *, modern: bool = False, tool: str = TOOL) -> dict[str, Any]:
    params: dict[str, Any] = {"name": tool, "arguments": {"text": "Ahoy", "count": 3}}
    return request("tools/call", {**params, "_meta": _META} if modern else params, id)


def initialize(id: Any) -> dict[str, Any]:
    return request("initialize", _INIT, id)


def legal(rng: random.Random) -> Any:
    """Return a legal message of a client or a server. Its ids differ from those of legal calls, but may
    repeat."""
    id = rng.randrange(50) if rng.random() < 0.7 else f"fuzz-{rng.randrange(50)}"
    messages: list[Callable[[], Any]] = [
        lambda: call(id),
        lambda: call(id),
        lambda: call(id, modern=True),
        lambda: call(id, tool="greet"),
        lambda: {**call(id), "params": {"name": TOOL, "_meta": {"progressToken": id}}},
        lambda: request("ping", {}, id),
        lambda: request("tools/list", {"cursor": "x"}, id),
        lambda: request("resources/read", {"uri": "fuzz://one"}, id),
        lambda: request("prompts/get", {"name": "hail", "arguments": {"name": "you"}}, id),
        lambda: request("server/discover", {"_meta": _META}, id),
        lambda: request("sampling/createMessage", {"messages": [], "maxTokens": 5}, id),
        lambda: {"jsonrpc": "2.0", "method": "notifications/initialized"},
        lambda: {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}},
        lambda: {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": id, "progress": 1},
        },
        lambda: {"jsonrpc": "2.0", "id": id, "result": {"content": []}},
        lambda: {"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": "no"}},
        lambda: [call(id), request("ping", {}, "fuzz-b"), {"jsonrpc": "2.0", "method": "x"}],
        lambda: initialize(id) if rng.random() < 0.2 else request("ping", {}, id),
    ]
    return rng.choice(messages)()


# --- what is wrong with the value ---------------------------------------------------------------


class Raw(str):
    """Stands in a value for text that is written unchanged and need not be JSON."""


def _nasty(rng: random.Random) -> Any:
    return rng.choice(
        [
            None,
            True,
            0,
            -1,
            -0.0,
            1.5,
            2**53 + 1,
            10**400,
            "",
            "\x00",
            "\u2028\r\n",
            "a" * rng.choice([10, 1000, 70_000]),
            [],
            {},
            [[]],
            {"": {}},
            [None] * 40,
            "2.0",
            "tools/call",
            VERSION,
            MODERN,
            Raw("NaN"),
            Raw("-Infinity"),
            Raw("1e99999"),
            Raw("1" * 5000),
            Raw("-"),
            Raw("0x10"),
            Raw("'single'"),
            Raw('"\\ud800"'),
            Raw('"\\udc00\\ud800"'),
            Raw('"\\q"'),
            Raw('"tab\there"'),
            Raw("[" * 50 + "]" * 50),
            Raw("[" * rng.choice([900, 5_000, 60_000])),
            Raw('{"a":' * 1500 + "1" + "}" * 1500),
            Raw("//"),
        ]
    )


def _places(value: Any, found: list[tuple[Any, Any]]) -> None:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        found.append((value, key))
        _places(inner, found)


def _wrong_value(value: Any, rng: random.Random) -> Any:
    places: list[tuple[Any, Any]] = []
    _places(value, places)
    if not places or rng.random() < 0.03:
        return _nasty(rng)
    owner, key = rng.choice(places)
    kind = rng.randrange(5)
    if kind == 0:
        del owner[key]
    elif kind == 1 and isinstance(owner, dict):
        owner[rng.choice([key.upper(), key + "\x00", "", "id", "method", "_meta", "x" * 300])] = owner.pop(
            key
        )
    elif kind == 2 and isinstance(owner, dict):
        # A duplicate key, which JSON text can have and a dict cannot.
        owner[Raw(json.dumps(key))] = _nasty(rng)
    else:
        owner[key] = _nasty(rng)
    return value


def written(value: Any) -> str:
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        pairs = (
            f"{key if isinstance(key, Raw) else json.dumps(key)}:{written(v)}" for key, v in value.items()
        )
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    return json.dumps(value)


# --- what is wrong with the bytes ---------------------------------------------------------------

_INSERTED = [
    b"\x00",
    b"\r",
    b"\r\n",
    b"\n",
    b"\xff",
    b"\xc3\x28",
    b"\xed\xa0\x80",
    b"\xf8\x88\x80\x80\x80",
    b"\xef\xbb\xbf",
    b"\x1b[2J",
    b'"',
    b"}",
    b"{" * 300,
    b"\\",
    b"\xe2\x80\xa8",
    b"A" * 5000,
]


def _flip(data: bytearray, at: int, rng: random.Random) -> None:
    data[at] ^= 1 << rng.randrange(8)


def _set(data: bytearray, at: int, rng: random.Random) -> None:
    data[at] = rng.randrange(256)


def _insert(data: bytearray, at: int, rng: random.Random) -> None:
    data[at:at] = rng.choice(_INSERTED)


def _drop(data: bytearray, at: int, rng: random.Random) -> None:
    del data[at : at + rng.randrange(1, 9)]


def _repeat(data: bytearray, at: int, rng: random.Random) -> None:
    data[at:at] = data[at : at + rng.randrange(1, 40)] * rng.randrange(1, 4)


def _truncate(data: bytearray, at: int, rng: random.Random) -> None:
    del data[at:]


_BYTE_WRONGS = (_flip, _flip, _set, _insert, _insert, _drop, _repeat, _truncate)


def wrong_bytes(raw: bytes, rng: random.Random, most: int = 3) -> bytes:
    data = bytearray(raw)
    for _ in range(rng.randint(1, most)):
        if data:
            rng.choice(_BYTE_WRONGS)(data, rng.randrange(len(data)), rng)
    return bytes(data)


def mutated(rng: random.Random) -> bytes:
    """Return one message that is wrong in its value, in its bytes, in both, or not at all."""
    value = legal(rng)
    roll = rng.random()
    if roll < 0.65:
        value = copy.deepcopy(value)
        for _ in range(rng.randint(1, 2)):
            if isinstance(value, dict | list):
                value = _wrong_value(value, rng)
    raw = written(value).encode("utf-8", "surrogatepass")
    if 0.57 < roll < 0.95:
        raw = wrong_bytes(raw, rng)
    return raw
