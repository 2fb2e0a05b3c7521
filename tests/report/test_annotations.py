"""GitHub's workflow commands, GitLab's Code Quality issues and fingerprints, with texts that need escapes."""

from __future__ import annotations

import pytest

from faultkit.report.annotations import fingerprint_of, quality_issue, workflow_command


@pytest.mark.parametrize(
    ("message", "written"),
    [
        ("plain", "plain"),
        ("100% of\r\nit", "100%25 of%0D%0Ait"),
        ("already %0A", "already %250A"),
        ("a: b, c::d", "a: b, c::d"),
        ("größer ≥ 日本 🙂", "größer ≥ 日本 🙂"),
        ("\x1b[31mred\x00\u2028\ud800", " [31mred   "),
    ],
)
def test_a_message_is_escaped_as_github_reads_it(message: str, written: str) -> None:
    assert workflow_command("error", message, line=1) == f"::error line=1::{written}"


def test_properties_have_more_escapes_than_messages() -> None:
    assert (
        workflow_command("notice", "x", file="a,b:c%.py", title="one\ntwo: 1,2")
        == "::notice file=a%2Cb%3Ac%25.py,title=one%0Atwo%3A 1%2C2::x"
    )


def test_an_issue_has_the_fields_that_gitlab_reads() -> None:
    assert quality_issue("major", "FK-R001", "a\n\x00b ü", "src/\udcff.py", (3, 4), "f0") == {
        "description": "a\n b ü",
        "check_name": "FK-R001",
        "fingerprint": "f0",
        "severity": "major",
        "location": {"path": "src/\ufffd.py", "lines": {"begin": 3, "end": 4}},
    }


def test_the_same_identity_has_another_fingerprint_each_time_and_the_same_in_another_run() -> None:
    first: dict[str, int] = {}
    again: dict[str, int] = {}
    one = [fingerprint_of(("FK-R001", "a.py"), first) for _ in range(2)]
    assert one[0] != one[1]
    assert [fingerprint_of(("FK-R001", "a.py"), again) for _ in range(2)] == one
    assert fingerprint_of(("FK-R001a", ".py"), {}) not in one
    assert all(len(each) == 32 for each in one)
