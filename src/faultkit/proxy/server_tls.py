"""TLS towards clients, without sockets: contexts with certificates, and the server's end of a connection.

The certificate is the user's, or a leaf of the local authority for the name that the client asks for.
TLS 1.2 and 1.3 only, with ciphers that give forward secrecy; an older version only where a fault asks for it.
"""

from __future__ import annotations

import os
import re
import ssl
import tempfile
import warnings
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from faultkit.base.certificates import add_certificate, check_authorities, server_context
from faultkit.base.errors import InputError
from faultkit.proxy.data_plane import ListenerTls
from faultkit.proxy.tls import TlsLeg

if TYPE_CHECKING:
    # Imported where it is used: it needs the extra "tls".
    from faultkit.base.leaf_certificates import Flaw, LeafIssuer

Protocols: TypeAlias = tuple[str, ...]

_MOST_CONTEXTS = 256
_RENEW_AFTER_S = 6 * 3600
_NAME = re.compile(r"[a-z0-9_*]([a-z0-9_.-]{0,251}[a-z0-9_])?|[0-9a-f:.]+")

VERSIONS = {
    "1.0": ssl.TLSVersion.TLSv1,
    "1.1": ssl.TLSVersion.TLSv1_1,
    "1.2": ssl.TLSVersion.TLSv1_2,
    "1.3": ssl.TLSVersion.TLSv1_3,
}


@dataclass(frozen=True, slots=True)
class Variation:
    """How a fault changes what a client is offered."""

    flaw: Flaw | None = None
    """What is wrong with the certificate."""
    version: str | None = None
    """The only version of TLS."""


AS_USUAL = Variation()


@lru_cache(maxsize=8)
def server_contexts(listener: ListenerTls) -> ServerContexts:
    """Return the contexts that all connections with these settings share. Raises InputError."""
    return ServerContexts(listener)


class ServerContexts:
    """Contexts by name, made when they are first needed."""

    def __init__(self, listener: ListenerTls) -> None:
        self._listener = listener
        self._issuer: LeafIssuer | None = None
        self._has_own = False
        self._made: OrderedDict[tuple[str, Variation, Protocols], tuple[float, ssl.SSLContext]] = (
            OrderedDict()
        )
        self._own: dict[Protocols, ssl.SSLContext] = {}
        """With the user's certificate."""
        if listener.cert is not None and listener.key is not None:
            self._has_own = True
            self._own_context(())
        else:
            self._get_issuer()
        if listener.client_ca is not None:
            check_authorities(listener.client_ca, "--tls-client-ca")

    def context_for(
        self, name: str, now: float, variation: Variation = AS_USUAL, protocols: Protocols = ()
    ) -> ssl.SSLContext:
        """Return the context for a client that asks for `name`; `now` is of the monotonic clock.

        `protocols`: what is agreed to by ALPN. Raises ValueError for a name that no server can have."""
        if self._has_own and variation == AS_USUAL:
            return self._own_context(protocols)
        key = (name, variation, protocols)
        known = self._made.get(key)
        if known is not None and now - known[0] < _RENEW_AFTER_S:
            self._made.move_to_end(key)
            return known[1]
        context = self._new(variation.version, protocols)
        if self._has_own and variation.flaw is None:
            listener = self._listener
            add_certificate(context, listener.cert or "", listener.key or "")
        else:
            self._add_leaf(context, name, variation.flaw)
        self._made[key] = (now, context)
        while len(self._made) > _MOST_CONTEXTS:
            self._made.popitem(last=False)
        return context

    def _own_context(self, protocols: Protocols) -> ssl.SSLContext:
        context = self._own.get(protocols)
        if context is None:
            listener = self._listener
            context = self._own[protocols] = self._new(None, protocols)
            add_certificate(context, listener.cert or "", listener.key or "", ("--tls-cert", "--tls-key"))
        return context

    def may_sign(self, name: str) -> bool:
        """Return whether clients may accept a certificate for this name."""
        return self._issuer is None or self._issuer.authority.may_sign(name)

    def check_may_sign(self, host: str) -> None:
        """Raise InputError for a host of `--intercept` whose certificate every client would refuse."""
        if self._issuer is None:
            return
        authority, is_glob = self._issuer.authority, "*" in host or "?" in host
        if authority.may_sign_some(host) if is_glob else authority.may_sign(host):
            return
        domains = ", ".join(authority.domains)
        domain = host.rsplit("*")[-1].strip("?.") if is_glob else host
        raise InputError(
            "--intercept",
            f'expected a host that the authority may sign for ({domains}), got "{host}"; '
            f"`fault ca create --replace --domain {domain}` makes another authority",
        )

    def _get_issuer(self) -> LeafIssuer:
        if self._issuer is None:
            from faultkit.base.leaf_certificates import LeafIssuer
            from faultkit.base.local_authority import authority_folder, open_authority

            given = self._listener.authority
            folder = Path(given) if given else authority_folder(os.environ)
            self._issuer = LeafIssuer(open_authority(folder))
        return self._issuer

    def _add_leaf(self, context: ssl.SSLContext, name: str, flaw: Flaw | None) -> None:
        from faultkit.base.local_authority import moment

        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a server")
        issuer, own = self._get_issuer(), self._listener.names
        others = [other for other in own if name in own and issuer.authority.may_sign(other)]
        _load_chain(context, issuer.issue(tuple(dict.fromkeys((name, *others))), moment(), flaw))

    def _new(self, version: str | None, protocols: Protocols) -> ssl.SSLContext:
        context = server_context()
        if version is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # Old versions are the point.
                context.set_ciphers("DEFAULT:@SECLEVEL=0")
                context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
                context.maximum_version = VERSIONS[version]
                context.minimum_version = VERSIONS[version]
        if protocols:
            context.set_alpn_protocols(list(protocols))
        if self._listener.client_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self._listener.client_ca)
        return context


def _load_chain(context: ssl.SSLContext, pem: bytes) -> None:
    """Let a context identify itself by this PEM text. The module `ssl` reads files only: this one has no name
    where the system allows that, and is gone at once elsewhere."""
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("fault-leaf", os.MFD_CLOEXEC), "wb") as file:
            file.write(pem)
            file.flush()
            context.load_cert_chain(f"/proc/self/fd/{file.fileno()}")
        return
    with tempfile.NamedTemporaryFile(prefix=".fault-leaf-") as file:  # Mode 0600.
        file.write(pem)
        file.flush()
        context.load_cert_chain(file.name)


class ServerLeg(TlsLeg):
    """The server's end of one TLS connection. Raises ssl.SSLError if the handshake fails."""

    __slots__ = ()

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(context, "")

    def use(self, context: ssl.SSLContext) -> None:
        """Use another context, before the handshake has begun."""
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
