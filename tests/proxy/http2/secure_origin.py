"""A server of HTTP/2 over TLS, on loopback, and one of whatever ALPN gives."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import RequestReceived
from h2.exceptions import ProtocolError

from faultkit.base.address import Endpoint
from tests.proxy.wires import LOOPBACK, PATIENCE_S

TEXT = b"the text of the origin, of 35 bytes"


@dataclass
class SecureOrigin:
    endpoint: Endpoint
    seen: list[tuple[str, str, str]] = field(default_factory=list)
    """Protocol, authority and path of each request."""


@contextmanager
def serving_h2(context: ssl.SSLContext, *protocols: str) -> Iterator[SecureOrigin]:
    """Answer requests of HTTP/2 or HTTP/1.1, as the client asks for by ALPN, by `TEXT`."""
    if protocols:
        context.set_alpn_protocols(list(protocols))
    with socket.create_server((LOOPBACK, 0)) as listener:
        origin = SecureOrigin(Endpoint("localhost", listener.getsockname()[1]))
        threading.Thread(target=_accept, args=(listener, context, origin), daemon=True).start()
        yield origin
        listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, context: ssl.SSLContext, origin: SecureOrigin) -> None:
    while True:
        try:
            raw, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_serve, args=(raw, context, origin), daemon=True).start()


def _serve(raw: socket.socket, context: ssl.SSLContext, origin: SecureOrigin) -> None:
    raw.settimeout(PATIENCE_S)
    with contextlib.suppress(OSError), raw, context.wrap_socket(raw, server_side=True) as client:
        if client.selected_alpn_protocol() == "h2":
            _serve_http_2(client, origin)
        else:
            _serve_http_1(client, origin)


def _serve_http_1(client: ssl.SSLSocket, origin: SecureOrigin) -> None:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        piece = client.recv(65536)
        if not piece:
            return
        head += piece
    fields = head.decode().split("\r\n")
    host = next(line[6:] for line in fields if line.lower().startswith("host: "))
    origin.seen.append(("http/1.1", host, fields[0].split()[1]))
    client.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(TEXT), TEXT)
    )


def _serve_http_2(client: ssl.SSLSocket, origin: SecureOrigin) -> None:
    connection = H2Connection(H2Configuration(client_side=False, header_encoding=None))
    connection.initiate_connection()
    client.sendall(connection.data_to_send())
    while piece := client.recv(65536):
        for event in connection.receive_data(piece):
            if isinstance(event, RequestReceived):
                given = dict(event.headers)
                origin.seen.append(("h2", given[b":authority"].decode(), given[b":path"].decode()))
                fields = [(":status", "200"), ("content-length", str(len(TEXT)))]
                with contextlib.suppress(ProtocolError):  # It was reset in the same bytes.
                    connection.send_headers(event.stream_id, fields)
                    connection.send_data(event.stream_id, TEXT, end_stream=True)
        client.sendall(connection.data_to_send())
