"""`fault mock` and `mcptest` as processes: start, exit, and refused input."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from faultkit.cli.entry import invoke_mcptest
from faultkit.cli.main import invoke
from faultkit.mcp.fault_specs import FORM
from tests.mcp.mock.mock_client import call, request

PATIENCE_S = 20.0
TOOLS = "tools:\n  - {name: search, response: 'found ${args.q}'}\n  - {name: plain, response: hello}\n"
MCPTEST = "from faultkit.cli.entry import mcptest; mcptest()"


@pytest.fixture
def tools(tmp_path: Path) -> str:
    file = tmp_path / "tools.yml"
    file.write_text(TOOLS)
    return str(file)


@contextmanager
def started(*args: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start the command; it is killed after a while in any case."""
    process = subprocess.Popen(
        [sys.executable, "-m", "faultkit", *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )
    timer = threading.Timer(PATIENCE_S, process.kill)
    timer.start()
    try:
        with process:
            yield process
    finally:
        timer.cancel()
        timer.join()


def say(process: subprocess.Popen[bytes], *messages: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))


def read_message(process: subprocess.Popen[bytes]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def ended(process: subprocess.Popen[bytes]) -> tuple[int, bytes, bytes]:
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, err


def done(*args: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "faultkit", *args]
    result = subprocess.run(command, input="", capture_output=True, text=True, timeout=PATIENCE_S)
    return result.returncode, result.stdout, result.stderr


@pytest.mark.parametrize("fault", ["none", "hang", "frozen", "slow:60000"])
def test_the_end_of_stdin_ends_it_at_once_whatever_it_is_doing(fault: str, tools: str) -> None:
    with started("mock", "--tools-from", tools, "--fault", fault) as process:
        say(process, request(1, "ping"))
        assert read_message(process) == {"jsonrpc": "2.0", "id": 1, "result": {}}
        say(process, call(2, "plain"))
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
        reply = b'{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"hello"}]}}\n'
        said = b"" if fault == "none" else b'rule "%s" acted on 1 of 1 call\n' % fault.split(":")[0].encode()
        assert ended(process) == (0, reply if fault == "none" else b"", said)


UNLIKE_ITS_MEAN = "slow:20,distribution=normal,stddev_ms=20"
CAVEAT = (
    "warning: slow: delays below 0 are drawn again, so that their mean is 25.8 ms, not 20 ms "
    "(stddev is over half of it)"
)


@pytest.mark.parametrize("service", ["mock", "gateway"])
def test_a_mean_that_is_not_the_one_of_the_settings_is_a_warning(service: str, tools: str) -> None:
    mock = ["mock", "--tools-from", tools]
    behind = ["--", sys.executable, "-m", "faultkit", *mock]
    words = [*mock, "--fault", UNLIKE_ITS_MEAN]
    if service == "gateway":
        words = ["gateway", "--fault", UNLIKE_ITS_MEAN, *behind]
    code, _, err = done(*words)
    assert (code, err.splitlines()[0]) == (0, CAVEAT)


def test_a_slow_reply_is_still_written_after_the_end_of_stdin(tools: str) -> None:
    with started("mock", "--tools-from", tools, "--fault", "slow:300") as process:
        say(process, call(2, "plain"))
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
        code, out, _ = ended(process)
        assert (code, json.loads(out)["id"]) == (0, 2)


def test_a_mock_that_other_machines_reach_is_a_warning(tools: str) -> None:
    listening = ["--front", "http", "--host", "0.0.0.0", "--port", "0"]
    with started("mock", "--tools-from", tools, *listening) as process:
        assert process.stderr is not None
        process.stderr.readline()
        assert process.stderr.readline() == b"warning: every machine that reaches 0.0.0.0 may call the mock\n"
        process.terminate()


def test_a_mock_that_other_machines_reach_is_not_served_to_pages_of_other_sites(tools: str) -> None:
    listening = ["--front", "http", "--host", "0.0.0.0", "--port", "0"]
    with started("mock", "--tools-from", tools, *listening) as process:
        assert process.stderr is not None
        port = int(process.stderr.readline().decode().rpartition(":")[2].partition("/")[0])
        for host, origin, status in (
            ("box.example", None, 200),
            ("box.example", "http://box.example:6274", 200),
            ("box.example", "http://evil.example", 403),
        ):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
            headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
            headers |= {"host": host} | ({} if origin is None else {"origin": origin})
            opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}}
            body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening}
            connection.request("POST", "/mcp", json.dumps(body), headers)
            assert connection.getresponse().status == status
            connection.close()
        process.terminate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("front", ["stdio", "http"])
def test_a_signal_ends_it_in_good_order_even_while_a_call_hangs(
    number: signal.Signals, front: str, tools: str
) -> None:
    listening = ["--front", "http", "--port", "0"] if front == "http" else []
    with started("mock", "--tools-from", tools, "--fault", "hang", *listening) as process:
        if front == "stdio":
            say(process, call(1, "plain"), request(2, "ping"))
            assert read_message(process)["id"] == 2
        else:
            assert process.stderr is not None
            assert process.stderr.readline().startswith(b"mock on http://127.0.0.1:")
        process.send_signal(number)
        assert process.wait(PATIENCE_S) == 0
        assert process.stderr is not None
        told = b'warning: rule "hang" acted on no call: none matched it\n'
        if front == "stdio":
            told = b'rule "hang" acted on 1 of 1 call\n'
        assert process.stderr.read() == told


def test_stdin_may_be_nothing_or_a_file(tools: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "faultkit", "mock", "--tools-from", tools]
    nothing = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S)
    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (0, b"", b"")
    asked = tmp_path / "asked"
    asked.write_bytes(json.dumps(request(1, "ping")).encode() + b"\n")
    with asked.open("rb") as file, (tmp_path / "said").open("wb") as out:
        subprocess.run(command, stdin=file, stdout=out, check=True, timeout=PATIENCE_S)
    assert json.loads((tmp_path / "said").read_bytes()) == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_a_client_that_reads_no_more_ends_it(tools: str) -> None:
    with started("mock", "--tools-from", tools) as process:
        say(process, request(1, "ping"))
        read_message(process)
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        # It may have exited by itself already.
        with contextlib.suppress(BrokenPipeError):
            say(process, request(2, "ping"))
        assert process.wait(PATIENCE_S) == 0


def test_what_others_print_does_not_meet_the_wire(tools: str) -> None:
    """Only protocol messages are written to standard output."""
    with started("mock", "--tools-from", tools) as process:
        say(process, request(1, "tools/list"), call(2, "nope"), call(3, "plain"))
        assert [read_message(process)["id"] for _ in range(3)] == [1, 2, 3]
        assert ended(process) == (0, b"", b"")


def test_a_port_in_use_is_said_clearly(tools: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert invoke(["mock", "--tools-from", tools, "--front", "http", "--port", str(port)]) == 3
    assert capsys.readouterr() == ("", f"error: cannot listen on 127.0.0.1:{port}: the port is taken\n")


REFUSED = [
    (["--fault", "hung"], "--fault \"hung\": unknown fault 'hung'; did you mean 'hang'? "),
    (["--fault", "slow:soon"], '--fault "slow:soon": delay_ms: expected a number'),
    (["--fault", "latency"], '--fault "latency": latency acts on the network: use fault run'),
    (
        ["--fault", "tcp_reset"],
        '--fault "tcp_reset": expected one that fits stdio in the legacy or modern era, got "tcp_reset", '
        "which is for http in the legacy era, http in the modern era: ",
    ),
    (
        ["--fault", "none", "--fault", "slow:5@serch"],
        '--fault "slow:5@serch": no tool is named "serch"; did you mean \'search\'? (tools: plain, search)',
    ),
    (
        ["--fault", "hang@prompt:zzz"],
        '--fault "hang@prompt:zzz": no prompt is named "zzz" (prompts: none)',
    ),
    (["--fault", "hang@resource:nope"], '--fault "hang@resource:nope": no resource is named "nope"'),
    (
        ["--fault", "hang@method:tols/call"],
        '--fault "hang@method:tols/call": no method is named "tols/call"; did you mean \'tools/call\'? ',
    ),
    (["--fault", "none@search"], '--fault "none@search": none stands alone'),
    (["--seed", "", "--fault", "hang"], "--seed: expected a whole number of at least 0 or a text"),
    (["--port", "8765"], "--port: expected --front http beside it, without which it does nothing"),
    (["--host", "127.0.0.1"], "--host: expected --front http beside it, without which it does nothing"),
    (["--front", "pigeon"], "Invalid value for '--front': 'pigeon' is not one of 'stdio', 'http'"),
]


@pytest.mark.parametrize(("args", "problem"), REFUSED)
def test_faults_that_cannot_be_are_refused_with_what_could(
    args: list[str], problem: str, tools: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["mock", "--tools-from", tools, *args]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {problem}"), err
    assert err.count("\n") == 1


def test_a_rule_of_a_file_is_named_by_its_place_there(
    tools: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("rules:\n  - {name: a, fault: hang}\n  - {name: b, fault: hang, match: {tool: nope}}\n")
    assert invoke(["mock", "--tools-from", tools, "--fault", "hang", "--plan", str(plan)]) == 2
    assert capsys.readouterr().err == (
        f'error: {plan}: line 3: rules[1].match.tool: no tool is named "nope" (tools: plain, search)\n'
    )


def test_a_bad_manifest_is_refused_with_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tools.yml"
    file.write_text("tools:\n  - name: a\n  - name: a\n")
    assert done("mock", "--tools-from", str(file)) == (
        2,
        "",
        f'error: {file}: line 3: tools[1].name: "a" is there already, as tools[0]\n',
    )
    nowhere = tmp_path / "nosuch.yml"
    assert invoke(["mock", "--tools-from", str(nowhere)]) == 2
    assert capsys.readouterr() == ("", f"error: {nowhere}: cannot be read: no such file or directory\n")
    assert invoke(["mock"]) == 2
    missing = "error: Missing option '--tools-from' (see `fault mock --help`)\n"
    assert capsys.readouterr() == ("", missing)


def test_mcptest_mock_is_fault_mock(tools: str) -> None:
    process = subprocess.run(
        [sys.executable, "-c", MCPTEST, "mock", "--tools-from", tools, "--fault", "hang"],
        input=b"".join(json.dumps(each).encode() + b"\n" for each in (call(1, "plain"), request(2, "ping"))),
        capture_output=True,
        timeout=PATIENCE_S,
    )
    assert (process.returncode, process.stderr) == (0, b'rule "hang" acted on 1 of 1 call\n')
    assert json.loads(process.stdout) == {"jsonrpc": "2.0", "id": 2, "result": {}}


@pytest.mark.parametrize(
    ("args", "code", "out", "err"),
    [
        (["run", "--config", "x.yml"], 2, "", "error: x.yml: there is no such suite\n"),
        (["run", "--qqqq"], 2, "", "error: No such option '--qqqq' (see `mcptest run --help`)\n"),
        (["run", "--help"], 0, "Usage: mcptest run [OPTIONS]", ""),
        (["validate", "--help"], 0, "Usage: mcptest validate [OPTIONS]", ""),
        (["init", "--help"], 0, "Usage: mcptest init [OPTIONS]", ""),
        (["lint"], 2, "", "error: mcptest lint: expected one of run, validate, init, mock, schema, "),
        (["compliance", "run"], 2, "", "error: mcptest compliance: expected one of run, validate, init, "),
        ([], 2, "", "Usage: mcptest [OPTIONS] [COMMAND]"),
        (["--help"], 0, "Usage: mcptest [OPTIONS] [COMMAND]", ""),
        (["--version"], 0, "fault, version ", ""),
        (["mock", "--preset", "x"], 2, "", "error: --preset: the catalogs of mcptest are not part of "),
        (["mock", "--log-level", "x"], 2, "", "error: --log-level: expected one of trace, debug, "),
        (["run", "--log-level=x", "a.yml"], 2, "", "error: --log-level: expected one of trace, debug, "),
        (["run", "x.yml", "--debug", "--no-color"], 2, "", "error: x.yml: there is no such suite\n"),
        (["mock", "--help"], 0, "Usage: mcptest mock [OPTIONS]", ""),
        (
            ["mock", "--fault", "hang"],
            2,
            "",
            "error: Missing option '--tools-from' (see `mcptest mock --help`)\n",
        ),
    ],
)
def test_mcptest_says_what_it_has(
    args: list[str], code: int, out: str, err: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke_mcptest(args) == code
    said = capsys.readouterr()
    assert said.out.startswith(out)
    assert said.err.startswith(err)


def test_help_is_in_the_words_of_the_program_that_was_asked_and_has_the_form_of_a_fault(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for run, name in ((invoke_mcptest, "mcptest"), (invoke, "fault")):
        assert run(["mock", "--help"]) == 0
        page = capsys.readouterr().out
        assert f"\n    {name} mock --tools-from tools.yml\n" in page
        assert page.count("mcptest") == page.count("mcptest mock")
        assert (page.count("fault mock") == 0) == (name == "mcptest")
        assert FORM in page


def test_no_descriptor_is_left_open_by_many_sessions(tools: str) -> None:
    with started("mock", "--tools-from", tools, "--front", "http", "--port", "0") as process:
        assert process.stderr is not None
        port = int(process.stderr.readline().rstrip(b"/mcp\n").rpartition(b":")[2])
        before = 0
        for _ in range(30):
            with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as client:
                body = json.dumps(request(1, "initialize", protocolVersion="2025-11-25")).encode()
                head = (
                    f"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
                    f"connection: close\r\ncontent-length: {len(body)}\r\n\r\n"
                )
                client.sendall(head.encode() + body)
                while client.recv(4096):
                    pass
            before = before or _descriptors(process.pid)
        assert _descriptors(process.pid) <= before + 1
        process.terminate()
        assert process.wait(PATIENCE_S) == 0


def _descriptors(pid: int) -> int:
    folder = Path(f"/proc/{pid}/fd")
    if not folder.exists():
        pytest.skip("descriptors can be counted on Linux only")
    return len(os.listdir(folder))
