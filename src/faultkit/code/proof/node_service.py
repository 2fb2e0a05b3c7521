"""How a JavaScript file is run as a service by Node, read from its text. Nothing is run here.

The file starts its server itself, as `node FILE` would. So what is read is less than for Python: whether
something listens, a route to call, and the variables and URLs of its upstreams, in the file and in those that
it requires or imports by a relative path.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from faultkit.base.errors import InputError, TargetError
from faultkit.code.functions import list_functions
from faultkit.code.languages import language_named
from faultkit.code.languages.syntax import parse
from faultkit.code.proof.service import Route, Service, chosen_route
from faultkit.code.proof.upstreams import MOST_FILES, Reads, chosen_upstreams

NODE_SUFFIXES = (".js", ".mjs", ".cjs")

_LISTENS = re.compile(r"\.\s*listen\s*\(|\bserve\s*\(")
_ROUTE = re.compile(
    r"\.\s*(?P<method>get|all|route|post|put|patch|delete)\s*\(\s*(?:\{(?P<options>[^}]*?)url\s*:\s*)?"
    r"(?P<quote>['\"`])(?P<path>/[^'\"`]*)(?P=quote)"
)
_BY_HAND = re.compile(r"(?:\.url|pathname)\s*===?\s*(?P<quote>['\"`])(?P<path>/[^'\"`]*)(?P=quote)")
_CLIENT = re.compile(
    r"(?:\b(?:await|return)\s+|[=(]\s*)[\w.]+$|(?:axios|got|ky|client|request)$", re.IGNORECASE
)
_METHOD = re.compile(r"method\s*:\s*['\"`](\w+)")
_NAME = re.compile(r"\w+")
_PLAIN_SERVER = re.compile(r"\bcreateServer\s*\(")
_CALLS_OUT = re.compile(
    r"\b(?:fetch|axios|got|undici|needle|superagent|ky|https?)\s*(?:\(|\.\s*(?:get|request|post|fetch)\s*\()"
)
_COMMENT = re.compile(r"/\*.*?\*/|(?<![:'\"`\w])//[^\n]*", re.DOTALL)
_READ = re.compile(
    r"process\.env(?:\.(?P<name>[A-Za-z_]\w*)|\[\s*['\"](?P<key>\w+)['\"]\s*\])"
    r"(?:\s*(?:\|\||\?\?)\s*(?P<quote>['\"`])(?P<default>[^'\"`]*)(?P=quote))?"
)
_DESTRUCTURED = re.compile(r"\{([^{}]*)\}\s*=\s*process\.env\b")
_FIELD = re.compile(r"(\w+)\s*(?::\s*\w+)?\s*(?:=\s*(['\"`])([^'\"`]*)\2)?\s*(?:,|$)")
_TEXT = re.compile(r"['\"`](https?://[^'\"`]*)")
_RELATIVE = re.compile(r"(?:\brequire\s*\(\s*|\bfrom\s+|\bimport\s*\(?\s*)['\"](\.{1,2}/[^'\"]+)['\"]")


def node_service(
    file: str,
    text: str,
    *,
    route: str | None = None,
    named: Collection[str] = (),
    touched: Collection[int] = (),
    changed: str | None = None,
) -> Service:
    """Return how to run a JavaScript file. Raises InputError, with what to pass, if that cannot be
    determined.

    named:   upstreams that the user has named
    touched: lines that a change is about; a route whose handler has most of them is preferred
    changed: the text after the change, which may have more upstreams"""
    code = _without_comments(text)
    if not _LISTENS.search(code):
        raise InputError(file, "expected a service to run: a file that calls listen(), found no such call")
    chosen = chosen_route(route, _routes(code, touched), file)
    path = Path(file).resolve()
    versions = [code] if changed is None else [code, _without_comments(changed)]
    root = next((each for each in path.parents if (each / "package.json").exists()), path.parent)
    upstreams = chosen_upstreams(
        [_reads(path, each) for each in versions], root, named, file, "process.env.UPSTREAM_URL"
    )
    return Service("node", str(root), chosen.path, upstreams, notes=chosen.notes)


def _reads(path: Path, code: str) -> Reads:
    """Return what a service reads its upstreams from."""
    reads = Reads()
    for place, each in _files(path, code):
        where = place.name if place == path else str(place)
        for variable, default in _variables(each):
            reads.add(variable, default, where)
        for found in _TEXT.finditer(each):
            reads.add_url(found[1], where)
    return reads


def node_interpreter(env: Mapping[str, str]) -> str:
    """Return the program that runs JavaScript. Raises TargetError if there is none."""
    found = shutil.which("node", path=env.get("PATH"))
    if found is None:
        raise TargetError(
            "cannot start node: there is no such program on the PATH. Install Node 20 or newer."
        )
    return found


def _without_comments(text: str) -> str:
    """Return the text on the same lines, without its comments."""
    return _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)


def _routes(code: str, touched: Collection[int]) -> list[Route]:
    """Return the routes of a text. What a route reaches is its handler, and the functions of the file that
    the handler names, directly or through others."""
    found = [each for each in _ROUTE.finditer(code) if not _is_of_client(each)]
    found = found or list(_BY_HAND.finditer(code))
    if not found:
        return [Route("/", calls_out=True)] if _PLAIN_SERVER.search(code) else []
    functions = _functions(code)
    ends = [each.start() for each in found[1:]] + [len(code)]
    routes: dict[tuple[str, str], Route] = {}
    for each, end in zip(found, ends, strict=True):
        path, method = each["path"], _method(each)
        if "${" in path or (method, path) in routes:
            continue
        spans = _reached(_Span(code.count("\n", 0, each.start()) + 1, code[each.end() : end]), functions)
        calls_out = any(_CALLS_OUT.search(span.text) for span in spans)
        reach = sum(span.has(line) for line in touched for span in spans)
        routes[method, path] = Route(path, calls_out, reach, method)
    return list(routes.values())


def _is_of_client(call: re.Match[str]) -> bool:
    """Return whether a call such as `.post("/x")` is one of a client, not a route."""
    return _method(call) != "GET" and _CLIENT.search(call.string, 0, call.start()) is not None


def _method(route: re.Match[str]) -> str:
    """Return the method that a route is for; GET if it is for all."""
    found = route.groupdict()
    named = _METHOD.search(found.get("options") or "")
    method = named[1] if named else found.get("method") or "get"
    return "GET" if method.lower() in ("get", "all", "route") else method.upper()


class _Span(NamedTuple):
    """A part of a text."""

    first: int
    """Its first line."""
    text: str

    def has(self, line: int) -> bool:
        return self.first <= line < self.first + self.text.count("\n") + 1


def _functions(code: str) -> dict[str, _Span]:
    """Return the named functions of a text."""
    lines = code.splitlines(keepends=True)
    return {
        each.name: _Span(each.start_line, "".join(lines[each.start_line - 1 : each.end_line]).rstrip("\n"))
        for each in list_functions(parse(code.encode(), language_named("javascript")))
    }


def _reached(handler: _Span, functions: Mapping[str, _Span]) -> list[_Span]:
    """Return a handler, without the functions that are defined behind it, and those that it names."""
    for each in functions.values():
        if handler.has(each.first):
            handler = handler._replace(text=handler.text.replace(each.text, "\n" * each.text.count("\n"), 1))
    found, names = [handler], set[str]()
    for span in found:
        more = {name for name in _NAME.findall(span.text) if name in functions} - names
        names |= more
        found += [functions[name] for name in sorted(more)]
    return found


def _variables(code: str) -> Iterator[tuple[str, str]]:
    """Yield the environment variables that a text reads, and their defaults."""
    for found in _READ.finditer(code):
        yield found["name"] or found["key"], found["default"] or ""
    for group in _DESTRUCTURED.finditer(code):
        for each in _FIELD.finditer(group[1]):
            yield each[1], each[3] or ""


def _files(file: Path, code: str) -> Iterator[tuple[Path, str]]:
    """Yield a file and those that it requires or imports by relative paths, directly or through others."""
    known, waiting = {file}, [(file, code)]
    while waiting:
        path, text = waiting.pop(0)
        yield path, text
        for found in _RELATIVE.finditer(text):
            place = (path.parent / found[1]).resolve()
            names = (
                place,
                *(place.with_name(place.name + each) for each in NODE_SUFFIXES),
                place / "index.js",
            )
            near = next((each for each in names if each.is_file()), None)
            if near is None or near in known or len(known) >= MOST_FILES:
                continue
            known.add(near)
            if near.suffix in NODE_SUFFIXES:
                waiting.append((near, _without_comments(near.read_text("utf-8", "replace"))))
