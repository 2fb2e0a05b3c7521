"""Runs one version of a service in an interpreter of the user: a program that imports nothing of Faultkit.

    python runner.py '{"interface": "wsgi", "root": …, "module": …, "file": …, "text": …, "application": …,
                       "replaced": {"https://api.example.com": "http://127.0.0.1:4321"}, "wire": 5}'

It writes `port NUMBER` to the socket `wire` when it serves. The text of the module is that of `text` instead
of `file`; everything else, `__file__` included, is as if it stood in `file`. In the texts of modules below
`root`, the beginnings of URLs in `replaced` are others. For each line `lines` on the wire, and at the end of
an ASGI service by SIGTERM, it answers which lines of the file have run, and how often the service has given
each of its answers with a status below 400: `[status, digest, digest without numbers and ids, length,
beginning, content type, count]`. When the other end of the wire
closes, the parent process has ended: the runner ends its process group.
"""

from __future__ import annotations

import dis
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import json
import linecache
import os
import re
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any


class _TextLoader(importlib.machinery.SourceFileLoader):
    """A module loader with the text of another file, or with other URLs."""

    def __init__(self, module: str, file: str, text: str, replaced: dict[str, str], lines: _Lines) -> None:
        super().__init__(module, file)
        self._text_file, self._replaced, self._lines = text, replaced, lines

    def get_data(self, path: Any) -> bytes:
        data = super().get_data(self._text_file if path == self.path else path)
        for old, new in self._replaced.items():
            data = re.sub(re.escape(old.encode()) + rb"(?![\w.:-])", new.encode(), data)
        return data

    def source_to_code(self, data: Any, path: Any, **options: Any) -> Any:  # type: ignore[override]
        if self.path != self._lines.file:
            return super().source_to_code(data, path, **options)
        # So that tracebacks quote this text, not that of the file.
        text = importlib.util.decode_source(data).splitlines(keepends=True)
        linecache.cache[path] = len(data), None, text, path
        code = super().source_to_code(data, path, **options)
        self._lines.watch(code)
        return code

    def path_stats(self, path: Any) -> Any:
        raise OSError  # No compiled file is read or written then.


class _TextFinder(importlib.abc.MetaPathFinder):
    """A finder that replaces the text of one module, and URLs in all modules below the root."""

    def __init__(self, setup: dict[str, Any], lines: _Lines) -> None:
        self._setup, self._lines = setup, lines

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> Any:
        setup = self._setup
        file, text = setup["file"], setup["text"]
        if name != setup["module"]:
            found = importlib.machinery.PathFinder.find_spec(name, path) if setup["replaced"] else None
            if found is None or not self._is_own(found.origin):
                return None
            file = text = found.origin
        loader = _TextLoader(name, file, text, setup["replaced"], self._lines)
        return importlib.util.spec_from_file_location(name, file, loader=loader)

    def _is_own(self, origin: Any) -> bool:
        root = os.path.join(self._setup["root"], "")
        if not isinstance(origin, str) or not origin.startswith(root) or not origin.endswith(".py"):
            return False
        return "site-packages" not in origin[len(root) :].split(os.sep)


class _Lines:
    """The lines of one file that have run. Costs little from Python 3.12 on: each line is reported once.

    A line on which functions have their code (`{"x": lambda: 1}`) has run when they have run, too."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._executable: set[int] = set()
        self._ran: dict[int, set[int]] = {}
        """By line: the code that ran there, by `id`."""
        self._inline: dict[int, set[int]] = {}
        """By line: the code of functions within a line of the code around them."""
        self._kept: list[CodeType] = []
        self._monitoring = getattr(sys, "monitoring", None)
        if self._monitoring is not None:
            self._monitoring.use_tool_id(_TOOL, "fault")
            events = self._monitoring.events
            self._monitoring.register_callback(_TOOL, events.LINE, self._line_event)
            self._monitoring.register_callback(_TOOL, events.PY_START, self._start_event)
        else:
            threading.settrace(self._call)
            sys.settrace(self._call)

    def watch(self, code: CodeType) -> None:
        """Report the lines of this code and of the functions in it."""
        self._kept.append(code)  # So that no other gets its id.
        lines = _lines_of(code)
        self._executable |= lines
        if self._monitoring is not None:
            events = self._monitoring.events
            self._monitoring.set_local_events(_TOOL, code, events.LINE | events.PY_START)
        for each in code.co_consts:
            if isinstance(each, CodeType):
                if _is_function(each):
                    for line in _body_lines(each) & lines:
                        self._inline.setdefault(line, set()).add(id(each))
                self.watch(each)

    def report(self) -> dict[str, Any]:
        # Copied in one step: other threads add to it.
        ran = [line for line, codes in list(self._ran.items()) if self._inline.get(line, set()) <= codes]
        return {"executable": sorted(self._executable), "ran": sorted(ran)}

    def _line_event(self, code: CodeType, line: int) -> Any:
        self._ran.setdefault(line, set()).add(id(code))
        assert self._monitoring is not None
        return self._monitoring.DISABLE

    def _start_event(self, code: CodeType, offset: int) -> Any:
        # Python 3.13 does not report a line that is also that of the `def`.
        if id(code) in self._inline.get(code.co_firstlineno, ()):
            self._ran.setdefault(code.co_firstlineno, set()).add(id(code))
        assert self._monitoring is not None
        return self._monitoring.DISABLE

    def _call(self, frame: Any, event: str, arg: Any) -> Any:
        return self._line if frame.f_code.co_filename == self.file else None

    def _line(self, frame: Any, event: str, arg: Any) -> Any:
        if event == "line":
            self._ran.setdefault(frame.f_lineno, set()).add(id(frame.f_code))
        return self._line


def _lines_of(code: CodeType) -> set[int]:
    if hasattr(code, "co_lines"):
        return {line for _, _, line in code.co_lines() if line}
    return {line for _, line in dis.findlinestarts(code)}


def _is_function(code: CodeType) -> bool:
    """Return whether code is that of a `def` or a lambda: not of a class, a comprehension or annotations."""
    is_def = bool(code.co_flags & inspect.CO_NEWLOCALS) and not code.co_name.startswith(("<", "__annotate"))
    return is_def or code.co_name == "<lambda>"


def _body_lines(code: CodeType) -> set[int]:
    """Return the lines of a function without that of its `def`, unless a statement stands there, too."""
    starts = {offset: line for offset, line in dis.findlinestarts(code) if line}
    found: set[int] = set()
    line = 0
    for each in dis.get_instructions(code):
        line = starts.get(each.offset, line)
        if line and each.opname not in _OF_FRAMES:
            found.add(line)
    return found


_OF_FRAMES = {
    *("RESUME", "NOP", "CACHE", "MAKE_CELL", "COPY_FREE_VARS", "POP_TOP"),
    *("GEN_START", "RETURN_GENERATOR", "CALL_INTRINSIC_1", "STOPITERATION_ERROR", "RERAISE"),
}
"""Instructions that belong to the call of a function, not to a statement of it."""
_TOOL = 4
"""A number for `sys.monitoring` that debuggers, coverage and profilers do not use."""


class _Answers:
    """How often a service has given each answer."""

    def __init__(self) -> None:
        self._counts: dict[tuple[Any, ...], int] = {}

    def add(self, answer: _Answer) -> None:
        if answer.status >= 400:
            return
        key = answer.key()
        if key in self._counts or len(self._counts) < _MOST_ANSWERS:
            self._counts[key] = self._counts.get(key, 0) + 1

    def report(self) -> list[Any]:
        return [[*key, count] for key, count in list(self._counts.items())]


class _Answer:
    """One answer while it is given."""

    def __init__(self) -> None:
        self.status = 0
        self.content_type = ""
        self._digest = hashlib.sha256()
        self._length = 0
        self._start = b""

    def add(self, data: bytes) -> None:
        self._digest.update(data)
        self._length += len(data)
        if len(self._start) < _COMPARED_BYTES:
            self._start += data[: _COMPARED_BYTES - len(self._start)]

    def key(self) -> tuple[Any, ...]:
        shape = hashlib.sha256(_VARYING.sub(b"0", self._start)).hexdigest()[:16]
        beginning = self._start[:_SHOWN_BYTES].decode("utf-8", "replace")
        digest = self._digest.hexdigest()[:16]
        return self.status, digest, shape, self._length, beginning, self.content_type


_MOST_ANSWERS = 1000
_COMPARED_BYTES = 65536
_SHOWN_BYTES = 100
_VARYING = re.compile(rb"(?=[\w+/=-]*\d)[\w+/=-]{16,}|[0-9a-fA-F-]{8,}|\d+")
"""Ids and numbers. The same expression is in node_runner.cjs."""


def main() -> None:
    """Run the service until it ends."""
    setup = json.loads(sys.argv[1])
    wire = socket.socket(fileno=setup["wire"])
    wire.set_inheritable(False)
    lines, answers = _Lines(setup["file"]), _Answers()

    def report() -> None:
        document = {**lines.report(), "answers": answers.report()}
        wire.sendall(b"lines %s\n" % json.dumps(document).encode())

    threading.Thread(target=_answer, args=(wire, report), daemon=True).start()
    sys.path[0] = setup["root"]
    sys.argv = [setup["file"]]
    sys.excepthook = traceback.print_exception
    sys.meta_path.insert(0, _TextFinder(setup, lines))
    app: Any = importlib.import_module(setup["module"])
    for name in setup["application"].split("."):
        app = getattr(app, name)
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)

    def ready() -> None:
        wire.sendall(b"port %d\n" % listener.getsockname()[1])

    if setup["interface"] == "asgi":
        _serve_asgi(app, listener, ready, report, answers)
    else:
        _serve_wsgi(_wsgi_with(answers, app), listener, ready)


def _answer(wire: socket.socket, report: Callable[[], None]) -> None:
    sys.settrace(None)
    while wire.recv(64):
        report()
    os.kill(0, signal.SIGKILL)  # Every process of this group, this one included.


def _serve_asgi(
    app: Any, listener: socket.socket, ready: Callable[[], None], over: Callable[[], None], answers: _Answers
) -> None:
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                ready()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            await super().shutdown(sockets)
            over()  # Not later: after this, uvicorn sends itself the signal once more.

    config = uvicorn.Config(app, log_level="error", lifespan="auto", timeout_graceful_shutdown=1)
    config.load()
    config.loaded_app = _asgi_with(answers, config.loaded_app)
    Server(config).run(sockets=[listener])


def _asgi_with(answers: _Answers, app: Any) -> Any:
    """Return the application, with its answers counted."""

    async def counted(scope: Any, receive: Any, send: Any) -> None:
        answer = _Answer()

        async def counting(event: Any) -> None:
            if event["type"] == "http.response.start":
                answer.status = event["status"]
                sent = [
                    (bytes(name).decode("latin-1"), bytes(value).decode("latin-1"))
                    for name, value in event.get("headers", ())
                ]
                answer.content_type = _content_type(sent)
            elif event["type"] == "http.response.body":
                answer.add(event.get("body", b""))
                if not event.get("more_body", False):
                    answers.add(answer)
            await send(event)

        await app(scope, receive, counting if scope["type"] == "http" else send)

    return counted


def _wsgi_with(answers: _Answers, app: Any) -> Any:
    """Return the application, with its answers counted."""

    def counted(environ: Any, start_response: Any) -> Any:
        answer = _Answer()

        def start(status: str, headers: Any, *rest: Any, **named: Any) -> Any:
            answer.status = int(status.split(" ")[0])
            answer.content_type = _content_type(headers)
            write = start_response(status, headers, *rest, **named)

            def counting(data: bytes) -> Any:
                answer.add(data)
                return write(data)

            return counting

        body = app(environ, start)
        if not isinstance(body, (list, tuple)):
            return _CountedBody(body, answer, answers)
        for part in body:
            answer.add(part)
        answers.add(answer)
        return body  # The server reads its length.

    return counted


def _content_type(headers: Any) -> str:
    return next((value for name, value in headers if name.lower() == "content-type"), "")


class _CountedBody:
    """The parts of a body, and the `close` of what makes them."""

    def __init__(self, body: Any, answer: _Answer, answers: _Answers) -> None:
        self._body, self._answer, self._answers = body, answer, answers

    def __iter__(self) -> Any:
        for part in self._body:
            self._answer.add(part)
            yield part
        self._answers.add(self._answer)

    def close(self) -> None:
        if hasattr(self._body, "close"):
            self._body.close()


def _serve_wsgi(app: Any, listener: socket.socket, ready: Callable[[], None]) -> None:
    from socketserver import ThreadingMixIn
    from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

    class Quiet(WSGIRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingMixIn, WSGIServer):
        daemon_threads = True

    server = Server(listener.getsockname(), Quiet, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    server.server_name, server.server_port = "127.0.0.1", listener.getsockname()[1]
    server.setup_environ()
    server.set_app(app)
    ready()
    server.serve_forever()


if __name__ == "__main__":
    main()
