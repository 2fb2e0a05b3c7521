"""The console commands, interrupted before they have begun."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import pytest

from faultkit.cli import entry
from faultkit.cli import main as fault_main


def _interrupted(*args: object) -> NoReturn:
    raise KeyboardInterrupt


@pytest.mark.parametrize("begin", [entry.fault, entry.mcptest])
def test_a_command_that_is_interrupted_while_it_is_imported_says_nothing(
    begin: Callable[[], NoReturn], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fault_main, "main", _interrupted)
    monkeypatch.setattr(entry, "invoke_mcptest", _interrupted)
    with pytest.raises(SystemExit) as left:
        begin()
    assert left.value.code == 130
    assert capsys.readouterr() == ("", "")
