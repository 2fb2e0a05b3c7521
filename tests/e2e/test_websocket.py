"""The real `fault run` and `fault exec` with the `websockets` library on both sides of them."""

from __future__ import annotations

import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.sync.server import ServerConnection, serve

from tests.e2e.test_run import PATIENCE_S, QUIET, fault_run, port_of


def _echo(connection: ServerConnection) -> None:
    try:
        for message in connection:
            connection.send(message)
    except ConnectionClosed:
        pass


@contextmanager
def echoing(context: ssl.SSLContext | None = None) -> Iterator[int]:
    """Serve WebSocket connections that return each message, on this port of loopback."""
    with serve(_echo, "127.0.0.1", 0, ssl=context, close_timeout=1) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.socket.getsockname()[1]


def effects(events: list[dict[str, Any]]) -> list[tuple[str, str, float]]:
    return [(each["fault"], each["effect"], each["value"]) for each in events if each["event"] == "injected"]


def test_flags_break_messages_and_what_was_done_is_reported() -> None:
    flags = [
        *("--with-ws-duplicate", "--ws-duplicate-flow", "to_client", "--ws-duplicate-message", "text"),
        *("--with-ws-close", "--ws-close-code", "4321", "--ws-close-after-messages", "3"),
        *("--ws-close-reason", "enough"),
    ]
    with echoing() as port:
        line = ("--disable-http-proxy", "--proxy", f"0=http://127.0.0.1:{port}", "--json")
        with fault_run(*line, *flags) as run:
            proxy = port_of(run.event("started"))
            with connect(f"ws://127.0.0.1:{proxy}/", proxy=None, close_timeout=1) as client:
                client.send("hello")
                assert [client.recv(PATIENCE_S) for _ in range(2)] == ["hello", "hello"]
                client.send(b"\x00\x01")
                with pytest.raises(ConnectionClosed) as closed:
                    client.recv(PATIENCE_S)
            assert closed.value.rcvd is not None
            assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4321, "enough")
            assert run.stop() == 0
            events = run.rest()
    assert effects(events) == [("ws_duplicate", "copies", 1.0), ("ws_close", "close_code", 4321.0)]
    assert events[-1]["injected"] == {"ws_duplicate": 1, "ws_close": 1}


CLIENT = """
from websockets.sync.client import connect
with connect("wss://localhost:{port}/chat") as client:
    for message in ("lost", "paid 120", "bye"):
        client.send(message)
    print(client.recv(20), "|", client.recv(20))
"""


def test_a_program_whose_messages_are_broken_inside_tls(tmp_path: Path) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "service.pem"))
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "rules:\n"
        "- {fault: ws_drop, match: {path: /chat, flow: to_upstream}, trigger: {first: 1}}\n"
        "- fault: ws_corrupt\n"
        "  with: {changes: 3}\n"
        "  match: {flow: to_client, message: text}\n"
        "  trigger: {first: 1}\n"
    )
    env = {name: value for name, value in QUIET.items() if "PROXY" not in name.upper()}
    env |= {"FAULT_CA_DIR": str(tmp_path / "ca"), "FAULT_CACERT": str(tmp_path / "service.pem")}
    with echoing(context) as port:
        program = [sys.executable, "-c", CLIENT.format(port=port)]
        done = subprocess.run(
            [sys.executable, "-m", "faultkit", "exec", "--plan", str(plan), "--", *program],
            env=env,
            capture_output=True,
            text=True,
            timeout=3 * PATIENCE_S,
            stdin=subprocess.DEVNULL,
        )
    assert done.returncode == 0, done.stderr
    wrong, _, rest = done.stdout.strip().partition(" | ")
    assert rest == "bye"
    assert len(wrong) == len("paid 120")
    assert sum(a != b for a, b in zip(wrong, "paid 120", strict=True)) == 3
