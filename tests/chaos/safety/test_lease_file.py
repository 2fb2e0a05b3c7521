from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from faultkit.chaos.safety.lease import Intent, parse_lease
from faultkit.chaos.safety.undo import Undo, UndoResult, undo_document

FIRST, SECOND = Undo("rule", {"rule": "a"}, "remove a"), Undo("http", {"url": "u"}, "send u", 3.0)
OPENED = {
    "event": "opened",
    "at": "2026-02-05T10:00:00Z",
    "owner": "an experiment",
    "pid": 7,
    "birth": "99",
    "boot": "b",
    "lease_s": 60.0,
    "until_s": 160.0,
}


def lines(*events: dict[str, Any]) -> list[str]:
    return [json.dumps(event) for event in events]


def intended(id: str, undo: Undo) -> dict[str, Any]:
    return {"event": "intended", "intent": id, "undo": undo_document(undo)}


def undone(id: str, *, ok: bool, by: str = "owner") -> dict[str, Any]:
    return {"event": "undone", "intent": id, "ok": ok, "message": "m", "by": by}


def test_what_was_intended_and_not_undone_is_left_last_first() -> None:
    view = parse_lease("x", lines(OPENED, intended("1", FIRST), intended("2", SECOND)))
    assert view.left == (Intent("2", SECOND), Intent("1", FIRST))
    assert (view.owner, view.pid, view.until_s, view.ended) == ("an experiment", 7, 160.0, None)


def test_what_could_not_be_undone_is_still_left_though_the_lease_has_ended() -> None:
    ended = {"event": "ended", "outcome": "held"}
    view = parse_lease(
        "x",
        lines(
            OPENED,
            intended("1", FIRST),
            intended("2", SECOND),
            undone("2", ok=False),
            undone("1", ok=True),
            ended,
        ),
    )
    assert [intent.id for intent in view.left] == ["2"]
    assert view.ended == "held"
    assert not view.is_over


def test_a_later_attempt_that_succeeds_ends_it() -> None:
    view = parse_lease(
        "x",
        lines(
            OPENED,
            intended("1", FIRST),
            undone("1", ok=False),
            undone("1", ok=True, by="recover"),
            {"event": "ended", "outcome": "o"},
        ),
    )
    assert view.intents == (Intent("1", FIRST, UndoResult(True, "m"), "recover"),)
    assert view.is_over


def test_a_renewal_moves_the_end() -> None:
    assert parse_lease("x", lines(OPENED, {"event": "renewed", "until_s": 200.0})).until_s == 200.0


def test_what_else_happened_is_kept_as_notes() -> None:
    note = {"event": "gate", "met": True}
    assert parse_lease("x", lines(OPENED, note)).notes == (note,)


@given(st.integers(min_value=0))
def test_wherever_a_crash_tears_the_file_what_stands_whole_before_it_counts(cut: int) -> None:
    whole = lines(OPENED, intended("1", FIRST), intended("2", SECOND), undone("2", ok=True))
    text = "\n".join(whole) + "\n"
    torn = text[: cut % (len(text) + 1)]
    kept = len(torn.split("\n")) - 1
    seen = parse_lease("x", torn.split("\n"))
    # A last line that only lacks its newline is whole.
    assert seen in (parse_lease("x", whole[:kept]), parse_lease("x", whole[: kept + 1]))
