"""The console scripts: help that imports little, errors on one line, exit codes, and early interrupts."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import click
import pytest

from faultkit import __version__
from faultkit.base.errors import InputError, RunError, TargetError
from faultkit.cli import entry, main
from faultkit.cli import main as fault_main
from faultkit.cli.command_groups import LazyGroup
from faultkit.cli.log import LogSettings, start_log

PATIENCE_S = 20
HEAVY = (
    "yaml",
    "rich",
    "asyncio",
    "ssl",
    "starlette",
    "uvicorn",
    "logging",
    "faultkit.faults",
    "faultkit.plan",
)


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S)


def failing_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `fault run` raise."""

    @click.command()
    def command() -> None:
        raise error

    monkeypatch.setattr(LazyGroup, "get_command", lambda self, ctx, name: command)


def test_help_lists_the_commands_and_imports_none_of_them() -> None:
    done = python(
        "import sys\n"
        "from faultkit.cli.main import invoke\n"
        "code = invoke(['--help'])\n"
        f"print('imported', [name for name in {HEAVY!r} if name in sys.modules], code)"
    )
    assert "Run a proxy that injects network faults" in done.stdout
    assert done.stdout.splitlines()[-1] == "imported [] 0"


def test_every_command_in_the_table_can_be_imported() -> None:
    for name in main.COMMANDS:
        command = main.fault.get_command(click.Context(main.fault), name)
        assert command is not None
        assert command.callback is not None or isinstance(command, click.Group)


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.invoke(["--version"]) == 0
    assert capsys.readouterr().out == f"fault, version {__version__}\n"


def test_no_command_shows_the_help_and_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.invoke([]) == 2
    assert capsys.readouterr().err.startswith("Usage: fault")


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (["--bogus"], "--bogus"),
        (["runn"], "runn"),
        (["run", "--bogus"], "--bogus"),
        (["run", "--duration"], "--duration"),
        (["--log-level", "loud", "faults"], "--log-level: expected one of"),
        (["--log-file", "/nowhere/at/all", "faults"], "--log-file: expected a file"),
        (["faults", "latencyy"], "did you mean 'latency'?"),
        (["ca"], "error: Missing command: one of show, path, export, env, create (see `fault ca --help`)\n"),
        (["exec", "--", ""], 'COMMAND: expected a program after "--", got ""'),
        (["exec", "-u", "", "--", "true"], '--upstream: expected a host, got ""'),
        (["mock", "llm", "--tokens-per-second", "nan"], "--tokens-per-second"),
        (["mock", "llm", "--host", ""], '--host: expected an address, got ""'),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(
    args: list[str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.invoke(args) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: ")
    assert shown.err.count("\n") == 1
    assert part in shown.err


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (InputError("rules[0].fault", "expected x, got y"), 2, "error: rules[0].fault: expected x, got y\n"),
        (TargetError("port 80 is taken"), 3, "error: port 80 is taken\n"),
        (RunError("two\nlines"), 4, "error: two lines\n"),
        (
            KeyError("lost"),
            4,
            "error: unexpected KeyError: 'lost' (`fault --log-level debug …` shows the traceback)\n",
        ),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_an_error_is_one_line_and_its_exit_code(
    error: BaseException,
    code: int,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    failing_with(error, monkeypatch)
    assert main.invoke(["run"]) == code
    assert capsys.readouterr().err == line


def test_the_traceback_of_an_unexpected_error_is_in_the_log_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "fault.log"
    failing_with(ZeroDivisionError("oops"), monkeypatch)
    assert main.invoke(["--log-file", str(log), "run"]) == 4
    assert (
        capsys.readouterr().err == f"error: unexpected ZeroDivisionError: oops (the traceback is in {log})\n"
    )
    assert "Traceback (most recent call last)" in log.read_text()
    main.invoke(["faults", "refuse"])  # Starting the log again closes the file.


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
def test_a_log_file_on_a_full_disk_is_one_warning() -> None:
    command = [sys.executable, "-m", "faultkit", "--log-file", "/dev/full", "--log-level", "debug", "run"]
    args = ["--no-ui", "--no-check", "--disable-http-proxy", "--duration", "10ms", "--proxy", "0=127.0.0.1:1"]
    done = subprocess.run([*command, *args], capture_output=True, text=True, timeout=60)
    assert done.stderr == "warning: --log-file: cannot write /dev/full: no space left on device\n"
    assert done.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
def test_a_log_file_goes_on_when_it_can_be_written_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    start_log(LogSettings(str(folder / "fault.log")))
    log = logging.getLogger("faultkit")
    handler = log.handlers[-1]
    assert isinstance(handler, logging.FileHandler)
    assert handler.stream is not None
    handler.stream.close()
    with Path("/dev/full").open("w") as full, contextlib.suppress(OSError):
        handler.stream = full
        log.info("lost")
    folder.rename(tmp_path / "elsewhere")  # Now it cannot even be opened.
    log.info("lost, too")
    folder.mkdir()
    log.info("written")
    start_log(LogSettings())
    assert (folder / "fault.log").read_text().endswith("faultkit: written\n")
    assert capsys.readouterr().err.count("warning: ") == 1


_ON_WINDOWS = """
import signal, sys
import click  # It imports other modules on Windows, which are not there.
sys.platform = "win32"
for name in ("fcntl", "grp", "pty", "pwd", "resource", "termios"):
    sys.modules[name] = None
del signal.SIGHUP
from faultkit.cli.entry import fault
sys.argv = ["fault", *sys.argv[1:]]
fault()
"""


@pytest.mark.parametrize("args", [["run", "--proxy", "80=h:1"], ["run", "--help"], ["--log-stdout", "serve"]])
def test_windows_is_refused_in_one_line(args: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", _ON_WINDOWS, *args], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: Faultkit needs Linux or macOS; on Windows, use WSL\n"


@pytest.mark.parametrize(("arg", "shown"), [("--help", "Usage: fault "), ("--version", "fault, version ")])
def test_help_and_version_work_on_windows(arg: str, shown: str) -> None:
    done = subprocess.run([sys.executable, "-c", _ON_WINDOWS, arg], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(shown)


def test_at_level_debug_the_traceback_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing_with(ZeroDivisionError("oops"), monkeypatch)
    assert main.invoke(["--log-level", "debug", "run"]) == 4
    shown = capsys.readouterr().err
    assert shown.startswith("Traceback")
    assert shown.endswith("error: unexpected ZeroDivisionError: oops (the traceback is above)\n")


def test_a_closed_stdout_ends_the_command_without_a_message() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "faultkit", "faults", "--schema"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    shown = process.stderr.read()
    process.stderr.close()
    assert (process.wait(PATIENCE_S), shown) == (141, "")


@pytest.mark.parametrize(
    ("args", "code"), [(("faults",), 0), (("run", "--duration", "50ms", "--no-ui"), 0), (("no-such",), 2)]
)
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_no_error(args: tuple[str, ...], code: int, closed: str) -> None:
    command = f'exec "$@" {closed}'
    program = [sys.executable, "-m", "faultkit", *args]
    done = subprocess.run(["sh", "-c", command, "sh", *program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arg", ["faults", "--help", "--version"])
def test_a_stdout_that_is_full_is_one_clear_line(arg: str, unbuffered: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "faultkit", arg],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    message = "error: cannot write to standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (4, message)


def test_a_full_disk_elsewhere_is_no_error_of_stdout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing_with(OSError(errno.ENOSPC, "No space left on device"), monkeypatch)
    assert main.invoke(["run"]) == 4
    assert capsys.readouterr().err.startswith("error: unexpected OSError: [Errno 28] No space")


def test_a_thread_that_hangs_does_not_hold_up_the_end() -> None:
    done = python(
        "import threading\n"
        "from faultkit.cli.main import end_process\n"
        "threading.Thread(target=threading.Event().wait).start()\n"
        "print('out', flush=False)\n"
        "end_process(7)"
    )
    assert (done.returncode, done.stdout) == (7, "out\n")


def test_an_output_that_cannot_show_a_character_goes_on_without_it() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "faultkit", "faults", "latency"]
    done = subprocess.run(command, capture_output=True, env=environment, timeout=30)
    assert (done.returncode, done.stderr) == (0, b"")
    command = [sys.executable, "-m", "faultkit", "run", "--proxy", "1=→"]
    done = subprocess.run(command, capture_output=True, env=environment, timeout=30)
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: ")


def _interrupted(*args: object) -> NoReturn:
    raise KeyboardInterrupt


@pytest.mark.parametrize("begin", [entry.fault, entry.mcptest])
def test_an_interrupt_during_imports_prints_nothing(
    begin: Callable[[], NoReturn], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fault_main, "main", _interrupted)
    monkeypatch.setattr(entry, "invoke_mcptest", _interrupted)
    with pytest.raises(SystemExit) as left:
        begin()
    assert left.value.code == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "words",
    [
        ("chaos", "run"),
        ("chaos", "validate"),
        ("scenario", "validate"),
        ("scenario", "run"),
        ("scenario", "generate", "--openapi"),
        ("test",),
        ("test", "coverage"),
        ("mock", "--tools-from"),
        ("run", "--plan"),
        ("toxiproxy", "--port", "0", "--config"),
        ("functions",),
        ("review",),
        ("audit", "list", "--store"),
        ("gateway", "replay"),
        ("gateway", "wrap"),
    ],
    ids=" ".join,
)
def test_a_name_that_no_file_can_have_is_wrong_input(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert fault_main.invoke([*words, "a" * 300]) in (2, 3)
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert "unexpected OSError" not in said


@pytest.mark.parametrize(
    "args",
    [
        ["run", "--no-check", "--duration", "1ms"],
        ["toxiproxy", "--port", "0"],
        ["scenario", "run", "none.yaml"],
        ["chaos", "run", "none.json"],
        ["test", "run", "none.yaml"],
        ["mock", "none.yaml"],
    ],
)
@pytest.mark.parametrize("seed", ["\udcff", "1" * 5000], ids=["no UTF-8", "long"])
def test_a_seed_that_cannot_be_used_is_wrong_input(
    capsys: pytest.CaptureFixture[str], args: list[str], seed: str
) -> None:
    assert main.invoke([*args, "--seed", seed]) == 2
    expected = "a whole number of at least 0 or a text, of at most 4000 characters in UTF-8"
    assert capsys.readouterr().err.startswith(f"error: --seed: expected {expected}, got ")


def test_a_body_that_is_no_utf_8_is_wrong_input(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--with-http-response", "--http-response-body", "\udcff"]
    assert main.invoke(["run", "--no-check", "--duration", "1ms", *flags]) == 2
    assert "expected a text in UTF-8" in capsys.readouterr().err
