"""The log of `fault`: its file, its level, and tracebacks of unexpected errors. Off by default."""

from __future__ import annotations

import contextlib
import logging
import sys
import traceback
from dataclasses import dataclass

from faultkit.base.errors import InputError

LEVELS: dict[str, int] = {
    "trace": logging.DEBUG,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "off": logging.CRITICAL + 1,
}
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


@dataclass(frozen=True, slots=True)
class LogSettings:
    """The values of --log-file, --log-level and --log-stdout."""

    file: str | None = None
    level: str = "info"
    stdout: bool = False


def start_log(settings: LogSettings) -> None:
    """Send the log of `faultkit` to the file, to stdout, to both, or (by default) to neither."""
    level = LEVELS.get(settings.level.lower())
    if level is None:
        raise InputError("--log-level", f'expected one of {", ".join(LEVELS)}, got "{settings.level}"')
    log = logging.getLogger("faultkit")
    for old in tuple(log.handlers):
        log.removeHandler(old)
        old.close()
    log.setLevel(level)
    log.propagate = False
    log.addHandler(logging.NullHandler())
    if settings.file is not None:
        try:
            log.addHandler(_formatted(_LogFile(settings.file, encoding="utf-8")))
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            problem = f'expected a file that can be written, got "{settings.file}": {why}'
            raise InputError("--log-file", problem) from None
    if settings.stdout:
        log.addHandler(_formatted(logging.StreamHandler(sys.stdout)))


class _LogFile(logging.FileHandler):
    """A log file. A record that cannot be written is lost; the first one is told, and the run goes on.

    The file is opened again for the next record, so that the log goes on once the disk has room."""

    _has_warned = False

    def emit(self, record: logging.LogRecord) -> None:
        try:
            super().emit(record)
        except OSError:  # It cannot be opened again.
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            super().handleError(record)
            return
        # Closed here, because what is left in its buffer would raise at the end of the process.
        stream, self.stream = self.stream, None
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
        if not self._has_warned:
            self._has_warned = True
            why = (error.strerror or str(error)).lower()
            print(
                f"warning: --log-file: cannot write {self.baseFilename}: {why}", file=sys.stderr, flush=True
            )


def _formatted(handler: logging.Handler) -> logging.Handler:
    handler.setFormatter(logging.Formatter(_FORMAT))
    return handler


def log_traceback(error: BaseException, settings: LogSettings) -> str:
    """Log the traceback, or print it at level debug; return a sentence that says where it is."""
    logging.getLogger("faultkit").error("unexpected error", exc_info=error)
    if settings.file is not None:
        return f"the traceback is in {settings.file}"
    if LEVELS.get(settings.level.lower()) == logging.DEBUG:
        traceback.print_exception(error)
        return "the traceback is above"
    return "`fault --log-level debug …` shows the traceback"
