"""The command `fault`: global options, the table of commands, and the translation of errors to exit codes.

Only click is imported at the top, so that `fault --help` is fast: the module of a command is imported when
that command is called.

Exit codes: 0 success, 1 a check or an objective was missed, 2 wrong input, 3 a target cannot be reached or a
port is taken, 4 the run could not finish, 5 a rollback failed, 6 nothing was proven, 130 interrupted, 141 the
reader of stdout has closed it.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TextIO, TypeVar

import click

from faultkit import __version__
from faultkit.base.errors import FaultkitError, InputError
from faultkit.base.text import one_line
from faultkit.cli.command_groups import LazyCommand, LazyGroup

F = TypeVar("F", bound=Callable[..., Any])

_INTERRUPTED, _NO_READER, _UNEXPECTED = 130, 141, 4
_OUTPUT_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
COMMANDS: dict[str, LazyCommand] = {
    "run": LazyCommand("faultkit.cli.run:command", "Run a proxy that injects network faults."),
    "exec": LazyCommand("faultkit.cli.exec:command", "Run a program with network faults around it."),
    "ca": LazyCommand("faultkit.cli.ca:command", "Show and export the local authority of certificates."),
    "scenario": LazyCommand(
        "faultkit.cli.scenario:command", "Load a service under network faults, and report."
    ),
    "breakpoint": LazyCommand(
        "faultkit.cli.breakpoint:command", "Find where a service breaks, and how sure that is."
    ),
    "chaos": LazyCommand("faultkit.cli.chaos:command", "Run chaos experiments, and always roll them back."),
    "demo": LazyCommand("faultkit.cli.demo:command", "Serve a small demo service with a dependency."),
    "faults": LazyCommand("faultkit.cli.faults:command", "List the faults and their settings."),
    "functions": LazyCommand(
        "faultkit.cli.code_search:functions_command",
        "List the functions of a source file, or show one.",
        "code",
    ),
    "review": LazyCommand(
        "faultkit.cli.review:command", "Find reliability and performance problems in source code.", "code"
    ),
    "explain": LazyCommand(
        "faultkit.cli.explain:command", "Explain the rules of a review, with good and bad code."
    ),
    "improve": LazyCommand(
        "faultkit.cli.improve:improve_command",
        "Fix what a review finds in a file: as a diff, or in place.",
        "code",
    ),
    "slo": LazyCommand(
        "faultkit.cli.advice:slo_command", "Suggest service level objectives for a function.", "code"
    ),
    "index": LazyCommand(
        "faultkit.cli.code_search:index_command",
        "Index a project's code for search, or update its index.",
        "index",
    ),
    "search": LazyCommand(
        "faultkit.cli.code_search:search_command",
        "Search a project's index for code, by meaning or by words.",
        "index",
    ),
    "agent": LazyCommand("faultkit.cli.agent:command", "Serve Faultkit's tools to coding agents over MCP."),
    "mock": LazyCommand("faultkit.cli.mock:mock_command", "Serve the tools of a file over MCP, with faults."),
    "gateway": LazyCommand(
        "faultkit.cli.gateway:command", "Inject faults between an MCP client and its server."
    ),
    "edge": LazyCommand("faultkit.cli.probe:edge_command", "Probe an MCP server with edge cases."),
    "profile": LazyCommand(
        "faultkit.cli.probe:profile_command", "Run an MCP client against every call fault."
    ),
    "serve": LazyCommand("faultkit.cli.serve:command", "Serve MCP tools that fail on request."),
    "test": LazyCommand(
        "faultkit.cli.suites:command", "Run suites that score how agents recover from faults."
    ),
    "audit": LazyCommand("faultkit.cli.audit:command", "Read the audit log of `fault serve`."),
    "keys": LazyCommand("faultkit.cli.keys:command", "Create and revoke API keys for `fault serve`."),
    "toxiproxy": LazyCommand(
        "faultkit.cli.toxiproxy:command", "Serve the Toxiproxy API, as a drop-in replacement."
    ),
    "doctor": LazyCommand(
        "faultkit.cli.doctor:command", "Show what is installed and missing, and check this machine."
    ),
}


def log_options(command: F) -> F:
    """Add the options of the log to a group of commands."""
    options = (
        click.option("--log-file", metavar="PATH", envvar="FAULT_LOG_FILE", help="Write a log to this file."),
        click.option(
            "--log-level",
            metavar="LEVEL",
            envvar="FAULT_LOG_LEVEL",
            default="info",
            show_default=True,
            help="debug, info, warning, error or off. debug logs every connection and traceback.",
        ),
        click.option(
            "--log-stdout",
            is_flag=True,
            envvar="FAULT_WITH_STDOUT_LOGGING",
            help="Write the log to stdout too.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group(
    cls=LazyGroup,
    entries=COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="`fault COMMAND --help` explains a command. Each flag can also be set by its FAULT_* variable.",
)
@click.version_option(__version__, prog_name="fault")
@log_options
@click.pass_context
def fault(ctx: click.Context, log_file: str | None, log_level: str, log_stdout: bool) -> None:
    """Break things on purpose and prove that they recover."""
    start_command(ctx, log_file, log_level, log_stdout)


def start_command(ctx: click.Context, log_file: str | None, log_level: str, log_stdout: bool) -> None:
    """Start the log, or show the help of the group and exit if no command is given."""
    from faultkit.cli.log import LogSettings, start_log

    ctx.obj = LogSettings(log_file, log_level, log_stdout)
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)
    start_log(ctx.obj)


def invoke(args: list[str] | None = None, name: str = "fault", group: click.Group = fault) -> int:
    """Run one command line, print its errors, and return its exit code.

    name: the program's name in usage messages
    group: its commands"""
    try:
        with group.make_context(name, sys.argv[1:] if args is None else list(args)) as ctx:
            code = _invoke(ctx)
        sys.stdout.flush()
        return code
    except click.exceptions.Exit as exit:
        return exit.exit_code
    except click.ClickException as error:
        return _show_usage(error)
    except FaultkitError as error:
        # An InputError may hold several mistakes, one a line; in other errors a line break has no meaning.
        for mistake in str(error).splitlines() if isinstance(error, InputError) else [str(error)]:
            _print_error(mistake)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort) as interrupt:
        # StoppedBySignal has the code of its signal. It is not imported here: that would slow every start.
        code = getattr(interrupt, "exit_code", _INTERRUPTED)
        return code if isinstance(code, int) else _INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return _NO_READER
    except OSError as error:
        if not _is_of_output(error):
            raise
        _discard_output()
        _print_error(f"cannot write to standard output: {error.strerror or error}")
        return _UNEXPECTED


def _is_of_output(error: OSError) -> bool:
    """Return whether stdout is what cannot be written, by trying again: such an error names no file."""
    if error.errno not in _OUTPUT_ERRORS or error.filename is not None:
        return False
    try:
        sys.stdout.flush()
        os.write(sys.stdout.fileno(), b"\n")
    except OSError as again:
        return again.errno == error.errno
    return False


def _discard_output() -> None:
    # Python flushes stdout once more at exit: send that to /dev/null, or it would print a traceback.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _invoke(ctx: click.Context) -> int:
    """Run the command; log and report an unexpected error."""
    known = (click.exceptions.Exit, click.Abort, click.ClickException, FaultkitError, BrokenPipeError)
    try:
        code = ctx.command.invoke(ctx)
        return code if isinstance(code, int) else 0
    except known:
        raise
    except Exception as error:
        if isinstance(error, OSError) and _is_of_output(error):
            raise
        from faultkit.cli.log import LogSettings, log_traceback

        settings = ctx.obj if isinstance(ctx.obj, LogSettings) else LogSettings()
        where = log_traceback(error, settings)
        _print_error(f"unexpected {type(error).__name__}: {one_line(str(error))} ({where})")
        return _UNEXPECTED


def _show_usage(error: click.ClickException) -> int:
    ctx = getattr(error, "ctx", None)
    path = ctx.command_path if ctx is not None else "fault"
    text = error.format_message()
    if ctx is not None and isinstance(ctx.command, click.Group) and text == ctx.get_help():
        # A group without a command: click gives its whole help.
        text = f"Missing command: one of {', '.join(ctx.command.list_commands(ctx))}"
    _print_error(f"{one_line(text).rstrip('.')} (see `{path} --help`)")
    return error.exit_code


def _print_error(text: str) -> None:
    click.echo(f"error: {one_line(text)}", err=True)


def end_process(code: int) -> NoReturn:
    """End the process without waiting for other threads: one may hang in the system's resolver."""
    if signals := sys.modules.get("faultkit.base.signals"):
        signals.ignore_signals()  # The exit code is decided: another Ctrl-C must not change it.
    threads = sys.modules.get("threading")
    others = [] if threads is None else threads.enumerate()
    if any(not thread.daemon and thread is not threads.main_thread() for thread in others if threads):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


class _Terminal(io.FileIO):
    """A terminal that may go away, as with a lost SSH session: what is written to it then is lost.

    A program ends by the SIGHUP that comes with it, as by any signal: with its report, which an error of
    output would prevent."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return memoryview(data).nbytes


def _as_terminal(stream: TextIO) -> TextIO:
    """Return a stream of its own to the same terminal; the stream itself if it is none."""
    if not isinstance(stream, io.TextIOWrapper) or not stream.isatty():
        return stream
    raw = _Terminal(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=True,
        write_through=stream.write_through,
    )


def open_standard_streams() -> None:
    """Connect standard streams that are closed with /dev/null, and let all of them bear what is written.

    Without streams, sockets and files would get their numbers, and children would write into them."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, closefd=False)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)
    sys.stdout, sys.stderr = _as_terminal(sys.stdout), _as_terminal(sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A character that the terminal's encoding lacks becomes a question mark, and no error.
            stream.reconfigure(errors="replace")


def main() -> NoReturn:
    """Run `fault` with the arguments of this process, and exit."""
    open_standard_streams()
    if "_FAULT_COMPLETE" in os.environ:
        with contextlib.suppress(FaultkitError):  # A command without its extra: there is nothing to suggest.
            fault.main(prog_name="fault")  # Prints a completion script or suggestions, and exits.
        end_process(0)
    end_process(invoke())
