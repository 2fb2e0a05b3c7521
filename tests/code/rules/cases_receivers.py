"""Calls of something else with the same name: overloads, other receivers, shadowed names."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_PY, _JS, _TS, _GO, _JAVA = "python", "javascript", "typescript", "go", "java"
_RECURSION, _TIMEOUT = "unbounded-recursion", "http-call-without-timeout"

CASES = [
    # Overloads, of this class or of one in another file.
    good(
        _RECURSION,
        _JAVA,
        "class A { Span decode(byte[] b) { return decode(ReadBuffer.wrap(b)); }\n Span decode(ReadBuffer b) { return b.read(); } }",
    ),
    good(
        _RECURSION,
        _JAVA,
        "class A extends B { void store(String name, Reader r) { store(indexOf(name), r); } }",
    ),
    good(
        _RECURSION, _JAVA, "class A { void open() { open(DEFAULT); } void open(Mode m) { this.mode = m; } }"
    ),
    good(
        _RECURSION,
        _JAVA,
        "class A { void log(String text, Object... more) { out(text, more); } void log(String text) { log(text, 1, 2); } }",
    ),
    bad(_RECURSION, _JAVA, "class A {\n void step(int n) {\n  step(n - 1);\n }\n}", 3),
    bad(_RECURSION, _JAVA, "class A {\n String name() {\n  return name();\n }\n}", 3),
    # The receiver is another object, or the function is no method.
    good(
        _RECURSION, _JS, "class A { f() { return { track: (n) => this.track(n) }; } track(n) { send(n); } }"
    ),
    good(_RECURSION, _JS, "class A { f() { const track = (n) => this.track(n); return track; } }"),
    good(
        _RECURSION,
        _JS,
        "extend({ on: function (a) { return on(this, a); } });\nfunction on(o, a) { o.add(a); }",
    ),
    good(
        _RECURSION,
        _PY,
        "class A:\n    def watch(self):\n        def started(key, msg):\n            return self.started(msg)\n        listen(started)\n    def started(self, msg): ...\n",
    ),
    good(
        _RECURSION, _PY, "class Node:\n    def close(self):\n        child = Node()\n        child.close()\n"
    ),
    bad(_RECURSION, _JS, "class A {\n track(n) { this.track(n); }\n}", 2),
    bad(_RECURSION, _JS, "const walk = (n) => {\n  walk(n.next);\n};", 2),
    # Names that are parameters, variables or functions of the text.
    good(_TIMEOUT, _JS, "const make = ({ fetch }) => ({ run: (u) => fetch(u) });"),
    good(_TIMEOUT, _TS, "export function load(fetch: Fetcher, url: string) { return fetch(url); }"),
    good(_TIMEOUT, _PY, "def f(requests):\n    return requests.get('a')\n"),
    good(_TIMEOUT, _GO, "package m\nfunc f(http Doer) error { return http.Get(u) }"),
    bad(_TIMEOUT, _JS, "const run = (u) => fetch(u);", 1),
    good("file-not-closed", _PY, "def f(open, path):\n    g = open(path)\n    g.tell()\n"),
    good("file-not-closed", _PY, "def open(path): ...\ndef f(path):\n    g = open(path)\n    g.tell()\n"),
]
