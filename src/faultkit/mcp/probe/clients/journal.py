"""What a faulty server has heard of its client, one entry a thing. Plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from faultkit.faults.call.call import Era

Word: TypeAlias = Literal["opened", "closed", "request", "cancelled", "injected"]
CALL = "tools/call"


@dataclass(frozen=True, slots=True)
class Entry:
    word: Word
    session: str = ""
    era: Era = "legacy"
    method: str = ""
    id: str | int | None = None
    call: str = ""
    """Of a call, its tool and arguments: what a retry has in common with what it retries."""
    at_ms: float = 0.0
    """When it was heard, since the client was started."""

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


def entry_of(line: bytes, session: str, at_ms: float) -> Entry:
    """As another process has written it."""
    return Entry(**{**json.loads(line), "session": session, "at_ms": at_ms})


def call_of(params: Mapping[str, Any]) -> str:
    asked = {"name": params.get("name"), "arguments": params.get("arguments")}
    return json.dumps(asked, sort_keys=True, ensure_ascii=False)
