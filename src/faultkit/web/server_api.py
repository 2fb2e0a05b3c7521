"""Handlers for everything but the log: health, metrics, the server, its tools, the caller, and API keys."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from faultkit import __version__
from faultkit.audit.access.access_settings import METADATA_PATH, metadata_of
from faultkit.audit.access.api_keys import DEFAULT_SCOPES, KeyStore, NameTaken, key_document, parse_expiry
from faultkit.audit.access.identity import SCOPES
from faultkit.audit.access.management_rows import key_created, key_revoked
from faultkit.base.errors import InputError
from faultkit.base.times import now_us, time_text
from faultkit.mcp.failures.failure_tool import FailureTool
from faultkit.mcp.wire.era import LEGACY_VERSIONS, MODERN_VERSIONS
from faultkit.web.metrics import METRICS_TYPE, MetricsSnapshot
from faultkit.web.portal_calls import instructions_of
from faultkit.web.portal_page import serve as serve_page
from faultkit.web.request_context import AuditLog, RequestContext, reject_parameters, type_name
from faultkit.web.routing import HttpError, SiteReply, json_reply, text_reply

PORTAL = "/portal/"


async def health(context: RequestContext) -> SiteReply:
    """Answer that the process is alive."""
    return text_reply("ok")


async def ready(context: RequestContext) -> SiteReply:
    """Answer whether new calls are accepted. An unavailable database does not matter: tools are served."""
    return text_reply("draining", 503) if context.services.draining else text_reply("ready")


async def metrics(context: RequestContext) -> SiteReply:
    """Answer with the metrics in the Prometheus text format."""
    services = context.services
    state = None if services.audit is None else services.audit.writer.state()
    now = MetricsSnapshot(
        services.sessions(), state, services.access.refusals, services.draining, services.started_us / 1e6
    )
    return text_reply(services.metrics.text(now), type=METRICS_TYPE)


async def to_portal(context: RequestContext) -> SiteReply:
    """Redirect to the portal."""
    return SiteReply(302, headers=(("location", PORTAL),))


async def portal(context: RequestContext) -> int:
    """Serve a file of the portal."""
    return serve_page(context.request, context.answer)


async def me(context: RequestContext) -> SiteReply:
    """Answer with the identity of the caller."""
    reject_parameters(context.query())
    identity = context.identity
    known = {
        "email": identity.email,
        "name": identity.name,
        "key_name": identity.key_name,
        "claims": dict(identity.claims),
    }
    scopes = [scope for scope in SCOPES if scope in identity.scopes]
    always = {"subject": identity.subject, "auth_type": identity.auth_type, "scopes": scopes}
    return json_reply(always | {name: value for name, value in known.items() if value})


async def server(context: RequestContext) -> SiteReply:
    """Answer with the state and the settings of the server."""
    reject_parameters(context.query())
    services = context.services
    return json_reply(
        {
            "name": services.settings.name,
            "version": __version__,
            "started": time_text(services.started_us),
            "uptime_s": round((now_us() - services.started_us) / 1e6, 3),
            "endpoints": {"mcp": "/mcp", "portal": PORTAL, "metrics": "/metrics"},
            "protocol_versions": [*reversed(MODERN_VERSIONS), *reversed(LEGACY_VERSIONS)],
            "groups": list(services.settings.groups),
            "tools": len(services.tools),
            "compat": "go-sdk" if services.settings.like_go else "",
            "draining": services.draining,
            "sessions": services.sessions(),
            "calls_running": services.metrics.running,
            "audit": None if services.audit is None else audit_document(services.audit),
        }
    )


def audit_document(audit: AuditLog) -> dict[str, Any]:
    """Return the JSON form of the state of the log."""
    return {"store": audit.store.name, **asdict(audit.writer.state())}


async def instructions(context: RequestContext) -> SiteReply:
    """Answer with the instructions that MCP clients get."""
    reject_parameters(context.query())
    return json_reply({"instructions": await instructions_of(context)})


async def tools(context: RequestContext) -> SiteReply:
    """Answer with the list of tools."""
    reject_parameters(context.query())
    services = context.services
    listed = [_tool(tool, services.settings.like_go) for tool in services.tools.values()]
    return json_reply({"tools": listed, "groups": list(services.settings.groups)})


async def one_tool(context: RequestContext) -> SiteReply:
    """Answer with one tool."""
    reject_parameters(context.query())
    found = context.services.tools.get(context.path_names["name"])
    if found is None:
        raise HttpError(404, f'expected a tool that is served, got "{context.path_names["name"][:60]}"')
    return json_reply(_tool(found, context.services.settings.like_go))


def _tool(tool: FailureTool, like_go: bool) -> dict[str, Any]:
    return {"name": tool.name, "group": tool.group, **(tool.like_go() if like_go else tool).listed()}


async def protected_resource(context: RequestContext) -> SiteReply:
    """Answer with the metadata of RFC 9728."""
    found = metadata_of(context.request, context.services.access.settings)
    if found is None:
        raise HttpError(404, f'expected a path at which tools are served, got "{context.request.path[:60]}"')
    return json_reply(found)


async def authorization_server(context: RequestContext) -> SiteReply:
    """Answer with the issuer of tokens, if there is one."""
    found = _authorization_server(context)
    if found is None:
        raise HttpError(
            404, "there is no authorization server: the server was started without an issuer of tokens"
        )
    return json_reply(found)


async def well_known(context: RequestContext) -> SiteReply:
    """Answer with both documents that clients discover."""
    reject_parameters(context.query())
    resource = metadata_of(replace(context.request, target=METADATA_PATH), context.services.access.settings)
    return json_reply(
        {"protected_resource": resource, "authorization_server": _authorization_server(context)}
    )


def _authorization_server(context: RequestContext) -> dict[str, Any] | None:
    issuer = context.services.access.settings.issuer
    if not issuer:
        return None
    discovery = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
    return {"issuer": issuer, "openid_configuration": discovery}


# --- API keys ------------------------------------------------------------------------------------


_KEY_FIELDS = ("name", "scopes", "expires")


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
    unknown = [name for name in body if name not in _KEY_FIELDS]
    if unknown:
        raise InputError(unknown[0][:60], f"expected one of {', '.join(_KEY_FIELDS)}")
    name, scopes, expires = (body.get(field) for field in _KEY_FIELDS)
    if not isinstance(name, str):
        raise InputError("name", f"expected a text, got {type_name(name)}")
    if scopes is None:
        scopes = list(DEFAULT_SCOPES)
    if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
        raise InputError("scopes", "expected a list of texts")
    expires_us = _expires_us(expires)
    try:
        key, plain = await context.in_thread(_keys(context).create, name, tuple(scopes), expires_us)
    except NameTaken as error:
        raise HttpError(409, str(error)) from None
    context.log_action(key_created(key))
    return json_reply({**key_document(key), "key": plain}, 201)


async def revoke_key(context: RequestContext) -> SiteReply:
    """Revoke the key that the path names."""
    name = context.path_names["name"]
    if "\0" in name or not await context.in_thread(_keys(context).revoke, name):
        raise HttpError(404, f'expected the name of a key in use, got "{name[:60]}"')
    context.log_action(key_revoked(name))
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
