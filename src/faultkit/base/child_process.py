"""A child process of this program that serves calls of methods. It does not know the object it serves.

    with ChildProcess("some.module:make_counter", 5) as child:
        child.call("add", 2)

In the child, `make_counter(parent, 5)` returns an object, and each call is a call of one of its methods.
`parent` is the connection back: `parent.send(value)` sends a value while a call is under way, and
`parent.stopped` is set by `interrupt`. If the object is a context manager, it is entered before the first
call and left at the end.

They exchange pickles over a pair of sockets, so both must be this program. The child ends when its parent
closes it or ends in any way. The child ignores SIGINT and SIGHUP: the parent handles them.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import pickle
import queue
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from faultkit.base.errors import FaultkitError, RunError
from faultkit.base.forked_process import ForkedProcess, can_fork
from faultkit.base.signals import ignore_signals, reset_signal

_CALL, _STOP, _ANSWER, _FAILURE, _MESSAGE = range(5)


def usable_processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_HEADER = struct.Struct("!BQQ")
"""Kind of message, number of the call, and number of bytes that follow."""
_FACTORY_CALL = 0
"""Number of the first call, which creates the object that serves the others."""

_GRACE_S = 2.0
"""Seconds that a child may take to end in good order; then it exits at once."""
_PATIENCE_S = 3.0
"""Seconds that the parent waits for that; then it kills the child."""
_HANDLED_BY_PARENT = (signal.SIGINT, signal.SIGHUP)
_BLOCKED_AT_START = {*_HANDLED_BY_PARENT, signal.SIGTERM}
_PR_SET_PDEATHSIG = 1


class ChildEnded(RunError):
    """A child process has ended, or was ended because it did not answer."""

    def __init__(self, name: str, how: str) -> None:
        super().__init__(f"{name} {how}")
        self.how = f"it {how}"


class ChildProcess:
    """The parent's side. Any thread may use it; calls are served one at a time, in the order of arrival.

    It starts at once and is ready with its first answer, so several can start side by side."""

    def __init__(
        self,
        factory: str,
        *args: object,
        name: str = "the child process",
        on_message: Callable[[Any], None] | None = None,
        forks: bool = False,
    ) -> None:
        """`factory` is "module:callable". `on_message` gets what the child sends during a call, in the thread
        that makes the call. With `forks`, the child has what is imported here, where that is possible."""
        self.name = name
        self._on_message = on_message
        self._calls = threading.Lock()
        self._number = _FACTORY_CALL
        self._is_ready = self._is_closed = False
        self._given_up: str | None = None
        """Reason for which it was killed, if it did not answer in time."""
        first = pickle.dumps((factory, args, os.environ.get("PYTHONPATH")), pickle.HIGHEST_PROTOCOL)
        ours, its = socket.socketpair()
        try:
            with its:
                self._process = _start(its, forks and can_fork())
            self._wire = _Wire(ours)
            self._send(_CALL, _FACTORY_CALL, first)
        except BaseException:
            ours.close()
            raise

    def __enter__(self) -> ChildProcess:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ended(self) -> str | None:
        """How the process ended, such as "was ended by SIGKILL"; None while it runs."""
        return None if self._process.poll() is None else self._how_it_ended()

    def ready(self, timeout_s: float | None = None) -> None:
        """Wait until the object is created; raise the error if that failed. Otherwise the first call does
        so."""
        with self._turn(timeout_s) as deadline:
            self._be_ready(deadline)

    def call(self, method: str, *args: object, timeout_s: float | None = None, **kwargs: object) -> Any:
        """Call a method in the child and return its result.

        An exception of the method is raised here: a FaultkitError unchanged, any other as RunError. If the
        child has ended, a ChildEnded describes how.

        A child that does not answer within `timeout_s` (earlier calls of other threads included) is killed,
        because nothing can follow half a message, and a ChildEnded is raised."""
        body = pickle.dumps((method, args, kwargs), pickle.HIGHEST_PROTOCOL)
        with self._turn(timeout_s) as deadline:
            self._be_ready(deadline)
            self._number += 1
            self._send(_CALL, self._number, body, deadline)
            return self._answer(self._number, deadline)

    def interrupt(self) -> None:
        """Set the child's `stopped`, also while a call is under way. It stays set for later calls."""
        with contextlib.suppress(OSError):
            self._wire.send(_STOP, 0, b"")

    def close(self) -> None:
        """End the child, by SIGKILL if it does not end in time. A call under way in another thread fails."""
        self._is_closed = True
        self._wire.hang_up()
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._kill()
            self._wire.close()

    @contextlib.contextmanager
    def _turn(self, timeout_s: float | None) -> Iterator[float | None]:
        """Hold the lock of calls; yields the time until which the child may answer."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        if not self._calls.acquire(timeout=-1 if timeout_s is None else timeout_s):
            raise self._give_up(timeout_s)
        try:
            yield deadline
        except _Late:
            raise self._give_up(timeout_s) from None
        finally:
            self._calls.release()

    def _give_up(self, timeout_s: float | None) -> ChildEnded:
        self._given_up = f"did not answer within {timeout_s:g} s and was ended"
        self._kill()
        return ChildEnded(self.name, self._given_up)

    def _be_ready(self, deadline: float | None) -> None:
        if not self._is_ready:
            self._answer(_FACTORY_CALL, deadline)
            self._is_ready = True

    def _answer(self, number: int, deadline: float | None) -> Any:
        while True:
            kind, about, body = self._receive(deadline)
            # Skip the answer to an earlier call that timed out.
            if kind != _MESSAGE and about != number:
                continue
            try:
                value = pickle.loads(body)
            except Exception as error:
                raise RunError(f"{self.name} sent what cannot be read: {_text(error)}") from error
            if kind == _ANSWER:
                return value
            if kind == _FAILURE:
                raise value
            if self._on_message is not None:
                self._on_message(value)

    def _send(self, kind: int, number: int, body: bytes, deadline: float | None = None) -> None:
        try:
            self._wire.send(kind, number, body, deadline)
        except (EOFError, OSError):
            raise ChildEnded(self.name, self._how_it_ended()) from None
        except BaseException:
            self._kill()  # Nothing can follow half a message.
            raise

    def _receive(self, deadline: float | None) -> tuple[int, int, bytes]:
        try:
            return self._wire.receive(deadline)
        except (EOFError, OSError):
            raise ChildEnded(self.name, self._how_it_ended()) from None
        except BaseException:
            self._kill()
            raise

    def _how_it_ended(self) -> str:
        if self._is_closed:
            return "was closed"
        if self._given_up is not None:
            return self._given_up
        try:
            code = self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._kill()
            return "sent nothing more and was ended"
        if code < 0:
            return f"was ended by {_signal_name(-code)}"
        return f"ended with exit code {code}"

    def _kill(self) -> None:
        self._process.kill()  # Popen does not signal a process that it knows has ended.
        self._process.wait()


def _start(its: socket.socket, forks: bool) -> subprocess.Popen[bytes] | ForkedProcess:
    # The kernel sends the death signal when the thread that started the child ends, and only the main thread
    # lives as long as the process.
    in_main_thread = threading.current_thread() is threading.main_thread()
    path = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
    # Until the child has its handlers, a Ctrl-C in the terminal must not end it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED_AT_START)
    try:
        if forks:
            return ForkedProcess(partial(serve, its.fileno(), in_main_thread), its.fileno())
        return subprocess.Popen(
            # -P: a file in the current folder must not stand in for a module of ours.
            [
                sys.executable,
                "-P",
                "-m",
                "faultkit.base.child_process",
                str(its.fileno()),
                str(int(in_main_thread)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=(its.fileno(),),
            env={**os.environ, "PYTHONPATH": path},
        )
    except OSError as error:
        raise RunError(f"cannot start a process: {error.strerror or error}") from None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class _Late(Exception):
    """The other side did not take or send a message in time."""


class _Wire:
    """Messages over a socket. One thread reads; any may send."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._sending = threading.Lock()

    def send(self, kind: int, number: int, body: bytes, deadline: float | None = None) -> None:
        """Send a message. Raises _Late if the other side has not taken all of it by `deadline`."""
        flags = 0 if deadline is None else socket.MSG_DONTWAIT
        with self._sending:
            rest = memoryview(_HEADER.pack(kind, number, len(body)) + body)
            while rest:
                self._await(select.POLLOUT, deadline)
                with contextlib.suppress(BlockingIOError):
                    rest = rest[self._socket.send(rest, flags) :]

    def receive(self, deadline: float | None = None) -> tuple[int, int, bytes]:
        """Return the next message. Raises EOFError at the end, _Late if none is complete by `deadline`."""
        kind, number, size = _HEADER.unpack(self._read(_HEADER.size, deadline))
        return kind, number, self._read(size, deadline)

    def _read(self, size: int, deadline: float | None) -> bytes:
        buffer = bytearray(size)
        rest = memoryview(buffer)
        while rest:
            self._await(select.POLLIN, deadline)
            count = self._socket.recv_into(rest)
            if not count:
                raise EOFError
            rest = rest[count:]
        return bytes(buffer)

    def _await(self, what: int, deadline: float | None) -> None:
        # Not by the socket's own timeout: threads that send and receive share the socket.
        if deadline is None:
            return
        poll = select.poll()
        try:
            poll.register(self._socket, what)
        except ValueError:
            raise EOFError from None  # It was closed here, by another thread.
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise _Late

    def hang_up(self) -> None:
        """Shut the connection down, which wakes threads that wait on either side."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.close()


# --- the child's side -------------------------------------------------------------------------


class Parent:
    """The connection back to the parent, passed to the factory."""

    def __init__(self, wire: _Wire) -> None:
        self.stopped = threading.Event()
        """Set when the parent interrupts or has ended; long calls must then return soon. It stays set."""
        self._wire = wire

    def send(self, value: object) -> None:
        """Send a value before the answer, such as progress. It arrives while a call is under way."""
        self._wire.send(_MESSAGE, 0, pickle.dumps(value, pickle.HIGHEST_PROTOCOL))


class _Server:
    """The child's side: the main thread serves calls, another reads them, so that interrupts get through."""

    def __init__(self, sock: socket.socket) -> None:
        self._wire = _Wire(sock)
        self._parent = Parent(self._wire)
        self._waiting: queue.SimpleQueue[tuple[int, bytes] | None] = queue.SimpleQueue()

    def run(self) -> int:
        """Serve calls until the parent closes the connection; return the exit code."""
        threading.Thread(target=self._read, name="fault-calls", daemon=True).start()
        with contextlib.ExitStack() as stack:
            served: list[Any] = []

            def make(factory: str, args: tuple[object, ...], python_path: str | None) -> None:
                _restore("PYTHONPATH", python_path)
                module, _, name = factory.partition(":")
                made = getattr(importlib.import_module(module), name)(self._parent, *args)
                served.append(stack.enter_context(made) if hasattr(made, "__exit__") else made)

            def call(method: str, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
                return getattr(served[0], method)(*args, **kwargs)

            work: Callable[..., object] = make
            while (waiting := self._waiting.get()) is not None:
                number, body = waiting
                try:
                    self._wire.send(*_outcome(number, body, work))
                except OSError:
                    return 0  # The parent has closed the connection.
                if not served:
                    return 1
                work = call
        return 0

    def _read(self) -> None:
        try:
            while True:
                kind, number, body = self._wire.receive()
                if kind == _STOP:
                    self._parent.stopped.set()
                else:
                    self._waiting.put((number, body))
        except (EOFError, OSError):
            self._parent.stopped.set()
            self._waiting.put(None)
            time.sleep(_GRACE_S)
            os._exit(1)


def _outcome(number: int, body: bytes, work: Callable[..., object]) -> tuple[int, int, bytes]:
    try:
        return _ANSWER, number, pickle.dumps(work(*pickle.loads(body)), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        return _FAILURE, number, _pickled(error)


def _pickled(error: Exception) -> bytes:
    if isinstance(error, FaultkitError):
        with contextlib.suppress(Exception):
            body = pickle.dumps(error, pickle.HIGHEST_PROTOCOL)
            pickle.loads(body)  # An error whose __init__ wants more than its text fails only here.
            return body
    shown = RunError(_text(error))
    shown.add_note("".join(traceback.format_exception(error)))
    return pickle.dumps(shown, pickle.HIGHEST_PROTOCOL)


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _restore(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def _handle_signals(die_with_parent: bool) -> None:
    ignore_signals(_HANDLED_BY_PARENT)

    def end_soon(number: int, frame: object) -> None:
        # A SIGTERM to the whole group also reaches the parent, which then closes this child in good order.
        reset_signal(signal.SIGTERM)
        end = threading.Timer(_GRACE_S, os.kill, (os.getpid(), signal.SIGTERM))
        end.daemon = True
        end.start()

    signal.signal(signal.SIGTERM, end_soon)
    if die_with_parent and sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _BLOCKED_AT_START)


def serve(descriptor: int, die_with_parent: bool) -> int:
    """Run a child in the main thread until its parent closes it; return the exit code."""
    _handle_signals(die_with_parent)
    with socket.socket(fileno=descriptor) as sock:
        sock.set_inheritable(False)
        return _Server(sock).run()


if __name__ == "__main__":
    # Imported under its own name instead of `__main__`, since pickles refer to classes by module name.
    from faultkit.base.child_process import serve as serve_calls

    sys.exit(serve_calls(int(sys.argv[1]), sys.argv[2] == "1"))
