"""The options that restrict access to `fault serve` over HTTP, and the access rules built from them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import SplitResult, urlsplit

import click

from faultkit.base.errors import InputError
from faultkit.cli.shared_options import add_options

if TYPE_CHECKING:
    from faultkit.audit.access.access import Access
    from faultkit.audit.access.access_settings import AccessSettings
    from faultkit.audit.access.oidc import OidcSettings
    from faultkit.audit.access.rate_limits import Rate
    from faultkit.audit.store import Store
    from faultkit.audit.writer import AuditWriter

F = TypeVar("F", bound=Callable[..., Any])
_MOST_BODY_BYTES = 4 << 20
_WILDCARDS = ("0.0.0.0", "::", "")

_OPTIONS = (
    click.option(
        "--require-key",
        is_flag=True,
        help="Require a key of `fault keys create`, or a token. Needed on addresses other than loopback.",
    ),
    click.option(
        "--oidc-issuer",
        metavar="URL",
        help="Accept tokens of this issuer, and require a token or a key.",
    ),
    click.option(
        "--oidc-audience", metavar="TEXT", multiple=True, help="Audience that tokens must have. Repeatable."
    ),
    click.option(
        "--oidc-jwks", metavar="URL", help="URL of the issuer's keys; by default from its discovery document."
    ),
    click.option(
        "--oidc-scope",
        type=click.Choice(["read", "call", "admin"]),
        multiple=True,
        help="Scopes of tokens that name none of their own. Repeatable; by default read and call.",
    ),
    click.option(
        "--oidc-scope-prefix",
        metavar="TEXT",
        help="Begins the scopes of tokens: by default faultkit:, so that faultkit:admin means admin.",
    ),
    click.option(
        "--rate",
        metavar="N/s|N/m|N/h",
        help="Most requests of one key, user or address, such as 100/s.",
    ),
    click.option(
        "--allow-host", metavar="NAME", multiple=True, help="Further host name of the server. Repeatable."
    ),
    click.option(
        "--allow-origin",
        metavar="ORIGIN",
        multiple=True,
        help="Other origin whose web pages may call, such as https://app.example.org. Repeatable.",
    ),
    click.option(
        "--most-body",
        metavar="BYTES",
        type=click.IntRange(1024, 1 << 30),
        default=_MOST_BODY_BYTES,
        show_default=True,
        help="Largest body of a request.",
    ),
    click.option(
        "--public-url", metavar="URL", help="URL of the server as clients see it, if it listens elsewhere."
    ),
)
_HTTP_OPTIONS = (
    "require_key",
    "oidc_issuer",
    "oidc_audience",
    "oidc_jwks",
    "oidc_scope",
    "oidc_scope_prefix",
    "rate",
    "allow_host",
    "allow_origin",
    "public_url",
)
"""Options that are refused over stdio, where only the process that started the server can call it."""


def access_options(command: F) -> F:
    """Add the access options to a command, which passes their keywords on to `access_rules`."""
    return add_options(command, *_OPTIONS)


@dataclass(frozen=True, slots=True)
class AccessRules:
    """The validated options, before any store or issuer is opened."""

    settings: AccessSettings
    oidc: OidcSettings | None
    needs_key: bool


def access_rules(options: dict[str, Any], *, transport: str, host: str, store: str | None) -> AccessRules:
    """Return the rules that the options ask for; raise InputError for options that contradict each other.

    store: the value of --store, where the keys are kept; None without an audit log"""
    from faultkit.audit.access.access_settings import AccessSettings
    from faultkit.base.address import is_loopback

    if transport == "stdio":
        for name in _HTTP_OPTIONS:
            if options[name]:
                raise InputError(
                    f"--{name.replace('_', '-')}",
                    "expected --transport http: over stdio, only the process that started the server can "
                    "call it",
                )
    oidc = _oidc(options)
    needs_key = bool(options["require_key"])
    if transport == "http" and not (is_loopback(host) or needs_key or oidc is not None):
        raise InputError(
            "--host",
            f"others can reach {host or 'this address'}: expected --require-key, with a key that "
            "`fault keys create NAME` makes, or --oidc-issuer",
        )
    if needs_key:
        _check_key_store(store)
    settings = AccessSettings(
        anonymous=not needs_key and oidc is None,
        rate=_rate(options["rate"]),
        hosts=_hosts(host, options["allow_host"]),
        origins=tuple(_origin(each) for each in options["allow_origin"]),
        most_body_bytes=options["most_body"],
        public_url=_public_url(options["public_url"]),
        issuer="" if oidc is None else oidc.issuer,
        scope_prefix="" if oidc is None else oidc.scope_prefix,
        mcp_paths=("/mcp", "/"),
    )
    return AccessRules(settings, oidc, needs_key)


def build_access(
    rules: AccessRules,
    store: Store | None = None,
    writer: AuditWriter | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Access:
    """Return the access check. `store` holds the keys; `writer` receives the rows of refused requests."""
    from faultkit.audit.access.access import Access
    from faultkit.audit.access.api_keys import KeyStore

    keys = None if store is None else KeyStore(store)
    if store is not None and keys is not None and rules.needs_key and rules.oidc is None:
        is_any_in_use = any(key.revoked_us is None for key in keys.list())
        if not is_any_in_use:
            say(f"there is no key yet: create one with `fault keys create NAME --store {store.name}`")
    tokens = None
    if rules.oidc is not None:
        from faultkit.audit.access.oidc import Issuer, TokenVerifier

        tokens = TokenVerifier(rules.oidc, Issuer(rules.oidc.issuer, rules.oidc.jwks_url, say))
    # A refused request must not wait for the writer, and so delay others.
    add = (lambda entry: None) if writer is None else partial(writer.add, wait=False)
    return Access(rules.settings, keys, tokens, add=add, say=say)


def _oidc(options: dict[str, Any]) -> OidcSettings | None:
    issuer = options["oidc_issuer"]
    if issuer is None:
        for name in ("oidc_audience", "oidc_jwks", "oidc_scope", "oidc_scope_prefix"):
            if options[name]:
                raise InputError(f"--{name.replace('_', '-')}", "expected --oidc-issuer with it")
        return None
    from faultkit.audit.access.identity import scopes_of
    from faultkit.audit.access.oidc import SCOPE_PREFIX, OidcSettings, check_url

    if not options["oidc_audience"]:
        raise InputError(
            "--oidc-audience", "expected one: without it, a token for any other service would be accepted"
        )
    jwks, prefix = options["oidc_jwks"], options["oidc_scope_prefix"]
    if prefix is not None and not re.fullmatch(r"[!#-\[\]-~]*", prefix):
        # RFC 6749, 3.3: the characters of a scope.
        raise InputError("--oidc-scope-prefix", f'expected visible ASCII characters, got "{prefix}"')
    return OidcSettings(
        check_url("--oidc-issuer", issuer),
        tuple(options["oidc_audience"]),
        None if jwks is None else check_url("--oidc-jwks", jwks),
        scopes_of(options["oidc_scope"] or ("read", "call")),
        SCOPE_PREFIX if prefix is None else prefix,
    )


def _check_key_store(store: str | None) -> None:
    from faultkit.audit.log_file import MEMORY

    if store is None:
        raise InputError("--require-key", "expected no --no-audit: keys are kept where the audit log is")
    if store == MEMORY:
        raise InputError(
            "--require-key",
            "expected a --store other than memory:, because other commands cannot create keys in it",
        )


def _rate(text: str | None) -> Rate | None:
    from faultkit.audit.access.rate_limits import parse_rate

    try:
        return None if text is None else parse_rate(text)
    except ValueError as error:
        raise InputError("--rate", str(error)) from None


def _hosts(host: str, further: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the accepted names in Host and Origin; None for any, if only a key or a token protects."""
    from faultkit.base.address import LOOPBACK_NAMES, is_loopback

    for name in further:
        if not name or any(mark in name for mark in "/ *@"):
            raise InputError("--allow-host", f'expected a name such as tools.example.org, got "{name[:80]}"')
    if not is_loopback(host) and not further:
        return None
    own = () if host in _WILDCARDS else (host.lower(),)
    return tuple(dict.fromkeys((*LOOPBACK_NAMES, *own, *(name.lower() for name in further))))


def _origin(text: str) -> str:
    parts = _split(text)
    if parts is None or text != f"{parts.scheme}://{parts.netloc}":
        raise InputError(
            "--allow-origin", f'expected an origin such as https://app.example.org:8443, got "{text[:80]}"'
        )
    return text


def _public_url(text: str | None) -> str:
    if text is None:
        return ""
    parts = _split(text)
    if parts is None or parts.query or parts.fragment or '"' in text:
        raise InputError(
            "--public-url", f'expected a URL such as https://tools.example.org, got "{text[:80]}"'
        )
    return text.rstrip("/")


def _split(text: str) -> SplitResult | None:
    """Return the parts of an http or https URL; None for any other text."""
    try:
        parts = urlsplit(text)
        return parts if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 else None
    except ValueError:
        return None
