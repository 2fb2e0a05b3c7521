"""Trust in the certificates of servers: contexts of TLS clients, and why a handshake failed."""

from __future__ import annotations

import re
import ssl

from faultkit.base.address import Verify
from faultkit.base.errors import InputError

_PLACE_IN_PYTHON = re.compile(r"^\[[^]]*\] | ?\(_ssl\.c:\d+\)$")


def client_context(verify: Verify = True) -> ssl.SSLContext:
    """Return a new context for connections to servers. Raises OSError for a file without certificates."""
    context = ssl.create_default_context()
    if isinstance(verify, str):
        context.load_verify_locations(verify)
    elif not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def check_authorities(path: str, field: str) -> None:
    """Raise InputError, which names `field`, if the file holds no certificates in PEM format."""
    try:
        client_context(path)
    except OSError as error:  # ssl.SSLError is one.
        why = "no certificate in it" if isinstance(error, ssl.SSLError) else (error.strerror or str(error))
        raise InputError(field, f'expected a PEM file of certificates, got "{path}": {why}') from None


def why_handshake_failed(error: ssl.SSLError) -> str:
    """Return why a TLS handshake failed, in a few words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS: the certificate is not trusted: {error.verify_message}"
    if error.reason:
        return f"TLS: {error.reason.lower().replace('_', ' ')}"
    # Python has no name for some alerts: then the text is "[SSL] tlsv1 alert … (_ssl.c:1006)".
    return f"TLS: {_PLACE_IN_PYTHON.sub('', str(error))}"
