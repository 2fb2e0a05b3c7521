"""A service in a Python file: how it is run, one running version of it, and a stub for its dependencies."""

from __future__ import annotations

import ast
import os
import re
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

from faultkit.base.errors import InputError, RunError, TargetError
from faultkit.base.process_group import end_popen_group

# How a file is run, read from its syntax: the application object, the routes that a plain GET can request,
# and the environment variables that name its dependencies. Nothing is imported or run here.


Interface: TypeAlias = Literal["asgi", "wsgi"]

_APPLICATIONS: dict[str, Interface] = {
    "FastAPI": "asgi",
    "Starlette": "asgi",
    "Quart": "asgi",
    "Litestar": "asgi",
    "Sanic": "asgi",
    "Flask": "wsgi",
    "Bottle": "wsgi",
    "Falcon": "wsgi",
}
_ROUTED = ("get", "route", "api_route", "head")
_HTTP_LIBRARIES = ("httpx", "requests", "aiohttp", "urllib", "urllib3", "niquests")
_NAMES_A_URL = re.compile(
    r"(URL|URI|BASE|ENDPOINT|HOST|ORIGIN|UPSTREAM|API)(_|$)|_(URL|URI)\b", re.IGNORECASE
)
_URL = re.compile(r"https?://[^/\s]+")


@dataclass(frozen=True, slots=True)
class Upstream:
    """A dependency that an environment variable names."""

    variable: str
    default: str
    """The value in the code if the variable is not set; empty if it is required."""

    @property
    def path(self) -> str:
        """The path of the default, which stays when the host is replaced."""
        return _URL.sub("", self.default, count=1) if _URL.match(self.default) else ""


@dataclass(frozen=True, slots=True)
class Service:
    """How to run a file as a service."""

    application: str
    """The name of the object in the module."""
    interface: Interface
    route: str
    """A path for GET."""
    upstreams: tuple[Upstream, ...]


def service_of(text: str, file: str, *, route: str | None = None) -> Service:
    """Return how to run the file. Raises InputError, with what to pass, if that cannot be determined."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise InputError(file, f"expected Python that can be run, got {error}") from None
    found = _application(tree)
    if found is None:
        known = ", ".join(_APPLICATIONS)
        raise InputError(
            file, f"expected a service to run: an object of {known} at the top of the module, found none"
        )
    application, interface = found
    chosen = route or _route(tree, application)
    if chosen is None:
        raise InputError(
            file, "expected a route that a plain GET can ask for, found none: name one with --route /PATH"
        )
    if not chosen.startswith("/"):
        raise InputError("--route", f'expected a path such as /items, got "{chosen}"')
    return Service(application, interface, chosen, tuple(_upstreams(tree)))


def _application(tree: ast.Module) -> tuple[str, Interface] | None:
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(node.value, ast.Call):
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        interface = _APPLICATIONS.get(_last_name(node.value.func))
        if interface is not None and isinstance(target, ast.Name):
            return target.id, interface
    for node in tree.body:
        if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef) and node.name in ("app", "application"):
            count = len(node.args.args)
            if isinstance(node, ast.AsyncFunctionDef) and count == 3:
                return node.name, "asgi"
            if isinstance(node, ast.FunctionDef) and count == 2:
                return node.name, "wsgi"
    return None


def _route(tree: ast.Module, application: str) -> str | None:
    """Return the first route that calls a dependency, else the first."""
    routes = list(_routes(tree))
    calling = _calling(tree)
    chosen = next((path for path, name in routes if name in calling), None)
    if chosen is None and routes:
        chosen = routes[0][0]
    # A plain function is an application with one route.
    is_function = any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == application
        for node in tree.body
    )
    return "/" if chosen is None and is_function else chosen


def _routes(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield paths without parameters, and the functions that answer them."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for decorator in node.decorator_list:
            if not isinstance(decorator, ast.Call) or not isinstance(decorator.func, ast.Attribute):
                continue
            if decorator.func.attr not in _ROUTED or not _allows_get(decorator):
                continue
            path = _first_text(decorator)
            if path is not None and not {"{", "<", ":"} & set(path):
                yield path or "/", node.name


def _allows_get(decorator: ast.Call) -> bool:
    for keyword in decorator.keywords:
        if keyword.arg == "methods" and isinstance(keyword.value, ast.List | ast.Tuple):
            return any(isinstance(each, ast.Constant) and each.value == "GET" for each in keyword.value.elts)
    return True


def _first_text(call: ast.Call) -> str | None:
    given = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "path"), None)
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else None


def _calling(tree: ast.Module) -> set[str]:
    """Return functions that call a dependency, directly or through another."""
    clients = {*_HTTP_LIBRARIES, *_clients(tree)}
    functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    found = {each.name for each in functions if clients & set(_called_roots(each))}
    while True:
        more = {each.name for each in functions if found & set(_called_roots(each))} - found
        if not more:
            return found
        found |= more


def _clients(tree: ast.Module) -> Iterator[str]:
    """Yield names of clients that a module makes or imports from the libraries."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            if _first_name(node.value.func) in _HTTP_LIBRARIES:
                yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in _HTTP_LIBRARIES:
            yield from (alias.asname or alias.name for alias in node.names)


def _called_roots(function: ast.AST) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            yield _first_name(node.func)


def _upstreams(tree: ast.Module) -> Iterator[Upstream]:
    seen: set[str] = set()
    for node in ast.walk(tree):
        for variable, default in _environment(node):
            is_url = _URL.match(default) or (not default and _NAMES_A_URL.search(variable))
            if is_url and variable not in seen:
                seen.add(variable)
                yield Upstream(variable, default)


def _environment(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the environment variable that a node reads, and its default."""
    if isinstance(node, ast.Call) and _dotted(node.func) in _READS:
        given = [each.value for each in node.args if isinstance(each, ast.Constant)]
        if given and isinstance(given[0], str):
            yield given[0], given[1] if len(given) > 1 and isinstance(given[1], str) else ""
    elif isinstance(node, ast.Subscript) and _dotted(node.value) in _ENVIRONMENTS:
        name = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(name, str):
            yield name, ""


_ENVIRONMENTS = ("os.environ", "environ")
_READS = ("os.getenv", "getenv", *(f"{each}.get" for each in _ENVIRONMENTS))


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _first_name(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.value if isinstance(node, ast.Attribute) else node.func
    return node.id if isinstance(node, ast.Name) else ""


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


# The interpreter of a project.


_ENVIRONMENT_FOLDERS = (".venv", "venv")


def interpreter_of(file: Path, given: str | None, env: Mapping[str, str]) -> str:
    """Return the interpreter that runs a file.

    It is the given one, a path or a name on the PATH; or that of the virtual environment of its project,
    `.venv` or `venv` beside the file or above it; or that of VIRTUAL_ENV; or that of this process."""
    if given is not None:
        return os.path.abspath(given) if os.path.dirname(given) else given
    folder = file.absolute().parent
    places = [above / name for above in (folder, *folder.parents) for name in _ENVIRONMENT_FOLDERS]
    if env.get("VIRTUAL_ENV"):
        places.append(Path(env["VIRTUAL_ENV"]))
    # Not resolved: a link to the system's interpreter stands for the environment that it is in.
    found = (place / "bin" / "python" for place in places)
    return next((str(each) for each in found if os.access(each, os.X_OK)), sys.executable)


# One running version of a service: its process, which is ended with everything that it started.


START_S = 30.0
_GRACE_S = 2.0
_MISSING = re.compile(r"No module named '([\w.]+)'")
_RUNNER = Path(__file__).with_name("runner.py")
_LAST_LINES = 5
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
"""Environment variables that are removed, so that calls do not go through a proxy of the user."""


class RunningService:
    """A service process, as a context manager."""

    def __init__(
        self,
        file: Path,
        service: Service,
        env: Mapping[str, str],
        python: str,
        *,
        inherited: Mapping[str, str] | None = None,
        text: str | None = None,
        stop: threading.Event | None = None,
        start_s: float = START_S,
    ) -> None:
        """Prepare a version of the service; `text` replaces the contents of the file, if it is given.

        env:       variables of the service
        inherited: its other variables; None: those of this process"""
        self._file = file.resolve()
        self._service = service
        self._env = env
        self._inherited = inherited
        self._python = python
        self._text = text
        self._stop = stop or threading.Event()
        self._start_s = start_s
        self._wire: socket.socket | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self.url = ""

    def __enter__(self) -> RunningService:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _start(self) -> None:
        root, module = _module_of(self._file)
        file = self._file
        if self._text is not None:
            self._folder = tempfile.TemporaryDirectory(prefix="fault-proof-")
            file = Path(self._folder.name) / self._file.name
            file.write_text(self._text, encoding="utf-8", newline="")
        # When this end closes, however this process ends, the service ends itself.
        self._wire, child_end = socket.socketpair()
        command = [self._python, str(_RUNNER), self._service.interface, str(root), module, str(self._file)]
        inherited = os.environ if self._inherited is None else self._inherited
        env = {name: value for name, value in inherited.items() if name.lower() not in _PROXIES}
        with child_end:
            try:
                self._process = subprocess.Popen(
                    [*command, str(file), self._service.application, str(child_end.fileno())],
                    cwd=root,
                    env={**env, **self._env, "PYTHONDONTWRITEBYTECODE": "1"},
                    stdin=subprocess.DEVNULL,
                    # Also into the file: a pipe without a reader would fill up and block the service.
                    stdout=self._errors,
                    stderr=self._errors,
                    pass_fds=[child_end.fileno()],
                    start_new_session=True,
                )
            except OSError as error:
                raise TargetError(f"cannot start {self._python}: {error.strerror}") from None
        self.url = f"http://127.0.0.1:{self._port()}{self._service.route}"

    def _port(self) -> int:
        """Return the port that the service reports when it serves."""
        assert self._process is not None
        assert self._wire is not None
        until, received = time.monotonic() + self._start_s, b""
        while time.monotonic() < until:
            if self._stop.is_set():
                raise RunError("it was stopped")
            ready, _, _ = select.select([self._wire], [], [], 0.1)
            if not ready:
                continue
            part = self._wire.recv(4096)
            received += part
            found = re.search(rb"^port (\d+)$", received, re.MULTILINE)
            if found:
                return int(found[1])
            if not part:
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_GRACE_S)
                raise TargetError(self._start_problem())
        raise TargetError(
            f"{self._file.name} does not serve after {self._start_s:g} s. {self._last_output()}"
        )

    def _start_problem(self) -> str:
        output = self._last_output()
        missing = _MISSING.search(output)
        hint = ""
        if missing is not None:
            package = missing[1].split(".")[0]
            hint = f" Install what it needs: {self._python} -m pip install {package}"
        return f"{self._file.name} does not start: {output}{hint}"

    def _last_output(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return " / ".join(line.strip() for line in lines[-_LAST_LINES:]) or "It wrote nothing."

    def close(self) -> None:
        """End the process group, free the port and remove the folder."""
        process, self._process = self._process, None
        if process is not None:
            end_popen_group(process, _GRACE_S)
        if self._wire is not None:
            self._wire.close()
        self._errors.close()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def _module_of(file: Path) -> tuple[Path, str]:
    """Return the folder where imports begin, and the name of the module from there."""
    parts = [] if file.stem == "__init__" else [file.stem]
    root = file.parent
    while (root / "__init__.py").exists() and root != root.parent:
        parts.insert(0, root.name)
        root = root.parent
    return root, ".".join(parts)


# A stub for dependencies that the user does not name: answers at once, and counts requests.


_BODY = b'{"id": 1, "userId": 1, "title": "an answer of the stand-in", "completed": false, "items": []}'


class StubUpstream:
    """An HTTP server on a free port, as a context manager."""

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def take_count(self) -> int:
        """Return the number of requests since the last call."""
        with self._lock:
            count, self._count = self._count, 0
        return count

    def __enter__(self) -> StubUpstream:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                with stub._lock:
                    stub._count += 1
                self.rfile.read(int(self.headers.get("content-length") or 0))
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(_BODY)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(_BODY)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = answer

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler
