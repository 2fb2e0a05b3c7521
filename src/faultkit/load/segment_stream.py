"""`python -m faultkit.load.segment_stream [SECONDS]`: a worker that talks over its standard input and output.

For engines that start a program on another machine and give access to its streams, such as a pod. Each line
of the input is a word of the coordinator, each line of the output an answer or a fold:

    input                           output
    the segment, as JSON            ready MACHINE
                                    or: refused {"path": …, "problem": …}     for a segment that it cannot run
                                    or: failed {"text": …, "lost": …}         if it could not get ready
    clock                           clock SECONDS
    begin SECONDS                   (a line of `faultkit.load.fold_lines` once a second, until the end)
    stop
    alive                           (nothing; it says that the coordinator is there)

The end of the input ends the worker: then the coordinator has ended, or has all that it wants. With SECONDS,
it also ends if no segment comes within that time: an input may stay open though nothing is at its other end.
A word that is not of these, or that comes twice, is refused like a segment. Exit codes: 0, that of the error
if it did not get ready or a word was wrong, or 4 if no segment came.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from math import inf, isfinite, nan
from typing import TextIO

from faultkit.base.documents.checks import shown
from faultkit.base.errors import FaultkitError, InputError, RunError
from faultkit.load.fold_lines import WorkerLost
from faultkit.load.segment_host import FOLD_S, SegmentHost


def serve(words: Iterator[str], out: TextIO, within_s: float | None = None) -> int:
    """Run the segment that the first line holds, as the following lines say; return the exit code.

    within_s: the time in which it must come, else the process ends"""
    try:
        host = SegmentHost(_first(words, within_s))
    except FaultkitError as error:
        _write(out, _why_not_ready(error))
        return error.exit_code
    over = threading.Event()
    writer = threading.Thread(target=_write_folds, args=(host, out, over), name="fault-folds", daemon=True)
    try:
        _write(out, f"ready {host.machine}")
        for line in words:
            host.renew_lease()
            match line.split():
                case ["clock"]:
                    _write(out, f"clock {host.clock()!r}")
                case ["begin", at]:
                    host.begin(_seconds(at, "begin", -inf))
                    writer.start()
                case ["stop"]:
                    host.stop()
                case ["alive"]:
                    pass
                case _:
                    raise InputError("input", f"expected {_WORDS}, got {shown(line.strip())}")
        return 0
    except FaultkitError as error:
        _write(out, _why_not_ready(error))
        return error.exit_code
    finally:
        over.set()
        host.close()


_WORDS = "clock, begin SECONDS, alive or stop"


def _seconds(text: str, path: str, above: float) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = nan
    if not (isfinite(seconds) and seconds > above):
        raise InputError(
            path,
            f"expected a number of seconds{'' if above == -inf else f' above {above:g}'}, got {shown(text)}",
        )
    return seconds


def _why_not_ready(error: FaultkitError) -> str:
    if isinstance(error, InputError):
        return f"refused {json.dumps({'path': error.path, 'problem': error.problem})}"
    return f"failed {json.dumps({'text': str(error), 'lost': isinstance(error, WorkerLost)})}"


def _first(words: Iterator[str], within_s: float | None) -> str:
    if within_s is None:
        return next(words, "")
    limit = threading.Timer(within_s, _give_up, (within_s,))
    limit.daemon = True
    limit.start()
    try:
        return next(words, "")
    finally:
        limit.cancel()


def _give_up(within_s: float) -> None:
    sys.stderr.write(f"no segment came within {within_s:g} s\n")
    sys.stderr.flush()
    os._exit(RunError.exit_code)  # The main thread waits for its input, and cannot be interrupted.


_writing = threading.Lock()


def _write(out: TextIO, line: str) -> None:
    with _writing:
        out.write(f"{line}\n")
        out.flush()


def _write_folds(host: SegmentHost, out: TextIO, over: threading.Event) -> None:
    while not over.is_set():
        for line in host.take(FOLD_S):
            _write(out, line)


def main(words: Sequence[str]) -> int:
    """Serve the standard streams; `words` is the command line. Return the exit code."""
    try:
        if len(words) > 1:
            raise InputError("SECONDS", f"expected one number at most, got {len(words)} words")
        within_s = _seconds(words[0], "SECONDS", 0) if words else None
    except InputError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    return serve(iter(sys.stdin), sys.stdout, within_s)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
