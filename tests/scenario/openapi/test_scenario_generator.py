"""Scenario files from OpenAPI documents: they parse, titles fit the faults, nothing is overwritten."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.errors import InputError, RunError
from faultkit.scenario.openapi.openapi_document import (
    DocumentSource,
    OpenApiDocument,
    read_openapi,
    source_of,
)
from faultkit.scenario.openapi.operations import operations_of
from faultkit.scenario.openapi.scenario_generator import (
    TEMPLATES,
    GeneratedFile,
    expected_seconds,
    generate,
    hosts_of,
    is_one_file,
    scenario_document,
    write_generated,
)
from faultkit.scenario.scenario_file import load_scenarios, read_scenarios
from faultkit.scenario.scenario_keys import parse_scenario
from faultkit.scenario.scenario_model import HttpCall, LoadStrategy, RepeatStrategy, Scenario, SingleStrategy
from tests.scenario.openapi.documents import SPECS, operation, spec_of

LIBRARY, ORDERS = (source_of(str(SPECS / name)) for name in ("library.yaml", "orders.json"))


def parsed(file: GeneratedFile) -> list[Scenario]:
    scenarios, problems = read_scenarios(file.text, file.name)
    assert problems == []
    return scenarios


def large_spec(operations: int, folder: Path) -> DocumentSource:
    """Return a document with so many operations, each with its own path, query, body and schemas."""
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = {
        "Base": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}
    }
    for number in range(operations // 2):
        schemas[f"Thing{number}"] = {
            "allOf": [
                {"$ref": "#/components/schemas/Base"},
                {
                    "required": ["name", "peer"],
                    "properties": {
                        "name": {"type": "string"},
                        "peer": {"$ref": f"#/components/schemas/Thing{number - 1}"} if number % 5 else {},
                    },
                },
            ]
        }
        body = {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/Thing{number}"}}}}
        parameters = [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "format": "uuid"}},
            {
                "name": "limit",
                "in": "query",
                "required": True,
                "schema": {"type": "integer", "minimum": number},
            },
        ]
        paths[f"/things{number}/{{id}}"] = {
            "parameters": parameters,
            "get": {"responses": {"200": {"description": "ok"}}},
            "put": {"requestBody": body, "responses": {"204": {"description": "ok"}}},
        }
    document = {"openapi": "3.0.3", "info": {}, "paths": paths, "components": {"schemas": schemas}}
    path = folder / "large.json"
    path.write_text(json.dumps(document))
    return DocumentSource(str(path))


@pytest.mark.parametrize("source", [LIBRARY, ORDERS], ids=["3.0", "3.1"])
def test_each_operation_gets_the_eight_templates_and_all_of_them_parse(source: DocumentSource) -> None:
    operations = operations_of(read_openapi(source))
    (file,) = generate(source, writes=True)
    scenarios = parsed(file)
    assert (file.name, file.scenarios) == ("scenarios.yaml", len(scenarios))
    assert file.operation_ids == tuple(operation.operation_id for operation in operations)
    expected = [(template.title, each) for each in operations for template in TEMPLATES]
    for scenario, (title, each) in zip(scenarios, expected, strict=True):
        (item,) = scenario.items
        assert scenario.title == f"{title}: {each.method} {each.path}"
        assert (item.call.operation_id, item.call.method) == (each.operation_id, each.method)
        assert isinstance(item.call, HttpCall)
        assert item.call.body == each.body
        assert dict(item.call.headers) == {**each.config_headers, **each.headers}


def scenarios_of(operation_id: str) -> list[Scenario]:
    return parsed(generate(LIBRARY, writes=True, operations=[operation_id])[0])


def test_segments_are_filled_in_when_the_file_is_read() -> None:
    assert scenarios_of("fillShelf")[0].items[0].call.url == (
        "http://localhost/shelving/shelves/top%2Fleft%20%C3%B6?api%20key=REPLACE_ME_in_query"
    )


def test_the_templates_have_the_figures_of_the_reference() -> None:
    scenarios = scenarios_of("get_books_bookId")
    assert len(scenarios) == 8
    items = [scenario.items[0] for scenario in scenarios]
    faults = [[(fault.written, str(fault.rule.schedule)) for fault in item.faults] for item in items]
    assert faults == [
        [("latency", "")],
        [("latency", "")],
        [
            ("latency", "start:10%,duration:15%"),
            ("latency", "start:40%,duration:15%"),
            ("latency", "start:70%,duration:15%"),
        ],
        [("packetloss", "")],
        [("jitter", "")],
        [("bandwidth", "")],
        [("httperror", "")],
        [("blackhole", "start:45%,duration:10%")],
    ]
    spike, steps, pulses, loss, jitter, bandwidth, errors, blackhole = items
    assert isinstance(spike.strategy, SingleStrategy)
    assert isinstance(steps.strategy, RepeatStrategy)
    assert (steps.strategy.count, steps.strategy.step, steps.strategy.add_baseline_call) == (5, 100.0, True)
    loads = [item.strategy for item in (pulses, loss, bandwidth, errors, blackhole)]
    assert [
        (each.load.duration_s, each.clients, each.rps) for each in loads if isinstance(each, LoadStrategy)
    ] == [(10, 3, 2), (10, 2, 5), (15, 2, 1), (8, 5, 4), (10, 2, 3)]
    assert [item.call.timeout_s for item in items] == [None, None, None, 0.5, None, None, None, 0.5]
    assert [(slo.kind, slo.objective, slo.threshold) for slo in bandwidth.slos] == [
        ("latency", 95.0, 300.0),
        ("error", 99.0, 1.0),
    ]
    assert errors.faults[0].rule.trigger.probability == 0.05
    assert [str(each) for each in jitter.upstreams.upstreams] == ["eu.library.test:8443"]


def test_every_scenario_expects_something_that_a_service_can_miss() -> None:
    for scenario in [*scenarios_of("get_books_bookId"), *scenarios_of("note")]:
        (item,) = scenario.items
        if isinstance(item.strategy, LoadStrategy):
            assert item.slos
            assert item.expect.all_slo_are_valid
        else:
            assert item.expect.status is not None or item.expect.response_time_under_ms is not None


def test_objectives_leave_room_for_what_the_fault_itself_ends() -> None:
    _, _, _, loss, _, _, errors, blackhole = (each.items[0] for each in scenarios_of("get_books_bookId"))
    limits = [[slo.threshold for slo in item.slos] for item in (loss, errors, blackhole)]
    assert limits == [[300.0, 10.0], [300.0, 15.0], [300.0, 20.0]]
    assert [item.slos[0].objective for item in (loss, errors, blackhole)] == [90.0, 85.0, 80.0]


def test_the_header_names_its_source_and_the_placeholders() -> None:
    lines = generate(LIBRARY, writes=True)[0].text.splitlines()
    assert lines[: lines.index("---")] == [
        "# Made by `fault scenario generate` from library.yaml (Library).",
        "# Operations: 9; each has 8 scenarios.",
        "# Replace before running:",
        "#   REPLACE_ME_token: the token after Authorization: Bearer",
        "#   REPLACE_ME_basic: user:password in base64 after Authorization: Basic",
        "#   REPLACE_ME_key: the key for X-Key (header)",
        "#   REPLACE_ME_in_query: the key for api key (query)",
        "#   REPLACE_ME_in_cookie: the key for sid (cookie)",
        "# The calls go to real servers: make sure that you may break them.",
    ]


def test_a_title_cannot_break_out_of_the_header(tmp_path: Path) -> None:
    spec = {"openapi": "3.0.0", "info": {"title": "a\nb: c\u2028d"}, "paths": {"/": {"get": {}}}}
    (tmp_path / "s.json").write_text(json.dumps(spec))
    text = generate(DocumentSource(str(tmp_path / "s.json")))[0].text
    assert text.startswith("# Made by `fault scenario generate` from s.json (a b: c d).\n# Operations: 1;")


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (["addBook"], ["addBook"]),
        (["note", "addBook"], ["addBook", "note"]),
        (["GET /books"], ["listBooks"]),
        (["/books/{bookId}"], ["get_books_bookId", "listBooks_2"]),
        (["*Book*", "POST /l*"], ["listBooks", "addBook", "listBooks_2", "login"]),
    ],
)
def test_operations_are_chosen_by_id_by_method_and_path_or_by_glob(wanted: list[str], ids: list[str]) -> None:
    assert list(generate(LIBRARY, writes=True, operations=wanted)[0].operation_ids) == ids


def test_a_choice_that_nothing_fits_is_an_error() -> None:
    with pytest.raises(InputError) as caught:
        generate(LIBRARY, writes=True, operations=["addBook", "addbok"])
    expected = 'operations: expected an operation of the document, got "addbok"; did you mean "addBook"?'
    assert str(caught.value) == expected


def test_only_operations_that_read_are_generated_unless_writes_are_asked_for() -> None:
    (file,) = generate(LIBRARY)
    assert {operation.method for operation in file.operations} <= {"GET", "HEAD", "OPTIONS", "TRACE"}
    assert "addBook" not in file.operation_ids
    with pytest.raises(InputError) as caught:
        generate(LIBRARY, operations=["addBook"])
    assert str(caught.value) == (
        "operations: expected one that only reads (GET, HEAD, OPTIONS, TRACE), got none; to generate calls "
        "that may change something, say so (--writes)"
    )


def test_servers_and_least_time_of_a_run_are_known_beforehand() -> None:
    files = generate(LIBRARY, writes=True, operations=["get_books_bookId", "fillShelf"], split=True)
    assert hosts_of(files) == ["https://eu.library.test:8443", "http://localhost"]
    assert expected_seconds(files) == 2 * 2 * (10 + 10 + 15 + 8 + 10)


def test_a_document_without_operations_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("openapi: 3.1.0\n")
    with pytest.raises(InputError, match="expected at least one operation under paths, got none"):
        generate(DocumentSource(str(tmp_path / "s.yaml")))


def test_another_server_may_be_given() -> None:
    (file,) = generate(ORDERS, writes=True, server="http://127.0.0.1:7070/x")
    assert {scenario.items[0].call.url.split("/orders")[0] for scenario in parsed(file)} == {
        "http://127.0.0.1:7070/x"
    }


def test_split_gives_a_file_for_each_operation_with_a_name_of_its_own(tmp_path: Path) -> None:
    ids = ["a/b", "a b", "A-B", "../..", "", "ö", "x" * 300, "x" * 300, "con.yaml"]
    paths = {f"/{number}": {"get": {"operationId": each}} for number, each in enumerate(ids)}
    (tmp_path / "s.json").write_text(json.dumps({"openapi": "3.0.0", "paths": paths}))
    files = generate(DocumentSource(str(tmp_path / "s.json")), split=True)
    assert [file.name for file in files] == [
        "a-b.yaml",
        "a-b-2.yaml",
        "A-B-3.yaml",
        "operation.yaml",
        "get_4.yaml",
        "operation-2.yaml",
        f"{'x' * 100}.yaml",
        f"{'x' * 100}-2.yaml",
        "con.yaml.yaml",
    ]
    written = write_generated(files, tmp_path / "new" / "folder")
    assert [path.name for path in written] == [file.name for file in files]
    assert len(load_scenarios(tmp_path / "new" / "folder")) == 8 * len(ids)


def test_two_hundred_operations_give_scenarios_that_parse(tmp_path: Path) -> None:
    source = large_spec(200, tmp_path)
    (file,) = generate(source, writes=True)
    assert (file.scenarios, len(file.operation_ids)) == (1600, 200)
    # Reading all 1,600 takes a while: one of each operation is read, with another template each time.
    documents = file.text.split("\n---\n")[1:]
    assert len(documents) == 1600
    sample = "\n---\n".join(documents[8 * number + number % 8] for number in range(200))
    scenarios, problems = read_scenarios(sample)
    assert (len(scenarios), problems) == (200, [])
    files = generate(source, writes=True, split=True)
    assert len({each.name.lower() for each in files}) == 200


def test_one_file_is_written_where_it_should_be(tmp_path: Path) -> None:
    files = generate(ORDERS, writes=True)
    assert write_generated(files, tmp_path / "a" / "b.yml") == [tmp_path / "a" / "b.yml"]
    assert len(load_scenarios(tmp_path / "a" / "b.yml")) == 16
    assert write_generated(files, tmp_path / "c") == [tmp_path / "c" / "scenarios.yaml"]
    assert [is_one_file(tmp_path / name) for name in ("a/b.yml", "x.YAML", "a", "none")] == [
        True,
        True,
        False,
        False,
    ]


def test_nothing_is_overwritten_unless_forced(tmp_path: Path) -> None:
    files = generate(ORDERS, writes=True, split=True)
    (tmp_path / "change.yaml").write_text("mine")
    with pytest.raises(InputError, match=r"change\.yaml: is there already; expected a new name"):
        write_generated(files, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["change.yaml"]
    write_generated(files, tmp_path, force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["change.yaml", "order.yaml"]
    assert (tmp_path / "change.yaml").read_text() == files[1].text


def test_several_files_do_not_fit_into_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a folder for 2 files, got the name of a file"):
        write_generated(generate(ORDERS, writes=True, split=True), tmp_path / "x.yaml")


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"cannot be written: (not a directory|file exists)"):
        write_generated(generate(ORDERS, writes=True), tmp_path / "file" / "x.yaml")


# Malformed documents give scenarios that parse, or an error that names the mistake


Place = tuple[str | int, ...]

JUNK: list[Any] = [
    *(None, True, False, 5, -1, 1.5, 10**30, 1e300),
    *("", "x", "/", "{x}", "#/nope", "\0", "a\nb", "ö", "(((", "string", "array"),
    *([], [1], ["x", "x"], ["null"], {}, {"a": 1}, {"$ref": 5}),
    *({"$ref": f"#/components/schemas/{name}"} for name in ("Book", "Order")),
]


def places(value: Any, here: Place = ()) -> Iterator[Place]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in pairs:
        yield (*here, key)
        yield from places(each, (*here, key))


WHOLE = [read_openapi(source_of(str(SPECS / name))) for name in ("library.yaml", "orders.json")]
PLACES = [(spec, place) for spec in WHOLE for place in places(spec.document)]


@given(st.sampled_from(PLACES), st.sampled_from(JUNK), st.sampled_from([0, 1]))
def test_junk_in_one_place_does_no_harm(where: tuple[OpenApiDocument, Place], junk: Any, minor: int) -> None:
    spec, place = where
    document = copy.deepcopy(spec.document)
    holder: Any = document
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = copy.deepcopy(junk)
    try:
        operations = operations_of(OpenApiDocument(spec.source, document, minor))
    except InputError:
        return
    problems: list[InputError] = []
    for each in operations:
        parse_scenario(scenario_document(TEMPLATES[0], each), problems)
    assert problems == []


def test_a_way_that_leads_through_itself_is_an_error() -> None:
    paths = {"/a": {"$ref": "#/paths/~1a/x"}}
    with pytest.raises(InputError, match="leads back to itself"):
        operations_of(spec_of({"paths": paths}))


def test_names_that_no_header_can_have_are_left_out() -> None:
    parameters = [{"name": "not a name", "in": "header", "required": True, "schema": {}}]
    schemes = {"securitySchemes": {"k": {"type": "apiKey", "in": "header", "name": "a:b"}}}
    call = operation({"parameters": parameters, "security": [{"k": []}]}, components=schemes)
    assert (call.headers, call.config_headers) == ({}, {})


def test_an_operation_id_is_one_printable_line() -> None:
    assert operation({"operationId": "a\0b\n c"}).operation_id == "a b c"
