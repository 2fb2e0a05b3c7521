"""The prompt names tools that exist, with arguments that they accept."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.agent_tools.prompts import PROMPTS, prompt_text
from faultkit.agent_tools.tool import REQUIRED
from faultkit.agent_tools.tool_catalog import TOOLS
from faultkit.base.errors import InputError

NAME = "make_service_resilient"
ALL = {
    "file": "/src/app.py",
    "function": "index",
    "source_dir": "/src",
    "url": "http://localhost:9090/",
    "proxies": "34000=https://api.example.com:443, 5433=localhost:5432",
}


def calls_in(text: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        (tool, json.loads(arguments))
        for tool, arguments in re.findall(r"^- `(\w+)` (\{.*\})$", text, re.MULTILINE)
    ]


@pytest.mark.parametrize("given", [ALL, {"file": "/src/app.py"}], ids=["all", "file alone"])
def test_every_call_that_it_shows_fits_its_tool(given: dict[str, str]) -> None:
    calls = calls_in(prompt_text(NAME, given))
    assert len(calls) >= 8
    for name, arguments in calls:
        known = {each.name: each for each in TOOLS[name].arguments}
        assert set(arguments) <= set(known), name
        assert {each.name for each in known.values() if each.default is REQUIRED} <= set(arguments), name
        for key, value in arguments.items():
            if not str(value).startswith("<") and key not in ("file", "source_dir"):
                known[key].read(value)


def test_it_goes_from_the_index_to_the_proof() -> None:
    text = prompt_text(NAME, ALL)
    titles = re.findall(r"^## \d\. (.+)$", text, re.MULTILINE)
    assert titles == [
        "Index the project",
        "Score the code as it is",
        "Measure what breaks it",
        "Change the code",
        "Prove it",
        "Tell the user",
    ]


def test_it_names_no_tool_that_is_not_there() -> None:
    named = set(re.findall(r"\bfault_[a-z_]+", prompt_text(NAME, ALL) + prompt_text(NAME, {"file": "/a.py"})))
    assert named <= set(TOOLS)


def test_what_was_given_is_in_the_calls() -> None:
    calls = dict(calls_in(prompt_text(NAME, ALL)))
    assert calls["fault_index_source_code"] == {"source_dir": "/src"}
    assert calls["fault_extract_code_block"] == {"file": "/src/app.py", "func": "index"}
    latency = calls["fault_run_latency_impact_scenario"]
    assert latency["proxies"] == ["34000=https://api.example.com:443", "5433=localhost:5432"]
    assert (latency["url"], latency["latency"]) == ("http://localhost:9090/", 2000)


def test_http_errors_are_asked_for_only_where_they_can_be_injected() -> None:
    assert dict(calls_in(prompt_text(NAME, ALL)))["fault_run_http_error_impact_scenario"]["proxies"] == [
        "34000=https://api.example.com:443"
    ]
    without = prompt_text(NAME, {**ALL, "proxies": "5433=localhost:5432"})
    assert "http_error" not in without


def test_without_proxies_the_prompt_explains_how_to_break_a_dependency() -> None:
    text = prompt_text(NAME, {"file": "/a.py", "proxies": " "})
    assert '"proxies": ["34000=https://the-dependency:443"]' in text
    assert all("proxies" not in arguments for _, arguments in calls_in(text))


@pytest.mark.parametrize("listen", ["34000", "127.0.0.1:34000", "http:34000"])
def test_the_way_through_a_proxy_is_its_port(listen: str) -> None:
    text = prompt_text(NAME, {"file": "/a.py", "proxies": f"{listen}=https://a.test"})
    assert "reach https://a.test as http://127.0.0.1:34000," in text


def test_proxies_may_be_a_json_array() -> None:
    text = prompt_text(NAME, {"file": "/a.py", "proxies": '["1=http://a", "2=b:1"]'})
    assert dict(calls_in(text))["fault_run_blackhole_impact_scenario"]["proxies"] == ["1=http://a", "2=b:1"]


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("make_coffee", {}, 'name: expected one of make_service_resilient, got "make_coffee"'),
        (NAME, {}, "file: expected the absolute path of the service's source file"),
        (NAME, None, "file: expected the absolute path"),
        (NAME, {"file": "  "}, "file: expected the absolute path"),
        (
            NAME,
            {"file": "/a", "files": "x"},
            "files: expected no such argument, but some of file, function, ",
        ),
        (NAME, {"file": "/a", "proxies": "[1]"}, "proxies: expected PORT=UPSTREAM, or a JSON array of them"),
        (NAME, {"file": "/a", "proxies": "[x"}, "proxies: expected PORT=UPSTREAM, or a JSON array of them"),
        (NAME, {"file": "x" * 3000}, "file: expected at most 2000 characters, got 3000"),
    ],
)
def test_wrong_arguments_of_a_prompt_are_errors(
    name: str, arguments: dict[str, str] | None, problem: str
) -> None:
    with pytest.raises(InputError) as caught:
        prompt_text(name, arguments)
    assert str(caught.value).startswith(problem)


@given(
    st.dictionaries(st.sampled_from([each.name for each in PROMPTS[NAME].arguments]), st.text(max_size=40))
)
def test_any_arguments_give_a_text_or_an_input_error(arguments: dict[str, str]) -> None:
    try:
        text = prompt_text(NAME, arguments)
    except InputError:
        return
    assert text.startswith("Make the ")
