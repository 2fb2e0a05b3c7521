"""Mistakes that fuzzing has found, each as a test of its own."""

from __future__ import annotations

import json
import socket
import threading

import pytest

from tests.mcp.fuzz.fuzz_clients import LegalClient, Pipes
from tests.mcp.fuzz.fuzzed_process import FAULT, manifest, running
from tests.mcp.fuzz.message_mutator import call, initialize

_HTTP = ("--front", "http", "--port", "0")


def _line(message: object) -> bytes:
    return json.dumps(message).encode() + b"\n"


def test_a_progress_token_of_any_type_goes_through_the_gateway() -> None:
    with manifest() as path:
        command = (*FAULT, "gateway", "--", *FAULT, "mock", "--tools-from", path)
        with running(command, piped=True) as subject:
            pipes = Pipes(subject)
            pipes.ask(_line(initialize("legal-init")), "legal-init")
            for number, token in enumerate(([1], {"a": 1}, None, True, 1.5, "t")):
                message = call(f"legal-{number}")
                message["params"]["_meta"] = {"progressToken": token}
                assert "result" in pipes.ask(_line(message), f"legal-{number}")
            subject.check()


@pytest.mark.parametrize("role", ["gateway", "mock"])
def test_half_of_a_surrogate_pair_as_a_tool_loses_no_call(role: str) -> None:
    with manifest() as path:
        mock = (*FAULT, "mock", "--tools-from", path)
        fault = ("--fault", "slow:1%0.1")
        behind = (*FAULT, "gateway", *fault, "--", *mock)
        with running(behind if role == "gateway" else (*mock, *fault), piped=True) as subject:
            pipes = Pipes(subject)
            pipes.ask(_line(initialize("legal-init")), "legal-init")
            odd = {**call("legal-odd"), "params": {"name": "\ud800", "arguments": {}}}
            both = _line(odd) + _line(call("legal-2"))
            assert "result" in pipes.ask(both, "legal-2")
            subject.check()


def test_what_is_sent_right_behind_initialize_waits_for_the_session_of_an_http_server() -> None:
    with manifest() as path, running((*FAULT, "mock", "--tools-from", path, *_HTTP), piped=False) as behind:
        url = f"http://127.0.0.1:{behind.port()}/mcp"
        with running((*FAULT, "gateway", "--front", "stdio", "--upstream", url), piped=True) as subject:
            pipes = Pipes(subject)
            for round in range(2):
                both = _line(initialize(f"legal-init-{round}")) + _line(call(f"legal-{round}"))
                assert "result" in pipes.ask(both, f"legal-{round}")


def test_an_answer_that_changes_the_protocol_is_lost_and_the_gateway_goes_on() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        switching = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"
        body = json.dumps({"jsonrpc": "2.0", "id": "legal-init", "result": {}}).encode()
        plain = b"HTTP/1.1 200 OK\r\nMcp-Session-Id: s\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        told = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"

        def serve() -> None:
            for answer in (switching, plain, told):
                connection, _ = listener.accept()
                with connection:
                    connection.recv(1 << 16)
                    connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        with running((*FAULT, "gateway", "--upstream", url, *_HTTP), piped=False) as subject:
            port = subject.port()
            client = LegalClient(port, tries=2)
            client.close()
            thread.join(5)
            subject.check()
        assert not thread.is_alive()
