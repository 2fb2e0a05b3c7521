"""HTTP clients in fields whose values do not show by their names: literals of Go, and defaults of Python."""

from __future__ import annotations

import re

from faultkit.code.facts import Call, Facts

_METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
_OR_SESSION = re.compile(r"\b(or|else)\s+requests\.[sS]ession\(\)|^requests\.[sS]ession\(\)\s+if\b")
_ENDLESS = re.compile(r"&?http\.Client\{[^{}]*\}|http\.DefaultClient|new\(http\.Client\)")


def is_endless_field(call: Call, facts: Facts) -> bool:
    """Return whether each literal of this text gives the field of a call a client without a timeout (Go)."""
    field = call.receiver_written.rpartition(".")[2]
    given = [
        each.value.text
        for made in facts.calls
        if made.constructs
        for each in made.arguments
        if each.name == field
    ]
    set_later = any(name.endswith(f"{field}.Timeout") for name in facts.assigned_names)
    endless = all(_ENDLESS.fullmatch(text) and "Timeout" not in text for text in given)
    return bool(given) and not set_later and endless and "ResponseHeaderTimeout" not in facts.whole_text


def is_session_field(call: Call, facts: Facts) -> bool:
    """Return whether a call is `self.session.get(…)` after `self.session = session or requests.Session()`."""
    if facts.language != "python" or not call.receiver.startswith("self.") or call.method not in _METHODS:
        return False
    return any(
        call.receiver in each.targets and each.value is not None and _OR_SESSION.search(each.value.text)
        for each in facts.assignments
    )
