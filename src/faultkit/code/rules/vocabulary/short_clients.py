"""Clients of services, brokers and stores that code makes, uses and closes for one request or message.

What closes a client shows that it is not shared, whatever its library is. Sessions that are short by nature,
such as those of FTP and SSH, are left out.
"""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.rule import JAVASCRIPT
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.one_use import is_for_one_use
from faultkit.code.rules.vocabulary.repetition import frequency_of, runs_once

_CLIENT = NamePattern(
    r"(?:^|[./:])(?:\w*(?:Client|Producer|Publisher|DataSource|ConnectionPool|Multiplexer|Driver|Cluster|Redis|Kafka|Nats|Mqtt)"
    r"|create_?[cC]lient|createPool|create_pool|connect|connect_\w+|Connect|Dial|NewClient|NewProducer|New\w+Client|driver)"
    r"(?:\.(?:create|connect|Connect|ConnectAsync|from_\w+|from[A-Z]\w*|new|open|builder\(\).*\.build|newBuilder\(\).*\.build))?$"
)
_OTHERS = NamePattern(
    r"(?:ftp|ssh|scp|smtp|imap|pop3|telnet|tcp|udp|websocket|socket|ldap|test|mock|fake|http|rest|web|sqlite|duckdb|serial|modbus"
    r"|sql\.|db\.|pool\.|engine\.|session\.|pipe|signal|bluetooth|ble|camera|vnc|rdp|dbus|x11|docker|kube|git|printer|\b(?:net|tls)\.)",
    re.IGNORECASE,
)
"""Sessions that are short by nature, HTTP clients, which another rule knows, and connections of a pool."""
_CLOSES = frozenset(
    (
        "close", "aclose", "Close", "CloseAsync", "disconnect", "Disconnect", "DisconnectAsync", "shutdown",
        "quit",
        "end", "destroy", "dispose", "Dispose", "DisposeAsync", "stop", "drain", "$disconnect", "terminate",
    )
)  # fmt: skip

_MODULES_ARE_NAMED = ("go", "python", *JAVASCRIPT)
"""Languages in which what is used of a library begins with a name that the text imports."""


_VERSION = lazy_regex(r"/v\d+\.")
"""The version of a module of Go: `github.com/go-ldap/ldap/v3.Dial`."""


def may_be_short(name: str) -> bool:
    """Return whether `frequency_of_client` may return something for a call of this name."""
    return _CLIENT.search(name) is not None and _OTHERS.search(_last_parts(name)) is None


def frequency_of_client(call: Call, facts: Facts) -> str:
    """Return for what a client is made and closed again: each request, message or call; empty for others."""
    if (
        not _CLIENT.search(call.name)
        or _OTHERS.search(_last_parts(call.name))
        or call.is_decorator
        or call.is_returned
    ):
        return ""
    scope = facts.named_function_of(call) or facts.function_of(call)
    if scope is None or not _is_of_library(call, facts) or not _is_closed(call, scope, facts):
        return ""
    if runs_once(scope) and scope.route is None:
        return ""
    often = frequency_of(call, facts)
    if often in ("request", "message"):
        return often
    # A method with arguments serves many callers of a long-lived object.
    return "call" if scope.is_method and is_for_one_use(call, facts) else ""


def _last_parts(name: str) -> str:
    """Return the end of a name, without the hosts and folders of packages: `nats.go.Connect`."""
    return ".".join(_VERSION.sub(".", name).rpartition("/")[2].split(".")[-3:])


def _is_of_library(call: Call, facts: Facts) -> bool:
    """Return whether what makes the client comes from outside of this text."""
    if call.name.startswith(("~", "self.", ".")):
        return False
    if facts.language in _MODULES_ARE_NAMED and call.receiver_written and "/" not in call.name:
        head = call.name.partition(".")[0]
        if head not in facts.imports.names and head not in facts.imports.all_modules:
            return False  # A method of an object: what it connects to is unknown.
    short = call.name.rpartition(".")[2]
    return not any(name.rpartition(".")[2] == short for name in facts.classes) and not facts.functions_named(
        short
    )


def _is_closed(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether the function that makes a client also ends it."""
    if call.is_managed:
        return True
    if any(each.method in _CLOSES or each.method == "use" for each in facts.calls_on(call)):
        return not any("." in name or "[" in name for name in call.assigned)
    names = {name for name in call.assigned[:1] if name.isidentifier()} - {"_"}
    text = facts.text(scope.body)
    if any(re.search(rf"\b(?:with|using)\s*\(?\s*{name}\b", text) for name in names):
        return True
    return any(
        each.receiver_written in names for each in facts.within(facts.calls_of_method(*_CLOSES), scope.body)
    )
