"""The lines of a recording, written and read: one JSON object per line. Pure.

    {"t": 0.001, "from": "gateway", "rules": [{"name": "slow", "fault": "slow"}]}
    {"t": 0.012, "session": "stdio", "from": "client", "message": {…}}
    {"t": 0.013, "session": "stdio", "inject": "slow", "fault": "slow", "method": "tools/call", "id": 3, …}
    {"t": 0.913, "session": "stdio", "from": "gateway", "frame": "Send", "id": 3, "message": {…}}
    {"t": 1.210, "session": "modern", "from": "client", "closed": 4}

`from` is `client`, `server`, or `gateway`. The gateway's lines are the rules in force, at the start and after
each change, and the frames that a client got in place of the server's reply: those of a fault, or a status of
the upstream without a reply. `closed`: over HTTP, the client
closed its connection before the reply to this request. Bytes that are not JSON are kept
as text under `raw`. Readers ignore members that they do not know, and lines without a message.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError
from faultkit.faults.call_fault import (
    Call,
    Cut,
    Disconnect,
    Drip,
    EndStream,
    Frame,
    KeepAlive,
    Message,
    Send,
    Status,
    Verdict,
)
from faultkit.plan import Plan, Rule

SIDES = ("client", "server", "gateway")
_TIMES = ("t", "delay_s", "every_s", "for_s", "after_s")
"""Members that are times in seconds."""
_MOST_SECONDS = 10_000_000_000
"""Longer than any run, and later than any date."""
_CONTENT = ("message", "body")
"""Fields of frames that are not written under their own names."""


def rules_line(plan: Plan) -> dict[str, Any]:
    """Return the line with the rules that are in force."""
    return {
        "from": "gateway",
        "rules": [{"name": rule.name, "fault": rule.fault.kind} for rule in plan.rules],
    }


def injection_line(session: str, rule: Rule, call: Call, verdict: Verdict) -> dict[str, Any]:
    """Return the line of an injection."""
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
        "delay_s": verdict.delay_s or None,
        "freezes": verdict.freezes_session or None,
        "lasts": None if rule.lasts else False,
        "asks": verdict.ask,
        "rewrites": verdict.frames is not None,
    }
    return {key: value for key, value in about.items() if value not in (None, "")}


def verdict_of(line: Mapping[str, Any]) -> Verdict:
    """Return the verdict of an injection as far as its line shows it; `frames` only marks that there are any.

    Recordings of earlier versions do not have `asks` and `rewrites`: their delays let the reply pass."""
    rewrites = line.get("rewrites", line.get("effect") != "delay_ms")
    delay_s = line.get("delay_s")
    return Verdict(
        delay_s=float(delay_s) if isinstance(delay_s, int | float) else 0.0,
        ask=line.get("asks") is not False,
        frames=(lambda reply: ()) if rewrites else None,
        freezes_session=line.get("freezes") is True,
        effect=str(line.get("effect", "")),
        marker=str(line.get("marker", "")),
    )


def frame_line(session: str, id: str | int, frame: Frame) -> dict[str, Any]:
    """Return the line of a frame that the client gets in place of the reply to a request."""
    line: dict[str, Any] = {"session": session, "from": "gateway", "frame": type(frame).__name__, "id": id}
    message = getattr(frame, "message", None)
    if isinstance(message, dict):
        line["message"] = message
    elif message is not None:
        line["raw"] = message.decode("utf-8", "replace")
    settings = {field.name: getattr(frame, field.name) for field in fields(frame)}
    return line | {name: value for name, value in settings.items() if name not in _CONTENT and value}


def frame_of(line: Mapping[str, Any]) -> Frame | None:
    """Return the frame of a line; None if it has none that is known.

    Recordings of earlier versions lack the settings of a frame: it then counts as sent at once."""
    message = line.get("message")
    content: Message | bytes = message if isinstance(message, dict) else str(line.get("raw", "")).encode()
    after_s = float(line.get("after_s", 0))
    match line.get("frame"):
        case "Send":
            return Send(content, after_s)
        case "Cut":
            return Cut(content, after_s=after_s)
        case "Drip":
            chunk_bytes, every_s = line.get("chunk_bytes"), line.get("every_s")
            if isinstance(chunk_bytes, int) and chunk_bytes > 0 and isinstance(every_s, int | float):
                return Drip(content, chunk_bytes, float(every_s))
            return Send(content)
        case "KeepAlive":
            for_s = line.get("for_s")
            return KeepAlive(0.0, float(for_s) if isinstance(for_s, int | float) else 0.0)
        case "EndStream":
            return EndStream()
        case "Disconnect":
            return Disconnect(reset=line.get("reset") is True)
        case "Status" if isinstance(line.get("status"), int):
            return Status(line["status"], _headers(line.get("headers")))
    return None


def _headers(value: object) -> tuple[tuple[str, str], ...]:
    pairs = value if isinstance(value, list) else []
    return tuple((str(pair[0]), str(pair[1])) for pair in pairs if isinstance(pair, list) and len(pair) == 2)


def read_lines(text: str, source: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the lines of a recording, and problems for the user.

    Raises InputError with the line of a mistake. A last line that is cut off is only a problem."""
    warnings: list[str] = []
    # Not splitlines: JSON text may contain other line separators.
    *lines, last = text.split("\n")
    if last.strip() and not _is_complete(last):
        # The writer was killed or ran out of space. The earlier lines are intact.
        warnings.append(f"{source}: line {len(lines) + 1}, the last one, is cut off, and left out")
    else:
        lines.append(last)
    entries = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                entries.append(_entry(line))
            except InputError as error:
                raise error.at(f"{source}: line {number}") from None
    return entries, warnings


def _is_complete(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _entry(line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except json.JSONDecodeError as error:
        where = f"character {error.pos + 1} of {len(line)}"
        raise InputError("", f"expected a whole JSON object: {error.msg}: {where}") from None
    except (ValueError, RecursionError):
        raise InputError("", f"expected a JSON object that can be read, got {shown(line)}") from None
    if not isinstance(entry, dict):
        raise InputError("", f"expected a JSON object, got {shown(entry)}")
    if "inject" not in entry and entry.get("from") not in SIDES:
        raise InputError("", f"expected from: {', '.join(SIDES)}, got {shown(entry.get('from'))}")
    if not isinstance(entry.get("message", {}), dict | list):
        raise InputError("", f"expected an object as message, got {shown(entry['message'])}")
    for key in _TIMES:
        if key in entry and not _is_time(entry[key]):
            raise InputError("", f"expected {key}: 0 to {_MOST_SECONDS:,} seconds, got {shown(entry[key])}")
    return entry


def _is_time(value: object) -> bool:
    """Return whether a value is a number of seconds. JSON may have numbers beyond any float, and NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= _MOST_SECONDS
