"""Servers and clients on pipes that exit, flood, sleep or send nonsense: the gateway keeps working."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from faultkit.base.framing import MOST_LINE_BYTES
from faultkit.mcp.fault_specs import parse_spec
from faultkit.plan import Plan
from tests.mcp.gateway.gateway_peers import LINE_SERVER, on_http, on_pipes, request, run, to_lines
from tests.mcp.gateway.gateway_processes import FAULT
from tests.mcp.gateway.test_bytes import CONTENT, INITIALIZE, opened

PATIENCE_S = 20.0


class Process:
    """A gateway as a process, with its pipes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin, self.stdout = process.stdin, process.stdout

    def say(self, *lines: bytes) -> None:
        self.stdin.write(b"".join(line + b"\n" for line in lines))
        self.stdin.flush()

    def ask(self, id: int, method: str, **params: Any) -> Any:
        self.say(request(id, method, **params))
        return json.loads(self.stdout.readline())["result"]

    def ended(self) -> tuple[int, str]:
        assert self.process.stderr is not None
        self.stdin.close()
        code = self.process.wait(PATIENCE_S)
        return code, self.process.stderr.read().decode()


@contextmanager
def gateway(*words: str) -> Iterator[Process]:
    pipe = subprocess.PIPE
    process = subprocess.Popen([*FAULT, "gateway", *words], stdin=pipe, stdout=pipe, stderr=pipe)
    with process:
        try:
            yield Process(process)
        finally:
            process.kill()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A zombie has exited; its new parent has not waited for it yet.
    return b"State:\tZ" not in Path(f"/proc/{pid}/status").read_bytes()


def until_dead(pid: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while is_alive(pid):
        assert time.monotonic() < deadline, f"{pid} is left behind"
        time.sleep(0.01)


def rss_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")


@pytest.mark.parametrize(
    ("how", "code", "said"),
    [
        ({"code": 7}, 7, "the server: the server ended with exit code 7\n"),
        ({"code": 0}, 0, ""),
        ({"signal": 9}, 137, "the server: the server ended by signal 9\n"),
    ],
)
def test_a_server_that_dies_in_the_middle_of_a_call_takes_the_gateway_with_it(
    how: dict[str, int], code: int, said: str
) -> None:
    with gateway("--", *LINE_SERVER) as client:
        client.say(request(1, "sleep", seconds=0), request(2, "die", **how))
        assert json.loads(client.stdout.readline())["id"] == 1
        assert client.stdout.readline() == b""
        assert client.ended() == (code, said)


def test_a_command_that_is_not_there_is_exit_3_before_anything_begins() -> None:
    with gateway("--", "no-such-program-here") as client:
        assert client.ended() == (3, "error: cannot start no-such-program-here: there is no such program\n")


def test_a_command_that_cannot_be_run_is_exit_3(tmp_path: Path) -> None:
    script = tmp_path / "server"
    script.write_bytes(b"\x00\x01 no program")
    script.chmod(0o755)
    with gateway("--", str(script)) as client:
        client.say(request(1, "x"))
        assert client.stdout.readline() == b""
        assert client.ended() == (3, f"the server: cannot start {script}: Exec format error\n")


def test_what_was_asked_before_the_end_of_input_is_answered() -> None:
    with gateway("--fault", "slow:200@tools/call", "--", *LINE_SERVER) as client:
        client.say(request(1, "sleep", seconds=0.3), request(2, "tools/call", name="a"))
        client.stdin.close()
        lines = [json.loads(line) for line in client.stdout]
        assert {line["id"] for line in lines} == {1, 2}
        assert client.ended() == (0, 'rule "slow" acted on 1 of 1 call\n')


def test_last_lines_without_an_end_pass_in_both_directions() -> None:
    with gateway("--", *LINE_SERVER) as client:
        client.stdin.write(request(1, "pid") + b"\n" + request(2, "last words"))
        client.stdin.close()
        assert [json.loads(line)["id"] for line in client.stdout] == [1, 2]
        assert client.ended() == (0, "")


def test_a_call_that_hangs_does_not_hold_up_the_end() -> None:
    with gateway("--fault", "hang", "--", *LINE_SERVER) as client:
        client.say(request(1, "tools/call", name="a"), request(2, "pid"))
        assert json.loads(client.stdout.readline())["id"] == 2
        assert client.ended() == (0, 'rule "hang" acted on 1 of 1 call\n')


def test_a_reply_that_is_lost_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        rule = parse_spec("lost_reply")
        assert rule is not None
        async with on_pipes(to_lines(), Plan((rule,))) as client:
            client.say(request(1, "tools/call", name="a"), request(2, "pid"))
            assert (await client.message())["id"] == 2

    # Were the reply awaited, the client would lose its patience before.
    monkeypatch.setattr("faultkit.mcp.wire.stdio_front.MOST_DRAIN_S", 1000.0)
    run(main)


def test_a_rule_of_the_other_era_is_told_once_and_at_the_end() -> None:
    with gateway("--fault", "input_required_loop", "--", *LINE_SERVER) as client:
        for id in (1, 2):
            assert client.ask(id, "tools/call", name="a")["content"][0]["text"] == "a"
        code, said = client.ended()
    assert code == 0
    assert said.splitlines() == [
        'warning: rule "input_required_loop" injects nothing: input_required_loop is for stdio in the modern '
        "era or http in the modern era, and this client uses stdio in the legacy era",
        'warning: rule "input_required_loop" acted on no call: it does not fit this client',
    ]


def test_events_can_be_had_as_json() -> None:
    with gateway("--json", "--fault", "error:-5@a", "--fault", "hang@b", "--", *LINE_SERVER) as client:
        client.say(request(1, "tools/call", name="a"))
        assert json.loads(client.stdout.readline())["error"]["code"] == -5
        code, said = client.ended()
    assert code == 0
    injected, end = map(json.loads, said.splitlines())
    assert (injected["event"], injected["rule"], injected["id"]) == ("injected", "protocol_error", 1)
    assert (end["event"], end["reason"]) == ("ended", "end of input")
    assert end["rules"] == [
        {"name": "protocol_error", "covered": 1, "injected": 1},
        {"name": "hang", "covered": 0, "injected": 0},
    ]


def test_the_options_of_a_server_are_its_own_without_a_separator() -> None:
    program, *words = LINE_SERVER
    with gateway("--fault", "error:-5@a", program, *words, "--repository", "r") as client:
        client.say(request(1, "tools/call", name="a"))
        assert json.loads(client.stdout.readline())["error"]["code"] == -5


@pytest.mark.parametrize("ending", ["end of input", signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_of_a_server_that_does_not_want_to_end(ending: str | int) -> None:
    helper = (
        "import subprocess as s; print(s.Popen(['sleep','600']).pid, flush=True);"
        f"s.run({[*LINE_SERVER, '--stubborn']})"
    )
    with gateway("--", sys.executable, "-c", helper) as client:
        # Processes that it started end with it.
        client.say(request(1, "pid"))
        grandchild = int(client.stdout.readline())
        child = json.loads(client.stdout.readline())["result"]["pid"]
        if isinstance(ending, str):
            client.stdin.close()
        else:
            client.process.send_signal(ending)
        client.process.wait(PATIENCE_S)
    until_dead(child)
    until_dead(grandchild)


def test_a_client_that_dies_leaves_no_gateway_and_no_server() -> None:
    script = (
        "import subprocess,sys,os;"
        "p=subprocess.Popen(sys.argv[1:],stdin=-1,stdout=-1);"
        f"p.stdin.write({request(1, 'pid')!r}+b'\\n');p.stdin.flush();"
        "print(p.pid);print(p.stdout.readline().decode(),flush=True);os._exit(0)"
    )
    client = subprocess.run(
        [sys.executable, "-c", script, *FAULT, "gateway", "--", *LINE_SERVER], capture_output=True, text=True
    )
    gateway_pid, answer = client.stdout.split("\n", 1)
    until_dead(int(gateway_pid))
    until_dead(json.loads(answer)["result"]["pid"])


@pytest.mark.slow
def test_a_reply_of_100_mb_is_too_long_and_the_call_learns_that() -> None:
    with gateway("--", *LINE_SERVER) as client:
        client.ask(1, "pid")
        before = rss_mib(client.process.pid)
        client.say(request(2, "long", mib=100), request(3, "pid"))
        answer = json.loads(client.stdout.readline())
        assert answer["id"] == 2
        assert answer["error"]["message"].startswith("the server's reply has 1048576")
        assert json.loads(client.stdout.readline())["id"] == 3
        assert rss_mib(client.process.pid) - before < 2 * MOST_LINE_BYTES / (1 << 20)


@pytest.mark.slow
def test_a_line_of_100_mb_from_the_client_is_refused_and_the_next_one_answered() -> None:
    with gateway("--", *LINE_SERVER) as client:
        for _ in range(100):
            client.stdin.write(b"x" * (1 << 20))
        client.say(b"")
        assert json.loads(client.stdout.readline()) == {
            "jsonrpc": "2.0",
            "id": None,
            "error": {
                "code": -32600,
                "message": "Invalid request: a line of 104857600 bytes, above the limit of 67108864 bytes",
            },
        }
        assert client.ask(3, "pid")


def test_a_result_of_20_mb_passes_whole() -> None:
    async def main() -> None:
        async with on_pipes(to_lines()) as client:
            client.say(request(1, "long", mib=20))
            assert len((await client.message())["result"]["text"]) == 20 << 20

    run(main)


def test_a_client_that_does_not_read_makes_its_server_wait_and_gets_everything_in_the_end(
    tmp_path: Path,
) -> None:
    progress = tmp_path / "progress"
    count = 100
    with gateway("--", *LINE_SERVER) as client:
        client.ask(1, "pid")
        before = rss_mib(client.process.pid)
        client.say(request(2, "flood", line_bytes=1 << 20, count=count, progress=str(progress)))
        written = _stalled(progress)
        assert 0 < written < count / 4
        assert rss_mib(client.process.pid) - before < 40
        numbers = [json.loads(client.stdout.readline())["params"]["number"] for _ in range(count)]
        assert numbers == list(range(count))
        assert json.loads(client.stdout.readline())["result"] == {"sent": count}


def _stalled(progress: Path) -> int:
    """Return the progress once it has not changed for half a second."""
    last, since = -1, time.monotonic()
    while time.monotonic() - since < 0.5:
        now = int(progress.read_text() or 0) if progress.exists() else 0
        if now != last:
            last, since = now, time.monotonic()
        time.sleep(0.02)
    return last


def test_a_server_that_does_not_read_makes_its_client_wait() -> None:
    with gateway("--", *LINE_SERVER) as client:
        client.ask(1, "pid")
        before = rss_mib(client.process.pid)
        os.set_blocking(client.stdin.fileno(), False)
        os.write(client.stdin.fileno(), request(2, "sleep", seconds=1.0) + b"\n")
        line = request(3, "notifications/x", filling="x" * 60_000) + b"\n"
        written, since = 0, time.monotonic()
        while time.monotonic() - since < 0.3:
            try:
                written += os.write(client.stdin.fileno(), line)
                since = time.monotonic()
            except BlockingIOError:
                time.sleep(0.01)
        assert written < 10_000_000
        assert rss_mib(client.process.pid) - before < 30
        assert json.loads(client.stdout.readline())["id"] == 2


def test_a_server_behind_http_that_dies_ends_its_session_and_the_next_one_has_a_new_server() -> None:
    async def main() -> None:
        async with on_http(to_lines()) as client:
            headers = await opened(client)
            with pytest.raises(Exception, match="closed"):
                await client.request("POST", headers, request(1, "die", code=1))
            reply = await client.request("POST", headers, request(2, "pid"))
            assert reply.status == 404
            assert (await (await client.request("POST", CONTENT, INITIALIZE)).body(1000)).startswith(b"{")

    run(main)


def test_a_server_behind_http_that_cannot_start_is_a_json_rpc_error() -> None:
    from faultkit.mcp.upstreams.stdio_upstream import StdioUpstream

    async def main() -> None:
        async with on_http(lambda listener: StdioUpstream(["no-such-program-here"], listener)) as client:
            reply = await client.request("POST", CONTENT, INITIALIZE)
            error = json.loads(await reply.body(1000))["error"]
            assert (reply.status, error["code"]) == (200, -32000)
            assert error["message"] == "cannot start no-such-program-here: No such file or directory"

    run(main)


def test_a_client_of_http_that_does_not_read_is_cut_off_before_it_fills_the_memory(tmp_path: Path) -> None:
    progress = tmp_path / "progress"

    async def main() -> None:
        async with on_http(to_lines()) as client:
            headers = await opened(client)
            stream = await client.request("GET", [*headers, ("accept", "text/event-stream")], b"")
            assert stream.status == 200
            flood = request(1, "flood", line_bytes=1 << 20, count=64, progress=str(progress))
            reply = await client.request("POST", headers, flood)
            # Its own answer came although the other stream was not read.
            assert json.loads(await reply.body(1000))["result"] == {"sent": 64}
            with pytest.raises(Exception, match="reset"):
                while await stream.chunk():
                    pass
            resumed = await client.request(
                "GET", [*headers, ("accept", "text/event-stream"), ("last-event-id", "own-60")], b""
            )
            chunk = b""
            while b'"number": 63' not in chunk:
                chunk = await resumed.chunk()
            resumed.close()

    run(main)


def test_unused_sessions_end_with_their_servers() -> None:
    from faultkit.base.http.http_client import HttpClient
    from faultkit.mcp.gateway.gateway_service import GatewayService
    from faultkit.mcp.injector import Injector
    from faultkit.mcp.wire.http_front import HttpFront
    from faultkit.plan import Plan

    async def main() -> None:
        gateway = GatewayService(to_lines(), Injector(Plan()))
        front = HttpFront(gateway, idle_s=1.0, most_sessions=2)
        host, port = await front.start("127.0.0.1", 0)
        client = HttpClient(f"http://{host}:{port}/mcp")
        headers = await opened(client)
        reply = await client.request("POST", headers, request(1, "pid"))
        pid = json.loads(await reply.body(1000))["result"]["pid"]
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.to_thread(until_dead, pid)
        assert (await client.request("POST", headers, request(1, "pid"))).status == 404
        client.close()
        await front.stop()
        await gateway.stop()

    run(main)
