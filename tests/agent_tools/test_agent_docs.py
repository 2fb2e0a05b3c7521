"""docs/agent.md and docs/code.md agree with the tables of tools."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from faultkit.agent_tools.impact_tools import HEAD, TAIL
from faultkit.agent_tools.load_limits import LoadLimits
from faultkit.agent_tools.prompts import PROMPTS
from faultkit.agent_tools.resources import FAULTS_JSON_URI, FAULTS_URI, TEMPLATES
from faultkit.agent_tools.tool import REQUIRED, Argument, Tool
from faultkit.agent_tools.tool_catalog import TOOLS
from faultkit.cli.llm import FLAGS
from faultkit.llm.providers import PROVIDERS
from faultkit.mcp.hosts.host_configs import HOSTS, Places, config_path

DOCS = Path(__file__).parent.parent.parent / "docs"
AGENT = (DOCS / "agent.md").read_text("utf-8")
CODE = (DOCS / "code.md").read_text("utf-8")


def shown(argument: Argument) -> str:
    return f"`{argument.name}{'' if argument.default is REQUIRED else '?'}`"


def row(tool: Tool) -> str:
    common = {each.name for each in (*HEAD, *TAIL)} if "_impact_" in tool.name else set()
    own = [shown(each) for each in tool.arguments if each.name not in common]
    title = tool.title[0].lower() + tool.title[1:] if not tool.title.isupper() else tool.title
    return f"| `{tool.name}` | {', '.join(own)} | {title} |"


def test_the_page_lists_every_tool_with_its_own_arguments() -> None:
    assert re.findall(r"^\| `fault_.+$", AGENT, re.MULTILINE) == [row(tool) for tool in TOOLS.values()]


def test_the_page_names_the_arguments_that_impact_tools_share() -> None:
    told = re.search(r"The impact tools also take (.+?)\. Without", AGENT, re.DOTALL)
    assert told is not None
    named = re.findall(r"`[a-z_]+\??`", told[1])
    assert named == [shown(each) for each in (*HEAD, *TAIL)]


def test_the_page_lists_every_client_and_its_files() -> None:
    rows = re.findall(r"^\| `([a-z-]+)`[^|]*\| (.+?) \|(?: (.+?))? \|$", AGENT, re.MULTILINE)
    assert [name for name, _, _ in rows] == list(HOSTS)
    for name, user, project in rows:
        host = HOSTS[name]
        path = config_path(host, "user", Places("linux", "~", {}), "")
        assert user == f"`{path}`" or user.startswith(f"`{Path(path).name}` in ")
        assert project == ("" if host.project is None else f"`{host.project}`")


def test_the_page_names_resources_prompts_and_limits() -> None:
    for uri in (FAULTS_URI, FAULTS_JSON_URI, *(each.uri_template for each in TEMPLATES)):
        assert f"`{uri}`" in AGENT
    for prompt in PROMPTS.values():
        assert f"`{prompt.name}`" in AGENT
        assert all(f"`{each.name}`" in AGENT for each in prompt.arguments)
    usual = LoadLimits()
    assert f"| {usual.max_duration_s / 60:g} min | `--max-duration` |" in AGENT
    assert f"| {usual.max_clients} | `--max-clients` |" in AGENT
    assert f"| {usual.max_rps_total:g} | `--max-rps` |" in AGENT
    assert f"| {usual.max_timeout_s / 60:g} min | `--max-timeout` |" in AGENT


def test_the_page_of_code_lists_every_provider_and_flag() -> None:
    for each in PROVIDERS:
        key = f"`{each.key_env}`" if each.needs_key else "none needed"
        assert f"| `{each.name}` | {key} | `{each.base_url_env}` | `{each.model}` |" in CODE
    for flag in FLAGS:
        assert f"| `{flag.option}` | `{flag.variable}` | " in CODE


def test_the_examples_of_the_page_of_code_say_what_they_show(tmp_path: Path) -> None:
    script = re.search(r"```python\n(.+?)```", CODE, re.DOTALL)
    assert script is not None
    (tmp_path / "app.py").write_text(script[1])
    env = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    ran = 0
    for block in re.findall(r"```console\n(.+?)```", CODE, re.DOTALL):
        for example in re.split(r"^\$ fault ", block, flags=re.MULTILINE)[1:]:
            command, _, wanted = example.partition("\n")
            done = subprocess.run(
                [sys.executable, "-m", "faultkit", *command.split()],
                cwd=tmp_path,
                env={**env, "PYTHONUTF8": "1"},
                capture_output=True,
                encoding="utf-8",
                timeout=60,
            )
            assert (done.stdout, done.returncode) == (wanted, 0), command
            if command.startswith("improve"):
                assert f"```text\n{done.stderr}```" in CODE
            ran += 1
    assert ran == 6
