"""Errors of `fault run`: one line that names the mistake, the exit code, and no port left open."""

from __future__ import annotations

import socket
import ssl
import sys
import threading
from pathlib import Path

import pytest
import trustme

from faultkit.base.address import Endpoint
from faultkit.cli import run_session
from faultkit.cli.main import invoke
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.plane import Plane
from tests.proxy.origin import serving

ALONE = "--disable-http-proxy"


def complaint(capsys: pytest.CaptureFixture[str], *args: str, code: int) -> str:
    """Return the message of a failing `fault run`, without `error: `."""
    assert invoke(["run", "--no-ui", *args]) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: ")
    assert shown.err.count("\n") == 1
    left = {thread.name for thread in threading.enumerate()} & {"fault-plane", "fault-control"}
    assert left == set()
    return shown.err.removeprefix("error: ").rstrip("\n")


@pytest.mark.parametrize(
    ("args", "start"),
    [
        (
            ["--proxy", "9090"],
            '--proxy: expected PORT=HOST:PORT such as "9090=https://example.com", got no "="',
        ),
        (["--proxy", "99999=localhost:80"], '--proxy: expected a port from 0 to 65535, got "99999"'),
        (["--proxy", "9=h:1", "--proxy", "9=h:2"], "--proxy: expected each port once, got 127.0.0.1:9 again"),
        (["--disable-http-proxy"], "--proxy: expected at least one with --disable-http-proxy, got none"),
        (["--proxy-address", "host:port"], '--proxy-address: expected a port from 0 to 65535, got "port"'),
        (["-u", "http://h/path"], "--upstream: expected only a host and a port, got a path"),
        (["--duration", "soon"], '--duration: expected a duration such as "10s"'),
        (["--duration", "0s"], '--duration: expected more than 0, got "0s"'),
        (["--seed", ""], '--seed: expected a whole number of at least 0 or a text, got ""'),
        (
            ["--control", "0.0.0.0:7900"],
            "--control: expected a loopback address, or --control-cert, --control-key and "
            "--control-client-ca for mutual TLS, got 0.0.0.0:7900",
        ),
        (
            ["--control", "--control-key", "a.key"],
            "--control-key: expected --control-cert and --control-client-ca beside it, got none",
        ),
        (
            ["--control-cert", "a.pem", "--control-key", "a.key", "--control-client-ca", "ca.pem"],
            "--control-cert: expected --control beside it, got none",
        ),
        (
            ["--control", "--control-cert", "a", "--control-key", "b", "--control-client-ca", "no.pem"],
            '--control-client-ca: expected a PEM file of certificates, got "no.pem": No such file',
        ),
        (["--with-latency", "--latency-sched", "begin:1s"], "--latency-sched: expected periods joined by"),
        (
            ["--with-latency", "--latency-sched", "start:10%"],
            "--latency-sched: percentages need a total duration (--duration)",
        ),
        (
            ["--with-jitter", "--jitter-amplitude", "-1"],
            "--jitter-amplitude: expected a number of at least 0",
        ),
        (["--jitter-amplitude", "1"], "--jitter-amplitude: expected --with-jitter beside it, got it alone"),
        (
            ["--cacert", "no-such-file.pem"],
            '--cacert: expected a PEM file of certificates, got "no-such-file.pem": No such file or dir',
        ),
        (
            ["--cacert", __file__],
            f'--cacert: expected a PEM file of certificates, got "{__file__}": no certificate in it',
        ),
        (
            ["--cacert", "ca.pem", "--insecure"],
            "--cacert: expected no --insecure beside it, which trusts every certificate",
        ),
        (["--plan", "no-such-file.yaml"], "no-such-file.yaml: cannot be read: no such file or directory"),
    ],
)
def test_wrong_input_ends_with_2(args: list[str], start: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert complaint(capsys, *args, code=2).startswith(start)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "rules: [{fault: latencyy}]",
            "line 1: rules[0].fault: unknown fault 'latencyy'; did you mean 'latency'?",
        ),
        (
            "rules:\n- {fault: jitter}\n- fault: hang\n",
            'line 3: rules[1].fault: expected a fault of the network, got "hang", which acts on calls',
        ),
        (
            "rules: [{fault: jitter}, {fault: latency, with: {mean_ms: -5}}]",
            "line 1: rules[1].with.mean_ms: expected a number of at least 0, got -5.0",
        ),
        (
            "rules: [{fault: latency, schedule: 'start:50%'}]",
            "line 1: rules[0].schedule: percentages need a total duration (--duration)",
        ),
        ("rules: [", "line 1, column 9: "),
    ],
)
def test_a_wrong_plan_file_ends_with_2_and_the_path_of_the_mistake(
    text: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(text)
    assert complaint(capsys, "--plan", str(file), code=2).startswith(f"{file}: {problem}")


def test_json_and_a_log_on_stdout_cannot_both_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["--log-stdout", "run", "--json"]) == 2
    assert (
        capsys.readouterr().err == "error: --json: expected stdout for itself, got --log-stdout beside it\n"
    )


def test_a_port_in_use_ends_with_3(echo: Endpoint, capsys: pytest.CaptureFixture[str]) -> None:
    said = complaint(capsys, ALONE, "--proxy", f"{echo.port}={echo}", code=3)
    assert said == f"{echo.port}: cannot listen on {echo}: Address already in use"


def test_ports_that_were_opened_before_the_error_are_given_back(
    echo: Endpoint, closed_port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    maps = ("--proxy", f"{closed_port}={echo}", "--proxy", f"{echo.port}={echo}")
    assert "Address already in use" in complaint(capsys, ALONE, *maps, code=3)
    socket.create_server(("127.0.0.1", closed_port)).close()


def test_an_address_in_use_of_a_requested_forward_proxy_ends_with_3(
    echo: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    said = complaint(capsys, "--proxy-address", str(echo), "--proxy", f"0={echo}", code=3)
    assert said == f"http: cannot listen on {echo}: Address already in use"


def test_a_control_port_in_use_ends_with_3(echo: Endpoint, capsys: pytest.CaptureFixture[str]) -> None:
    said = complaint(capsys, ALONE, "--proxy", f"0={echo}", "--control", str(echo), code=3)
    assert said == f"control: cannot listen on {echo}: Address already in use"


def test_an_upstream_that_refuses_ends_with_3(closed_port: int, capsys: pytest.CaptureFixture[str]) -> None:
    said = complaint(capsys, ALONE, "--proxy", f"0=127.0.0.1:{closed_port}", code=3)
    assert said == (
        f"0: cannot reach 127.0.0.1:{closed_port}: Connection refused (--no-check skips this test)"
    )


def test_an_upstream_with_an_unknown_certificate_ends_with_3_unless_its_authority_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with serving(context) as origin:
        upstream = f"localhost:{origin.endpoint.port}"
        args = (ALONE, "--proxy", f"0=https://{upstream}")
        said = complaint(capsys, *args, code=3)
        assert said.startswith(f"0: cannot reach {upstream}: TLS: the certificate is not trusted: ")
        for trust in (["--cacert", str(tmp_path / "ca.pem")], ["--insecure"]):
            assert invoke(["run", "--no-ui", "--duration", "10ms", *args, *trust]) == 0


def test_a_clear_text_upstream_of_a_tls_map_ends_with_3(
    echo: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    said = complaint(capsys, ALONE, "--proxy", f"0=tls://{echo}", code=3)
    assert said.startswith(f"0: cannot reach {echo}: TLS: ")


def test_a_postgresql_upstream_without_tls_ends_with_3(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def refuse_tls() -> None:
            server, _ = listener.accept()
            with server:
                server.recv(8, socket.MSG_WAITALL)
                server.sendall(b"N")

        thread = threading.Thread(target=refuse_tls)
        thread.start()
        said = complaint(capsys, ALONE, "--proxy", f"0=psqls://127.0.0.1:{port}", code=3)
        thread.join()
    assert f"127.0.0.1:{port}: TLS: the server does not offer it (its answer to SSLRequest is N)" in said


def test_an_upstream_without_an_address_ends_with_3(capsys: pytest.CaptureFixture[str]) -> None:
    # RFC 2606 reserves .invalid: the name has no address. Without a name server, the limit ends the wait.
    said = complaint(capsys, ALONE, "--proxy", "0=no.invalid:80", "--connect-timeout", "2s", code=3)
    assert said.startswith("0: cannot reach no.invalid:80: ")


def test_a_run_whose_loop_has_ended_ends(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dying(Plane):
        def open_proxy(self, spec: ProxySpec, enabled: bool = True) -> Endpoint:
            bound = super().open_proxy(spec, enabled)
            self.services.loop.call_from_thread(sys.exit)
            return bound

    monkeypatch.setattr(run_session, "Plane", Dying)
    assert invoke(["run", "--no-ui", "--no-check", ALONE, "--proxy", "0=localhost:1"]) == 4
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("error: the proxy has ended, by a defect of Faultkit: SystemExit")
