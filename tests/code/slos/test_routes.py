"""The routes of handlers: all of their registrations, the prefixes of their routers, and what is left out."""

from __future__ import annotations

import pytest

from faultkit.code.slos import all_objectives, suggest_slos
from faultkit.code.slos.suggest import route_of

FASTAPI = "from fastapi import APIRouter, FastAPI\napp = FastAPI()\n"
FLASK = "from flask import Blueprint, Flask\napp = Flask(__name__)\n"
STARLETTE = "from starlette.routing import Mount, Route\ndef a(request): ...\ndef b(request): ...\n"
EXPRESS = "const express = require('express');\nconst app = express();\nconst router = express.Router();\n"
FASTIFY = "import Fastify from 'fastify';\nconst app = Fastify();\n"
HTTP = 'package main\nimport "net/http"\nfunc a(w http.ResponseWriter, r *http.Request) {}\n'
GIN = 'package main\nimport "github.com/gin-gonic/gin"\nfunc a(c *gin.Context) {}\n'
CHI = 'package main\nimport (\n\t"net/http"\n\t"github.com/go-chi/chi/v5"\n)\n' + HTTP.partition('"\n')[2]
GORILLA = CHI.replace("go-chi/chi/v5", "gorilla/mux")

WHOLE = {
    "a mount around routes": (
        "python",
        STARLETTE + "r = [Route('/a', a), Mount('/v1', routes=[Mount('/x', routes=[Route('/b', b)])])]\n",
        ["GET /a", "GET /v1/x/b"],
    ),
    "a mount of a list": (
        "python",
        STARLETTE + "v1 = [Route('/a', a)]\nr = [Mount('/v1', routes=v1), Route('/b', b)]\n",
        ["GET /v1/a", "GET /b"],
    ),
    "include_router": (
        "python",
        FASTAPI + "router = APIRouter(prefix='/a')\n@router.get('/x')\ndef x(): ...\n"
        "@router.get('')\ndef y(): ...\napp.include_router(router, prefix='/v2')\n",
        ["GET /v2/a/x", "GET /v2/a"],
    ),
    "a router in a router": (
        "python",
        FASTAPI + "inner = APIRouter()\nouter = APIRouter(prefix='/o')\n@inner.get('/x')\ndef x(): ...\n"
        "outer.include_router(inner, prefix='/i')\napp.include_router(outer)\n",
        ["GET /o/i/x"],
    ),
    "a router at two places": (
        "python",
        FASTAPI + "router = APIRouter()\nrouter.add_api_route('/x', x)\ndef x(): ...\n"
        "app.include_router(router, prefix='/v1')\napp.include_router(router, prefix='/v2')\n",
        ["GET /v1/x", "GET /v2/x"],
    ),
    "an application in an application": (
        "python",
        FASTAPI + "sub = FastAPI()\n@sub.get('/x')\ndef x(): ...\napp.mount('/sub', sub)\n",
        ["GET /sub/x"],
    ),
    "register_blueprint": (
        "python",
        FLASK + "bp = Blueprint('b', __name__, url_prefix='/old')\n@bp.route('/x')\ndef x(): ...\n"
        "app.register_blueprint(bp, url_prefix='/new')\n",
        ["GET /new/x"],
    ),
    "a prefix of the blueprint": (
        "python",
        FLASK + "bp = Blueprint('b', __name__, url_prefix='/b')\n@bp.route('/x')\ndef x(): ...\n"
        "app.register_blueprint(bp)\n",
        ["GET /b/x"],
    ),
    "two decorators": (
        "python",
        FLASK + "@app.route('/')\n@app.route('/index')\ndef x(): ...\n",
        ["GET /", "GET /index"],
    ),
    "use of express": (
        "javascript",
        EXPRESS + "router.get('/', (req, res) => {});\nrouter.get('/x', (req, res) => {});\n"
        "app.use('/api', auth, router);\n",
        ["GET /api", "GET /api/x"],
    ),
    "a chain of express": (
        "javascript",
        EXPRESS + "app.route('/x').get((req, res) => {}).post((req, res) => {});\n",
        ["GET /x", "POST /x"],
    ),
    "several paths": (
        "javascript",
        EXPRESS + "app.get(['/x', '/y'], (req, res) => {});\n",
        ["GET /x", "GET /y"],
    ),
    "functions before the handler": (
        "javascript",
        EXPRESS + "function auth(req, res, next) { next(); }\napp.get('/x', auth, (req, res) => {});\n"
        "app.get('/y', auth, list);\nfunction list(req, res) {}\n"
        "class A { may(req, res) {} add(app) { app.get('/z', this.may, (req, res) => {}); } }\n",
        ["GET /x", "GET /y", "GET /z"],
    ),
    "a call around the handler": (
        "javascript",
        EXPRESS + "app.get('/x', caught(async (req, res) => { rows.map((row) => row); }));\n"
        "app.get('/y', auth, caught(list));\nasync function list(req, res) {}\n",
        ["GET /x", "GET /y"],
    ),
    "escapes": (
        "javascript",
        EXPRESS + "app.get('/users/:id(\\\\d+)', (req, res) => {});\n",
        ["GET /users/:id(\\d+)"],
    ),
    "an object of fastify": (
        "typescript",
        FASTIFY + "app.route({ method: 'POST', url: '/x', handler: async (req, reply) => ({}) });\n"
        "app.route({ method: ['GET', 'PUT'], url: '/y', handler: y });\nasync function y(req, reply) {}\n",
        ["POST /x", "/y"],
    ),
    "a plugin of fastify": (
        "javascript",
        FASTIFY + "async function routes(fastify) { fastify.get('/x', async (req, res) => ({})); }\n"
        "app.register(routes, { prefix: '/v1' });\n",
        ["GET /v1/x"],
    ),
    "hono": (
        "typescript",
        "import { Hono } from 'hono';\nconst app = new Hono();\nconst api = new Hono();\n"
        "api.get('/x', (c) => c.text(''));\napp.route('/api', api);\n",
        ["GET /api/x"],
    ),
    "koa": (
        "javascript",
        "const Koa = require('koa');\nconst Router = require('@koa/router');\nconst app = new Koa();\n"
        "const router = new Router({ prefix: '/api' });\nrouter.get('/x', (ctx) => {});\n"
        "app.use(router.routes());\n",
        ["GET /api/x"],
    ),
    "two registrations": (
        "go",
        HTTP + 'func main() { http.HandleFunc("/x", a); http.HandleFunc("GET /items/{id}", a) }\n',
        ["/x", "GET /items/{id}"],
    ),
    "a handler within others": (
        "go",
        HTTP + 'func main() { mux.Handle("/x/", http.StripPrefix("/x", http.HandlerFunc(a)))\n'
        '\tmux.Handle("/y", http.TimeoutHandler(http.HandlerFunc(a), time.Second, "late")) }\n',
        ["/x/", "/y"],
    ),
    "groups of gin": (
        "go",
        GIN + 'func main() { r := gin.Default(); v1 := r.Group("/v1"); u := v1.Group("/users")\n'
        '\tu.GET("/:id", a); r.GET("/list", a); r.Group("/x").POST("/y", a) }\n',
        ["GET /v1/users/:id", "GET /list", "POST /x/y"],
    ),
    "routes of chi": (
        "go",
        CHI + 'func main() { r := chi.NewRouter(); r.Route("/v1", func(r chi.Router) { r.Get("/x", a) }) }\n',
        ["GET /v1/x"],
    ),
    "subrouters of gorilla": (
        "go",
        GORILLA + "func main() { r := mux.NewRouter(); s := r.PathPrefix(`/v1`).Subrouter()\n"
        '\ts.HandleFunc("/x", a) }\n',
        ["/v1/x"],
    ),
    "a controller of nest": (
        "typescript",
        "@Controller('cats') class C { @Get(':id') one() {} @Get() all() {} }",
        ["GET /cats/:id", "GET /cats"],
    ),
    "routes of ktor": (
        "kotlin",
        'import io.ktor.server.routing.*\nfun Application.shop() { routing { route("/users") {\n'
        '    get("/{id}") { call.respond(1) }\n    post { call.respond(2) }\n} } }\n',
        ["GET /users/{id}", "POST /users"],
    ),
    "a blueprint of sanic": (
        "python",
        "from sanic import Blueprint, Sanic\napp = Sanic('x')\nbp = Blueprint('b', url_prefix='/b')\n"
        "@bp.get('/x')\nasync def x(request): ...\napp.blueprint(bp)\n",
        ["GET /b/x"],
    ),
    "several paths of spring": (
        "java",
        '@RequestMapping("/api") class A { @GetMapping({"/x", "/y"}) String a() { return ""; } }',
        ["GET /api/x", "GET /api/y"],
    ),
}


@pytest.mark.parametrize(("language", "text", "expected"), WHOLE.values(), ids=WHOLE)
def test_a_route_has_the_prefixes_of_its_routers(language: str, text: str, expected: list[str]) -> None:
    found = all_objectives(text, language)
    assert [(route_of(each.entry), each.reason, each.entry.unmounted) for each in found] == [
        (route, "", "") for route in expected
    ]


PARTS = {
    "router": ("python", FASTAPI + "router = APIRouter(prefix='/a')\n@router.get('/x')\ndef x(): ...\n"),
    "bp": ("python", FLASK + "bp = Blueprint('b', __name__)\n@bp.route('/x')\ndef x(): ...\n"),
    "app.include_router": (
        "python",
        FASTAPI + "r = APIRouter()\n@r.get('/x')\ndef x(): ...\napp.include_router(r, prefix=PREFIX)\n",
    ),
    "routes": (
        "javascript",
        EXPRESS.replace("router", "routes")
        + "routes.get('/x', (req, res) => {});\nmodule.exports = routes;\n",
    ),
    "fastify": (
        "javascript",
        "export default async function (fastify) { fastify.get('/x', async (req, reply) => ({})); }\n",
    ),
    "g": ("go", GIN + 'func routes(g *gin.RouterGroup) { g.GET("/x", a) }\n'),
}


@pytest.mark.parametrize(("language", "text"), PARTS.values(), ids=PARTS)
def test_a_router_that_is_mounted_elsewhere_is_named(
    language: str, text: str, request: pytest.FixtureRequest
) -> None:
    router = request.node.callspec.id
    first = suggest_slos(text, language)[0]
    expected = f"The prefix of {router} is not in this text: add it to the route, if there is one."
    assert expected in first.needs


UNREAD = {
    "a regular expression": ("javascript", EXPRESS + "app.get(/^x/, (req, res) => {});\n", ["app.get:4"]),
    "handlers of another file": (
        "javascript",
        EXPRESS + "app.get('/x', users.list);\nrouter.route('/y').put(users.save);\n",
        ["app.get:4", "router.route().put:5"],
    ),
    "fastify": ("typescript", FASTIFY + "app.route({ url, handler });\n", ["app.route:3"]),
    "net/http": (
        "go",
        HTTP + 'func main() { http.HandleFunc("/a", a); http.Handle("/metrics", promhttp.Handler()) }\n',
        ["http.Handle:4"],
    ),
    "gin": ("go", GIN + "func main() { r := gin.Default(); r.GET(path, a) }\n", ["a:3", "r.GET:4"]),
    "flask": ("python", FLASK + "app.add_url_rule('/x', view_func=views.x)\n", ["app.add_url_rule:3"]),
    "django": (
        "python",
        "from django.urls import include, path\nurlpatterns = [\n    path('x/', views.x),\n"
        "    path('y/', include('y.urls')),\n]\n",
        ["path:3"],
    ),
    "calls that register nothing": (
        "javascript",
        EXPRESS + "app.use(cors());\nconst port = app.get('port');\naxios.get('/x', options);\n",
        [],
    ),
    "requests in go": (
        "go",
        HTTP + 'func main() { http.Post("/x", "text/plain", nil); http.HandleFunc("/a", a) }\n',
        [],
    ),
}


@pytest.mark.parametrize(("language", "text", "expected"), UNREAD.values(), ids=UNREAD)
def test_a_registration_that_is_not_understood_has_a_reason(
    language: str, text: str, expected: list[str]
) -> None:
    found = [each for each in all_objectives(text, language) if each.reason]
    assert [f"{each.entry.name}:{each.entry.line}" for each in found] == expected


@pytest.mark.parametrize("handler", ["list", "caught(list)"])
def test_a_wrapped_handler_has_its_framework(handler: str) -> None:
    text = EXPRESS + f"app.get('/x', {handler});\nasync function list(req, res) {{}}\n"
    (found,) = all_objectives(text, "javascript")
    assert (found.entry.name, found.entry.framework) == ("list", "express")


def test_a_middleware_of_go_has_no_route_of_its_own() -> None:
    text = HTTP + (
        "func logged(next http.HandlerFunc) http.HandlerFunc { return next }\n"
        'func main() { http.HandleFunc("/x", logged(a)) }\n'
    )
    assert [(each.entry.name, each.entry.path) for each in all_objectives(text, "go")] == [("a", "/x")]
