"""How a function is called decides which objectives it has, and over which metrics."""

from __future__ import annotations

import pytest

from faultkit.code.slos import all_objectives, objectives_of, suggest_slos
from tests.code.slos.support import work

FASTAPI = "from fastapi import FastAPI\napp = FastAPI()\n"
FLASK = "from flask import Flask\napp = Flask(__name__)\n"
EXPRESS = 'const express = require("express");\nconst app = express();\n'
GIN = 'package main\nimport "github.com/gin-gonic/gin"\n'
HTTP = 'package main\nimport "net/http"\n'

ENTRIES = {
    "fastapi": (
        "python",
        FASTAPI + "@app.post('/orders/{id}')\nasync def add(id): ...\n",
        ("request", "add", "POST", "/orders/{id}", "fastapi"),
    ),
    "flask": (
        "python",
        FLASK + "@app.route('/a')\ndef a():\n    return ''\n",
        ("request", "a", "GET", "/a", "flask"),
    ),
    "starlette": (
        "python",
        "from starlette.routing import Route\nasync def home(request):\n    return 1\n"
        "routes = [Route('/home', endpoint=home, methods=['GET'])]\n",
        ("request", "home", "GET", "/home", "starlette"),
    ),
    "starlette, in a FastAPI application": (
        "python",
        "from starlette.routing import Route\n"
        + FASTAPI
        + "def a(request): ...\nroutes = [Route('/a', a)]\n",
        ("request", "a", "GET", "/a", "fastapi"),
    ),
    "a rule of flask": (
        "python",
        FLASK + "def a():\n    return ''\napp.add_url_rule('/a', 'a', a, methods=['POST'])\n",
        ("request", "a", "POST", "/a", "flask"),
    ),
    "a rule of an application from elsewhere": (
        "python",
        "from shop import app\ndef a():\n    return ''\napp.add_url_rule('/a', view_func=a)\n",
        ("request", "a", "GET", "/a", "flask"),
    ),
    "a class of views": (
        "python",
        FLASK + "class A(MethodView):\n    def post(self):\n        return ''\n"
        "app.add_url_rule('/a', view_func=A.as_view('a'))\n",
        ("request", "A.post", "POST", "/a", "flask"),
    ),
    "add_api_route": (
        "python",
        FASTAPI + "def a(): ...\napp.add_api_route('/a', cached(a))\n",
        ("request", "a", "GET", "/a", "fastapi"),
    ),
    "aiohttp": (
        "python",
        "from aiohttp import web\nclass Shop:\n    def add(self, app):\n"
        "        app.router.add_route('PUT', '/a', self.a)\n    async def a(self, request): ...\n",
        ("request", "Shop.a", "PUT", "/a", "aiohttp"),
    ),
    "a registration without a framework": (
        "python",
        "def a(): ...\ntable.add_route('/a', a)\n",
        ("request", "a", "ANY", "/a", ""),
    ),
    "two frameworks": (
        "python",
        "import fastapi\n" + FLASK + "@app.route('/a')\ndef a():\n    return ''\n",
        ("request", "a", "GET", "/a", "flask"),
    ),
    "django": (
        "python",
        "from django.urls import path\ndef users(request):\n    return 1\n"
        "urlpatterns = [path('users/', users)]\n",
        ("request", "users", "ANY", "/users/", "django"),
    ),
    "grpc": (
        "python",
        "class Greeter:\n    def SayHello(self, request, context):\n        return 1\n",
        ("request", "Greeter.SayHello", "ANY", "", "grpc"),
    ),
    "without an import": (
        "python",
        "@router.get('/a')\ndef a():\n    return 1\n",
        ("request", "a", "GET", "/a", ""),
    ),
    "express": (
        "javascript",
        EXPRESS + "app.get('/users/:id', async (req, res) => { res.json({}); });\n",
        ("request", "", "GET", "/users/:id", "express"),
    ),
    "express, by name": (
        "typescript",
        EXPRESS + "app.put('/a', save);\nfunction save(req: Request, res: Response) { res.end(); }\n",
        ("request", "save", "PUT", "/a", "express"),
    ),
    "a handler of another file": (
        "javascript",
        "function list(req, res) { res.end(); }\n",
        ("request", "list", "ANY", "", ""),
    ),
    "next": (
        "typescript",
        "export async function GET(request: Request) { return Response.json({}); }\n",
        ("request", "GET", "GET", "", "next"),
    ),
    "net/http": (
        "go",
        HTTP + "func users(w http.ResponseWriter, r *http.Request) {}\n"
        'func main() { http.HandleFunc("GET /users/{id}", users) }\n',
        ("request", "users", "GET", "/users/{id}", "net/http"),
    ),
    "a function that makes a handler": (
        "go",
        HTTP + "func users(db *DB) http.HandlerFunc {\n\tsetup()\n"
        "\treturn func(w http.ResponseWriter, r *http.Request) {}\n}\n"
        'func main() { mux.Handle("GET /users", users(db)) }\n',
        ("request", "users", "GET", "/users", "net/http"),
    ),
    "a handler in its registration": (
        "go",
        HTTP + 'func main() { http.HandleFunc("/a", func(w http.ResponseWriter, r *http.Request) {}) }\n',
        ("request", "", "ANY", "/a", "net/http"),
    ),
    "a wrapped handler": (
        "go",
        HTTP + "func users(w http.ResponseWriter, r *http.Request) {}\n"
        'func main() { mux.Handle("/users", logged(http.HandlerFunc(users))) }\n',
        ("request", "users", "ANY", "/users", "net/http"),
    ),
    "a router with a prefix": (
        "python",
        "from fastapi import APIRouter\nrouter = APIRouter(prefix='/api')\n@router.get('/a')\ndef a(): ...\n",
        ("request", "a", "GET", "/api/a", "fastapi"),
    ),
    "a blueprint with a prefix": (
        "python",
        "from flask import Blueprint\nbp = Blueprint('b', __name__, url_prefix='/api/')\n"
        "@bp.route('/a')\ndef a(): ...\n",
        ("request", "a", "GET", "/api/a", "flask"),
    ),
    "gin": (
        "go",
        GIN
        + 'func user(c *gin.Context) {}\nfunc main() { r := gin.Default(); r.DELETE("/users/:id", user) }\n',
        ("request", "user", "DELETE", "/users/:id", "gin"),
    ),
    "spring": (
        "java",
        '@RestController @RequestMapping("/api") class Users { @GetMapping("/users/{id}") '
        "User get(String id) { return null; } }",
        ("request", "Users.get", "GET", "/api/users/{id}", "spring"),
    ),
    "a stream": (
        "python",
        FASTAPI + "@app.get('/s')\nasync def s():\n    return StreamingResponse(rows())\n",
        ("stream", "s", "GET", "/s", "fastapi"),
    ),
    "a websocket": (
        "python",
        FASTAPI + "@app.websocket('/ws')\nasync def ws(websocket):\n    await websocket.accept()\n",
        ("stream", "ws", "ANY", "/ws", "fastapi"),
    ),
    "events": (
        "javascript",
        EXPRESS + "app.get('/e', (req, res) => { res.set('Content-Type', 'text/event-stream'); });\n",
        ("stream", "", "GET", "/e", "express"),
    ),
    "celery": (
        "python",
        "@app.task(bind=True)\ndef send(self, order):\n    pass\n",
        ("message", "send", "ANY", "", ""),
    ),
    "a consumer's loop": (
        "python",
        "def work():\n    while True:\n        handle(queue.get())\n",
        ("message", "work", "ANY", "", ""),
    ),
    "a consumer's messages": (
        "python",
        "async def read(consumer):\n    async for message in consumer:\n        store(message)\n",
        ("message", "read", "ANY", "", ""),
    ),
    "kafka": (
        "java",
        'class A { @KafkaListener(topics = "a") void on(String m) { } }',
        ("message", "A.on", "ANY", "", ""),
    ),
    "a schedule": (
        "java",
        'class A { @Scheduled(cron = "0 0 * * *") void clean() { } }',
        ("job", "A.clean", "ANY", "", ""),
    ),
    "a name of a job": (
        "python",
        "def nightly_report():\n    pass\n",
        ("job", "nightly_report", "ANY", "", ""),
    ),
    "a function": ("go", "func add(a int, b int) int { return a + b }\n", ("function", "add", "ANY", "", "")),
    "a method": (
        "python",
        "class Orders:\n    def total(self):\n        return 1\n",
        ("function", "Orders.total", "ANY", "", ""),
    ),
    "lines": ("python", "    x = 1\n    return x\n", ("function", "", "ANY", "", "")),
    "a script": ("javascript", "console.log(1);\n", ("function", "", "ANY", "", "")),
}


@pytest.mark.parametrize(("language", "text", "expected"), ENTRIES.values(), ids=ENTRIES)
def test_the_kind_of_entry_is_read_from_the_text(
    language: str, text: str, expected: tuple[str, str, str, str, str]
) -> None:
    entry = work(text, language).entry
    assert (entry.kind, entry.name, entry.method, entry.path, entry.framework) == expected


SETS = {
    "request": ["latency 95", "latency 99", "availability 99.9", "error 99"],
    "message": ["latency 95", "latency 99", "availability 99.9", "error 99"],
    "job": ["latency 95", "availability 99"],
    "function": ["latency 95", "latency 99", "error 99"],
}
TEXTS = {
    "request": "@app.get('/')\ndef f():\n    return 1\n",
    "message": "@app.task\ndef f():\n    return 1\n",
    "job": "@Scheduled\ndef f():\n    return 1\n",
    "function": "def f():\n    return 1\n",
}


@pytest.mark.parametrize("kind", SETS)
def test_each_kind_has_the_objectives_that_make_sense_for_it(kind: str) -> None:
    found = suggest_slos(TEXTS[kind], "python")
    assert [f"{each.type} {each.objective:g}" for each in found] == SETS[kind]


METRICS = {
    "request": ["http_server_request_duration_seconds_bucket", "http_server_request_duration_seconds_count"],
    "message": ["message_processing_seconds_bucket", "messages_processed_total", "messages_received_total"],
    "job": ["job_duration_seconds_bucket", "job_runs_total"],
    "function": ["function_duration_seconds_bucket", "function_calls_total"],
}


@pytest.mark.parametrize("kind", METRICS)
def test_each_kind_has_metrics_of_its_own(kind: str) -> None:
    queries = " ".join(each.prometheus for each in suggest_slos(TEXTS[kind], "python"))
    names = [name for each in METRICS.values() for name in each]
    assert [name for name in names if name in queries] == METRICS[kind]
    label = 'http_route="/",http_request_method="GET"' if kind == "request" else 'function="f"'
    assert label in queries


def test_the_window_of_a_job_is_a_day() -> None:
    latency, success = suggest_slos(TEXTS["job"], "python")
    assert latency.window == success.window == "86400s"
    assert latency.threshold == 60.0
    assert success.prometheus == (
        'sum(rate(job_runs_total{function="f",outcome="success"}[1d]))/sum(rate(job_runs_total{function="f"}[1d]))*100'
    )


def test_a_stream_is_measured_to_its_first_byte() -> None:
    first = suggest_slos(ENTRIES["a stream"][1], "python")[0]
    assert (
        'sum(rate(http_time_to_first_byte_seconds_bucket{handler="/s",method="GET"}[5m]))' in first.prometheus
    )
    assert "time to the first byte" in first.explanation
    assert "No exporter measures http_time_to_first_byte_seconds" in first.needs


def test_queries_for_spring_select_by_route_as_its_metrics_do() -> None:
    first = suggest_slos(ENTRIES["spring"][1], "java")[0]
    assert first.prometheus == (
        "histogram_quantile(0.95, sum(rate(http_server_requests_seconds_bucket"
        '{uri="/api/users/{id}",method="GET"}[5m])) by (le))'
    )


@pytest.mark.parametrize("text", ["x = 1\n", ENTRIES["lines"][1], "import os\nprint(os.getcwd())\n"])
def test_a_text_without_a_function_has_no_objectives_and_a_reason(text: str) -> None:
    found = objectives_of(text, "python")
    assert found.slos == ()
    assert found.reason == "the text has no function, and no call that is known to leave its process"


def test_what_the_text_does_not_state_has_a_placeholder_and_is_said() -> None:
    lines = suggest_slos("    return requests.get(u)\n", "python")[0]
    assert 'function="FUNCTION"' in lines.prometheus
    assert lines.needs.startswith("The function has no name here: write it in place of FUNCTION.")
    handler = suggest_slos(ENTRIES["a handler of another file"][1], "javascript")[0]
    assert 'http_route="ROUTE"' in handler.prometheus
    assert "The route is not in this text: write it in place of ROUTE." in handler.needs


@pytest.mark.parametrize("route", ["@app.get('/')", "@app.get('/{id}')", "@app.post('/')"])
def test_errors_of_clients_do_not_count(route: str) -> None:
    errors = suggest_slos(f"{route}\ndef f(id=1):\n    return 1\n", "python")[-1]
    assert (errors.type, errors.threshold) == ("error", 1.0)
    assert '=~"5..|"' in errors.prometheus
    assert "Errors of clients (4xx) do not count." in errors.explanation


def test_the_function_that_matters_most_is_chosen_and_the_rest_counted() -> None:
    text = (
        "def helper():\n    return 1\n\ndef main():\n    run()\n\n@app.get('/')\ndef home():\n    return 1\n"
    )
    found = work(text)
    assert (found.entry.name, found.others) == ("home", 2)
    assert "2 other functions were not looked at." in suggest_slos(text, "python")[0].explanation


def test_the_calls_of_a_made_handler_are_its_own() -> None:
    text = (
        HTTP + "func users() http.HandlerFunc {\n\thttp.Get(a)\n"
        "\treturn func(w http.ResponseWriter, r *http.Request) {\n\t\thttp.Get(b)\n\t}\n}\n"
    )
    assert [each.line for each in work(text, "go").dependencies] == [6]
    assert work(text, "go", "users").entry.kind == "request"


def test_a_middleware_is_no_endpoint() -> None:
    text = (
        HTTP + "func logged(next http.Handler) http.Handler {\n"
        "\treturn http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, r) })\n"
        "}\n"
    )
    assert work(text, "go", "logged").entry.kind == "function"
    assert all_objectives(text, "go") == ()


def test_a_handler_without_a_known_route_is_left_out_of_all() -> None:
    text = HTTP + "func users(w http.ResponseWriter, r *http.Request) {}\nfunc main() { run() }\n"
    (found,) = all_objectives(text, "go")
    assert (found.entry.name, found.slos, found.reason) == ("users", (), "its route is not in this text")


def test_a_function_can_be_named() -> None:
    text = "def a():\n    return 1\n\nclass B:\n    def a(self):\n        return requests.get(u)\n"
    assert work(text, function="B.a").entry.name == "B.a"
    assert [each.call for each in work(text, function="B.a").dependencies] == ["requests.get"]
    assert work(text, function="a").dependencies == ()
