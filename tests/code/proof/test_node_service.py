"""How a JavaScript file is run as a service, read from its text and from the files of its project."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.base.errors import InputError, TargetError
from faultkit.code.proof.node_service import node_interpreter, node_service
from faultkit.code.proof.service import Service, Upstream

EXPRESS = """
const express = require('express');
const axios = require('axios');
const app = express();
const API = process.env.API_URL || 'https://api.example.com/v1';
// app.get('/commented', () => fetch(API));
app.get('/health', (req, res) => res.send('ok'));
app.get('/items/:id', async (req, res) => res.json((await axios.get(`${API}/items/${req.params.id}`)).data));
app.get('/items', async (req, res) => {
  res.json((await axios.get(`${API}/items`)).data);
});
app.listen(3000);
"""


def service_of(text: str, tmp_path: Path, **options: object) -> Service:
    file = tmp_path / "app.js"
    file.write_text(text)
    return node_service(str(file), text, **options)  # type: ignore[arg-type]


def test_the_route_that_calls_out_is_chosen(tmp_path: Path) -> None:
    found = service_of(EXPRESS, tmp_path)
    upstream = Upstream("API_URL", "https://api.example.com/v1", "app.js")
    assert found == Service("node", str(tmp_path), "/items", (upstream,))
    assert service_of(EXPRESS, tmp_path, route="/health").route == "/health"


BY_HAND = """
const U = process.env.U_URL;
const stock = async (res) => {
  res.end(await load('/stock'));
};
http.createServer(async (req, res) => {
  const { pathname } = new URL(req.url, 'http://x');
  if (pathname === '/health') {
    res.end('ok');
  } else if (pathname === '/stock') {
    await stock(res);
  } else if (pathname === '/items') {
    res.end(await (await fetch(U)).text());
  } else if (pathname === '/version') {
    res.end('1');
  }
}).listen(1);
async function load(path) {
  return (await fetch(U + path)).text();
}
"""


@pytest.mark.parametrize(
    ("touched", "route"),
    [((), "/stock"), ((11,), "/stock"), ((13,), "/items"), ((4,), "/stock"), ((19,), "/stock")],
)
def test_the_route_of_a_plain_server_is_the_one_that_calls_out(
    touched: tuple[int, ...], route: str, tmp_path: Path
) -> None:
    assert service_of(BY_HAND, tmp_path, touched=touched).route == route


VALUES = """
const U = process.env.U_URL;
app.get('/health', (req, res) => res.end('ok'));
app.post('/orders', async (req, res) => {
  await audit.post('/seen', req.body);
  res.json(await fetch(U));
});
app.get('/price/:sku', async (req, res) => {
  res.json(await fetch(U + req.params.sku));
});
app.listen(1);
"""


def test_a_route_that_needs_a_value_or_another_method_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"/price/:sku needs a value: --route /price/1$"):
        service_of(VALUES, tmp_path)
    with pytest.raises(InputError, match="found POST /orders: a proof sends GET only"):
        service_of(
            VALUES.replace("/price/:sku', async (req, res) => {", "/p', (req, res) => {").replace(
                "res.json(await fetch(U + req.params.sku))", "res.end()"
            ),
            tmp_path,
        )
    assert service_of(VALUES.replace("/price/:sku", "/price"), tmp_path).route == "/price"


def test_a_handler_that_is_named_in_a_route_is_looked_into(tmp_path: Path) -> None:
    text = (
        "const U = process.env.U_URL;\napp.get('/health', health);\napp.get('/items', items);\n"
        "app.listen(1);\nfunction health(req, res) { res.end(); }\nconst items = (req, res) => fetch(U);\n"
    )
    assert service_of(text, tmp_path).route == "/items"


def test_a_route_that_has_what_a_change_is_about_is_preferred(tmp_path: Path) -> None:
    more = EXPRESS.replace(
        "app.listen", "/* Two\nlines */\napp.get('/stock', () => {\n  fetch(API);\n});\napp.listen"
    )
    line = more.splitlines().index("  fetch(API);") + 1
    assert service_of(more, tmp_path).route == "/items"
    assert service_of(more, tmp_path, touched=(1, line)).route == "/stock"


@pytest.mark.parametrize(
    ("code", "route"),
    [
        ("http.createServer((req, res) => fetch(U)).listen(1)", "/"),
        ("http.createServer((req, res) => { if (req.url === '/a') fetch(U) }).listen(1)", "/a"),
        ("fastify.route({ method: 'GET', url: '/b', handler }); fastify.listen({ port: 1 })", "/b"),
        ("router.get('/c', handler); app.listen(1)", "/c"),
        ('app.get("/d", handler); app.listen(1)', "/d"),
    ],
)
def test_routes_of_frameworks_and_of_plain_servers_are_found(code: str, route: str, tmp_path: Path) -> None:
    assert service_of(f"const U = process.env.U_URL;\n{code}", tmp_path).route == route


@pytest.mark.parametrize(
    ("code", "upstreams"),
    [
        ("const a = process.env.API_URL", {"API_URL": ""}),
        ("const a = process.env['BACKEND'] ?? \"http://b:1/p\"", {"BACKEND": "http://b:1/p"}),
        ("const { STOCK_URL = 'http://s', PORT: port = '1' } = process.env", {"STOCK_URL": "http://s"}),
        ("const d = process.env.DATABASE_URL; const a = process.env.A_URL", {"A_URL": ""}),
        ("const a = 'https://api.example.com/v1/items'", {"https://api.example.com": "https://api.example.com"}),
        ("const config = require('./lib/config')", {"LIB_URL": "http://lib"}),
        ("import config from './lib/config.js'", {"LIB_URL": "http://lib"}),
    ],
)  # fmt: skip
def test_upstreams_are_found_in_the_file_and_in_those_that_it_loads(
    code: str, upstreams: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "config.js").write_text(
        "module.exports = { url: process.env.LIB_URL || 'http://lib' }"
    )
    found = service_of(f"{code}\nhttp.createServer().listen(1)", tmp_path).upstreams
    assert {each.name: each.default for each in found} == upstreams


def test_the_upstreams_of_both_versions_are_found(tmp_path: Path) -> None:
    changed = EXPRESS.replace(
        "const API", "const SPARE = process.env.SPARE_URL || 'https://spare';\nconst API"
    )
    found = service_of(EXPRESS, tmp_path, changed=changed).upstreams
    assert sorted(each.name for each in found) == ["API_URL", "SPARE_URL"]


def test_a_service_runs_in_the_folder_of_its_package(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text("{}")
    (tmp_path / ".env").write_text("API=https://api.example.com/v2")
    (tmp_path / "src").mkdir()
    found = service_of("const a = process.env.API\nhttp.createServer().listen(1)", tmp_path / "src")
    assert found.root == str(tmp_path)
    assert found.upstreams[0].default == "https://api.example.com/v2"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("module.exports = app", "a file that calls listen"),
        ("app.listen(1)", "name one with --route"),
        ("http.createServer().listen(1)", "variable of the environment, such as process.env.UPSTREAM_URL, "),
        ("http.createServer().listen(1)", "such as config.json, are not read"),
    ],
)
def test_a_file_that_cannot_be_run_is_reported(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        service_of(text, tmp_path)


def test_a_machine_without_node_is_reported(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="cannot start node"):
        node_interpreter({"PATH": str(tmp_path)})
