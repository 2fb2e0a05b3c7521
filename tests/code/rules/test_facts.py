"""Facts of every language: resolved names, origins of objects, places."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

import pytest

from faultkit.code import LANGUAGES, parse
from faultkit.code.facts import Call, Facts, facts_of


def facts(language: str, text: str) -> Facts:
    return facts_of(parse(text.encode(), LANGUAGES[language]))


def last(found: Facts) -> Call:
    return max(found.calls, key=lambda call: (call.line, -call.span.start))


@pytest.mark.parametrize(
    ("language", "text", "name"),
    [
        ("python", "import requests as r\nr.get(u)", "requests.get"),
        ("python", "from requests import get as fetch\nfetch(u)", "requests.get"),
        ("python", "import os.path\nos.path.join(a)", "os.path.join"),
        ("python", "s = requests.Session()\ns.get(u)", "requests.Session.get"),
        ("python", "x = requests.get(u)\nx.json()", "requests.get().json"),
        ("python", "(await f()).g()", "f().g"),
        ("python", "with a.B() as c:\n    c.d()", "a.B.d"),
        ("python", "def f(c: 'httpx.Client | None'):\n    c.get()", "httpx.Client.get"),
        ("python", "def f(c):\n    c.get()", "~c.get"),
        ("python", "class A:\n def __init__(self, c: b.C):\n  self.c = c\n def f(self):\n  self.c.get()", "b.C.get"),
        ("javascript", "const run = util.promisify(child.exec);\nrun(a)", "child.exec"),
        ("python", "def f(requests):\n    requests.get(u)", "~requests.get"),
        ("python", "import requests\ndef f(requests):\n    requests.get(u)", "~requests.get"),
        ("python", "def f():\n    requests = {}\n    requests.get(u)", "~requests.get"),
        ("python", "def f(xs):\n    for open in xs:\n        open(p)", "~open"),
        ("python", "def open(p): ...\nopen(p)", "~open"),
        ("python", "class A:\n  def open(self):\n    open(p)", "open"),
        ("python", "def f():\n  def open(p): ...\n  open(p)", "~open"),
        ("python", "def f():\n  def open(p): ...\ndef g():\n  open(p)", "open"),
        ("python", "class A:\n  c = X()\n  def f(self):\n    self.c.get()", "X.get"),
        ("python", "def make():\n    return X(1)\nc = make()\nc.get()", "X.get"),
        ("python", "x[0].f()", "x[].f"),
        ("javascript", "import a from 'axios';\na.get(u)", "axios.get"),
        ("javascript", "const { readFile: r } = require('node:fs');\nr(p)", "fs.readFile"),
        ("javascript", "fetch(u).then(r =>\n r.json())", "fetch().json"),
        ("javascript", "a?.b!.c()", "a.b.c"),
        ("javascript", "const f = ({ fetch }) => fetch(u)", "~fetch"),
        ("javascript", "const f = (fetch) => () => fetch(u)", "~fetch"),
        ("javascript", "function fetch(u) {}\nfetch(u)", "~fetch"),
        ("javascript", "const fetch = async (u) => go(u);\nfetch(u)", "~fetch"),
        ("javascript", "const o = { fetch: (u) => go(u) };\nfetch(u)", "fetch"),
        ("javascript", "function f() { const { get } = require('axios');\n get(u); }", "axios.get"),
        ("typescript", "class A { c = new X();\n f() { this.c.g(); } }", "X.g"),
        ("tsx", "const s: Store = get();\ns.load()", "get().load"),
        ("go", 'package m\nimport h "net/http"\nfunc f() { h.Get(u) }', "net/http.Get"),
        ("go", "func f() { http.Get(u) }", "net/http.Get"),
        ("go", "func f(http Client) { http.Get(u) }", "Client.Get"),
        ("go", "func f() {\nfor http := range xs { http.Get(u) } }", "~http.Get"),
        ("go", "package m\ntype S struct { db *sql.DB }\nfunc (s *S) f() { s.db.Query(q) }", "database/sql.DB.Query"),
        ("go", "func f() {\nc := &http.Client{}\nc.Do(r) }", "net/http.Client.Do"),
        ("java", "import java.net.http.*;\nclass A { void f() { HttpClient.newHttpClient(); } }", "java.net.http.HttpClient.newHttpClient"),
        ("java", "class A { Foo c = new Foo();\nvoid f() { c.g(); } }", "Foo.g"),
        ("java", "void f(Foo c) {\n c.g(); }", "Foo.g"),
    ],
)  # fmt: skip
def test_a_call_has_its_resolved_name(language: str, text: str, name: str) -> None:
    assert last(facts(language, text)).name == name


def test_the_origin_of_an_object_is_known_through_variables_and_members() -> None:
    found = facts(
        "python",
        "class A:\n    def __init__(self):\n        self.c = X(timeout=3)\n    def f(self):\n        self.c.g()",
    )
    call = last(found)
    assert call.origin is not None
    assert call.origin.has("timeout")
    assert found.calls_on(call.origin) == (call,)


@pytest.mark.parametrize(
    ("language", "text", "flag"),
    [
        ("python", "async def f():\n    await g()", "is_awaited"),
        ("typescript", "async function f() { const x = await g<{ a: string }>(1); }", "is_awaited"),
        ("python", "with g():\n    pass", "is_managed"),
        ("python", "def f():\n    return [g()]", "is_returned"),
        ("python", "g()", "is_discarded"),
        ("python", "h(g())", "is_argument"),
        ("python", "@g()\ndef f(): ...", "is_decorator"),
        ("go", "func f() { defer g() }", "is_deferred"),
        ("go", "func f() { go g() }", "is_launched"),
        ("javascript", "const f = () => g()", "is_returned"),
        ("java", "void f() { try (var a = g()) { } }", "is_managed"),
    ],
)
def test_the_use_of_a_result_is_known(language: str, text: str, flag: str) -> None:
    call = next(call for call in facts(language, text).calls if call.name == "g")
    flags = (
        "is_awaited",
        "is_managed",
        "is_returned",
        "is_argument",
        "is_decorator",
        "is_deferred",
        "is_launched",
    )
    assert getattr(call, flag)
    wanted = {flag} if flag != "is_discarded" else set()
    assert {each for each in flags if getattr(call, each)} == wanted


def test_options_are_arguments_by_the_keys_of_their_object() -> None:
    call = facts("javascript", "fetch(u, {method: 'POST', headers: {Host: h}, ...rest})").calls[0]
    named = [(each.name, each.value.text, each.place) for each in call.arguments if each.name]
    assert named == [
        ("method", "'POST'", 1),
        ("headers", "{Host: h}", 1),
        ("headers.Host", "h", 1),
        ("...", "...rest", 1),
    ]
    assert call.spreads
    assert call.argument("method") is not None
    assert not call.has("Host")


@pytest.mark.parametrize(
    ("language", "text", "kinds"),
    [
        ("python", "for a in b: pass\nfor i in range(3): pass\nwhile True: pass\nwhile a: pass\n[x for x in y]", ["each", "count", "endless", "while", "comprehension"]),
        ("javascript", "for (const a of b) {}\nfor (let i = 0; i < 3; i++) {}\nwhile (true) {}\nwhile (a) {}\nb.map(x => f(x))", ["each", "count", "endless", "while", "comprehension"]),
        ("go", "func f() {\nfor _, a := range b {}\nfor i := 0; i < 3; i++ {}\nfor {}\nfor a {}\n}", ["each", "count", "endless", "while"]),
        ("java", "for (A a : b) {}\nfor (int i = 0; i < 3; i++) {}\nwhile (true) {}\nwhile (a) {}\nb.forEach(x -> f(x));", ["each", "count", "endless", "while", "comprehension"]),
    ],
)  # fmt: skip
def test_loops_have_their_kind(language: str, text: str, kinds: list[str]) -> None:
    assert [loop.kind for loop in facts(language, text).loops] == kinds


def test_a_function_that_is_given_to_map_is_the_body_of_a_loop() -> None:
    found = facts("javascript", "function f(xs) { return xs.map(async (x) => { await g(x); }); }")
    call = next(call for call in found.calls if call.name == "g")
    assert [loop.over for loop in found.loops_around(call)] == ["xs"]


def test_a_function_inside_a_loop_is_not_run_by_it() -> None:
    found = facts("python", "for x in y:\n    def f():\n        g()")
    assert found.loops_around(found.calls[-1]) == ()
    assert len(found.loops_around(found.calls[-1], across=True)) == 1


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "def f():\n    try:\n        g()\n    except E:\n        pass"),
        ("javascript", "function f() { try { g(); } catch (e) {} }"),
        ("go", "package a\nfunc f() {\n\terr := g()\n\tif err != nil {\n\t\treturn\n\t}\n}"),
        ("go", "package a\nfunc f() {\n\tif err := g(); err != nil {\n\t\treturn\n\t}\n}"),
    ],
)
def test_a_call_whose_error_is_handled_has_a_try_around_it(language: str, text: str) -> None:
    found = facts(language, text)
    assert found.tries_around(last(found)) == found.tries
    assert len(found.tries) == 1


@pytest.mark.parametrize(
    ("text", "empty", "logs", "raises", "broad"),
    [
        ("except ValueError:\n    pass", True, False, False, False),
        ("except Exception as e:\n    log.error(e)", False, True, False, True),
        ("except:\n    raise", False, False, True, True),
        ("except (A, B) as e:\n    raise C() from e", False, False, True, False),
    ],
)
def test_handlers_have_flags_for_what_they_do(
    text: str, empty: bool, logs: bool, raises: bool, broad: bool
) -> None:
    handler = facts("python", f"try:\n    g()\n{text}\n").tries[0].handlers[0]
    assert (handler.is_empty, handler.only_logs, handler.raises, handler.is_broad) == (
        empty,
        logs,
        raises,
        broad,
    )


@pytest.mark.parametrize(
    ("language", "text", "route"),
    [
        ("python", "from fastapi import APIRouter\nr = APIRouter()\n@r.post('/a')\ndef f(): ...", ("POST", "/a", "fastapi")),
        ("python", "from flask import Flask\napp = Flask(__name__)\n@app.route('/a', methods=['PUT'])\ndef f(): ...", ("PUT", "/a", "flask")),
        ("javascript", "const e = require('express');\nconst app = e();\napp.get('/a', f);\nfunction f(req, res) {}", ("GET", "/a", "express")),
        ("typescript", "class A { @Get('/a') f() {} }", ("GET", "/a", "nest")),
        ("go", "func f(w http.ResponseWriter, r *http.Request) { }", ("ANY", "", "net/http")),
        ("java", "class A { @GetMapping(\"/a\") String f() { return g(); } }", ("GET", "/a", "spring")),
    ],
)  # fmt: skip
def test_functions_that_answer_requests_are_known(
    language: str, text: str, route: tuple[str, str, str]
) -> None:
    found = facts(language, text).routes()
    assert [(each.route.method, each.route.path, each.route.framework) for each in found if each.route] == [
        route
    ]


@pytest.mark.parametrize("text", ["cache.get('/a')", "@pytest.fixture\ndef f(): ...", "@x.get\ndef f(): ..."])
def test_other_functions_are_not(text: str) -> None:
    assert facts("python", text).routes() == ()


@pytest.mark.parametrize("language", ["python", "javascript", "typescript", "tsx", "go", "java"])
@pytest.mark.parametrize(
    "text", ["", "\n", "def f(:\n  x = (", "function f( { a.b(", "}{)(", "a.b.c.d(", "\x00", "é(ü.ö())"]
)
def test_any_text_has_facts(language: str, text: str) -> None:
    found = facts(language, text)
    assert all(call.span.start < call.span.end for call in found.calls)


def test_deep_and_long_chains_end() -> None:
    assert last(facts("python", "a = b\nb = a\na.c()")).method == "c"
    assert last(facts("python", "a = a.b()\na.c()")).name == "a.b().c"
    found = facts("python", "x" + ".f()" * 2000)
    assert len(found.calls) == 2000
    assert facts("python", "f(" * 800 + ")" * 800).calls


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "@d(lambda: a())\ndef f(x=lambda: b()):\n    return [g(y) for y in h(z) if y]\n"),
        ("javascript", "xs.map(x => x.map(y => f(y))).filter(z => { try { g(z); } catch (e) {} });"),
        ("go", "func f() { for _, a := range b { if err := g(a); err != nil { h(err) } } }"),
        ("java", "class A { int f() { b.forEach(x -> c(x)); try { d(); } finally { e(); } return 1; } }"),
    ],
)
def test_facts_are_in_the_order_of_the_text(language: str, text: str) -> None:
    found = facts(language, text)
    lists = (
        found.scopes,
        found.calls,
        found.loops,
        found.tries,
        found.assignments,
        found.accesses,
        found.steps,
    )
    for listed in lists:
        starts = [each.span.start for each in listed]
        assert starts == sorted(starts)


def test_a_loop_that_only_counts_assigns_nothing() -> None:
    found = facts(
        "go",
        "func f(n int, ticks chan int) { for range n { g() }\nfor range ticks { h() }\nfor i := range n { k(i) } }",
    )
    assert [each.targets for each in found.assignments] == [("i",)]


def test_a_continued_line_is_no_argument() -> None:
    (call,) = facts("python", "f(1, \\\n  2)").calls
    assert [(each.value.text, each.place) for each in call.arguments] == [("1", 0), ("2", 1)]


def test_reads_are_made_when_they_are_looked_at() -> None:
    found = facts("python", "\n".join(f"a{number} = b{number}.c" for number in range(500)))
    made: list[object] = []
    make = found.accesses._make
    found.accesses._make = lambda raw: made.append(raw) or make(raw)  # type: ignore[func-returns-value]
    first = found.assignments[250]
    assert [each.written for each in found.within(found.accesses, first.span)] == ["b250.c"]
    assert len(made) < 40
    assert found.accesses[-1].written == "b499.c"
    assert [each.written for each in found.accesses] == [f"b{number}.c" for number in range(500)]
