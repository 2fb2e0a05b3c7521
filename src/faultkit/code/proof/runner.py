"""Runs one version of a service in an interpreter of the user: a program that imports nothing of Faultkit.

    python runner.py INTERFACE ROOT MODULE FILE TEXT APPLICATION WIRE

It writes `port NUMBER` to the socket WIRE when it serves. The text of the module is that of TEXT instead of
FILE; everything else, `__file__` included, is as if it stood in FILE. When the other end of the wire
closes, the parent process has ended: the runner ends its process group.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any


class _TextLoader(importlib.machinery.SourceFileLoader):
    """A module loader with the text of another file."""

    def __init__(self, module: str, file: str, text: str) -> None:
        super().__init__(module, file)
        self._text_file = text

    def get_data(self, path: Any) -> bytes:
        return super().get_data(self._text_file if path == self.path else path)

    def path_stats(self, path: Any) -> Any:
        raise OSError  # No compiled file is read or written then.


class _TextFinder(importlib.abc.MetaPathFinder):
    """A finder that replaces the text of one module."""

    def __init__(self, module: str, file: str, text: str) -> None:
        self._module, self._file, self._text = module, file, text

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> Any:
        if name != self._module:
            return None
        loader = _TextLoader(name, self._file, self._text)
        return importlib.util.spec_from_file_location(name, self._file, loader=loader)


def main() -> None:
    """Run the service until it ends."""
    interface, root, module, file, text, application, number = sys.argv[1:8]
    wire = socket.socket(fileno=int(number))
    wire.set_inheritable(False)
    threading.Thread(target=_end_with_parent, args=(wire,), daemon=True).start()
    sys.path[0] = root
    sys.argv = [file]
    sys.meta_path.insert(0, _TextFinder(module, file, text))
    app: Any = importlib.import_module(module)
    for name in application.split("."):
        app = getattr(app, name)
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)

    def ready() -> None:
        wire.sendall(b"port %d\n" % listener.getsockname()[1])

    if interface == "asgi":
        _serve_asgi(app, listener, ready)
    else:
        _serve_wsgi(app, listener, ready)


def _end_with_parent(wire: socket.socket) -> None:
    wire.recv(1)
    os.kill(0, signal.SIGKILL)  # Every process of this group, this one included.


def _serve_asgi(app: Any, listener: socket.socket, ready: Callable[[], None]) -> None:
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                ready()

    config = uvicorn.Config(app, log_level="error", lifespan="auto", timeout_graceful_shutdown=1)
    Server(config).run(sockets=[listener])


def _serve_wsgi(app: Any, listener: socket.socket, ready: Callable[[], None]) -> None:
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
    ready()
    server.serve_forever()


if __name__ == "__main__":
    main()
