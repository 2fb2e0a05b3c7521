"""The faulty server that a client starts on stdio: `python -m faultkit.mcp.probe.clients.stdio_server PATH`.

It connects to the profile's Unix socket, reads from it which server to be, and writes each journal entry to
it.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from contextlib import suppress
from typing import Any

from faultkit.base.signals import wait_for_stop
from faultkit.mcp.probe.clients.fault_battery import manifest_of, plan_of
from faultkit.mcp.probe.clients.recording_mock import JournalEntry, RecordingMock
from faultkit.mcp.wire.stdio_front import serve_stdio


def main(path: str) -> None:
    """Serve on stdin and stdout as the profile at the socket asks."""
    with socket.socket(socket.AF_UNIX) as profile:
        profile.connect(path)
        profile.sendall(f"{os.getpid()}\n".encode())
        with profile.makefile("rb") as lines:
            job = json.loads(lines.readline())
        asyncio.run(_serve(job, profile))


async def _serve(job: dict[str, Any], profile: socket.socket) -> None:
    def record(entry: JournalEntry) -> None:
        # If the profile has ended, the client still has its server.
        with suppress(OSError):
            profile.sendall(entry.line())

    service = RecordingMock(
        manifest_of(job["tools_from"]), plan_of(job["spec"], job["seed"]), job["era"], record
    )
    try:
        await wait_for_stop(serve_stdio(service))
    finally:
        await service.stop()


if __name__ == "__main__":
    main(sys.argv[1])
