"""Runs one version of a service in an interpreter of the user's: a program that imports nothing of ours.

    python runner.py INTERFACE ROOT MODULE FILE APPLICATION

It says `port NUMBER` when it listens. The module is loaded from FILE, whatever ROOT has under its name, so
that a changed version can stand anywhere.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import socket
import sys
from types import ModuleType
from typing import Any


class _Instead(importlib.abc.MetaPathFinder):
    """Finds one module at a place of our choice."""

    def __init__(self, module: str, file: str) -> None:
        self._module, self._file = module, file

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> Any:
        if name != self._module:
            return None
        return importlib.util.spec_from_file_location(name, self._file)


def main() -> None:
    interface, root, module, file, application = sys.argv[1:6]
    sys.path[0] = root
    sys.meta_path.insert(0, _Instead(module, file))
    app: Any = importlib.import_module(module)
    for name in application.split("."):
        app = getattr(app, name)
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    if interface == "asgi":
        _serve_asgi(app, listener)
    else:
        _serve_wsgi(app, listener)


def _listening(listener: socket.socket) -> None:
    sys.stdout.write(f"port {listener.getsockname()[1]}\n")
    sys.stdout.flush()


def _serve_asgi(app: Any, listener: socket.socket) -> None:
    import uvicorn

    server = uvicorn.Server(
        uvicorn.Config(app, log_level="error", lifespan="auto", timeout_graceful_shutdown=1)
    )
    _listening(listener)
    server.run(sockets=[listener])


def _serve_wsgi(app: Any, listener: socket.socket) -> None:
    from socketserver import ThreadingMixIn
    from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

    class Quiet(WSGIRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingMixIn, WSGIServer):
        daemon_threads = True

    server = Server(listener.getsockname(), Quiet, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    server.server_name, server.server_port = "127.0.0.1", listener.getsockname()[1]
    server.setup_environ()
    server.set_app(app)
    _listening(listener)
    server.serve_forever()


if __name__ == "__main__":
    main()
