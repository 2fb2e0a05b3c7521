"""A server for all tests of a file. A test leaves it unchanged, or reads only its own rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.web.served import Served, served


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served() as running:
        yield running
