"""`fault chaos init`: a commented experiment for your service, to begin with."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import click

from faultkit.base.errors import InputError, RunError
from faultkit.cli.chaos.options import EXPERIMENTS

_TEMPLATE = """\
# A chaos experiment: `fault chaos run {file}`; first `--dry-run`, which changes nothing.
name: {name}
description: {url} answers though {dependency} is cut off.

# Where alone it may run. FAULT_ENVIRONMENT says what this machine is; without it, it is "local".
environment: [local, test, ci, staging]

limits:
  max_duration: 2m             # of everything but the rollback

# What must hold before anything is begun, and again after it. Kinds of checks: http, tcp, process, python,
# mcp, slo, promql.
steady_state:
  - name: the service answers
    http: {url}
    expect: {{all: [{{target: status, equals: 200}}, {{target: elapsed_ms, below: 1000}}]}}

# What is done. Each action is written down with its undoing before it acts. Kinds of actions: proxy, gateway,
# fault, scenario, start, signal, process, http, python; and {{pause: 2s}}.
#
# `proxy` changes a proxy that runs between the service and what it depends on:
#   export FAULT_CONTROL_TOKEN=$(openssl rand -hex 16)
#   fault run --disable-http-proxy --proxy {port}={dependency} --control {control}
# and the service must be told to use 127.0.0.1:{port} in place of {dependency}.
method:
  - name: cut the dependency off
    proxy:
      control: {control}
      token: ${{FAULT_CONTROL_TOKEN}}
      add: {{name: cut, fault: blackhole}}
  - pause: 2s                  # let it be felt

# The same checks beside the method, if you like; stop: true ends it at the first deviation.
# during:
#   every: 1s
#   stop: true

# Rules, signals, faults and processes are taken back by themselves, last first. Say here what else must be:
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
    help="What of your service must answer.",
)
@click.option(
    "--dependency",
    metavar="HOST:PORT",
    default="localhost:5432",
    show_default=True,
    help="What your service depends on.",
)
@click.option(
    "--port", type=click.IntRange(1, 65535), default=5433, show_default=True, help="Of the proxy before it."
)
@click.option(
    "--control", metavar="HOST:PORT", default="127.0.0.1:7900", show_default=True, help="Its control API."
)
@EXPERIMENTS
def command(name: str, url: str, dependency: str, port: int, control: str, experiments: str) -> None:
    """Write a commented experiment NAME.yaml into the folder of experiments. It overwrites nothing."""
    from faultkit.base.address import parse_endpoint
    from faultkit.chaos.experiment.file import read_experiment

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
        raise InputError("NAME", f"{file} is there already, and nothing is overwritten") from None
    except OSError as error:
        raise RunError(f"{file}: cannot be written: {(error.strerror or str(error)).lower()}") from None
    click.echo(f"written: {file}; look at it, then `fault chaos run {file} --dry-run`")
