"""Recordings of the gateway's traffic, written as it passes; `mcp.recorded_lines` has their format."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, Literal, Protocol, TextIO, TypeAlias

from faultkit.base.errors import InputError
from faultkit.base.files import open_private
from faultkit.faults.call_fault import Call, Frame, Verdict
from faultkit.mcp.recorded_lines import frame_line, injection_line, rules_line
from faultkit.mcp.wire.message import Id, Incoming
from faultkit.plan import Plan, Rule

_log = logging.getLogger(__name__)

Side: TypeAlias = Literal["client", "server", "gateway"]


class TrafficObserver(Protocol):
    """Receives the gateway's traffic as it passes."""

    def message(self, session: str, side: Side, incoming: Incoming) -> None:
        """Handle a message that one side sent."""

    def injected(self, session: str, rule: Rule, call: Call, verdict: Verdict) -> None:
        """Handle an injection, before its verdict is executed."""

    def sent(self, session: str, id: Id, frame: Frame) -> None:
        """Handle a frame that the client gets in place of the reply to this request: a fault's, or a status
        of the upstream."""

    def closed(self, session: str, id: Id) -> None:
        """Handle the end of the client's wait for a reply: it closed the response to this request."""


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
        self.path = str(self._file.name)
        """The file, with its number if it has one."""
        self._clock = clock
        self._say = say

    def message(self, session: str, side: Side, incoming: Incoming) -> None:
        self._write({"session": session, "from": side, **_content(incoming)})

    def injected(self, session: str, rule: Rule, call: Call, verdict: Verdict) -> None:
        self._write(injection_line(session, rule, call, verdict))

    def sent(self, session: str, id: Id, frame: Frame) -> None:
        self._write(frame_line(session, id, frame))

    def closed(self, session: str, id: Id) -> None:
        self._write({"session": session, "from": "client", "closed": id})

    def rules(self, plan: Plan) -> None:
        """Write which rules are in force from now on."""
        self._write(rules_line(plan))

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
