"""`fault faults`: its output agrees with the table, and its examples work."""

from __future__ import annotations

import json
import re

import pytest

from faultkit.cli.fault_flags import flags_of, switch_of
from faultkit.cli.faults import fault_page, plan_example
from faultkit.cli.main import invoke
from faultkit.faults import CALL_FAULTS, FAULTS, NETWORK_FAULTS
from faultkit.mcp.fault_specs import parse_spec, short_form
from faultkit.plan import plan_schema, read_plan


def shown(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert invoke(["faults", *args]) == 0
    return capsys.readouterr().out


def test_the_table_has_a_row_for_each_fault_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    rows = shown(capsys).splitlines()[1 : 1 + len(FAULTS)]
    assert [tuple(row.split(maxsplit=2)) for row in rows] == [
        (fault.kind, fault.level, fault.summary) for fault in FAULTS.values()
    ]


def test_the_page_of_a_fault_names_its_settings_flags_and_variables() -> None:
    for kind, fault in NETWORK_FAULTS.items():
        words = set(fault_page(fault).split())
        assert set(fault.settings()) <= words, kind
        for flag in (switch_of(fault), *flags_of(fault)):
            assert {flag.option, flag.env} <= words, kind


def test_the_page_of_a_fault_of_calls_names_its_settings_its_place_and_its_short_form() -> None:
    for kind, fault in CALL_FAULTS.items():
        page = fault_page(fault)
        words = page.replace(",", " ").split()
        assert {*fault.settings(), *fault.methods, *fault.transports, *fault.eras} <= set(words), kind
        assert "Flags" not in page, kind
        specs = re.findall(r"--fault (\S+)", page)
        assert specs[0] == short_form(fault), kind
        assert parse_spec(specs[1]) is not None, kind


def test_the_example_of_a_fault_is_a_plan() -> None:
    for kind, fault in FAULTS.items():
        (rule,) = read_plan(plan_example(fault)).rules
        assert rule.fault == fault(), kind


def test_ranges_and_defaults_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [" ".join(line.split()) for line in shown(capsys, "http_error").splitlines()]
    assert "status 200 to 599 default 500 Status of the answer." in lines
    assert "--http-response-status N FAULT_HTTP_FAULT_STATUS 500" in lines


@pytest.mark.parametrize("name", ["http_error", "http-error", "http-response"])
def test_a_fault_is_found_by_kind_or_by_the_name_of_its_flags(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(capsys, name).startswith("http_error (level: http)\n")


def test_the_words_of_fault_specs_are_known_too(capsys: pytest.CaptureFixture[str]) -> None:
    page = shown(capsys, "error")
    assert page.startswith("protocol_error (level: call)\n")
    assert "  error means the same there.\n" in page
    assert shown(capsys, "none").startswith("none (no fault)\nNothing is broken")
    both = shown(capsys, "http_error")
    assert both.startswith("http_error (level: http)\n")
    assert "In --fault of fault mock and fault gateway, http_error means http_status." in both
    assert invoke(["faults", "none", "--json"]) == 2
    assert capsys.readouterr().err == "error: KIND: none is not a fault: it has no settings\n"


def test_whole_numbers_are_shown_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [" ".join(line.split()) for line in shown(capsys, "rate_limit").splitlines()]
    assert "code -2147483648 to 2147483647 default -32000 Code of the error (jsonrpc)." in lines
    assert not [kind for kind in FAULTS if "e+" in fault_page(FAULTS[kind])]


def test_json_has_every_fault_with_its_settings_and_flags(capsys: pytest.CaptureFixture[str]) -> None:
    documents = json.loads(shown(capsys, "--json"))
    assert [document["kind"] for document in documents] == list(FAULTS)
    one = json.loads(shown(capsys, "latency", "--json"))
    assert one == documents[0]
    assert one["settings"]["mean_ms"]["minimum"] == 0
    assert {"flag": "--latency-mean", "env": "FAULT_LATENCY_MEAN", "sets": "with.mean_ms"} in one["flags"]


def test_the_schema_is_that_of_plans(capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(shown(capsys, "--schema")) == plan_schema()


def test_json_of_a_call_fault_has_methods_transports_and_its_short_form(
    capsys: pytest.CaptureFixture[str],
) -> None:
    one = json.loads(shown(capsys, "keep-alive-only", "--json"))
    assert {key: one[key] for key in one if key not in ("settings", "summary")} == {
        "kind": "keep_alive_only",
        "level": "call",
        "short_form": "keep_alive_only:EVERY_MS",
        "methods": ["tools/call"],
        "only_methods": [],
        "transports": ["http"],
        "eras": ["legacy", "modern"],
    }
