"""`fault doctor`: its checks, its report, its JSON, and its exit code."""

from __future__ import annotations

import json
import os
import re
import resource
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from faultkit.base import installation
from faultkit.base.extras import CORE, EXTRAS, Package
from faultkit.cli import doctor
from faultkit.cli.main import COMMANDS, invoke
from faultkit.mcp.hosts.config_check import address_of
from faultkit.mcp.mcp_client import ServerAddress


def hide(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    def is_installed(package: Package) -> bool:
        return package.name not in names

    monkeypatch.setattr(doctor, "is_installed", is_installed)
    monkeypatch.setattr(installation, "is_installed", is_installed)


def test_a_sound_core_exits_with_0_and_lists_every_package_and_extra(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert invoke(["doctor"]) == 0
    out = capsys.readouterr().out
    words = {line.split()[0] for line in out.splitlines() if line}
    assert {package.name for package in CORE} | set(EXTRAS) <= words
    assert out.endswith("The core is sound.\n")


def test_the_json_has_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["doctor", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["sound"] is True
    assert [package["name"] for package in document["core"]] == [package.name for package in CORE]
    assert all(package["fits"] for package in document["core"])
    assert [extra["name"] for extra in document["extras"]] == list(EXTRAS)
    assert {check["name"] for check in document["checks"]} == {
        "python",
        "system",
        "core",
        "open files",
        "listen on 127.0.0.1",
        "listen on ::1",
        "usual ports",
    }


def test_a_package_without_a_wheel_for_this_python_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "wordllama")
    monkeypatch.setattr(sys, "version_info", (3, 13, 0, "final", 0))
    assert doctor.extra_state(EXTRAS["index"]).state == "incomplete"
    assert not installation.is_complete("index")
    monkeypatch.setattr(sys, "version_info", (3, 14, 0, "final", 0))
    assert doctor.extra_state(EXTRAS["index"]).state == "installed"
    assert installation.is_complete("index")


def test_a_package_that_cannot_be_imported_makes_the_core_unsound(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(module: str) -> None:
        if module == "httptools":
            raise RuntimeError("broken")

    monkeypatch.setattr(doctor, "import_module", broken)
    assert invoke(["doctor"]) == 1
    out = capsys.readouterr().out
    assert re.search(r"httptools \S+ cannot be imported \(RuntimeError: broken\): install it again", out)


def test_a_limit_of_open_files_that_is_final_is_not_said_to_be_raisable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (256, 256))
    assert doctor.file_check().says.endswith("only an administrator can raise it")
    monkeypatch.setattr(resource, "getrlimit", lambda which: (256, 4096))
    assert doctor.file_check().says.endswith("`ulimit -n` raises it, up to 4096")


def test_a_missing_extra_is_no_fault_and_is_shown_with_its_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hide(monkeypatch, *(package.name for package in EXTRAS["toolkit"].packages), "openai")
    assert invoke(["doctor", "--json"]) == 0
    states = {each["name"]: each for each in json.loads(capsys.readouterr().out)["extras"]}
    assert states["toolkit"]["state"] == "missing"
    assert states["toolkit"]["install"].endswith("[toolkit]'")
    assert states["llm"]["state"] == "incomplete"
    assert (states["code"]["state"], states["code"]["install"]) == ("installed", "")
    assert invoke(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    toolkit = EXTRAS["toolkit"].about_mb
    assert any(line.startswith(f"toolkit would add chaostoolkit-lib, about {toolkit} MB: ") for line in lines)
    assert any(line.startswith("llm would add openai: ") for line in lines)
    assert any(line.startswith('agent would add the extra "llm": ') for line in lines)


def test_a_missing_package_of_the_core_exits_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hide(monkeypatch, "PyYAML")
    assert invoke(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "bad  core                 lacks PyYAML: " in out
    assert out.endswith("The core is not sound: see the lines that begin with bad.\n")


def test_a_package_that_is_too_old_exits_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    versions = {"sqlalchemy": "2.0.1"}
    monkeypatch.setattr(doctor, "installed_version", lambda package: versions.get(package.name, "99"))
    assert invoke(["doctor"]) == 1
    assert "sqlalchemy 2.0.36 or newer, got 2.0.1: " in capsys.readouterr().out


def test_an_old_python_and_another_system_are_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 9))
    assert doctor.python_check().level == "bad"
    monkeypatch.setattr(os, "name", "nt")
    assert doctor.platform_check().level == "bad"


def test_a_low_limit_of_open_files_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda which: (256, 4096))
    check = doctor.file_check()
    assert (check.level, check.says) == (
        "note",
        "at most 256, two for each connection of a proxy; `ulimit -n` raises it, up to 4096",
    )
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY,) * 2)
    assert doctor.file_check() == doctor.Check("open files", "ok", "no limit")


def test_a_taken_port_is_a_note_with_the_command_that_would_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(doctor, "USUAL_PORTS", {port: "fault serve"})
        check = list(doctor.port_checks())[-1]
    assert (check.level, check.says) == (
        "note",
        f"taken: {port} (fault serve); the commands take others by a flag",
    )


def test_an_address_that_cannot_be_bound_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(socket, "create_server", refuse)
    checks = list(doctor.port_checks())
    assert [check.level for check in checks] == ["bad", "note", "note"]
    assert checks[0].says == "cannot listen on 127.0.0.1:0: operation not permitted"


def test_the_usual_ports_are_the_defaults_of_the_commands() -> None:
    def commands(command: click.Command) -> Iterator[click.Command]:
        yield command
        if isinstance(command, click.Group):
            for name in command.list_commands(click.Context(command)):
                inner = command.get_command(click.Context(command), name)
                assert inner is not None
                yield from commands(inner)

    flags = {f"127.0.0.1:{port}": port for port in doctor.USUAL_PORTS}
    for port, name in doctor.USUAL_PORTS.items():
        params = [each for every in commands(COMMANDS[name.split()[1]].load()) for each in every.params]
        given = {each.default for each in params} | {getattr(each, "flag_value", None) for each in params}
        assert port in given | {flags.get(str(each)) for each in given}, name


TOOLS = "tools: [{name: echo, description: says it again}, {name: %s, description: its own}]\n"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Return a config of two servers that share a tool, one that does not start, and one that is off."""
    servers: dict[str, Any] = {}
    for name in ("first", "second"):
        (tmp_path / f"{name}.yml").write_text(TOOLS % name)
        args = ["-m", "faultkit", "mock", "--tools-from", "${FOLDER}/" + f"{name}.yml"]
        servers[name] = {"command": sys.executable, "args": args}
    servers["gone"] = {"command": str(tmp_path / "nowhere")}
    servers["unset"] = {"url": "http://127.0.0.1:1/mcp", "headers": {"X": "${env:NOT_SET_ANYWHERE}"}}
    servers["off"] = {"command": "x", "disabled": True}
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


def test_the_servers_of_a_config_are_started_and_their_tools_counted(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FOLDER", str(config.parent))
    assert invoke(["doctor", "--mcp", str(config), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    first, second, gone, unset, off = found["servers"]
    assert (first["state"], first["tools"]) == ("ok", ["echo", "first"])
    assert first["tokens"] == round(first["bytes"] / 4) > 10
    assert found["bytes"] == first["bytes"] + second["bytes"]
    assert found["shared_names"] == {"echo": ["first", "second"]}
    assert (gone["state"], gone["problem"].startswith("cannot start ")) == ("failed", True), gone
    assert unset["problem"] == "it needs the environment variable NOT_SET_ANYWHERE, which is not set"
    assert (off["state"], off["tools"], off["problem"]) == ("off", [], None)


def test_a_config_whose_servers_all_start_exits_with_0(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FOLDER", str(config.parent))
    servers = json.loads(config.read_text())["mcpServers"]
    config.write_text(json.dumps({"servers": {name: servers[name] for name in ("first", "second")}}))
    assert invoke(["doctor", "--mcp", str(config)]) == 0
    head, first, second, _, total, note = capsys.readouterr().out.splitlines()
    assert head.split() == ["server", "tools", "KB", "tokens", "state"]
    assert (first.split()[:2], first.split()[-1]) == (["first", "2"], "ok")
    assert second.split()[0] == "second"
    assert re.fullmatch(r"4 tools, \d+\.\d KB in a model's context", total)
    assert note == "note: the tool echo is in first and second: some clients use one of them only"


FLOODS = {
    "text": "while True: print('y' * 10)",
    "stderr": "import sys\nwhile True: print('y' * 10, file=sys.stderr) or print('n')",
    "notifications": """while True: print('{"jsonrpc": "2.0", "method": "notifications/message"}')""",
}


@pytest.mark.parametrize(
    ("flood", "kind"),
    [
        ("text", "that are no MCP messages"),
        ("stderr", "that are no MCP messages; last line of its stderr: yyyyyyyyyy"),
        ("notifications", "that are no replies"),
    ],
)
def test_a_server_that_floods_its_output_is_given_up_and_the_others_are_checked(
    config: Path,
    flood: str,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("FOLDER", str(config.parent))
    servers = json.loads(config.read_text())["mcpServers"]
    loud = {"command": sys.executable, "args": ["-c", FLOODS[flood]]}
    config.write_text(json.dumps({"mcpServers": {"loud": loud, "first": servers["first"]}}))
    assert invoke(["doctor", "--mcp", str(config), "--json"]) == 1
    found = {each["name"]: each for each in json.loads(capsys.readouterr().out)["servers"]}
    assert found["loud"]["problem"].endswith(f": the server floods its output with lines {kind}")
    assert (found["first"]["state"], found["first"]["tools"]) == ("ok", ["echo", "first"])


def test_what_a_failed_server_wrote_to_stderr_is_in_its_row(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mcp.json"
    code = "import sys; sys.exit('starting\\nno key given')"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
    servers = {"bad": {"command": sys.executable, "args": ["-c", code]}, "web": {"url": url}}
    file.write_text(json.dumps({"mcpServers": servers}))
    assert invoke(["doctor", "--mcp", str(file), "--json"]) == 1
    out, err = capfd.readouterr()
    bad, web = (each["problem"] for each in json.loads(out)["servers"])
    assert bad.endswith(": the server ended with exit code 1; last line of its stderr: no key given")
    assert web.startswith(f"cannot reach {url}: ")
    assert err == ""


def test_a_server_of_a_client_extension_is_not_checked_and_is_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "settings.json"
    extensions = {"new": {"source": "extension", "settings": {}}, "old": {"settings": {"token": "x"}}}
    file.write_text(json.dumps({"context_servers": extensions}))
    assert invoke(["doctor", "--mcp", str(file)]) == 0
    rows = capsys.readouterr().out.splitlines()[1:3]
    assert [row.split(maxsplit=1) for row in rows] == [
        [name, "not checked: an extension of the client starts it"] for name in ("new", "old")
    ]
    assert invoke(["doctor", "--mcp", str(file), "--json"]) == 0
    assert {each["state"] for each in json.loads(capsys.readouterr().out)["servers"]} == {"not checked"}


def test_a_config_without_servers_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {}}')
    assert invoke(["doctor", "--mcp", str(file)]) == 0
    assert capsys.readouterr().out == f"there are no servers in {file}\n"


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["--timeout", "5s"], "--timeout"),
        (["--mcp", "nowhere.json"], "nowhere.json: cannot be read: no such file or directory"),
    ],
)
def test_a_wrong_use_of_mcp_is_exit_2(
    args: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["doctor", *args]) == 2
    assert problem in capsys.readouterr().err


SERVER = """import json, sys
tool = {"name": "a", "inputSchema": {"type": "object"}}
lists = {"same": [tool, tool], "nameless": [{"x": 1}], "numbers": [5], "schemaless": [{"name": "a"}]}
for line in sys.stdin:
    asked, kind = json.loads(line), sys.argv[1]
    result = {"tools": lists.get(kind, [tool])}
    if asked["method"] == "initialize":
        version = "1999-01-01" if kind == "old" else "2025-06-18"
        info = {"name": "x", "version": "1"}
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    elif kind == "endless":
        result["nextCursor"] = "again"
    if kind == "noisy":
        print("starting up")
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


@pytest.fixture
def checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Return a function that checks one entry beside a healthy server, and returns its row."""
    (tmp_path / "server.py").write_text(SERVER)
    script = str(tmp_path / "server.py")

    def check(kind: str = "", **members: Any) -> dict[str, Any]:
        healthy = {"command": sys.executable, "args": [script, "good"]}
        entry = {"command": sys.executable, "args": [script, kind], **members}
        file = tmp_path / "one.json"
        file.write_text(json.dumps({"mcpServers": {"healthy": healthy, "odd": entry}}))
        code = invoke(["doctor", "--mcp", str(file), "--json"])
        good, row = json.loads(capsys.readouterr().out)["servers"]
        assert (good["state"], good["notes"]) == ("ok", [])
        assert code == (1 if row["state"] == "failed" else 0)
        assert isinstance(row, dict)
        return row

    return check


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("old", 'initialize: expected a protocolVersion that clients know, got "1999-01-01"'),
        ("nameless", 'tools/list: expected a name and an inputSchema of each tool, got {"x": 1}'),
        ("schemaless", 'tools/list: expected a name and an inputSchema of each tool, got {"name": "a"}'),
        ("numbers", "tools/list: expected tools as objects, got 5"),
    ],
)
def test_a_server_that_clients_refuse_has_failed(
    checked: Callable[..., dict[str, Any]], kind: str, problem: str
) -> None:
    assert checked(kind)["problem"] == problem


def test_a_list_of_tools_without_an_end_has_failed(checked: Callable[..., dict[str, Any]]) -> None:
    assert checked("endless")["problem"].endswith("tools/list has no end: its pages come again")


@pytest.mark.parametrize(
    ("kind", "note"),
    [
        ("same", "it lists the tool a 2 times: clients use one of them only"),
        ("noisy", "its stdout has 3 lines besides MCP messages: log lines belong on stderr"),
    ],
)
def test_what_is_odd_about_a_server_that_can_be_used_is_a_note(
    checked: Callable[..., dict[str, Any]], kind: str, note: str
) -> None:
    row = checked(kind)
    assert (row["state"], row["notes"]) == ("ok", [note])


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"env": {"PORT": 8080}}, "env.PORT: expected a text, got a number"),
        ({"env": {"A": None}}, "env.A: expected a text, got null"),
        ({"env": ["A=b"]}, "env: expected an object of texts, got a list"),
        ({"args": ["server.py", 1]}, "args[1]: expected a text, got a number"),
        ({"args": "server.py good"}, "args: expected a list of texts, got a text"),
        ({"command": ["python", "server.py"]}, "command: expected a text, got a list"),
        ({"command": None, "url": 7}, "url: expected a text, got a number"),
        (
            {"command": None, "url": "http://127.0.0.1:1/", "headers": {"X": 1}},
            "headers.X: expected a text, got a number",
        ),
        (
            {"cwd": "/nonexistent"},
            f"cannot start {sys.executable} in the folder /nonexistent: No such file or directory",
        ),
    ],
)
def test_an_entry_that_clients_refuse_has_failed_and_the_others_are_checked(
    checked: Callable[..., dict[str, Any]], members: dict[str, Any], problem: str
) -> None:
    assert checked("good", **members)["problem"] == problem


def test_an_address_is_read_as_a_host_reads_it() -> None:
    for key in ("httpUrl", "serverUrl"):
        assert address_of({key: "https://x.example/mcp"}, {}) == ServerAddress(url="https://x.example/mcp")
    zed = {"command": {"path": "node", "args": ["s.js"], "env": {"A": "${B:-c}"}}}
    assert address_of(zed, {}) == ServerAddress(("node", "s.js"), env={"A": "c"})
    web = {"type": "http", "url": "https://x.example/mcp", "headers": {"K": "${env:KEY}"}}
    assert address_of(web, {"KEY": "k"}) == ServerAddress(url="https://x.example/mcp", headers={"K": "k"})
    with pytest.raises(ValueError, match="neither a command nor a url"):
        address_of({}, {})
    with pytest.raises(ValueError, match="transport sse is not supported"):
        address_of({"type": "sse", "url": "https://x.example/sse"}, {})
