"""Timeouts on HTTP calls: on the client if the text makes one, on the call otherwise."""

from __future__ import annotations

import libcst as cst

from faultkit.code.changes.python.codemod import Work, python_codemod
from faultkit.code.changes.python.keywords import add_keyword
from faultkit.code.facts import Call
from faultkit.code.rules.vocabulary.http import library_of

TIMEOUT_S, CONNECT_TIMEOUT_S = 5.0, 2.0
_ON_CLIENT = {
    "httpx": (
        ("httpx.Client", "httpx.AsyncClient"),
        "httpx",
        "Timeout",
        f"{TIMEOUT_S}, connect={CONNECT_TIMEOUT_S}",
    ),
    "aiohttp": (("aiohttp.ClientSession",), "aiohttp", "ClientTimeout", f"total={TIMEOUT_S}"),
}
_PLAIN = ("requests", "httpx", "urllib", "urllib3")


def _collect(work: Work) -> None:
    for _, call, node in work.calls():
        library = library_of(call)
        if library is None:
            continue
        made = _client(work, call, library.name)
        if made is not None:
            add_keyword(work, made, "timeout", _value(work, library.name))
        elif library.name == "aiohttp":
            add_keyword(work, node, "timeout", _value(work, library.name))
        elif library.name in _PLAIN:
            add_keyword(work, node, "timeout", str(TIMEOUT_S))


def _client(work: Work, call: Call, library: str) -> cst.Call | None:
    if library not in _ON_CLIENT or call.origin is None or call.origin.name not in _ON_CLIENT[library][0]:
        return None
    return work.node(call.origin)


def _value(work: Work, library: str) -> str:
    _, module, name, arguments = _ON_CLIENT[library]
    return f"{work.new.member(module, name)}({arguments})"


CODEMOD = python_codemod(
    "http-timeout",
    ("http-call-without-timeout",),
    "give HTTP calls, or the clients that make them, a timeout",
    _collect,
)
