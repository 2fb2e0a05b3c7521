"""`fault chaos`: the table of its subcommands, those about files (init, validate, list), and serve."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from faultkit.base.errors import InputError, RunError
from faultkit.base.text import escaped_json, one_line
from faultkit.cli.chaos_options import (
    EXPERIMENTS,
    LIMITS,
    ChaosOptions,
    chaos_options,
    chaos_settings,
    read_limits,
)
from faultkit.cli.command_groups import LazyCommand, LazyGroup
from faultkit.cli.shared_options import columns, json_option, print_json
from faultkit.cli.tool_server import ToolServer

if TYPE_CHECKING:
    from faultkit.chaos.safety.chaos_limits import Limits

_HELP = """Break a dependency of a service, check whether its steady state holds, and always roll back.

A limits file (--limits, FAULT_CHAOS_LIMITS) says what may be broken, where and for how long: environments,
targets, most_duration_s and others. FAULT_ENVIRONMENT names the environment of this machine; production is
refused unless the limits file allows it. No experiment and no tool can raise a limit.
"""

command = LazyGroup(
    "chaos",
    help=_HELP,
    epilog="`fault chaos init` writes a first experiment. docs/chaos.md has the details.",
    entries={
        "init": LazyCommand(
            "faultkit.cli.chaos:init_command", "Write a commented experiment for your service."
        ),
        "run": LazyCommand(
            "faultkit.cli.chaos_run:run_command", "Run an experiment, or several as a game day."
        ),
        "validate": LazyCommand(
            "faultkit.cli.chaos:validate_command", "Check experiments without running them."
        ),
        "list": LazyCommand("faultkit.cli.chaos:list_command", "List experiments and game days."),
        "status": LazyCommand(
            "faultkit.cli.chaos_control:status_command", "Show active faults, and the results of past runs."
        ),
        "stop": LazyCommand(
            "faultkit.cli.chaos_control:stop_command", "Stop all experiments, and let none start."
        ),
        "recover": LazyCommand(
            "faultkit.cli.chaos_control:recover_command", "Undo the faults that a crash has left."
        ),
        "serve": LazyCommand("faultkit.cli.chaos:serve_command", "Serve the chaos tools over MCP."),
    },
)

_TEMPLATE = """\
# A chaos experiment. Run it with `fault chaos run {file}`, first with --dry-run, which changes nothing.
name: {name}
description: {url} answers while {dependency} is cut off.

# The environments in which it may run. FAULT_ENVIRONMENT names that of this machine; by default "local".
environment: [local, test, ci, staging]

limits:
  max_duration: 2m             # of the whole run without its rollback

# Checks that must hold before the first action, and again after the last. Kinds of checks: http, tcp,
# process, python, mcp, slo, promql.
steady_state:
  - name: the service answers
    http: {url}
    expect: {{all: [{{target: status, equals: 200}}, {{target: elapsed_ms, below: 1000}}]}}

# The actions. Each is recorded with its undo before it acts. Kinds of actions: proxy, gateway, fault,
# scenario, start, signal, process, http, python; and {{pause: 2s}}.
#
# `proxy` adds rules to a proxy that runs between the service and its dependency:
#   export FAULT_CONTROL_TOKEN=$(openssl rand -hex 16)
#   fault run --disable-http-proxy --proxy {port}={dependency} --control {control}
# and the service must be configured to use 127.0.0.1:{port} in place of {dependency}.
method:
  - name: cut the dependency off
    proxy:
      control: {control}
      token: ${{FAULT_CONTROL_TOKEN}}
      add: {{name: cut, fault: blackhole}}
  - pause: 2s                  # let the fault take effect

# Optional: run the same checks while the actions run; stop: true ends the run at the first deviation.
# during:
#   every: 1s
#   stop: true

# Rules, signals, faults and processes are undone automatically, last first. List here what else to undo:
# rollback:
#   - name: flush the cache
#     http: {{url: {url}, method: POST}}
"""


@click.command("init")
@click.argument("name", default="cut-dependency")
@click.option(
    "--url",
    metavar="URL",
    default="http://127.0.0.1:8000/",
    show_default=True,
    help="URL of your service that must answer.",
)
@click.option(
    "--dependency",
    metavar="HOST:PORT",
    default="localhost:5432",
    show_default=True,
    help="Dependency of your service.",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=5433,
    show_default=True,
    help="Port of the proxy in front of the dependency.",
)
@click.option(
    "--control",
    metavar="HOST:PORT",
    default="127.0.0.1:7900",
    show_default=True,
    help="Control API of the proxy.",
)
@EXPERIMENTS
def init_command(name: str, url: str, dependency: str, port: int, control: str, experiments: str) -> None:
    """Write a commented experiment, NAME.yaml, to the folder of experiments; never overwrite a file."""
    from faultkit.base.address import parse_endpoint
    from faultkit.chaos.experiment.experiment_file import read_experiment

    if not name or Path(name).name != name or name.startswith("."):
        raise InputError("NAME", f'expected a name for a file, got "{name}"')
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise InputError("--url", f'expected a URL such as http://127.0.0.1:8000/, got "{url}"')
    parse_endpoint(dependency, path="--dependency")
    parse_endpoint(control, path="--control")
    file = Path(experiments) / f"{name}.yaml"
    text = _TEMPLATE.format(file=file, name=name, url=url, dependency=dependency, port=port, control=control)
    _, problems = read_experiment(text, str(file), {"FAULT_CONTROL_TOKEN": "t"})
    if problems:
        raise problems[0]
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(file, "x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise InputError("NAME", f"{file} already exists, and is not overwritten") from None
    except OSError as error:
        raise RunError(f"{file}: cannot be written: {(error.strerror or str(error)).lower()}") from None
    click.echo(f"written: {file}; edit it, then run `fault chaos run {file} --dry-run`")


@click.command("validate", epilog="Exits with 0 if all files are valid, and with 2 otherwise.")
@click.argument("paths", nargs=-1, metavar="[FILE|DIR]...")
@EXPERIMENTS
@LIMITS
@json_option()
@click.pass_context
def validate_command(
    ctx: click.Context, paths: tuple[str, ...], experiments: str, limits: str | None, as_json: bool
) -> None:
    """Check experiments and game days without running them; by default all of the folder of experiments.

    Functions, programs and files that they name must be there, and the limits must allow them. Variables
    need not be set: what depends on their values is not checked.
    """
    allowed = read_limits(limits)
    checked: list[Path] = []
    problems: list[InputError] = []
    unset: set[str] = set()
    for path in paths or (experiments,):
        files, file_problems = _problems(Path(path), allowed, unset)
        checked += files
        problems += file_problems
    if as_json:
        document = {
            "valid": not problems,
            "problems": [str(problem) for problem in problems],
            "unset": sorted(unset),
        }
        click.echo(escaped_json(json.dumps(document, ensure_ascii=False)))
    elif problems:
        for problem in problems:
            click.echo(f"error: {problem}", err=True)
    else:
        click.echo(f"valid: {', '.join(map(str, checked))}")
    if unset and not as_json:
        click.echo(f"warning: not set, so their values are not checked: {', '.join(sorted(unset))}", err=True)
    if problems:
        ctx.exit(2)


def _problems(path: Path, limits: Limits, unset: set[str]) -> tuple[list[Path], list[InputError]]:
    """Return the files at a path, and their problems; add to `unset` the variables that are not set."""
    from faultkit.chaos.experiment.experiment_check import check_day, check_file
    from faultkit.chaos.experiment.experiment_file import RepeatedName, files_of, is_day, read_catalog

    if not os.path.isdir(path):
        try:
            if not os.path.isfile(path):
                raise InputError(str(path), "expected a file or a folder that is there")
            if is_day(path):
                found = check_day(path, os.environ)
            else:
                found = check_file(path, os.environ, limits)
        except InputError as error:
            return [path], [error]
        unset.update(found.unset)
        return [path], found.problems
    files = files_of(path)
    if not files:
        return [], [InputError(str(path), "expected a folder with experiments, got none in it")]
    problems = [problem for file in files for problem in _problems(file, limits, unset)[1]]
    catalog = read_catalog(path, {**os.environ, **{name: f"${{{name}}}" for name in unset}})
    repeats = [each for each in catalog.problems if isinstance(each, RepeatedName)]
    return files, [*problems, *repeats]


@click.command("list")
@EXPERIMENTS
@json_option()
def list_command(experiments: str, as_json: bool) -> None:
    """List the experiments and game days of a folder."""
    from faultkit.chaos.experiment.experiment_file import read_catalog

    catalog = read_catalog(experiments, os.environ)
    listed = [
        {"name": each.name, "file": str(each.file), "description": one_line(each.description)}
        for each in catalog.experiments.values()
    ]
    days = [{"gameday": title, "file": str(file)} for title, file in catalog.days.items()]
    problems = [str(problem) for problem in catalog.problems]
    if as_json:
        print_json({"experiments": listed, "gamedays": days, "problems": problems})
        return
    if listed:
        click.echo(columns([(each["name"], each["description"] or each["file"]) for each in listed]))
    for day in days:
        click.echo(f"{day['gameday']} (game day)  {day['file']}")
    for problem in problems:
        click.echo(f"warning: {problem}", err=True)
    if not listed and not days:
        click.echo(f"no experiments in {experiments}; `fault chaos init` writes one", err=True)


SERVER = ToolServer("fault chaos serve", 7438, "FAULT_CHAOS_TOKEN")
_READ_ONLY_TOOLS = ("chaos_status",)


@click.command("serve", epilog="For example: fault chaos serve --transport http --port 7438")
@SERVER.options
@click.option(
    "--read-only", is_flag=True, help="Serve only chaos_status: clients can look, but break nothing."
)
@chaos_options
def serve_command(
    transport: str,
    host: str,
    port: int,
    token: str | None,
    root: str | None,
    read_only: bool,
    chaos: ChaosOptions,
) -> int:
    """Serve chaos_inject_fault, chaos_run_experiment and chaos_status to MCP clients.

    When the server ends, also by a crash, every fault that it started ends.
    """
    from faultkit.agent_tools.chaos_tools import CHAOS_TOOLS, INSTRUCTIONS
    from faultkit.agent_tools.tool import Services

    settings = chaos_settings(chaos, source="mcp", transport=transport)
    services = Services(chaos=lambda: settings)
    services.chaos_session()  # A store that cannot be opened ends the command now, not at the first call.
    tools = {name: tool for name, tool in CHAOS_TOOLS.items() if not read_only or name in _READ_ONLY_TOOLS}
    return SERVER.serve(services, tools, transport, host, port, token, root, INSTRUCTIONS)
