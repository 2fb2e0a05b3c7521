"""Reading documents from files and URLs, JSON and YAML; invalid documents; following references."""

from __future__ import annotations

import contextlib
import http.server
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from faultkit.base.errors import InputError, TargetError
from faultkit.scenario.openapi import openapi_document as read
from faultkit.scenario.openapi.openapi_document import (
    DocumentSource,
    ReferenceResolver,
    read_data,
    read_openapi,
    source_of,
)
from tests.scenario.openapi.documents import spec_of

SPEC = {"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {}}


def written(tmp_path: Path, text: str, name: str = "spec.yaml") -> DocumentSource:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return DocumentSource(str(tmp_path / name))


@contextlib.contextmanager
def serving(answers: dict[str, tuple[int, dict[str, str], bytes]]) -> Iterator[str]:
    """Run a real HTTP server with these answers by path; yield its base URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = answers[self.path]
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


@pytest.mark.parametrize(
    ("text", "location_is_url"),
    [("spec.yaml", False), ("http://x/y", True), ("HTTPS://x/y", True), ("httpx", False), ("ftp://x", False)],
)
def test_a_source_is_a_url_if_it_looks_like_one(text: str, location_is_url: bool) -> None:
    assert source_of(text) == DocumentSource(text, location_is_url)


@pytest.mark.parametrize(
    ("version", "minor"),
    [('"3.0.0"', 0), ("3.0.3", 0), ("3.1.0", 1), ("3.1", 1), ('"3.1.0-rc1"', 1), ("3.2.0", 2)],
)
def test_the_minor_version_is_read(version: str, minor: int, tmp_path: Path) -> None:
    assert read_openapi(written(tmp_path, f"openapi: {version}\npaths: {{}}\n")).minor == minor


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('swagger: "2.0"', "expected OpenAPI 3.x, got Swagger 2.0: convert it to OpenAPI 3 first"),
        ("openapi: 4.0.0", 'expected an OpenAPI 3.x document, got version "4.0.0"'),
        ("openapi: 3", "expected an OpenAPI 3.x document, got version 3"),
        ("openapi: 3.0.x", 'expected an OpenAPI 3.x document, got version "3.0.x"'),
        ("paths: {}", 'expected an OpenAPI 3.x document, got no key "openapi"'),
        ("[1, 2]", "expected an OpenAPI 3.x document, got a list"),
        ("", "expected an OpenAPI 3.x document, got nothing"),
        ("a: [1", "expected JSON or YAML, got line 1, column 6: expected"),
        (
            "a: !!python/object:os.system {}",
            "expected JSON or YAML, got line 1, column 4: could not determine",
        ),
    ],
)
def test_a_document_that_is_not_openapi_3_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    source = written(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_openapi(source)
    assert str(caught.value).startswith(f"{source.location}: {problem}")


def test_a_missing_file_a_folder_and_bad_bytes_are_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.yaml: cannot be read: no such file or directory"):
        read_openapi(DocumentSource(str(tmp_path / "none.yaml")))
    with pytest.raises(InputError, match="cannot be read: is a directory"):
        read_openapi(DocumentSource(str(tmp_path)))
    (tmp_path / "latin.yaml").write_bytes(b"a: \xff")
    with pytest.raises(InputError, match="expected UTF-8 text, got byte 0xff"):
        read_openapi(DocumentSource(str(tmp_path / "latin.yaml")))
    with pytest.raises(InputError, match="cannot be read"):
        read_openapi(DocumentSource("a\0b"))


def test_yaml_is_read_as_the_values_of_json(tmp_path: Path) -> None:
    text = "200: 2024-01-15\nyes: no\non: true\n1e3: 1e3\nnull: ~\ntrue: .inf\nbytes: !!binary aGk=\n"
    assert read_data(written(tmp_path, text)) == {
        "200": "2024-01-15",
        "yes": "no",
        "on": True,
        "1000.0": 1000.0,
        "null": None,
        "true": None,
        "bytes": "hi",
    }


def test_json_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(SPEC).encode())
    assert read_openapi(DocumentSource(str(tmp_path / "spec.json"))).title == "T"


def test_aliases_that_stand_for_too_much_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "MOST_VALUES", 1000)
    lines = ["a0: &a0 [x, x]", *(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 40))]
    with pytest.raises(InputError, match="expected at most 1000 values, got more"):
        read_data(written(tmp_path, "\n".join(lines)))


def test_an_alias_of_itself_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected at most 200 levels, got more"):
        read_data(written(tmp_path, "a: &a\n  b: *a\n"))


@pytest.mark.parametrize("text", ["[" * 100_000, "a: " + "{b: " * 100_000, "- " * 100_000])
def test_a_document_that_is_nested_too_deeply_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected at most 200 levels, got more"):
        read_data(written(tmp_path, text))


def test_a_document_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "MOST_BYTES", 1024 * 1024)
    with pytest.raises(InputError, match="expected at most 1 MiB, got more"):
        read_data(written(tmp_path, "a" * (1024 * 1024 + 1)))
    with serving({"/big": (200, {}, b"a" * (1024 * 1024 + 1))}) as base:
        with pytest.raises(InputError, match="expected at most 1 MiB, got more"):
            read_data(DocumentSource(f"{base}/big", True))


def test_a_document_is_read_from_a_url_through_redirects() -> None:
    answers = {
        "/old": (302, {"Location": "/new"}, b""),
        "/new": (200, {"Content-Type": "application/yaml"}, b"openapi: 3.0.1\npaths: {}"),
    }
    with serving(answers) as base:
        assert read_openapi(source_of(f"{base}/old")).minor == 0


def test_a_url_that_does_not_answer_well_is_a_target_error(closed_port: int) -> None:
    answers = {"/none": (404, {}, b""), "/away": (302, {"Location": "file:///etc/hostname"}, b"")}
    with serving(answers) as base:
        with pytest.raises(TargetError, match="/none: answered 404 Not Found"):
            read_openapi(source_of(f"{base}/none"))
        with pytest.raises(TargetError, match="/away: answered 302"):
            read_openapi(source_of(f"{base}/away"))
    with pytest.raises(TargetError, match="cannot be reached: connection refused"):
        read_openapi(source_of(f"http://127.0.0.1:{closed_port}/spec"))


def test_a_url_that_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/spec"
        with pytest.raises(TargetError, match=r"/spec: no answer within 0\.05 s"):
            read_openapi(source_of(url), timeout_s=0.05)


def test_a_server_that_does_not_answer_http_is_a_target_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"220 hello\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        with pytest.raises(TargetError, match="cannot be reached"):
            read_openapi(source_of(f"http://127.0.0.1:{listener.getsockname()[1]}/spec"))
        thread.join(5)


@pytest.mark.parametrize("url", ["http://", "http:///x", "http://a b/", "http://[::1/x", "http://h:port/"])
def test_a_url_that_is_none_is_an_input_error(url: str) -> None:
    with pytest.raises(InputError, match="expected an http or https URL"):
        read_openapi(source_of(url))


def test_errors_do_not_show_secrets_of_a_url() -> None:
    assert (
        DocumentSource("https://user:secret@h.test:8443/a?token=1#x", True).shown == "https://h.test:8443/a"
    )


def test_words_that_begin_like_a_truth_value_or_a_number_stay_words(tmp_path: Path) -> None:
    text = "a: trueish\nb: false0\nc: 1e3 apples\nd: 1e3\ne: on\n"
    assert read_data(written(tmp_path, text)) == {
        "a": "trueish",
        "b": "false0",
        "c": "1e3 apples",
        "d": 1000.0,
        "e": "on",
    }


# References


DOCUMENT = {
    "paths": {"/a/{b}": {"get": "here"}, "/ö": {"get": "there"}},
    "components": {
        "schemas": {"x~y": 1, "list": ["first", "second"], "to": {"$ref": "#/components/schemas/end"}}
    },
}


@pytest.mark.parametrize(
    ("ref", "value"),
    [
        ("#/paths/~1a~1{b}/get", "here"),
        ("#/paths/~1a~1%7Bb%7D/get", "here"),
        ("#/paths/~1%C3%B6/get", "there"),
        ("#/components/schemas/x~0y", 1),
        ("#/components/schemas/x%7E0y", 1),
        ("#/components/schemas/list/1", "second"),
    ],
)
def test_a_pointer_is_followed(ref: str, value: object) -> None:
    assert ReferenceResolver(spec_of(DOCUMENT)).follow({"$ref": ref}) == value


@pytest.mark.parametrize(
    ("ref", "problem"),
    [
        ("#/nowhere", "leads nowhere"),
        ("#/components/schemas/list/2", "leads nowhere"),
        ("#/components/schemas/list/-1", "leads nowhere"),
        ("#anchor", "is not supported"),
        ("../other.yaml#/a", "leads out of the document's folder"),
        ("/etc/passwd", "leads out of the document's folder"),
        ("file:///etc/passwd", "leads out of the document's folder"),
        ("https://other.test/x.yaml", "leads out of the document's folder"),
        ("a/%2E%2E/%2E%2E/x.yaml", "leads out of the document's folder"),
    ],
)
def test_a_reference_that_cannot_be_followed_is_named(ref: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        ReferenceResolver(spec_of(DOCUMENT)).follow({"$ref": ref})
    assert f'spec.yaml: $ref "{ref}" {problem}' in str(caught.value)


def test_references_in_a_circle_are_an_error() -> None:
    spec = spec_of({"a": {"$ref": "#/b"}, "b": {"$ref": "#/a"}})
    with pytest.raises(InputError, match='"#/b" leads back to itself'):
        ReferenceResolver(spec).follow({"$ref": "#/b"})


def test_keys_beside_a_reference_count_in_3_1_and_not_in_3_0() -> None:
    document = {"a": {"$ref": "#/b", "x": 1}, "b": {"x": 2, "y": 3}}
    assert ReferenceResolver(spec_of(document, 1)).follow({"$ref": "#/a", "z": 4}) == {"x": 1, "y": 3, "z": 4}
    assert ReferenceResolver(spec_of(document, 0)).follow({"$ref": "#/a", "z": 4}) == {"x": 2, "y": 3}


def test_a_pointer_goes_through_references_on_its_way() -> None:
    document = {"a": {"$ref": "#/b"}, "b": {"c": 5}}
    assert ReferenceResolver(spec_of(document)).follow({"$ref": "#/a/c"}) == 5


def files(tmp_path: Path, **texts: str) -> DocumentSource:
    for name, text in texts.items():
        path = tmp_path / "api" / f"{name.replace('__', '/')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return DocumentSource(str(tmp_path / "api" / "root.yaml"))


def test_other_files_count_references_from_themselves(tmp_path: Path) -> None:
    source = files(
        tmp_path,
        root="openapi: 3.1.0\na: {$ref: 'sub/one.yaml#/x'}\n",
        sub__one="x: {to: {$ref: '#/y'}, up: {$ref: ../two.yaml}, back: {$ref: '../root.yaml#/openapi'}}\n"
        "y: 6\n",
        two="{whole: file}",
    )
    resolver = ReferenceResolver(read_openapi(source))
    found = resolver.follow({"$ref": "#/a"})
    assert [resolver.follow(found[key]) for key in ("to", "up", "back")] == [6, {"whole": "file"}, "3.1.0"]


def test_the_mapping_of_a_discriminator_counts_from_its_file_too(tmp_path: Path) -> None:
    source = files(
        tmp_path,
        root="openapi: 3.1.0\n",
        sub__one="discriminator: {propertyName: k, mapping: {a: '#/A', b: two.yaml, c: Name}}\n",
    )
    found = ReferenceResolver(read_openapi(source)).at("sub/one.yaml")
    assert found["discriminator"]["mapping"] == {"a": "sub/one.yaml#/A", "b": "sub/two.yaml#", "c": "Name"}


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    source = files(tmp_path, root="openapi: 3.1.0\n")
    (tmp_path / "secret.yaml").write_text("a: secret")
    (tmp_path / "api" / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    with pytest.raises(InputError, match="leads out of the document's folder"):
        ReferenceResolver(read_openapi(source)).at("link.yaml#/a")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    source = files(tmp_path, root="openapi: 3.1.0\n")
    with pytest.raises(InputError, match=r"gone\.yaml: cannot be read: no such file"):
        ReferenceResolver(read_openapi(source)).at("gone.yaml#/a")


def test_a_document_from_a_url_may_refer_to_its_folder_only() -> None:
    answers: dict[str, tuple[int, dict[str, str], bytes]] = {
        "/api/root.yaml": (200, {}, b"openapi: 3.1.0"),
        "/api/sub/one.yaml": (200, {}, b"x: {$ref: 'two.yaml#/y'}"),
        "/api/sub/two.yaml": (200, {}, b"y: 7"),
    }
    with serving(answers) as base:
        resolver = ReferenceResolver(read_openapi(DocumentSource(f"{base}/api/root.yaml", True)))
        assert resolver.follow({"$ref": "sub/one.yaml#/x"}) == 7
        for ref in ("../other.yaml", "/other.yaml", "http://127.0.0.1:1/api/x.yaml"):
            with pytest.raises(InputError, match="leads out of the document's folder"):
                resolver.at(ref)


@pytest.mark.parametrize("name", ["spec.json", "spec.yaml"])
def test_half_of_a_surrogate_pair_is_replaced(tmp_path: Path, name: str) -> None:
    text = json.dumps({**SPEC, "x-example": ["\ud800", "\ud83d\ude00"], "x-\udfff": 1})
    document = read_openapi(written(tmp_path, text, name)).document
    assert (document["x-example"], document["x-\ufffd"]) == (["\ufffd", "\U0001f600"], 1)
