"""Why a handshake failed, in words."""

from __future__ import annotations

import socket
import ssl

import pytest

from faultkit.base.certificates import client_context, why_handshake_failed

ALERTS = {
    40: "handshake failure",
    70: "protocol version",
    120: "no application protocol",  # Python 3.11 has no name for it.
}


@pytest.mark.parametrize("code", ALERTS)
def test_an_alert_is_told_in_plain_words(code: int) -> None:
    client, server = socket.socketpair()
    with client, server, pytest.raises(ssl.SSLError) as caught:
        server.sendall(bytes([21, 3, 3, 0, 2, 2, code]))
        client_context(verify=False).wrap_socket(client)
    why = why_handshake_failed(caught.value)
    assert why.startswith("TLS: ")
    assert why.endswith(f"alert {ALERTS[code]}")
    assert "[" not in why
