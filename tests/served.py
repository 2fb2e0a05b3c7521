"""Functions that child processes of tests/base/test_child_process.py serve. Imports little, to load fast."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from faultkit.base.child_process import Parent
from faultkit.base.errors import FaultkitError, InputError, TargetError

PATIENCE_S = 20.0


class Odd(FaultkitError):
    """An error that does not survive a pickle: its text alone does not make it again."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


class Counter:
    def __init__(self, parent: Parent, start: int = 0) -> None:
        self._parent = parent
        self.count = start

    def add(self, number: int, times: int = 1) -> int:
        self.count += number * times
        return self.count

    def echo(self, value: object) -> object:
        return value

    def count_down(self, start: int) -> str:
        for number in range(start, 0, -1):
            self._parent.send(number)
        return "lift-off"

    def until_stopped(self) -> str:
        self._parent.send("waiting")
        return "stopped" if self._parent.stopped.wait(PATIENCE_S) else "no stop was requested"

    def deaf(self) -> None:
        """A call that hears nothing and does not end."""
        self._parent.send("deaf")
        while True:
            signal.pause()

    def wrong_input(self) -> None:
        raise InputError("rules[2].name", "expected a name, got none")

    def wrong_target(self) -> None:
        raise TargetError("db: cannot be reached")

    def odd(self) -> None:
        raise Odd(1, 2)

    def key(self) -> None:
        raise KeyError("absent")

    def open_file(self) -> object:
        return open(os.devnull)  # It cannot be sent, which is the point.

    def leave(self, code: int) -> None:
        os._exit(code)

    def environment(self, name: str) -> str | None:
        return os.environ.get(name)

    def descriptors(self) -> int:
        return len(os.listdir("/dev/fd"))

    def signal_itself(self, number: int) -> str:
        os.kill(os.getpid(), number)
        return "still here"

    def speak(self) -> None:
        os.write(1, b"on stdout\n")
        os.write(2, b"on stderr\n")


class Guest:
    """Writes down when it comes and goes."""

    def __init__(self, parent: Parent, book: str) -> None:
        self._book = Path(book)

    def __enter__(self) -> Guest:
        self._write("came")
        return self

    def __exit__(self, *exc: object) -> None:
        self._write("went")

    def read(self) -> str:
        return self._book.read_text()

    def _write(self, word: str) -> None:
        with self._book.open("a") as book:
            book.write(f"{word}\n")


def refuse(parent: Parent) -> Counter:
    raise InputError("workers", "expected fewer, got too many")
