from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.base.errors import InputError
from faultkit.code import extract, function_names

APP = '''\
import httpx

@app.get("/")
async def index(client: str) -> dict:
    """Answers."""
    # Calls out.
    reply = await httpx.get(client)
    return reply.json()


class Store:
    @property
    def size(self):
        return 1
'''


@pytest.fixture
def app(tmp_path: Path) -> Path:
    path = tmp_path / "app.py"
    path.write_text(APP)
    return path


def test_names_are_listed_in_the_order_of_the_file(app: Path) -> None:
    assert function_names(app) == ["index", "Store.size"]
    assert function_names(f"file://{app}") == ["index", "Store.size"]


def test_a_function_is_given_whole_and_without_its_signature(app: Path) -> None:
    assert extract(app, "index") == {
        "full": APP[APP.index("@app.get") : APP.index("\n\n\nclass")],
        "body": APP[APP.index('"""Answers') : APP.index("\n\n\nclass")],
    }


def test_a_method_keeps_the_indentation_that_it_has_in_the_file(app: Path) -> None:
    assert extract(app, "size") == {
        "full": "@property\n    def size(self):\n        return 1",
        "body": "return 1",
    }


def test_braces_belong_to_the_body(tmp_path: Path) -> None:
    path = tmp_path / "a.go"
    path.write_text("package a\n\n// F is f.\nfunc F(x int) int {\n\treturn x\n}\n")
    assert extract(path, "F") == {
        "full": "func F(x int) int {\n\treturn x\n}",
        "body": "{\n\treturn x\n}",
    }


def test_an_unknown_function_is_told_with_its_file(app: Path) -> None:
    with pytest.raises(InputError) as caught:
        extract(app, "idnex")
    assert str(caught.value) == f'{app}: function: unknown name "idnex"; did you mean "index"?'
