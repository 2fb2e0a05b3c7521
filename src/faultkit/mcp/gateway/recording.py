"""What went through the gateway, one JSON object a line: messages as they were, and what was injected.

    {"t": 0.012, "session": "stdio", "from": "client", "message": {…}}
    {"t": 0.013, "session": "stdio", "inject": "slow", "fault": "slow", "method": "tools/call", …}

`from` is `client`, `server`, or `gateway` for what the client got instead of the server's reply. What is no
JSON stands as text under `raw`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TextIO, TypeAlias

from faultkit.errors import InputError
from faultkit.faults.call.call import Call, Frame, Verdict
from faultkit.mcp.wire.message import Incoming
from faultkit.plan import Rule

_log = logging.getLogger(__name__)

Side: TypeAlias = Literal["client", "server", "gateway"]


class Recorder:
    """Writes as things happen; a line is on disk when the next one begins."""

    def __init__(self, path: str, clock: Callable[[], float]) -> None:
        try:
            self._file: TextIO = Path(path).open("w", encoding="utf-8", buffering=1)  # noqa: SIM115
        except OSError as error:
            raise InputError("record", f"cannot write {path}: {error.strerror}") from None
        self._clock = clock

    def message(self, session: str, side: Side, incoming: Incoming) -> None:
        self._write({"session": session, "from": side, **_content(incoming)})

    def injected(self, session: str, rule: Rule, call: Call, verdict: Verdict) -> None:
        about = {
            "session": session,
            "inject": rule.name,
            "fault": rule.fault.kind,
            "method": call.method,
            "name": call.name,
            "id": call.id,
            "effect": verdict.effect,
            "amount": verdict.amount,
            "marker": verdict.marker,
        }
        self._write({key: value for key, value in about.items() if value not in (None, "")})

    def sent(self, session: str, frame: Frame) -> None:
        """What the client got in place of a reply."""
        entry: dict[str, Any] = {"session": session, "from": "gateway", "frame": type(frame).__name__}
        message = getattr(frame, "message", None)
        if isinstance(message, dict):
            entry["message"] = message
        elif message is not None:
            entry["raw"] = message.decode("utf-8", "replace")
        if status := getattr(frame, "status", None):
            entry["status"] = status
        self._write(entry)

    def close(self) -> None:
        with suppress(OSError):
            self._file.close()

    def _write(self, entry: dict[str, Any]) -> None:
        if not self._file.closed:
            line = {"t": round(self._clock(), 6), **entry}
            try:
                self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
            except OSError as error:
                # The traffic matters more than its recording: it goes on, and what is missing is told.
                _log.warning("the recording ends here: %s", error.strerror)
                with suppress(OSError):
                    self._file.close()


def _content(incoming: Incoming) -> dict[str, Any]:
    if incoming.kind == "batch":
        return {"message": [item.message for item in incoming.items]}
    if incoming.message:
        return {"message": incoming.message}
    return {"raw": incoming.raw.decode("utf-8", "replace")}
