"""Tables of keys: one declaration gives the parser, the JSON Schema and the table of the docs."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from faultkit.base.documents.key_tables import Key, KeyTable, markdown_of, schema_of
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import TEXT_SCHEMA, text, whole_number
from faultkit.base.errors import InputError

DOCS = Path(__file__).parent.parent.parent.parent / "docs"
INNER = KeyTable(Key("size", whole_number(1, 9), {"type": "integer"}, 3, "How big."))
TABLE = KeyTable(
    Key("name", text, TEXT_SCHEMA, "", "The name.", "a name"),
    Key("box", schema=INNER),
    Key("mode", text, {"enum": ["on", "off"]}, "on", "How it works."),
    unsupported={"lid": "boxes have no lid"},
)


def problems_of(value: object) -> list[str]:
    problems: list[InputError] = []
    reader = MappingReader(value, TABLE, "it", problems)
    reader.take("name")
    reader.inner("box").take("size")
    return [str(problem) for problem in problems]


def test_a_reader_takes_values_and_defaults_from_the_table() -> None:
    reader = MappingReader({"name": "a", "box": None}, TABLE)
    assert (reader.take("name"), reader.take("mode"), reader.inner("box").take("size")) == ("a", "on", 3)
    assert reader.values() == {"name": "a"}


def test_every_mistake_is_collected_with_its_path() -> None:
    assert problems_of({"box": {"size": 0, "sizes": 1}, "lid": 1, "nane": 2}) == [
        "it.lid: boxes have no lid",
        'it.nane: unknown key; did you mean "name"?',
        "it.name: expected a name, got nothing",
        'it.box.sizes: unknown key; did you mean "size"?',
        "it.box.size: expected a whole number from 1 to 9, got 0",
    ]
    assert problems_of([]) == ["it: expected a mapping, got a list"]


def test_without_a_list_of_problems_the_first_mistake_is_raised() -> None:
    with pytest.raises(InputError, match=r"box\.size: expected a whole number from 1 to 9, got nothing"):
        MappingReader({"size": None}, KeyTable(*INNER, has_nulls=False), "box").take("size")


def test_the_schema_has_the_keys_their_help_and_their_defaults() -> None:
    size = {"type": ["integer", "null"], "description": "How big.", "default": 3}
    assert schema_of(TABLE) == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "description": "The name."},
            "box": {"type": ["object", "null"], "properties": {"size": size}, "additionalProperties": False},
            "mode": {"enum": ["on", "off", None], "description": "How it works.", "default": "on"},
        },
        "required": ["name"],
        "additionalProperties": False,
    }


def test_the_table_of_the_docs_has_a_row_for_each_key() -> None:
    assert markdown_of(TABLE).splitlines() == [
        "| key | meaning | default |",
        "|---|---|---|",
        "| `name` | The name. | required |",
        "| `box.size` | How big. | `3` |",
        '| `mode` | How it works. One of `on`, `off`. | `"on"` |',
    ]


def test_the_pages_have_the_tables_of_the_code() -> None:
    generate = runpy.run_path(str(DOCS / "generate_keys.py"))
    for name, tables in generate["PAGES"].items():
        page = (DOCS / name).read_text("utf-8")
        assert page == generate["page_with_keys"](name), "run `python docs/generate_keys.py`"
        assert all(f"<!-- keys: {table} -->" in page for table in tables)
