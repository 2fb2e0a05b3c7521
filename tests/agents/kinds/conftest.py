from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.llm.scripted_provider import ScriptedServer


@pytest.fixture(scope="module")
def shared_server() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    yield server
    server.close()


@pytest.fixture
def server(shared_server: ScriptedServer) -> ScriptedServer:
    """Return a provider that answers by a script."""
    shared_server.requests.clear()
    return shared_server
