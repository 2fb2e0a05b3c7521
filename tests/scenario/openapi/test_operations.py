"""The operations of documents as calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

from faultkit.base.errors import InputError
from faultkit.scenario.openapi.openapi_document import read_openapi, source_of
from faultkit.scenario.openapi.operations import Operation, operations_of
from tests.scenario.openapi.documents import SPECS, operation, spec_of

BASE = "https://eu.library.test:8443/v2"
UUID = "3fa85f64-5717-4562-b3fc-2c963f66afa6"


def operations(name: str) -> dict[str, Operation]:
    return {each.operation_id: each for each in operations_of(read_openapi(source_of(str(SPECS / name))))}


LIBRARY, ORDERS = operations("library.yaml"), operations("orders.json")


def test_every_operation_is_found_in_order_and_has_an_id_of_its_own() -> None:
    assert list(LIBRARY) == [
        *("listBooks", "addBook", "get_books_bookId", "listBooks_2", "pages", "fillShelf", "login", "note"),
        "upload",
    ]
    assert list(ORDERS) == ["order", "change"]


def test_required_parameters_of_path_and_operation_make_the_call() -> None:
    call = LIBRARY["listBooks"]
    assert (call.method, call.path, call.base) == ("GET", "/books", BASE)
    assert call.url == (
        f"{BASE}/books?page=3&tags=string%7Cstring2&filter%5Bauthor%5D=Tove%20%26%20Co&filter%5Byear%5D=1900"
    )
    assert call.headers == {"X-Tenant": "acme", "Cookie": f"session={UUID}"}
    assert call.config_headers == {"Authorization": "Bearer REPLACE_ME_token"}
    assert call.placeholders == {"REPLACE_ME_token": "the token after Authorization: Bearer"}
    assert (call.body, call.status, call.deprecated) == (None, 200, False)


def test_a_body_is_an_example_of_its_schema() -> None:
    call = LIBRARY["addBook"]
    assert call.headers == {"Content-Type": "application/vnd.library+json", "X-Tenant": "acme"}
    assert json.loads(call.body or "") == {
        "name": "strin",
        "isbn": "000-1111111111",
        "binding": {"kind": "hard"},
        "published": "2024-01-15",
        "sequel": [],
        "price": 0.5,
        "note": "second hand",
    }
    assert call.status == 201


def test_path_parameters_are_segments_with_a_value() -> None:
    call = LIBRARY["get_books_bookId"]
    assert (call.url, call.segments) == (f"{BASE}/books/{{bookId}}", {"bookId": "11"})
    assert (call.config_headers, call.status, call.deprecated) == ({}, 200, True)


def test_a_path_value_whose_marks_must_stay_stands_in_the_url() -> None:
    call = LIBRARY["pages"]
    assert call.url == "http://pages.library.test/books/{bookId}/pages/;range=7;range=7"
    assert call.segments == {"bookId": "11"}
    assert call.config_headers == {"Authorization": "Basic REPLACE_ME_basic"}


def test_an_optional_credential_is_left_out() -> None:
    call = LIBRARY["listBooks_2"]
    assert (call.config_headers, call.body, call.status) == ({}, None, None)


def test_keys_go_to_headers_queries_and_cookies() -> None:
    call = LIBRARY["fillShelf"]
    assert call.url == "http://localhost/shelving/shelves/{shelf name}?api%20key=REPLACE_ME_in_query"
    assert call.segments == {"shelf name": "top/left ö"}
    assert call.config_headers == {
        "X-Key": "REPLACE_ME_key",
        "Cookie": "sid=REPLACE_ME_in_cookie; colour=red",
    }


def test_a_multipart_body_has_a_part_for_each_property() -> None:
    call = LIBRARY["fillShelf"]
    assert call.headers == {"Content-Type": "multipart/form-data; boundary=faultkit-boundary"}
    assert (call.body or "").split("\r\n") == [
        "--faultkit-boundary",
        'Content-Disposition: form-data; name="cover"; filename="example.bin"',
        "Content-Type: application/octet-stream",
        "",
        "binary",
        "--faultkit-boundary",
        'Content-Disposition: form-data; name="meta"',
        "Content-Type: application/json",
        "",
        '{"a":1}',
        "--faultkit-boundary",
        'Content-Disposition: form-data; name="tags"',
        "",
        "string",
        "--faultkit-boundary--",
        "",
    ]


@pytest.mark.parametrize(
    ("name", "content_type", "body", "status"),
    [
        ("login", "application/x-www-form-urlencoded", "user=a+b%26c&password=password", None),
        ("note", "text/plain", "two\nlines", 202),
        ("upload", "application/octet-stream", "binary", 200),
    ],
)
def test_bodies_of_other_types(name: str, content_type: str, body: str, status: int | None) -> None:
    call = LIBRARY[name]
    assert (call.headers, call.body, call.status) == ({"Content-Type": content_type}, body, status)


def test_a_3_1_document_gives_calls() -> None:
    order, change = ORDERS["order"], ORDERS["change"]
    assert order.config_headers == {"Authorization": "Bearer REPLACE_ME_oauth"}
    assert json.loads(order.body or "") == {
        "lines": [5, 10],
        "total": 0.25,
        "ship": "2024-01-15T12:00:00Z",
        "animal": {"species": "cat", "lives": 9},
        "coupon": "stri",
        "tuple": [1, True],
        "meta": {"property1": 1, "property2": 1},
        "tree": {"leaf": 1},
    }
    assert change.url == "http://localhost/api/orders/{id}?why=%7B%22a%22%3A%22x%20y%22%7D"
    assert change.segments == {"id": UUID}
    assert (change.headers["Content-Type"], change.body) == ("application/merge-patch+json", '{"paid": true}')


@pytest.mark.parametrize(
    ("location", "servers", "base"),
    [
        ("spec.yaml", None, "http://localhost"),
        ("spec.yaml", [], "http://localhost"),
        ("spec.yaml", [{"url": "/"}], "http://localhost"),
        ("spec.yaml", [{"url": "v1/"}], "http://localhost/v1"),
        ("spec.yaml", [{"url": "ws://h"}, {"url": "HTTP://h:81/a/"}], "http://h:81/a"),
        ("spec.yaml", [{"url": "http://user:secret@h/a?b=c"}], "http://h/a"),
        ("https://h.test:1/docs/spec.yaml", None, "https://h.test:1"),
        ("https://h.test:1/docs/spec.yaml", [{"url": "/v1"}], "https://h.test:1/v1"),
        ("https://h.test:1/docs/spec.yaml", [{"url": "../v1"}], "https://h.test:1/v1"),
        (
            "https://h.test/spec.yaml",
            [{"url": "{x}", "variables": {"x": {"enum": ["http://e"]}}}],
            "http://e",
        ),
        ("spec.yaml", [{"url": "http://[::1]:80/ä"}], "http://[::1]:80/%C3%A4"),
    ],
)
def test_the_server_is_the_first_that_speaks_http(location: str, servers: Any, base: str) -> None:
    spec = spec_of({"servers": servers, "paths": {"/": {"get": {}}}}, location=location)
    assert operations_of(spec)[0].base == base


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        (
            {"url": "http://{host}/"},
            'spec.yaml: servers: the variable "host" of "http://{host}/" has no default',
        ),
        ({"description": "x"}, "spec.yaml: servers: expected a url, got nothing"),
        ({"url": "http://h:port/"}, 'spec.yaml: expected a server\'s URL, got "http://h:port/"'),
        (
            {"url": "http://{h}", "variables": {"h": {"default": "a b"}}},
            "spec.yaml: expected a server's URL, got ",
        ),
        ({"url": "http://[::1"}, 'spec.yaml: expected a server\'s URL, got "http://[::1"'),
    ],
)
def test_a_server_that_is_wrong_is_an_error_unless_another_is_given(server: Any, problem: str) -> None:
    spec = spec_of({"servers": [server], "paths": {"/a": {"get": {}}}})
    with pytest.raises(InputError) as caught:
        operations_of(spec)
    assert str(caught.value).startswith(problem)
    assert operations_of(spec, "http://127.0.0.1:9/b/")[0].url == "http://127.0.0.1:9/b/a"


@pytest.mark.parametrize(
    "server", ["localhost:80", "ftp://h", "http://", "http://[", "http://h/?a", "http://h:x"]
)
def test_a_given_server_must_be_a_url(server: str) -> None:
    with pytest.raises(InputError, match="server"):
        operations_of(spec_of({"paths": {"/": {"get": {}}}}), server)


def test_the_innermost_servers_win() -> None:
    def at(host: str) -> list[dict[str, str]]:
        return [{"url": f"http://{host}"}]

    item = {"servers": at("path"), "get": {"servers": at("own")}, "put": {}}
    spec = spec_of({"servers": at("root"), "paths": {"/a": item, "/b": {"get": {}}}})
    assert [each.base for each in operations_of(spec)] == ["http://own", "http://path", "http://root"]


def test_paths_may_have_marks_queries_fragments_and_undescribed_parts() -> None:
    assert operation({}, "/a b/{x}/{y}.{z}").url == "http://localhost/a%20b/{x}/{y}.{z}"
    assert operation({}, "/a/{x}").segments == {"x": "1"}
    needed = [{"name": "q", "in": "query", "required": True, "schema": {"const": "v"}}]
    assert operation({"parameters": needed}, "/a?b=c#d").url == "http://localhost/a?b=c&q=v"
    assert operation({}, "/a/{").url == "http://localhost/a/%7B"


@pytest.mark.parametrize(
    ("responses", "status"),
    [
        ({"204": {}, "201": {}, "default": {}}, 201),
        ({"2XX": {}}, 200),
        ({"2xx": {}, "202": {}}, 200),
        ({"default": {}}, None),
        ({"301": {}, "400": {}}, None),
        (None, None),
    ],
)
def test_the_status_is_the_smallest_success(responses: Any, status: int | None) -> None:
    assert operation({"responses": responses}).status == status


def test_a_body_that_is_optional_is_sent_with_post_and_not_with_get() -> None:
    body = {"content": {"*/*": {"schema": {"type": "integer"}}}}
    assert operation({"requestBody": body}, method="post").body == "1"
    assert operation({"requestBody": body}, method="post").headers == {"Content-Type": "application/json"}
    assert operation({"requestBody": body}).body is None
    assert operation({"requestBody": {**body, "required": True}}).body == "1"


def test_json_goes_before_other_types() -> None:
    content = {"text/xml": {}, "multipart/form-data": {}, "application/json; charset=utf-8": {"example": [1]}}
    call = operation({"requestBody": {"content": content}}, method="post")
    assert (call.headers["Content-Type"], call.body) == ("application/json; charset=utf-8", "[1]")


def test_odd_documents_give_valid_operations() -> None:
    paths: Any = {
        "/a": None,
        "/b": {"get": None, "post": {"parameters": [None, {"in": "query"}, 5]}},
        "/c": 5,
    }
    (call,) = operations_of(spec_of({"paths": paths, "components": []}))
    assert (call.operation_id, call.url) == ("post_b", "http://localhost/b")
    assert operations_of(spec_of({})) == []
    assert operation({"operationId": " "}).operation_id == "get"
    assert operation({"requestBody": {"content": {"application/json": 5}}}, method="put").body is None
    assert operation({"security": [{"unknown": []}]}).config_headers == {}


def test_a_broken_reference_is_named() -> None:
    with pytest.raises(InputError, match='"#/components/schemas/Gone" leads nowhere'):
        schema = {"$ref": "#/components/schemas/Gone"}
        operation({"parameters": [{"name": "q", "in": "query", "required": True, "schema": schema}]})
