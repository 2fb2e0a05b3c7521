"""`fault run llm`: a proxy in front of the API of a model, with the faults of LLM APIs."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import click
from click.core import ParameterSource

from faultkit.base.address import Endpoint, parse_map, url_host
from faultkit.base.errors import InputError
from faultkit.base.text import did_you_mean
from faultkit.cli.fault_flags import FaultCommand, llm_fault_options
from faultkit.cli.run import hints, output_of, plan_of
from faultkit.cli.run_output import StartedRun
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
from faultkit.faults import LLM_FAULTS
from faultkit.plan.llm_cases import CASES, CaseSettings, rules_of_cases
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.llm_recorder import begin_recording

PORT = 45580
NAME = "llm"
"""The name of the proxy, for `match.proxy`."""


class Provider(NamedTuple):
    """Where a provider is, and what its clients are to be told."""

    url: str
    variable: str
    """Environment variable of the clients' base URL."""
    path: str = ""
    """What the base URL has behind the host."""


ENDPOINTS: dict[str, Provider] = {
    "openai": Provider("https://api.openai.com", "OPENAI_BASE_URL", "/v1"),
    "gemini": Provider("https://generativelanguage.googleapis.com", "GOOGLE_GEMINI_BASE_URL"),
    "open-router": Provider("https://openrouter.ai", "OPENAI_BASE_URL", "/api/v1"),
    "ollama": Provider("http://localhost:11434", "OLLAMA_HOST"),
    "anthropic": Provider("https://api.anthropic.com", "ANTHROPIC_BASE_URL"),
}

_EXAMPLES = (
    (
        "a token each 300 ms, from OpenAI",
        "fault run llm openai --case slow-stream",
    ),
    (
        "every second answer is biased",
        "fault run llm anthropic --case inject-bias --bias-pattern reliable --bias-replacement flaky "
        "--probability 0.5",
    ),
    (
        "the model gets one more instruction",
        'fault run llm gemini --case prompt-scramble --instruction "Respond in French"',
    ),
    (
        "without a key: in front of `fault mock llm`",
        "fault run llm openai --endpoint http://127.0.0.1:8770 --case truncate-response",
    ),
    (
        "record a provider's answers, then replay them without it",
        "fault run llm openai --record answers.jsonl  # then: fault mock llm --replay answers.jsonl",
    ),
    (
        "half an answer as an end in good order, then a real quota, for any OpenAI-compatible server",
        "fault run llm http://127.0.0.1:8000 --with-clean-end --clean-end-after-tokens 20 "
        "--with-llm-rate-limit --llm-rate-limit-requests 10",
    ),
)


@click.command(
    "llm",
    cls=FaultCommand,
    examples=_EXAMPLES,
    common="Every fault FAULT also takes --FAULT-sched=SCHEDULE and --FAULT-probability=N. Each flag has a "
    "variable: FAULT_WITH_CLEAN_END=true. --plan selects by model, path, streamed or not, and tool use.",
    epilog="Cases: " + " ".join(f"{case.name}: {case.summary}" for case in CASES.values()),
)
@click.argument("target", metavar="openai|gemini|open-router|ollama|anthropic|URL")
@click.option(
    "--case",
    "cases",
    multiple=True,
    type=click.Choice(tuple(CASES)),
    metavar="CASE",
    envvar="FAULT_LLM_CASE",
    help=f"{', '.join(CASES)}. Repeatable.",
)
@click.option(
    "--endpoint",
    metavar="URL",
    envvar="FAULT_LLM_ENDPOINT",
    help="Where the provider is, in place of its usual address; only scheme, host and port count.",
)
@click.option(
    "--probability",
    type=click.FloatRange(0, 1),
    default=1.0,
    show_default=True,
    envvar="FAULT_LLM_PROBABILITY",
    help="Chance that a request is hit by a case.",
)
@click.option(
    "--slow-stream-mean-delay",
    metavar="MS",
    type=float,
    default=300.0,
    show_default=True,
    envvar="FAULT_LLM_SLOW_STREAM_MEAN_DELAY",
    help="slow-stream: time that a token takes.",
)
@click.option(
    "--scramble-pattern",
    metavar="REGEX",
    envvar="FAULT_LLM_SCRAMBLE_PATTERN",
    help="prompt-scramble: what is replaced in the prompt (RE2).",
)
@click.option(
    "--scramble-with",
    metavar="TEXT",
    envvar="FAULT_LLM_SCRAMBLE_WITH",
    help="prompt-scramble: what stands in its place; nothing by default.",
)
@click.option(
    "--instruction",
    metavar="TEXT",
    envvar="FAULT_LLM_INSTRUCTION",
    help="prompt-scramble: an instruction that is added to the prompt.",
)
@click.option(
    "--bias-pattern",
    metavar="REGEX",
    envvar="FAULT_LLM_BIAS_PATTERN",
    help="inject-bias: what is replaced in the answer (RE2).",
)
@click.option(
    "--bias-replacement",
    metavar="TEXT",
    envvar="FAULT_LLM_BIAS_REPLACEMENT",
    help="inject-bias: what stands in its place; nothing by default.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    envvar="FAULT_LLM_PORT",
    help="Port to listen on, on 127.0.0.1; 0 for any.",
)
@click.option(
    "--record",
    metavar="FILE",
    help="Record what is asked and what the provider answers, before faults act on it, with secrets masked; "
    "`fault mock llm --replay FILE` answers with it.",
)
@run_options
@control_options
@trust_options
@connect_timeout_option
@click.option(
    "--no-check", is_flag=True, help="Do not check at the start whether the provider can be reached."
)
@llm_fault_options
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Run a proxy in front of the API of a model, and break its requests and answers, streamed and whole.

    OpenAI Chat Completions and Responses, Anthropic Messages, Gemini and Ollama are understood, whatever the
    target is; other requests pass untouched. Point the client's base URL at the proxy.
    """
    job = job_of(ctx)
    for text in hints(job):
        warn(text)
    if given["record"] is not None:
        begin_recording(given["record"])

    def say_where(run: StartedRun) -> None:
        if not given["as_json"]:
            (_, bound), *_ = run.proxies
            print(base_url_line(given["target"], bound), file=sys.stderr, flush=True)

    run_job(job, output_of(ctx), say_where)


def job_of(ctx: click.Context) -> RunJob:
    """Return the run that the command line asks for; raise InputError that names the wrong flag."""
    given = ctx.params
    _check_flags(ctx)
    duration_s = optional_seconds("--duration", given["duration"])
    settings = CaseSettings(
        given["probability"],
        given["slow_stream_mean_delay"],
        given["scramble_pattern"],
        given["scramble_with"],
        given["instruction"],
        given["bias_pattern"],
        given["bias_replacement"],
    )
    spec = replace(
        _proxy(given["target"], given["endpoint"], given["port"]),
        verify=verify_of(given["insecure"], given["cacert"]),
        connect_timeout_s=optional_seconds("--connect-timeout", given["connect_timeout"]) or 0.0,
        record=given["record"],
    )
    plan = plan_of(ctx, duration_s, LLM_FAULTS, rules_of_cases(given["cases"], settings))
    if not plan.rules and given["plan_file"] is not None:
        raise InputError("--plan", f"expected at least one rule, got none in {given['plan_file']}")
    if not plan.rules and given["record"] is None:
        raise InputError(
            "--case", f"expected one of {', '.join(CASES)}, or --plan, --record or --with-…, got none"
        )
    control, control_tls = control_api(given)
    return RunJob(
        plan=plan,
        maps=(spec,),
        duration_s=duration_s,
        checks_upstreams=not given["no_check"],
        control=control,
        control_tls=control_tls,
        control_token=os.environ.get("FAULT_CONTROL_TOKEN") or None,
    )


def _check_flags(ctx: click.Context) -> None:
    """Raise InputError for a flag of a case that was not asked for."""
    for case in CASES.values():
        for name in case.flags:
            is_given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
            if is_given and case.name not in ctx.params["cases"]:
                flag = f"--{name.replace('_', '-')}"
                raise InputError(
                    flag, f"expected --case {case.name} beside it, without which it does nothing"
                )


def _proxy(target: str, endpoint: str | None, port: int) -> ProxySpec:
    known = ENDPOINTS.get(target)
    if known is None and "://" not in target:
        names = ", ".join(ENDPOINTS)
        raise InputError(
            "TARGET", f'expected {names} or a URL, got "{target}"{did_you_mean(target, ENDPOINTS)}'
        )
    if known is None and endpoint is not None:
        raise InputError("--endpoint", "expected the name of a provider as TARGET, got a URL there, too")
    path = "--endpoint" if endpoint is not None else "TARGET"
    url = endpoint or (target if known is None else known.url)
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("http", "https") and parts.hostname
        origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    except ValueError:
        is_url = False
    if not is_url:
        raise InputError(path, f'expected a URL such as https://api.example.com, got "{url}"')
    try:
        return replace(ProxySpec.of_map(NAME, parse_map(f"{port}={origin}")), rewrite_host=True)
    except InputError as error:
        raise error.at(path) from None


def base_url_line(target: str, bound: Endpoint) -> str:
    """Return a line that says how clients are pointed at the proxy."""
    here = f"http://{url_host(bound.host)}:{bound.port}"
    known = ENDPOINTS.get(target)
    if known is None:
        return f"clients: their base URL with {here} in place of scheme and host"
    return f"clients: {known.variable}={here}{known.path}"
