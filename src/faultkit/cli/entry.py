"""The console scripts `fault` and `mcptest`.

This module imports neither Faultkit nor click before a script runs: Ctrl-C during the imports then ends the
process with 130, and prints no traceback.
"""

from __future__ import annotations

import gc
import sys
from typing import NoReturn

_INTERRUPTED = 130
_WRONG_INPUT = 2
_NOT_FINISHED = 4
_LEAST_DESCRIPTORS = 24
"""Free descriptors that a command needs: for its event loop, its store, a child and one connection."""
_NEED_NONE = ("-h", "--help", "--version", "doctor")


def fault() -> NoReturn:
    """Run `fault` with the arguments of this process, and exit."""
    _check_platform()
    try:
        from faultkit.base.garbage import without_garbage_collection

        _check_descriptors()
        with without_garbage_collection():
            from faultkit.cli.main import main

        main()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except ImportError as error:
        _exit_without_package(error)
    finally:
        gc.freeze()  # Collections at exit need not visit what is there: that took a tenth of `--help`.


def mcptest() -> NoReturn:
    """Run `mcptest` with the arguments of this process, and exit."""
    _check_platform()
    try:
        _check_descriptors()
        from faultkit.cli.main import end_process, open_standard_streams

        open_standard_streams()
        end_process(invoke_mcptest(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except ImportError as error:
        _exit_without_package(error)


def _check_platform() -> None:
    """Exit with one line on Windows, unless only the list of commands or the version is asked for.

    Most commands need the signals, descriptors and locks of POSIX, and would end with an ImportError."""
    if sys.platform == "win32" and sys.argv[1:2] not in ([], ["-h"], ["--help"], ["--version"]):
        sys.stderr.write("error: Faultkit needs Linux or macOS; on Windows, use WSL\n")
        sys.exit(_WRONG_INPUT)


def _check_descriptors() -> None:
    """Exit with one line if this process can open hardly any file.

    Checked once for all commands: without descriptors, each would fail in its own way, often half done."""
    if any(word in _NEED_NONE for word in sys.argv[1:]):
        return
    from faultkit.base.errors import RunError
    from faultkit.base.files import require_descriptors

    try:
        require_descriptors(_LEAST_DESCRIPTORS)
    except RunError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(_NOT_FINISHED)


def _exit_without_package(error: ImportError) -> NoReturn:
    """Exit with one line if a package of the core is missing; raise the error if it has another reason."""
    from faultkit.base.installation import explain_import

    missing = explain_import(error, "fault")
    if missing is None:
        raise error
    sys.stderr.write(f"error: {missing}\n")
    sys.exit(_WRONG_INPUT)


def invoke_mcptest(args: list[str]) -> int:
    """Run one command line of `mcptest`; return its exit code."""
    from faultkit.cli.mcptest import invoke_mcptest

    return invoke_mcptest(args)
