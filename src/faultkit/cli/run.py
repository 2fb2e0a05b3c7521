"""`fault run`: from flags, variables and a plan file to a job, and the job's output.

Exit codes: 0 when `--duration` is over and when a signal (Ctrl-C, SIGTERM, SIGHUP) asked for the end, since
both are good ends; 2 for wrong input; 3 for a port that is taken or an upstream that cannot be reached.
"""

from __future__ import annotations

import os
import secrets
import sys
from dataclasses import replace
from typing import Any

import click
from click.core import ParameterSource

from faultkit.base.address import LOOPBACK_NAMES, Endpoint, UpstreamSet, parse_endpoint, parse_map
from faultkit.base.documents.seeds import seed_of_text
from faultkit.base.errors import InputError
from faultkit.cli.fault_flags import FaultCommand, fault_options, rules_of
from faultkit.cli.log import LogSettings
from faultkit.cli.run_output import EventLines, JsonLines, PlainLines, RunOutput
from faultkit.cli.run_session import RunJob, run_job, warn
from faultkit.cli.shared_options import optional_seconds
from faultkit.plan import Plan, Rule, check_network_rule, fresh_name, load_plan_file
from faultkit.proxy.data_plane import ProxySpec

FORWARD = "http"
"""The name of the forward proxy, for `match.proxy`."""
CONTROL_PORT = 7900
_HTTP_PORT = 3180

_EXAMPLES = (
    (
        "300 ms late, from an API that speaks HTTPS",
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
    ("replay a run, as JSON lines", "fault run --plan plan.yaml --seed 7 --json --proxy 9000=localhost:8000"),
)


@click.command(
    cls=FaultCommand,
    examples=_EXAMPLES,
    epilog="Ends with 0 at --duration and on Ctrl-C or SIGTERM, with 2 on wrong input, with 3 if a port or "
    "an upstream cannot be had.",
)
@click.option(
    "--proxy",
    "maps",
    multiple=True,
    metavar="MAP",
    help="PORT=HOST:PORT or PORT=https://HOST, repeatable. A rule's match.proxy knows it by its port.",
)
@click.option(
    "--proxy-address",
    metavar="HOST:PORT",
    envvar="FAULT_HTTP_PROXY_ADDRESS",
    default=f"127.0.0.1:{_HTTP_PORT}",
    show_default=True,
    help=f'Where the HTTP forward proxy listens; match.proxy knows it as "{FORWARD}".',
)
@click.option(
    "--disable-http-proxy", is_flag=True, envvar="FAULT_DISABLE_HTTP_PROXY", help="No forward proxy."
)
@click.option(
    "-u",
    "--upstream",
    "upstreams",
    multiple=True,
    metavar="HOST",
    envvar="FAULT_UPSTREAMS",
    help='Hosts that faults touch in the forward proxy, repeatable or a comma list; "*" is all.',
)
@click.option("--plan", "plan_file", metavar="FILE", help="Rules from a YAML file; those of flags follow.")
@click.option(
    "--seed", metavar="SEED", envvar="FAULT_SEED", help="Same seed, same faults; a random one is shown."
)
@click.option(
    "--duration", metavar="TIME", envvar="FAULT_PROXY_DURATION", help='End after "10s", "5m", "1h 30m".'
)
@click.option("--no-ui", is_flag=True, envvar="FAULT_PROXY_NO_UI", help="No live view on a terminal.")
@click.option("--tail", is_flag=True, envvar="FAULT_PROXY_TAILING", help="One line an event, as text.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object an event on stdout.")
@click.option(
    "--control",
    metavar="[HOST:PORT]",
    is_flag=False,
    flag_value=f"127.0.0.1:{CONTROL_PORT}",
    envvar="FAULT_CONTROL_ADDRESS",
    help=f"HTTP API to change faults while it runs (127.0.0.1:{CONTROL_PORT}); "
    "its token is FAULT_CONTROL_TOKEN, or one that is shown.",
)
@click.option(
    "--workers",
    metavar="N",
    type=int,
    default=1,
    show_default=True,
    envvar="FAULT_WORKERS",
    help="Processes that serve the ports together: for more connections than one may hold.",
)
@click.option("--insecure", is_flag=True, help="Do not check the upstreams' certificates.")
@click.option(
    "--connect-timeout",
    metavar="TIME",
    default="10s",
    show_default=True,
    help="How long an upstream may take to accept.",
)
@click.option("--no-check", is_flag=True, help="Do not test at the start whether upstreams can be reached.")
@fault_options
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Stand between a client and what it depends on, and break it.

    Each --proxy listens on a port and leads to one upstream. Beside them runs an HTTP forward proxy, which
    breaks only what --upstream names.
    """
    job = job_of(ctx)
    for text in hints(job):
        warn(text)
    run_job(job, _output(ctx))


def job_of(ctx: click.Context) -> RunJob:
    """Return the run that the command line asks for; raise InputError that names the wrong flag."""
    given = ctx.params
    duration_s = optional_seconds("--duration", given["duration"])
    connect_timeout_s = optional_seconds("--connect-timeout", given["connect_timeout"]) or 0.0
    verify = not given["insecure"]
    maps = tuple(
        replace(spec, verify=verify, connect_timeout_s=connect_timeout_s) for spec in _maps(given["maps"])
    )
    forward = None
    if not given["disable_http_proxy"]:
        listen = parse_endpoint(given["proxy_address"], _HTTP_PORT, path="--proxy-address")
        broken = _upstreams(given["upstreams"])
        forward = ProxySpec(
            FORWARD, listen, broken=broken, verify=verify, connect_timeout_s=connect_timeout_s
        )
    elif not maps:
        raise InputError("--proxy", "expected at least one with --disable-http-proxy, got none")
    plan = _plan(ctx, duration_s)
    asked = _was_given(ctx, "proxy_address") or bool(given["upstreams"])
    return RunJob(
        plan=plan,
        maps=maps,
        forward=forward,
        forward_optional=bool(maps) and not asked,
        duration_s=duration_s,
        checks_upstreams=not given["no_check"],
        control=_control(given["control"]),
        control_token=os.environ.get("FAULT_CONTROL_TOKEN") or None,
        workers=_workers(given["workers"], plan),
    )


def hints(job: RunJob) -> list[str]:
    """Return a warning for each fault that can never act."""
    forward = job.forward
    if forward is not None and forward.broken == UpstreamSet() and not job.maps and job.plan.rules:
        return ["the faults touch nothing: name what they may break with --upstream HOST, or --proxy MAP"]
    proxies = job.maps if forward is None else (*job.maps, forward)
    found = ((rule.name, _why_idle(rule, proxies)) for rule in job.plan.rules)
    return [f"{name} touches nothing: {why}" for name, why in found if why is not None]


def _why_idle(rule: Rule, proxies: tuple[ProxySpec, ...]) -> str | None:
    covered = [spec for spec in proxies if rule.match.covers_proxy(spec.name)]
    if not covered:
        names = ", ".join(spec.name for spec in proxies)
        return f'no proxy is named "{rule.match.proxy}" (there are {names})'
    if rule.fault.level == "http" and not any(_understands_http(spec) for spec in covered):
        return "it needs an http:// or https:// upstream, or --upstream"
    return None


def _understands_http(spec: ProxySpec) -> bool:
    return spec.speaks == "http" if spec.upstream is not None else spec.broken != UpstreamSet()


def _maps(texts: tuple[str, ...]) -> list[ProxySpec]:
    specs: list[ProxySpec] = []
    for text in texts:
        try:
            given = parse_map(text)
        except InputError as error:
            raise InputError("--proxy", error.problem) from None
        if given.listen.port and any(spec.listen == given.listen for spec in specs):
            raise InputError("--proxy", f"expected each port once, got {given.listen} again")
        name = fresh_name(str(given.listen.port), {FORWARD, *(spec.name for spec in specs)})
        specs.append(ProxySpec.of_map(name, given))
    return specs


def _upstreams(texts: tuple[str, ...]) -> UpstreamSet:
    try:
        return UpstreamSet.parse(texts)
    except InputError as error:
        raise InputError("--upstream", error.problem) from None


def _control(text: str | None) -> Endpoint | None:
    if text is None:
        return None
    endpoint = parse_endpoint(text, CONTROL_PORT, path="--control")
    if endpoint.host not in LOOPBACK_NAMES:
        raise InputError("--control", f"expected a loopback address, got {endpoint}")
    return endpoint


def _workers(count: int, plan: Plan) -> int:
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


def _plan(ctx: click.Context, duration_s: float | None) -> Plan:
    of_file = _file_plan(ctx.params["plan_file"], duration_s)
    rules: list[Rule] = list(of_file.rules) if of_file else []
    for rule in rules_of(ctx, duration_s):
        rules.append(replace(rule, name=fresh_name(rule.name, {other.name for other in rules})))
    seed = ctx.params["seed"]
    try:
        return Plan(tuple(rules), _seed(seed, of_file))
    except ValueError:
        raise InputError("--seed", f'expected a whole number of at least 0 or a text, got "{seed}"') from None


def _seed(text: str | None, of_file: Plan | None) -> int | str:
    if text is not None:
        return seed_of_text(text)
    return secrets.randbelow(1 << 32) if of_file is None else of_file.seed


def _file_plan(path: str | None, duration_s: float | None) -> Plan | None:
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


def _was_given(ctx: click.Context, parameter: str) -> bool:
    return ctx.get_parameter_source(parameter) is not ParameterSource.DEFAULT


def _output(ctx: click.Context) -> RunOutput:
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
