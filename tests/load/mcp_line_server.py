"""A small MCP server over stdio that writes down what it is asked: `mcp_line_server.py JOURNAL [PLAN]`.

PLAN is a JSON list: what to do with call number 1, 2 and so on, of this process; the last entry repeats.
    ok, tool_error, rpc_error, nonsense, late (after the next call), silent, exit, ask (pings the client)
It imports little, so that it starts fast.
"""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    journal = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    plan = json.loads(sys.argv[2]) if len(sys.argv) > 2 else ["ok"]
    calls, held, ping = 0, [], None

    def note(*words: object) -> None:
        os.write(journal, (" ".join(map(str, (os.getpid(), *words))) + "\n").encode())

    def say(message: dict[str, object]) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    note("start")
    for line in sys.stdin:
        message = json.loads(line)
        method, id = message.get("method"), message.get("id")
        if method is None:
            note("answer", id)
            say({"id": ping, "result": {"content": []}})
        elif method in ("initialize", "tools/list"):
            note(method)
            if plan[0] == "refuse":
                say({"id": id, "error": {"code": -1, "message": "not today"}})
            elif plan[0] != "mute":
                say({"id": id, "result": {"protocolVersion": "2025-11-25", "capabilities": {}, "tools": []}})
        elif method == "tools/call":
            calls += 1
            note("call", id, json.dumps(message["params"], sort_keys=True))
            do = plan[min(calls, len(plan)) - 1]
            if do == "exit":
                os._exit(3)
            reply: dict[str, object] = {"id": id, "result": {"content": []}}
            if do == "tool_error":
                reply = {"id": id, "result": {"content": [], "isError": True}}
            elif do == "rpc_error":
                reply = {"id": id, "error": {"code": -32602, "message": "no"}}
            elif do == "nonsense":
                reply = {"id": id, "result": "no object"}
            elif do == "ask":
                ping = id
                say({"id": "p1", "method": "ping"})
                continue
            elif do == "late":
                held.append(reply)
                continue
            elif do == "silent":
                continue
            say({"method": "notifications/message", "params": {}})
            say(reply)
            while held:
                say(held.pop())
        else:
            note(method, json.dumps(message.get("params", {})))
    note("end")


main()
