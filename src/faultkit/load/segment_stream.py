"""`python -m faultkit.load.segment_stream`: a worker that talks over its standard input and output.

For engines that start a program on another machine and give access to its streams, such as a pod. Each line
of the input is a word of the coordinator, each line of the output an answer or a fold:

    input                           output
    the segment, as JSON            ready MACHINE     or: refused {"path": …, "problem": …}
    clock                           clock SECONDS
    begin SECONDS                   (a line of `faultkit.load.fold_lines` once a second, until the end)
    stop
    alive                           (nothing; it says that the coordinator is there)

The end of the input ends the worker: then the coordinator has ended, or has all that it wants. Exit codes: 0,
or that of the error for a segment that was refused.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from typing import TextIO

from faultkit.base.errors import FaultkitError, InputError
from faultkit.load.segment_host import FOLD_S, SegmentHost


def serve(words: Iterator[str], out: TextIO) -> int:
    """Run the segment that the first line holds, as the following lines say; return the exit code."""
    try:
        host = SegmentHost(next(words, ""))
    except FaultkitError as error:
        path, problem = (error.path, error.problem) if isinstance(error, InputError) else ("", str(error))
        _write(out, f"refused {json.dumps({'path': path, 'problem': problem})}")
        return error.exit_code
    over = threading.Event()
    writer = threading.Thread(target=_write_folds, args=(host, out, over), name="fault-folds", daemon=True)
    try:
        _write(out, f"ready {host.machine}")
        for line in words:
            match line.split():
                case ["clock" | "alive" as word]:
                    now = host.clock()
                    if word == "clock":
                        _write(out, f"clock {now!r}")
                case ["begin", at]:
                    host.begin(float(at))
                    writer.start()
                case ["stop"]:
                    host.stop()
        return 0
    finally:
        over.set()
        host.close()


_writing = threading.Lock()


def _write(out: TextIO, line: str) -> None:
    with _writing:
        out.write(f"{line}\n")
        out.flush()


def _write_folds(host: SegmentHost, out: TextIO, over: threading.Event) -> None:
    while not over.is_set():
        for line in host.take(FOLD_S):
            _write(out, line)


if __name__ == "__main__":
    sys.exit(serve(iter(sys.stdin), sys.stdout))
