"""Following references."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.base.errors import InputError
from faultkit.scenario.openapi.openapi_document import Source, read_spec
from faultkit.scenario.openapi.references import Resolver
from tests.scenario.openapi.documents import spec_of
from tests.scenario.openapi.test_read import serving

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
    assert Resolver(spec_of(DOCUMENT)).follow({"$ref": ref}) == value


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
        Resolver(spec_of(DOCUMENT)).follow({"$ref": ref})
    assert f'spec.yaml: $ref "{ref}" {problem}' in str(caught.value)


def test_references_in_a_circle_are_an_error() -> None:
    spec = spec_of({"a": {"$ref": "#/b"}, "b": {"$ref": "#/a"}})
    with pytest.raises(InputError, match='"#/b" leads back to itself'):
        Resolver(spec).follow({"$ref": "#/b"})


def test_beside_a_reference_3_1_may_say_more_and_3_0_may_not() -> None:
    document = {"a": {"$ref": "#/b", "x": 1}, "b": {"x": 2, "y": 3}}
    assert Resolver(spec_of(document, 1)).follow({"$ref": "#/a", "z": 4}) == {"x": 1, "y": 3, "z": 4}
    assert Resolver(spec_of(document, 0)).follow({"$ref": "#/a", "z": 4}) == {"x": 2, "y": 3}


def test_a_pointer_goes_through_references_on_its_way() -> None:
    document = {"a": {"$ref": "#/b"}, "b": {"c": 5}}
    assert Resolver(spec_of(document)).follow({"$ref": "#/a/c"}) == 5


def files(tmp_path: Path, **texts: str) -> Source:
    for name, text in texts.items():
        path = tmp_path / "api" / f"{name.replace('__', '/')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Source(str(tmp_path / "api" / "root.yaml"))


def test_other_files_count_references_from_themselves(tmp_path: Path) -> None:
    source = files(
        tmp_path,
        root="openapi: 3.1.0\na: {$ref: 'sub/one.yaml#/x'}\n",
        sub__one="x: {to: {$ref: '#/y'}, up: {$ref: ../two.yaml}, back: {$ref: '../root.yaml#/openapi'}}\n"
        "y: 6\n",
        two="{whole: file}",
    )
    resolver = Resolver(read_spec(source))
    found = resolver.follow({"$ref": "#/a"})
    assert [resolver.follow(found[key]) for key in ("to", "up", "back")] == [6, {"whole": "file"}, "3.1.0"]


def test_the_mapping_of_a_discriminator_counts_from_its_file_too(tmp_path: Path) -> None:
    source = files(
        tmp_path,
        root="openapi: 3.1.0\n",
        sub__one="discriminator: {propertyName: k, mapping: {a: '#/A', b: two.yaml, c: Name}}\n",
    )
    found = Resolver(read_spec(source)).at("sub/one.yaml")
    assert found["discriminator"]["mapping"] == {"a": "sub/one.yaml#/A", "b": "sub/two.yaml#", "c": "Name"}


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    source = files(tmp_path, root="openapi: 3.1.0\n")
    (tmp_path / "secret.yaml").write_text("a: secret")
    (tmp_path / "api" / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    with pytest.raises(InputError, match="leads out of the document's folder"):
        Resolver(read_spec(source)).at("link.yaml#/a")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    source = files(tmp_path, root="openapi: 3.1.0\n")
    with pytest.raises(InputError, match=r"gone\.yaml: cannot be read: no such file"):
        Resolver(read_spec(source)).at("gone.yaml#/a")


def test_a_document_from_a_url_finds_its_neighbours_and_nobody_else() -> None:
    answers: dict[str, tuple[int, dict[str, str], bytes]] = {
        "/api/root.yaml": (200, {}, b"openapi: 3.1.0"),
        "/api/sub/one.yaml": (200, {}, b"x: {$ref: 'two.yaml#/y'}"),
        "/api/sub/two.yaml": (200, {}, b"y: 7"),
    }
    with serving(answers) as base:
        resolver = Resolver(read_spec(Source(f"{base}/api/root.yaml", True)))
        assert resolver.follow({"$ref": "sub/one.yaml#/x"}) == 7
        for ref in ("../other.yaml", "/other.yaml", "http://127.0.0.1:1/api/x.yaml"):
            with pytest.raises(InputError, match="leads out of the document's folder"):
                resolver.at(ref)
