"""The environment of a client script of the seed: the seed's demo app, its upstream, and `fault` on the path.

The scripts use the ports 9090, 34000 and 443. This is a program of its own, so that it can run in a network
namespace in which those are free and nothing else can be reached. It prints the output of the script and the
requests of the upstream as JSON.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import trustme

APP_PORT, UPSTREAM_PORT = 9090, 443
APP_URL, UPSTREAM_URL = f"http://localhost:{APP_PORT}", "https://localhost"
PROXY_URL = "http://localhost:34000"
"""Address at which the app calls its upstream, as documented."""
AUTHORITY = "ca.pem"
PATIENCE_S = 120.0
_TODO = {"userId": 1, "id": 1, "title": "delectus aut autem", "completed": False}
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1  # See netdevice(7).


class Upstream(ThreadingHTTPServer):
    """The upstream over TLS, on the port that the scripts use."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", UPSTREAM_PORT), _Handler)
        self.asked: list[tuple[str, str]] = []
        """Path and Host of each request."""
        # A handshake that a fault delays must not block others, so each runs in its own thread.
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # Connections that a fault has broken.


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Upstream

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Host", "")))
        body = json.dumps(_TODO).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def upstream(authority: trustme.CA) -> Iterator[Upstream]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    with Upstream(context) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def demo_app(folder: Path) -> Iterator[None]:
    command = [
        sys.executable,
        "-m",
        "uvicorn",
        "app.app:app",
        "--port",
        str(APP_PORT),
        "--log-level",
        "error",
    ]
    # It makes a TLS context for each request, over plain HTTP as well. With one authority to read instead of
    # all of the web's, that takes it no time, and five of them can run at once.
    env = {**os.environ, "UPSTREAM_URL": PROXY_URL, "SSL_CERT_FILE": str(folder / AUTHORITY)}
    # The scripts make its upstream fail, so its error output is expected.
    process = subprocess.Popen(
        command, cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait_for(APP_PORT, process)
        yield
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    sys.exit(f"the demo app did not start on port {port}")


def put_on_path(folder: Path) -> Path:
    """Write a `fault` command that trusts the stage's certificates: the scripts pass few variables to it."""
    place = folder / "bin" / "fault"
    place.parent.mkdir()
    authority = shlex.quote(str(folder / AUTHORITY))
    words = shlex.join(["exec", sys.executable, "-m", "faultkit"])
    place.write_text(f'#!/bin/sh\nexport SSL_CERT_FILE={authority}\n{words} "$@"\n')
    place.chmod(0o755)
    return place.parent


def raise_loopback() -> None:
    """Bring up the loopback interface, which is down in a new network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = fcntl.ioctl(any_socket, _GET_FLAGS, struct.pack("16sh14x", b"lo", 0))
        flags = struct.unpack("16sh14x", asked)[1]
        if not flags & _UP:
            fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", flags | _UP))


def main(words: Sequence[str]) -> None:
    """FOLDER app|alone COMMAND…: the folder has `app/app.py` in it; the command is run there, with the app
    and its upstream around it or without."""
    place, company, *command = Path(words[0]), *words[1:]
    raise_loopback()
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(place / AUTHORITY))
    tools = put_on_path(place)
    env = {
        **os.environ,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        # The index and the log of --verbose are written where the test can read them.
        "HOME": str(place),
        "TMPDIR": str(place),
    }
    asked: list[tuple[str, str]] = []
    with ExitStack() as around:
        if company == "app":
            asked = around.enter_context(upstream(authority)).asked
            around.enter_context(demo_app(place))
        done = subprocess.run(command, cwd=place, env=env, capture_output=True, text=True, timeout=PATIENCE_S)
    told = {"code": done.returncode, "out": done.stdout, "errors": done.stderr, "asked": asked}
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
