"""Answers that a handler of Go writes to its client, which a slow one takes slowly."""

from __future__ import annotations

import re
from functools import lru_cache

from faultkit.code.facts import Call, Facts

_WRITES = (
    "Fprint", "Fprintf", "Fprintln", "Copy", "CopyN", "WriteString", "Write", "Encode", "Execute",
    "ExecuteTemplate", "WriteTo", "ServeContent", "WriteAll",
)  # fmt: skip


@lru_cache(maxsize=4)
def written_to_clients(facts: Facts) -> frozenset[Call]:
    """Return calls that write to an `http.ResponseWriter`, also through an encoder made of it."""
    if facts.language != "go" or b"ResponseWriter" not in facts.syntax.source:
        return frozenset()
    return frozenset(call for call in facts.calls_of_method(*_WRITES) if _is_to_client(call, facts))


def _is_to_client(call: Call, facts: Facts) -> bool:
    writers = {
        each.name
        for scope in facts.functions_around(call)
        for each in scope.parameters
        if each.type == "net/http.ResponseWriter"
    }
    if not writers:
        return False
    if call.receiver_written in writers:
        return call.method in ("Write", "WriteString")
    given = [call, *([] if call.origin is None else [call.origin])]
    return any(each.positional and each.positional[0].value.text in writers for each in given)


def is_written_elsewhere(lock: Call, facts: Facts) -> bool:
    """Return whether another function takes the lock to write: one that waits lets no more readers in."""
    last = lock.receiver_written.rpartition(".")[2]
    return any(
        facts.function_of(each) is not facts.function_of(lock)
        for each in facts.calls_of_method("Lock")
        if re.split(r"[.]", each.receiver_written)[-1] == last
    )
