"""Input of callers in queries, commands, paths, URLs and code: what is reported, and what is not."""

from __future__ import annotations

import pytest

from faultkit.code import Span, language_named, parse
from faultkit.code.advice.threats import threats_in
from faultkit.code.facts import facts_of


def found_in(text: str, language: str) -> list[tuple[int, str, str]]:
    syntax = parse(text.encode(), language_named(language))
    threats = threats_in(facts_of(syntax), Span(0, len(text.encode())))
    return [(each.line, each.threat.title.split()[0].lower(), each.severity) for each in threats]


HANDLER = (
    'from flask import Flask, request\nimport os, pickle, requests, subprocess, yaml\napp = Flask("a")\n\n\n'
)


def handler(*lines: str, path: str = "/x") -> str:
    body = "\n".join(f"    {line}" for line in lines)
    return f'{HANDLER}@app.route("{path}")\ndef x(name="", path=""):\n{body}\n'


BLAMED = {
    "an f-string": ("cur.execute(f\"select * from t where n = '{request.args['n']}'\")", "query"),
    "a percent sign": ("cur.execute(\"select * from t where n = '%s'\" % name)", "query"),
    "a plus": ("cur.execute('select * from t where n = ' + name)", "query"),
    "format": ("cur.execute('select * from t where n = {}'.format(name))", "query"),
    "text in a wrapper": ("cur.execute(text(f'delete from t where n = {name}'))", "query"),
    "a shell": ("subprocess.run(f'ls {name}', shell=True)", "shell"),
    "os.system": ("os.system('ls ' + name)", "shell"),
    "a file": ("open('/data/' + path)", "path"),
    "a host": ("requests.get(f'https://{name}/x', timeout=3)", "request"),
    "a whole URL": ("requests.get(request.args['url'], timeout=3)", "request"),
    "a pickle": ("pickle.loads(request.data)", "input"),
    "eval": ("eval(name)", "input"),
    "an unsafe yaml": ("yaml.load(request.data)", "input"),
}


@pytest.mark.parametrize(("line", "title"), BLAMED.values(), ids=BLAMED)
def test_input_of_a_client_is_followed_to_a_dangerous_call(line: str, title: str) -> None:
    assert found_in(handler(line), "python") == [(8, title, "high")]


HARMLESS = {
    "a parameter of the query": "cur.execute('select * from t where n = ?', (name,))",
    "a constant": "cur.execute(f'select * from {TABLE} where n = ?', (name,))",
    "as many marks as items": "cur.execute(f\"select * from t where n in ({'?' * len(name)})\", name)",
    "a number": "cur.execute(f'select * from t limit {int(name)}')",
    "a list of arguments": "subprocess.run(['ls', name], timeout=3)",
    "a quoted word": "os.system('ls ' + shlex.quote(name))",
    "a path of ours": "open('/data/file')",
    "a path below a host of ours": "requests.get(f'{UPSTREAM}/users/{name}', timeout=3)",
    "a safe yaml": "yaml.load(request.data, Loader=yaml.SafeLoader)",
    "a yaml loader of our own": "yaml.load(request.data, Loader=_Loader)",
    "a literal": "eval('1 + 1')",
    "a text that is no query": "cur.execute(f'{name} is looked for')",
}


@pytest.mark.parametrize("line", HARMLESS.values(), ids=HARMLESS)
def test_harmless_uses_of_input_are_not_reported(line: str) -> None:
    assert found_in(handler(line), "python") == []


def test_a_name_is_followed_through_plain_assignments() -> None:
    lines = (
        "wanted = request.args.get('n')",
        "query = f'select * from t where n = {wanted}'",
        "db.execute(query)",
    )
    assert found_in(handler(*lines), "python") == [(10, "query", "high")]


def test_a_name_that_is_checked_against_a_known_set_is_not_reported() -> None:
    lines = ("if name not in ('a', 'b'):", "    return 400", "db.execute(f'select * from t order by {name}')")
    assert found_in(handler(*lines), "python") == []


def test_a_path_that_is_resolved_first_is_not_reported() -> None:
    lines = ("full = (ROOT / path).resolve()", "open(full)")
    assert found_in(handler(*lines), "python") == []


def test_a_route_parameter_without_a_slash_is_not_reported() -> None:
    assert found_in(handler("open('/data/' + name)", path="/x/<name>"), "python") == []
    assert found_in(handler("open('/data/' + name)", path="/x/<path:name>"), "python") != []


def test_values_of_a_framework_and_numbers_are_no_input() -> None:
    text = (
        "from fastapi import Depends, FastAPI\napp = FastAPI()\n\n\n@app.get('/')\n"
        "def f(n: int, db=Depends(get)):\n    db.execute(f'select {db} from t limit {n}')\n"
    )
    assert found_in(text, "python") == []


def test_outside_of_handlers_a_query_is_less_certain_and_a_path_is_no_threat() -> None:
    text = "def f(cur, name):\n    cur.execute(f'select {name}')\n    return open(name)\n"
    assert found_in(text, "python") == [(2, "query", "medium")]


OTHERS = {
    "javascript": (
        'import { exec } from "child_process";\n'
        'app.get("/x", async (req, res) => {\n'
        "  const { q } = req.query;\n"
        "  await db.query(`select * from t where a = ${q}`);\n"
        "  await db.query(sql`select * from t where a = ${q}`);\n"
        "  exec(`ls ${q}`);\n"
        "  const r = await fetch(req.query.url);\n"
        "  const s = await fetch(`${BASE}/x/${q}`);\n"
        "});\n",
        [(4, "query", "high"), (6, "shell", "high"), (7, "request", "high")],
    ),
    "go": (
        'package main\n\nimport (\n\t"fmt"\n\t"net/http"\n\t"os"\n\t"os/exec"\n)\n\n'
        "func H(w http.ResponseWriter, r *http.Request) {\n"
        '\tid := r.URL.Query().Get("id")\n'
        '\tdb.Query(fmt.Sprintf("select * from t where id = %s", id))\n'
        '\tdb.Query("select * from t where id = $1", id)\n'
        '\texec.Command("sh", "-c", "ls "+id).Run()\n'
        '\texec.Command("ls", id).Run()\n'
        '\tos.ReadFile("/data/" + id)\n'
        "}\n",
        [(12, "query", "high"), (14, "shell", "high"), (16, "path", "high")],
    ),
    "java": (
        'class A {\n  @GetMapping("/x")\n  String x(@RequestParam String name, @RequestParam long n) {\n'
        '    jdbc.queryForObject("select * from t where a = " + name, String.class);\n'
        '    return jdbc.queryForObject("select * from t limit " + n, String.class);\n  }\n}\n',
        [(4, "query", "high")],
    ),
}


@pytest.mark.parametrize("language", OTHERS)
def test_other_languages_are_read_the_same_way(language: str) -> None:
    text, expected = OTHERS[language]
    assert found_in(text, language) == expected
