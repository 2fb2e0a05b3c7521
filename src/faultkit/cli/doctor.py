"""`fault doctor`: what is installed, what each extra would add, and whether this machine can run Faultkit."""

from __future__ import annotations

import os
import platform
import socket
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Literal

import click

from faultkit import __version__
from faultkit.base.extras import CORE, EXTRAS, LEAST_PYTHON, Extra, Package, packages_of
from faultkit.base.installation import install_command, installed_version, installer, is_installed
from faultkit.base.network import cannot_listen
from faultkit.base.text import and_list, count_of, one_line, untrusted_line
from faultkit.cli.mock import refuse_unused_flags
from faultkit.cli.shared_options import CONTROL_PORT, columns, json_option, print_json, seconds_of

if TYPE_CHECKING:
    from faultkit.mcp.hosts.config_check import CheckedServer

USUAL_PORTS: dict[int, str] = {
    3180: "fault run",
    7070: "fault demo",
    7071: "fault demo",
    7437: "fault agent tool",
    CONTROL_PORT: "fault run --control",
    8474: "fault toxiproxy",
    8766: "fault gateway",
    8767: "fault serve",
}
"""Ports that commands listen on unless told otherwise."""
_FEW_FILES = 1024
"""An open-file limit below this is remarked on: a connection through the proxy takes two."""

_MOST_NAMED = 4

Level = Literal["ok", "note", "bad"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. `note` is worth knowing; `bad` keeps the core from working."""

    name: str
    level: Level
    says: str


@dataclass(frozen=True, slots=True)
class PackageState:
    """A package, and the version that is installed."""

    name: str
    version: str | None
    """None if it is not installed, and an empty text if it does not tell its version."""
    wanted: str
    fits: bool
    problem: str = ""
    """Why it cannot be imported, though it is installed."""


@dataclass(frozen=True, slots=True)
class ExtraState:
    """An extra, and what it lacks."""

    name: str
    purpose: str
    state: Literal["installed", "missing", "too old", "incomplete"]
    packages: tuple[PackageState, ...]
    includes: tuple[str, ...]
    about_mb: int
    """What the extra adds to the core, with all that its packages need, where nothing of it is there yet."""
    install: str
    """The command that installs it; empty if nothing is missing."""


@click.command(
    "doctor",
    epilog="""\b
Examples:
  fault doctor
  fault doctor --mcp .mcp.json
""",
)
@click.option(
    "--mcp",
    "config",
    metavar="FILE",
    help="Check the servers of an MCP client's config file instead: each is started, and lists its tools.",
)
@click.option(
    "--timeout", default="30s", show_default=True, metavar="TIME", help="With --mcp: time for each server."
)
@json_option()
@click.pass_context
def command(ctx: click.Context, config: str | None, timeout: str, as_json: bool) -> None:
    """Show what is installed, what the extras would add, and check this machine.

    Exits with 0 if everything that the core needs is there, and with 1 if not. Missing extras do not count.
    With --mcp it exits with 1 if a server does not start, and with 0 if the file has no servers.
    """
    if config is None:
        refuse_unused_flags(("--timeout",), "--mcp FILE")
    else:
        ctx.exit(_check_config(config, seconds_of("--timeout", timeout), as_json))
    core = [imported_state(package) for package in CORE]
    extras = [extra_state(extra) for extra in EXTRAS.values()]
    checks = [python_check(), platform_check(), core_check(core), file_check(), *port_checks()]
    sound = all(check.level != "bad" for check in checks)
    if as_json:
        print_json(
            {
                "version": __version__,
                "installer": installer(),
                "prefix": sys.prefix,
                "sound": sound,
                "checks": [asdict(check) for check in checks],
                "core": [asdict(package) for package in core],
                "extras": [asdict(extra) for extra in extras],
            }
        )
    else:
        click.echo("\n".join(_report(checks, core, extras, sound)))
    ctx.exit(0 if sound else 1)


def _check_config(file: str, timeout_s: float, as_json: bool) -> int:
    """Report the tools of each server of a config file, and names that several have; return the exit code."""
    from faultkit.base.files import read_text
    from faultkit.base.signals import run_until_signal
    from faultkit.mcp.hosts.config_check import check_servers_of, shared_names
    from faultkit.mcp.hosts.host_configs import format_of
    from faultkit.mcp.hosts.server_entries import server_entries
    from faultkit.mcp.hosts.wrapping import errors_in

    text = read_text(file)
    with errors_in(file):
        entries = server_entries(text, format_of(file))
    servers = run_until_signal(check_servers_of(entries, os.environ, timeout_s))
    shared = shared_names(servers)
    total = sum(server.size for server in servers)
    if as_json:
        print_json(
            {
                "servers": [
                    {
                        "name": each.name,
                        "state": _state(each),
                        "tools": list(each.tools),
                        "bytes": each.size,
                        "tokens": each.tokens,
                        "problem": each.problem or each.why_unchecked or None,
                        "notes": list(each.notes),
                    }
                    for each in servers
                ],
                "bytes": total,
                "shared_names": shared,
            }
        )
    elif not servers:
        click.echo(f"there are no servers in {file}")
    else:
        rows = [("server", "tools", "KB", "tokens", "state"), *map(_server_row, servers)]
        click.echo(columns(rows))
        count = count_of(sum(len(each.tools) for each in servers), "tool")
        click.echo(f"\n{count}, {total / 1000:.1f} KB in a model's context")
        for server in servers:
            for note in server.notes:
                click.echo(f"note: {server.name}: {one_line(note)}")
        for tool, names in shared.items():
            where = f"{untrusted_line(tool)} is in {and_list(names)}"
            click.echo(f"note: the tool {where}: some clients use one of them only")
    return 1 if any(server.problem for server in servers) else 0


def _state(server: CheckedServer) -> str:
    if server.why_unchecked:
        return "not checked"
    return "off" if server.is_off else "failed" if server.problem else "ok"


def _server_row(server: CheckedServer) -> tuple[str, ...]:
    state, why = _state(server), server.problem or server.why_unchecked
    figures = (str(len(server.tools)), f"{server.size / 1000:.1f}", str(server.tokens))
    return (
        server.name,
        *(figures if state == "ok" else ("", "", "")),
        f"{state}: {one_line(why)}" if why else state,
    )


def package_state(package: Package) -> PackageState:
    """Return what is there of a package."""
    version = installed_version(package) or ""
    if version and not package.accepts(version):
        return PackageState(package.name, version, package.wanted, fits=False)
    is_there = is_installed(package)
    return PackageState(package.name, version if is_there else None, package.wanted, is_there)


def imported_state(package: Package) -> PackageState:
    """Return what is there of a package, and whether it can be imported."""
    state = package_state(package)
    if not state.fits:
        return state
    try:
        for module in package.modules:
            import_module(module)
    except Exception as error:  # A broken package may raise anything.
        return replace(state, fits=False, problem=one_line(f"{type(error).__name__}: {error}"))
    return state


def extra_state(extra: Extra) -> ExtraState:
    """Return what is there of an extra, those that it includes counted."""
    needed = [package for package in packages_of(extra.name) if package.is_for(sys.version_info)]
    packages = tuple(package_state(package) for package in needed)
    lacking = [package for package in packages if not package.fits]
    state: Literal["installed", "missing", "too old", "incomplete"] = "installed"
    if lacking:
        is_none_there = all(package.version is None for package in packages)
        is_all_there = all(package.version is not None for package in packages)
        state = "missing" if is_none_there else "too old" if is_all_there else "incomplete"
    install = install_command(extra.name) if lacking else ""
    return ExtraState(extra.name, extra.purpose, state, packages, extra.includes, extra.about_mb, install)


def python_check() -> Check:
    """Check the version of the interpreter."""
    least = ".".join(map(str, LEAST_PYTHON))
    level: Level = "ok" if sys.version_info >= LEAST_PYTHON else "bad"
    says = f"{platform.python_version()}, expected {least} or newer; {sys.executable}"
    return Check("python", level, says)


def platform_check() -> Check:
    """Check the operating system: the proxy needs POSIX."""
    name = f"{platform.system()} {platform.release()}, {platform.machine()}"
    if os.name == "posix":
        return Check("system", "ok", name)
    return Check("system", "bad", f"{name}: Faultkit needs Linux or macOS; on Windows, use WSL")


def core_check(core: list[PackageState]) -> Check:
    """Check the packages that every installation has."""
    broken = [_lack(package) for package in core if package.problem]
    if broken:
        return Check("core", "bad", "; ".join(broken))
    lacking = [_lack(package) for package in core if not package.fits]
    if not lacking:
        return Check("core", "ok", f"{count_of(len(core), 'package')}, all there")
    return Check("core", "bad", f"lacks {'; '.join(lacking)}: {install_command()}")


def file_check() -> Check:
    """Check the limit of open files, which limits the connections of a proxy."""
    try:
        import resource
    except ImportError:
        return Check("open files", "note", "this system does not tell its limit")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return Check("open files", "ok", "no limit")
    says = f"at most {soft}, two for each connection of a proxy"
    if soft >= _FEW_FILES:
        return Check("open files", "ok", says)
    if soft == hard:
        return Check("open files", "note", f"{says}; only an administrator can raise it")
    most = "unlimited" if hard == resource.RLIM_INFINITY else str(hard)
    return Check("open files", "note", f"{says}; `ulimit -n` raises it, up to {most}")


def port_checks() -> Iterator[Check]:
    """Check that loopback addresses can be listened on, and which of the usual ports are taken."""
    # Only IPv4 counts: containers often have no IPv6.
    levels: dict[str, Level] = {"127.0.0.1": "bad", "::1": "note"}
    for host, level in levels.items():
        why = why_not_listen(host, 0)
        yield Check(f"listen on {host}", level if why else "ok", why or "any free port")
    taken = [f"{port} ({name})" for port, name in USUAL_PORTS.items() if why_not_listen("127.0.0.1", port)]
    if taken:
        yield Check("usual ports", "note", f"taken: {', '.join(taken)}; the commands take others by a flag")
    else:
        yield Check("usual ports", "ok", f"{', '.join(map(str, USUAL_PORTS))} are free")


def why_not_listen(host: str, port: int) -> str:
    """Listen once on a port and close it; return why that failed, or an empty text."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        return str(cannot_listen(host, port, error))
    except ValueError as error:  # Python was built without IPv6.
        return str(error)
    return ""


def _report(
    checks: list[Check], core: list[PackageState], extras: list[ExtraState], sound: bool
) -> Iterator[str]:
    yield f"Faultkit {__version__}, installed by {installer()} in {sys.prefix}"
    yield ""
    yield columns([(check.level, check.name, check.says) for check in checks])
    yield ""
    yield columns([("package", "version", "expected"), *map(_package_row, core)])
    yield ""
    yield columns([("extra", "state", "for"), *((each.name, each.state, each.purpose) for each in extras)])
    lacking = [each for each in extras if each.install and each.name != "all"]
    if lacking:
        yield ""
    for each in lacking:
        additions = and_list(list(_additions(each)))
        size = f", about {each.about_mb} MB" if each.state == "missing" else ""
        yield f"{each.name} would add {additions}{size}: {each.install}"
    yield ""
    yield "The core is sound." if sound else "The core is not sound: see the lines that begin with bad."


def _additions(extra: ExtraState) -> Iterator[str]:
    """Yield what an extra lacks: other extras by their names, and a few of its own packages."""
    inner = {package.name for name in extra.includes for package in packages_of(name)}
    lacking = [package for package in extra.packages if not package.fits]
    own = [_lack(package) for package in lacking if package.name not in inner]
    yield from own if len(own) <= _MOST_NAMED else own[: _MOST_NAMED - 1]
    if len(own) > _MOST_NAMED:
        yield f"{len(own) - _MOST_NAMED + 1} other packages"
    names = {package.name for package in lacking}
    yield from (
        f'the extra "{name}"'
        for name in extra.includes
        if names & {package.name for package in packages_of(name)}
    )


def _package_row(package: PackageState) -> tuple[str, str, str]:
    version = "missing" if package.version is None else package.version or "unknown"
    return package.name, version, package.wanted


def _lack(package: PackageState) -> str:
    if package.problem:
        again = "install it again, with --force-reinstall"
        return f"{package.name} {package.version} cannot be imported ({package.problem}): {again}"
    if package.version is None:
        return package.name
    return f"{package.name} {package.wanted}, got {package.version}"
