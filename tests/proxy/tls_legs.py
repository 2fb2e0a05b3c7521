"""Both ends of TLS connections without sockets."""

import ssl

import trustme

from faultkit.proxy.server_tls import ServerLeg
from faultkit.proxy.tls import TlsLeg

Contexts = tuple[ssl.SSLContext, ssl.SSLContext]
"""A server's context and one that trusts it."""


def new_contexts() -> Contexts:
    authority = trustme.CA()
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.issue_cert("localhost").configure_cert(server)
    authority.configure_trust(client)
    return server, client


def agreed(contexts: Contexts) -> tuple[ServerLeg, TlsLeg]:
    """Return both ends of a connection, once they have exchanged a byte each way."""
    server, client = ServerLeg(contexts[0]), TlsLeg(contexts[1], "localhost")
    records = client.start()
    while records:
        server.decrypt(records)
        client.decrypt(server.records())
        records = client.records()
    for near, far in ((client, server), (server, client)):
        near.encrypt(b"!")
        assert far.decrypt(near.records()) == b"!"
    return server, client
