"""Recordings of the gateway's traffic, one JSON object per line: messages and injections.

    {"t": 0.012, "session": "stdio", "from": "client", "message": {…}}
    {"t": 0.013, "session": "stdio", "inject": "slow", "fault": "slow", "method": "tools/call", …}

`from` is `client`, `server`, or `gateway` for what the client got in place of the server's reply. Bytes that
are not JSON are kept as text under `raw`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, Literal, Protocol, TextIO, TypeAlias

from faultkit.base.errors import InputError
from faultkit.base.files import open_private
from faultkit.faults.call_fault import Call, Frame, Verdict
from faultkit.mcp.wire.message import Id, Incoming
from faultkit.plan import Rule

_log = logging.getLogger(__name__)

Side: TypeAlias = Literal["client", "server", "gateway"]


class TrafficObserver(Protocol):
    """Receives the gateway's traffic as it passes."""

    def message(self, session: str, side: Side, incoming: Incoming) -> None:
        """Handle a message that one side sent."""

    def injected(self, session: str, rule: Rule, call: Call, verdict: Verdict) -> None:
        """Handle an injection, before its verdict is executed."""

    def sent(self, session: str, id: Id, frame: Frame) -> None:
        """Handle a frame that the client gets in place of the reply to this request."""


class Recorder:
    """A `TrafficObserver` that writes a recording, line-buffered."""

    def __init__(
        self,
        path: str,
        clock: Callable[[], float],
        *,
        overwrite: bool = False,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        """Raises InputError if the file exists and is not empty, unless `overwrite` is set. A `*` in the file
        name becomes the first free number. `say` gets a warning, once, if writing fails later."""
        try:
            is_numbered = "*" in Path(path).name
            self._file = _open_numbered(path, say) if is_numbered else _open_one(path, overwrite)
        except OSError as error:
            raise InputError("--record", f"cannot write {path}: {error.strerror}") from None
        self._clock = clock
        self._say = say

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

    def sent(self, session: str, id: Id, frame: Frame) -> None:
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
        """Close the file; later messages are not recorded."""
        if not self._file.closed:
            try:
                self._file.close()
            except OSError as error:
                self._end_early(error)

    def _write(self, entry: dict[str, Any]) -> None:
        if not self._file.closed:
            line = {"t": round(self._clock(), 6), **entry}
            try:
                self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
            except OSError as error:
                self._end_early(error)

    def _end_early(self, error: OSError) -> None:
        """Stop recording after a write error, with a warning; the traffic goes on."""
        with suppress(OSError):
            self._file.close()
        _log.warning("the recording ends here: %s", error.strerror)
        self._say(f"warning: the recording ends here: {error.strerror}")


def _open_one(path: str, overwrite: bool) -> TextIO:
    file = Path(path)
    if not overwrite and os.path.isfile(file) and file.stat().st_size > 0:
        numbered = file.with_stem(f"{file.stem}-*")
        raise InputError(
            "--record",
            f"{path} is there already: --overwrite replaces it, --record '{numbered}' numbers its files",
        )
    return _opened(file, "w")


def _open_numbered(path: str, say: Callable[[str], None]) -> TextIO:
    for number in count(1):
        file = Path(path).with_name(Path(path).name.replace("*", str(number)))
        with suppress(FileExistsError):
            return _opened(file, "x", say)
    raise AssertionError("there is always another number")


def _opened(file: Path, mode: Literal["w", "x"], say: Callable[[str], None] = lambda line: None) -> TextIO:
    opened = open(file, mode, encoding="utf-8", buffering=1, opener=open_private)  # noqa: SIM115 (kept open)
    if mode == "x":
        say(f"recording to {file}")
    return opened


def _content(incoming: Incoming) -> dict[str, Any]:
    if incoming.kind == "batch":
        return {"message": [item.message for item in incoming.items]}
    if incoming.message:
        return {"message": incoming.message}
    return {"raw": incoming.raw.decode("utf-8", "replace")}
