"""How a socket is closed: by RST, by FIN, or as it is."""

from __future__ import annotations

import socket
import struct
from socket import SocketType
from typing import Literal, TypeAlias

Farewell: TypeAlias = Literal["reset", "drain", "none"]
"""By RST; by FIN, after unread bytes are read; or as it is, where nothing is left to say."""

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_MOST_DRAINS = 16


def say_farewell(end: SocketType, farewell: Farewell) -> None:
    """Close the socket. It never fails: one that is gone already needs no farewell."""
    if farewell != "none":
        try:
            if farewell == "reset":
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            else:
                _drain(end)
        except OSError:
            pass
    end.close()


def _drain(end: SocketType) -> None:
    """Unread bytes would turn the FIN of a close into a reset."""
    for _ in range(_MOST_DRAINS):
        if not end.recv(65536):
            return
