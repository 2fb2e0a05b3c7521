"""The live stream of the log, over a real connection."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import httpx
import pytest

from faultkit.audit.filter import Filter
from faultkit.audit.store import StoreUnavailable
from faultkit.web import live_stream as live
from faultkit.web.metrics import Metrics
from faultkit.web.routing import HttpError
from tests.audit.rows import entry
from tests.web.served import AUDIT, PATIENCE_S, Served, served

STREAM = f"{AUDIT}/stream"


class Events:
    """The events of one stream."""

    def __init__(self, answer: httpx.Response) -> None:
        self._lines = answer.iter_lines()
        self.answer = answer

    def next(self) -> tuple[str, dict[str, Any]]:
        """Return the name and the data of the next event; skip comments."""
        fields: dict[str, str] = {}
        for line in self._lines:
            if not line and "data" in fields:
                return fields["event"], json.loads(fields["data"]) | _id_of(fields)
            name, _, value = line.partition(": ")
            if name:
                fields[name] = value
        raise AssertionError("the stream has ended")

    def comment(self) -> str:
        line = next(self._lines)
        assert next(self._lines) == ""
        return line


def _id_of(fields: dict[str, str]) -> dict[str, Any]:
    return {"last_id": fields["id"]} if "id" in fields else {}


@contextmanager
def followed(server: Served, query: str = "", last_id: str | None = None) -> Iterator[Events]:
    headers = {} if last_id is None else {"last-event-id": last_id}
    with server.client.stream("GET", f"{STREAM}?{query}", headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        events = Events(answer)
        assert events.comment() == ": connected"
        yield events


def test_calls_are_sent_as_they_are_logged(server: Served) -> None:
    server.call("echo", {"message": "before"})
    with followed(server) as events:
        server.call("echo", {"message": "one"})
        server.call("flaky", {"fail_rate": 1})
        name, row = events.next()
        assert (name, row["parameters"]) == ("audit", {"message": "one"})
        assert row["last_id"] == str(row["seq"])
        found = server.json(f"{AUDIT}/events", q="echo", limit="1")["events"][0]
        assert row == found | {"last_id": row["last_id"]}
        assert events.next()[1]["tool_name"] == "flaky"


def test_a_follower_has_a_filter_of_their_own(server: Served) -> None:
    with followed(server, "success=false") as failed, followed(server, "param.message=x") as with_x:
        server.call("echo", {"message": "y"})
        server.call("echo", {"message": "x"})
        server.call("flaky", {"fail_rate": 1})
        assert with_x.next()[1]["parameters"] == {"message": "x"}
        assert failed.next()[1]["tool_name"] == "flaky"


def test_a_reader_that_reconnects_gets_the_missed_rows(server: Served) -> None:
    server.call("echo", {"message": "seen"})
    seen = server.newest().seq
    server.call("echo", {"message": "missed"})
    with followed(server, "after=0", str(seen)) as events:
        assert events.next()[1]["parameters"] == {"message": "missed"}
    with followed(server, f"after={seen}") as events:
        assert events.next()[1]["seq"] == seen + 1
    with followed(server, "after=999999") as events:
        server.call("echo", {"message": "of a new log"})
        assert events.next()[1]["parameters"] == {"message": "of a new log"}
    refused = server.client.get(STREAM, headers={"last-event-id": "x"})
    assert (refused.status_code, refused.json()["error"][:30]) == (400, "Last-Event-ID: expected a whol")


def test_a_quiet_log_is_kept_alive(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "KEEPALIVE_S", 0.05)
    with followed(server) as events:
        assert events.comment() == ": keepalive"
        assert events.comment() == ": keepalive"


def test_readers_that_disconnect_are_forgotten(server: Served) -> None:
    with followed(server), followed(server):
        assert "faultkit_live_readers 2\n" in server.get("/metrics").text
    until(lambda: "faultkit_live_readers 0\n" in server.get("/metrics").text)


def test_there_are_not_more_followers_than_can_be_served(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "MOST_READERS", 1)
    with followed(server):
        refused = server.get(STREAM)
        assert refused.status_code == 503
        assert refused.json()["error"].startswith("expected at most 1 readers of the live stream")
    until(lambda: "faultkit_live_readers 0\n" in server.get("/metrics").text)


def test_concurrent_readers_are_counted_before_the_database_answers() -> None:
    asked: asyncio.Future[int]

    class Asked(live.LiveStream):
        def _in_thread(self, work: Any) -> Any:
            return asked

    class Left:
        began = is_open = False

    async def main() -> None:
        nonlocal asked
        asked = asyncio.get_running_loop().create_future()
        store: Any = type("Store", (), {"last_seq": None})
        metrics = Metrics(())
        many = Asked(store, metrics, None)  # type: ignore[arg-type]
        answers: list[Any] = [Left() for _ in range(live.MOST_READERS + 1)]
        following = [asyncio.ensure_future(many.follow(each, Filter(), None)) for each in answers]
        await asyncio.sleep(0)
        assert metrics.live_readers == live.MOST_READERS
        asked.set_exception(StoreUnavailable("gone"))
        ended = await asyncio.gather(*following, return_exceptions=True)
        assert [type(each) for each in ended] == [StoreUnavailable] * live.MOST_READERS + [HttpError]
        assert metrics.live_readers == 0

    asyncio.run(main())


def test_a_slow_reader_gets_the_number_of_missed_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "PATIENCE_S", 0.05)
    monkeypatch.setattr(live, "MOST_UNREAD_BYTES", 16 << 10)
    # More than the kernel buffers for a reader that does not read.
    text = json.dumps({"message": "x" * 50_000})
    with served() as running, slow_reader(running) as reader:
        sent = 0
        while "faultkit_live_rows_dropped_total 0\n" in running.get("/metrics").text:
            assert sent < 5_000
            running.store.append([entry(number, parameters=text) for number in range(sent, sent + 100)])
            sent += 100
        events = Lines(reader)
        rows = dropped = 0
        while rows + dropped < sent:
            name, data = events.next()
            if name == "dropped":
                dropped += data["count"]
            else:
                rows += 1
        assert rows + dropped == sent
        assert dropped > 0
        # After that, the stream continues.
        running.call("echo", {"message": "after"})
        while (told := events.next())[0] != "audit" or told[1]["tool_name"] == "none":
            pass
        assert f"faultkit_live_rows_dropped_total {dropped}\n" in running.get("/metrics").text


@contextmanager
def slow_reader(running: Served) -> Iterator[socket.socket]:
    """Open a stream with a small receive buffer, which is read only on request."""
    host, port = running.url.removeprefix("http://").split(":")
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.settimeout(PATIENCE_S)
        reader.connect((host, int(port)))
        reader.sendall(f"GET {STREAM} HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
        until(lambda: "faultkit_live_readers 1\n" in running.get("/metrics").text)
        yield reader


class Lines:
    """The events of a chunked response, read from a socket."""

    def __init__(self, reader: socket.socket) -> None:
        self._file = reader.makefile("rb")
        while self._file.readline() != b"\r\n":
            pass
        self._text = b""

    def next(self) -> tuple[str, dict[str, Any]]:
        while True:
            block, end, rest = self._text.partition(b"\n\n")
            if not end:
                size = int(self._file.readline(), 16)
                self._text += self._file.read(size)
                assert self._file.readline() == b"\r\n"
                continue
            self._text = rest
            fields = dict(line.split(": ", 1) for line in block.decode().splitlines() if line[0] != ":")
            if fields:
                return fields["event"], json.loads(fields["data"])


def test_an_unavailable_database_and_its_return_are_events(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    with served(str(path)) as running, followed(running) as events:
        running.call("echo", {"message": "before"})
        assert events.next()[0] == "audit"
        path.rename(tmp_path / "elsewhere.db")
        path.mkdir()
        # Writing its row shows that the file was removed.
        running.post("/api/v1/admin/tryit/echo", {"arguments": {"message": "meanwhile"}})
        name, data = events.next()
        assert name == "away"
        assert "unable to open database file" in data["error"]
        path.rmdir()
        (tmp_path / "elsewhere.db").rename(path)
        assert events.next()[0] == "back"
        assert events.next()[1]["parameters"] == {"message": "meanwhile"}


def test_the_end_of_the_server_ends_the_stream() -> None:
    with served() as running:
        other = httpx.Client(base_url=running.url, timeout=PATIENCE_S, verify=False)
        answer = other.send(other.build_request("GET", STREAM), stream=True)
        lines = answer.iter_lines()
        assert next(lines) == ": connected"
    assert list(lines) == [""]
    other.close()


def until(holds: Any) -> None:
    end_s = monotonic() + PATIENCE_S
    while not holds():
        assert monotonic() < end_s
