"""How a Python file is run as a service, read from its syntax and from the files of its project."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.base.errors import InputError
from faultkit.code.proof.python_service import python_service
from faultkit.code.proof.service import Service, Upstream

SEED = """
import os
import httpx
from fastapi import FastAPI

UPSTREAM_URL = os.getenv("UPSTREAM_URL", "https://example.com/v1")
app = FastAPI()

@app.get("/health")
def health():
    return {"ok": True}

def fetch():
    return httpx.get(f"{UPSTREAM_URL}/todos/1")

@app.get("/todo")
def index():
    return fetch().json()
"""


APPLICATION = "\nasync def app(a, b, c): ...\n"
READS = 'import os\nU = os.getenv("A_URL", "http://a")\n'


def service_of(text: str, tmp_path: Path, **options: object) -> Service:
    file = tmp_path / "app.py"
    file.write_text(text)
    return python_service(str(file), text, **options)  # type: ignore[arg-type]


def upstreams_of(text: str, tmp_path: Path, *named: str) -> dict[str, str]:
    """Return the names of the upstreams and their defaults."""
    return {
        each.name: each.default for each in service_of(text + APPLICATION, tmp_path, named=named).upstreams
    }


def test_the_route_that_calls_out_is_chosen(tmp_path: Path) -> None:
    upstream = Upstream("UPSTREAM_URL", "https://example.com/v1", "app.py")
    assert service_of(SEED, tmp_path) == Service("asgi", str(tmp_path), "/todo", (upstream,), "app", "app")
    assert upstream.path == "/v1"


def test_a_route_that_reaches_what_a_change_is_about_is_preferred(tmp_path: Path) -> None:
    more = SEED + (
        "\ndef stock():\n    return httpx.get(UPSTREAM_URL)\n\n"
        "@app.get('/stock')\ndef in_stock():\n    return stock().json()\n"
    )
    line = more.splitlines().index("def stock():") + 2
    assert service_of(more, tmp_path).route == "/todo"
    assert service_of(more, tmp_path, touched=(1, line)).route == "/stock"


def test_a_named_route_comes_first(tmp_path: Path) -> None:
    assert service_of(SEED, tmp_path, route="/health").route == "/health"


@pytest.mark.parametrize(
    ("text", "application", "interface", "route"),
    [
        ("site = Flask(__name__)\n@site.route('/a')\ndef a(): ...", "site", "wsgi", "/a"),
        ("api: object = fastapi.FastAPI()\n@api.get('/x')\ndef x(): ...", "api", "asgi", "/x"),
        ("def application(environ, start_response): ...", "application", "wsgi", "/"),
        ("async def app(scope, receive, send): ...", "app", "asgi", "/"),
        (
            "app = Flask(__name__)\n@app.route('/p', methods=['POST'])\ndef p(): ...\n"
            "@app.route('/i/<int:n>')\ndef i(n): ...\n@app.route('/g', methods=['GET'])\ndef g(): ...",
            "app", "wsgi", "/g",
        ),
    ],
)  # fmt: skip
def test_applications_of_both_kinds_are_found(
    text: str, application: str, interface: str, route: str, tmp_path: Path
) -> None:
    found = service_of(READS + text, tmp_path)
    assert (found.application, found.interface, found.route) == (application, interface, route)


@pytest.mark.parametrize(
    ("code", "upstreams"),
    [
        ('A = os.getenv("BACKEND", "http://b:1/p")', {"BACKEND": "http://b:1/p"}),
        ('A = os.environ["API_URL"]', {"API_URL": ""}),
        ('A = os.environ.get("SERVICE_URL")', {"SERVICE_URL": ""}),
        ('A = os.getenv("SERVICE") or "http://s/v2"', {"SERVICE": "http://s/v2"}),
        ('A = os.getenv("X_URL", "http://x"); B = os.getenv("X_URL")', {"X_URL": "http://x"}),
        ('A = os.environ["API_URL"]; B = os.environ["DATABASE_URL"]', {"API_URL": ""}),
        ('A = os.getenv("REDIS_URL", "redis://r"); B = os.getenv("C_URL")', {"C_URL": ""}),
        ('A = config("BILLING_URL", default="https://b")', {"BILLING_URL": "https://b"}),
        ('A = env.str("BILLING_URL")', {"BILLING_URL": ""}),
    ],
)
def test_variables_that_name_dependencies_are_found(
    code: str, upstreams: dict[str, str], tmp_path: Path
) -> None:
    assert upstreams_of(f"import os\n{code}", tmp_path) == upstreams


@pytest.mark.parametrize(
    ("settings", "upstreams"),
    [
        ('import os\nURL = os.getenv("A_URL", "http://a/v1")', {"A_URL": "http://a/v1"}),
        (
            "class S(BaseSettings):\n    a_url: str = 'http://a'\n    debug: bool = False",
            {"A_URL": "http://a"},
        ),
        (
            "class S(pydantic_settings.BaseSettings):\n"
            "    model_config = SettingsConfigDict(env_prefix='shop_')\n    a_url: AnyHttpUrl",
            {"SHOP_A_URL": ""},
        ),
        (
            "class S(BaseSettings):\n    one: str = Field('http://a', validation_alias='OTHER')\n"
            "    class Config:\n        env_prefix = 'X_'",
            {"OTHER": "http://a"},
        ),
    ],
)
@pytest.mark.parametrize(
    "how", ["import shop.settings", "from shop.settings import S", "from shop import settings"]
)
def test_settings_in_another_module_are_found(
    settings: str, upstreams: dict[str, str], how: str, tmp_path: Path
) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "settings.py").write_text(settings)
    assert upstreams_of(how, tmp_path) == upstreams
    where = service_of(how + APPLICATION, tmp_path).upstreams[0].where
    assert where == "shop/settings.py"


def test_modules_are_followed_through_relative_imports_and_circles(tmp_path: Path) -> None:
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "clients.py").write_text("from . import config, app\n")
    (package / "config.py").write_text('import os\nX = os.environ["STOCK_URL"]\n')
    text = "from .clients import call" + APPLICATION
    (package / "app.py").write_text(text)
    found = python_service(str(package / "app.py"), text)
    assert (found.root, found.module) == (str(tmp_path), "shop.app")
    assert found.upstreams == (Upstream("STOCK_URL", "", "shop/config.py"),)


@pytest.mark.parametrize(
    ("how", "root", "module"),
    [
        ("from shop.api.config import X", ".", "shop.api.app"),
        ("from shop.api import config", ".", "shop.api.app"),
        ("import shop.api.config", ".", "shop.api.app"),
        ("from api.config import X", "shop", "api.app"),
        ("from .config import X", "shop", "api.app"),
        ("from . import config", "shop", "api.app"),
        ("from ..api import config", ".", "shop.api.app"),
        ("import config", "shop/api", "app"),
        ("import config, shop", "shop/api", "app"),
    ],
)
def test_a_package_without_an_init_file_is_told_by_imports(
    how: str, root: str, module: str, tmp_path: Path
) -> None:
    package = tmp_path / "shop" / "api"
    package.mkdir(parents=True)
    (package / "config.py").write_text('import os\nX = os.environ["STOCK_URL"]\n')
    (package / "app.py").write_text(how + APPLICATION)
    found = python_service(str(package / "app.py"), how + APPLICATION)
    assert (found.root, found.module) == (str((tmp_path / root).resolve()), module)
    assert [each.name for each in found.upstreams] == ["STOCK_URL"]


def test_an_env_file_has_the_defaults(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        '# upstreams\nexport STOCK="https://stock.example.com/v3"\nOTHER=https://x\nCACHE_URL=redis://r\n'
    )
    code = 'import os\nA = os.environ["STOCK"]\nB = os.environ["CACHE_URL"]'
    assert upstreams_of(code, tmp_path) == {"STOCK": "https://stock.example.com/v3"}


def test_urls_in_the_text_are_upstreams_if_there_is_no_variable_or_they_are_named(tmp_path: Path) -> None:
    code = '"""See https://docs.example.com/."""\nA = "https://api.example.com/v1/items"\nB = f"http://b:81/{A}"\n'
    urls = {"https://api.example.com": "https://api.example.com", "http://b:81": "http://b:81"}
    assert upstreams_of(code, tmp_path) == urls
    assert upstreams_of(READS + code, tmp_path) == {"A_URL": "http://a"}
    named = upstreams_of(READS + code, tmp_path, "http://b:81")
    assert named == {"A_URL": "http://a", "http://b:81": "http://b:81"}
    assert service_of(code + APPLICATION, tmp_path).upstreams[0].is_text


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ('A = os.getenv("A_URL")', 'B = os.getenv("B_URL", "http://b")', ["A_URL", "B_URL"]),
        ('A = os.getenv("A_URL", "http://a")', 'B = "http://b/v1"', ["A_URL", "http://b"]),
        ('A = os.getenv("A_URL"); B = "http://b"', 'A = os.getenv("A_URL"); B = "http://b"', ["A_URL"]),
        ('A = "http://a"', 'A = os.getenv("A_URL", "http://a")', ["A_URL", "http://a"]),
        ('A = os.getenv("A_URL")', "A = 1", ["A_URL"]),
    ],
)
def test_the_upstreams_of_both_versions_are_found(
    old: str, new: str, names: list[str], tmp_path: Path
) -> None:
    found = service_of(f"import os\n{old}{APPLICATION}", tmp_path, changed=f"import os\n{new}{APPLICATION}")
    assert sorted(each.name for each in found.upstreams) == names
    named = service_of(
        f"import os\n{old}{APPLICATION}",
        tmp_path,
        changed=f"import os\n{new}{APPLICATION}",
        named=names,
    )
    assert sorted(each.name for each in named.upstreams) == names


def test_a_changed_version_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"app\.py, changed: expected Python that can be run"):
        service_of(READS + APPLICATION, tmp_path, changed="def broken(:")


def test_a_variable_that_does_not_look_like_a_url_can_be_named(tmp_path: Path) -> None:
    code = 'import os\nA = os.environ["STOCK"]'
    assert upstreams_of(code, tmp_path, "STOCK") == {"STOCK": ""}
    with pytest.raises(InputError, match=r"imports reads \(none\), got STOKC"):
        upstreams_of(code, tmp_path, "STOKC")


@pytest.mark.parametrize(
    ("text", "route"),
    [
        ("app = Starlette(routes=[Route('/', home), Route('/i', items)])", "/i"),
        ("app = Starlette(routes=[Route('/n/{n}', items), Route(path='/i', endpoint=items)])", "/i"),
        ("app = Starlette(routes=[Mount('/api/', routes=[Route('/i', items)])])", "/api/i"),
        ("app = Starlette(routes=[Mount(PREFIX, routes=[Route('/i', items)]), Route('/', home)])", "/"),
        ("app = Starlette()\napp.add_route('/', home)\napp.add_route('/i', items)", "/i"),
        ("app = Starlette(routes=[Route('/w', items, methods=['POST']), Route('/c', Items)])", "/c"),
        ("app = FastAPI()\napp.add_api_route('/i', items, methods={'GET'})", "/i"),
        ("app = Flask('x')\napp.add_url_rule('/i', 'items', items)", "/i"),
        ("app = Flask('x')\napp.add_url_rule('/i', view_func=items)", "/i"),
        ("app = falcon.Falcon()\napp.add_route('/h', Home())\napp.add_route('/i', Items())", "/i"),
        ("app = Sanic('x')\napp.add_route(items, '/i')", "/i"),
        ("@get('/i')\nasync def served(): return items(0)\napp = Litestar([served])", "/i"),
    ],
)
def test_routes_of_calls_and_of_plain_decorators_are_found(text: str, route: str, tmp_path: Path) -> None:
    code = (
        "import httpx, os\nURL = os.environ['A_URL']\n"
        "def home(request): return 1\n"
        "def items(request): return httpx.get(URL)\n"
        "class Home:\n    def on_get(self): return 1\n"
        "class Items:\n    def get(self): return httpx.get(URL)\n"
    )
    assert service_of(f"{code}{text}\n", tmp_path).route == route


VALUES = """
import os, requests
from flask import Flask
URL = os.environ["A_URL"]
app = Flask(__name__)

def load(sku): return requests.get(URL + sku).json()

@app.get("/stock/<string:sku>/<int:n>")
def stock(sku, n): return load(sku)

@app.get("/health")
def health():
    return "ok"

@app.route("/orders", methods=["PUT", "POST"])
def order():
    return requests.post(URL).json()
"""


def test_a_route_that_needs_a_value_is_named_and_none_is_called_in_its_place(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"/stock/<string:sku>/<int:n> needs a value: --route /stock/1/1$"):
        service_of(VALUES, tmp_path)
    assert service_of(VALUES, tmp_path, route="/stock/1/1").notes == ()


def test_a_route_for_another_method_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found PUT /orders: a proof sends GET only"):
        service_of(VALUES.replace("return load(sku)", "return 1"), tmp_path)


def test_a_route_that_is_not_known_to_call_out_is_called_with_a_note(tmp_path: Path) -> None:
    text = VALUES.replace("requests.", "clients.")
    assert service_of(text, tmp_path).route == "/health"
    (note,) = service_of(text, tmp_path).notes
    assert note == "No handler in app.py is known to call out: /health is called; --route names another"
    line = VALUES.splitlines().index('    return "ok"') + 1
    touched = service_of(VALUES, tmp_path, touched=(line,))
    assert touched.route == "/health"
    assert touched.notes[0].startswith("Not called: /stock/<string:sku>/<int:n> needs a value: --route /st")


@pytest.mark.parametrize(
    ("text", "route", "words"),
    [
        ("x = 1", None, "expected a service to run"),
        ("def broken(:", None, "expected Python that can be run"),
        ("app = FastAPI()\n@app.get('/i/{n}')\ndef i(n): ...", None, "needs a value: --route /i/1"),
        ("app = FastAPI()", None, "name one with --route"),
        ("app = FastAPI()", "items", "expected a path such as /items"),
        ("app = FastAPI()\n@app.get('/')\ndef i(): ...", "", 'expected a path such as /items, got ""'),
        (
            "def create_app(): return Flask('x')",
            None,
            "a function such as create_app.. returns is not supported",
        ),
        ("app = FastAPI()\n@app.post('/i')\ndef i(): ...", None, "found POST /i: a proof sends GET only"),
        ("async def app(a, b, c): ...", None, "upstream is a variable of the environment"),
    ],
)
def test_a_file_that_cannot_be_run_is_reported_with_the_missing_option(
    text: str, route: str | None, words: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=words):
        service_of(text, tmp_path, route=route)
