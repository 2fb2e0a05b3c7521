from __future__ import annotations

from tests.suites.agents.conftest import server, shared_server

__all__ = ["server", "shared_server"]
