"""A server for all tests of a file: each leaves it as it was, or asks only for what it did itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.audit.conftest import postgres, postgres_server
from tests.web.served import Served, served

__all__ = ["postgres", "postgres_server", "server"]


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served() as running:
        yield running
