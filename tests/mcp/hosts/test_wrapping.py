"""Config files of clients: wrapped, wrapped again, and back to the byte."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.documents.jsonc import read_jsonc
from faultkit.base.errors import InputError
from faultkit.cli.main import invoke
from faultkit.mcp.hosts.server_entries import MARK
from faultkit.mcp.hosts.wrapping import Selection, Wrapping, unwrap_servers, wrap_servers
from faultkit.plan import Plan
from tests.mcp.gateway.gateway_peers import LINE_SERVER, request
from tests.mcp.gateway.gateway_processes import FAULT
from tests.mcp.specs import parse_specs

CLAUDE = """{
  // What I use.
  "mcpServers": {
\t"files" : {
\t\t"command": "npx", "args": ["-y", "files"],
\t\t"env": {"TOKEN": "a\\u00e9/\\/b"}, "disabled": false,
\t},
    "web": { "url": "https://web.example/mcp?a=1", "headers": {"Authorization": "Bearer s"}, "x": 1.50 },
    /* the old one */ "old": {"type": "sse", "url": "http://old.example/sse"},
  },
  "theme": "dark" ,
}
"""
VS_CODE = '\ufeff{\r\n\t"servers": {"a": {"type": "stdio", "command": "a"}},\r\n\t"inputs": []\r\n}'


def entries_of(text: str) -> Any:
    return json.loads(text)["mcpServers"]


def test_a_server_on_pipes_stands_behind_the_gateway_with_all_that_it_had() -> None:
    done = wrap_servers(
        '{"mcpServers": {"files": {"env": {"A": "1"}, "command": "npx", "args": ["-y"], "cwd": "/x"}}}',
        Wrapping(("/bin/fault",), ("slow:10", "hang%0.1"), seed="7", record="/tmp/r"),
    )
    entry = entries_of(done.text)["files"]
    was = entry.pop(MARK)["was"]
    assert list(entry) == ["env", "command", "args", "cwd"]
    assert entry == {
        "env": {"A": "1"},
        "command": "/bin/fault",
        "args": [
            *("gateway", "--name", "files", "--fault", "slow:10", "--fault", "hang%0.1", "--seed", "7"),
            *("--record", "/tmp/r/files-*.jsonl", "--", "npx", "-y"),
        ],
        "cwd": "/x",
    }
    assert was == '{"env": {"A": "1"}, "command": "npx", "args": ["-y"], "cwd": "/x"}'


def test_a_server_over_http_is_reached_through_a_gateway_on_pipes_and_its_secrets_stay_out_of_sight() -> None:
    server = {
        "type": "http",
        "url": "https://x.example/mcp",
        "headers": {"Authorization": "Bearer s", "B": "2"},
    }
    done = wrap_servers(json.dumps({"mcpServers": {"web": server}}), Wrapping())
    entry = entries_of(done.text)["web"]
    del entry[MARK]
    assert entry == {
        "type": "stdio",
        "command": "fault",
        "args": ["gateway", "--name", "web", "--upstream", "https://x.example/mcp", "--front", "stdio"],
        "env": {"FAULT_GATEWAY_HEADERS": "Authorization: Bearer s\nB: 2"},
    }


@pytest.mark.parametrize("text", [CLAUDE, VS_CODE, '{"mcp": {"servers": {"a": {"command": "a"}}}}'])
def test_a_file_comes_back_to_the_byte_and_wrapping_twice_is_wrapping_once(text: str) -> None:
    once = wrap_servers(text, Wrapping(faults=("slow:10",)))
    assert once.text != text
    again = wrap_servers(once.text, Wrapping(faults=("slow:10",)))
    assert (again.text, again.names) == (once.text, ())
    other = wrap_servers(once.text, Wrapping(faults=("hang",)))
    assert "slow:10" not in other.text
    for wrapped in (once, other):
        assert unwrap_servers(wrapped.text).text == text
    assert unwrap_servers(text) == unwrap_servers(unwrap_servers(text).text)


def test_what_is_no_server_of_ours_is_left_with_a_note_and_comments_stay() -> None:
    done = wrap_servers(CLAUDE, Wrapping())
    assert done.names == ("files", "web")
    assert done.notes == (
        'old: left as it is, transport "sse" is not supported (use streamable HTTP or stdio)',
    )
    for kept in ("// What I use.", "/* the old one */", '"theme": "dark" ,'):
        assert kept in done.text
    odd = '{"mcpServers": {"a": {}, "b": {"command": "b", "args": "x"}, "c": {"command": 1}}}'
    assert wrap_servers(odd, Wrapping()).text == odd


def test_only_those_that_are_named_are_wrapped_or_put_back() -> None:
    text = '{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}}'
    assert wrap_servers(text, Wrapping(), Selection(("b",))).names == ("b",)
    both = wrap_servers(text, Wrapping()).text
    assert (
        unwrap_servers(both, Selection(("a",))).text == wrap_servers(text, Wrapping(), Selection(("b",))).text
    )
    with pytest.raises(InputError, match=r'--only: there is no server "c" \(servers: a, b\)'):
        wrap_servers(text, Wrapping(), Selection(("c",)))


def test_rules_for_one_server_do_no_harm_to_the_others() -> None:
    specs = ("hang@server:a*",)
    wrapping = Wrapping(faults=specs, plan=Plan(parse_specs(specs)))
    done = entries_of(
        wrap_servers('{"mcpServers": {"ab": {"command": "x"}, "b": {"command": "x"}}}', wrapping).text
    )
    assert "--shared-plan" not in done["ab"]["args"]
    assert "--shared-plan" in done["b"]["args"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", r"line 1: expected a name in quotes or a closing brace, got the end of the text"),
        ('{\n "mcpServers": {\n  "a" {}\n }\n}', r"line 3: expected a colon, got '{}'"),
        ("[]", r"expected an object, got a list"),
        (
            "{}",
            r"expected an object of servers under one of mcpServers, projects\.\*\.mcpServers, servers, "
            r"mcp\.servers, context_servers, got none",
        ),
        ('{"mcpServers": []}', r"mcpServers: expected an object of servers, got a list"),
        ('{"servers": {"a": 3}}', r"servers\.a: expected an object, got a number"),
        ("[" * 100_000, r"expected JSON, got too many levels of it"),
        ('{"mcpServers": {"a": {},\n "a": {}}}', r'line 2: key "a" is given twice'),
        (
            '{"mcpServers": {"a": {\n"command": "x", "command": "y"}}}',
            r'line 2: key "command" is given twice',
        ),
        ('{"mcpServers": null}', r"mcpServers: expected an object of servers, got null"),
    ],
)
def test_a_broken_file_is_a_clear_error(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        wrap_servers(text, Wrapping())


# Files of single hosts

CLAUDE_PROJECTS = """{
  "numStartups": 7,
  "mcpServers": {"web": {"type": "http", "url": "https://web.example/mcp"}},
  "projects": {
    "/home/me/shop": {"mcpServers": {"db": {"command": "db"}, "web": {"command": "w"}}, "history": []},
    "/home/me/blog": {"mcpServers": {}, "allowedTools": []},
    "/home/me/old": {"allowedTools": []}
  }
}
"""


def test_servers_of_projects_are_wrapped_too_and_named_with_their_project() -> None:
    done = wrap_servers(CLAUDE_PROJECTS, Wrapping())
    assert done.names == ("web", "db (/home/me/shop)", "web (/home/me/shop)")
    shop = json.loads(done.text)["projects"]["/home/me/shop"]
    assert shop["mcpServers"]["db"]["args"] == ["gateway", "--name", "db", "--", "db"]
    assert unwrap_servers(done.text).text == CLAUDE_PROJECTS


def test_one_project_can_be_chosen() -> None:
    shop = Selection(project="/home/me/shop")
    done = wrap_servers(CLAUDE_PROJECTS, Wrapping(), shop)
    assert done.names == ("db (/home/me/shop)", "web (/home/me/shop)")
    assert json.loads(done.text)["mcpServers"] == json.loads(CLAUDE_PROJECTS)["mcpServers"]
    assert unwrap_servers(done.text, shop).text == CLAUDE_PROJECTS
    with pytest.raises(InputError, match=r"--project: .+ \(projects: /home/me/shop\), got /home/me/blog"):
        wrap_servers(CLAUDE_PROJECTS, Wrapping(), Selection(project="/home/me/blog"))


def test_the_command_takes_a_project_by_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / ".claude.json"
    servers = {"mcpServers": {"a": {"command": "a"}}}
    config.write_text(json.dumps({"projects": {str(tmp_path): servers, "/other": servers}}))
    monkeypatch.chdir(tmp_path)
    assert invoke(["gateway", "wrap", str(config), "--project", ".", "--write"]) == 0
    assert capsys.readouterr().err == f"{config}: wrapped: a ({tmp_path})\n"


ZED = """{
  // Zed settings
  "theme": "One Dark",
  "context_servers": {
    "new": {"source": "custom", "command": "npx", "args": ["-y", "x"], "env": {}},
    "old": {"command": {"path": "node", "args": ["s.js"], "env": {"A": "1"}}, "settings": {}},
    "extension": {"source": "extension", "settings": {}},
  },
}
"""


def test_both_forms_of_zed_are_wrapped() -> None:
    done = wrap_servers(ZED, Wrapping())
    assert done.names == ("new", "old")
    assert done.notes == ("extension: left as it is, it has neither a command nor a url",)
    servers = read_jsonc(done.text)["context_servers"]
    assert servers["new"]["args"] == ["gateway", "--name", "new", "--", "npx", "-y", "x"]
    assert servers["old"]["command"] == {
        "path": "fault",
        "args": ["gateway", "--name", "old", "--", "node", "s.js"],
        "env": {"A": "1"},
    }
    assert unwrap_servers(done.text).text == ZED


CODEX = """\
model = "o4-mini" # the small one

[mcp_servers.memory] # remembers
command = "npx" # of node
args = [
  "-y",
  "memory",
]
env_vars = ["HOME"]

[mcp_servers.memory.env]
A = "1"

# The web.
[mcp_servers."my web"]
url = "https://web.example/mcp"
http_headers = { Authorization = "Bearer s" }
startup_timeout_sec = 20

[mcp_servers.github]
url = "https://github.example/mcp"
bearer_token_env_var = "TOKEN"

[profiles.x]
model = "y"
"""


def test_codex_has_tables_whose_former_text_is_in_a_comment() -> None:
    done = wrap_servers(CODEX, Wrapping(faults=("hang",)), format="toml")
    assert done.names == ("memory", "my web")
    assert done.notes == (
        "github: left as it is, its bearer_token_env_var needs the client: run a gateway over HTTP in front "
        "of it",
    )
    servers = tomllib.loads(done.text)["mcp_servers"]
    assert servers["memory"] == {
        "command": "fault",
        "args": ["gateway", "--name", "memory", "--fault", "hang", "--", "npx", "-y", "memory"],
        "env_vars": ["HOME"],
        "env": {"A": "1"},
    }
    assert servers["my web"] == {
        "command": "fault",
        "args": [
            *("gateway", "--name", "my web", "--fault", "hang"),
            *("--upstream", "https://web.example/mcp", "--front", "stdio"),
        ],
        "startup_timeout_sec": 20,
        "env": {"FAULT_GATEWAY_HEADERS": "Authorization: Bearer s"},
    }
    before, _, after = CODEX.partition("[mcp_servers.memory]")
    assert done.text.startswith(before)
    assert done.text.endswith(after[after.index("\n[mcp_servers.github]") :])
    assert "\n\n# The web.\n[" in done.text


@pytest.mark.parametrize("text", [CODEX, CODEX.replace("\n", "\r\n"), "\ufeff" + CODEX, CODEX.rstrip()])
def test_a_toml_file_comes_back_to_the_byte_and_wrapping_twice_is_wrapping_once(text: str) -> None:
    once = wrap_servers(text, Wrapping(faults=("hang",)), format="toml")
    again = wrap_servers(once.text, Wrapping(faults=("hang",)), format="toml")
    assert (again.text, again.names, again.was_untouched) == (once.text, (), False)
    other = wrap_servers(once.text, Wrapping(), Selection(("memory",)), "toml")
    for wrapped in (once, other):
        assert unwrap_servers(wrapped.text, format="toml").text == text


@pytest.mark.parametrize(
    "text",
    [
        '[mcp_servers]\na = { command = "x" }\n',
        'mcp_servers.a.command = "x"\n',
        '[mcp_servers.a]\ncommand = "x"\n\n[other]\nb = 1\n\n[mcp_servers.a.env]\nA = "1"\n',
    ],
)
def test_a_toml_entry_without_a_table_of_its_own_is_left_with_a_note(text: str) -> None:
    done = wrap_servers(text, Wrapping(), format="toml")
    assert (done.text, done.names) == (text, ())
    assert len(done.notes) == 1
    assert done.notes[0].startswith("a: left as it is, ")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = \n", r"Invalid value \(at line 1, column 5\)"),
        ('model = "x"\n', r"expected tables \[mcp_servers.NAME\], got none"),
        ("mcp_servers = 1\n", r"mcp_servers: expected a table of servers, got a number"),
        ("[mcp_servers]\na = 1\n", r"mcp_servers\.a: expected a table, got a number"),
    ],
)
def test_a_broken_toml_file_is_a_clear_error(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        wrap_servers(text, Wrapping(), format="toml")


@pytest.mark.parametrize("was", ["{", "7", '"[other]"', '"[mcp_servers]\\na = 1"'])
def test_a_toml_entry_whose_former_text_is_damaged_is_not_put_back(was: str) -> None:
    text = f'[mcp_servers.a]\n# _faultkit: {was}\ncommand = "fault"\n'
    with pytest.raises(InputError, match=r"a\._faultkit.*: expected the text of the entry as it was"):
        unwrap_servers(text, format="toml")


def test_the_command_knows_toml_by_the_name_of_the_file(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(CODEX)
    assert invoke(["gateway", "wrap", str(config), "--only", "memory", "--write"]) == 0
    assert tomllib.loads(config.read_text())["mcp_servers"]["memory"]["args"][:2] == ["gateway", "--name"]
    assert invoke(["gateway", "wrap", str(config), "--undo", "--write"]) == 0
    assert config.read_text() == (tmp_path / "config.toml.before-fault").read_text() == CODEX


_TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
_ENTRY = st.fixed_dictionaries(
    {"command": st.text("abc /", min_size=1, max_size=4)},
    optional={
        "args": st.lists(_TEXT, max_size=3),
        "env": st.dictionaries(_TEXT, _TEXT, max_size=2),
        "é": _TEXT,
    },
)


@given(st.dictionaries(_TEXT, _ENTRY, max_size=3), st.sampled_from([None, 1, "\t"]), st.booleans())
def test_any_file_comes_back_to_the_byte(servers: dict[str, Any], indent: Any, is_ascii: bool) -> None:
    text = json.dumps({"a": "//", "mcpServers": servers, "z": ",]"}, indent=indent, ensure_ascii=is_ascii)
    wrapped = wrap_servers(text, Wrapping(("f",), ("hang",)))
    assert unwrap_servers(wrapped.text).text == text
    assert set(entries_of(wrapped.text)) == set(servers)


def fault(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*FAULT, "gateway", "wrap", *words],
        capture_output=True,
        text=True,
        timeout=20,
        env={**os.environ, **env},
    )


def test_the_command_prints_and_writes_only_when_told_with_a_backup(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    config.write_text(CLAUDE)
    config.chmod(0o600)
    printed = fault(str(config), "--fault", "slow:10")
    assert (printed.returncode, config.read_text()) == (0, CLAUDE)
    done = fault(str(config), "--fault", "slow:10", "--write")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.endswith(f"{config}: wrapped: files, web\n")
    assert config.read_text() == printed.stdout
    assert (tmp_path / "mcp.json.before-fault").read_text() == CLAUDE
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert fault(str(config), "--undo", "--write").stderr == f"{config}: put back: files, web\n"
    assert config.read_text() == CLAUDE
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mcp.json", "mcp.json.before-fault"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "line 1: expected a name in quotes"),
        (("--fault", "hnag"), "unknown fault 'hnag'; did you mean 'hang'?"),
        (("--fault", "tcp_reset"), "expected one that fits stdio"),
        (("--plan", "nowhere.yaml"), "nowhere.yaml"),
        (("--undo", "--fault", "hang"), "--undo: expected no --fault"),
    ],
)
def test_bad_input_is_exit_2_and_changes_nothing(
    tmp_path: Path, words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "mcp.json"
    config.write_text("{" if not words else '{"mcpServers": {}}')
    assert invoke(["gateway", "wrap", str(config), "--write", *words]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mcp.json"]


@pytest.mark.parametrize("second", [("--fault", "hang"), ("--undo",)])
def test_the_backup_stays_that_of_the_file_without_gateways(tmp_path: Path, second: tuple[str, ...]) -> None:
    config = tmp_path / "mcp.json"
    config.write_text(CLAUDE)
    for words in (("--fault", "slow:10", "--only", "web"), second):
        assert invoke(["gateway", "wrap", str(config), "--write", *words]) == 0
    assert (tmp_path / "mcp.json.before-fault").read_text() == CLAUDE


def test_a_file_that_changed_since_it_was_put_back_has_a_new_backup(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    for name in ("a", "b"):
        text = f'{{"mcpServers": {{"{name}": {{"command": "x"}}}}}}'
        config.write_text(text)
        assert invoke(["gateway", "wrap", str(config), "--write"]) == 0
        assert (tmp_path / "mcp.json.before-fault").read_text() == text


def test_a_rule_for_a_server_that_the_file_does_not_have_is_refused_where_it_stands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, plan = tmp_path / "mcp.json", tmp_path / "plan.yaml"
    config.write_text('{"mcpServers": {"github": {"command": "x"}, "files": {"command": "y"}}}')
    assert invoke(["gateway", "wrap", str(config), "--fault", "hang@server:githb"]) == 2
    assert capsys.readouterr() == (
        "",
        'error: --fault "hang@server:githb": no server is named "githb"; did you mean \'github\'? '
        "(servers: files, github)\n",
    )
    plan.write_text("rules:\n  - fault: hang\n  - fault: hang\n    match: {server: zzz}\n")
    assert invoke(["gateway", "wrap", str(config), "--plan", str(plan), "--fault", "slow:5"]) == 2
    assert capsys.readouterr().err == (
        f'error: {plan}: line 4: rules[1].match.server: no server is named "zzz" (servers: files, github)\n'
    )
    assert invoke(["gateway", "wrap", str(config), "--fault", "hang@server:git*", "--only", "files"]) == 0


def test_a_file_that_is_not_there_is_exit_2(tmp_path: Path) -> None:
    done = fault(str(tmp_path / "none.json"))
    assert (done.returncode, done.stderr) == (
        2,
        f"error: {tmp_path}/none.json: cannot be read: no such file or directory\n",
    )


def test_a_wrapped_entry_can_be_started_as_it_stands(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    command, *args = LINE_SERVER
    config.write_text(json.dumps({"mcpServers": {"lines": {"command": command, "args": args}}}))
    entry = entries_of(fault(str(config), "--fault", "error:-32050@server:lines,tool:a").stdout)["lines"]
    client = subprocess.run(
        [entry["command"], *entry["args"]],
        input=request(1, "tools/call", name="a") + b"\n" + request(2, "tools/call", name="b") + b"\n",
        capture_output=True,
        timeout=20,
    )
    answers = {answer["id"]: answer for answer in map(json.loads, client.stdout.splitlines())}
    assert answers[1]["error"]["code"] == -32050
    assert "result" in answers[2]
    assert Path(entry["command"]).parent == Path(sys.executable).parent


@pytest.mark.parametrize("was", ['"{damaged"', "7", '"[]"'])
def test_an_entry_whose_former_text_is_damaged_is_not_put_back(was: str) -> None:
    text = f'{{"mcpServers": {{"a": {{"command": "fault", "_faultkit": {{"was": {was}}}}}}}}}'
    with pytest.raises(InputError) as refused:
        unwrap_servers(text)
    assert refused.value.path == "a._faultkit.was"


@pytest.mark.parametrize("key", ["httpUrl", "serverUrl"])
def test_a_url_is_found_under_the_names_of_other_hosts(key: str) -> None:
    done = wrap_servers(json.dumps({"mcpServers": {"web": {key: "https://web.example/mcp"}}}), Wrapping())
    entry = json.loads(done.text)["mcpServers"]["web"]
    assert entry["args"][-4:] == ["--upstream", "https://web.example/mcp", "--front", "stdio"]
    assert key not in entry
