"""The faulty server that a client on stdio starts: `python -m faultkit.mcp.probe.clients.server SOCKET`.

It asks at the socket what it has to be, and tells there what it hears. The end of that connection is the end
of this process, whichever way it went.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from contextlib import suppress
from typing import Any

from faultkit.base.serving import until_stopped
from faultkit.mcp.probe.clients.battery import plan_of
from faultkit.mcp.probe.clients.journal import Entry
from faultkit.mcp.probe.clients.manifest import manifest_of
from faultkit.mcp.probe.clients.watched import Watched
from faultkit.mcp.wire.stdio import serve_stdio


def main(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as place:
        place.connect(path)
        place.sendall(f"{os.getpid()}\n".encode())
        with place.makefile("rb") as told:
            job = json.loads(told.readline())
        asyncio.run(_serve(job, place))


async def _serve(job: dict[str, Any], place: socket.socket) -> None:
    def tell(entry: Entry) -> None:
        # If nobody wants to know any more, the client still has a server.
        with suppress(OSError):
            place.sendall(entry.line())

    service = Watched(manifest_of(job["tools_from"]), plan_of(job["spec"], job["seed"]), job["era"], tell)
    try:
        await until_stopped(serve_stdio(service))
    finally:
        await service.stop()


if __name__ == "__main__":
    main(sys.argv[1])
