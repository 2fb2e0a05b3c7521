"""The options that restrict access to `fault serve` over HTTP, and the access rules built from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from faultkit.base.errors import InputError

if TYPE_CHECKING:
    from faultkit.audit.access.access import Access
    from faultkit.audit.access.access_settings import AccessSettings
    from faultkit.audit.access.oidc import OidcSettings, TokenVerifier
    from faultkit.audit.access.rate_limits import Rate
    from faultkit.audit.store import Store
    from faultkit.audit.writer import AuditWriter

_MOST_BODY_BYTES = 4 << 20
_WILDCARDS = ("0.0.0.0", "::", "")

_OPTIONS = (
    click.option(
        "--require-key",
        is_flag=True,
        help="Require a key of `fault keys create`, or a token. Needed on other than loopback addresses.",
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
        "--oidc-jwks", metavar="URL", help="Where the issuer's keys are, if its discovery does not say so."
    ),
    click.option(
        "--oidc-scope",
        type=click.Choice(["read", "call", "admin"]),
        multiple=True,
        help="What tokens may do whose own scopes do not say so; read and call if not given.",
    ),
    click.option(
        "--rate",
        metavar="N/s|N/m|N/h",
        help="At most so many requests by one key, user or address, such as 100/s.",
    ),
    click.option(
        "--allow-host", metavar="NAME", multiple=True, help="A further name that the server may be called by."
    ),
    click.option(
        "--allow-origin",
        metavar="ORIGIN",
        multiple=True,
        help="A web page from elsewhere that may call, such as https://app.example.org.",
    ),
    click.option(
        "--most-body",
        metavar="BYTES",
        type=click.IntRange(1024, 1 << 30),
        default=_MOST_BODY_BYTES,
        show_default=True,
        help="The largest request.",
    ),
    click.option(
        "--public-url", metavar="URL", help="Where clients see the server, if that is not where it listens."
    ),
)
_NAMES = (
    "require_key",
    "oidc_issuer",
    "oidc_audience",
    "oidc_jwks",
    "oidc_scope",
    "rate",
    "allow_host",
    "allow_origin",
    "public_url",
)


def access_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the access options to a command, which passes their keywords on to `access_rules`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class AccessRules:
    """The validated options, before any store or issuer is opened."""

    settings: AccessSettings
    oidc: OidcSettings | None
    needs_key: bool


def access_rules(options: dict[str, Any], *, transport: str, host: str, where: str | None) -> AccessRules:
    """Return the rules that the options ask for; raise InputError for options that contradict each other.

    `where` is the store of the keys, None without one.
    """
    from faultkit.audit.access.access_settings import AccessSettings
    from faultkit.base.address import is_loopback

    if transport == "stdio":
        _refuse_all(options)
    oidc = _oidc(options)
    needs_key = bool(options["require_key"])
    if transport == "http" and not (is_loopback(host) or needs_key or oidc is not None):
        raise InputError(
            "--host",
            f"others can reach {host or 'this address'}: expected --require-key, with a key that "
            "`fault keys create NAME` makes, or --oidc-issuer",
        )
    if needs_key:
        _check_place(where)
    settings = AccessSettings(
        anonymous=not needs_key and oidc is None,
        rate=_rate(options["rate"]),
        hosts=_hosts(host, options["allow_host"]),
        origins=tuple(_origin(each) for each in options["allow_origin"]),
        most_body_bytes=options["most_body"],
        public_url=_public_url(options["public_url"]),
        issuer="" if oidc is None else oidc.issuer,
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

    if store is not None and rules.needs_key and rules.oidc is None and not _has_keys(store):
        say(f"there is no key yet: create one with `fault keys create NAME --store {store.name}`")
    tokens = None if rules.oidc is None else _tokens(rules.oidc, say)
    # A refused request must not wait for the writer, and so delay others.
    add = (lambda entry: None) if writer is None else partial(writer.add, wait=False)
    keys = None if store is None else KeyStore(store)
    return Access(rules.settings, keys, tokens, add=add, say=say)


def _refuse_all(options: dict[str, Any]) -> None:
    for name in _NAMES:
        if options[name]:
            raise InputError(
                f"--{name.replace('_', '-')}",
                "expected --transport http: over stdio, only the process that started the server can call it",
            )


def _oidc(options: dict[str, Any]) -> OidcSettings | None:
    issuer = options["oidc_issuer"]
    if issuer is None:
        for name in ("oidc_audience", "oidc_jwks", "oidc_scope"):
            if options[name]:
                raise InputError(f"--{name.replace('_', '-')}", "expected --oidc-issuer with it")
        return None
    from faultkit.audit.access.identity import scopes_of
    from faultkit.audit.access.issuer import check_url
    from faultkit.audit.access.oidc import OidcSettings

    if not options["oidc_audience"]:
        raise InputError(
            "--oidc-audience", "expected one: else a token that was made for any other service would do here"
        )
    jwks = options["oidc_jwks"]
    return OidcSettings(
        check_url("--oidc-issuer", issuer),
        tuple(options["oidc_audience"]),
        None if jwks is None else check_url("--oidc-jwks", jwks),
        scopes_of(options["oidc_scope"] or ("read", "call")),
    )


def _tokens(oidc: OidcSettings, say: Callable[[str], None]) -> TokenVerifier:
    from faultkit.audit.access.issuer import Issuer
    from faultkit.audit.access.oidc import TokenVerifier

    return TokenVerifier(oidc, Issuer(oidc.issuer, oidc.jwks_url, say))


def _check_place(where: str | None) -> None:
    from faultkit.audit.log_file import MEMORY

    if where is None:
        raise InputError("--require-key", "expected no --no-audit: keys are kept where the audit log is")
    if where == MEMORY:
        raise InputError(
            "--require-key", "expected a --store that is no memory: other commands cannot create a key in it"
        )


def _has_keys(store: Store) -> bool:
    from faultkit.audit.access.api_keys import KeyStore

    return any(key.revoked_us is None for key in KeyStore(store).list())


def _rate(text: str | None) -> Rate | None:
    from faultkit.audit.access.rate_limits import parse_rate

    try:
        return None if text is None else parse_rate(text)
    except ValueError as error:
        raise InputError("--rate", str(error)) from None


def _hosts(host: str, further: tuple[str, ...]) -> tuple[str, ...] | None:
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


def _split(text: str) -> Any:
    try:
        parts = urlsplit(text)
        return parts if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 else None
    except ValueError:
        return None
