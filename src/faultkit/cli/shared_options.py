"""Options that several commands share (`--json`, `--seed`, `--control`, `--store`, durations), and how
commands print JSON documents and tables."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError
from faultkit.base.text import escaped_json, has_utf8, shortened
from faultkit.base.units import parse_duration

if TYPE_CHECKING:
    from faultkit.base.address import Endpoint, Verify
    from faultkit.base.certificates import MutualTls
    from faultkit.code import Language

F = TypeVar("F", bound=Callable[..., Any])


_LONGEST_SEED = 4000
"""Python reads 4,300 digits as a number."""
OPTIONS_FIRST = {"allow_interspersed_args": False}
"""Settings of a command that starts another one: options end at the first word that is none, as for env(1).
Some launchers drop the `--`."""


def add_options(command: F, *options: Callable[[Any], Any]) -> F:
    """Add options to a command, so that its help lists them in this order."""
    for option in reversed(options):
        command = option(command)
    return command


def suite_configs(what: str) -> Callable[[F], F]:
    """Return a decorator that adds `--config` for suites, beside PATH; `what` begins its help."""
    names = ("--config", "--suite", "configs")
    help = f"{what}, as PATH. Repeatable."
    return lambda command: add_options(
        command, click.option(*names, metavar="FILE", multiple=True, help=help)
    )


def suite_variables(command: F) -> F:
    """Add `--var`, which the command receives as `variables`."""
    help = "Value for a variable of the suites. Repeatable."
    return add_options(
        command, click.option("--var", "variables", metavar="NAME=VALUE", multiple=True, help=help)
    )


def json_option(help: str = "Print JSON.") -> Callable[[F], F]:
    """Return a decorator that adds `--json`, which the command receives as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=help)


def seed_option(
    help: str, *, variable: str | None = None, default: str | None = None, also: tuple[str, ...] = ()
) -> Callable[[F], F]:
    """Return a decorator that adds `--seed`, which the command receives as text.

    variable: an environment variable that may set it, too
    also:     other spellings of the flag"""
    return click.option(
        "--seed",
        *also,
        metavar="SEED",
        envvar=variable,
        default=default,
        show_default=default is not None,
        callback=_check_seed,
        help=help,
    )


connect_timeout_option = click.option(
    "--connect-timeout",
    metavar="TIME",
    default="10s",
    show_default=True,
    help="How long an upstream may take to accept a connection.",
)
network_plan_option = click.option(
    "--plan", "plan_file", metavar="FILE", help="YAML file with rules; the rules of flags follow them."
)


def _check_seed(ctx: click.Context, option: click.Parameter, given: str | None) -> str | None:
    if given is not None and (len(given) > _LONGEST_SEED or not has_utf8(given)):
        expected = f"a whole number of at least 0 or a text, of at most {_LONGEST_SEED} characters in UTF-8"
        raise InputError("--seed", f"expected {expected}, got {shown(shortened(given, 60))}")
    return given


CALL_SEED_HELP = "Seed of all random choices; by default that of the plan."
SUITE_SEED_HELP = "Seed to use in place of the suites' own."
INDEX_DIR = click.option(
    "--index-dir",
    metavar="PATH",
    envvar="FAULT_INDEX_DIR",
    help="Folder that holds the indexes; by default in the user's cache folder.",
)


LANGUAGE = click.option(
    "--lang", metavar="NAME", help="Language of the file; by default told by its extension."
)


def language_given(name: str | None) -> Language | None:
    """Return the language that `--lang` names; None without it. Raises InputError."""
    if name is None:
        return None
    from faultkit.code import language_named

    try:
        return language_named(name)
    except InputError as error:
        raise error.at("--lang") from None


CONTROL_PORT = 7900
_CONTROL_FILES = ("--control-cert", "--control-key", "--control-client-ca")


def control_options(command: F) -> F:
    """Add `--control` and the files of its TLS; see `control_api`."""
    return add_options(
        command,
        click.option(
            "--control",
            metavar="[HOST:PORT]",
            is_flag=False,
            flag_value=f"127.0.0.1:{CONTROL_PORT}",
            envvar="FAULT_CONTROL_ADDRESS",
            help="Serve an HTTP API to change faults at run time (by default on "
            f"127.0.0.1:{CONTROL_PORT}); its token is FAULT_CONTROL_TOKEN, or a random one that is printed.",
        ),
        click.option(
            "--control-cert",
            metavar="FILE",
            envvar="FAULT_CONTROL_CERT",
            help="Certificate of the API (PEM) for TLS, with its names. The three --control-… flags go "
            "together, and --control may then listen beyond loopback.",
        ),
        click.option(
            "--control-key",
            metavar="FILE",
            envvar="FAULT_CONTROL_KEY",
            help="Private key of --control-cert (PEM).",
        ),
        click.option(
            "--control-client-ca",
            metavar="FILE",
            envvar="FAULT_CONTROL_CLIENT_CA",
            help="Authorities of the clients' certificates (PEM): the API accepts no client without one.",
        ),
    )


def control_api(given: Mapping[str, Any]) -> tuple[Endpoint | None, MutualTls | None]:
    """Return the address of `--control`, None if it is absent, and how it speaks TLS, None for clear text.
    `given` are the parameters of the command. Raises InputError unless the address is loopback or has TLS."""
    tls = _control_tls(given)
    if given["control"] is None:
        return None, None
    from faultkit.base.address import LOOPBACK_NAMES, parse_endpoint

    endpoint = parse_endpoint(given["control"], CONTROL_PORT, path="--control")
    if endpoint.host not in LOOPBACK_NAMES and tls is None:
        needed = f"{_CONTROL_FILES[0]}, {_CONTROL_FILES[1]} and {_CONTROL_FILES[2]} for mutual TLS"
        raise InputError("--control", f"expected a loopback address, or {needed}, got {endpoint}")
    return endpoint, tls


def _control_tls(given: Mapping[str, Any]) -> MutualTls | None:
    files = {flag: given[flag[2:].replace("-", "_")] for flag in _CONTROL_FILES}
    missing = [flag for flag, file in files.items() if file is None]
    if len(missing) == len(files):
        return None
    if missing or given["control"] is None:
        flag = next(flag for flag, file in files.items() if file is not None)
        raise InputError(flag, f"expected {' and '.join(missing or ['--control'])} beside it, got none")
    from faultkit.base.certificates import mutual_tls

    cert, key, client_ca = files.values()
    return mutual_tls(cert, key, client_ca, _CONTROL_FILES)


def seconds_or_zero(flag: str, text: str) -> float:
    """Return the seconds of a duration; raise InputError that names the flag."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise InputError(flag, str(error)) from None


def seconds_of(flag: str, text: str) -> float:
    """Return the seconds of a duration above 0; raise InputError that names the flag."""
    seconds = seconds_or_zero(flag, text)
    if seconds == 0:
        raise InputError(flag, f'expected more than 0, got "{text}"')
    return seconds


def optional_seconds(flag: str, text: str | None) -> float | None:
    """Return the seconds of a duration, as `seconds_of` does, or None if the flag is absent."""
    return None if text is None else seconds_of(flag, text)


def trust_options(command: F) -> F:
    """Add `--insecure` and `--cacert` to a command that uses TLS to servers; see `verify_of`."""
    return add_options(
        command,
        click.option("--insecure", is_flag=True, help="Do not verify the certificates of servers."),
        click.option(
            "--cacert",
            metavar="FILE",
            envvar="FAULT_CACERT",
            help="Trust the authorities in this PEM file, too, for the certificates of servers.",
        ),
    )


def verify_of(insecure: bool, cacert: str | None) -> Verify:
    """Return which certificates are trusted; raise InputError for a file that holds none."""
    if cacert is None:
        return not insecure
    if insecure:
        raise InputError("--cacert", "expected no --insecure beside it, which trusts every certificate")
    from faultkit.base.certificates import check_authorities

    check_authorities(cacert, "--cacert")
    return cacert


_DEFAULT_STORE_HELP = "By default audit.db in the user's state folder."


def store_option(command: F) -> F:
    """Add `--store` to a command that writes the audit log, and may keep it in memory."""
    return _store_option(
        "The audit log: a file, postgresql://USER@HOST/DATABASE, or memory: to keep it until the process "
        f"ends. {_DEFAULT_STORE_HELP}"
    )(command)


def durable_store_option(command: F) -> F:
    """Add `--store` to a command that reads what another process wrote, so that memory is no choice."""
    return _store_option(f"The audit log: a file, or postgresql://USER@HOST/DATABASE. {_DEFAULT_STORE_HELP}")(
        command
    )


def _store_option(help: str) -> Callable[[F], F]:
    return click.option(
        "--store", metavar="PATH|URL", envvar="FAULT_STORE", default=_default_store, help=help
    )


def _default_store() -> str:
    from faultkit.audit.log_file import default_store

    return str(default_store(os.environ))


def print_json(document: object) -> None:
    """Print a document as indented JSON."""
    click.echo(escaped_json(json.dumps(document, indent=2, ensure_ascii=False)))


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of cells as lines, with each column as wide as its longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def run_options(command: F) -> F:
    """Add the options of a run of proxies: plan, seed, duration, and what is shown."""
    for option in reversed(
        (
            network_plan_option,
            seed_option(
                "Seed of all random choices: the same seed gives the same faults; by default that of --plan "
                "(0 if it has none), or else a random one, which is shown.",
                variable="FAULT_SEED",
            ),
            click.option(
                "--duration",
                metavar="TIME",
                envvar="FAULT_PROXY_DURATION",
                help='End after this time, such as "10s", "5m" or "1h 30m".',
            ),
            click.option(
                "--no-ui", is_flag=True, envvar="FAULT_PROXY_NO_UI", help="Show no live view on a terminal."
            ),
            click.option(
                "--tail", is_flag=True, envvar="FAULT_PROXY_TAILING", help="Print one line for each event."
            ),
            json_option("Print one JSON object for each event."),
        )
    ):
        command = option(command)
    return command
