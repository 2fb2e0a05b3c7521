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


def fault() -> NoReturn:
    """Run `fault` with the arguments of this process, and exit."""
    _check_platform()
    try:
        from faultkit.base.garbage import without_garbage_collection

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
        from faultkit.cli.main import end_process

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
