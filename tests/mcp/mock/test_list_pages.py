"""Pages of a mock's lists: every entry once, in order, and no cursor but the list's own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from faultkit.faults.call_fault import Era
from faultkit.mcp.mock.list_pages import page_of
from faultkit.mcp.mock.manifest import parse_manifest
from faultkit.mcp.mock.manifest_answers import ManifestAnswers


def pages(name: str, entries: list[int], size: int | None) -> list[list[int]]:
    found: list[list[int]] = []
    params: dict[str, Any] = {}
    while True:
        page = page_of(name, entries, params, size)
        found.append(page[name])
        if "nextCursor" not in page:
            return found
        params = {"cursor": page["nextCursor"]}


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (None, [[1, 2, 3, 4, 5]]),
        (1, [[1], [2], [3], [4], [5]]),
        (2, [[1, 2], [3, 4], [5]]),
        (5, [[1, 2, 3, 4, 5]]),
        (9, [[1, 2, 3, 4, 5]]),
    ],
)
def test_pages_hold_every_entry_once(size: int | None, expected: list[list[int]]) -> None:
    assert pages("tools", [1, 2, 3, 4, 5], size) == expected


def test_an_empty_list_is_one_page() -> None:
    assert page_of("tools", [], {}, 2) == {"tools": []}


def test_null_is_no_cursor() -> None:
    assert page_of("tools", [1, 2], {"cursor": None}, 1)["tools"] == [1]


OF_PROMPTS = page_of("prompts", [1, 2, 3], {}, 2)["nextCursor"]
OF_TOOLS = page_of("tools", [1, 2, 3], {}, 2)["nextCursor"]


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "2",
        "x",
        "\ud800",
        OF_PROMPTS,
        OF_TOOLS + "!",
        page_of("tools", [1, 2, 3], {}, 1)["nextCursor"],
        2,
        [],
        {},
    ],
)
def test_any_other_cursor_is_refused(cursor: Any) -> None:
    with pytest.raises(ValueError, match="expected a cursor that a page of tools gave, got "):
        page_of("tools", [1, 2, 3], {"cursor": cursor}, 2)


def test_without_pages_every_cursor_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a cursor"):
        page_of("tools", [1, 2, 3], {"cursor": OF_TOOLS}, None)


MANIFEST = parse_manifest(
    {
        "page_size": 2,
        "tools": [{"name": each} for each in "abc"],
        "resources": [{"uri": f"mem://{each}"} for each in "abc"],
        "prompts": [{"name": each} for each in "abc"],
    }
)


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("kind", ["tools", "resources", "prompts"])
def test_all_lists_of_a_mock_have_pages(kind: str, era: Era) -> None:
    answers = ManifestAnswers(MANIFEST)

    def ask(**params: Any) -> Any:
        member = answers.answer(f"{kind}/list", params, era)
        assert isinstance(member, bytes)
        return json.loads(b"{" + member + b"}")

    first = ask()["result"]
    second = ask(cursor=first["nextCursor"])["result"]
    assert [len(each[kind]) for each in (first, second)] == [2, 1]
    assert "nextCursor" not in second
    assert ask(cursor="x")["error"] == {
        "code": -32602,
        "message": f'Invalid params: cursor: expected a cursor that a page of {kind} gave, got "x"',
    }
