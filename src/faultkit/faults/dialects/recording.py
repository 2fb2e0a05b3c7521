"""Recorded exchanges with models: what was asked and what the provider answered, as lines of JSON. Pure.

Secrets are masked when an exchange is recorded, and the request that is looked up is masked in the same way.
Headers are not recorded, but for the type of the content.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from faultkit.base.errors import InputError
from faultkit.base.secrets import hide_secrets
from faultkit.faults.dialects.dialect import AnswerReader, LlmRequest
from faultkit.faults.dialects.dialect_table import read_request
from faultkit.faults.dialects.json_members import parse_json, write_json
from faultkit.faults.dialects.llm_events import Path

VERSION = 1
HEADER = json.dumps({"faultkit_llm_recording": VERSION})
"""The first line of a file."""


@dataclass(frozen=True, slots=True)
class RecordedExchange:
    """One request and its answer."""

    path: str
    request: Mapping[str, Any]
    """The document of the request, masked."""
    status: int
    content_type: str
    units: tuple[tuple[float, str], ...]
    """Parts of the body in the order in which they came, with the seconds since the head."""

    @property
    def key(self) -> str:
        """Equal for equal requests."""
        return key_of(self.path, self.request)


def key_of(path: str, masked: Mapping[str, Any]) -> str:
    """Return the key of a request whose document is masked already."""
    canonical = json.dumps([path, masked], sort_keys=True, separators=(",", ":"))
    return sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def masked(value: Any) -> Any:
    """Return a document with a mask in place of each secret in its texts."""
    if isinstance(value, str):
        return hide_secrets(value)
    if isinstance(value, Mapping):
        return {key: masked(each) for key, each in value.items()}
    return [masked(each) for each in value] if isinstance(value, list) else value


def exchange_of(
    request: LlmRequest, status: int, content_type: str, parts: Iterable[tuple[float, bytes]]
) -> RecordedExchange | None:
    """Return an exchange to record, masked; None if its answer is not UTF-8."""
    # A part may end in the middle of a character: the rest of it goes with the part before.
    units: list[tuple[float, bytes]] = []
    for at, part in parts:
        if units and units[-1][1] and not _is_text(units[-1][1]):
            units[-1] = (units[-1][0], units[-1][1] + part)
        else:
            units.append((at, part))
    if not all(_is_text(part) for _, part in units):
        return None
    units = _masked_across(request, status, content_type, units)
    return RecordedExchange(
        request.path,
        masked(request.body),
        status,
        content_type,
        tuple((round(at, 6), _masked_text(part.decode())) for at, part in units),
    )


def _masked_across(
    request: LlmRequest, status: int, content_type: str, units: list[tuple[float, bytes]]
) -> list[tuple[float, bytes]]:
    """Return the parts with secrets masked that are spread over deltas: the first delta then has all of the
    masked text. Unchanged if there are none."""
    reader = AnswerReader(request, status, content_type)
    chunks = [chunk for at, part in units for chunk in reader.feed(part, at)]
    chunks += reader.end(units[-1][0] if units else 0.0)
    said: dict[tuple[str, str], str] = {}
    for chunk in chunks:
        for part in chunk.parts:
            if part.kind in _SPREAD and isinstance(part.value, str):
                name = (part.kind, part.channel)
                said[name] = said.get(name, "") + part.value
    hidden = {name: new for name, text in said.items() if (new := hide_secrets(text)) != text}
    if not hidden:
        return units
    out: list[tuple[float, bytes]] = []
    for chunk in chunks:
        changes: dict[Path, Any] = {}
        for part in chunk.parts:
            name = (part.kind, part.channel)
            if name in hidden and isinstance(part.value, str):
                changes[part.path], hidden[name] = hidden[name], ""
        out.append((chunk.at, request.dialect.with_changes(chunk, changes).raw))
    return out


_SPREAD = ("text", "arguments")
"""Parts that continue each other over several deltas."""


def _is_text(part: bytes) -> bool:
    try:
        part.decode()
    except UnicodeDecodeError:
        return False
    return True


def _masked_text(text: str) -> str:
    """Return a part of an answer, masked; documents in it stay documents."""
    document = parse_json(text.encode())
    if isinstance(document, (dict, list)):
        hidden = masked(document)
        return text if hidden == document else write_json(hidden).decode()
    return hide_secrets(text)


def line_of(exchange: RecordedExchange) -> str:
    """Return the line of an exchange, without its end."""
    return json.dumps(
        {
            "path": exchange.path,
            "request": exchange.request,
            "status": exchange.status,
            "content_type": exchange.content_type,
            "answer": [list(unit) for unit in exchange.units],
        },
        ensure_ascii=False,
    )


def parse_recording(text: str, source: str) -> tuple[RecordedExchange, ...]:
    """Return the exchanges of a file. Raises InputError that names file and line."""
    first, *lines = text.split("\n")  # Not splitlines(): texts may hold U+2028.
    found = parse_json(first.encode())
    version = found.get("faultkit_llm_recording") if isinstance(found, dict) else None
    if version is None:
        raise InputError(source, "expected a recording of fault run llm --record, got another file")
    if version != VERSION:
        raise InputError(
            source, f"expected a recording of version {VERSION}, got version {version}: record it again"
        )
    exchanges = [_exchange(line, f"{source}:{number}") for number, line in enumerate(lines, 2) if line]
    if not exchanges:
        raise InputError(source, "expected at least one recorded exchange, got none")
    return tuple(exchanges)


def _exchange(line: str, place: str) -> RecordedExchange:
    document = parse_json(line.encode("utf-8", "surrogatepass"))
    try:
        units = tuple((float(at), str(part)) for at, part in document["answer"])
        made = RecordedExchange(
            str(document["path"]),
            document["request"],
            int(document["status"]),
            str(document["content_type"]),
            units,
        )
    except (TypeError, KeyError, ValueError):
        raise InputError(place, "expected a recorded exchange, got a line that is none") from None
    if not isinstance(made.request, dict) or read_request(made.path, write_json(made.request)) is None:
        raise InputError(place, f"expected a request of a known LLM API, got one to {made.path}")
    return made


class LlmReplay:
    """Recorded answers by request. Equal requests get their answers in order, and the last one again."""

    def __init__(self, exchanges: Iterable[RecordedExchange]) -> None:
        self._exchanges = tuple(exchanges)
        self._left: dict[str, list[RecordedExchange]] = {}
        for exchange in self._exchanges:
            self._left.setdefault(exchange.key, []).append(exchange)
        self.missed = 0
        """Requests without a recorded answer."""

    def answer_to(self, request: LlmRequest) -> RecordedExchange | None:
        """Return the next recorded answer to a request, None if there is none."""
        left = self._left.get(key_of(request.path, masked(request.body)))
        if left is None:
            self.missed += 1
            return None
        return left.pop(0) if len(left) > 1 else left[0]

    def why_not(self, request: LlmRequest) -> str:
        """Return why there is no answer: where the nearest recorded request differs."""
        body = masked(request.body)
        same_path = [each for each in self._exchanges if each.path == request.path]
        if not same_path:
            paths = ", ".join(sorted({each.path for each in self._exchanges}))
            return f"the recording has no request to {request.path} (it has {paths})"
        nearest = min(same_path, key=lambda each: len(_differences(each.request, body)))
        places = _differences(nearest.request, body)
        shown = ", ".join(places[:3]) + (" …" if len(places) > 3 else "")
        return (
            f"the recording is stale, or of other requests: the nearest one differs in {shown}; "
            "record it again with fault run llm --record"
        )


def _differences(one: Any, other: Any, path: str = "") -> list[str]:
    """Return where two documents differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        names = dict.fromkeys((*one, *other))
        return [
            place
            for name in names
            for place in _differences(one.get(name), other.get(name), f"{path}.{name}".lstrip("."))
        ]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return [place for n, (a, b) in pairs for place in _differences(a, b, f"{path}[{n}]")]
    return [] if one == other else [path or "the whole document"]
