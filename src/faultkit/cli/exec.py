"""`fault exec -- COMMAND`: a program with network faults around it, without a change of its code.

A forward proxy on a free port of loopback, the variables that make programs use it and trust the local
authority, and the program as a child. Its standard streams are its own, and its exit code is that of the
command: 126 and 127 as in a shell if it cannot be started, 128 and the number of a signal that ended it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from typing import Any

import click

from faultkit.base.address import LOOPBACK, Endpoint, Verify
from faultkit.base.descriptors import raise_descriptor_limit
from faultkit.base.errors import InputError
from faultkit.base.text import counted
from faultkit.cli.fault_flags import FaultCommand, fault_options
from faultkit.cli.run import maps_of, plan_of
from faultkit.cli.run_output import Warnings
from faultkit.cli.run_session import warn
from faultkit.cli.shared_options import (
    OPTIONS_FIRST,
    connect_timeout_option,
    network_plan_option,
    optional_seconds,
    seed_option,
    trust_options,
    verify_of,
)
from faultkit.cli.tls_options import forward_proxy, intercept_option, tls_options, with_tls
from faultkit.plan import Plan
from faultkit.proxy.data_plane import ProxySpec, Snapshot
from faultkit.proxy.idle_rules import caveats, idle_warnings
from faultkit.proxy.plane import Plane

_NOT_STARTED, _NOT_FOUND = 126, 127
_TRUST = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
"""Variables by which a program already trusts an authority: it is then trusted for its upstreams."""
_DRAIN_S = 0.1

_EXAMPLES = (
    (
        "every second call of a program fails, over HTTP and HTTPS",
        "fault exec --with-http-response --http-response-trigger-probability 0.5 -- python app.py",
    ),
    (
        "one host is slow, and its certificate has expired half of the time",
        "fault exec -u api.example.com --with-latency --with-tls-bad-certificate "
        "--tls-bad-certificate-probability 0.5 -- npm test",
    ),
    (
        "a database behind a map, too",
        "fault exec --proxy 5433=localhost:5432 --plan plan.yaml -- ./integration-tests.sh",
    ),
)


@click.command(
    cls=FaultCommand,
    context_settings=OPTIONS_FIRST,
    examples=_EXAMPLES,
    epilog="Exits with the code of COMMAND, 128 + N if signal N ended it, 127 if it is not found, 126 if it "
    "cannot be started, and with 2 on wrong input.",
)
@click.argument("command", nargs=-1, metavar="-- COMMAND [ARG]...")
@click.option(
    "-u",
    "--upstream",
    "upstreams",
    multiple=True,
    metavar="HOST",
    help="Hosts that faults hit, separated by commas; by default all. Repeatable.",
)
@intercept_option(
    "Hosts whose HTTPS is looked into, so that HTTP faults act on it; by default those that faults hit. "
    "Repeatable."
)
@click.option("--no-intercept", is_flag=True, help="Leave HTTPS as it is: faults act on its bytes only.")
@click.option(
    "--proxy",
    "maps",
    multiple=True,
    metavar="MAP",
    help="Proxy to open beside it, as for `fault run`: PORT=HOST:PORT. Repeatable.",
)
@network_plan_option
@seed_option(
    "Seed of all random choices: the same seed gives the same faults; by default a random one.",
    variable="FAULT_SEED",
)
@click.option("-q", "--quiet", is_flag=True, help="Print no summary at the end.")
@trust_options
@tls_options
@connect_timeout_option
@fault_options
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> int:
    """Run COMMAND with network faults around it.

    The program gets variables that send its HTTP and HTTPS requests through a proxy of its own, and that let
    it trust the local authority (`fault ca`). Nothing is installed, and nothing stays behind.
    """
    line = list(given["command"])
    if not line or not line[0]:
        raise InputError("COMMAND", 'expected a program after "--", got ' + ('""' if line else "none"))
    plan = plan_of(ctx, None)
    specs = _specs(given)
    for text in (*idle_warnings(plan.rules, specs), *caveats(plan.rules)):
        warn(text)
    return run_program(line, plan, specs, quiet=given["quiet"])


def _specs(given: dict[str, Any]) -> tuple[ProxySpec, ...]:
    """Return the proxies; the forward proxy is the last."""
    timeout_s = optional_seconds("--connect-timeout", given["connect_timeout"]) or 0.0
    verify = _verify(given["insecure"], given["cacert"])
    upstreams: tuple[str, ...] = given["upstreams"] or ("*",)
    intercepts: tuple[str, ...] = given["intercepts"] or upstreams
    if given["no_intercept"]:
        if given["intercepts"]:
            raise InputError("--intercept", "expected no --no-intercept beside it")
        intercepts = ()
    forward = forward_proxy(Endpoint(LOOPBACK, 0), upstreams, intercepts)
    specs = (*maps_of(given["maps"]), forward)
    return with_tls(given, tuple(replace(spec, verify=verify, connect_timeout_s=timeout_s) for spec in specs))


def _verify(insecure: bool, cacert: str | None) -> Verify:
    if not insecure and cacert is None:
        cacert = next((path for name in _TRUST if os.path.isfile(path := os.environ.get(name, ""))), None)
    return verify_of(insecure, cacert)


def run_program(line: list[str], plan: Plan, specs: tuple[ProxySpec, ...], *, quiet: bool) -> int:
    """Run a program beside the proxies, and return its exit code."""
    raise_descriptor_limit()
    with Plane(plan) as plane:
        bound = [plane.open_proxy(spec) for spec in specs]
        env = {**os.environ, **_variables(specs[-1], bound[-1])}
        warnings, over = Warnings(), threading.Event()

        def show() -> None:
            for text in warnings.new(plane.take_events()):
                warn(text)

        def drain() -> None:
            while not over.wait(_DRAIN_S):
                show()

        drains = threading.Thread(target=drain, name="fault-events", daemon=True)
        drains.start()
        try:
            code = _wait_for(line, env)
        except OSError as error:
            print(f"error: COMMAND: {line[0]}: {error.strerror or error}", file=sys.stderr, flush=True)
            return _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_STARTED
        finally:
            over.set()
            drains.join()
        show()
        if not quiet:
            print(_summary(plane.snapshot(), plan), file=sys.stderr, flush=True)
    return code


def _variables(forward: ProxySpec, bound: Endpoint) -> dict[str, str]:
    from faultkit.base.client_variables import client_variables

    if forward.intercept is None:  # The extra "tls" is not needed then.
        return client_variables(None, bound, os.environ)
    from faultkit.base.local_authority import authority_folder, open_authority
    from faultkit.base.trust_files import write_trust_files

    files = write_trust_files(open_authority(authority_folder(os.environ)), os.environ)
    return client_variables(files, bound, os.environ)


def _wait_for(line: list[str], env: dict[str, str]) -> int:
    """Start the program, pass signals on to it, and return its exit code. Raises OSError if it cannot be
    started."""
    from faultkit.base.process_group import kill_group, signal_group
    from faultkit.base.process_guard import guard_group
    from faultkit.base.signals import StoppedBySignal, pass_signals

    # On a terminal, the program stays in the foreground with us: it gets Ctrl-C from there itself. Elsewhere
    # it leads a group of its own, so that a signal to our group does not reach it twice.
    is_interactive = _is_in_foreground()
    process: subprocess.Popen[bytes] | None = None

    def passed(number: signal.Signals) -> None:
        if process is None:
            raise StoppedBySignal(number)
        if not is_interactive:
            signal_group(process.pid, number)
        elif number != signal.SIGINT:
            process.send_signal(number)

    with pass_signals(passed):
        process = subprocess.Popen(line, env=env, process_group=None if is_interactive else 0)
        if not is_interactive:
            guard_group(process.pid)
        try:
            code = process.wait()
        finally:
            if not is_interactive:
                kill_group(process.pid)  # What the program has left behind would have lost its proxy.
    return code if code >= 0 else 128 - code


def _is_in_foreground() -> bool:
    with contextlib.suppress(OSError):
        return os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()
    return False


def _summary(snapshot: Snapshot, plan: Plan) -> str:
    """Return one line about what was done to the program."""
    accepted = sum(proxy.accepted for proxy in snapshot.proxies)
    if not accepted:
        unused = ", so no fault could act" if plan.rules else ""
        return f"fault: the program made no connection through the proxy{unused}"
    requests = sum(proxy.requests for proxy in snapshot.proxies)
    done = ", ".join(f"{rule} {count}" for rule, count in snapshot.injected.items()) or "nothing"
    made = f"{counted(accepted, 'connection')}, {counted(requests, 'request')}"
    return f"fault: {made}; injected: {done} (--seed {plan.seed})"
