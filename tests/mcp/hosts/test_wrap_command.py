"""`fault gateway wrap`: the folder of recordings, and what is said if nothing was wrapped."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from faultkit.cli.main import invoke


def test_the_folder_of_recordings_is_created_when_the_config_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, folder = tmp_path / ".mcp.json", tmp_path / "new" / "calls"
    config.write_text('{"mcpServers": {"a": {"command": "a"}}}')
    words = ["gateway", "wrap", str(config), "--record", str(folder)]
    assert invoke(words) == 0
    assert capsys.readouterr().err == f"note: the folder {folder} is not there; --write creates it\n"
    assert not folder.exists()
    assert invoke([*words, "--write"]) == 0
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_recordings_cannot_be_put_into_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config, file = tmp_path / ".mcp.json", tmp_path / "calls"
    config.write_text('{"mcpServers": {"a": {"command": "a"}}}')
    file.touch()
    for record, problem in (
        (file, f"expected a folder, got {file}, a file"),
        (file / "in", f"{file / 'in'} cannot be created: not a directory"),
    ):
        assert invoke(["gateway", "wrap", str(config), "--record", str(record), "--write"]) == 2
        assert capsys.readouterr().err == f"error: --record: {problem}\n"
    assert config.read_text() == '{"mcpServers": {"a": {"command": "a"}}}'


def test_a_config_of_which_nothing_could_be_wrapped_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config.toml"
    config.write_text('mcp_servers = {a = {command = "x"}}\n')
    assert invoke(["gateway", "wrap", str(config), "--fault", "hang", "--write"]) == 0
    note, last = capsys.readouterr().err.splitlines()
    assert note == "a: left as it is, it is not in one place under a header [mcp_servers.a]"
    assert last == f"{config}: wrapped: nothing (1 server left as it is)"
