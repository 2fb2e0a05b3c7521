"""HTTP clients in fields whose values do not show by their names: literals of Go, and defaults of Python."""

from __future__ import annotations

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.rules.vocabulary.service_clients import type_of_receiver

SESSION_METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
_OR_SESSION = lazy_regex(r"\b(or|else)\s+requests\.[sS]ession\(\)|^requests\.[sS]ession\(\)\s+if\b")
_ENDLESS = lazy_regex(r"&?http\.Client\{[^{}]*\}|http\.DefaultClient|new\(http\.Client\)")


def is_endless_field(call: Call, facts: Facts) -> bool:
    """Return whether each literal of this text gives the field of a call a client without a timeout (Go)."""
    field = call.receiver_written.rpartition(".")[2]
    given = [
        each.value for made in facts.calls if made.constructs for each in made.arguments if each.name == field
    ]
    if any(name.endswith(f"{field}.Timeout") for name in facts.assigned_names):
        return False
    endless = all(_ENDLESS.fullmatch(each.text) and "Timeout" not in each.text for each in given)
    clients = [
        client
        for client in facts.calls_named("net/http.Client")
        for each in given
        if is_within(client.span, each.span)
    ]
    return bool(given) and endless and all(is_endless_transport(each, facts) for each in clients)


def is_endless_transport(client: Call, facts: Facts) -> bool:
    """Return whether the transport of a client has no limit for an answer: that of the library, or one of
    this text (Go). One from elsewhere may have it."""
    given = client.argument("Transport")
    if given is None or "http.DefaultTransport" in given.value.text:
        return "ResponseHeaderTimeout" not in facts.whole_text
    makes = [given.value.text]
    makes += [
        each.value.text for each in facts.assignments_to(given.value.text, client) if each.value is not None
    ]
    known = any("http.Transport{" in each or "http.DefaultTransport" in each for each in makes)
    return known and "ResponseHeaderTimeout" not in facts.whole_text


def is_session_field(call: Call, facts: Facts) -> bool:
    """Return whether a call is `self.session.get(…)` after `self.session = session or requests.Session()`."""
    if (
        facts.language != "python"
        or not call.receiver.startswith("self.")
        or call.method not in SESSION_METHODS
    ):
        return False
    return any(
        call.receiver in each.targets and each.value is not None and _OR_SESSION.search(each.value.text)
        for each in facts.assignments
    )


_TYPES = {
    "httpx.Client": "httpx.get",
    "httpx.AsyncClient": "httpx.get",
    "requests.Session": "requests.get",
    "requests.sessions.Session": "requests.get",
    "axios.AxiosInstance": "axios.get",
}


def typed_field(call: Call, facts: Facts) -> str:
    """Return a function of the library by the declared type of a field: `http: httpx.Client`; or nothing."""
    if call.method not in SESSION_METHODS or not call.receiver.startswith("self.") or not call.arguments:
        return ""
    return _TYPES.get(type_of_receiver(call, facts), "")
