"""Steps without a name, and undos, are told with their arguments."""

from __future__ import annotations

from typing import Any

import pytest

from faultkit.chaos.steps.step_text import step_text
from tests.chaos.stage import HERE, Stage, experiment_of


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ({"process": ["sh", "-c", "exit 3"]}, "run sh -c 'exit 3'"),
        ({"process": {"command": "pkill -9 web"}}, "run pkill -9 web"),
        ({"process": ["db", "--password", "hunter2"]}, "run db --password '[redacted]'"),
        ({"process": ["db", "--password", "${DB}"]}, "run db --password '[redacted]'"),
        ({"python": "m:f"}, "said"),
        ({"python": {"function": "m:f"}}, "said"),
        (
            {"python": {"function": "m:f", "arguments": {"path": "/a b", "n": 2, "token": "abc"}}},
            "said(path=/a b, n=2, token=[redacted])",
        ),
        ({"process": ["echo", "a\nb" + "c" * 400]}, f"run echo 'a b{'c' * 186}…"),
        ({"tcp": "127.0.0.1:1"}, "said"),
    ],
)
def test_a_step_in_one_line(written: dict[str, Any], text: str) -> None:
    (kind,) = written
    assert step_text(kind, written, "said") == text


def test_failed_actions_and_undos_say_what_with(stage: Stage) -> None:
    remove = {"python": {"function": f"{HERE}:put", "arguments": {"key": "file", "value": 7}}}
    document = {
        "name": "x",
        "steady_state": [{"process": ["true"]}],
        "method": [{"process": ["sh", "-c", "exit 3"]}],
        "rollback": [remove, {"name": "tidy up", **remove}],
    }
    journal = stage.run(experiment_of(document, stage.folder))
    assert journal.result.error == "Action failed: run sh -c 'exit 3': sh ended with 3"
    call = f"call {HERE}:put(key=file, value=7)"
    undone = [each["says"] for each in journal.document["faultkit"]["undone"]]
    assert undone == [f"tidy up: {call}", call]
