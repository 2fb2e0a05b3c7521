"""Handlers for API keys: list, create, revoke."""

from __future__ import annotations

from typing import Any

from faultkit.audit.access.api_keys import KeyStore, NameTaken, key_document, parse_expiry
from faultkit.base.errors import InputError
from faultkit.base.times import now_us
from faultkit.web.request_context import RequestContext, reject_parameters, type_name
from faultkit.web.routing import HttpError, SiteReply, json_reply

_USUAL_SCOPES = ("read", "call")
_FIELDS = ("name", "scopes", "expires")


def _keys(context: RequestContext) -> KeyStore:
    keys = context.services.access.keys
    if keys is None:
        raise HttpError(503, "there are no keys: the server was started with --no-audit")
    return keys


async def list_keys(context: RequestContext) -> SiteReply:
    """Answer with all keys, revoked ones included."""
    reject_parameters(context.query())
    found = await context.in_thread(_keys(context).list)
    return json_reply({"keys": [key_document(key) for key in found]})


async def create_key(context: RequestContext) -> SiteReply:
    """Create a key, and answer with it this once."""
    body = context.body()
    unknown = [name for name in body if name not in _FIELDS]
    if unknown:
        raise InputError(unknown[0][:60], f"expected one of {', '.join(_FIELDS)}")
    name, scopes, expires = (body.get(field) for field in _FIELDS)
    if not isinstance(name, str):
        raise InputError("name", f"expected a text, got {type_name(name)}")
    if scopes is None:
        scopes = list(_USUAL_SCOPES)
    if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
        raise InputError("scopes", "expected a list of texts")
    expires_us = _expires_us(expires)
    try:
        key, plain = await context.in_thread(_keys(context).create, name, tuple(scopes), expires_us)
    except NameTaken as error:
        raise HttpError(409, str(error)) from None
    return json_reply({**key_document(key), "key": plain}, 201)


async def revoke_key(context: RequestContext) -> SiteReply:
    """Revoke the key that the path names."""
    name = context.path_names["name"]
    if "\0" in name or not await context.in_thread(_keys(context).revoke, name):
        raise HttpError(404, f'expected the name of a key in use, got "{name[:60]}"')
    return SiteReply(204)


def _expires_us(expires: Any) -> int | None:
    if expires is None:
        return None
    if not isinstance(expires, str):
        raise InputError("expires", f"expected a text, got {type_name(expires)}")
    try:
        return parse_expiry(expires, now_us())
    except ValueError as error:
        raise InputError("expires", str(error)) from None
