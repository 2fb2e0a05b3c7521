"""The console entry of `fault`: global options, the table of commands, and how errors reach a user.

Imports nothing but click at the top, so that `fault --help` answers at once: each command's module is
imported when the command is called.

Exit codes: 0 done, 1 a result that was not met, 2 wrong input, 3 no target, 4 could not finish,
130 interrupted, 141 nobody reads our output.
"""

from __future__ import annotations

import io
import os
import sys
from typing import NoReturn

import click

from faultkit import __version__
from faultkit.base.errors import FaultkitError, InputError
from faultkit.cli.lazy import Entry, LazyGroup

INTERRUPTED, NO_READER, UNEXPECTED = 130, 141, 4


COMMANDS: dict[str, Entry] = {
    "run": Entry("faultkit.cli.run", "Stand between a client and what it depends on, and break it."),
    "scenario": Entry("faultkit.cli.scenario", "Call a service while its network is broken, and report."),
    "chaos": Entry("faultkit.cli.chaos", "Run chaos experiments that always clean up."),
    "demo": Entry("faultkit.cli.demo", "Serve a small service with a dependency, to try faults on."),
    "faults": Entry("faultkit.cli.faults", "Show the faults there are and their settings."),
    "functions": Entry("faultkit.cli.functions", "List the functions of a source file, or show one."),
    "review": Entry("faultkit.cli.review", "Say what will hurt in production in a file or folder of code."),
    "improve": Entry("faultkit.cli.improve", "Make a file hold up in production: a diff, or written to it."),
    "slo": Entry("faultkit.cli.slo", "Suggest service level objectives for a function."),
    "index": Entry("faultkit.cli.index", "Make a project's code searchable, or bring its index up to date."),
    "search": Entry("faultkit.cli.search", "Find code in a project's index by what it does."),
    "agent": Entry("faultkit.cli.agent", "Serve Faultkit's tools to coding agents, over MCP."),
    "mock": Entry("faultkit.cli.mock", "Serve tools from a file over MCP, as broken as you like."),
    "gateway": Entry("faultkit.cli.gateway", "Stand between an MCP client and its server, and break calls."),
    "edge": Entry("faultkit.cli.edge", "Probe an MCP server at the edges of what clients send."),
    "profile": Entry("faultkit.cli.profile", "Run every fault of calls against an MCP client."),
    "serve": Entry("faultkit.cli.serve", "Serve MCP tools that fail on request, to test against."),
    "test": Entry("faultkit.cli.suites", "Run suites that score how agents recover from faults."),
    "audit": Entry("faultkit.cli.audit", "Read the audit log of `fault serve`."),
    "keys": Entry("faultkit.cli.keys", "Make and revoke the API keys of `fault serve`."),
    "toxiproxy": Entry("faultkit.cli.toxiproxy", "Serve the API of Toxiproxy, as a drop-in."),
}


@click.group(
    cls=LazyGroup,
    entries=COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="`fault COMMAND --help` explains a command. Each flag can also be set by its FAULT_* variable.",
)
@click.version_option(__version__, prog_name="fault")
@click.option("--log-file", metavar="PATH", envvar="FAULT_LOG_FILE", help="Write a log to this file.")
@click.option(
    "--log-level",
    metavar="LEVEL",
    envvar="FAULT_LOG_LEVEL",
    default="info",
    show_default=True,
    help="debug, info, warning, error or off; with debug, every connection and traceback is logged.",
)
@click.option(
    "--log-stdout", is_flag=True, envvar="FAULT_WITH_STDOUT_LOGGING", help="Write the log to stdout too."
)
@click.pass_context
def fault(ctx: click.Context, log_file: str | None, log_level: str, log_stdout: bool) -> None:
    """Break things on purpose and prove that they recover."""
    from faultkit.cli.log import LogSettings, start_log

    ctx.obj = LogSettings(log_file, log_level, log_stdout)
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)
    start_log(ctx.obj)


def invoke(args: list[str] | None = None, name: str = "fault") -> int:
    """Run one command line and give its exit code; every error has been shown by then. `name` is that of the
    program, as the user knows it."""
    try:
        with fault.make_context(name, sys.argv[1:] if args is None else list(args)) as ctx:
            code = _invoke(ctx)
        sys.stdout.flush()
        return code
    except click.exceptions.Exit as exit:
        return exit.exit_code
    except click.ClickException as error:
        return _show_usage(error)
    except FaultkitError as error:
        # Bad input may have many mistakes, each on a line; in other errors a line break means nothing.
        for mistake in str(error).splitlines() if isinstance(error, InputError) else [str(error)]:
            _complain(mistake)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        _drop_stdout()
        return NO_READER


def _invoke(ctx: click.Context) -> int:
    known = (click.exceptions.Exit, click.Abort, click.ClickException, FaultkitError, BrokenPipeError)
    try:
        code = fault.invoke(ctx)
        return code if isinstance(code, int) else 0
    except known:
        raise
    except Exception as error:
        from faultkit.cli.log import LogSettings, log_traceback

        settings = ctx.obj if isinstance(ctx.obj, LogSettings) else LogSettings()
        where = log_traceback(error, settings)
        _complain(f"unexpected {type(error).__name__}: {_one_line(str(error))} ({where})")
        return UNEXPECTED


def _show_usage(error: click.ClickException) -> int:
    ctx = getattr(error, "ctx", None)
    path = ctx.command_path if ctx is not None else "fault"
    _complain(f"{_one_line(error.format_message()).rstrip('.')} (see `{path} --help`)")
    return error.exit_code


def _complain(text: str) -> None:
    click.echo(f"error: {_one_line(text)}", err=True)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _drop_stdout() -> None:
    """Python flushes stdout once more at its end: let that go nowhere instead of complaining."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def leave(code: int) -> NoReturn:
    """End the process now. A thread that hangs in the system's resolver must not hold it up."""
    threads = sys.modules.get("threading")
    others = [] if threads is None else threads.enumerate()
    if any(not thread.daemon and thread is not threads.main_thread() for thread in others if threads):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _write_anything() -> None:
    """A terminal that cannot show an arrow shows a question mark; it does not end the run."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def main() -> NoReturn:
    _write_anything()
    if "_FAULT_COMPLETE" in os.environ:
        fault.main(prog_name="fault")  # Prints a completion script or suggestions, and exits.
    leave(invoke())
