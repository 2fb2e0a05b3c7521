"""`fault agent install`: the right entry in the right file, and nothing else touched."""

from __future__ import annotations

import json
import re
import stat
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from faultkit.base.errors import InputError
from faultkit.cli.agent import install_command
from faultkit.cli.main import invoke
from faultkit.mcp.hosts.host_configs import (
    HOSTS,
    Places,
    config_path,
    entry_of,
    fragment,
    host_named,
    with_entry,
)

LINUX = Places("linux", "/home/me", {})


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folders of a new user on Linux."""
    for name in ("CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return tmp_path


def install(*args: str) -> int:
    return invoke(["agent", "install", *args])


@pytest.mark.parametrize(
    ("host", "scope", "path"),
    [
        ("cursor", "user", "/home/me/.cursor/mcp.json"),
        ("cursor", "project", "/p/.cursor/mcp.json"),
        ("claude", "user", "/home/me/.claude.json"),
        ("claude", "project", "/p/.mcp.json"),
        ("claude-desktop", "user", "/home/me/.config/Claude/claude_desktop_config.json"),
        ("vscode", "user", "/home/me/.config/Code/User/mcp.json"),
        ("vscode", "project", "/p/.vscode/mcp.json"),
        ("windsurf", "user", "/home/me/.codeium/windsurf/mcp_config.json"),
        ("zed", "user", "/home/me/.config/zed/settings.json"),
        ("zed", "project", "/p/.zed/settings.json"),
        ("codex", "user", "/home/me/.codex/config.toml"),
        ("codex", "project", "/p/.codex/config.toml"),
        ("gemini", "user", "/home/me/.gemini/settings.json"),
        ("gemini", "project", "/p/.gemini/settings.json"),
        ("kiro", "user", "/home/me/.kiro/settings/mcp.json"),
        ("kiro", "project", "/p/.kiro/settings/mcp.json"),
        ("copilot", "user", "/home/me/.copilot/mcp-config.json"),
        ("copilot", "project", "/p/.mcp.json"),
    ],
)
def test_each_host_has_its_file(host: str, scope: Any, path: str) -> None:
    assert config_path(host_named(host), scope, LINUX, "/p") == path


@pytest.mark.parametrize(
    ("host", "places", "path"),
    [
        (
            "vscode",
            Places("darwin", "/Users/me", {}),
            "/Users/me/Library/Application Support/Code/User/mcp.json",
        ),
        ("zed", Places("darwin", "/Users/me", {}), "/Users/me/.config/zed/settings.json"),
        ("zed", Places("win32", "C:/me", {"APPDATA": "C:/me/AD"}), "C:/me/AD/Zed/settings.json"),
        (
            "claude-desktop",
            Places("win32", "C:/me", {}),
            "C:/me/AppData/Roaming/Claude/claude_desktop_config.json",
        ),
        ("vscode", Places("linux", "/h", {"XDG_CONFIG_HOME": "/x"}), "/x/Code/User/mcp.json"),
        ("codex", Places("linux", "/h", {"CODEX_HOME": "/c"}), "/c/config.toml"),
    ],
)
def test_other_systems_and_variables_move_it(host: str, places: Places, path: str) -> None:
    assert config_path(host_named(host), "user", places, "/p") == path


@pytest.mark.parametrize("host", ["claude-desktop", "windsurf"])
def test_a_host_without_project_files_says_so(host: str) -> None:
    with pytest.raises(
        InputError, match=r"--scope: expected user, since .+ has no file in projects, got project"
    ):
        config_path(host_named(host), "project", LINUX, "/p")


def test_a_host_that_is_not_known_is_told_with_the_nearest() -> None:
    with pytest.raises(
        InputError, match=r'expected one of cursor, claude, .+, got "curser"; did you mean "cursor"'
    ):
        host_named("curser")


def test_the_help_names_every_host() -> None:
    assert isinstance(install_command, click.Command)
    assert f"CLIENT is one of {', '.join(HOSTS)}." in " ".join((install_command.help or "").split())


ENTRY = {"command": "/bin/fault", "args": ["agent", "tool"]}


@pytest.mark.parametrize(
    ("host", "wanted"),
    [
        ("cursor", {"mcpServers": {"fault": ENTRY}}),
        ("claude", {"mcpServers": {"fault": {"type": "stdio", **ENTRY}}}),
        ("vscode", {"servers": {"fault": {"type": "stdio", **ENTRY}}}),
        ("zed", {"context_servers": {"fault": ENTRY}}),
        ("copilot", {"mcpServers": {"fault": {"type": "stdio", "tools": ["*"], **ENTRY}}}),
    ],
)
def test_an_entry_has_the_shape_that_the_host_wants(host: str, wanted: dict[str, Any]) -> None:
    entry = entry_of(host_named(host), ["/bin/fault", "agent", "tool"], {})
    assert json.loads(fragment(host_named(host), "fault", entry)) == wanted


def test_codex_has_a_table() -> None:
    codex = host_named("codex")
    entry = entry_of(codex, ["/bin/fault", "agent", "tool"], {"OPENAI_API_KEY": None, "X": "1"})
    assert fragment(codex, "fault", entry) == (
        '[mcp_servers.fault]\ncommand = "/bin/fault"\nargs = ["agent", "tool"]\n'
        'env = { X = "1" }\nenv_vars = ["OPENAI_API_KEY"]\n'
    )


@pytest.mark.parametrize(
    ("host", "reference"),
    [
        ("cursor", "${env:KEY}"),
        ("vscode", "${env:KEY}"),
        ("windsurf", "${env:KEY}"),
        ("claude", "${KEY}"),
        ("gemini", "${KEY}"),
        ("kiro", "${KEY}"),
    ],
)
def test_a_variable_without_a_value_is_looked_up_by_the_host(host: str, reference: str) -> None:
    assert entry_of(host_named(host), ["f"], {"KEY": None, "B": "2"})["env"] == {"KEY": reference, "B": "2"}


@pytest.mark.parametrize("host", ["claude-desktop", "zed", "copilot"])
def test_a_host_that_cannot_look_it_up_needs_the_value(host: str) -> None:
    with pytest.raises(
        InputError, match=r"--env: expected KEY=VALUE, since .+ cannot take it from its environment"
    ):
        entry_of(host_named(host), ["f"], {"KEY": None})


def test_without_write_the_entry_is_only_shown(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert install("claude", "--command", "fault", "--llm-client", "ollama") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["mcpServers"]["fault"]["args"] == ["agent", "--llm-client", "ollama", "tool"]
    assert err.splitlines() == [
        f"for Claude Code: belongs in {home}/.claude.json; --write puts it there",
        "or run: claude mcp add --scope user fault -- fault agent --llm-client ollama tool",
    ]
    assert list(home.iterdir()) == [home / "project"]


def test_flags_before_the_command_count_too(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["agent", "--llm-client", "ollama", "install", "cursor"]) == 0
    args = json.loads(capsys.readouterr().out)["mcpServers"]["fault"]["args"]
    assert args == ["agent", "--llm-client", "ollama", "tool"]


def test_the_program_is_named_so_that_it_is_found_from_anywhere(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install("cursor") == 0
    program = Path(json.loads(capsys.readouterr().out)["mcpServers"]["fault"]["command"])
    assert program.is_absolute()
    assert program.is_file()


def test_write_makes_the_file_and_a_second_time_changes_nothing(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / ".cursor" / "mcp.json"
    assert install("cursor", "--write", "--command", "fault") == 0
    assert capsys.readouterr().out == f"{file}: fault was added\n"
    written = file.read_text()
    assert json.loads(written) == {"mcpServers": {"fault": {"command": "fault", "args": ["agent", "tool"]}}}
    assert install("cursor", "--write", "--command", "fault") == 0
    assert capsys.readouterr().out == f"{file}: nothing to do, fault is there already\n"
    assert file.read_text() == written
    assert [each.name for each in file.parent.iterdir()] == ["mcp.json"]


ZED = """\
// Zed settings
{
  "theme": "One Dark", // mine
  "context_servers": {
    "db": { "command": "db", "args": [] },
  },
}
"""


def test_write_keeps_comments_other_entries_and_the_mode_and_remove_undoes_it(home: Path) -> None:
    file = home / ".config" / "zed" / "settings.json"
    file.parent.mkdir(parents=True)
    file.write_text(ZED)
    file.chmod(0o600)
    assert install("zed", "--write", "--command", "fault") == 0
    new = file.read_text()
    assert new == ZED.replace(
        "[] },\n",
        '[] },\n    "fault": {\n      "command": "fault",\n      "args": [\n        "agent",\n'
        '        "tool"\n      ]\n    },\n',
    )
    backup = file.with_name("settings.json.before-fault")
    assert backup.read_text() == ZED
    assert {stat.S_IMODE(each.stat().st_mode) for each in (file, backup)} == {0o600}
    assert install("zed", "--remove") == 0
    assert file.read_text() == ZED
    assert backup.read_text() == new


def test_remove_of_what_is_not_there_changes_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert install("gemini", "--remove") == 0
    assert capsys.readouterr().out.endswith("nothing to do, fault is not there\n")
    assert not (home / ".gemini").exists()


def test_what_a_user_added_to_the_entry_stays() -> None:
    cursor = host_named("cursor")
    there = (
        '{"mcpServers": {"fault": {"command": "old", "args": ["agent", "tool"], "env": {"A": "1"}, "x": 1}}}'
    )
    entry = entry_of(cursor, ["new", "agent", "tool"], {"B": "2"})
    assert json.loads(with_entry(cursor, there, "fault", entry))["mcpServers"]["fault"] == {
        "command": "new",
        "args": ["agent", "tool"],
        "env": {"A": "1", "B": "2"},
        "x": 1,
    }


def test_codex_is_written_and_removed(home: Path) -> None:
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    old = '# Mine.\nmodel = "o4-mini"\n'
    file.write_text(old)
    assert install("codex", "--write", "--command", "fault", "--env", "OPENAI_API_KEY") == 0
    assert file.read_text() == (
        f'{old}\n[mcp_servers.fault]\ncommand = "fault"\nargs = ["agent", "tool"]\n'
        'env_vars = ["OPENAI_API_KEY"]\n'
    )
    assert install("codex", "--remove") == 0
    assert file.read_text() == old


def test_a_link_stays_a_link(home: Path) -> None:
    real = home / "dotfiles.json"
    real.write_text("{}")
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").symlink_to(real)
    assert install("cursor", "--write") == 0
    assert (home / ".cursor" / "mcp.json").is_symlink()
    assert "mcpServers" in json.loads(real.read_text())


@pytest.mark.parametrize(
    ("client", "content", "problem"),
    [
        ("cursor", b'{"mcpServers": {', "cannot be changed, and was not: line 1: expected a name in quotes"),
        ("cursor", b"[]", "expected an object, got something else"),
        ("cursor", b'{"mcpServers": []}', "expected mcpServers to hold entries by name"),
        ("cursor", b'{"mcpServers": {"fault": {"url": "http://x"}}}', "got one that starts something else"),
        ("cursor", b"\xff{}", "expected UTF-8 text, got byte 0xff on line 1"),
        ("codex", b"[a\n", "cannot be changed, and was not: "),
        ("codex", b"[mcp_servers]\nfault.args = ['agent', 'tool']\n", "cannot be changed, and was not: "),
    ],
)
@pytest.mark.parametrize("way", ["--write", "--remove"])
def test_a_file_that_is_not_understood_stays_as_it_is(
    home: Path, capsys: pytest.CaptureFixture[str], client: str, content: bytes, problem: str, way: str
) -> None:
    file = home / "config"
    file.write_bytes(content)
    assert install(client, way, "--path", str(file)) == 2
    assert problem in capsys.readouterr().err
    assert file.read_bytes() == content
    assert sorted(each.name for each in home.iterdir()) == ["config", "project"]


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["emacs"], 'error: CLIENT: expected one of cursor, claude, .+, got "emacs"'),
        (["cursor", "--write", "--remove"], "error: --remove: expected either --write or --remove, got both"),
        (["cursor", "--name", "a b"], 'error: --name: expected letters, digits, "-" and "_", got "a b"'),
        (["cursor", "--env", "A B=1"], 'error: --env: expected NAME=VALUE or NAME, got "A B"'),
        (["cursor", "--command", " "], "error: --command: expected the program to start, got nothing"),
        (["windsurf", "--scope", "project"], "error: --scope: expected user, since Windsurf has no file"),
        (["cursor", "--write", "--path", "."], r"error: \.: cannot be read: is a directory"),
    ],
)
def test_bad_input_exits_with_two(
    home: Path, capsys: pytest.CaptureFixture[str], args: list[str], problem: str
) -> None:
    assert install(*args) == 2
    assert re.match(problem, capsys.readouterr().err)
