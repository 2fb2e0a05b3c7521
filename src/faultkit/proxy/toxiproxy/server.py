"""Run the API: take the port, serve until told to stop, give everything back."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path

import uvicorn

from faultkit.base.address import LOOPBACK, Endpoint
from faultkit.base.errors import InputError, TargetError
from faultkit.proxy.plane import Plane
from faultkit.proxy.toxiproxy.api import build_app
from faultkit.proxy.toxiproxy.body import parse_json
from faultkit.proxy.toxiproxy.guard import is_local
from faultkit.proxy.toxiproxy.refusals import Refusal
from faultkit.proxy.toxiproxy.registry import Registry

DEFAULT_HOST, DEFAULT_PORT = "localhost", 8474
_GRACE_S, _KEEP_ALIVE_S = 2, 60


class ToxiproxyServer:
    """The plane, the registry and the API in one. `run` blocks until `stop` is called, from any thread."""

    def __init__(
        self, host: str = DEFAULT_HOST, port: int = DEFAULT_PORT, seed: int | str | None = None
    ) -> None:
        host = LOOPBACK if host == "localhost" else host
        self.seed = secrets.randbelow(2**32) if seed is None else seed
        self._listener = _listen(host, port)
        bound_host, bound_port = self._listener.getsockname()[:2]
        self.endpoint = Endpoint(bound_host, bound_port)
        self._plane = Plane()
        self._plane.start()
        self._registry = Registry(self._plane, self.seed)
        app = build_app(self._registry, local_only=is_local(bound_host))
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                loop="asyncio",
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_keep_alive=_KEEP_ALIVE_S,
                timeout_graceful_shutdown=_GRACE_S,
            )
        )

    def populate(self, config: Path) -> int:
        """Open the proxies of a file, a JSON list as the API's /populate takes; returns how many."""
        try:
            raw = config.read_bytes()
        except OSError as error:
            raise InputError(str(config), f"cannot be read: {error.strerror}") from None
        try:
            return len(self._registry.populate(parse_json(raw)))
        except Refusal as refusal:
            if refusal.status >= 500:
                raise TargetError(f"{config}: {refusal.message}") from None
            raise InputError(str(config), refusal.message.removeprefix("bad request body: ")) from None

    def run(self) -> None:
        self._server.run(sockets=[self._listener])

    def stop(self) -> None:
        self._server.should_exit = True

    def close(self) -> None:
        """Give all ports back. Call it when `run` has returned."""
        self._plane.close()
        self._listener.close()


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # Not create_server: it would let two servers share the port on some systems.
        listener = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise TargetError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise TargetError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    return listener
