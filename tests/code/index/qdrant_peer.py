"""A small Qdrant over HTTP: what the server store needs, with a record of the requests.

No server of Qdrant installs from a package, so this is not proof that a real one is pleased: it follows the
published REST API, and answers as far as the contract of a store goes.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(slots=True)
class Peer:
    url: str = ""
    requests: list[tuple[str, str, Any]] = field(default_factory=list)
    """Method, path with its query, and body."""
    keys: list[str | None] = field(default_factory=list)
    configs: dict[str, Any] = field(default_factory=dict)
    points: dict[str, dict[str, Any]] = field(default_factory=dict)
    failure: tuple[int, bytes] | None = None
    """The response to every request, if it is set."""

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        parts = path.partition("?")[0].strip("/").split("/")
        name = parts[1]
        if parts[2:] == ["exists"]:
            return 200, {"exists": name in self.configs}
        if len(parts) == 2 and method == "PUT":
            self.configs[name], self.points[name] = body, {}
            return 200, True
        if len(parts) == 2 and method == "DELETE":
            return 200, self.configs.pop(name, None) is not None and self.points.pop(name) is not None
        if name not in self.configs:
            return 404, None
        act = ("PUT " if method == "PUT" else "") + "/".join(parts[2:])
        return 200, _ACTS[act](self.points[name], body)


def _upsert(points: dict[str, Any], body: Any) -> Any:
    for point in body["points"]:
        points[point["id"]] = point
    return {"operation_id": 0, "status": "completed"}


def _retrieve(points: dict[str, Any], body: Any) -> Any:
    return [_record(points[id], body) for id in body["ids"] if id in points]


def _scroll(points: dict[str, Any], body: Any) -> Any:
    ids = sorted(id for id in points if id >= (body.get("offset") or ""))
    taken, rest = ids[: body["limit"]], ids[body["limit"] :]
    found = [_record(points[id], body) for id in taken]
    return {"points": found, "next_page_offset": rest[0] if rest else None}


def _delete(points: dict[str, Any], body: Any) -> Any:
    for id in body["points"]:
        points.pop(id, None)
    return {"operation_id": 0, "status": "completed"}


def _query(points: dict[str, Any], body: Any) -> Any:
    using = body["using"]
    able = [point for point in points.values() if using in point["vector"]]
    query = body["query"].get("nearest", body["query"]) if isinstance(body["query"], dict) else body["query"]
    score = _cosine if using == "dense" else _sparse_score
    scored = [(score(query, point["vector"][using], able), point) for point in able]
    best = sorted((each for each in scored if using == "dense" or each[0] > 0), key=lambda each: -each[0])
    found = [{**_record(point, body), "score": value, "version": 0} for value, point in best[: body["limit"]]]
    return {"points": found}


def _cosine(one: list[float], other: list[float], _: Any) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0


def _sparse_score(query: Any, vector: Any, able: list[Any]) -> float:
    there = dict(zip(vector["indices"], vector["values"], strict=True))
    total = 0.0
    for index, value in zip(query["indices"], query["values"], strict=True):
        if index in there:
            frequency = sum(index in point["vector"]["lexical"]["indices"] for point in able)
            share = (len(able) - frequency + 0.5) / (frequency + 0.5)
            total += value * there[index] * math.log(1 + share)
    return total


def _record(point: Any, body: Any) -> dict[str, Any]:
    record: dict[str, Any] = {"id": point["id"]}
    if body.get("with_payload"):
        keys: Any = body["with_payload"]
        keys = keys["include"] if isinstance(keys, dict) else keys
        payload = point["payload"]
        record["payload"] = payload if keys is True else {key: payload[key] for key in keys if key in payload}
    if body.get("with_vector"):
        record["vector"] = {
            key: point["vector"][key] for key in body["with_vector"] if key in point["vector"]
        }
    return record


_ACTS = {
    "PUT points": _upsert,
    "points": _retrieve,
    "points/scroll": _scroll,
    "points/delete": _delete,
    "points/query": _query,
}


@contextmanager
def qdrant_peer() -> Iterator[Peer]:
    peer = Peer()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
            body = json.loads(data) if data else None
            with lock:
                peer.requests.append((self.command, self.path, body))
                peer.keys.append(self.headers.get("api-key"))
                status, answer = peer.failure or self._answer(body)
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def _answer(self, body: Any) -> tuple[int, bytes]:
            status, result = peer.answer(self.command, self.path, body)
            return status, json.dumps({"result": result, "status": "ok", "time": 0.0}).encode()

        do_GET = do_PUT = do_POST = do_DELETE = _serve

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        peer.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield peer
        finally:
            server.shutdown()
            thread.join(5)
