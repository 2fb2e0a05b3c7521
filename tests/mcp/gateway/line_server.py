"""A stdio server without an SDK, which starts fast and acts as the method of a request says.

It answers `saw` with the line that it received, and writes the text of `params.say` unchanged.
"""

import json
import os
import signal
import sys
import time


def write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def reply(message: dict[str, object], result: object) -> None:
    write(json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result}).encode() + b"\n")


def flood(message: dict[str, object], line_bytes: int, count: int, progress: str) -> None:
    for number in range(count):
        params = {"number": number, "filling": "x" * line_bytes}
        write(
            json.dumps({"jsonrpc": "2.0", "method": "notifications/flood", "params": params}).encode() + b"\n"
        )
        with open(progress, "w") as file:
            file.write(str(number + 1))
    reply(message, {"sent": count})


def serve(line: bytes) -> None:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        write(
            b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"'
            + str(len(line)).encode()
            + b'"}}\n'
        )
        return
    if not isinstance(message, dict):
        write(b'[{"jsonrpc":"2.0","id":1,"result":{}} , {"jsonrpc":"2.0","id":2,"result":{}}]\n')
        return
    method, params = message.get("method"), message.get("params") or {}
    if method == "saw":
        reply(message, {"line": line.rstrip(b"\n").hex()})
    elif method == "say":
        for text in params["say"]:
            write(bytes.fromhex(text) + b"\n")
    elif method == "initialize":
        reply(
            message,
            {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {},
                "serverInfo": {"name": "lines", "version": "1"},
            },
        )
    elif method == "tools/call":
        reply(message, {"content": [{"type": "text", "text": params["name"]}]})
    elif method == "last words":
        write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"last": True}}).encode())
        os._exit(0)
    elif method == "die":
        sys.stdout.buffer.flush()
        if "signal" in params:
            os.kill(os.getpid(), params["signal"])
        os._exit(params.get("code", 0))
    elif method == "long":
        write(b'{"jsonrpc":"2.0","id":%d,"result":{"text":"' % message["id"])
        for _ in range(params["mib"]):
            write(b"x" * (1 << 20))
        write(b'"}}\n')
    elif method == "flood":
        flood(message, params["line_bytes"], params["count"], params["progress"])
    elif method == "sleep":
        time.sleep(params["seconds"])
        reply(message, {})
    elif method == "pid":
        reply(message, {"pid": os.getpid()})
    elif "id" in message and method is not None:
        reply(message, {})


def main() -> None:
    if "--stubborn" in sys.argv:
        # It ignores SIGTERM and the end of its input.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin.buffer:
        serve(line)
    if "--stubborn" in sys.argv:
        while True:
            time.sleep(60)


if __name__ == "__main__":
    main()
