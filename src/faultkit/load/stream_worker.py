"""The coordinator's side of a worker that talks over two streams of text: see
`faultkit.load.segment_stream` for what is said.

The engine that starts the program gives the streams: the pipes of a process, or the connection to a pod.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Mapping
from typing import IO, Any

from faultkit.base.errors import FaultkitError, InputError, RunError
from faultkit.load.fold import SegmentEnd
from faultkit.load.part_lines import WorkerLost
from faultkit.load.places import Machine
from faultkit.load.split import Part, segment_to_json
from faultkit.load.work import work_of


class StreamWorker:
    """A worker behind a stream of its output and one to its input."""

    def __init__(
        self,
        name: str,
        segment: Part[Any],
        output: IO[str],
        input_: IO[str],
        end: Callable[[], None] = lambda: None,
    ) -> None:
        """`end` is called last; it must make a read of `output` that is under way return."""
        self.name = name
        self._reader = work_of(segment.plan.kind).reader(segment)
        self._output = output
        self._input = input_
        self._end = end
        self._saying = threading.Lock()
        self._say(segment_to_json(segment))

    def ready(self) -> Machine:
        word, _, rest = self._line().partition(" ")
        if word == "ready":
            return Machine.parse(rest)
        try:
            error = self._why_not_ready(word, json.loads(rest))
        except (ValueError, KeyError, TypeError):
            error = WorkerLost(f'it said "{word[:40]}" where "ready" was expected')
        raise error

    def _why_not_ready(self, word: str, told: Mapping[str, Any]) -> FaultkitError:
        if word == "refused":
            return InputError(str(told["path"]), str(told["problem"])).within(self.name)
        if word == "failed":
            text = str(told["text"])
            return WorkerLost(text) if told["lost"] else RunError(f"{self.name}: {text}")
        raise ValueError

    def clock(self) -> float:
        self._say("clock")
        word, _, rest = self._line().partition(" ")
        if word == "clock":
            with contextlib.suppress(ValueError):
                return float(rest)
        raise WorkerLost(f'it said "{word[:40]}" where its clock was expected')

    def run(self, begin_at: float, on_fold: Callable[[Any], None]) -> SegmentEnd:
        self._say(f"begin {begin_at!r}")
        while True:
            message = self._reader.read(self._line())
            if isinstance(message, SegmentEnd):
                return message
            on_fold(message)
            self._say("alive")

    def interrupt(self) -> None:
        with contextlib.suppress(WorkerLost):
            self._say("stop")

    def close(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._input.close()
        self._end()

    def _say(self, line: str) -> None:
        try:
            with self._saying:
                self._input.write(f"{line}\n")
                self._input.flush()
        except (OSError, ValueError):
            raise WorkerLost("its input is closed") from None

    def _line(self) -> str:
        try:
            line = self._output.readline()
        except (OSError, ValueError):
            line = ""
        if not line.endswith("\n"):
            raise WorkerLost("its output ended")
        return line.rstrip("\n")
