"""The fixture `stage`: a Stage for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.stage import Stage, begin


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    begin()
    return Stage(tmp_path)
