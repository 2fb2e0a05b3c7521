"""Options of commands whose proxies speak TLS to clients, or open the tunnels of a forward proxy; that proxy.

--intercept                     hosts whose HTTPS the forward proxy looks into
--tls-cert, --tls-key           a certificate of the user's, in place of the local authority's
--tls-client-ca                 clients must show a certificate (mutual TLS)
--upstream-cert, --upstream-key what upstreams are shown that ask for a certificate
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import click

from faultkit.base.address import Endpoint, UpstreamSet
from faultkit.base.errors import InputError
from faultkit.cli.shared_options import F, add_options
from faultkit.proxy.data_plane import ListenerTls, ProxySpec

FORWARD = "http"
"""The name of the forward proxy."""


def tls_options(command: F) -> F:
    """Add the options of TLS towards clients and of certificates; see `with_tls`."""
    return add_options(
        command,
        click.option(
            "--tls-cert",
            metavar="FILE",
            envvar="FAULT_TLS_CERT",
            help="Certificate (PEM) that clients of https: and tls: maps see; by default one of the local "
            "authority (`fault ca`) for the name that they ask for.",
        ),
        click.option(
            "--tls-key", metavar="FILE", envvar="FAULT_TLS_KEY", help="Private key of --tls-cert (PEM)."
        ),
        click.option(
            "--tls-client-ca",
            metavar="FILE",
            envvar="FAULT_TLS_CLIENT_CA",
            help="Accept only clients with a certificate of these authorities (PEM), where they speak TLS.",
        ),
        click.option(
            "--upstream-cert",
            metavar="FILE",
            envvar="FAULT_UPSTREAM_CERT",
            help="Certificate (PEM) for upstreams that ask for one.",
        ),
        click.option(
            "--upstream-key",
            metavar="FILE",
            envvar="FAULT_UPSTREAM_KEY",
            help="Private key of --upstream-cert (PEM).",
        ),
    )


def intercept_option(help: str) -> Callable[[F], F]:
    """Return a decorator that adds `--intercept`, which the command receives as `intercepts`."""
    return click.option(
        "--intercept", "intercepts", multiple=True, metavar="HOST", envvar="FAULT_INTERCEPT", help=help
    )


def with_tls(given: Mapping[str, Any], specs: tuple[ProxySpec, ...]) -> tuple[ProxySpec, ...]:
    """Return the proxies with the certificates of the options. Raises InputError that names a flag."""
    pair = _pair(given, "--tls-cert", "--tls-key")
    client_ca = given["tls_client_ca"]
    speaks_tls = [spec for spec in specs if spec.client_tls is not None]
    # In intercepted tunnels, certificates are the authority's.
    maps = [spec for spec in speaks_tls if spec.upstream is not None]
    for flag, value, used_by in (("--tls-cert", pair, maps), ("--tls-client-ca", client_ca, speaks_tls)):
        if value is not None and not used_by:
            raise InputError(
                flag, 'expected a map that speaks TLS to clients, such as "https:34000=http://localhost:8000"'
            )
    identity = _pair(given, "--upstream-cert", "--upstream-key")
    _check_files(pair, client_ca, identity)
    return tuple(_secured(replace(spec, identity=identity), pair, client_ca) for spec in specs)


def _check_files(
    pair: tuple[str, str] | None, client_ca: str | None, identity: tuple[str, str] | None
) -> None:
    """Raise InputError for a file that does not fit, before anything is opened."""
    if pair is None and client_ca is None and identity is None:
        return
    import ssl

    from faultkit.base.certificates import add_certificate, check_authorities

    if pair is not None:
        add_certificate(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), *pair, ("--tls-cert", "--tls-key"))
    if client_ca is not None:
        check_authorities(client_ca, "--tls-client-ca")
    if identity is not None:
        flags = ("--upstream-cert", "--upstream-key")
        add_certificate(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), *identity, flags)


def _secured(spec: ProxySpec, pair: tuple[str, str] | None, client_ca: str | None) -> ProxySpec:
    if spec.client_tls is None:
        return spec
    # One certificate cannot be that of every host whose tunnel is opened.
    cert, key = pair if pair is not None and spec.upstream is not None else (None, None)
    return replace(spec, client_tls=replace(spec.client_tls, cert=cert, key=key, client_ca=client_ca))


def _pair(given: Mapping[str, Any], cert_flag: str, key_flag: str) -> tuple[str, str] | None:
    cert, key = (given[flag[2:].replace("-", "_")] for flag in (cert_flag, key_flag))
    if cert is None and key is None:
        return None
    for flag, file, other in ((cert_flag, key, cert), (key_flag, cert, key)):
        if file is not None and other is None:
            present = key_flag if flag == cert_flag else cert_flag
            raise InputError(present, f"expected {flag} beside it, got none")
    return cert, key


def forward_proxy(listen: Endpoint, upstreams: tuple[str, ...], intercepts: tuple[str, ...]) -> ProxySpec:
    """Return the forward proxy. It breaks the hosts of both flags; into HTTPS of `--intercept` it looks."""
    broken, hosts = _hosts("--upstream", upstreams), _hosts("--intercept", intercepts)
    if not hosts.upstreams:
        return ProxySpec(FORWARD, listen, broken=broken)
    both = UpstreamSet(tuple(dict.fromkeys((*broken.upstreams, *hosts.upstreams))))
    return ProxySpec(FORWARD, listen, broken=both, intercept=hosts, client_tls=ListenerTls())


def _hosts(flag: str, texts: tuple[str, ...]) -> UpstreamSet:
    try:
        hosts = UpstreamSet.parse(texts)
    except InputError as error:
        raise error.at(flag) from None
    if texts and not hosts.upstreams:
        raise InputError(flag, f'expected a host, got "{texts[0]}"')
    return hosts
