"""`fault ca`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from faultkit.base.local_authority import open_authority
from faultkit.cli.main import invoke


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FAULT_CA_DIR", str(tmp_path / "ca"))
    for name in ("SSL_CERT_FILE", "JAVA_TOOL_OPTIONS", "NODE_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "ca"


def printed(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> str:
    assert invoke(["ca", *args]) == code
    shown = capsys.readouterr()
    assert (shown.err == "") == (code == 0)
    return shown.err if code else shown.out


def test_the_authority_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = json.loads(printed(capsys, "show", "--json"))
    authority = open_authority(folder)
    assert shown == {
        "certificate": str(folder / "ca.pem"),
        "subject": authority.certificate.subject.rfc4514_string(),
        "sha256": authority.fingerprint,
        "ends": f"{authority.ends_at:%Y-%m-%d}",
        "signs_for": ["*"],
    }
    assert f"sha256:       {authority.fingerprint}\n" in printed(capsys, "show")
    assert printed(capsys, "path") == f"{folder / 'ca.pem'}\n"


def test_the_certificate_is_exported_and_the_key_never(
    folder: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert invoke(["ca", "export"]) == 0
    pem = open_authority(folder).pem
    assert capfdbinary.readouterr().out == pem
    for form in ("pem", "der", "p12"):
        assert invoke(["ca", "export", "--format", form, str(tmp_path / form)]) == 0
        assert b"PRIVATE" not in (tmp_path / form).read_bytes()
    assert (tmp_path / "pem").read_bytes() == pem
    assert capfdbinary.readouterr().out == b""


def test_the_variables_are_printed_for_a_shell_a_file_and_a_program(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    variables = json.loads(printed(capsys, "env", "--format", "json", "--proxy", "127.0.0.1:99"))
    assert variables["HTTPS_PROXY"] == "http://127.0.0.1:99"
    assert variables["SSL_CERT_FILE"] == str(folder / "bundle.pem")
    lines = printed(capsys, "env", "--proxy", ":99").splitlines()
    words = [shlex.split(line) for line in lines]
    assert [word[0] for word in words] == ["export"] * len(lines)
    assert dict(word[1].split("=", 1) for word in words) == variables
    dotenv = printed(capsys, "env", "--format", "dotenv", "--no-proxy").splitlines()
    assert f"SSL_CERT_FILE={folder / 'bundle.pem'}" in dotenv
    assert not any(line.upper().startswith("HTTP") for line in dotenv)


def test_one_for_some_domains_is_made_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed(capsys, "create", "--domain", "Example.com")
    assert open_authority(folder).domains == ("localhost", "example.com")
    said = printed(capsys, "create", code=2)
    assert said == (
        f'error: --ca-dir: expected a folder without an authority, or --replace, got "{folder}"\n'
    )
    printed(capsys, "create", "--replace")
    assert open_authority(folder).domains == ()


@pytest.mark.parametrize("given", ["*.example.com", "example.com:443", "a b"])
def test_a_domain_that_is_none_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], given: str
) -> None:
    assert printed(capsys, "create", "--domain", given, code=2).startswith("error: --domain: expected ")
    assert not folder.exists()
