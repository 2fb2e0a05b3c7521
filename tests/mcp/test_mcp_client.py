from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from faultkit.base.errors import TargetError
from faultkit.mcp.failures.failure_service import FailureService, ServeSettings
from faultkit.mcp.mcp_client import McpClient, ServerAddress
from faultkit.mcp.wire.http_front import HttpFront

SERVE = ServerAddress((sys.executable, "-m", "faultkit", "serve", "--no-audit"))


def run(main: Callable[[], Awaitable[Any]]) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(20):
            return await main()

    return asyncio.run(bounded())


def over(transport: str, main: Callable[[ServerAddress], Awaitable[Any]]) -> Any:
    async def serving() -> Any:
        if transport == "stdio":
            return await main(SERVE)
        server = FailureService(ServeSettings())
        front = HttpFront(server)
        host, port = await front.start("127.0.0.1", 0)
        try:
            return await main(ServerAddress(url=f"http://{host}:{port}/mcp"))
        finally:
            await front.stop()
            await server.stop()

    return run(serving)


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_tools_are_listed_and_called_and_errors_come_whole(transport: str) -> None:
    async def main(at: ServerAddress) -> None:
        async with McpClient(at) as client:
            assert client.server_info["name"] == "faultkit-serve"
            assert len(await client.tools()) == 12
            echoed = await client.call("echo", {"message": "hi"})
            assert echoed["result"]["structuredContent"] == {"message": "hi"}
            failed = await client.call("error", {"message": "no", "as_tool": False})
            assert failed["error"]["message"] == "no"
            both = await asyncio.gather(client.call("echo", {"message": "a"}), client.call("whoami", {}))
            assert both[0]["result"]["structuredContent"] == {"message": "a"}

    over(transport, main)


def test_a_caller_who_gives_up_calls_it_off_and_the_session_goes_on() -> None:
    async def main(at: ServerAddress) -> None:
        async with McpClient(at) as client:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await client.call("slow", {"milliseconds": 60_000})
            assert "result" in await client.call("echo", {})

    over("http", main)


def test_a_server_that_dies_in_the_middle_is_told_of_at_once() -> None:
    dying = "import sys; sys.stdin.readline(); sys.exit(3)"

    async def main() -> None:
        with pytest.raises(TargetError, match="the server ended with exit code 3"):
            async with McpClient(ServerAddress((sys.executable, "-c", dying))):
                pass

    run(main)


def test_a_server_that_never_answers_is_given_up() -> None:
    mute = "import sys; sys.stdin.read()"

    async def main() -> None:
        with pytest.raises(TargetError, match=r"no answer to initialize within 0\.2 s"):
            async with McpClient(ServerAddress((sys.executable, "-c", mute)), opening_s=0.2):
                pass

    run(main)


def test_a_command_that_is_not_there_is_named() -> None:
    async def main() -> None:
        with pytest.raises(TargetError, match="no-such-server-here"):
            async with McpClient(ServerAddress(("no-such-server-here",))):
                pass

    run(main)
