"""What is served, who asks, and whether it goes well: everything but the log."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from faultkit import __version__
from faultkit.audit.access.identity import SCOPES
from faultkit.audit.access.metadata import METADATA_PATH, metadata_of
from faultkit.base.times import now_us, time_text
from faultkit.mcp.failures.tool import FailureTool
from faultkit.mcp.wire.era import LEGACY_VERSIONS, MODERN_VERSIONS
from faultkit.web.ask import Ask, Audit, nothing_else
from faultkit.web.calling import instructions_of
from faultkit.web.metrics import METRICS_TYPE, Now
from faultkit.web.portal.portal import serve as serve_page
from faultkit.web.reply import Refused, Reply, json_reply, text_reply

PORTAL = "/portal/"


async def health(ask: Ask) -> Reply:
    return text_reply("ok")


async def ready(ask: Ask) -> Reply:
    """A database that is away is no reason not to call: tools are served without it."""
    return text_reply("draining", 503) if ask.parts.draining else text_reply("ready")


async def metrics(ask: Ask) -> Reply:
    parts = ask.parts
    state = None if parts.audit is None else parts.audit.writer.state()
    now = Now(parts.sessions(), state, parts.access.refusals, parts.draining, parts.started_us / 1e6)
    return text_reply(parts.metrics.text(now), type=METRICS_TYPE)


async def to_portal(ask: Ask) -> Reply:
    return Reply(302, headers=(("location", PORTAL),))


async def portal(ask: Ask) -> int:
    return serve_page(ask.request, ask.answer)


async def me(ask: Ask) -> Reply:
    nothing_else(ask.pairs())
    by = ask.by
    known = {"email": by.email, "name": by.name, "key_name": by.key_name, "claims": dict(by.claims)}
    scopes = [scope for scope in SCOPES if scope in by.scopes]
    always = {"subject": by.subject, "auth_type": by.auth_type, "scopes": scopes}
    return json_reply(always | {name: value for name, value in known.items() if value})


async def server(ask: Ask) -> Reply:
    nothing_else(ask.pairs())
    parts = ask.parts
    return json_reply(
        {
            "name": parts.settings.name,
            "version": __version__,
            "started": time_text(parts.started_us),
            "uptime_s": round((now_us() - parts.started_us) / 1e6, 3),
            "endpoints": {"mcp": "/mcp", "portal": PORTAL, "metrics": "/metrics"},
            "protocol_versions": [*reversed(MODERN_VERSIONS), *reversed(LEGACY_VERSIONS)],
            "groups": list(parts.settings.groups),
            "tools": len(parts.tools),
            "compat": "go-sdk" if parts.settings.like_go else "",
            "draining": parts.draining,
            "sessions": parts.sessions(),
            "calls_running": parts.metrics.running,
            "audit": None if parts.audit is None else audit_document(parts.audit),
        }
    )


def audit_document(audit: Audit) -> dict[str, Any]:
    return {"store": audit.store.name, **asdict(audit.writer.state())}


async def instructions(ask: Ask) -> Reply:
    nothing_else(ask.pairs())
    return json_reply({"instructions": await instructions_of(ask)})


async def tools(ask: Ask) -> Reply:
    nothing_else(ask.pairs())
    parts = ask.parts
    listed = [_tool(tool, parts.settings.like_go) for tool in parts.tools.values()]
    return json_reply({"tools": listed, "groups": list(parts.settings.groups)})


async def one_tool(ask: Ask) -> Reply:
    nothing_else(ask.pairs())
    found = ask.parts.tools.get(ask.names["name"])
    if found is None:
        raise Refused(404, f'expected a tool that is served, got "{ask.names["name"][:60]}"')
    return json_reply(_tool(found, ask.parts.settings.like_go))


def _tool(tool: FailureTool, like_go: bool) -> dict[str, Any]:
    return {"name": tool.name, "group": tool.group, **tool.listed(like_go=like_go)}


async def protected_resource(ask: Ask) -> Reply:
    found = metadata_of(ask.request, ask.parts.access.settings)
    if found is None:
        raise Refused(404, f'expected a path at which tools are served, got "{ask.request.path[:60]}"')
    return json_reply(found)


async def authorization_server(ask: Ask) -> Reply:
    found = _authorization_server(ask)
    if found is None:
        raise Refused(404, "there is no authorization server: no issuer of tokens was named at the start")
    return json_reply(found)


async def well_known(ask: Ask) -> Reply:
    nothing_else(ask.pairs())
    resource = metadata_of(replace(ask.request, target=METADATA_PATH), ask.parts.access.settings)
    return json_reply({"protected_resource": resource, "authorization_server": _authorization_server(ask)})


def _authorization_server(ask: Ask) -> dict[str, Any] | None:
    issuer = ask.parts.access.settings.issuer
    if not issuer:
        return None
    discovery = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
    return {"issuer": issuer, "openid_configuration": discovery}
