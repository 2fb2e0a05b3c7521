"""Recordings of the gateway: files that cannot be written, exist already, or are numbered."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from faultkit.base.errors import InputError
from faultkit.mcp.gateway.recorder import Recorder
from faultkit.mcp.wire.message import encode, read

PING = read(encode({"jsonrpc": "2.0", "id": 1, "method": "ping"}))


def test_a_recording_that_cannot_be_written_ends_and_its_user_is_told_once() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("/dev/full is not there")
    told: list[str] = []
    recorder = Recorder("/dev/full", lambda: 0.0, say=told.append)
    for _ in range(3):
        recorder.message("s", "client", PING)
    recorder.close()
    assert told == ["warning: the recording ends here: No space left on device"]


@pytest.mark.parametrize("name", ["calls.jsonl", "calls-*.jsonl"])
def test_a_new_recording_may_be_read_by_its_owner_only(name: str, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Recorder(str(tmp_path / name), lambda: 0.0).close()
    finally:
        os.umask(before)
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_recording_that_is_there_is_replaced_only_if_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    file.touch()
    Recorder(str(file), lambda: 0.0).close()
    file.write_text("kept\n")
    with pytest.raises(InputError) as refused:
        Recorder(str(file), lambda: 0.0)
    assert str(refused.value) == (
        f"--record: {file} is there already: --overwrite replaces it, "
        f"--record '{tmp_path}/calls-*.jsonl' numbers its files"
    )
    assert file.read_text() == "kept\n"
    Recorder(str(file), lambda: 0.0, overwrite=True).close()
    assert file.read_text() == ""


def test_a_star_in_the_name_of_a_recording_becomes_the_first_number_that_is_free(tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / "calls-2.jsonl").touch()
    for _ in range(2):
        recorder = Recorder(f"{tmp_path}/calls-*.jsonl", lambda: 0.0, say=told.append)
        recorder.message("s", "client", PING)
        recorder.close()
    assert told == [f"recording to {tmp_path}/calls-{number}.jsonl" for number in (1, 3)]
    assert [len(Path(f"{tmp_path}/calls-{n}.jsonl").read_text().splitlines()) for n in (1, 2, 3)] == [1, 0, 1]
