"""`fault ca`: the local authority, whose certificates clients see where Faultkit speaks TLS to them."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from faultkit.base.address import parse_endpoint, parse_upstream
from faultkit.base.errors import InputError
from faultkit.cli.command_groups import LazyCommand, lazy_group
from faultkit.cli.shared_options import columns, json_option, print_json

if TYPE_CHECKING:
    from faultkit.base.local_authority import LocalAuthority

COMMANDS: dict[str, LazyCommand] = {
    "show": LazyCommand("faultkit.cli.ca:show_command", "Show the authority, and where it is."),
    "path": LazyCommand("faultkit.cli.ca:path_command", "Print the path of its certificate."),
    "export": LazyCommand("faultkit.cli.ca:export_command", "Write its certificate to a file."),
    "env": LazyCommand(
        "faultkit.cli.ca:env_command", "Print variables that let programs trust it, and use the proxy."
    ),
    "create": LazyCommand("faultkit.cli.ca:create_command", "Make it, or make a new one."),
}

command = lazy_group("ca", "Show and export the local authority that signs certificates.", COMMANDS)
_DIR = click.option(
    "--ca-dir",
    metavar="PATH",
    envvar="FAULT_CA_DIR",
    help="Folder of the authority; by default ca in the user's state folder.",
)


def _folder(given: str | None) -> Path:
    from faultkit.base.local_authority import authority_folder

    return Path(given).absolute() if given else authority_folder(os.environ)


def _open(given: str | None) -> LocalAuthority:
    from faultkit.base.local_authority import open_authority

    return open_authority(_folder(given))


@click.command("show", epilog="\b\nExample:\n  fault ca show --json\n")
@_DIR
@json_option()
def show_command(ca_dir: str | None, as_json: bool) -> None:
    """Show the certificate of the local authority. It is made if there is none."""
    authority = _open(ca_dir)
    facts = {
        "certificate": str(authority.folder / "ca.pem"),
        "subject": authority.certificate.subject.rfc4514_string(),
        "sha256": authority.fingerprint,
        "ends": f"{authority.ends_at:%Y-%m-%d}",
        "signs_for": list(authority.domains) or ["*"],
    }
    if as_json:
        print_json(facts)
        return
    facts["signs_for"] = ", ".join(authority.domains) or "all names"
    click.echo(columns([(f"{name.replace('_', ' ')}:", str(value)) for name, value in facts.items()]))


@click.command("path", epilog='\b\nExample:\n  curl --cacert "$(fault ca path)" https://localhost:34000/\n')
@_DIR
def path_command(ca_dir: str | None) -> None:
    """Print the path of the authority's certificate (PEM). It is made if there is none."""
    click.echo(_open(ca_dir).folder / "ca.pem")


@click.command(
    "export",
    epilog="\b\nExamples:\n  fault ca export > faultkit.pem\n  fault ca export --format p12 ca.p12\n",
)
@click.argument("file", required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice(["pem", "der", "p12"]),
    default="pem",
    show_default=True,
    help="p12 is a trust store for Java, with the system's authorities, and the password changeit.",
)
@_DIR
def export_command(file: str | None, form: str, ca_dir: str | None) -> None:
    """Write the authority's certificate to FILE, or to standard output. The private key stays where it is."""
    content = _exported(_open(ca_dir), form)
    if file is None:
        if form != "pem" and sys.stdout.isatty():
            raise InputError("FILE", f"expected a file for {form}, which is no text, got a terminal")
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        return
    from faultkit.base.files import replace_file

    try:
        replace_file(file, content)
    except OSError as error:
        raise InputError("FILE", f'expected a file to write, got "{file}": {error.strerror}') from None


def _exported(authority: LocalAuthority, form: str) -> bytes:
    if form == "pem":
        return authority.pem
    if form == "der":
        import ssl

        return ssl.PEM_cert_to_DER_cert(authority.pem.decode("ascii"))
    from faultkit.base.trust_files import write_trust_files

    return write_trust_files(authority, os.environ).java_store.read_bytes()


@click.command(
    "env",
    epilog="""\b
Examples:
  eval "$(fault ca env)"                   # in a shell: then run the program
  fault ca env --no-proxy                  # for a map (https:34000=…), which needs no proxy
  fault ca env --format dotenv > fault.env # for docker run --env-file

Nothing is installed: the variables act on programs that are started with them.
""",
)
@click.option(
    "--proxy",
    metavar="HOST:PORT",
    default="127.0.0.1:3180",
    show_default=True,
    help="The forward proxy, as in `fault run --proxy-address`.",
)
@click.option("--no-proxy", is_flag=True, help="Only the variables of trust.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["sh", "fish", "dotenv", "json"]),
    default="sh",
    show_default=True,
    help="How the variables are written.",
)
@_DIR
def env_command(proxy: str, no_proxy: bool, form: str, ca_dir: str | None) -> None:
    """Print the variables that curl, Python, Node.js, Java, Go and others read.

    With them, a program trusts the local authority beside those of the system, and sends its requests through
    the forward proxy.
    """
    from faultkit.base.client_variables import client_variables
    from faultkit.base.trust_files import write_trust_files

    at = None if no_proxy else parse_endpoint(proxy, 3180, path="--proxy")
    variables = client_variables(write_trust_files(_open(ca_dir), os.environ), at, os.environ)
    if form == "json":
        print_json(variables)
        return
    lines = {
        "sh": lambda name, value: f"export {name}={shlex.quote(value)}",
        "fish": lambda name, value: f"set -gx {name} {shlex.quote(value)}",
        "dotenv": lambda name, value: f"{name}={value}",
    }
    for name, value in variables.items():
        click.echo(lines[form](name, value))


@click.command(
    "create",
    epilog="\b\nExamples:\n  fault ca create --domain example.com --domain test.internal\n"
    "  fault ca create --replace\n",
)
@click.option(
    "--domain",
    "domains",
    metavar="NAME",
    multiple=True,
    help="Let it sign only for this domain, its subdomains, and loopback addresses. Repeatable.",
)
@click.option("--replace", is_flag=True, help="Make a new one in place of the present one.")
@_DIR
def create_command(domains: tuple[str, ...], replace: bool, ca_dir: str | None) -> None:
    """Make the local authority. Without this command, it is made when it is first needed."""
    from faultkit.base.local_authority import make_authority

    folder = _folder(ca_dir)
    try:
        authority = make_authority(folder, map(_domain, domains), replace=replace)
    except FileExistsError:
        raise InputError(
            "--ca-dir", f'expected a folder without an authority, or --replace, got "{folder}"'
        ) from None
    click.echo(authority.folder / "ca.pem")


def _domain(text: str) -> str:
    try:
        found = parse_upstream(text)
    except InputError as error:
        raise error.at("--domain") from None
    if found.port is not None or not found.host.replace("-", "a").replace(".", "a").isalnum():
        raise InputError("--domain", f'expected a name such as "example.com", got "{text}"')
    return found.host
