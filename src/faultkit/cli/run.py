"""`fault run`: turns flags, variables and a plan file into a job, and chooses the job's output.

Exit codes: 0 when `--duration` is over and after a signal (Ctrl-C, SIGTERM, SIGHUP), since both are regular
ends; 2 for wrong input; 3 for a port that is taken or an upstream that cannot be reached.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import click
from click.core import ParameterSource

from faultkit.base.address import UpstreamSet, is_loopback, parse_endpoint, parse_map
from faultkit.base.documents.values import seed_of_text
from faultkit.base.errors import InputError
from faultkit.cli.command_groups import CommandWithSubcommands, LazyCommand
from faultkit.cli.fault_flags import FaultCommand, fault_options, rules_of
from faultkit.cli.log import LogSettings
from faultkit.cli.run_output import EventLines, JsonLines, PlainLines, RunOutput
from faultkit.cli.run_session import RunJob, run_job, warn
from faultkit.cli.shared_options import (
    connect_timeout_option,
    control_api,
    control_options,
    optional_seconds,
    run_options,
    trust_options,
    verify_of,
)
from faultkit.cli.tls_options import FORWARD, forward_proxy, intercept_option, tls_options, with_tls
from faultkit.faults import NETWORK_FAULTS
from faultkit.faults.fault import Fault
from faultkit.plan import Plan, Rule, check_network_rule, fresh_name, load_plan_file
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.idle_rules import caveats, idle_warnings, late_warnings

_HTTP_PORT = 3180

_EXAMPLES = (
    (
        "300 ms of latency, from an API over HTTPS",
        'fault run --with-latency --latency-mean 300 --proxy "34000=https://jsonplaceholder.typicode.com"',
    ),
    (
        "a slow database for a minute, worst in the middle",
        "fault run --duration 1m --proxy 5433=localhost:5432 --with-latency --latency-mean 50 "
        '--with-packet-loss --packet-loss-sched "start:40%,duration:20%"',
    ),
    (
        "every second request to one host fails, through the forward proxy",
        "fault run -u api.example.com --with-http-response --http-response-trigger-probability 0.5",
    ),
    (
        "TLS to clients, too, with a certificate of `fault ca`",
        "fault run --proxy https:34000=https://api.example.com --with-http-response",
    ),
    (
        "inside the HTTPS of one host, through the forward proxy",
        "fault run --intercept api.example.com --with-http-response",
    ),
    (
        "one in ten messages of a WebSocket server gets lost",
        "fault run --proxy 34000=http://localhost:8080 --with-ws-drop --ws-drop-flow to_client "
        "--ws-drop-probability 0.1",
    ),
    ("replay a run, as JSON lines", "fault run --plan plan.yaml --seed 7 --json --proxy 9000=localhost:8000"),
)


class _RunCommand(CommandWithSubcommands, FaultCommand):
    """`fault run`, and `fault run llm`."""


_SUBCOMMANDS = {
    "llm": LazyCommand(
        "faultkit.cli.run_llm:command", "Break the requests to a model and its answers, streamed and whole."
    ),
}


@click.command(
    cls=_RunCommand,
    entries=_SUBCOMMANDS,
    examples=_EXAMPLES,
    epilog="Exits with 0 after --duration and on Ctrl-C or SIGTERM, with 2 on wrong input, and with 3 if a "
    "port is taken or an upstream cannot be reached.",
)
@click.option(
    "--proxy",
    "maps",
    multiple=True,
    metavar="MAP",
    help="Proxy to open: PORT=HOST:PORT or PORT=https://HOST. Rules name it by its port (match.proxy). "
    "Repeatable.",
)
@click.option(
    "--proxy-address",
    metavar="HOST:PORT",
    envvar="FAULT_HTTP_PROXY_ADDRESS",
    default=f"127.0.0.1:{_HTTP_PORT}",
    show_default=True,
    help=f'Address of the HTTP forward proxy; rules name it "{FORWARD}" (match.proxy).',
)
@click.option(
    "--disable-http-proxy", is_flag=True, envvar="FAULT_DISABLE_HTTP_PROXY", help="Open no forward proxy."
)
@click.option(
    "-u",
    "--upstream",
    "upstreams",
    multiple=True,
    metavar="HOST",
    envvar="FAULT_UPSTREAMS",
    help='Hosts that faults hit in the forward proxy, separated by commas; "*" for all. Repeatable.',
)
@intercept_option(
    "Hosts whose HTTPS the forward proxy looks into, with certificates of the local authority "
    "(`fault ca env`): HTTP faults act on it then. --upstream is not needed for them. Repeatable."
)
@run_options
@control_options
@click.option(
    "--workers",
    metavar="N",
    type=int,
    default=1,
    show_default=True,
    envvar="FAULT_WORKERS",
    help="Number of processes that serve the ports, for more connections than one process may hold.",
)
@trust_options
@tls_options
@connect_timeout_option
@click.option("--no-check", is_flag=True, help="Do not check at the start whether upstreams can be reached.")
@fault_options
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Run proxies between a client and its dependencies, and inject network faults.

    Each --proxy listens on a port and connects to one upstream. In addition, an HTTP forward proxy injects
    faults into requests to the hosts that --upstream names.
    """
    job = job_of(ctx)
    for text in hints(job):
        warn(text)
    run_job(job, output_of(ctx))


def job_of(ctx: click.Context) -> RunJob:
    """Return the run that the command line asks for; raise InputError that names the wrong flag."""
    given = ctx.params
    duration_s = optional_seconds("--duration", given["duration"])
    connect_timeout_s = optional_seconds("--connect-timeout", given["connect_timeout"]) or 0.0
    verify = verify_of(given["insecure"], given["cacert"])
    specs = maps_of(given["maps"])
    if not given["disable_http_proxy"]:
        listen = parse_endpoint(given["proxy_address"], _HTTP_PORT, path="--proxy-address")
        specs.append(forward_proxy(listen, given["upstreams"], given["intercepts"]))
    elif given["intercepts"]:
        raise InputError("--intercept", "expected the forward proxy, got --disable-http-proxy beside it")
    elif not specs:
        raise InputError("--proxy", "expected at least one with --disable-http-proxy, got none")
    proxies = with_tls(
        given, tuple(replace(spec, verify=verify, connect_timeout_s=connect_timeout_s) for spec in specs)
    )
    maps = tuple(spec for spec in proxies if spec.upstream is not None)
    forward = next((spec for spec in proxies if spec.upstream is None), None)
    control, control_tls = control_api(given)
    plan = plan_of(ctx, duration_s)
    is_address_given = ctx.get_parameter_source("proxy_address") is not ParameterSource.DEFAULT
    return RunJob(
        plan=plan,
        maps=maps,
        forward=forward,
        forward_optional=bool(maps)
        and not is_address_given
        and not given["upstreams"]
        and not given["intercepts"],
        duration_s=duration_s,
        checks_upstreams=not given["no_check"],
        control=control,
        control_tls=control_tls,
        control_token=os.environ.get("FAULT_CONTROL_TOKEN") or None,
        workers=workers_of(given["workers"], plan),
    )


def hints(job: RunJob) -> list[str]:
    """Return warnings: faults that can never act or act otherwise than asked, and an open forward proxy."""
    return [*_idle_faults(job), *caveats(job.plan.rules), *_open_door(job)]


def _open_door(job: RunJob) -> list[str]:
    """Return a warning if other machines may send requests through the forward proxy."""
    if job.forward is None or is_loopback(job.forward.listen.host):
        return []
    return [
        f"the forward proxy on {job.forward.listen} connects any client that reaches it to any host, those "
        "of this machine and its network included (--disable-http-proxy leaves it out)"
    ]


def _idle_faults(job: RunJob) -> list[str]:
    """Return a warning for each fault that can never act."""
    forward = job.forward
    if forward is not None and forward.broken == UpstreamSet() and not job.maps and job.plan.rules:
        return ["the faults touch nothing: name what they may break with --upstream HOST, or --proxy MAP"]
    proxies = job.maps if forward is None else (*job.maps, forward)
    found = idle_warnings(job.plan.rules, proxies)
    if job.duration_s is not None:
        ends = f"the run ends after {job.duration_s:g} s (--duration)"
        found += late_warnings(job.plan.rules, job.duration_s, ends)
    return found


def maps_of(texts: tuple[str, ...]) -> list[ProxySpec]:
    """Return the proxies of --proxy, each with a unique name: its port, numbered if needed."""
    specs: list[ProxySpec] = []
    for text in texts:
        try:
            given = parse_map(text)
        except InputError as error:
            raise error.at("--proxy") from None
        if given.listen.port and any(spec.listen == given.listen for spec in specs):
            raise InputError("--proxy", f"expected each port once, got {given.listen} again")
        name = fresh_name(str(given.listen.port), {FORWARD, *(spec.name for spec in specs)})
        specs.append(ProxySpec.of_map(name, given))
    return specs


def workers_of(count: int, plan: Plan) -> int:
    """Return --workers; raise InputError if the plan has rules that need memory shared by all workers."""
    if count == 1:
        return 1
    from faultkit.proxy.remote import check_memory, check_workers

    check_workers(count, "--workers")
    for rule in plan.rules:
        try:
            check_memory(rule)
        except InputError as error:
            raise InputError("--workers", f"expected 1 with the rule {rule.name}: {error}") from None
    return count


def plan_of(
    ctx: click.Context,
    duration_s: float | None,
    faults: Mapping[str, type[Fault]] = NETWORK_FAULTS,
    more: Iterable[Rule] = (),
) -> Plan:
    """Return the rules of the plan file, `more` and those of the flags of `faults`, with the seed of --seed,
    the file, or a new one."""
    file_plan = _file_plan(ctx.params["plan_file"], duration_s)
    rules: list[Rule] = list(file_plan.rules) if file_plan else []
    for rule in (*more, *rules_of(ctx, duration_s, faults)):
        rules.append(replace(rule, name=fresh_name(rule.name, {other.name for other in rules})))
    given = ctx.params["seed"]
    if given is not None:
        seed = seed_of_text(given)
    else:
        seed = secrets.randbelow(1 << 32) if file_plan is None else file_plan.seed
    try:
        return Plan(tuple(rules), seed)
    except ValueError:
        raise InputError(
            "--seed", f'expected a whole number of at least 0 or a text, got "{given}"'
        ) from None


def _file_plan(path: str | None, duration_s: float | None) -> Plan | None:
    """Return the plan of a file; raise InputError, with a line, for a rule that no network can carry out."""
    if path is None:
        return None
    file = load_plan_file(path)
    for index, rule in enumerate(file.plan.rules):
        try:
            check_network_rule(rule)
            rule.schedule.resolve(duration_s)
        except InputError as error:
            raise file.placed(error.within(f"rules[{index}]")) from None
    return file.plan


def output_of(ctx: click.Context) -> RunOutput:
    """Return the output for the flags and the terminal."""
    logs_to_stdout = isinstance(ctx.obj, LogSettings) and ctx.obj.stdout
    if ctx.params["as_json"]:
        if logs_to_stdout:
            raise InputError("--json", "expected stdout for itself, got --log-stdout beside it")
        return JsonLines()
    if ctx.params["tail"]:
        return EventLines()
    if ctx.params["no_ui"] or logs_to_stdout or not sys.stdout.isatty():
        return PlainLines()
    from faultkit.cli.run_view import RunView

    return RunView()
