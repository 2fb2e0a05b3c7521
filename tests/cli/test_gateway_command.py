"""`fault gateway`: wrong input, which is refused before anything is started."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import trustme

from faultkit.cli.main import invoke
from faultkit.mcp.fault_specs import FORM

SERVER = ("--", sys.executable, "server.py")
URL = ("--upstream", "http://127.0.0.1:9/mcp")


def complaint(capsys: pytest.CaptureFixture[str], *args: str, code: int = 2) -> str:
    assert invoke(["gateway", *args]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err.removeprefix("error: ").removesuffix("\n")


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (
            ("--fault", "hang@server:shop", *SERVER),
            '--fault "hang@server:shop": expected a server that has a name (--name), got "shop"',
        ),
        (
            ("--name", "db", "--fault", "slow:5", "--fault", "hang@server:shop", *SERVER),
            '--fault "hang@server:shop": expected "db" or a glob of it, got "shop"',
        ),
        (
            ("--fault", "none", "--fault", "tcp_reset", *SERVER),
            '--fault "tcp_reset": expected one that fits stdio in the legacy or modern era, got "tcp_reset", '
            "which is for http in the legacy era, http in the modern era: use disconnect: "
            "a pipe knows no reset",
        ),
    ],
)
def test_a_fault_that_could_never_act_is_named_as_it_was_given(
    args: tuple[str, ...], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert complaint(capsys, *args) == problem


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        ("- fault: hnag\n", "line 2: rules[0].fault: unknown fault 'hnag'; did you mean 'hang'? "),
        (
            "- fault: hang\n- fault: hang\n  match: {server: shop}\n",
            'line 4: rules[1].match.server: expected a server that has a name (--name), got "shop"',
        ),
        (
            "- fault: hang\n  schedule: start:50%\n",
            'line 3: rules[0].schedule: expected durations such as "10s", '
            'got a share of the whole: "start:50%"',
        ),
        (
            "- fault: latency\n",
            'line 2: rules[0].fault: expected a fault of calls, got "latency", which acts on the network',
        ),
    ],
)
def test_a_rule_of_a_file_is_named_by_file_line_and_its_place_there(
    rules: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(f"rules:\n{rules}")
    said = complaint(capsys, "--fault", "slow:5", "--plan", str(plan), *SERVER)
    assert said.startswith(f"{plan}: {problem}")


def test_the_place_of_a_rule_is_right_though_rules_for_others_were_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("rules:\n- {fault: hang, match: {server: shop}}\n- {fault: tcp_reset}\n")
    said = complaint(capsys, "--name", "db", "--shared-plan", "--plan", str(plan), *SERVER)
    assert said.startswith(f"{plan}: line 3: rules[1].fault: expected one that fits stdio")


@pytest.mark.parametrize(
    ("args", "flag", "beside"),
    [
        (("--header", "A: b", *SERVER), "--header", "--upstream URL"),
        (("--insecure", *SERVER), "--insecure", "--upstream https://…"),
        (("--insecure", *URL), "--insecure", "--upstream https://…"),
        (("--cacert", "ca.pem", *URL), "--cacert", "--upstream https://…"),
        (("--port", "8766", *SERVER), "--port", "--front http"),
        (("--host", "::1", *URL, "--front", "stdio"), "--host", "--front http"),
        (("--shared-plan", *SERVER), "--shared-plan", "--name NAME"),
        (("--record-only", *SERVER), "--record-only", "--record FILE"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(
    args: tuple[str, ...], flag: str, beside: str, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = f"{flag}: expected {beside} beside it, without which it does nothing"
    assert complaint(capsys, *args) == problem


def test_a_command_that_cannot_be_started_is_exit_3_with_what_stands_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("server.py").write_text("")
    for words, why in (
        (("relpay", "x"), "there is no such program; did you mean `fault gateway replay`?"),
        (("no-such-program",), "there is no such program"),
        ((str(tmp_path),), "it is a directory"),
        (
            ("server.py",),
            "it is no program on the path, only a file here: name what runs it, such as python, before it",
        ),
        (("./server.py",), "it is a file that may not be executed"),
    ):
        assert complaint(capsys, "--", *words, code=3) == f"cannot start {words[0]}: {why}"
    assert complaint(capsys, "wrp", "mcp.json", code=3).endswith("did you mean `fault gateway wrap`?")


def test_the_help_has_the_form_of_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["gateway", "--help"]) == 0
    assert FORM in capsys.readouterr().out


def test_an_unknown_method_is_a_warning_only() -> None:
    spec = "hang@method:tols/call"
    done = subprocess.run(
        [sys.executable, "-m", "faultkit", "gateway", "--fault", spec, "--", sys.executable],
        input="",
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith(
        f'warning: --fault "{spec}": no method is named "tols/call"; did you mean \'tools/call\'? (methods: '
    )


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ((*URL, "--header", "A b: c"), '--header: expected "Name: value", got "A b: c"'),
        ((*URL, "--header", "A: b\x00"), '--header: expected "Name: value", got "A: b\x00"'),
        (
            ("--upstream", "http://127.0.0.1:99999/mcp"),
            "upstream: expected a URL such as http://127.0.0.1:8000/mcp, "
            'got "http://127.0.0.1:99999/mcp" (port out of range 0-65535)',
        ),
        (("--", ""), 'expected a program behind --, got ""'),
    ],
)
def test_wrong_headers_urls_and_commands_are_refused(
    args: tuple[str, ...], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert complaint(capsys, *args) == problem


def test_a_header_of_the_environment_is_named_as_such(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAULT_GATEWAY_HEADERS", "A: b\nnonsense")
    problem = complaint(capsys, *URL, "--header", "C: d")
    assert problem == 'FAULT_GATEWAY_HEADERS: expected "Name: value", got "nonsense"'


def test_the_error_for_a_foreign_address_has_the_message_of_the_system(
    capsys: pytest.CaptureFixture[str],
) -> None:
    problem = complaint(capsys, *URL, "--host", "192.0.2.1", "--port", "0", code=3)
    assert problem == "cannot listen on 192.0.2.1:0: cannot assign requested address"


class _Answering(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {}}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_an_upstream_with_a_private_authority_is_trusted_by_its_file(tmp_path: Path) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    asked = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    with HTTPServer(("localhost", 0), _Answering) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"https://localhost:{server.server_port}/mcp"
        command = [sys.executable, "-m", "faultkit", "gateway", "--upstream", url, "--front", "stdio"]
        for trust, ends in ((("--cacert", "ca.pem"), "result"), ((), "error")):
            ran = subprocess.run(
                [*command, *trust], cwd=tmp_path, input=asked, capture_output=True, text=True, timeout=60
            )
            assert list(json.loads(ran.stdout)) == ["jsonrpc", "id", ends], ran.stdout + ran.stderr
        server.shutdown()


def test_a_file_without_authorities_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("nothing")
    said = complaint(capsys, "--upstream", "https://localhost:1/mcp", "--cacert", str(file))
    assert said == f'--cacert: expected a PEM file of certificates, got "{file}": no certificate in it'
