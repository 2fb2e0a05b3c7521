"""The formats of a judged recording."""

from __future__ import annotations

from faultkit.agents.behaviour.behaviour_report import to_document, to_html, to_markdown, to_text
from faultkit.faults.call_fault import Verdict
from tests.agents.behaviour.tape import WRITE, Tape


def _tape() -> Tape:
    tape = Tape(book=WRITE)
    tape.declare("lost_reply@book", "hang")
    tape.lost("book", room=1)
    tape.done("book", room=1)
    return tape


TEXT = [
    "recording: 1 finding",
    "2 calls in 1 session over 1,000 ms; 1 call met a fault.",
    "note: not exercised: no call met hang",
    "",
    "Check                Result         What it looks for",
    "loops                none           the same calls again and again, with the same results",
    "repeated-writes      1 found        a call with an effect, sent again after its answer was lost",
    "ignored-retry-after  not exercised  calls during a wait that an answer asked for",
    "calls-after-cancel   not exercised  a call with an effect, sent again after it was cancelled",
    "wasted-calls         none           calls of tools that are gone, or that failed in the same way before",
    "canaries             not exercised  values that a fault planted, passed on in arguments",
    "",
    "repeated-writes:",
    "  ✗ book: call 1 had no answer, and call 2 sent the same again: it took effect twice",
    "",
    "Faults that were met:",
    "Call  Fault       Tool  The agent got     After  Recovered after  Calls  By",
    "   1  lost_reply  book  timeout        1,000 ms         1,000 ms      1  retry",
]


def test_the_text_has_the_checks_the_findings_and_the_faults() -> None:
    assert to_text(_tape().judge(), 110).splitlines() == TEXT


def test_long_lists_are_cut_in_the_text_and_whole_in_markdown() -> None:
    tape = Tape()
    for number in range(25):
        tape.refused("search", q=number)
    behaviour = tape.judge()
    assert to_text(behaviour, 110).splitlines()[-1] == "  … and 5 more: --json has all"
    assert "| 25 | protocol\\_error |" in to_markdown(behaviour)


def test_markdown_and_html_show_names_of_the_server_as_text() -> None:
    tape = Tape()
    for _ in range(5):
        tape.refused("<b>|x")
    assert "&lt;b&gt;\\|x: 5 times in a row" in to_markdown(tape.judge())
    page = to_html(tape.judge())
    assert "<b>|x" not in page
    assert "&lt;b&gt;|x: 5 times in a row" in page


def test_numbers_in_a_row_are_a_range_in_html() -> None:
    tape = Tape()
    tape.done("search")
    for _ in range(6):
        tape.refused("note")
    assert ">2–7<" in to_html(tape.judge())


def test_a_check_is_not_passed_if_no_fault_was_met() -> None:
    tape = Tape()
    tape.done("search")
    assert 'class="badge passed"' not in to_html(tape.judge())
    tape.refused("search")
    tape.done("search")
    assert 'class="badge passed"' in to_html(tape.judge())


def test_all_have_recovered_only_if_something_failed_and_each_failure_was_followed_by_a_success() -> None:
    delayed, changed = Tape(), Tape()
    id = delayed.call("search")
    delayed.inject(id, "slow:500", Verdict(delay_s=0.5, effect="delay_ms", amount=500))
    delayed.answer(id)
    assert "nothing failed" in to_html(delayed.judge())
    changed.refused("price")
    changed.done("price")
    assert "all recovered" in to_html(changed.judge())
    changed.changed("price", of="room")
    page = to_html(changed.judge())
    assert "all recovered" not in page
    assert "1 of 2 without a later success" in page
    assert to_text(changed.judge(), 110).splitlines()[-1].split() == [
        *("3", "corrupt_value", "price", "ok,", "with", "changed", "values", "0", "ms", "never", "–", "–")
    ]


def test_the_trace_in_json_says_which_call_a_number_is() -> None:
    document = to_document(_tape().judge())
    assert [(each["call"], each["tool"], each["outcome"], each["fault"]) for each in document["trace"]] == [
        (1, "book", "timeout", "lost_reply"),
        (2, "book", "ok", None),
    ]
