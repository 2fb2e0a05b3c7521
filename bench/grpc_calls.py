"""`python -m bench.grpc_calls serve|call`: a gRPC server and client (grpcio) with one unary method.

The client keeps several calls in flight on one connection, and prints one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence

import grpc
import grpc.aio

METHOD = "/bench.Echo/Say"
_IN_FLIGHT = 16
_MESSAGE = b"0123456789abcdef" * 2


class _Echo(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpcio has no types.
    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        return grpc.unary_unary_rpc_method_handler(_say) if details.method == METHOD else None


async def _say(message: bytes, context: object) -> bytes:
    return message


async def _serve(port: int) -> None:
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((_Echo(),))
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    await server.wait_for_termination()


async def _call(port: int, seconds: float) -> None:
    took_s: list[float] = []
    failed = 0
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        say = channel.unary_unary(METHOD)
        began_s = time.monotonic()

        async def keep_calling() -> None:
            nonlocal failed
            while (now_s := time.monotonic()) < began_s + seconds:
                try:
                    await say(_MESSAGE)
                    took_s.append(time.monotonic() - now_s)
                except grpc.aio.AioRpcError:
                    failed += 1

        await asyncio.gather(*(keep_calling() for _ in range(_IN_FLIGHT)))
        elapsed_s = time.monotonic() - began_s
    print(json.dumps({"requests": len(took_s), "errors": failed, "elapsed_us": elapsed_s * 1e6}))


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    match words:
        case ["serve", port]:
            asyncio.run(_serve(int(port)))
        case ["call", port, seconds]:
            asyncio.run(_call(int(port), float(seconds)))
        case _:
            print("bench.grpc_calls: expected serve PORT or call PORT SECONDS", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
