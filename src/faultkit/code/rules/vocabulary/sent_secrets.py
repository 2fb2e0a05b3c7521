"""Values that hold a secret by how they are made: addresses with a key, bodies of requests, errors of axios.

No list of names of variables: what decides is what is put into them, or read from them, in the same function.
"""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Handler
from faultkit.code.facts.facts import Placed
from faultkit.code.rules.vocabulary.name_places import ends_of_name
from faultkit.code.rules.vocabulary.personal_data import personal_part
from faultkit.code.rules.vocabulary.telling_types import is_about_secrets, is_secret_name

_SETS = lazy_regex(
    r"(?:\.searchParams|\.query|\.Query\(\)|\.queryParams)?\.(?:set|append|Set|Add|add|put|queryParam"
    r"|addQueryParameter)\(\s*[\"'`]([\w-]+)[\"'`]\s*,"
)
"""How a key is put into a query, after its name."""
_BUILT = lazy_regex(r"(\w+)\.(?:Encode|toString|encode|build)\(|\$\{?(\w+)\}?|urlencode\(\s*(\w+)")
_FORMATS = lazy_regex(r"^(?:fmt\.Sprintf|String\.format|format!|str\.format|string\.Format)\b")
_REQUEST_BODY = lazy_regex(r"^(?:req|request|ctx\.request|c\.req)\.(?:body|data|json|POST|form)$")
_AXIOS = ("axios", "@nestjs/axios")
_SENT = lazy_regex(r"\b(?:client_?secret|password|refresh_?token)\b", re.IGNORECASE)


def sent_secret(written: str, place: Placed, facts: Facts) -> str:
    """Return the secret that a variable, or the body of a request, holds; empty if none is known."""
    if _REQUEST_BODY.match(written):
        return _read_from_body(written, place, facts)
    if not written.isidentifier():
        return ""
    put = _put_into(written, place, facts, 2) if is_about_secrets(facts) else ""
    return put or _in_failed_request(written, place, facts)


def _put_into(name: str, place: Placed, facts: Facts, levels: int) -> str:
    """Return the secret parameter of an address, or of the query that it is built of."""
    scope = facts.named_function_of(place)
    if scope is None or levels == 0:
        return ""
    text = facts.text(scope.body)
    if f"{name}." in text:
        for end in ends_of_name(name, text):
            key = _SETS.match(text, end)
            if key is not None and is_secret_name(key[1], facts):
                return key[1]
    for each in facts.assignments_to(name, place):
        if each.value is None or each.scope is None or each.targets != (name,):
            continue
        value = each.value.text
        if _FORMATS.match(value):
            for word in re.findall(r"[\w.]+", value):
                if "." in word and is_secret_name(word.rpartition(".")[2], facts):
                    return str(word)
        for found in _BUILT.finditer(value):
            part = next((group for group in found.groups() if group), "")
            if part and part != name and (part_key := _put_into(part, place, facts, levels - 1)):
                return part_key
    return ""


def _read_from_body(written: str, place: Placed, facts: Facts) -> str:
    """Return the secret that the function reads from the body of its request."""
    scope = facts.named_function_of(place) or facts.function_of(place)
    around = [*facts.functions_around(place)]
    scope = scope or (around[-1] if around else None)
    if scope is None:
        return ""
    text = facts.text(around[-1].body if around else scope.body)
    known = re.escape(written)
    parts = re.findall(rf"\b{known}\.(\w+)", text)
    for found in re.findall(rf"\{{([^{{}}]*)\}}\s*=\s*(?:await\s+)?{known}\b", text):
        parts += re.findall(r"(\w+)\s*(?::[^,]*)?(?:=[^,]*)?(?:,|$)", found)
    secret = next((part for part in parts if is_secret_name(part, facts)), "")
    return secret or personal_part("card" if {"cvc", "cvv"} & {*parts} else "", parts)


def _in_failed_request(name: str, place: Placed, facts: Facts) -> str:
    """Return what an error of axios holds of the request that failed, in a function that sends a secret."""
    if not facts.imports_any(*_AXIOS):
        return ""
    handlers: tuple[Handler, ...] = facts.handlers_around(place)
    scope = facts.named_function_of(place)
    if scope is None or not any(handler.name == name for handler in handlers):
        return ""
    return "request" if _SENT.search(facts.text(scope.body)) else ""
