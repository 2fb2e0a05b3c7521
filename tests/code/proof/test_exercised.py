"""Which parts of a change have run."""

from __future__ import annotations

import pytest

from faultkit.code.languages import language_named
from faultkit.code.proof.exercised import (
    START,
    ChangedPart,
    RanLines,
    changed_parts,
    ranges_text,
    touched_lines,
)

PYTHON = language_named("python")
OLD = """\
import a


def one():
    return a.get()


def two():
    a.log()
    return 2
"""
NEW = """\
import a
import b


def one():
    try:
        return b.get()

    except b.Error:
        return None


def two():
    return 2
"""
OLD_LINES = frozenset({1, 4, 5, 8, 9, 10})
NEW_LINES = frozenset({1, 2, 5, 6, 7, 9, 10, 13, 14})


def parts(**ran: set[int]) -> tuple[ChangedPart, ...]:
    """Return the parts, if these lines of the new version ran, and all lines of the old one."""
    return changed_parts(
        OLD,
        NEW,
        PYTHON,
        {
            "before": {
                START: RanLines(OLD_LINES, frozenset({1, 4, 8})),
                "healthy": RanLines(OLD_LINES, OLD_LINES),
            },
            "after": {name: RanLines(NEW_LINES, frozenset(lines)) for name, lines in ran.items()},
        },
    )


def test_parts_are_runs_of_changed_lines_in_one_function() -> None:
    at_start = {1, 2, 5, 13}
    found = parts(start=at_start, healthy=at_start | {6, 7}, resets=at_start | {6, 7, 9, 10})
    assert found == (
        ChangedPart("after", (2,), "", (START,), ()),
        ChangedPart("after", (6, 7, 9, 10), "one", ("healthy", "resets"), ()),
        ChangedPart("before", (9,), "two", ("healthy",), ()),
    )
    assert [each.place for each in found] == ["2", "6-7, 9-10 (one)", "9 of the old version (two)"]


def test_lines_that_never_ran_are_named() -> None:
    at_start = {1, 2, 5, 13}
    _, part, _ = parts(start=at_start, healthy=at_start | {6, 7})
    assert (part.exercised_by, part.not_run) == (("healthy",), (9, 10))
    assert part.document() == {
        "version": "after",
        "lines": "6-7, 9-10",
        "function": "one",
        "exercised_by": ["healthy"],
        "not_run": "9-10",
    }
    _, part, _ = parts(start=at_start)
    assert (part.exercised_by, part.not_run, part.only_at_start) == ((), (6, 7, 9, 10), True)


def changed(executable: set[int]) -> tuple[ChangedPart, ...]:
    lines = {START: RanLines(frozenset(executable), frozenset(executable))}
    return changed_parts("a = 1\n", "# new\na = 1\n", PYTHON, {"before": lines, "after": lines})


def test_lines_that_no_interpreter_runs_belong_to_no_part() -> None:
    assert changed({2}) == ()


CONSTANTS = '''\
def stock():
    """Return the stock.

    In pieces."""
    query = """
        stock { id }

        # By name.
    """
    known = [
        200,
        -1,
        # Not found.
        404,
    ]
    if query:
        return known
    else:
        return ask(
            query
        )
'''


@pytest.mark.parametrize(
    ("line", "run_as"),
    [
        *((2, 0), (3, 0), (4, 0), (6, 5), (7, 5), (8, 5), (9, 5)),
        *((11, 10), (12, 10), (13, 0), (14, 10), (15, 0), (18, 0)),
    ],
)
def test_a_line_inside_a_constant_has_run_when_its_statement_has(line: int, run_as: int) -> None:
    old = CONSTANTS.splitlines(keepends=True)
    old[line - 1] = "x" + old[line - 1]
    executable = frozenset({1, 5, 10, 16, 17, 19, 20})
    for ran in ({1}, {1, run_as}):
        lines = {START: RanLines(executable, frozenset({1})), "healthy": RanLines(executable, frozenset(ran))}
        found = changed_parts("".join(old), CONSTANTS, PYTHON, {"before": lines, "after": lines})
        has_run = len(ran) == 2
        part = ChangedPart(
            "after", (line,), "stock", ("healthy",) if has_run else (), () if has_run else (line,)
        )
        assert found == ((part,) if run_as else ())


def test_if_nothing_is_known_of_the_lines_none_has_run() -> None:
    assert changed(set()) == (ChangedPart("after", (1,), "", (), (1,)),)


def test_line_numbers_are_written_as_ranges() -> None:
    assert ranges_text((1, 2, 3, 5, 8, 9)) == "1-3, 5, 8-9"
    assert ranges_text(()) == ""


def test_touched_lines_are_those_of_the_old_text() -> None:
    assert touched_lines(OLD, NEW) == {1, 5, 9}
    assert touched_lines(OLD, OLD) == frozenset()


def test_a_form_feed_ends_no_line() -> None:
    old = "a = 1\n\x0c\nb = 1\n"
    assert touched_lines(old, old.replace("b = 1", "b = 2")) == {3}
