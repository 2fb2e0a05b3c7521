"""Every command in an environment with the core alone: it works, or says in one line which extra it needs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import click
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from faultkit.agent_tools.tool_catalog import AGENT_TOOLS
from faultkit.base.extras import CORE, EXTRAS
from faultkit.cli.main import fault
from tests.e2e.core_only import MOST_PACKAGES, distributions_of, environment, hidden_modules
from tests.smoke import FAULT, PATIENCE_S, PROJECT, SERVERS, STEPS, Step, run, take, write_files

WHOLE_COMMAND = {
    "functions": "code",
    "review": "code",
    "improve": "code",
    "slo": "code",
    "index": "index",
    "search": "index",
}
"""Commands that can do nothing without an extra but show their help."""
MODEL_SUITE = """\
servers: {incidents: {mock: TOOLS}}
agents:
  - {name: a model, model: gpt-4o-mini, prompt: go, expect: [{target: final_response, contains: x}]}
"""


def _title(value: Any) -> str | None:
    if isinstance(value, Step):
        return value.title.replace(str(PROJECT), ".")
    return value.__name__ if callable(value) else None


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return environment(tmp_path)


def assert_names_extra(done: subprocess.CompletedProcess[str], who: str, extra: str) -> None:
    """Check that a command ended with the one line."""
    assert done.stdout == ""
    sentence = f'error: {who} needs the extra "{extra}" ({EXTRAS[extra].purpose}), which is not installed: '
    assert done.stderr.startswith(sentence), done.stderr
    assert re.fullmatch(rf".*install .*\[{extra}\]'", done.stderr.removeprefix(sentence).rstrip("\n"))
    assert done.stderr.count("\n") == 1
    assert done.returncode == 2


def test_the_core_has_few_packages() -> None:
    assert len(distributions_of()) <= MOST_PACKAGES


def test_the_environment_has_no_package_of_an_extra() -> None:
    hidden = hidden_modules()
    modules = {name for extra in EXTRAS.values() for each in extra.packages for name in each.modules}
    assert modules <= hidden
    assert not hidden & {name for package in CORE for name in package.modules}


def paths_of(command: click.Command, *path: str) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for name in command.list_commands(ctx):
            inner = command.get_command(ctx, name)
            assert inner is not None
            yield from paths_of(inner, *path, name)


def test_every_command_shows_its_help_and_names_its_extra(env: dict[str, str], tmp_path: Path) -> None:
    paths = list(paths_of(fault))
    program = (
        "import contextlib, io, json, sys\n"
        "from faultkit.cli.main import invoke\n"
        "said = []\n"
        "for path in json.load(sys.stdin):\n"
        "    out, err = io.StringIO(), io.StringIO()\n"
        "    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):\n"
        "        code = invoke([*path, '--help'])\n"
        "    said.append([code, out.getvalue(), err.getvalue()])\n"
        "print(json.dumps(said))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=env,
        cwd=tmp_path,
        input=json.dumps(paths),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    for path, (code, out, err) in zip(paths, json.loads(done.stdout), strict=True):
        extra = WHOLE_COMMAND.get(path[0]) if path else None
        assert code == 0, path
        assert out.startswith("Usage: fault"), path
        assert "Options:" in out, path
        if extra is None:
            assert err == "", path
        else:
            warning = f'warning: fault {" ".join(path)} needs the extra "{extra}" ('
            assert err.startswith(warning), err
            assert err.endswith(f"[{extra}]'\n"), err
            assert err.count("\n") == 1, err


@pytest.mark.parametrize(
    ("args", "who", "extra"),
    [
        (["functions", "app.py"], "fault functions", "code"),
        (["review", "."], "fault review", "code"),
        (["improve", "app.py"], "fault improve", "code"),
        (["slo", "app.py"], "fault slo", "code"),
        (["index", "."], "fault index", "index"),
        (["search", "retries"], "fault search", "index"),
        (["agent", "tool"], "fault agent tool", "agent"),
        (["agent", "tool", "--transport", "http", "--port", "0"], "fault agent tool", "agent"),
        (["chaos", "serve"], "fault chaos serve", "agent"),
        (
            ["serve", "--transport", "http", "--oidc-issuer", "https://id.test", "--oidc-audience", "us"],
            "fault serve",
            "oidc",
        ),
        (["serve", "--store", "postgresql://me@db/a"], "the store postgresql://me@db/a", "postgres"),
        (["audit", "list", "--store", "postgresql://me@db/a"], "the store postgresql://me@db/a", "postgres"),
        (["keys", "list", "--store", "postgresql://me@db/a"], "the store postgresql://me@db/a", "postgres"),
        (["ca", "show"], "fault ca show", "tls"),
        (["exec", "--", "true"], "fault exec", "tls"),
        (["run", "--no-ui", "--no-check", "--proxy", "https:0=localhost:1"], "fault run", "tls"),
        (["chaos", "run", "toolkit.json"], 'the Chaos Toolkit experiment "toolkit"', "toolkit"),
        (["chaos", "run", "filter.yaml"], "fault chaos run", "toolkit"),
    ],
)
def test_a_command_without_its_extra_says_so_in_one_line(
    args: list[str], who: str, extra: str, env: dict[str, str], tmp_path: Path
) -> None:
    write_files(tmp_path)
    assert_names_extra(run(env, tmp_path, *args), who, extra)


def test_a_suite_with_a_model_says_so_before_its_first_test(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "model.yml").write_text(MODEL_SUITE.replace("TOOLS", str(PROJECT / "examples/tools.yml")))
    with_key = run({**env, "OPENAI_API_KEY": "none"}, tmp_path, "test", "model.yml")
    assert_names_extra(with_key, "the model gpt-4o-mini", "llm")
    without = run(env, tmp_path, "test", "model.yml")
    assert "OPENAI_API_KEY" in without.stdout
    assert without.returncode == 1


def test_an_entry_for_a_coding_agent_names_the_extra_that_its_command_needs(
    env: dict[str, str], tmp_path: Path
) -> None:
    done = run(env, tmp_path, "agent", "install", "cursor", "--scope", "project", "--write")
    assert done.returncode == 0
    assert done.stderr.startswith('warning: fault agent tool needs the extra "agent" (')


def test_a_missing_package_of_the_core_is_named_in_one_line(env: dict[str, str], tmp_path: Path) -> None:
    env["FAULTKIT_TEST_HIDDEN_MODULES"] += ",click"
    done = run(env, tmp_path, "doctor")
    assert re.fullmatch(r"error: fault needs click, which is not installed: .*pip install .*\n", done.stderr)
    assert (done.stdout, done.returncode) == ("", 2)


@pytest.mark.parametrize(
    ("has", "variables", "args", "who", "extra"),
    [
        ("code", {}, ["index", "."], "fault index", "index"),
        (
            "code",
            {"OPENAI_API_KEY": "none", "FAULT_AGENT_CLIENT": "openai"},
            ["improve", "app.py"],
            "a language model of openai (`--llm-client rules` needs none)",
            "llm",
        ),
        ("index", {"QDRANT_URL": "http://127.0.0.1:1"}, ["index", "."], "fault index", "qdrant"),
    ],
)
def test_a_command_with_one_extra_names_the_other_that_an_option_needs(
    has: str, variables: dict[str, str], args: list[str], who: str, extra: str, tmp_path: Path
) -> None:
    write_files(tmp_path)
    assert_names_extra(run(environment(tmp_path, has) | variables, tmp_path, *args), who, extra)


@pytest.mark.thorough
@pytest.mark.parametrize("step", [step for step in STEPS if not step.extra], ids=_title)
def test_a_command_of_the_core_works(step: Step, env: dict[str, str], tmp_path: Path) -> None:
    write_files(tmp_path)
    take(step, env, tmp_path)


@pytest.mark.parametrize("step", [step for step in STEPS if step.extra], ids=_title)
def test_an_extra_is_enough_for_its_command(step: Step, tmp_path: Path) -> None:
    write_files(tmp_path)
    env = environment(tmp_path, step.extra)
    if step.args[0] == "search":
        run(env, tmp_path, "index", ".")
    take(step, env, tmp_path)


@pytest.mark.parametrize(("extra", "server"), SERVERS, ids=_title)
def test_a_server_works_with_its_extra_alone(
    extra: str, server: Callable[[dict[str, str], Path], None], tmp_path: Path
) -> None:
    write_files(tmp_path)
    # Code is changed by what a model answers: it has to be read, too.
    extras = {"": (), "llm": ("llm", "code")}.get(extra, (extra,))
    server(environment(tmp_path, *extras), tmp_path)


def test_agent_tool_lists_all_tools_and_says_in_a_result_which_extra_it_needs(tmp_path: Path) -> None:
    """With `mcp` itself, and nothing of what the tools need."""
    lacking = environment(tmp_path, "agent")
    parts = {
        name for extra in ("code", "index", "llm") for each in EXTRAS[extra].packages for name in each.modules
    }
    lacking["FAULTKIT_TEST_HIDDEN_MODULES"] += "," + ",".join(parts)
    file = tmp_path / "app.py"
    file.write_text("def f():\n    pass\n")

    async def visit() -> tuple[list[str], Any]:
        parameters = StdioServerParameters(
            command=FAULT[0], args=[*FAULT[1:], "agent", "tool"], env=lacking, cwd=tmp_path
        )
        with anyio.fail_after(PATIENCE_S):
            async with Client(parameters, mode="legacy") as client:
                listed = await client.list_tools()
                result = await client.call_tool("fault_list_function_names", {"file": str(file)})
                return [tool.name for tool in listed.tools], result

    names, result = anyio.run(visit)
    assert names == list(AGENT_TOOLS)
    assert result.is_error
    text = result.content[0].text
    assert text.startswith('the tool fault_list_function_names needs the extra "code" (')
    assert text.endswith("[code]'")


def test_doctor_lists_the_missing_extras(env: dict[str, str], tmp_path: Path) -> None:
    document = json.loads(run(env, tmp_path, "doctor", "--json").stdout)
    assert document["sound"]
    assert {each["state"] for each in document["extras"]} == {"missing"}
    assert all(each["install"].endswith(f"[{each['name']}]'") for each in document["extras"])
    assert os.path.samefile(document["prefix"], sys.prefix)
