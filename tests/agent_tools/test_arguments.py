"""Arguments as models send them: how they are read, and the errors for wrong ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultkit.agent_tools.argument_kinds import (
    LANGUAGE_NAMES,
    RULE_LANGUAGES,
    argument,
    choice,
    file,
    flag,
    folder,
    language,
    message_with_example,
    number,
    read_arguments,
    several,
    text,
    whole,
)
from faultkit.agent_tools.listed_schemas import input_schema
from faultkit.agent_tools.tool import READS, Argument, Tool
from faultkit.agent_tools.tool_catalog import TOOLS
from faultkit.base.errors import InputError, TargetError
from faultkit.code import LANGUAGES
from faultkit.code.facts.build import GRAMMARS


def tool_of(*arguments: Argument, **more: Any) -> Tool:
    return Tool("t", "T", "A tool.", arguments, {"type": "object"}, READS, "nowhere:at_all", **more)


def read(argument: Argument, *value: Any) -> Any:
    given = {argument.name: value[0]} if value else {}
    return read_arguments(tool_of(argument), given)[argument.name]


def problem(argument: Argument, *value: Any) -> str:
    with pytest.raises(InputError) as raised:
        read(argument, *value)
    return str(raised.value)


RATIO = number("score", "A score.", minimum=0, maximum=1, example="0.3")


@pytest.mark.parametrize(("came", "expected"), [(0.3, 0.3), ("0.3", 0.3), (1, 1.0), (" 1e-1 ", 0.1)])
def test_a_number_may_come_as_text(came: Any, expected: float) -> None:
    found = read(RATIO, came)
    assert (found, type(found)) == (expected, float)


@pytest.mark.parametrize("came", [True, "x", "", 1.5, -0.1, "nan", "inf", [], {}, 10**400])
def test_the_error_for_a_wrong_number_has_an_example(came: Any) -> None:
    text = problem(RATIO, came)
    assert text.startswith("score: expected a number from 0 to 1, got ")
    assert text.endswith(" (for example 0.3)")


@pytest.mark.parametrize(("came", "expected"), [(3, 3), ("3", 3), (3.0, 3)])
def test_a_whole_number_may_have_a_point_but_nothing_behind_it(came: Any, expected: int) -> None:
    found = read(whole("n", "How many."), came)
    assert (found, type(found)) == (expected, int)


def test_half_a_client_is_no_client() -> None:
    clients = whole("num_clients", "Clients.", minimum=1, example="2")
    assert (
        problem(clients, "1.5")
        == 'num_clients: expected a whole number of at least 1, got "1.5" (for example 2)'
    )


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ({}, "expected a number, got null"),
        ({"above": 0}, "expected a number above 0, got null"),
        ({"above": 0, "maximum": 9}, "expected a number above 0 and at most 9, got null"),
        ({"maximum": 9}, "expected a number of at most 9, got null"),
    ],
)
def test_an_error_names_the_bounds_of_a_number(bounds: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError) as raised:
        number("x", "X.", **bounds).read(None)
    assert str(raised.value) == said


@pytest.mark.parametrize(("came", "expected"), [(True, True), ("false", False), (" True ", True)])
def test_a_flag_may_come_as_text(came: Any, expected: bool) -> None:
    assert read(flag("deep", "Deep."), came) is expected


def test_one_is_not_true() -> None:
    assert problem(flag("deep", "Deep."), 1) == "deep: expected true or false, got 1 (for example true)"


def test_a_choice_is_read_in_any_case_and_near_misses_are_guessed() -> None:
    side = choice("side", "Which side.", ("client", "server"))
    assert read(side, " SERVER ") == "server"
    assert problem(side, "sever") == (
        'side: expected one of client, server, got "sever"; did you mean "server"? (for example "client")'
    )


def test_nothing_null_and_an_empty_text_mean_the_default() -> None:
    times = whole("times", "How often.", default=4)
    assert [read(times), read(times, None), read(times, "")] == [4, 4, 4]


def test_what_is_required_must_be_there() -> None:
    word = text("word", "A word.", example='"hello"')
    assert problem(word) == 'word: is required, got nothing (for example "hello")'
    assert problem(word, None) == 'word: is required, got nothing (for example "hello")'
    assert problem(word, " ") == 'word: expected a text, got nothing (for example "hello")'
    assert problem(word, 7) == 'word: expected a text, got 7 (for example "hello")'


def test_a_text_is_no_longer_than_allowed() -> None:
    assert problem(text("word", "A word.", longest=3), "four") == "word: expected at most 3 characters, got 4"


def test_an_item_of_a_list_is_named_by_its_place() -> None:
    sides = several("sides", "Sides.", choice("side", "A side.", ("client", "server")))
    assert read(sides, ["client", "server"]) == ("client", "server")
    assert problem(sides, ["client", "top"]).startswith("sides[1]: expected one of client, server, got ")
    assert problem(sides, "client").startswith('sides: expected a list, got "client"')
    assert problem(sides, ["client"] * 101).startswith("sides: expected at most 100 items, got 101")


def test_one_error_lists_every_mistake() -> None:
    with pytest.raises(InputError) as raised:
        read_arguments(tool_of(RATIO, text("word", "A word.")), {"score": 2, "wrd": "x"})
    assert str(raised.value).splitlines() == [
        '"wrd": expected no such argument, but some of score, word; did you mean "word"?',
        "score: expected a number from 0 to 1, got 2 (for example 0.3)",
        "word: is required, got nothing",
    ]


def test_a_superfluous_name_that_is_known_is_passed_over() -> None:
    assert read_arguments(tool_of(RATIO, ignored=("unit",)), {"score": 1, "unit": "bps"}) == {"score": 1.0}


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("score: expected less", "score: expected less (for example 0.3)"),
        ("score[1]: expected less", "score[1]: expected less (for example 0.3)"),
        ("score.high: expected less", "score.high: expected less (for example 0.3)"),
        ("score: expected less, such as 0.3", "score: expected less, such as 0.3"),
        ("rate: expected less", "rate: expected less"),
        ("the run was stopped", "the run was stopped"),
    ],
)
def test_an_error_of_a_tool_has_the_example_of_the_argument_that_it_names(said: str, read: str) -> None:
    assert message_with_example(tool_of(RATIO), TargetError(said)) == read


def test_a_list_may_come_as_the_text_of_one() -> None:
    words = several("words", "Words.", text("word", "A word."), example='["a"]')
    assert read(words, '["a", "b"]') == ("a", "b")
    assert problem(words, '["a"') == 'words: expected a list, got "[\\"a\\"" (for example ["a"])'
    assert problem(words, "a") == 'words: expected a list, got "a" (for example ["a"])'
    assert problem(words, "[1]") == 'words[0]: expected a text, got 1 (for example ["a"])'


def test_a_file_is_an_absolute_path_or_a_uri(tmp_path: Path) -> None:
    place = tmp_path / "a b.py"
    place.write_text("")
    assert read(file("file", "A file."), str(place)) == str(place)
    assert read(file("file", "A file."), place.as_uri()) == str(place)


@pytest.mark.parametrize("came", ["app.py", "./app.py", "~/app.py", "file://app.py", 7, "\0/x", ""])
def test_another_path_is_refused(came: Any) -> None:
    said = problem(file("file", "A file."), came)
    assert said.startswith("file: expected the absolute path of a file, got ")
    assert said.endswith('(for example "/home/me/project/app.py")')


def test_a_path_must_lead_to_what_it_is_for(tmp_path: Path) -> None:
    place = tmp_path / "a.py"
    assert "no such file" in problem(file("file", "A file."), str(place))
    place.write_text("")
    assert problem(file("file", "A file."), str(tmp_path)).startswith("file: expected a file, got the folder")
    assert problem(folder("dir", "A folder."), str(place)).startswith("dir: expected a folder, got the file")
    assert read(folder("dir", "A folder."), str(tmp_path)) == str(tmp_path)


def test_the_listed_languages_are_those_of_the_package() -> None:
    assert LANGUAGE_NAMES.split(", ") == list(LANGUAGES)
    assert RULE_LANGUAGES.split(", ") == list(GRAMMARS)


@pytest.mark.parametrize("kind", ["reliability", "performance"])
def test_tools_that_need_rules_list_only_languages_that_have_some(kind: str) -> None:
    for name in (f"fault_score_{kind}", f"fault_suggest_better_function_{kind}"):
        schema = next(each.schema for each in TOOLS[name].arguments if each.name == "lang")
        assert schema["description"] == f"{', '.join(GRAMMARS)}; others need a language model."
    assert [read(language("lang", "It."), name) for name in ("py", "Go")] == [
        LANGUAGES["python"],
        LANGUAGES["go"],
    ]
    assert problem(language("lang", "It."), "pyton").startswith("lang: expected one of python, ")
    assert problem(language("lang", "It."), 3).startswith("lang: expected the name of a language, got 3")


def test_the_schema_has_required_arguments_and_defaults() -> None:
    schema = input_schema(
        tool_of(RATIO, whole("n", "N.", default=3, minimum=1), text("t", "T.", default=None, example='"x"'))
    )
    assert schema == {
        "type": "object",
        "properties": {
            "score": {
                "type": "number",
                "minimum": 0,
                "maximum": 1,
                "description": "A score.",
                "examples": [0.3],
            },
            "n": {"type": "integer", "minimum": 1, "description": "N.", "default": 3},
            "t": {"type": "string", "description": "T.", "examples": ["x"]},
        },
        "required": ["score"],
        "additionalProperties": False,
    }


def test_an_own_kind_of_argument_is_made_from_its_parts() -> None:
    upper = argument("u", {"type": "string"}, "In capitals.", str.upper, ("A", "B"), '"c"')
    assert (upper.schema["default"], upper.default, read(upper, "c")) == (["A", "B"], ("A", "B"), "C")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
EVERY_KIND = tool_of(
    text("text", "A text.", default=None),
    RATIO,
    whole("whole", "A number.", default=1),
    flag("flag", "A flag.", default=False),
    choice("choice", "A choice.", ("a", "b"), default="a"),
    several("several", "Some.", text("one", "One."), default=()),
    language("lang", "A language.", default=None),
    file("file", "A file.", default=None),
    folder("folder", "A folder.", default=None),
)


@settings(max_examples=30)
@given(st.dictionaries(st.sampled_from([each.name for each in EVERY_KIND.arguments]) | st.text(), JSON))
def test_whatever_comes_is_read_or_refused_with_a_text(given: dict[str, Any]) -> None:
    said, values = "", {}
    try:
        values = read_arguments(EVERY_KIND, given)
    except InputError as error:
        said = str(error)
    assert said.encode() or list(values) == [each.name for each in EVERY_KIND.arguments]


def test_an_error_shows_what_came_on_one_line_and_not_all_of_it() -> None:
    said = problem(RATIO, {"a": "line\n" * 1000, "b": "\ud800"})
    assert "\n" not in said
    assert len(said) < 200
    assert json.dumps(said)
