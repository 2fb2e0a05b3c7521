"""What is kept of the notifications that a call sent before its reply."""

from __future__ import annotations

from faultkit.audit.redact import json_text, redacted
from faultkit.audit.row import MOST_NOTIFICATIONS, MOST_PAYLOAD_BYTES
from faultkit.base.times import time_text
from faultkit.mcp.failures.service import Ended


def notes_text(ended: Ended, began_us: int) -> tuple[str | None, bool]:
    """As JSON, and whether some were left out. The first ones are kept, as many as there is room for."""
    texts: list[str] = []
    size = len("[]")
    for note in ended.notes[:MOST_NOTIFICATIONS]:
        at_us = began_us + round((note.at_s - ended.began_s) * 1_000_000)
        params = redacted(note.params)
        if isinstance(token := note.params.get("progressToken"), str | int):
            # Named like a secret, but none.
            params["progressToken"] = redacted(token)
        text = json_text({"ts": time_text(at_us), "method": note.method, "params": params})
        size += len(text.encode("utf-8")) + len(",")
        if size > MOST_PAYLOAD_BYTES:
            break
        texts.append(text)
    left_out = ended.notes_left_out > 0 or len(texts) < len(ended.notes)
    return f"[{','.join(texts)}]", left_out
