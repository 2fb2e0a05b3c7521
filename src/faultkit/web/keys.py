"""API keys over HTTP: made, listed, revoked."""

from __future__ import annotations

from typing import Any

from faultkit.audit.access.keys import Keys, NameTaken, parse_expiry
from faultkit.audit.keys import key_document
from faultkit.base.errors import InputError
from faultkit.base.times import now_us
from faultkit.web.ask import Ask, nothing_else, type_name
from faultkit.web.reply import Refused, Reply, json_reply

_USUAL_SCOPES = ("read", "call")
_FIELDS = ("name", "scopes", "expires")


def _keys(ask: Ask) -> Keys:
    keys = ask.parts.access.keys
    if keys is None:
        raise Refused(503, "there are no keys: the server was started with --no-audit, and keeps nothing")
    return keys


async def list_keys(ask: Ask) -> Reply:
    nothing_else(ask.pairs())
    found = await ask.database(_keys(ask).list)
    return json_reply({"keys": [key_document(key) for key in found]})


async def create_key(ask: Ask) -> Reply:
    body = ask.body()
    strange = [name for name in body if name not in _FIELDS]
    if strange:
        raise InputError(strange[0][:60], f"expected one of {', '.join(_FIELDS)}")
    name, scopes, expires = (body.get(field) for field in _FIELDS)
    if not isinstance(name, str):
        raise InputError("name", f"expected a text, got {type_name(name)}")
    if scopes is None:
        scopes = list(_USUAL_SCOPES)
    if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
        raise InputError("scopes", "expected a list of texts")
    expires_us = _expires_us(expires)
    try:
        key, plain = await ask.database(_keys(ask).create, name, tuple(scopes), expires_us)
    except NameTaken as error:
        raise Refused(409, str(error)) from None
    return json_reply({**key_document(key), "key": plain}, 201)


async def revoke_key(ask: Ask) -> Reply:
    name = ask.names["name"]
    if "\0" in name or not await ask.database(_keys(ask).revoke, name):
        raise Refused(404, f'expected the name of a key in use, got "{name[:60]}"')
    return Reply(204)


def _expires_us(expires: Any) -> int | None:
    if expires is None:
        return None
    if not isinstance(expires, str):
        raise InputError("expires", f"expected a text, got {type_name(expires)}")
    try:
        return parse_expiry(expires, now_us())
    except ValueError as error:
        raise InputError("expires", str(error)) from None
