"""The resources of the server: the last reports, and the table of faults."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from faultkit.agent_tools.resources import TEMPLATES, list_resources, read_resource, report_uri
from faultkit.agent_tools.tool import RecentReports, Services
from faultkit.base.errors import InputError
from faultkit.faults import FAULTS


@pytest.fixture
def services() -> Services:
    services = Services()
    services.reports.add("Slow", "# Slow\n", {"items": [1]})
    services.reports.add("Schwärzer", "# Schwärzer\n", {"items": [2]})
    return services


def test_the_faults_are_there_before_any_report() -> None:
    assert [each.uri for each in list_resources(Services())] == ["fault://faults", "fault://faults/json"]


def test_reports_are_listed_the_newest_first_in_both_forms(services: Services) -> None:
    found = list_resources(services)[2:]
    assert [(each.uri, each.title, each.mime_type) for each in found] == [
        ("fault://reports/2", "Schwärzer", "text/markdown"),
        ("fault://reports/2/json", "Schwärzer (JSON)", "application/json"),
        ("fault://reports/1", "Slow", "text/markdown"),
        ("fault://reports/1/json", "Slow (JSON)", "application/json"),
    ]
    assert found[0].size == len("# Schwärzer\n".encode())


def test_names_are_not_used_twice(services: Services) -> None:
    names = [each.name for each in list_resources(services)]
    assert len(names) == len(set(names))


def test_a_report_is_read_as_markdown_and_as_json(services: Services) -> None:
    page = read_resource(services, report_uri("1"))
    assert (page.uri, page.mime_type, page.text) == ("fault://reports/1", "text/markdown", "# Slow\n")
    data = read_resource(services, "fault://reports/1/json")
    assert (data.mime_type, json.loads(data.text)) == ("application/json", {"items": [1]})


def test_the_latest_report_needs_no_number(services: Services) -> None:
    found = read_resource(services, "fault://reports/latest")
    assert (found.uri, found.text) == ("fault://reports/latest", "# Schwärzer\n")


def test_all_that_is_listed_can_be_read(services: Services) -> None:
    for each in list_resources(services):
        found = read_resource(services, each.uri)
        assert (found.uri, found.mime_type) == (each.uri, each.mime_type)
        assert found.text


def test_templates_lead_to_reports(services: Services) -> None:
    for template in TEMPLATES:
        uri = template.uri_template.replace("{id}", "2")
        assert read_resource(services, uri).mime_type == template.mime_type


def test_the_page_of_faults_has_every_fault_with_every_setting(services: Services) -> None:
    page = read_resource(services, "fault://faults").text
    listed = json.loads(read_resource(services, "fault://faults/json").text)
    assert [each["kind"] for each in listed] == list(FAULTS)
    for fault in FAULTS.values():
        assert f"## {fault.kind}\n\n{fault.summary}" in page
        for name in fault.settings():
            assert f"\n| `{name}` | " in page
    assert "| `mean_ms` | number | 100.0 | Mean (normal, pareto-normal). [ms] |" in page


@pytest.mark.parametrize(
    ("uri", "problem"),
    [
        (
            "fault://reports/9",
            'expected one of fault://reports/2, fault://reports/1, got "fault://reports/9"',
        ),
        ("fault://reports/1/xml", "expected one of fault://reports/2, fault://reports/1, got"),
        ("fault://reports/", "expected one of fault://reports/2"),
        ("http://example.com", "expected fault://faults, fault://faults/json or fault://reports/ID, got"),
        ("", "expected fault://faults"),
    ],
)
def test_the_error_for_an_unknown_resource_lists_the_known_ones(
    services: Services, uri: str, problem: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_resource(services, uri)
    assert caught.value.path == "uri"
    assert caught.value.problem.startswith(problem)


def test_the_error_before_the_first_report_explains_how_to_make_one() -> None:
    with pytest.raises(InputError, match="none has been made yet: run an impact tool first"):
        read_resource(Services(), "fault://reports/latest")


def test_the_newest_comes_first_and_the_oldest_goes() -> None:
    reports = RecentReports(most=2)
    ids = [reports.add(title, f"# {title}", {"title": title}).id for title in ("a", "b", "c")]
    assert ids == ["1", "2", "3"]
    assert [each.title for each in reports.all()] == ["c", "b"]
    assert reports.get("1") is None
    found = reports.get("3")
    assert found is not None
    assert (found.markdown, found.document) == ("# c", {"title": "c"})


def test_threads_that_add_at_once_get_numbers_of_their_own() -> None:
    reports = RecentReports(most=5)
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda n: reports.add(str(n), "", {}).id, range(200)))
    assert sorted(map(int, ids)) == list(range(1, 201))
    assert [each.id for each in reports.all()] == ["200", "199", "198", "197", "196"]
